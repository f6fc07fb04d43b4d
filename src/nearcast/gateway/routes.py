"""Every route: its path, what it takes and gives, and the door behind it. One table, for the server and for OpenAPI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nearcast.gateway import doors
from nearcast.gateway.bodies import Heard, Particulars, Reading, Statement, Taken, Written
from nearcast.gateway.formats import Position
from nearcast.gateway.layers import Stored

__all__ = ["ROUTES", "Way"]


@dataclass(frozen=True)
class Way:
    """A route. ``{name:path}`` takes slashes, too."""

    method: str
    path: str
    does: str
    door: doors.Door
    takes: Any = None
    gives: Any = None
    status: int = 200
    query: tuple[str, ...] = ()
    media: tuple[str, ...] = ("application/json",)

    @property
    def name(self) -> str:
        """For metrics: the path without its parts."""
        return f"{self.method} {self.path.replace(':path', '')}"


def _statements(plural: str, add: str, remove: str) -> list[Way]:
    one, path = plural.removesuffix("s"), f"/v1/{plural}/{{id:path}}"
    media = ("text/plain", "application/json")
    return [
        Way("PUT", path, f"Add or change a {one}", doors.put_statement(add), Statement, Written, media=media),
        Way("GET", path, f"A {one} as text", doors.get_statements(plural)),
        Way("DELETE", path, f"Remove a {one}", doors.delete_statement(remove), gives=Written),
        Way("GET", f"/v1/{plural}", f"All of one's {plural}", doors.get_statements(plural)),
    ]


def _definitions(plural: str) -> list[Way]:
    one, path = plural.removesuffix("s"), f"/v1/{plural}/{{name:path}}"
    media = ("text/plain", "application/json")
    return [
        Way("PUT", path, f"Define a {one} (operators)", doors.put_definition(one), Statement, Written, media=media),
        Way("DELETE", path, f"Remove a {one} (operators)", doors.delete_definition(one), gives=Written),
    ]


_POSITIONS = ("application/json", "application/geo+json", "application/x-ndjson")
_LAYER = "/v1/layers/{name:path}"

ROUTES: list[Way] = [
    Way(
        "POST",
        "/v1/positions",
        "Say where one is: GeoJSON, OwnTracks or plain JSON, one or many; or lines of ops (operators)",
        doors.post_positions,
        list[Position] | Position,
        Taken,
        202,
        media=_POSITIONS,
    ),
    *_statements("publications", "publish", "retract"),
    *_statements("subscriptions", "subscribe", "unsubscribe"),
    Way("POST", "/v1/readings", "Emit a reading of a source", doors.post_readings, list[Reading] | Reading, Written),
    Way("PATCH", "/v1/client", "Say what one is like", doors.patch_client, Particulars, Written),
    Way("DELETE", "/v1/client", "Be forgotten", doors.delete_client, gives=Written),
    Way(
        "POST",
        "/v1/query",
        "What matches now",
        doors.post_query,
        Statement,
        media=("text/plain", "application/json"),
    ),
    Way(
        "GET",
        "/v1/nearest",
        "The k nearest to oneself or to a point",
        doors.get_nearest,
        query=("k", "lon", "lat", "from", "layer", "where"),
    ),
    Way("GET", "/v1/inside", "Who or what is in a place", doors.get_inside, query=("place", "from", "where")),
    Way("GET", "/v1/explain/{subscription:path}", "Why one was or was not told", doors.get_explanation),
    Way("GET", "/v1/clients", "Where those are that one may see", doors.get_clients),
    Way(
        "GET",
        "/v1/notifications",
        "What one was told, in pages",
        doors.get_notifications,
        query=("after", "since", "limit"),
    ),
    Way("GET", "/v1/cursor", "How far one has heard", doors.get_cursor, gives=Heard),
    Way("PUT", "/v1/cursor", "Say how far one has heard", doors.put_cursor, Heard, Heard),
    *_definitions("spaces"),
    *_definitions("places"),
    *_definitions("relations"),
    Way("PUT", _LAYER, "Upload a layer as GeoJSON (operators)", doors.put_layer, dict[str, Any], Stored),
    Way("GET", _LAYER, "A layer as GeoJSON", doors.get_layer),
    Way("DELETE", _LAYER, "Remove a layer (operators)", doors.delete_layer, gives=Written),
    Way("GET", "/v1/metrics", "For Prometheus (operators)", doors.get_metrics),
]
"""Positions come first: they are most of what is asked."""
