"""Files of fixes of every kind, through Spark: the same rows tell the same; what is no fix is kept with its reason."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from nearcast.errors import PipelineError
from nearcast.model import op as ops
from nearcast.model.moment import MICROS
from nearcast.model.schema import TIME
from nearcast.stream.backtest import Backtest, run_backtest
from tests.stream.city import START, city_definitions, city_rows
from tests.stream.oracle import Given, columns_of, rows_told
from tests.stream.test_backtest import rows_in

ASKED = ("zones", "calm", "fuel", "line", "pairs", "own")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def rows() -> list[Given]:
    return city_rows(120, 6, skew=True)


@pytest.fixture(scope="module")
def definitions() -> list[ops.Op]:
    return city_definitions(*ASKED)


@pytest.fixture(scope="module")
def expected(rows: list[Given], definitions: list[ops.Op]) -> list[str]:
    told = rows_told(definitions, rows)
    assert len(told) > 200
    return told


def tells(
    spark: SparkSession, folder: Path, definitions: Sequence[ops.Op], name: str = "fixes", **options: Any
) -> tuple[list[str], dict[str, Any], list[dict[str, str]]]:
    """What a backtest tells, its summary, and its dead letters."""
    summary = run_backtest(spark, Backtest(folder / "out", [str(folder / name)], definitions=definitions, **options))
    told = rows_in(folder / "out")
    assert summary["notifications"] == len(told)
    letters = [json.loads(line) for path in folder.glob("out/_dead/*.jsonl") for line in path.read_text().splitlines()]
    assert summary["bad"] + summary["refused"] == len(letters)
    return told, summary, sorted(letters, key=lambda letter: letter["content"])


def objects(rows: Sequence[Given]) -> Rows:
    columns = columns_of(rows)
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


# ---- every kind --------------------------------------------------------------------------------------


def test_parquet_of_several_schemas(
    spark: SparkSession, rows: list[Given], definitions: list[ops.Op], expected: list[str], tmp_path: Path
) -> None:
    """Times as pandas has them, as Spark has them, as seconds; columns renamed, left out, or in another order."""
    folder = tmp_path / "fixes [1]{x}*"
    folder.mkdir()
    kinds = [pa.timestamp("ns"), TIME, pa.timestamp("us"), pa.int64(), pa.float64()]
    for i, kind in enumerate(kinds):
        some = rows[i :: len(kinds)]
        columns = columns_of(some)
        times = pa.array(columns.pop("time"), pa.int64())
        seconds = pa.array([t.as_py() / MICROS for t in times], pa.float64())
        at = times.view(TIME).cast(pa.timestamp("us")).cast(kind) if i in (0, 2) else times.view(TIME)
        columns["when.at"] = at if i < 3 else seconds.cast(kind)
        if i == 1:
            columns = dict(reversed(columns.items()))
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")
    told, summary, letters = tells(
        spark, tmp_path, definitions, folder.name, columns={"time": "when.at"}, shards=2, slices=2
    )
    assert (told, letters, summary["rows"]) == (expected, [], len(rows))
    assert summary["duplicates"] == len(rows) - len({(row.client, row.time) for row in rows})


def moment(time: int, i: int) -> str:
    """A time as files have it: in zones of all kinds, or as a number."""
    at = EPOCH + timedelta(microseconds=time)
    return (
        at.isoformat().replace("+00:00", "Z"), at.astimezone(EPOCH.tzinfo).strftime("%Y-%m-%d %H:%M:%S"),
        (at + timedelta(hours=5.5)).strftime("%Y-%m-%dT%H:%M:%S+05:30"), str(time // MICROS), f"{time / MICROS:.3f}",
    )[i % 5]  # fmt: skip


def test_parquet_as_others_write_it(
    spark: SparkSession, rows: list[Given], definitions: list[ops.Op], expected: list[str], tmp_path: Path
) -> None:
    """Names from a dictionary, times of 96 bits, small groups of rows, names with dots."""
    columns = columns_of(rows)
    times = pa.array(columns.pop("time"), pa.int64()).view(TIME)
    named = pa.array(columns.pop("client")).dictionary_encode()
    table = pa.table({**columns, "fix.time": times, "fix": named, "fix.note": pa.nulls(len(rows), pa.string())})
    path = tmp_path / "fixes.parquet"
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, row_group_size=50)
    told, summary, letters = tells(
        spark, tmp_path, definitions, path.name, columns={"client": "fix", "time": "fix.time"}
    )
    assert (told, summary["rows"], letters) == (expected, len(rows), [])


def test_parquet_that_is_damaged_inside(spark: SparkSession, definitions: list[ops.Op], tmp_path: Path) -> None:
    columns = {"client": ["a"] * 1000, "time": range(1000), "lon": [1.0] * 1000, "lat": [2.0] * 1000}
    path = tmp_path / "fixes.parquet"
    pq.write_table(pa.table(columns), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:300] = b"\xff" * 296
    path.write_bytes(content)
    with pytest.raises(PipelineError, match=f"{path.name} cannot be read"):
        tells(spark, tmp_path, definitions, path.name)
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["client", "client"])
    rest = pa.table({"time": [START], "lon": [1.0], "lat": [2.0]})
    for name in rest.column_names:
        twice = twice.append_column(name, rest[name])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(PipelineError, match="2 columns 'client'"):
        tells(spark, tmp_path, definitions, "twice.parquet", overwrite=True)


def test_csv_of_several_headers_with_bad_lines(
    spark: SparkSession, rows: list[Given], definitions: list[ops.Op], expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "fixes").mkdir()
    for part in range(3):
        found = [{**row, "time": moment(row["time"], i if part else 0)} for i, row in enumerate(objects(rows[part::3]))]
        names = sorted(found[0], reverse=part == 1)
        with (tmp_path / "fixes" / f"{part}.csv").open("w", encoding="utf-8-sig" if part else "utf-8") as file:
            file.write(",".join([*names, "a.b", "LON"] if part == 2 else names) + "\n")
            writer = csv.writer(file, lineterminator="\r\n" if part == 1 else "\n")
            for row in found:
                values = [row[name] for name in names] + (['x, "y"', "1"] if part == 2 else [])
                writer.writerow(values)
            file.write("only,two\n" if part == 0 else "")
    header, *_ = (tmp_path / "fixes" / "0.csv").read_text(encoding="utf-8").splitlines()
    bad = {"client": "bad", "time": "2024-01-01", "lon": "1", "lat": "east"}
    with (tmp_path / "fixes" / "0.csv").open("a", encoding="utf-8") as file:
        file.write(",".join(bad.get(name, "") for name in header.split(",")) + "\n")
    told, summary, letters = tells(spark, tmp_path, definitions, shards=7, slices=1)
    assert told == expected
    assert letters[0] == {"reason": "the line cannot be read as the others are", "content": "only,two"}
    assert letters[1]["reason"] == "lat: 'east' is not a number"
    assert json.loads(letters[1]["content"]) == bad
    assert summary["rows"] == len(rows) + 2


def test_lines_of_json_with_bad_ones(
    spark: SparkSession, rows: list[Given], definitions: list[ops.Op], expected: list[str], tmp_path: Path
) -> None:
    """Names need not be in every object, nor in the first; a line that is none is kept as it is."""
    (tmp_path / "fixes").mkdir()
    found = [{name: value for name, value in row.items() if value is not None} for row in objects(rows)]
    found.sort(key=len)
    lines = [json.dumps({**row, "time": moment(row["time"], i)}) for i, row in enumerate(found)]
    bad = [
        "{broken", "[1, 2]", "7", "\\ud800", '{"client": "\\ud800", "time": 0, "lon": 1, "lat": 2}', "[" * 5000,
        '{"client": "x", "time": 0, "lon": NaN, "lat": 2, "colour": "red"}',
        '{"client": {}, "time": 0, "lon": [1], "lat": 2}',
        '{"type": "Feature", "geometry": "none", "properties": []}', '{"time": 0, "lon": 1, "lat": 2}',
        '{"client": "x", "lon": 1, "lat": 2}', '{"client": "x", "time": 0, "lon": 181, "lat": 2}',
    ]  # fmt: skip
    (tmp_path / "fixes" / "0.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "fixes" / "1.jsonl").write_text("\n".join(lines[::2]), encoding="utf-8")
    (tmp_path / "fixes" / "2.ndjson").write_text("\n\n".join([*bad, *lines[1::2]]) + "\n", encoding="utf-8-sig")
    told, summary, letters = tells(spark, tmp_path, definitions, shards=1, slices=3)
    assert told == expected
    assert [letter["content"] for letter in letters] == sorted(bad)
    assert summary["bad"] == len(bad)
    assert all(letter["reason"] for letter in letters)


def test_features(spark: SparkSession, tmp_path: Path) -> None:
    """GeoJSON: the id is the client, further properties are attributes."""
    given = [row for row in city_rows(60, 6, seed=3) if row.position.point]
    features = [feature(row) for row in objects(given)]
    (tmp_path / "fixes.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [*features, 5]}))
    told, summary, letters = tells(spark, tmp_path, city_definitions(*ASKED), "fixes.geojson", shards=2)
    assert told == rows_told(city_definitions(*ASKED), given)
    assert [letter["content"] for letter in letters] == ["5"]
    assert summary["first"] is not None


def feature(row: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: v for name, v in row.items() if name not in ("client", "lon", "lat", "alt", "time") and v is not None}
    at = [row["lon"], row["lat"], *([row["alt"]] if row["alt"] is not None else [])]
    geometry, properties = {"type": "Point", "coordinates": at}, {**said, "time": row["time"] / MICROS}
    return {"type": "Feature", "id": row["client"], "geometry": geometry, "properties": properties}


def test_nothing_at_all(spark: SparkSession, definitions: list[ops.Op], tmp_path: Path) -> None:
    (tmp_path / "fixes.csv").write_text("client,time,lon,lat\n", encoding="utf-8")
    told, summary, letters = tells(spark, tmp_path, definitions, "fixes.csv", shards=2)
    assert (told, letters, summary["rows"], summary["first"]) == ([], [], 0, None)


# ---- what cannot be run ------------------------------------------------------------------------------


def test_what_cannot_be_read_is_said_and_old_results_stay(
    spark: SparkSession, definitions: list[ops.Op], tmp_path: Path
) -> None:
    old = tmp_path / "out" / "day=2024-01-01" / "share-00000.parquet"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"old")
    for name, content, reason in (
        ("zero.csv", b"", "has no columns"),
        ("other.csv", b"cab,time,lon,lat\n", "no column 'client'"),
        ("bad.parquet", b"PAR1 nothing of the kind PAR1", "is not Parquet that can be read"),
        ("bad.geojson", b"{", "is not GeoJSON that can be read"),
        ("bad.jsonl", b"one\ntwo\n", "there is no line of JSON"),
        ("fixes.txt", b"", "there is no file that ends in"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(PipelineError, match=reason):
            tells(spark, tmp_path, definitions, name, overwrite=True)
    with pytest.raises(PipelineError, match="is not empty"):
        tells(spark, tmp_path, definitions, "zero.csv")
    columns = {"client": [["a"]], "time": [START], "lon": [1.0], "lat": [2.0]}
    pq.write_table(pa.table(columns), tmp_path / "list.parquet")
    with pytest.raises(PipelineError, match="column 'client' of the fixes has list<element: string>"):
        tells(spark, tmp_path, definitions, "list.parquet", overwrite=True)
    assert old.read_bytes() == b"old"
