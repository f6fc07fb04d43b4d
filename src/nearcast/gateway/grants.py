"""Who may do what: one table. Doors ask it, tests try each of its cells at each door, docs/permissions.md shows it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["GRANTS", "Action", "Role", "permissions_table"]


class Role(StrEnum):
    """What a token is for."""

    DEVICE = "device"
    """A thing that reports, and hears nothing: a token that is lost with it tells nobody anything."""
    LISTENER = "listener"
    """A screen that shows what its client is told, and changes nothing."""
    CLIENT = "client"
    """A client in full: all that is its own, and no more."""
    OPERATOR = "operator"
    """Whoever runs the system. May do everything, and for any client."""


class Action(StrEnum):
    """What can be done, as the documentation says it."""

    MOVE = "say where one is"
    EMIT = "emit readings"
    DESCRIBE = "say what one is like, and be forgotten"
    PUBLISH = "publish and retract"
    SUBSCRIBE = "subscribe and unsubscribe"
    LISTEN = "hear what one was told, and say how far"
    ASK = "ask what is so now, and why"
    HOOK = "have what one is told sent to webhooks"
    DEFINE = "define spaces, places, layers and relations"
    APPEND = "append lines of an op log"
    ACT_FOR = "do these for another client"
    MEASURE = "see metrics and how brokers are"
    ISSUE = "make, list and revoke tokens"


_REPORTS = frozenset({Action.MOVE, Action.EMIT})
_HEARS = frozenset({Action.LISTEN, Action.ASK})
_OWN = _REPORTS | _HEARS | {Action.DESCRIBE, Action.PUBLISH, Action.SUBSCRIBE, Action.HOOK}

GRANTS: Mapping[Role, frozenset[Action]] = {
    Role.DEVICE: _REPORTS,
    Role.LISTENER: _HEARS,
    Role.CLIENT: _OWN,
    Role.OPERATOR: frozenset(Action),
}
"""What each role may do. Without ACT_FOR it is always the token's own client that it is done for."""


# ---- the table, for people -------------------------------------------------------------------------------

DOORS: Mapping[Action, str] = {
    Action.MOVE: "`POST /v1/positions`; a `move` on the WebSocket; MQTT `owntracks/<client>/<device>`",
    Action.EMIT: "`POST /v1/readings`",
    Action.DESCRIBE: "`PATCH` and `DELETE /v1/client`; MQTT, what a phone says of itself",
    Action.PUBLISH: "`PUT` and `DELETE /v1/publications/…`; MQTT waypoints",
    Action.SUBSCRIBE: "`PUT` and `DELETE /v1/subscriptions/…`; MQTT waypoints",
    Action.LISTEN: "`/v1/events`, `/v1/ws`, `/v1/notifications`, `/v1/cursor`; MQTT transitions; NATS, one's subject",
    Action.ASK: "`/v1/query`, `/v1/nearest`, `/v1/inside`, `/v1/clients`, `/v1/explain/…`, one's statements, layers",
    Action.HOOK: "`/v1/webhooks/…`",
    Action.DEFINE: "`PUT` and `DELETE` of `/v1/spaces`, `/v1/places`, `/v1/relations`, `/v1/layers`",
    Action.APPEND: "`POST /v1/positions` as `application/x-ndjson`",
    Action.ACT_FOR: "`?client=` on any of the above, `client` in a position or a reading",
    Action.MEASURE: "`/v1/metrics`, the details of `/v1/health`",
    Action.ISSUE: "`/v1/tokens`",
}
"""Where each can be done."""


def permissions_table() -> str:
    """As Markdown, for docs/permissions.md."""
    heads = [*Role]
    rows = [
        f"| {action} | {' | '.join('✓' if action in GRANTS[role] else '' for role in heads)} | {DOORS[action]} |"
        for action in Action
    ]
    return "\n".join([f"| may | {' | '.join(heads)} | where |", f"|---|{'---|' * len(heads)}---|", *rows])
