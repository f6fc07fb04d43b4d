"""Column names and types: one place for every table that leaves or enters nearcast."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["CAUSE", "MOVES", "NOTIFICATIONS", "OPS", "TIME"]

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
