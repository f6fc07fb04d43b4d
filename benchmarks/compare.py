"""Compare two reports of ``nearcast bench NAME --json``: their ratios to the baseline, side by side.

python benchmarks/compare.py before.json after.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

__all__ = ["table"]


def table(before: str, after: str) -> str:
    """One row a case. Ratios are compared, not times: each was taken beside its own baseline."""
    old, new = (
        {row["case"]: row["ratio"] for row in json.loads(Path(file).read_text(encoding="utf-8"))["results"]}
        for file in (before, after)
    )
    rows = [f"{'case':16} {'before':>10} {'after':>10} {'change':>8}"]
    for case in sorted(old.keys() | new.keys()):
        a, b = old.get(case), new.get(case)
        shown = [f"{'' if ratio is None else format(ratio, '.4f'):>10}" for ratio in (a, b)]
        rows.append(f"{case:16} {shown[0]} {shown[1]} {'' if not a or b is None else format(b / a, '.2f') + 'x':>8}")
    return "\n".join(rows)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: compare.py before.json after.json")
    print(table(sys.argv[1], sys.argv[2]))
