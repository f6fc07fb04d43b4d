"""Tables as files: what `nearcast tracks` and `nearcast encounters` write, and what was told, read back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everyone calls it
from pyspark.sql.types import StringType, StructField, StructType

from nearcast.feed import notifications_of
from nearcast.model.layer import Layer
from nearcast.model.moment import time_text
from nearcast.model.notification import Notification
from nearcast.model.place import Place
from nearcast.model.schema import MOVES, NOTIFICATIONS, TIME
from nearcast.stream.encounters import encounters
from nearcast.stream.files import write_dead
from nearcast.stream.history import notifications_in, plainly, query
from nearcast.stream.lent import computed_once
from nearcast.stream.located import FIXES, Batches
from nearcast.stream.pipeline import check_out, clear_out
from nearcast.stream.places import resolve
from nearcast.stream.sources import FixReader, read_fixes
from nearcast.stream.tracks import clean, stays, trips

__all__ = ["TrackJob", "answer_lines", "answer_rows", "read_notifications", "write_encounters", "write_tracks"]

CONTENT, FAULT = "_content", "_fault"
"""Of a row that is no fix: what it was, and why it is none."""
READ = StructType(
    [*(StructField(f.name, f.dataType) for f in FIXES), *(StructField(n, StringType()) for n in (CONTENT, FAULT))]
)


@dataclass(frozen=True, slots=True)
class TrackJob:
    """What to make of which files. Lengths are in metres, and speed in metres a second."""

    out: Path
    fixes: Sequence[str]
    columns: Mapping[str, str] = field(default_factory=dict)
    max_speed: float = 60.0
    max_accuracy: float = float("inf")
    radius: float = 50.0
    least: timedelta = timedelta(minutes=5)
    layers: Sequence[Layer] = ()
    overwrite: bool = False


def write_tracks(spark: SparkSession, job: TrackJob) -> dict[str, Any]:
    """Write ``kept``, ``dropped``, ``stays`` and ``trips`` into a folder, and say how many there are of each.

    What is kept is read again for the stays and trips, so that it is cleaned once. Rows that are no fixes are dead
    letters, as in a backtest.
    """
    start = time.monotonic()
    with plainly():
        source, reader = read_fixes(spark, job.fixes, job.columns, {})
        check_out(job.out, job.overwrite)
        clear_out(job.out)
        with computed_once(source.mapInArrow(partial(_read, reader), READ)) as rows:
            bad = rows.where(F.col(FAULT).isNotNull()).select(CONTENT, FAULT).toLocalIterator()
            summary: dict[str, Any] = {"out": str(job.out), "rows": rows.count()}
            summary["bad"] = write_dead(job.out, "unread", ((row[0], row[1]) for row in bad))
            cleaned = clean(rows.where(F.col(FAULT).isNull()).drop(CONTENT, FAULT), job.max_speed, job.max_accuracy)
            with computed_once(cleaned.judged):
                counts = cleaned.counts()
                kept = _written(cleaned.kept, job.out / "kept")
                _written(cleaned.dropped, job.out / "dropped")
        stayed = _written(_placed(stays(kept, job.radius, job.least), job.layers), job.out / "stays")
        went = _written(_ends_placed(trips(kept, job.radius, job.least), job.layers), job.out / "trips")
        summary |= {"clients": kept.select("client").distinct().count(), "kept": counts.pop("kept"), "dropped": counts}
        summary |= {"stays": stayed.count(), "trips": went.count(), "seconds": round(time.monotonic() - start, 3)}
    return summary


def _read(reader: FixReader, batches: Batches) -> Batches:
    """Fixes, and rows that are none, in one table: so a file is read once for both."""
    for moves, bad in reader(batches):
        good = {name: moves[name].cast(MOVES.field(name).type) for name in MOVES.names}
        yield _rows(good, len(moves))
        said = dict(zip((CONTENT, FAULT), zip(*bad, strict=True), strict=True)) if bad else {}
        yield _rows({name: pa.array(texts, pa.string()) for name, texts in said.items()}, len(bad))


def _rows(columns: Mapping[str, pa.Array], size: int) -> pa.RecordBatch:
    """The columns of `READ`, with nothing in those that are not given."""
    types = {name: MOVES.field(name).type if name in MOVES.names else pa.string() for name in READ.names}
    return pa.RecordBatch.from_pydict({name: columns.get(name, pa.nulls(size, kind)) for name, kind in types.items()})


def _placed(located: DataFrame, layers: Sequence[Layer]) -> DataFrame:
    """With the regions of the layers as places. The name of the layer comes first, since ids are its own."""
    places = [Place(f"{layer.name}/{r.id}", geometry=r.geometry) for layer in layers for r in layer.regions]
    return resolve(located, places) if places else located


def _ends_placed(trips: DataFrame, layers: Sequence[Layer]) -> DataFrame:
    for end in ("from", "to") if layers else ():
        at_end = trips.withColumnsRenamed({f"{end}_x": "x", f"{end}_y": "y"})
        trips = _placed(at_end, layers).withColumnsRenamed({"x": f"{end}_x", "y": f"{end}_y", "place": f"{end}_place"})
    return trips


def write_encounters(spark: SparkSession, notifications: Path, out: Path, overwrite: bool) -> dict[str, Any]:
    """Write who met whom, from a folder of notifications, and say how many are over, open, or lack an end."""
    start = time.monotonic()
    with plainly():
        told = notifications_in(spark, notifications)
        check_out(out, overwrite)
        clear_out(out)
        met = _written(encounters(told), out)
        count = met.agg(
            F.count("*").alias("encounters"),
            F.count_if("open").alias("open"),
            F.count_if(F.col("start").isNull()).alias("without_start"),
            F.count_if(F.col("end").isNull() & ~F.col("open")).alias("without_end"),
            F.median("duration").alias("median_duration"),
        ).first()
    assert count is not None
    return {"out": str(out), **count.asDict(), "seconds": round(time.monotonic() - start, 3)}


def answer_rows(spark: SparkSession, folder: Path, sql: str, most: int) -> tuple[list[str], list[list[str]], bool]:
    """The names of the columns of an answer, its first rows as text, and whether these are all."""
    with plainly():
        found = query(spark, folder, sql).limit(most + 1).toArrow()
    columns = [[_text(value) for value in column] for column in found.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return found.column_names, rows[:most], len(rows) <= most


def answer_lines(spark: SparkSession, folder: Path, sql: str) -> Iterator[str]:
    """All rows of an answer, as JSON."""
    with plainly():
        found = query(spark, folder, sql)
        for row in found.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"})).toLocalIterator():
            yield row[0]


def _text(value: pa.Scalar) -> str:
    if not value.is_valid:
        return ""
    if pa.types.is_timestamp(value.type):
        return time_text(value.cast(TIME).value)
    return str(value.as_py())


def read_notifications(folder: Path) -> list[Notification]:
    """What a job told, in no order. For folders that fit into memory."""
    files = sorted(folder.glob("**/*.parquet"))
    batches = [batch for file in files for batch in pq.read_table(file, schema=NOTIFICATIONS).to_batches()]
    return [notification for batch in batches for notification in notifications_of(batch)]


# ---- shared ----------------------------------------------------------------------------------------------


def _written(frame: DataFrame, folder: Path) -> DataFrame:
    """The table as it can be read from the folder from now on."""
    there = str(folder.absolute())  # Java may be in another folder
    frame.write.mode("overwrite").option("compression", "zstd").parquet(there)
    return frame.sparkSession.read.schema(frame.schema).parquet(there)
