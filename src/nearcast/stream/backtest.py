"""A backtest from what a user gives: files of fixes or a log, layers, statements, a distance for pairs."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from shapely.geometry import mapping

from nearcast.check import statement_ops
from nearcast.errors import LanguageError, NearcastError, PipelineError
from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse
from nearcast.match.reference import Reference
from nearcast.match.share import whole_plan
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.layer import Layer
from nearcast.model.moment import time_text
from nearcast.model.space import Metric
from nearcast.model.statement import FromRelation, Subscription
from nearcast.stream.lines import files_of
from nearcast.stream.pipeline import Summary, backtest_fixes, backtest_log, check_out, clear_out, sweep_out
from nearcast.stream.sources import attributes_asked, read_fixes

__all__ = ["Backtest", "definitions_from", "one_line", "read_layer_file", "run_backtest"]

WATCHER = "backtest"
"""Who hears, where no statement says."""
PAIRS = "pairs"
SHARD = 200 * 2**20
"""Bytes of files for a shard: what it reads has to fit into a worker's memory, several times over."""


@dataclass(frozen=True, slots=True)
class Backtest:
    """What to run. Either ``fixes`` or ``log`` names files or folders."""

    out: Path
    fixes: Sequence[str] = ()
    log: Sequence[str] = ()
    definitions: Sequence[ops.Op] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    lateness: int = 0
    overwrite: bool = False
    shards: int | None = None
    slices: int = 1


def run_backtest(spark: SparkSession, test: Backtest) -> dict[str, Any]:
    """Run it, and say what came of it."""
    start = time.monotonic()
    test = replace(test, out=test.out.absolute())  # a worker may be in another folder
    check_out(test.out, test.overwrite)
    try:
        done = _run_log(spark, test) if test.log else _run_fixes(spark, test)
    except (PySparkException, Py4JError) as error:
        raise PipelineError(one_line(error)) from error
    sweep_out(test.out)
    summary = {"out": str(test.out), **summary_of(done), "seconds": round(time.monotonic() - start, 3)}
    (test.out / "_summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    return summary


def _run_fixes(spark: SparkSession, test: Backtest) -> Summary:
    asked = attributes_asked(test.definitions)
    fixes, reader = read_fixes(spark, test.fixes, test.columns, asked)
    plan = whole_plan(test.definitions, test.shards or _shards(spark, test.fixes), test.slices)
    earth = checked(test.definitions).world.metric is Metric.EARTH
    clear_out(test.out)
    return backtest_fixes(fixes, reader.on(earth), test.definitions, test.out, plan, test.lateness)


def _run_log(spark: SparkSession, test: Backtest) -> Summary:
    files = files_of(test.log, (".jsonl", ".ndjson", ".json", ".log"))
    shards = test.shards or _shards(spark, test.log)
    clear_out(test.out)
    return backtest_log(spark, files, test.definitions, test.out, shards, test.slices, test.lateness)


def summary_of(done: Summary) -> dict[str, Any]:
    counts = done.counts
    return {
        **{name: counts[name] for name in ("rows", "notifications", "bad", "refused", "stale", "duplicates")},
        "first": None if done.first is None else time_text(done.first),
        "last": None if done.last is None else time_text(done.last),
        "shards": done.plan.shards,
        "slices": done.plan.slices,
    }


def _shards(spark: SparkSession, paths: Sequence[str]) -> int:
    """As many as there are cores, and more where there is much to read."""
    cores = spark.sparkContext.defaultParallelism
    size = sum(path.stat().st_size for path in files_of(paths, ("",)) if path.is_file())
    return cores * max(1, math.ceil(size / SHARD / cores))


_TRACE = re.compile(r"\n\s*at |\n(JVM|Driver) stacktrace|\n=== Streaming Query ===")
"""Where Java begins to say where it was, and Spark what it was doing."""
_STATE = re.compile(r"\s*SQLSTATE: \w{5}")


def one_line(error: PySparkException | Py4JError) -> str:
    """The reason, without the trace of whatever was running it."""
    message = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    lines = [line.strip() for line in _TRACE.split(message or "")[0].splitlines()]
    said = [line for line in lines if line and not line.startswith("SQLSTATE")] or ["Spark failed"]
    is_python = any("Traceback (most recent" in line for line in said)
    return _STATE.sub("", said[-1 if is_python else 0]).removeprefix("nearcast.errors.")[:300]


# ---- what is matched -------------------------------------------------------------------------------------


def definitions_from(
    layers: Sequence[tuple[str, str]] = (), subscriptions: str | None = None, pairs: str | None = None
) -> list[ops.Op]:
    """The ops that a job begins with. Without subscriptions, every layer is watched."""
    defined: list[ops.Op] = [ops.DefineLayer(0, read_layer_file(name, Path(path))) for name, path in layers]
    if subscriptions is not None:
        path = Path(subscriptions)
        try:
            defined += statement_ops(path.read_text(encoding="utf-8-sig"), path.parent, 0)
        except (LanguageError, UnicodeDecodeError) as error:
            raise PipelineError(f"{subscriptions}: {error}") from None
    else:
        inside = {name: c.Inside(c.Ref("&", "location"), c.InLayer(name, c.ALWAYS)) for name, _ in layers}
        defined += [ops.Subscribe(0, Subscription(name, WATCHER, filter=inside[name])) for name, _ in layers]
    if pairs is not None:
        defined += _pairs(pairs)
    checked(defined)
    return defined


def checked(definitions: Sequence[ops.Op]) -> Reference:
    """What is wrong with a statement is said before anything runs."""
    tried = Reference()
    for op in definitions:
        tried.apply(op)
    return tried


def _pairs(distance: str) -> list[ops.Op]:
    try:
        related = statement_to_op(parse(f"RELATION {PAIRS} WHERE &location WITHIN {distance} OF #location"), 0)
    except NearcastError:
        raise PipelineError(f"--pairs: {distance!r} is not a distance; write 100 m, 0.5 km or 300 yd") from None
    assert related is not None
    return [related, ops.Subscribe(0, Subscription(PAIRS, WATCHER, FromRelation(PAIRS)))]


def read_layer_file(name: str, path: Path) -> Layer:
    """A layer from GeoJSON or GeoParquet."""
    if not path.is_file():
        raise PipelineError(f"layer {name!r}: there is no file {path}")
    try:
        found = _geoparquet(path) if path.suffix == ".parquet" else json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError, pa.ArrowException, shapely.errors.ShapelyError) as error:
        raise PipelineError(f"layer {name!r}: {path} cannot be read: {error}") from None
    try:
        return layer_from_geojson(name, found)
    except NearcastError as error:
        raise PipelineError(f"layer {name!r}: {path}: {error}") from None


def _geoparquet(path: Path) -> dict[str, Any]:
    """The rows as features. The metadata says which column is the geometry."""
    table = pq.read_table(path)
    said = json.loads((table.schema.metadata or {}).get(b"geo", b"{}"))
    column = said.get("primary_column", "geometry")
    if column not in table.column_names:
        raise PipelineError(f"{path} is not GeoParquet: it has no column {column!r}")
    shapes = shapely.from_wkb(table[column].to_numpy())
    rows = table.drop_columns([column]).to_pylist()
    features = [
        {"type": "Feature", "geometry": mapping(shape), "properties": row, **({"id": row["id"]} if "id" in row else {})}
        for shape, row in zip(shapes, rows, strict=True)
    ]
    return {"type": "FeatureCollection", "features": features}
