"""Column names and types: one place for every table that leaves or enters nearcast."""

from __future__ import annotations

import pyarrow as pa

__all__ = [
    "CAUSE", "MOVES", "NOTIFICATIONS", "OPS", "REFUSED", "SPAN", "STATE", "STATE_VERSION", "STATE_VERSIONS", "STAYS",
    "TIME", "TRIPS",
]  # fmt: skip

TIME = pa.timestamp("us", tz="UTC")

MOVES = pa.schema(
    [
        pa.field("client", pa.string(), nullable=False),
        pa.field("time", TIME, nullable=False),
        pa.field("x", pa.float64()),
        pa.field("y", pa.float64()),
        pa.field("altitude", pa.float64()),
        pa.field("floor", pa.float64()),
        pa.field("accuracy", pa.float64()),
        pa.field("place", pa.string()),
    ]
)
"""Fixes: longitude and latitude on the earth, metres on a plane. A fix has a coordinate, a place, or both."""

OPS = pa.schema([*MOVES.remove(0), pa.field("client", pa.string()), pa.field("line", pa.string())])
"""Any op, in the order of the log: a fix has its columns, anything else its line of the op log."""

CAUSE = (
    pa.field("kind", pa.string(), nullable=False),
    pa.field("entity", pa.string(), nullable=False),
    pa.field("number", pa.int64(), nullable=False),
    pa.field("ordinal", pa.int64(), nullable=False),
)

NOTIFICATIONS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("time", TIME, nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("subscription", pa.string(), nullable=False),
        pa.field("subscriber", pa.string(), nullable=False),
        pa.field("publisher", pa.string()),
        pa.field("publication", pa.string(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("peer", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("cause", pa.struct(list(CAUSE)), nullable=False),
        pa.field("content", pa.string()),
        pa.field("values", pa.string()),
        pa.field("why", pa.string()),
    ]
)
"""What is told. ``values`` (a reading) and ``why`` (the evidence) are JSON text; null where there is none."""


REFUSED = pa.schema([pa.field("row", pa.int64(), nullable=False), pa.field("reason", pa.string(), nullable=False)])
"""The rows of a batch that were left out, and why."""

# ---- tracks --------------------------------------------------------------------------------------------

SPAN = (
    pa.field("client", pa.string(), nullable=False),
    pa.field("start", TIME, nullable=False),
    pa.field("end", TIME, nullable=False),
    pa.field("duration", pa.float64(), nullable=False),
    pa.field("fixes", pa.int64(), nullable=False),
)
"""A part of a client's track; the duration is in seconds."""

STAYS = pa.schema([*SPAN, *(MOVES.field(name) for name in ("x", "y", "altitude", "floor", "place"))])
"""Where a client stayed: the position is that of the fix it began with."""

TRIPS = pa.schema(
    [*SPAN, *(pa.field(name, pa.float64()) for name in ("length", "straight", "from_x", "from_y", "to_x", "to_y"))]
)
"""How a client got from one stay to the next: metres along its fixes, and from the first to the last of them."""

# ---- state ---------------------------------------------------------------------------------------------

STATE_VERSION = 2
"""Changes with the tables below, and with what is in them."""
STATE_VERSIONS = (1, STATE_VERSION)
"""Those that can be read. In the first, publications have no ``since``."""

_TYPES = {
    "text": pa.string(),
    "json": pa.string(),
    "path": pa.dictionary(pa.int64(), pa.string()),
    "whole": pa.int64(),
    "real": pa.float64(),
    "truth": pa.bool_(),
}


def _state(columns: str) -> pa.Schema:
    """A schema from names and types; one with a question mark may be null."""
    named = [column.split() for column in columns.split(",")]
    fields = [pa.field(name, _TYPES[kind.rstrip("?")], nullable=kind.endswith("?")) for name, kind in named]
    return pa.schema(fields, metadata={"nearcast.state": str(STATE_VERSION)})


STATE: dict[str, pa.Schema] = {
    "system": _state("lateness whole, everyone whole?, latest whole?"),
    "counts": _state("name text, count whole"),
    "versions": _state("entity text, version whole, ordinal whole"),
    "definitions": _state("kind text, name text, definition json"),
    "regions": _state("layer text, id text, x real?, y real?, radius real?, geometry json?, attributes json?"),
    "clients": _state(
        "name text, here truth, plain truth, clock whole, last whole, seen whole, fixed whole, x real, y real,"
        "altitude real, floor real, accuracy real, place path?, before whole, before_x real, before_y real,"
        "px real, py real, pz real"
    ),
    "particulars": _state("client text, attributes json, lease whole?, lateness whole?, newest whole?"),
    "held": _state(
        "client text, time whole, x real?, y real?, altitude real?, floor real?, accuracy real?, place text?"
    ),
    "publications": _state(
        "owner text, id text, statement json, version whole, ordinal whole, expires whole?, since whole"
    ),
    "subscriptions": _state(
        "owner text, id text, statement json, version whole, ordinal whole, expires whole?, latches json"
    ),
    "pairs": _state(
        "owner text, id text, publication text, publisher text, region text, peer text, since whole?, told truth,"
        "entered whole?, satisfied truth, alive truth, binding text, latches json, content text, due whole?"
    ),
    "histories": _state(
        "kind text, owner text, id text, relation json, party json, item json, holds truth, entered whole?,"
        "left whole?, stay whole"
    ),
    "dues": _state("kind text, owner text, id text, due whole, clients json"),
}
"""A whole state, for whoever goes on with it; the version is in the metadata of each table.

Times are microseconds; null never was, or never will be. In the columns of clients the least of all integers is never,
and what is missing is not a number, so that they can be shared without a copy. JSON is as `coding` has it.
"""
