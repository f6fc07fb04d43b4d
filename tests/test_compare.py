from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_compare_prints_a_row_a_case(tmp_path: Path) -> None:
    for name, ratio in (("a", 0.5), ("b", 0.75)):
        report = {"results": [{"case": "parse", "ratio": ratio}, {"case": f"only-{name}", "ratio": 1.0}]}
        (tmp_path / name).write_text(json.dumps(report), encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "compare.py"), str(tmp_path / "a"), str(tmp_path / "b")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[3] == ["parse", "0.5000", "0.7500", "1.50x"]
    assert [row[0] for row in rows[1:3]] == ["only-a", "only-b"]
