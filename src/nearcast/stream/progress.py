"""How far Spark is with what it is doing, for whoever waits at a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

__all__ = ["watched"]

EVERY = 0.5
"""Seconds between two looks."""


@contextmanager
def watched(spark: SparkSession, say: Callable[[str], None]) -> Iterator[None]:
    """While something runs, say again and again how many tasks are done; at the end, nothing."""
    ended, start = threading.Event(), time.monotonic()

    def look() -> None:
        while not ended.wait(EVERY):
            say(f"{_tasks(spark.sparkContext)}, {time.monotonic() - start:.0f} s")

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        say("")


def _tasks(context: SparkContext) -> str:
    """Of the stages that run: reading comes before matching, so there is one at a time as a rule."""
    tracker = context.statusTracker()
    running = [info for stage in sorted(tracker.getActiveStageIds()) if (info := tracker.getStageInfo(stage))]
    done, all_ = sum(s.numCompletedTasks for s in running), sum(s.numTasks for s in running)
    return f"{done} of {all_} tasks" if running else "preparing"
