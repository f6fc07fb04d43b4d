"""Packets: many rows as Arrow in one binary value, so that Spark moves a few large rows and no small ones."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

__all__ = ["PACKETS", "is_note", "pack", "packet", "unpack"]

PACKETS = pa.schema(
    [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("number", pa.int64(), nullable=False),
        pa.field("rows", pa.int64(), nullable=False),
        pa.field("first", pa.int64()),
        pa.field("last", pa.int64()),
        pa.field("payload", pa.binary(), nullable=False),
    ]
)
"""Whose packet it is; which file, where in it and the how manieth from there, which is the order of a log; how many
rows it has, from when to when."""


def packet(
    key: int, place: tuple[str, int, int], rows: int, times: tuple[int | None, int | None], payload: bytes
) -> pa.RecordBatch:
    values = [key, *place, rows, *times, payload]
    return pa.RecordBatch.from_arrays(
        [pa.array([v], f.type) for v, f in zip(values, PACKETS, strict=True)], schema=PACKETS
    )


def is_note(packet: pa.RecordBatch) -> bool:
    """Whether it has no rows of its own, and only says how many there are elsewhere."""
    return not len(packet["payload"][0].as_buffer())


def pack(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def unpack(payloads: Iterable[pa.Buffer | bytes]) -> list[pa.RecordBatch]:
    """The batches, without a copy of what is in them."""
    return [batch for payload in payloads for batch in pa.ipc.open_stream(payload)]
