"""Every route: its path, what it takes and gives, and the door behind it. One table, for the server and for OpenAPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nearcast.gateway import doors, hook_doors, token_doors
from nearcast.gateway.bodies import Heard, Particulars, Reading, Statement, Taken, Written
from nearcast.gateway.formats import Position
from nearcast.gateway.grants import Action
from nearcast.gateway.layers import Uploaded

__all__ = ["ROUTES", "Way"]


@dataclass(frozen=True)
class Way:
    """A route. ``{name:path}`` takes slashes, too."""

    method: str
    path: str
    action: Action
    """What a role must allow."""
    does: str
    door: doors.Door
    takes: Any = None
    gives: Any = None
    status: int = 200
    query: tuple[str, ...] = ()
    media: tuple[str, ...] = ("application/json",)
    also: tuple[int, Any] | None = None
    """Another status, and what it gives."""

    @property
    def name(self) -> str:
        """For metrics: the path without its parts."""
        return f"{self.method} {self.path.replace(':path', '')}"


def _statements(plural: str, action: Action, add: str, remove: str) -> list[Way]:
    one, path = plural.removesuffix("s"), f"/v1/{plural}/{{id:path}}"
    media = ("text/plain", "application/json")
    return [
        Way(
            "PUT",
            path,
            action,
            f"Add or change a {one}",
            doors.put_statement(add, one),
            Statement,
            Written,
            media=media,
        ),
        Way("GET", path, Action.ASK, f"A {one} as text", doors.get_statements(plural)),
        Way("DELETE", path, action, f"Remove a {one}", doors.delete_statement(remove), gives=Written),
        Way("GET", f"/v1/{plural}", Action.ASK, f"All of one's {plural}", doors.get_statements(plural)),
    ]


def _definitions(plural: str) -> list[Way]:
    one, path = plural.removesuffix("s"), f"/v1/{plural}/{{name:path}}"
    media = ("text/plain", "application/json")
    return [
        Way(
            "PUT",
            path,
            Action.DEFINE,
            f"Define a {one} (operators)",
            doors.put_definition(one),
            Statement,
            Written,
            media=media,
        ),
        Way("DELETE", path, Action.DEFINE, f"Remove a {one} (operators)", doors.delete_definition(one), gives=Written),
    ]


_POSITIONS = ("application/json", "application/geo+json", "application/x-ndjson")
_LAYER = "/v1/layers/{name:path}"

_HOOK = "/v1/webhooks/{id}"
_WEBHOOKS = [
    Way(
        "GET", "/v1/webhooks", Action.HOOK, "All of one's webhooks", hook_doors.get_webhooks, gives=hook_doors.Webhooks
    ),
    Way(
        "PUT",
        _HOOK,
        Action.HOOK,
        "Add or change a webhook",
        hook_doors.put_webhook,
        hook_doors.Target,
        hook_doors.Webhook,
    ),
    Way("GET", _HOOK, Action.HOOK, "A webhook, and how it is", hook_doors.get_webhook, gives=hook_doors.Webhook),
    Way("DELETE", _HOOK, Action.HOOK, "Remove a webhook", hook_doors.delete_webhook, gives=hook_doors.Webhook),
    Way("POST", f"{_HOOK}/pause", Action.HOOK, "Deliver no more", hook_doors.pause_webhook, gives=hook_doors.Webhook),
    Way("POST", f"{_HOOK}/resume", Action.HOOK, "Deliver again", hook_doors.resume_webhook, gives=hook_doors.Webhook),
    Way(
        "POST", f"{_HOOK}/rotate", Action.HOOK, "Have a new secret", hook_doors.rotate_secret, gives=hook_doors.Webhook
    ),
    Way("POST", f"{_HOOK}/test", Action.HOOK, "Try the endpoint", hook_doors.try_webhook, gives=hook_doors.Tested),
    Way(
        "GET",
        f"{_HOOK}/dead",
        Action.HOOK,
        "What could not be delivered, and why",
        hook_doors.get_dead,
        gives=hook_doors.DeadLetters,
        query=("after", "limit"),
    ),
    Way(
        "POST",
        f"{_HOOK}/dead/retry",
        Action.HOOK,
        "Try dead letters again",
        hook_doors.retry_dead,
        gives=hook_doors.Webhook,
        status=202,
    ),
    Way(
        "GET",
        "/v1/metrics/webhooks",
        Action.MEASURE,
        "Of webhooks, for Prometheus (operators)",
        hook_doors.get_hook_metrics,
    ),
]

_TOKENS = [
    Way(
        "POST",
        "/v1/tokens",
        Action.ISSUE,
        "Make a token",
        token_doors.post_token,
        token_doors.Wanted,
        token_doors.Made,
        201,
    ),
    Way(
        "GET", "/v1/tokens", Action.ISSUE, "All tokens, by their ids", token_doors.get_tokens, gives=token_doors.Tokens
    ),
    Way("DELETE", "/v1/tokens/{id}", Action.ISSUE, "Revoke a token", token_doors.delete_token, gives=token_doors.Gone),
]

ROUTES: list[Way] = [
    Way(
        "POST",
        "/v1/positions",
        Action.MOVE,
        "Say where one is: GeoJSON, OwnTracks or plain JSON, one or many; or lines of ops (operators)",
        doors.post_positions,
        list[Position] | Position,
        Taken,
        202,
        media=_POSITIONS,
    ),
    *_statements("publications", Action.PUBLISH, "publish", "retract"),
    Way(
        "POST",
        "/v1/pause/{id:path}",
        Action.PUBLISH,
        "Keep a publication from everyone",
        doors.post_pause(paused=True),
        gives=Written,
    ),
    Way(
        "POST",
        "/v1/resume/{id:path}",
        Action.PUBLISH,
        "Let those know of it again who may",
        doors.post_pause(paused=False),
        gives=Written,
    ),
    *_statements("subscriptions", Action.SUBSCRIBE, "subscribe", "unsubscribe"),
    Way(
        "POST",
        "/v1/readings",
        Action.EMIT,
        "Emit readings of a source: one, which is applied, or many, which are on disk",
        doors.post_readings,
        list[Reading] | Reading,
        Written,
        also=(202, Taken),
    ),
    Way("GET", "/v1/client", Action.ASK, "Who one is, where, and what one said of oneself", doors.get_client),
    Way("PATCH", "/v1/client", Action.DESCRIBE, "Say what one is like", doors.patch_client, Particulars, Written),
    Way("DELETE", "/v1/client", Action.DESCRIBE, "Be forgotten", doors.delete_client, gives=Written),
    Way(
        "POST",
        "/v1/query",
        Action.ASK,
        "What matches now",
        doors.post_query,
        Statement,
        media=("text/plain", "application/json"),
    ),
    Way(
        "GET",
        "/v1/nearest",
        Action.ASK,
        "The k nearest to oneself or to a point",
        doors.get_nearest,
        query=("k", "lon", "lat", "from", "layer", "where"),
    ),
    Way(
        "GET", "/v1/inside", Action.ASK, "Who or what is in a place", doors.get_inside, query=("place", "from", "where")
    ),
    Way(
        "GET",
        "/v1/explain/{subscription:path}",
        Action.ASK,
        "Why one was or was not told",
        doors.get_explanation,
        query=("publisher", "publication", "region", "peer"),
    ),
    Way(
        "GET", "/v1/clients", Action.ASK, "Where those are that one may see", doors.get_clients, query=("box", "limit")
    ),
    Way("GET", "/v1/staying", Action.ASK, "What stays where it is, of what one may see, as GeoJSON", doors.get_staying),
    Way(
        "GET",
        "/v1/notifications",
        Action.LISTEN,
        "What one was told, in pages",
        doors.get_notifications,
        query=("after", "since", "limit"),
    ),
    Way("GET", "/v1/cursor", Action.LISTEN, "How far one has heard", doors.get_cursor, gives=Heard),
    Way("PUT", "/v1/cursor", Action.LISTEN, "Say how far one has heard", doors.put_cursor, Heard, Heard),
    *_WEBHOOKS,
    *_TOKENS,
    *_definitions("spaces"),
    *_definitions("places"),
    *_definitions("relations"),
    Way("GET", "/v1/places", Action.ASK, "All places, as GeoJSON", doors.get_places),
    Way("GET", "/v1/layers", Action.ASK, "All layers: their names, and how many regions each has", doors.get_layers),
    Way(
        "PUT", _LAYER, Action.DEFINE, "Upload a layer as GeoJSON (operators)", doors.put_layer, dict[str, Any], Uploaded
    ),
    Way("GET", _LAYER, Action.ASK, "A layer as GeoJSON", doors.get_layer),
    Way("DELETE", _LAYER, Action.DEFINE, "Remove a layer (operators)", doors.delete_layer, gives=Written),
    Way("GET", "/v1/metrics", Action.MEASURE, "For Prometheus (operators)", doors.get_metrics),
]
"""Positions come first: they are most of what is asked."""
