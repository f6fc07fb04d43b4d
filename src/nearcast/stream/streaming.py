"""The pipeline over what does not end: source → decode → route → match → sink, in micro-batches, exactly once.

Spark notes which rows a batch has before it runs it, and keeps each share's state from batch to batch. So a batch that
was cut short runs again on the same rows and the same state, tells the same, and writes the same files under the same
names; the sink on NATS goes on after what its stream already has.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from nearcast.errors import LogError, PipelineError
from nearcast.language.oplog import decode_op
from nearcast.log.client import Log
from nearcast.log.packet import decode
from nearcast.match.share import Plan, whole_plan
from nearcast.model import op as ops
from nearcast.model.schema import OPS
from nearcast.stream.backtest import one_line
from nearcast.stream.files import NotificationFiles, write_dead
from nearcast.stream.job import Job, distribute
from nearcast.stream.lines import log_rows
from nearcast.stream.nats_sink import NatsSink
from nearcast.stream.nats_source import NatsSource
from nearcast.stream.packets import pack, packet, unpack
from nearcast.stream.pipeline import OPEN, PACKET
from nearcast.stream.route import BADS, Router, share_keys
from nearcast.stream.sources import FILES, FixReader, attributes_asked, watch_fixes
from nearcast.stream.stateful import BADLY, OUT, Matcher

__all__ = ["Stream", "run_stream"]

Batches = Iterator[pa.RecordBatch]
COUNTS = "name string, count long"
BY_RENAMING = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
"""How a checkpoint's files are written. The usual way starts five programs for each file of a local disk, to find out
whether another stream has written it; ours are alone."""
PAUSE = 0.2
"""Seconds between two looks at a source that has nothing yet."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What to run. Ops come from ``nats``, or from files of a log that appear in ``folder``; ``fixes`` is a folder of
    files of fixes instead."""

    out: Path
    checkpoint: Path
    nats: str | None = None
    folder: Path | None = None
    fixes: Path | None = None
    definitions: Sequence[ops.Op] = ()
    columns: dict[str, str] = field(default_factory=dict)
    to_nats: str | None = None
    most: int | None = None
    """Messages, or files, in a micro-batch."""
    shards: int | None = None
    slices: int = 1
    lateness: int = 0
    once: bool = False
    """Stop when all that is there has been taken."""


def run_stream(
    spark: SparkSession, stream: Stream, told: Callable[[dict[str, Any]], None] | None = None
) -> Counter[str]:
    """Run until it ends or is stopped; gives what was counted. ``told`` hears of each batch."""
    counts: Counter[str] = Counter()

    def sink(batch: DataFrame, number: int) -> None:
        start = time.monotonic()
        done = _sink(batch, number, stream)
        counts.update(done)
        if told is not None:
            told({"batch": number, **done, **_lag(stream, number), "seconds": round(time.monotonic() - start, 3)})

    try:
        with _alone(stream.checkpoint):
            _query(spark, stream, sink).awaitTermination()
    except PySparkException as error:
        raise PipelineError(one_line(error)) from error
    return counts


@contextmanager
def _alone(checkpoint: Path) -> Iterator[None]:
    """Two streams on one checkpoint would undo what the other did. A lock ends with its process, however that ends."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    with (checkpoint / "lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PipelineError(f"another stream runs on {checkpoint}; end it, or name another checkpoint") from None
        yield


def _query(spark: SparkSession, stream: Stream, sink: Callable[[DataFrame, int], None]) -> StreamingQuery:
    job, keys = _job(spark, stream)
    router, is_log = Router(job.plan, keys), stream.fixes is None
    spark.conf.set("spark.sql.shuffle.partitions", str(_partitions(spark, job.plan)))
    spark.conf.set("spark.sql.streaming.checkpointFileManagerClass", BY_RENAMING)
    rows, route = _source(spark, stream, router)
    matched = (
        rows.mapInArrow(route, PACKET)
        .groupBy("key")
        .transformWithStateInPandas(Matcher(job, keys, is_log), OUT, "append", "none")
    )
    writer = matched.writeStream.option("checkpointLocation", str(stream.checkpoint / "spark")).foreachBatch(sink)
    return (writer.trigger(availableNow=True) if stream.once else writer).start()


# ---- source, decode, route -------------------------------------------------------------------------------


def _source(spark: SparkSession, stream: Stream, router: Router) -> tuple[DataFrame, Callable[[Batches], Batches]]:
    if stream.nats is not None:
        spark.dataSource.register(NatsSource)
        reader = spark.readStream.format("nearcast_nats").option("url", stream.nats)
        return (reader.option("most", stream.most) if stream.most else reader).load(), partial(_route_messages, router)
    most = stream.most or 1000
    if stream.fixes is not None:
        fixes, read = watch_fixes(spark, stream.fixes, most, stream.columns, attributes_asked(stream.definitions))
        return fixes, partial(_route_fixes, read, router)
    reader = spark.readStream.schema(FILES).format("binaryFile").option("pathGlobFilter", "*.jsonl")
    found = reader.option("maxFilesPerTrigger", most).load(str(stream.folder))
    return found.select("path", "content"), partial(_route_files, router)


def _route_messages(router: Router, batches: Batches) -> Batches:
    """The messages of a task are in order, and come as one packet a share."""
    for batch in batches:
        if not len(batch):
            continue
        formats, payloads = batch["format"].to_pylist(), batch["payload"].to_pylist()
        rows = pa.Table.from_batches([decode(*message) for message in zip(formats, payloads, strict=True)], OPS)
        (all_rows,) = rows.combine_chunks().to_batches() or [None]
        if all_rows is not None:
            yield from router.packets(all_rows, ("", batch["sequence"][0].as_py(), 0))


def _route_files(router: Router, batches: Batches) -> Batches:
    for batch in batches:
        for path, content in zip(batch["path"].to_pylist(), batch["content"].to_pylist(), strict=True):
            rows, bad, _ = log_rows(content.splitlines(keepends=True))
            yield from router.packets(rows, (path, 0, 0))
            yield from _badly(router, bad)


def _route_fixes(read: FixReader, router: Router, batches: Batches) -> Batches:
    for number, (moves, bad) in enumerate(read(batches)):
        yield from router.packets(moves, ("", 0, number))
        yield from _badly(router, bad)


def _badly(router: Router, bad: Sequence[tuple[str, str]]) -> Batches:
    """What could not be read goes with the first share, so that it is written once too."""
    if bad:
        columns = [pa.array(column, pa.string()) for column in zip(*bad, strict=True)]
        payload = pack(pa.RecordBatch.from_arrays(columns, schema=BADS))
        yield packet(router.keys[0], (BADLY, 0, 0), len(bad), (None, None), payload)


# ---- sink ------------------------------------------------------------------------------------------------


def _sink(batch: DataFrame, number: int, stream: Stream) -> Counter[str]:
    """Write a batch: files on the machines that matched it, messages in one order from here."""
    if stream.to_nats is not None:
        batch.persist()
    counts: Counter[str] = Counter()
    for row in batch.mapInArrow(partial(_write, str(stream.out), number), COUNTS).collect():
        counts[row["name"]] += row["count"]
    if stream.to_nats is not None:
        rows = batch.orderBy("share").select("told").toLocalIterator()
        NatsSink(stream.to_nats).write(number, (line for row in rows for line in _lines(row[0])))
        batch.unpersist()
    return counts


def _write(out: str, number: int, batches: Batches) -> Batches:
    counts: Counter[str] = Counter()
    for batch in batches:
        for row in batch.to_pylist():
            name = f"batch-{number:09d}-share-{row['share']:05d}"
            with NotificationFiles(Path(out), name) as files:
                for told in unpack([row["told"]]):
                    files.write(told)
            write_dead(Path(out), name, json.loads(row["dead"]))
            counts.update(json.loads(row["counts"]))
    yield pa.RecordBatch.from_pydict({"name": list(counts), "count": list(counts.values())})


def _lines(told: bytes) -> Iterator[tuple[str, str, bytes]]:
    for batch in unpack([told]):
        for row in batch.to_pylist():
            yield row["id"], row["subscriber"], json.dumps(row, default=str).encode()


def _lag(stream: Stream, number: int) -> dict[str, int]:
    """How many messages of a log came since the batch began, as far as can be found out."""
    if stream.nats is None:
        return {}
    noted = (stream.checkpoint / "spark" / "offsets" / str(number)).read_text(encoding="utf-8").splitlines()
    taken = json.loads(noted[-1])["sequence"]
    try:
        return {"lag": max(0, asyncio.run(_last(stream.nats)) - taken)}
    except LogError:
        return {}  # the log is away for a moment, and the batch is done all the same


async def _last(url: str) -> int:
    async with Log(url) as log:
        return await log.last_sequence()


# ---- the job ---------------------------------------------------------------------------------------------


def _job(spark: SparkSession, stream: Stream) -> tuple[Job, tuple[int, ...]]:
    """What the checkpoint began with; at the first start, what is asked for, from the time of the first op on."""
    noted = stream.checkpoint / "job.json"
    said = hashlib.sha256(repr(list(stream.definitions)).encode()).hexdigest()
    if noted.is_file():
        begun = json.loads(noted.read_text(encoding="utf-8"))
        if begun["definitions"] != said:
            raise PipelineError(
                f"{stream.checkpoint} began with other statements or layers; send changes through the log, "
                "or name another checkpoint"
            )
    else:
        plan = _plan(spark, stream)
        begun = {
            "definitions": said, "first": _first(stream), "lateness": stream.lateness,
            "shards": plan.shards, "slices": plan.slices, "stations": sorted(plan.stations),
            "roamers": sorted(plan.roamers),
        }  # fmt: skip
        stream.checkpoint.mkdir(parents=True, exist_ok=True)
        part = noted.with_suffix(".part")
        part.write_text(json.dumps(begun), encoding="utf-8")
        part.replace(noted)
    stations, roamers = frozenset(begun["stations"]), frozenset(begun["roamers"])
    plan = Plan(begun["shards"], begun["slices"], stations, roamers)
    stamped = [replace(op, time=begun["first"]) for op in stream.definitions]
    name = distribute(spark, stamped, stream.checkpoint)
    opens = OPEN if stream.fixes is not None else None
    return Job(plan, name, begun["lateness"], opens), share_keys(len(plan.shares), _partitions(spark, plan))


def _plan(spark: SparkSession, stream: Stream) -> Plan:
    """Who subscribes from the beginning is a station; what others will subscribe to is for slices."""
    wanted = spark.sparkContext.defaultParallelism if stream.shards is None else stream.shards
    known = whole_plan(stream.definitions, wanted, 1)
    shards = known.shards if known.stations else 0
    slices = max(stream.slices, 1 if known.slices or not shards else 0)
    return Plan(shards, slices, known.stations, known.roamers)


def _partitions(spark: SparkSession, plan: Plan) -> int:
    return min(len(plan.shares), spark.sparkContext.defaultParallelism)


def _first(stream: Stream) -> int:
    """The time of the first op, which is waited for."""
    while (found := _look(stream)) is None:
        time.sleep(PAUSE)
    return found


def _look(stream: Stream) -> int | None:
    if stream.nats is not None:
        return asyncio.run(_look_at_log(stream.nats))
    for path in sorted(stream.folder.glob("*.jsonl")) if stream.folder is not None else ():
        with path.open("rb") as lines:
            for line in lines:
                if line.strip():
                    return decode_op(line).time
    return 0 if stream.folder is None else None


async def _look_at_log(url: str) -> int | None:
    async with Log(url) as log:
        if not await log.last_sequence():
            return None
        first = await log.first_sequence()
        async for entry in log.read(first, first):
            times = decode(entry.format, entry.payload)["time"].view(pa.int64())
            return int(times[0].as_py()) if len(times) else 0
    return None
