"""`nearcast backtest` with what it cannot run: one reason, no trace, nothing written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stream.city import ZONES

FIXES = "client,time,lon,lat\na,0,13.002,52.002\n"


def backtest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nearcast.cli", "backtest", "--out", "out", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fixes.csv").write_text(FIXES, encoding="utf-8")
    (tmp_path / "zones.geojson").write_text(json.dumps(ZONES), encoding="utf-8")
    (tmp_path / "bad.geojson").write_text('{"type": "Nothing"}', encoding="utf-8")
    (tmp_path / "bad.lacl").write_text(
        "SUBSCRIBE s BY a SELECT WHERE &location IN NOTHING OF THE KIND", encoding="utf-8"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--fixes fixes.csv", "there is nothing to match"),
        ("--fixes fixes.csv --pairs far", "'far' is not a distance"),
        ("--fixes fixes.csv --layer zones", "'zones' is not NAME=VALUE"),
        ("--fixes fixes.csv --layer zones=none.geojson", "there is no file none.geojson"),
        ("--fixes fixes.csv --layer zones=bad.geojson", "layer 'zones': bad.geojson: "),
        ("--fixes fixes.csv --subscriptions bad.lacl", "bad.lacl: line 1, column"),
        ("--fixes fixes.csv --pairs 10m --shards 0", "--shards"),
        ("--fixes none.csv --pairs 10m", "there is no none.csv"),
        ("--fixes fixes.csv --pairs 10m --columns client=cab", "there is no column 'cab'"),
    ],
)
def test_bad_input(folder: Path, options: str, reason: str) -> None:
    done = backtest(folder, *options.split())
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (1 if "lacl" not in options else 4)  # a statement is shown, with a caret
    assert not (folder / "out").exists()
