"""What a job has for a while: a table that is computed once, and a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark import StorageLevel
from pyspark.sql import DataFrame

__all__ = ["computed_once", "scratch"]


@contextmanager
def computed_once(frame: DataFrame) -> Iterator[DataFrame]:
    """The table, in memory or on disk until it is no longer needed."""
    frame.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield frame
    finally:
        frame.unpersist()


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder that goes away again."""
    with TemporaryDirectory(prefix="nearcast-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
