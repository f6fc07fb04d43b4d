"""How ops are written in a message: a packet of many, since a log that is on disk before it answers takes few messages.

A packet is lines of the op log, or an Arrow stream with the columns of `schema.OPS`; a header says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
import pyarrow as pa

from nearcast.errors import NearcastError, OpError, suggestion
from nearcast.language.oplog import decode_op
from nearcast.log.subjects import FORMAT
from nearcast.model import op as ops
from nearcast.model import schema
from nearcast.model.moment import parse_time

__all__ = ["ARROW", "LINES", "Packet", "PlainFix", "decode", "encode_batch", "encode_lines", "format_of", "plain_fixes"]

LINES, ARROW = "lines", "arrow"


class Packet(NamedTuple):
    """Ops on their way into the log."""

    format: str
    payload: bytes

    @property
    def headers(self) -> dict[str, str]:
        """What the message says about its payload; nothing for lines, which are the rule."""
        return {} if self.format == LINES else {FORMAT: self.format}


class _Head(msgspec.Struct):
    """As much of a line as its row needs; a statement in it is parsed later, and once."""

    op: str
    time: str | int | float
    client: str | None = None


class PlainFix(msgspec.Struct, tag_field="op", tag="move", forbid_unknown_fields=True, gc=False):
    """A fix as nearly all are. `decode_op` takes eight times as long; what is not like this is left to it."""

    time: str | int | float
    client: str
    lon: float
    lat: float
    alt: float | None = None
    floor: float | None = None
    accuracy: float | None = None
    place: str | None = None


class _Row(NamedTuple):
    """The columns of `schema.OPS`, in their order."""

    time: int
    x: float | None = None
    y: float | None = None
    altitude: float | None = None
    floor: float | None = None
    accuracy: float | None = None
    place: str | None = None
    client: str | None = None
    line: str | None = None


_head, _plain = msgspec.json.Decoder(_Head), msgspec.json.Decoder(PlainFix)
_BAD = (msgspec.DecodeError, UnicodeError, RecursionError, NearcastError)


def format_of(headers: Mapping[str, str] | None) -> str:
    """How the payload under these headers is written."""
    return headers.get(FORMAT, LINES) if headers else LINES


def encode_lines(lines: Iterable[str | bytes]) -> Packet:
    """Lines of the op log, as `encode_op` makes them. They are not read: a bad one is refused when it is applied."""
    stripped = [(line.encode() if isinstance(line, str) else line).strip() for line in lines]
    for number, line in enumerate(stripped, 1):
        if b"\n" in line or b"\r" in line:
            raise OpError("an op is one line; this one has a line break in it", f"line {number}")
    return Packet(LINES, b"\n".join(line for line in stripped if line))


def encode_batch(batch: pa.RecordBatch) -> Packet:
    """A batch of `schema.OPS` as an Arrow stream."""
    _check(batch.schema)
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, schema.OPS) as writer:
        writer.write_batch(batch)
    return Packet(ARROW, buffer.getvalue().to_pybytes())


def decode(format: str, payload: bytes) -> pa.RecordBatch:  # noqa: A002 (the header's word)
    """The ops of a packet, in their order, as `schema.OPS`.

    A fix gets its columns however it was written, so that the kernel can apply it in a run. A line that is no op keeps
    its row, for the kernel to refuse. A payload that is not a packet at all raises `OpError`.
    """
    if format == LINES:
        return _from_lines(payload)
    if format == ARROW:
        return _from_arrow(payload)
    raise OpError(f"unknown format of ops {format!r}; {suggestion(format, (LINES, ARROW))}".rstrip("; "), FORMAT)


def plain_fixes(packet: Packet) -> list[PlainFix] | None:
    """The ops of a packet, if all of them are fixes as nearly all are; what they say is not checked."""
    if packet.format != LINES:
        return None
    try:
        return [_plain.decode(line) for line in packet.payload.split(b"\n") if line.strip()]
    except _BAD:
        return None


def _from_lines(payload: bytes) -> pa.RecordBatch:
    rows = [_row(line) for line in payload.split(b"\n") if line.strip()]
    columns = zip(*rows, strict=True) if rows else [()] * len(schema.OPS)
    arrays = [pa.array(column, _stored(field.type)) for column, field in zip(columns, schema.OPS, strict=True)]
    arrays[0] = arrays[0].view(schema.TIME)
    return pa.RecordBatch.from_arrays(arrays, schema=schema.OPS)


def _stored(kind: pa.DataType) -> pa.DataType:
    """Times are whole microseconds here, which need not pass through a calendar that ends in the year 9999."""
    return pa.int64() if kind == schema.TIME else kind


def _row(line: bytes) -> _Row:
    try:
        fix = _plain.decode(line)
        time = parse_time(fix.time)
    except _BAD:
        return _other(line)
    if not fix.client:
        return _other(line)
    return _Row(time, fix.lon, fix.lat, fix.alt, fix.floor, fix.accuracy, fix.place, fix.client)


def _other(line: bytes) -> _Row:
    try:
        head = _head.decode(line)
        if head.op != "move":
            return _Row(parse_time(head.time), client=head.client, line=line.decode())
        move = decode_op(line)
    except _BAD:
        return _Row(0, line=line.decode(errors="replace"))
    assert isinstance(move, ops.Move)
    at = move.position
    x, y = (at.point.x, at.point.y) if at.point else (None, None)
    return _Row(move.time, x, y, at.altitude, at.floor, at.accuracy, at.place, move.client)


def _from_arrow(payload: bytes) -> pa.RecordBatch:
    try:
        with pa.ipc.open_stream(payload) as reader:
            _check(reader.schema)
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError) as error:
        raise OpError(f"not a packet of ops: {error}") from None
    if table["time"].null_count:
        raise OpError("is missing in a packet of ops", "time")
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema.OPS)


def _check(given: pa.Schema) -> None:
    if not given.equals(schema.OPS):
        columns = ", ".join(f"{field.name} {field.type}" for field in given)
        raise OpError(f"a packet of ops has the columns of schema.OPS, not: {columns}")
