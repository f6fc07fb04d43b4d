"""Every example runs, and says what its expected file says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nearcast import Reference, decode_op, encode_notification

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/*.py"))
LOGS = sorted(EXAMPLES.glob("*/ops.jsonl"))


def test_there_are_examples() -> None:
    assert {path.parent.name for path in (*SCRIPTS, *LOGS)} == {path.name for path in EXAMPLES.iterdir()}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.parent.name)
def test_script(script: Path) -> None:
    ran = subprocess.run([sys.executable, script], capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == script.with_name("expected.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.parent.name)
def test_log(log: Path) -> None:
    system = Reference()
    ops = [decode_op(line) for line in log.read_text(encoding="utf-8").splitlines()]
    lines = [encode_notification(told).decode() for op in ops for told in system.apply(op)]
    expected = log.with_name("expected.jsonl").read_text(encoding="utf-8").splitlines()
    assert [measured(json.loads(line)) for line in lines] == [measured(json.loads(line)) for line in expected]


def measured(value: Any) -> Any:
    """Metres to the millimetre: the last digits of a geodesic are the library's."""
    if isinstance(value, dict):
        return {key: measured(item) for key, item in value.items()}
    if isinstance(value, list):
        return [measured(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value
