from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.js import JetStreamContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable

from nearcast.errors import LogError, PipelineError
from nearcast.log.client import Log
from nearcast.log.connection import connection
from nearcast.log.packet import decode, encode_batch, encode_lines
from nearcast.log.server import NatsServer
from nearcast.log.subjects import OPS_STREAM, OPS_SUBJECT
from nearcast.stream import nats_source
from nearcast.stream.nats_source import NatsSource


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "nats", lazy=True) as running:
        grow(running, 0)
        yield running


def grow(server: NatsServer, count: int) -> None:
    """Append that many packets of a line that says which of them it is."""

    async def append() -> None:
        async with Log(server.url) as log:
            await log.create()
            last = await log.last_sequence()
            for number in range(last + 1, last + count + 1):
                await log.client.publish(OPS_SUBJECT, str(number).encode())
            while await log.last_sequence() < last + count:
                pass

    asyncio.run(append())


def change(server: NatsServer, how: str, **arguments: Any) -> None:
    """Do to the stream of ops what nobody should."""

    async def call() -> None:
        async with connection(server.url) as client:
            jetstream: JetStreamContext = client.jetstream()
            await getattr(jetstream, how)(OPS_STREAM, **arguments)

    asyncio.run(call())


def table(spark: SparkSession, server: NatsServer, **options: int) -> DataFrame:
    spark.dataSource.register(NatsSource)
    return spark.read.format("nearcast_nats").option("url", server.url).options(**options).load()


def numbers(frame: DataFrame) -> list[int]:
    rows = frame.collect()
    assert all(int(bytes(row.payload)) == row.sequence for row in rows)
    return sorted(row.sequence for row in rows)


class Query:
    """A stream of the log that is run until there is no more, stopped, and run again."""

    def __init__(self, spark: SparkSession, server: NatsServer, folder: Path) -> None:
        self.spark, self.server, self.folder = spark, server, folder
        self.batches: list[list[int]] = []

    def run(self, **options: int) -> None:
        self.spark.dataSource.register(NatsSource)
        source = self.spark.readStream.format("nearcast_nats").option("url", self.server.url).options(**options).load()
        writer = source.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        query = writer.trigger(availableNow=True).foreachBatch(self._take).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def _take(self, batch: DataFrame, _: int) -> None:
        self.batches.append(numbers(batch))


@pytest.fixture
def query(spark: SparkSession, server: NatsServer, tmp_path: Path) -> Query:
    return Query(spark, server, tmp_path)


def test_a_table_has_all_that_is_there(spark: SparkSession, server: NatsServer) -> None:
    grow(server, 5000)
    frame = table(spark, server)
    assert frame.dtypes == [("sequence", "bigint"), ("format", "string"), ("payload", "binary")]
    assert numbers(frame) == list(range(1, 5001))
    assert numbers(table(spark, server, first=10, last=12)) == [10, 11, 12]


def test_an_empty_log_is_an_empty_table(spark: SparkSession, server: NatsServer) -> None:
    assert table(spark, server).count() == 0


def test_both_formats_can_be_decoded(spark: SparkSession, server: NatsServer) -> None:
    lines = encode_lines(['{"op":"tick","time":0}'])
    arrow = encode_batch(decode(*lines))

    async def append() -> None:
        async with Log(server.url) as log:
            for packet in (lines, arrow):
                await log.append(packet)

    asyncio.run(append())
    rows = table(spark, server).sort("sequence").collect()
    assert [decode(row.format, bytes(row.payload)) for row in rows] == [decode(*lines)] * 2


def test_a_restart_takes_what_is_new_and_not_all_of_it_at_once(query: Query, server: NatsServer) -> None:
    grow(server, 7)
    query.run(most=100)
    grow(server, 25)
    query.run(most=10)
    assert query.batches == [list(range(a, b)) for a, b in ((1, 8), (8, 18), (18, 28), (28, 33))]


def test_a_log_that_was_cut_is_an_error(query: Query, server: NatsServer) -> None:
    grow(server, 10)
    query.run(first=6)
    grow(server, 10)
    change(server, "purge_stream", seq=15)
    with pytest.raises(PySparkException, match="'nearcast-ops' was truncated: it begins at 15, and 11 is wanted"):
        query.run()
    assert query.batches == [[6, 7, 8, 9, 10]]


# What does not need Spark asks the reader that Spark would ask.


def stream_reader(server: NatsServer, **options: str) -> Any:
    source = NatsSource({"url": server.url, **options})
    reader = source.streamReader(source.schema())  # type: ignore[arg-type]
    return pickle.loads(pickle.dumps(reader))


def end(reader: Any, start: dict[str, Any]) -> dict[str, Any]:
    latest: dict[str, Any] = reader.latestOffset(start, reader.getDefaultReadLimit())
    return latest


def test_a_cut_behind_what_was_taken_is_none(server: NatsServer) -> None:
    grow(server, 10)
    reader = stream_reader(server)
    taken = end(reader, reader.initialOffset())
    grow(server, 10)
    change(server, "purge_stream", seq=11)
    new = end(reader, taken)
    (part,) = reader.partitions(taken, new)
    assert [n for rows in reader.read(part) for n in rows["sequence"].to_pylist()] == list(range(11, 21))
    change(server, "purge_stream")
    assert end(reader, new) == new


def test_a_new_stream_of_a_log_that_was_cut_must_say_where_to_begin(server: NatsServer) -> None:
    grow(server, 10)
    change(server, "purge_stream", seq=5)
    reader = stream_reader(server)
    with pytest.raises(LogError, match="it begins at 5, and 1 is wanted"):
        end(reader, reader.initialOffset())
    told = stream_reader(server, first="5")
    assert end(told, told.initialOffset())["sequence"] == 10


def test_a_log_that_was_made_again_is_an_error(server: NatsServer) -> None:
    grow(server, 10)
    reader = stream_reader(server)
    start = reader.initialOffset()
    taken = end(reader, start)
    change(server, "delete_stream")
    grow(server, 20)
    for again in (lambda: end(reader, start), lambda: end(reader, taken), lambda: reader.partitions(start, taken)):
        with pytest.raises(LogError, match="was made again at"):
            again()


def test_a_server_that_is_killed_comes_back_with_the_same_log(server: NatsServer) -> None:
    grow(server, 5)
    reader = stream_reader(server)
    taken = end(reader, reader.initialOffset())
    server.kill()
    with NatsServer(server.folder) as again:
        grow(again, 5)
        assert end(stream_reader(again), taken)["sequence"] == 10


def test_a_stream_cannot_begin_beyond_the_end(server: NatsServer) -> None:
    grow(server, 3)
    with pytest.raises(PipelineError, match="'first' is 5, and stream 'nearcast-ops' ends at 3"):
        stream_reader(server, first="5").initialOffset()


def test_all_that_is_available_now_ends_where_the_log_ended(server: NatsServer) -> None:
    grow(server, 3)
    reader = stream_reader(server)
    reader.prepareForTriggerAvailableNow()
    grow(server, 3)
    offset = end(reader, reader.initialOffset())
    assert offset["sequence"] == 3
    assert end(reader, offset) == offset
    assert stream_reader(server).latestOffset(offset, ReadAllAvailable())["sequence"] == 6


def test_a_log_that_lost_its_tail_is_an_error(server: NatsServer) -> None:
    grow(server, 5)
    reader = stream_reader(server)
    offset = end(reader, reader.initialOffset())
    with pytest.raises(LogError, match="lost its tail: it ends at 5, and 9 had been there"):
        end(reader, {**offset, "sequence": 9})
    with pytest.raises(LogError, match="lost its tail: it ends at 5, and 9 had been there"):
        reader.partitions(offset, {**offset, "sequence": 9})


def test_a_log_that_lost_its_tail_and_grew_again_is_an_error(server: NatsServer) -> None:
    grow(server, 5)
    reader = stream_reader(server)
    offset = end(reader, reader.initialOffset())
    grow(server, 5)
    with pytest.raises(LogError, match="lost its tail and grew again: 5 was stored at once"):
        end(reader, {**offset, "stamp": "once"})


def test_a_cut_while_it_is_read_is_an_error(server: NatsServer) -> None:
    grow(server, 5)
    change(server, "purge_stream", seq=3)
    part = nats_source._Range(stream_reader(server).initialOffset()["created"], 2, 5)
    with pytest.raises(LogError, match="begins at 3, and 2 is wanted"):
        list(stream_reader(server).read(part))


def test_nothing_new_leaves_the_offset_as_it_is(server: NatsServer) -> None:
    grow(server, 5)
    reader = stream_reader(server)
    offset = end(reader, reader.initialOffset())
    assert offset["sequence"] == 5
    assert end(reader, offset) == offset
    assert reader.partitions(offset, offset) == []


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (2000, [2000]), (2001, [1000, 1001]), (9999, 4)])
def test_ranges_are_few_and_leave_nothing_out(count: int, sizes: list[int] | int) -> None:
    ranges = nats_source._ranges("now", 11, 10 + count)
    if isinstance(sizes, int):
        assert len(ranges) == sizes
    else:
        assert [part.last - part.first + 1 for part in ranges] == sizes
    assert [n for part in ranges for n in range(part.first, part.last + 1)] == list(range(11, 11 + count))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "option 'url' is missing"),
        ({"url": "x", "mosst": "1"}, "unknown option 'mosst'; did you mean 'most'?"),
        ({"url": "x", "most": "many"}, "option 'most' is a whole number from 1, not 'many'"),
        ({"url": "x", "first": "0"}, "option 'first' is a whole number from 1, not '0'"),
    ],
)
def test_wrong_options(options: dict[str, str], reason: str) -> None:
    source = NatsSource(options)
    with pytest.raises(PipelineError) as error:
        source.streamReader(source.schema())  # type: ignore[arg-type]
    assert reason in str(error.value)


def test_no_server() -> None:
    source = NatsSource({"url": "nats://127.0.0.1:1"})
    with pytest.raises(LogError, match=r"no NATS server answers at nats://127.0.0.1:1 "):
        source.reader(source.schema()).partitions()  # type: ignore[arg-type]
