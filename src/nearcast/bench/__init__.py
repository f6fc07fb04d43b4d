"""Benchmarks: each figure beside a baseline taken in the same run, since machines differ and are noisy."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["BENCHES", "Case", "Result", "cases_of", "rate", "report", "usual_cases"]

BENCHES = ("kernel", "language", "live", "reference", "spark", "webhooks")


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


Case = Callable[[bool], Iterable[Result]]
"""One thing that is measured: at full size or, if it is to be quick, at a tiny one."""


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


def cases_of(bench: str) -> Mapping[str, Case]:
    """The cases of a bench, which is loaded when it is asked for."""
    cases: Mapping[str, Case] = import_module(f"nearcast.bench.{bench}").CASES
    return cases


def usual_cases(bench: str) -> list[str]:
    """Those that are run if none is named."""
    rare: Collection[str] = getattr(import_module(f"nearcast.bench.{bench}"), "RARE", ())
    return [name for name in cases_of(bench) if name not in rare]
