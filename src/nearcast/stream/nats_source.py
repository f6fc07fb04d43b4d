"""The log as a Spark source: ``spark.readStream.format("nearcast_nats")``, and ``spark.read`` for what is there now.

Offsets are sequences of the stream. Each also says of which stream, and when its message was stored: a log that lost
its end and grew again, or was made again, cannot pass for the one that a checkpoint speaks of because its numbers fit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Self, TypeVar

import pyarrow as pa
from nats.aio.client import Client
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from nearcast.errors import LogError, PipelineError, suggestion
from nearcast.log.connection import connection, explained
from nearcast.log.reading import Entry, Extent, check_end, check_range, extent_of, fetch, stamp_of
from nearcast.log.subjects import OPS_STREAM

__all__ = ["NatsSource"]

MOST = 10_000
"""Messages in a micro-batch unless told, so that a backlog is worked off in pieces that fit into memory."""
RANGES = 4
"""The most tasks that read a batch: a message is quick to read, and each task costs a tenth of a second."""
LEAST = 2_000
"""Messages that are worth a task of their own."""

ROWS = pa.schema([("sequence", pa.int64()), ("format", pa.string()), ("payload", pa.binary())])

Offset = dict[str, Any]
T = TypeVar("T")


class NatsSource(DataSource):
    """Messages of the log as rows ``sequence, format, payload``; `log.packet.decode` reads the last two.

    Options: ``url``; ``stream``, if it is not the ops; ``first``, where to begin; for a stream, ``most`` messages in a
    micro-batch; for a table, ``last``. A stream begins at 1 unless told, and fails if that has been cut; a table begins
    where the log does. Register it with ``spark.dataSource.register(NatsSource)``.
    """

    @classmethod
    def name(cls) -> str:
        return "nearcast_nats"

    def schema(self) -> str:
        return "sequence long, format string, payload binary"

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 (Spark's signature)
        return _Table(_Options.of(self.options, {"url", "stream", "first", "last"}))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 (Spark's signature)
        return _Stream(_Options.of(self.options, {"url", "stream", "first", "most"}))


@dataclass(frozen=True)
class _Options:
    url: str
    stream: str
    first: int | None
    last: int | None
    most: int

    @classmethod
    def of(cls, given: Mapping[str, str], known: set[str]) -> Self:
        for name in given:
            if name.lower() not in known:
                hint = suggestion(name, known) or f"there are {', '.join(sorted(known))}"
                raise PipelineError(f"unknown option {name!r}; {hint}")
        if not given.get("url"):
            raise PipelineError("option 'url' is missing: where the NATS server is, such as nats://127.0.0.1:4222")
        first, last, most = (_positive(given, name) for name in ("first", "last", "most"))
        return cls(given["url"], given.get("stream") or OPS_STREAM, first, last, most or MOST)

    def ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        """Ask the server something, over a connection of its own: between two batches there may be hours."""

        async def answer() -> T:
            with explained(self.url, self.stream):
                async with connection(self.url) as client:
                    return await question(client)

        return asyncio.run(answer())


def _positive(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise PipelineError(f"option {name!r} is a whole number from 1, not {text!r}")
    return int(text)


# ---- ranges ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Range(InputPartition):
    """What one task reads."""

    created: str
    first: int
    last: int


def _ranges(created: str, first: int, last: int) -> list[_Range]:
    count = last - first + 1
    parts = min(RANGES, -(-count // LEAST))
    edges = [first + count * part // parts for part in range(parts + 1)] if count > 0 else []
    return [_Range(created, a, b - 1) for a, b in pairwise(edges)]


def _read(options: _Options, part: _Range) -> Iterator[pa.RecordBatch]:
    """All of a range, or an error: a message that is missing is an op that would be missed."""
    first = part.first
    while first <= part.last:
        entries = options.ask(partial(_fetch, stream=options.stream, part=part, first=first))
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(zip(*entries, strict=True), ROWS, strict=True)],
            schema=ROWS,
        )
        first += len(entries)


async def _fetch(client: Client, stream: str, part: _Range, first: int) -> list[Entry]:
    extent = await extent_of(client, stream)
    _check_same(stream, extent, part.created)
    check_range(stream, extent, first, part.last)
    return await fetch(client, stream, first, part.last)


def _check_same(stream: str, extent: Extent, created: str) -> None:
    if extent.created != created:
        raise LogError(
            f"stream {stream!r} was made again at {extent.created}: the one of {created}, which has been read before, "
            "is gone; start anew, with another checkpoint"
        )


# ---- readers ---------------------------------------------------------------------------------------------


class _Table(DataSourceReader):
    """What is in the log when the table is asked for."""

    def __init__(self, options: _Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        extent = options.ask(lambda client: extent_of(client, options.stream))
        first, last = options.first or extent.first, options.last or extent.last
        check_range(options.stream, extent, first, last)
        nothing = _Range(extent.created, first, last)  # Spark asks for no range at all if there is none
        return _ranges(extent.created, first, last) or [nothing]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Range)
        return _read(self._options, partition)


class _Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The log as it grows. It says how far a batch goes, and never more than ``most`` messages."""

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._target: int | None = None
        """Where the log ended when all that is available now was asked for."""

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        extent, first = self._extent(), self._options.first or 1
        if first > extent.last + 1:
            raise PipelineError(f"option 'first' is {first}, and stream {self._options.stream!r} ends at {extent.last}")
        return {"created": extent.created, "sequence": first - 1, "stamp": ""}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 (Spark's name)
        return ReadMaxRows(self._options.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 (Spark's name)
        self._target = self._extent().last

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802 (Spark's name)
        return self._options.ask(lambda client: self._end(client, start, limit))

    async def _end(self, client: Client, start: Offset, limit: ReadLimit) -> Offset:
        extent = await extent_of(client, self._options.stream)
        await self._check(client, extent, start)
        end = extent.last if self._target is None else min(extent.last, self._target)
        if isinstance(limit, ReadMaxRows):
            end = min(end, start["sequence"] + limit.max_rows)
        if end <= start["sequence"]:
            return start
        check_range(self._options.stream, extent, start["sequence"] + 1, end)
        stamp = await stamp_of(client, self._options.stream, end)
        return {"created": extent.created, "sequence": end, "stamp": stamp}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """A batch that was planned before a restart comes here without having been looked at."""
        if start["sequence"] >= end["sequence"]:
            return []
        self._options.ask(lambda client: self._check_both(client, start, end))
        return _ranges(end["created"], start["sequence"] + 1, end["sequence"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Range)
        return _read(self._options, partition)

    async def _check_both(self, client: Client, start: Offset, end: Offset) -> None:
        extent = await extent_of(client, self._options.stream)
        for offset in (start, end):
            await self._check(client, extent, offset)

    async def _check(self, client: Client, extent: Extent, offset: Offset) -> None:
        """Whether the log still is the one that an offset was taken from."""
        stream, sequence = self._options.stream, offset["sequence"]
        _check_same(stream, extent, offset["created"])
        check_end(stream, extent, sequence)
        if offset["stamp"] and sequence >= extent.first:
            stamp = await stamp_of(client, stream, sequence)
            if stamp != offset["stamp"]:
                raise LogError(
                    f"stream {stream!r} lost its tail and grew again: {sequence} was stored at {offset['stamp']}, "
                    f"and now is what was stored at {stamp}"
                )

    def _extent(self) -> Extent:
        return self._options.ask(lambda client: extent_of(client, self._options.stream))
