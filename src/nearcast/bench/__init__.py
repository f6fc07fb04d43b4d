"""Benchmarks: each figure beside a baseline taken in the same run, since machines differ and are noisy."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["BENCHES", "Result", "rate", "report"]


@dataclass(frozen=True, slots=True)
class Result:
    case: str
    value: float
    unit: str
    baseline: float
    """The same work done the plainest way, in the same unit and run."""

    @property
    def ratio(self) -> float:
        return self.value / self.baseline


def rate(work: Callable[[], int], seconds: float) -> float:
    """How many units of work a second, by the best of the rounds that fit into the time."""
    best, end = 0.0, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        done = work()
        best = max(best, done / (time.perf_counter() - start))
        if time.perf_counter() >= end:
            return best


def report(bench: str, results: list[Result]) -> dict[str, Any]:
    rows = [
        {"case": r.case, "value": r.value, "unit": r.unit, "baseline": r.baseline, "ratio": r.ratio} for r in results
    ]
    return {"bench": bench, "machine": _machine(), "commit": _commit(), "results": rows}


def _machine() -> dict[str, Any]:
    return {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}


def _commit() -> str | None:
    """The commit of a checkout; none for an installed package."""
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _language(quick: bool) -> list[Result]:
    from nearcast.bench import language  # noqa: PLC0415  # a bench is loaded when it is asked for

    return language.run(quick)


def _reference(quick: bool) -> list[Result]:
    from nearcast.bench import reference  # noqa: PLC0415  # a bench is loaded when it is asked for

    return reference.run(quick)


BENCHES: dict[str, Callable[[bool], list[Result]]] = {"language": _language, "reference": _reference}
