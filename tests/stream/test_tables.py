"""The commands over tables, in the session of the tests: what they write, print and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from nearcast.cli import cli
from nearcast.errors import PipelineError
from nearcast.feed import notification_batch, notifications_of
from nearcast.model.moment import MICROS
from nearcast.model.notification import Kind, Notification, Reason, by_fix
from nearcast.stream.tables import TrackJob, answer_lines, answer_rows, write_tracks
from nearcast.stream.tracks import DUPLICATE, JUMP

pytestmark = pytest.mark.usefixtures("spark")

FIXES = """cab,time,lon,lat
a,2026-01-01T08:00:00Z,10.0,50.0
a,2026-01-01T08:06:00Z,10.0001,50.0
a,2026-01-01T08:06:00Z,10.0002,50.0
a,2026-01-01T08:06:30Z,12.0,50.0
a,2026-01-01T08:10:00Z,10.05,50.0
a,2026-01-01T08:20:00Z,10.05,50.0
b,noon,10.0,50.0
b,2026-01-01T08:00:00Z,10.0,95.0
"""
ZONES = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "id": "yard",
            "properties": {"radius": 100},
            "geometry": {"type": "Point", "coordinates": [10, 50]},
        }
    ],
}


def told(time: int, kind: Kind, client: str) -> Notification:
    about = ("zones", "ann", client, "here", "yard", None)
    return Notification(
        f"{client} {time}",
        time * MICROS,
        kind,
        *about,
        Reason.MOVED,
        by_fix(client, time * MICROS),
        "",
        {},
        {"is": True},
    )


NOTIFICATIONS = [told(0, Kind.ENTER, "bob"), told(60, Kind.LEAVE, "bob"), told(30, Kind.ENTER, "cat")]


@pytest.fixture
def fixes(tmp_path: Path) -> Path:
    path = tmp_path / "fixes.csv"
    path.write_text(FIXES, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("told")
    pq.write_table(pa.Table.from_batches([notification_batch(NOTIFICATIONS)]), made / "share-00000.parquet")
    return made


def nearcast(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_notifications_come_back_from_their_columns() -> None:
    assert notifications_of(notification_batch(NOTIFICATIONS)) == NOTIFICATIONS


def test_tracks(fixes: Path, tmp_path: Path) -> None:
    zones, out = tmp_path / "zones.geojson", tmp_path / "out"
    zones.write_text(json.dumps(ZONES), encoding="utf-8")
    words = ("tracks", "--fixes", fixes, "--columns", "client=cab", "--layer", f"zones={zones}", "--out", out)
    summary = json.loads(nearcast(*words, "--json").stdout)
    del summary["seconds"]
    counts = {"rows": 8, "bad": 2, "clients": 1, "kept": 4, "stays": 2, "trips": 1}
    assert summary == {"out": str(out), "dropped": {DUPLICATE: 1, JUMP: 1}, **counts}
    assert pq.read_table(out / "kept").num_rows == 4
    assert sorted(pq.read_table(out / "dropped")["reason"].to_pylist()) == [DUPLICATE, JUMP]
    stays = pq.read_table(out / "stays").sort_by("start").to_pylist()
    assert [(stay["place"], stay["duration"]) for stay in stays] == [("zones/yard", 360.0), (None, 600.0)]
    (trip,) = pq.read_table(out / "trips").to_pylist()
    assert (trip["from_place"], trip["to_place"], round(trip["straight"])) == ("zones/yard", None, 3578)
    dead = [json.loads(line) for line in (out / "_dead" / "unread.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [json.loads(letter["content"])["cab"] for letter in dead] == ["b", "b"]
    said = nearcast(*words, "--overwrite", "--max-accuracy", "50m").output
    assert said.startswith("4 of 8 rows kept: 2 stays and 1 trip of 1 client in ")
    assert f"dropped 1: {JUMP}\n" in said


def test_tracks_go_on_into_a_backtest(fixes: Path, tmp_path: Path) -> None:
    nearcast("tracks", "--fixes", fixes, "--columns", "client=cab", "--out", tmp_path / "out")
    kept = ("--fixes", tmp_path / "out" / "kept", "--columns", "lon=x,lat=y")
    done = nearcast("backtest", *kept, "--pairs", "100m", "--out", tmp_path / "told")
    assert done.output.startswith("0 notifications from 4 rows")


def test_a_folder_of_results_is_not_written_over(spark: SparkSession, fixes: Path, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="is not empty"):
        write_tracks(spark, TrackJob(tmp_path, [str(fixes)], {"client": "cab"}))


def test_encounters(folder: Path, tmp_path: Path) -> None:
    done = nearcast("encounters", "--notifications", folder, "--out", tmp_path / "met")
    assert done.output.startswith("2 encounters, 1 open in ")
    assert pq.read_table(tmp_path / "met").sort_by("publisher")["duration"].to_pylist() == [60.0, None]
    again = nearcast("encounters", "--notifications", folder, "--out", tmp_path / "met", "--overwrite", "--json")
    counts = {"encounters": 2, "open": 1, "without_start": 0, "without_end": 0, "median_duration": 60.0}
    assert json.loads(again.stdout).items() >= counts.items()


def test_an_answer_is_a_table_for_people_and_lines_for_programs(folder: Path) -> None:
    asked = "SELECT publisher, start, duration FROM encounters ORDER BY publisher"
    shown = nearcast("history", folder, asked).output.splitlines()
    assert [line.split() for line in (shown[0], *shown[2:])] == [
        ["publisher", "start", "duration"],
        ["bob", "1970-01-01T00:00:00Z", "60.0"],
        ["cat", "1970-01-01T00:00:30Z"],
    ]
    lines = [json.loads(line) for line in nearcast("history", folder, asked, "--json").stdout.splitlines()]
    assert [(line["publisher"], line["duration"]) for line in lines] == [("bob", 60.0), ("cat", None)]


def test_a_long_answer_is_cut(spark: SparkSession, folder: Path) -> None:
    names, rows, is_all = answer_rows(spark, folder, "SELECT time FROM notifications ORDER BY time", 2)
    assert (names, rows, is_all) == (["time"], [["1970-01-01T00:00:00Z"], ["1970-01-01T00:00:30Z"]], False)
    assert answer_rows(spark, folder, "SELECT 1 AS one", 1) == (["one"], [["1"]], True)
    assert nearcast("history", folder, "SELECT explode(sequence(1, 51))").output.endswith("--json prints all\n")


def test_what_is_wrong_is_one_line(spark: SparkSession, folder: Path) -> None:
    for sql in (
        "SELEC 1",
        "SELECT 1 / (duration - duration) FROM encounters WHERE NOT open",
        "SELECT a FROM encounters",
    ):
        with pytest.raises(PipelineError) as of_rows:
            answer_rows(spark, folder, sql, 1)
        with pytest.raises(PipelineError) as of_lines:
            list(answer_lines(spark, folder, sql))
        assert "\n" not in f"{of_rows.value}{of_lines.value}"


@pytest.mark.parametrize(
    ("option", "value"), [("--stay-radius", "far"), ("--stay-time", "5"), ("--max-accuracy", "-1 m"), ("--layer", "z")]
)
def test_wrong_options_are_named(fixes: Path, tmp_path: Path, option: str, value: str) -> None:
    done = nearcast("tracks", "--fixes", fixes, "--out", tmp_path / "out", option, value)
    assert done.exit_code != 0
    assert f"Invalid value for '{option}': '{value}'" in done.output
