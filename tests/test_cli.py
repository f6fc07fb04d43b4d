"""The command as a user meets it: real processes, real files, bad input included."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from nearcast import Reference, encode_notification
from nearcast.demo import op_log

ROOT = Path(__file__).parents[1]
FIRST = ROOT / "examples" / "first" / "ops.jsonl"


def nearcast(*words: object, given: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nearcast.cli", *map(str, words)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=ROOT)


def test_run_prints_a_json_object_a_line() -> None:
    done = nearcast("run", "--ops", FIRST)
    assert done.returncode == 0
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(n["kind"], n["reason"]) for n in told] == [("enter", "moved"), ("leave", "attributes")]
    assert done.stderr == "2 notifications, 0 lines refused, 0 stale fixes\n"


def test_run_reports_bad_lines_and_goes_on() -> None:
    log = FIRST.read_text(encoding="utf-8").splitlines()
    log.insert(2, '{"op": "move", "time": 1, "client": "ann", "lon": 200, "lat": 1}')
    log.insert(1, "not json")
    done = nearcast("run", "--ops", "-", given="\n".join(log))
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 2
    assert "-:2: not an op" in done.stderr
    assert "-:4: (200.0, 1.0) is not on the earth" in done.stderr
    assert "2 lines refused" in done.stderr


def test_run_summary_as_json_counts_stale_fixes() -> None:
    fix = '{"op": "move", "time": 5, "client": "ann", "lon": 2, "lat": 1}\n'
    done = nearcast("run", "--ops", "-", "--json", given=fix * 3)
    assert json.loads(done.stderr) == {
        "notifications": 0,
        "refused": 0,
        "stale": 2,
        "forgotten": 0,
        "held": 0,
        "ops": {"Move": 3},
    }


def test_run_holds_fixes_back_for_the_lateness_window() -> None:
    fixes = "".join(f'{{"op": "move", "time": {t}, "client": "ann", "lon": 2, "lat": 1}}\n' for t in (10, 5, 7, 40))
    assert json.loads(nearcast("run", "--ops", "-", "--json", given=fixes).stderr)["stale"] == 2
    late = nearcast("run", "--ops", "-", "--json", "--lateness", "20", given=fixes)
    assert json.loads(late.stderr)["stale"] == 0


def test_run_begins_with_a_file_of_statements(tmp_path: Path) -> None:
    file = tmp_path / "subs.lacl"
    file.write_text("PUBLISH ad BY shop AT POINT(2 1);\nSUBSCRIBE near BY ann SELECT;", encoding="utf-8")
    fix = '{"op": "move", "time": 5, "client": "ann", "lon": 2, "lat": 1}\n'
    done = nearcast("run", "--statements", file, "--ops", "-", given="not json\n" + fix)
    (told,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (told["kind"], told["time"]) == ("snapshot", "1970-01-01T00:00:05Z")


@pytest.mark.parametrize("text", ["SELECT WERE &a = 1;", "SELECT;", "LAYER z FROM 'none.geojson';"])
def test_run_stops_at_once_if_its_statements_are_not_valid(tmp_path: Path, text: str) -> None:
    file = tmp_path / "subs.lacl"
    file.write_text(text, encoding="utf-8")
    fix = '{"op": "tick", "time": 5}\n'
    done = nearcast("run", "--statements", file, "--ops", "-", given=fix * 3)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("error") == 1


def test_explain_answers_why_not() -> None:
    done = nearcast("explain", "--ops", FIRST, "--client", "ann", "--at", "2026-01-01T08:01:30Z")
    assert "fails   WHERE &location WITHIN 1000 m OF #location  (1750.3 m outside)" in done.stdout


def test_explain_as_json_lists_conditions_and_notifications() -> None:
    done = nearcast("explain", "--ops", FIRST, "--client", "ann", "--subscription", "cheap", "--json")
    (pair,) = json.loads(done.stdout)
    assert pair["summary"] == "WHERE and TO do not hold"
    assert [n["kind"] for n in pair["notifications"]] == ["enter", "leave"]
    assert {c["clause"] for c in pair["conditions"]} == {"WHERE", "TO"}


def test_explain_narrows_to_a_publication() -> None:
    asked = ("explain", "--ops", FIRST, "--client", "ann")
    assert "shell-7" in nearcast(*asked, "--publisher", "shell-7", "--publication", "fuel").stdout
    assert nearcast(*asked, "--publication", "other").stdout == ""


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--ops", "nowhere.jsonl"),
        ("check", "nowhere.lacl"),
        ("explain", "--ops", FIRST, "--client", "nobody"),
        ("explain", "--ops", FIRST, "--client", "ann", "--at", "yesterday"),
        ("bench", "nothing"),
        ("bench", "language", "--case", "nothing"),
        ("tracks", "--fixes", "nowhere.csv", "--out", "nowhere"),
        ("tracks", "--fixes", FIRST, "--out", "nowhere", "--stay-radius", "far"),
        ("encounters", "--notifications", "nowhere", "--out", "nowhere"),
        ("history", "nowhere", "SELECT 1"),
        ("history", ROOT / "examples", "SELECT 1"),
        ("frobnicate",),
        ("run",),
    ],
)
def test_bad_input_ends_in_one_line(words: tuple[object, ...]) -> None:
    done = nearcast(*words)
    assert done.returncode != 0
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("error: ")


def test_check_prints_the_canonical_form(tmp_path: Path) -> None:
    file = tmp_path / "subs.lacl"
    file.write_text("select where 70 > &price; -- a comment\n\nSpace gas (price real);", encoding="utf-8")
    done = nearcast("check", file)
    assert done.stdout == "SELECT WHERE &price < 70;\nSPACE gas (price real);\n"
    assert done.returncode == 0
    shapes = nearcast("check", "--shapes", file)
    assert shapes.stdout.startswith("SELECT WHERE &price < ?;")


def test_check_knows_what_earlier_statements_define(tmp_path: Path) -> None:
    file = tmp_path / "subs.lacl"
    file.write_text(
        "SPACE gas (price real);\nSELECT FROM gaz;\nPUBLISH AS gas (prize = 1);\nSELECT FROM gas;", encoding="utf-8"
    )
    done = nearcast("check", file, "--json")
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert (answer["statements"], answer["errors"]) == (4, 2)
    assert answer["results"][1] == {"line": 2, "error": "unknown space 'gaz'; did you mean 'gas'?"}
    assert "did you mean 'price'?" in answer["results"][2]["error"]


def test_check_reads_layers_beside_the_file_and_warns_of_repairs(tmp_path: Path) -> None:
    bow = {"type": "Polygon", "coordinates": [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]}
    feature = {"type": "Feature", "id": "bow", "geometry": bow, "properties": {}}
    (tmp_path / "z.geojson").write_text(
        json.dumps({"type": "FeatureCollection", "features": [feature]}), encoding="utf-8"
    )
    file = tmp_path / "subs.lacl"
    file.write_text("LAYER z FROM 'z.geojson';\nLAYER y FROM 'none.geojson';", encoding="utf-8")
    done = nearcast("check", file)
    assert done.returncode == 1
    assert "region 'bow' was repaired" in done.stderr
    assert "cannot read none.geojson" in done.stderr


def test_check_of_text_that_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "subs.lacl"
    file.write_bytes(b"SELECT \xff")
    assert nearcast("check", file).stderr == f"error: {file} is not UTF-8 text: invalid start byte at byte 7\n"


def test_check_of_ten_thousand_statements_takes_less_than_ten_seconds(tmp_path: Path) -> None:
    one = "SELECT WHERE &location WITHIN {} m OF #location AND &price < {} AND #fuel < 20 % DWELL 5 min;"
    file = tmp_path / "many.lacl"
    file.write_text("\n".join(one.format(i, i % 90) for i in range(10_000)), encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = nearcast("check", file)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time, which is what it takes on a core of its own: the tests beside this one do not count.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 10
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 10_000


def test_demo_runs() -> None:
    """Through a real broker and a real stream on Spark, which tell the same."""
    done = nearcast("demo", "--speed", "0")
    assert done.returncode == 0, done.stderr
    assert "dispatcher  enter  bus-" in done.stdout
    assert re.search(r"The map: http://127.0.0.1:\d+/map#token=\S{32}\n", done.stdout)
    assert done.stdout.endswith("live and Spark agree: 164 of 164\n")


def test_demo_tells_what_the_reference_tells() -> None:
    told = [json.loads(line) for line in nearcast("demo", "--speed", "0", "--json").stdout.splitlines()]
    reference = Reference()
    defined = [json.loads(encode_notification(n)) for op in op_log() for n in reference.apply(op)]
    assert len({n["id"] for n in told}) == len(told)
    for n in (*told, *defined):
        n.pop("why")
        if n["cause"]["kind"] == "hidden":  # its id is as well
            n.pop("id")
    assert sorted(map(json.dumps, told)) == sorted(map(json.dumps, defined))


@pytest.mark.parametrize("name", ["kernel", "language", "live", "reference", "webhooks"])
def test_bench_prints_one_object(name: str) -> None:
    answer = json.loads(nearcast("bench", name, "--quick", "--json").stdout)
    assert set(answer) == {"bench", "machine", "commit", "results"}
    for result in answer["results"]:
        assert set(result) == {"case", "value", "unit", "baseline", "ratio"}
        assert result["value"] > 0
        assert result["ratio"] == pytest.approx(result["value"] / result["baseline"])


def test_bench_measures_only_the_cases_that_are_asked_for() -> None:
    answer = json.loads(nearcast("bench", "language", "--quick", "--json", "--case", "shape", "--case", "parse").stdout)
    assert [result["case"] for result in answer["results"]] == ["shape", "parse"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m nearcast.cli demo --speed 0 | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stderr == ""
