"""Who may do what: one table. Doors ask it, tests try each of its cells at each door, docs/permissions.md shows it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["DOORS", "GRANTS", "Action", "Door", "Role", "permissions_table"]


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

    MOVE = "say where one is, and with that what one is like"
    EMIT = "emit readings"
    DESCRIBE = "say what one is like, have a lease, and be forgotten"
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


# ---- where, for people and for tests -----------------------------------------------------------------------


class Door(StrEnum):
    """How one comes in."""

    HTTP = "HTTP"
    SOCKET = "WebSocket"
    MQTT = "MQTT"
    NATS = "NATS"


DOORS: Mapping[Action, Mapping[Door, str]] = {
    Action.MOVE: {
        Door.HTTP: "`POST /v1/positions`",
        Door.SOCKET: "`move`",
        Door.MQTT: "`owntracks/<client>/<device>`",
    },
    Action.EMIT: {Door.HTTP: "`POST /v1/readings`"},
    Action.DESCRIBE: {Door.HTTP: "`PATCH`, `DELETE /v1/client`"},
    Action.PUBLISH: {Door.HTTP: "`PUT`, `DELETE /v1/publications/…`, `/v1/pause/…`, `/v1/resume/…`"},
    Action.SUBSCRIBE: {Door.HTTP: "`PUT`, `DELETE /v1/subscriptions/…`", Door.MQTT: "waypoints"},
    Action.LISTEN: {
        Door.HTTP: "`/v1/events`, `/v1/notifications`, `/v1/cursor`",
        Door.SOCKET: "`/v1/ws`, `ack`",
        Door.MQTT: "transitions",
    },
    Action.ASK: {
        Door.HTTP: "`/v1/query`, `/v1/nearest`, `/v1/inside`, `/v1/clients`, `/v1/explain/…`, one's statements, layers"
    },
    Action.HOOK: {Door.HTTP: "`/v1/webhooks/…`"},
    Action.DEFINE: {Door.HTTP: "`PUT`, `DELETE` of `/v1/spaces`, `/v1/places`, `/v1/relations`, `/v1/layers`"},
    Action.APPEND: {Door.HTTP: "`POST /v1/positions` as `application/x-ndjson`"},
    Action.ACT_FOR: {
        Door.HTTP: "`?client=` on any of the above, `client` in a position or a reading",
        Door.SOCKET: "`?client=`, `client` in a `move`",
        Door.MQTT: "topics of others",
        Door.NATS: "what anyone is told",
    },
    Action.MEASURE: {Door.HTTP: "`/v1/metrics`, the details of `/v1/health`"},
    Action.ISSUE: {Door.HTTP: "`/v1/tokens`"},
}
"""Where each can be done. What is not here cannot be done there, by anyone."""


def permissions_table() -> str:
    """As Markdown, for docs/permissions.md."""
    rows = [["may", *Role, *Door]]
    rows += [
        [action, *("✓" if action in GRANTS[role] else "" for role in Role), *(DOORS[action].get(at, "") for at in Door)]
        for action in Action
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
