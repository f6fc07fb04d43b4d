"""The pipeline, on one screen: source → decode → route → match → sink.

Fixes of files are decoded and routed into packets, and each share is matched by a kernel of its own, which writes what
it told. When the first and the last fix was, and so when the statements take effect and when the job ends, is known
only when all are decoded: so every share also gets a note of how far each batch of fixes goes. A log is decoded first
and kept, and routed when all its subscriptions are known.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from nearcast.errors import PipelineError
from nearcast.language.oplog import decode_op
from nearcast.match.share import Plan, whole_plan
from nearcast.model import op as ops
from nearcast.stream.files import DEAD, NotificationFiles, write_dead
from nearcast.stream.job import Job, definitions_of, distribute
from nearcast.stream.lent import computed_once, scratch
from nearcast.stream.lines import PARTS, log_rows, parts_of, read_part
from nearcast.stream.packets import is_note, pack, packet, unpack
from nearcast.stream.route import BAD, SEEN, Router, share_keys
from nearcast.stream.shard import Shard
from nearcast.stream.sources import FixReader

__all__ = ["Summary", "backtest_fixes", "backtest_log", "check_out", "clear_out", "sweep_out"]

Batches = Iterator[pa.RecordBatch]
PACKET = "key long, origin string, start long, number long, rows long, first long, last long, payload binary"
COUNTS = "name string, count long"
TELLING = -3
"""The key of lines that a plan has to know."""
OPEN = "self"
"""The publication that every client has in a backtest of fixes."""
AT_ONCE = 20_000
"""Lines that are decoded into one packet."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a job did."""

    counts: Counter[str]
    plan: Plan
    first: int | None
    last: int | None


def backtest_fixes(
    fixes: DataFrame, reader: FixReader, definitions: Sequence[ops.Op], out: Path, plan: Plan, lateness: int = 0
) -> Summary:
    """Match fixes in order of time with the statements that hold from the first on."""
    router = Router(plan, share_keys(len(plan.shares), len(plan.shares)))
    packets = fixes.mapInArrow(partial(_route_fixes, reader, router), PACKET)
    with scratch() as folder:
        job = Job(plan, distribute(fixes.sparkSession, definitions, folder), lateness, OPEN)
        counts = _matched(packets, job, router, out, is_log=False)
        return Summary(counts, plan, counts.get("first"), counts.get("last"))


def backtest_log(
    spark: SparkSession, files: Sequence[Path], definitions: Sequence[ops.Op], out: Path, shards: int, slices: int,
    lateness: int = 0,
) -> Summary:  # fmt: skip
    """Match the ops of a log in its order, after statements that hold from the first op on."""
    parts = spark.createDataFrame(parts_of(files), PARTS).repartition(max(1, spark.sparkContext.defaultParallelism))
    with computed_once(parts.mapInArrow(_decode_log, PACKET)) as decoded, scratch() as folder:
        first, last, rows = _extent(decoded)
        stamped = [replace(op, time=first or 0) for op in definitions]
        plan = whole_plan([*stamped, *_telling(decoded)], shards, slices)
        router = Router(plan, share_keys(len(plan.shares), len(plan.shares)))
        job = Job(plan, distribute(spark, stamped, folder), lateness)
        packets = decoded.mapInArrow(partial(_route_log, router), PACKET)
        counts = _matched(packets, job, router, out, is_log=True)
        return Summary(counts + Counter(rows=rows), plan, first, last)


# ---- source, decode, route -------------------------------------------------------------------------------


def _route_fixes(reader: FixReader, router: Router, batches: Batches) -> Batches:
    for number, (moves, bad) in enumerate(reader(batches)):
        yield from router.packets(moves, ("", 0, number))
        yield from router.bad(bad, ("", 0, number))
        yield from router.notes(moves, len(moves) + len(bad))


def _decode_log(batches: Batches) -> Batches:
    for batch in batches:
        for part in batch.to_pylist():
            path, start = part["path"], part["start"]
            for number, lines in enumerate(_grouped(read_part(path, start, part["stop"]), AT_ONCE)):
                rows, bad, telling = log_rows(lines)
                place = (path, start, number)
                router = Router(Plan(0, 1), (0,))
                yield from router.packets(rows, place)
                yield from router.bad(bad, place)
                yield router.seen(rows, len(rows) + len(bad), place)
                if telling:
                    packed = pack(pa.RecordBatch.from_pydict({"line": pa.array(telling, pa.binary())}))
                    yield packet(TELLING, place, len(telling), (None, None), packed)


def _route_log(router: Router, batches: Batches) -> Batches:
    for batch in batches:
        for row in range(len(batch)):
            found = batch.slice(row, 1)
            key = found["key"][0].as_py()
            if key == BAD:
                yield found
            if key < 0:
                continue
            place = (found["origin"][0].as_py(), found["start"][0].as_py(), found["number"][0].as_py())
            for rows in unpack([found["payload"][0].as_buffer()]):
                yield from router.packets(rows, place)


def _telling(decoded: DataFrame) -> list[ops.Op]:
    """The ops of a log that decide how the work is shared."""
    found = decoded.filter(f.col("key") == TELLING).orderBy("origin", "start", "number").select("payload").collect()
    return [decode_op(line.as_py()) for row in found for batch in unpack([bytes(row[0])]) for line in batch["line"]]


# ---- match, sink -----------------------------------------------------------------------------------------


def _matched(packets: DataFrame, job: Job, router: Router, out: Path, *, is_log: bool) -> Counter[str]:
    match = partial(_match, job, router.keys, str(out), is_log)
    starters = packets.sparkSession.createDataFrame(pa.Table.from_batches(router.notes(None, 0)), PACKET)
    every = packets.filter(f.col("key") >= BAD).union(starters)
    matched = every.repartition(len(router.keys), "key").mapInArrow(match, COUNTS)
    counts: Counter[str] = Counter()
    for row in matched.collect():
        counts[row["name"]] += row["count"]
    return counts


def _match(job: Job, keys: Sequence[int], out: str, is_log: bool, batches: Batches) -> Batches:
    """Match the shares of a partition one after another, and write what each told."""
    mine, notes = _by_key(batches)
    for key in sorted(mine):
        rows = [payload for _, payload in sorted(mine.pop(key), key=lambda packet: packet[0])]
        if key == BAD:
            letters = [(r["content"], r["reason"]) for batch in unpack(rows) for r in batch.to_pylist()]
            yield _counts({"bad": write_dead(Path(out), "unread", letters)})
            continue
        number = keys.index(key)
        shard, span = Shard(job, job.plan.shares[number]), _span(notes[key])
        first, last = span.get("first"), span.get("last")
        definitions = definitions_of(job)
        with NotificationFiles(Path(out), f"share-{number:05d}") as files:
            files.write(shard.begin(definitions if is_log else [replace(op, time=first or 0) for op in definitions]))
            for told in shard.take_log(unpack(rows)) if is_log else shard.take_fixes(unpack(rows)):
                files.write(told)
            if last is not None:
                files.write(shard.tick(last))
        refused = write_dead(Path(out), f"refused-{number:05d}", shard.refused)
        yield _counts({**shard.counts, "refused": refused, "stale": shard.stale, **(span if number == 0 else {})})


Packets = dict[int, list[tuple[tuple[str, int, int], pa.Buffer]]]
"""By key, each with its place in the log."""


def _by_key(batches: Batches) -> tuple[Packets, dict[int, list[pa.RecordBatch]]]:
    """The packets of a partition, and the notes. Every share has a note, so every share is found."""
    found: Packets = {}
    notes: dict[int, list[pa.RecordBatch]] = {}
    for batch in batches:
        for row, key in enumerate(batch["key"].to_pylist()):
            of_key, of_notes = found.setdefault(key, []), notes.setdefault(key, [])
            one = batch.slice(row, 1)
            if is_note(one):
                of_notes.append(one)
            else:
                place = (one["origin"][0].as_py(), one["start"][0].as_py(), one["number"][0].as_py())
                of_key.append((place, one["payload"][0].as_buffer()))
    return found, notes


def _span(notes: Sequence[pa.RecordBatch]) -> dict[str, int]:
    """How many rows there were, and when the first and the last was, if there was any."""
    table = pa.Table.from_batches(notes)
    span = {"rows": pc.sum(table["rows"]), "first": pc.min(table["first"]), "last": pc.max(table["last"])}
    return {name: value.as_py() for name, value in span.items() if value.is_valid}


def _counts(counts: dict[str, int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"name": list(counts), "count": list(counts.values())})


# ---- shared ----------------------------------------------------------------------------------------------


def _extent(packets: DataFrame) -> tuple[int | None, int | None, int]:
    """When the first and the last row was, and how many there are."""
    found = packets.filter(f.col("key") == SEEN).agg(f.min("first"), f.max("last"), f.sum("rows")).first()
    return (found[0], found[1], found[2] or 0) if found else (None, None, 0)


def _grouped(lines: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    for line in lines:
        some.append(line)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


def check_out(out: Path, overwrite: bool) -> None:
    """Refuse to write among other results, unless they may go."""
    if not overwrite and out.exists() and any(out.iterdir()):
        raise PipelineError(f"{out} is not empty; name another folder, or give --overwrite")


def clear_out(out: Path) -> None:
    """Make room, once it is known that there is something to write."""
    out.mkdir(parents=True, exist_ok=True)
    for path in out.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def sweep_out(out: Path) -> None:
    """Remove what a worker that was killed had not finished; another has written it since."""
    for path in (*out.glob("day=*/.*"), *out.glob(f"{DEAD}/.*")):
        path.unlink(missing_ok=True)
