"""How fast the pipeline on Spark goes: beside rows that merely pass through Python, and beside what one would write.

The walkers and discs are those of the kernel's bench, in the square of 100 km. The ceiling is a stateless
``mapInArrow`` that gives back the rows it gets. Rates are by the clock on the wall, since two processes share the
work; sessions are warm: each figure is the best of a few rounds after one that does not count. A micro-batch has a
million rows, and a backtest ten million.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from nearcast.bench import Case, Result
from nearcast.bench.workloads import LAT, LON, PER_X, PER_Y, Discs, Walk, discs
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.schema import TIME
from nearcast.model.shape import Disc, Geometry
from nearcast.model.statement import Subscription
from nearcast.stream.backtest import Backtest, run_backtest
from nearcast.stream.lent import scratch
from nearcast.stream.session import spark_session
from nearcast.stream.streaming import Stream, run_stream

__all__ = ["CASES", "RARE"]

SIDE = 100_000.0
ROWS = 1_000_000
BACKTEST = 10
"""Files of so many rows, for a backtest."""
FILES = 4
"""Files of a micro-batch."""
CLIENTS = 100_000
CELL = 2000.0
"""Metres: the cells of the join that a user of Spark would write."""
SCHEMA = pa.schema([("client", pa.string()), ("time", TIME), ("lon", pa.float64()), ("lat", pa.float64())])


# ---- ours ------------------------------------------------------------------------------------------------


def _passthrough(quick: bool) -> Iterator[Result]:
    with _files(quick, BACKTEST) as folder:
        rate = _ceiling(folder, quick, BACKTEST)
        yield Result("passthrough", rate, "rows/s", rate)


def _backtest(n: int, name: str, quick: bool) -> Iterator[Result]:
    """All fixes against a layer of discs, notifications as Parquet included."""
    with _files(quick, BACKTEST) as folder:
        ceiling = _ceiling(folder, quick, BACKTEST)
        rate = _best(lambda: _backtested(folder, n, quick), BACKTEST * _rows(quick), _rounds(quick))
        yield Result(name, rate, "rows/s", ceiling)


def _growth(quick: bool) -> Iterator[Result]:
    """Twenty times the rows, beside the rate at a million."""
    with _files(quick, 1) as small, _files(quick, 20) as large:
        few = _best(lambda: _backtested(small, 10_000, quick), _rows(quick), _rounds(quick))
        yield Result(
            "backtest-growth", _best(lambda: _backtested(large, 10_000, quick), 20 * _rows(quick), 1), "rows/s", few
        )


def _stream(n: int, name: str, quick: bool) -> Iterator[Result]:
    """Micro-batches of a million fixes in four files, state kept between them; the ceiling is for the rows of one."""
    batches = 3 if quick else 7
    with _files(quick, FILES * batches, _rows(quick) // FILES) as folder:
        ceiling = _ceiling(folder / f"0000[0-{FILES - 1}].parquet", quick)
        seconds = _streamed(folder, n, quick, FILES)
        yield Result(name, _rows(quick) / min(seconds[1:]), "rows/s", ceiling)


def _fixed_cost(quick: bool) -> Iterator[Result]:
    """What a micro-batch takes that has hardly any rows, beside one that only passes them through."""
    batches = 4 if quick else 12
    with _files(quick, batches, rows=100) as folder:
        plain = _passed_in_batches(folder)
        yield Result("batch-fixed-cost", float(np.median(_streamed(folder, 1000, quick)[2:])) * 1e3, "ms", plain * 1e3)


def _backtested(folder: Path, n: int, quick: bool) -> None:
    with scratch() as out:
        run_backtest(_spark(), Backtest(out, [str(folder)], definitions=_watched(_few(n, quick))))


def _streamed(folder: Path, n: int, quick: bool, files: int = 1) -> list[float]:
    """How long each batch took, of so many files."""
    ends: list[float] = [time.monotonic()]
    with scratch() as out:
        stream = Stream(
            out / "out",
            out / "checkpoint",
            fixes=folder,
            definitions=_watched(_few(n, quick)),
            slices=0,
            most=files,
            once=True,
        )
        run_stream(_spark(), stream, lambda _: ends.append(time.monotonic()))
    return np.diff(ends).tolist()


# ---- what one would write --------------------------------------------------------------------------------


def _dataframe(quick: bool) -> Iterator[Result]:
    """Enter and leave in DataFrames: a join by grid cell, then what held at the fix before, by a window."""
    with _files(quick, BACKTEST) as folder:
        rows = BACKTEST * _rows(quick)
        ours = _best(lambda: _backtested(folder, 10_000, quick), rows, _rounds(quick))
        theirs = _best(lambda: _joined(folder, discs(_few(10_000, quick), SIDE)), rows, 1)
        yield Result("dataframe-baseline", ours, "rows/s", theirs)


def _joined(folder: Path, zones: Discs) -> None:
    spark = _spark()
    fixes = spark.read.parquet(str(folder)).select(
        "client", "time", ((f.col("lon") - LON) * PER_X).alias("x"), ((f.col("lat") - LAT) * PER_Y).alias("y")
    )
    in_cells = fixes.withColumn("cx", f.floor(f.col("x") / CELL)).withColumn("cy", f.floor(f.col("y") / CELL))
    held = (
        in_cells.join(f.broadcast(_cells(spark, zones)), ["cx", "cy"])
        .where((f.col("x") - f.col("zx")) ** 2 + (f.col("y") - f.col("zy")) ** 2 <= f.col("radius") ** 2)
        .groupBy("client", "time").agg(f.sort_array(f.collect_list("zone")).alias("zones"))
    )  # fmt: skip
    each = fixes.join(held, ["client", "time"], "left").withColumn(
        "zones", f.coalesce("zones", f.array().cast("array<int>"))
    )
    before = f.coalesce(f.lag("zones").over(Window.partitionBy("client").orderBy("time")), f.array().cast("array<int>"))
    turned = each.select(
        "client",
        "time",
        f.array_except("zones", before).alias("entered"),
        f.array_except(before, "zones").alias("left"),
    )
    told = turned.where((f.size("entered") > 0) | (f.size("left") > 0))
    with scratch() as out:
        told.write.parquet(str(out / "told"))


def _cells(spark: SparkSession, zones: Discs) -> DataFrame:
    grid = _grid(zones.x.tobytes(), zones.y.tobytes(), zones.radius.tobytes())
    rows = [(*cell, *disc) for cell, held in grid.items() for disc in held]
    return spark.createDataFrame(pd.DataFrame(rows, columns=["cx", "cy", "zone", "zx", "zy", "radius"]))


def _rowwise(quick: bool) -> Iterator[Result]:
    """Enter and leave row by row in a stateful operator with a group for each client."""
    batches, rows = 3, 2000 if quick else 20_000
    with _files(quick, batches, rows=rows) as folder:
        zones = discs(_few(10_000, quick), SIDE)
        ours = _streamed(folder, 10_000, quick)
        theirs = _stateful(folder, zones)
        yield Result("rowwise-baseline", rows / min(ours[1:]), "rows/s", rows / min(theirs[1:]))


def _stateful(folder: Path, zones: Discs) -> list[float]:
    spark, ends = _spark(), [time.monotonic()]
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    like = spark.read.parquet(str(folder))
    fixes = spark.readStream.schema(like.schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    told = fixes.groupBy("client").transformWithStateInPandas(
        _RowByRow(zones), "client string, zone long, entered boolean", "append", "none"
    )
    with scratch() as out:
        query = told.writeStream.option("checkpointLocation", str(out / "checkpoint")).foreachBatch(
            partial(_written, out, ends)
        )
        query.trigger(availableNow=True).start().awaitTermination()
    return np.diff(ends).tolist()


def _written(out: Path, ends: list[float], batch: DataFrame, number: int) -> None:
    batch.write.mode("overwrite").parquet(str(out / f"told{number}"))
    ends.append(time.monotonic())


class _RowByRow(StatefulProcessor):
    """What the examples of the operator look like: a grid in each worker, the zones of a client in its state."""

    def __init__(self, zones: Discs) -> None:
        self.zones = zones

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._inside = handle.getValueState("inside", "zones array<long>")
        self._grid = _grid(self.zones.x.tobytes(), self.zones.y.tobytes(), self.zones.radius.tobytes())

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: ARG002, N802, N803
        found = self._inside.get() if self._inside.exists() else None
        inside = set(found[0]) if found else set()
        told = []
        for frame in rows:
            for row in frame.sort_values("time").itertuples(index=False):
                x, y = (row.lon - LON) * PER_X, (row.lat - LAT) * PER_Y
                near = self._grid.get((int(x // CELL), int(y // CELL)), ())
                now = {i for i, zx, zy, radius in near if (x - zx) ** 2 + (y - zy) ** 2 <= radius * radius}
                told += [(key[0], zone, True) for zone in now - inside] + [
                    (key[0], zone, False) for zone in inside - now
                ]
                inside = now
        self._inside.update((sorted(inside),))
        if told:
            yield pd.DataFrame(told, columns=["client", "zone", "entered"])

    def close(self) -> None:
        pass


@cache
def _grid(x: bytes, y: bytes, radius: bytes) -> dict[tuple[int, int], list[tuple[int, float, float, float]]]:
    made: dict[tuple[int, int], list[tuple[int, float, float, float]]] = {}
    columns = (np.frombuffer(column) for column in (x, y, radius))
    for i, (zx, zy, r) in enumerate(zip(*columns, strict=True)):
        for cx in range(int((zx - r) // CELL), int((zx + r) // CELL) + 1):
            for cy in range(int((zy - r) // CELL), int((zy + r) // CELL) + 1):
                made.setdefault((cx, cy), []).append((i, zx, zy, r))
    return made


# ---- the ceiling -----------------------------------------------------------------------------------------


def _ceiling(path: Path, quick: bool, files: int = 1) -> float:
    """Rows that pass through Python and are dropped."""
    fixes = _spark().read.parquet(str(path))

    def passed() -> None:
        fixes.mapInArrow(_same, fixes.schema).write.format("noop").mode("overwrite").save()

    return _best(passed, files * _rows(quick), _rounds(quick))


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _passed_in_batches(folder: Path) -> float:
    """The median time of a micro-batch that only passes rows through."""
    spark = _spark()
    like = spark.read.parquet(str(folder))
    fixes = spark.readStream.schema(like.schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    with scratch() as out:
        query: StreamingQuery = (
            fixes.mapInArrow(_same, like.schema).writeStream.format("noop")
            .option("checkpointLocation", str(out)).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        took = [p["durationMs"]["triggerExecution"] for p in query.recentProgress if p["numInputRows"]]
    return float(np.median(took[2:])) / 1e3


# ---- data ------------------------------------------------------------------------------------------------


@contextmanager
def _files(quick: bool, count: int, rows: int | None = None) -> Iterator[Path]:
    """A folder of Parquet files with so many rows each, of walkers who go on from file to file."""
    rows = rows or _rows(quick)
    walk = Walk(min(CLIENTS, rows) if not quick else 200, SIDE)
    names = np.array(walk.names, object)
    with scratch() as folder:
        for number, batch in zip(range(count), walk.batches(rows), strict=False):
            columns = [names[batch.rows], pa.array(batch.time).view(TIME), batch.position[:, 0], batch.position[:, 1]]
            table = pa.Table.from_arrays([pa.array(column) for column in columns], schema=SCHEMA)
            pq.write_table(table, folder / f"{number:05d}.parquet", row_group_size=max(1000, rows // 8))
        yield folder


@cache
def _watched(n: int) -> tuple[ops.Op, ...]:
    """A layer of discs, and one who watches all clients in it."""
    zones = discs(n, SIDE)
    shapes = zip(LON + zones.x / PER_X, LAT + zones.y / PER_Y, zones.radius, strict=True)
    regions = [LayerRegion(f"zone{i}", Geometry(Disc(*map(float, shape)))) for i, shape in enumerate(shapes)]
    inside = c.Inside(c.Ref("&", "location"), c.InLayer("zones", c.ALWAYS))
    return ops.DefineLayer(0, Layer("zones", tuple(regions))), ops.Subscribe(
        0, Subscription("w", "desk", filter=inside)
    )


def _spark() -> SparkSession:
    return spark_session("nearcast bench")


def _best(work: Callable[[], None], rows: int, rounds: int) -> float:
    best = 0.0
    for number in range(rounds + 1):
        start = time.monotonic()
        work()
        if number or rounds == 1:
            best = max(best, rows / (time.monotonic() - start))
    return best


def _rows(quick: bool) -> int:
    return 2000 if quick else ROWS


def _few(n: int, quick: bool) -> int:
    return min(n, 100) if quick else n


def _rounds(quick: bool) -> int:
    return 1 if quick else 3


CASES: dict[str, Case] = {
    "passthrough": _passthrough,
    "backtest-10k": partial(_backtest, 10_000, "backtest-10k"),
    "backtest-100k": partial(_backtest, 100_000, "backtest-100k"),
    "backtest-growth": _growth,
    "stream-10k": partial(_stream, 10_000, "stream-10k"),
    "stream-100k": partial(_stream, 100_000, "stream-100k"),
    "batch-fixed-cost": _fixed_cost,
    "dataframe-baseline": _dataframe,
    "rowwise-baseline": _rowwise,
}
RARE = {"backtest-growth"}
"""Only if it is asked for: it has 20 million rows."""
