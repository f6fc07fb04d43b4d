"""Backtests and streams of real traces tell what the reference tells, or one kernel alone where fixes are many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse
from nearcast.match.kernel import Kernel
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.layer import Layer
from nearcast.model.moment import MICROS
from nearcast.model.shape import Point
from nearcast.stream.backtest import Backtest, run_backtest
from nearcast.stream.streaming import Stream, run_stream
from tests.match.harness import owned_subscription
from tests.match.traces import DATA, Row, bus_rows, cab_rows, discs, places, points, ship_rows
from tests.stream.oracle import Given, log_of, rows_told
from tests.stream.test_backtest import rows_in, rows_of
from tests.stream.test_streaming import write_files

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the traces are not here")


def asked(layers: Sequence[Layer], close: str) -> list[ops.Op]:
    """Every layer is watched, and every pair that is close."""
    relation = statement_to_op(parse(f"RELATION close WHERE &location WITHIN {close} OF #location"), 0)
    assert relation is not None
    texts = {layer.name: f"SELECT WHERE &location IN LAYER {layer.name}" for layer in layers}
    texts["close"] = "SELECT FROM RELATION close"
    watched = [ops.Subscribe(0, owned_subscription("desk", name, text)) for name, text in texts.items()]
    return [*(ops.DefineLayer(0, layer) for layer in layers), relation, *watched]


def backtest(spark: SparkSession, folder: Path, rows: Sequence[Row], definitions: Sequence[ops.Op]) -> list[str]:
    columns = {"cab": [r.client for r in rows], "time": [r.time for r in rows]}
    table = pa.table({**columns, "lon": [r.x for r in rows], "lat": [r.y for r in rows]})
    pq.write_table(table, folder / "fixes.parquet")
    fixes, renamed = [str(folder / "fixes.parquet")], {"client": "cab"}
    run_backtest(spark, Backtest(folder / "out", fixes, (), definitions, renamed, shards=2, slices=2))
    return rows_in(folder / "out")


def stream(spark: SparkSession, folder: Path, rows: Sequence[Row], definitions: Sequence[ops.Op]) -> list[str]:
    """The same from a log in three files, a micro-batch each."""
    log = list(log_of(definitions, given(rows)))[len(definitions) :]
    write_files(folder / "log", log, len(log) // 3 + 1)
    job = Stream(
        folder / "streamed",
        folder / "checkpoint",
        folder=folder / "log",
        definitions=definitions,
        shards=2,
        slices=1,
        most=1,
        once=True,
    )
    run_stream(spark, job)
    return rows_in(folder / "streamed")


def given(rows: Sequence[Row]) -> list[Given]:
    return [Given(row.client, row.time * MICROS, Position(Point(row.x, row.y))) for row in rows]


def test_cabs_in_neighbourhoods_and_zip_codes(spark: SparkSession, tmp_path: Path) -> None:
    rows = cab_rows("2008-05-23T18:00:00-07:00", 1800, 40)
    layers = [places("hoods", "places_sf/sf_neighborhoods.geojson"), places("zips", "places_sf/sf_zipcodes.geojson")]
    definitions, kernel = asked(layers, "200 m"), Kernel()
    told = rows_of([n for op in log_of(definitions, given(rows)) for n in kernel.apply(op)])
    assert len(told) > 300
    assert backtest(spark, tmp_path, rows, definitions) == told
    assert stream(spark, tmp_path, rows, definitions) == told


def test_buses_at_their_stops(spark: SparkSession, tmp_path: Path) -> None:
    rows = bus_rows("2015-03-18T12:00:00+00:00", 1200, 8)
    stops = points("austin_buses/data/stops/stops_20150607_20150822.csv.gz")[::20]
    definitions = asked([discs("stops", stops)], "300 m")
    told = rows_told(definitions, given(rows))
    assert backtest(spark, tmp_path, rows, definitions) == told
    assert stream(spark, tmp_path, rows, definitions) == told


def test_ships_around_the_canal(spark: SparkSession, tmp_path: Path) -> None:
    rows = ship_rows(300)
    definitions = asked([discs("berths", [(row.x, row.y) for row in rows[::10]])], "2 km")
    told = rows_told(definitions, given(rows))
    assert backtest(spark, tmp_path, rows, definitions) == told
    assert stream(spark, tmp_path, rows, definitions) == told
