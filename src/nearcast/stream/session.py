"""A Spark session that needs no tuning: quiet, with the memory of the machine, and the Java that set-up found."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from nearcast.errors import PipelineError

__all__ = ["spark_session"]

ROWS_PER_BATCH = 100_000
"""Rows that pass from Spark to Python at once."""


def spark_session(
    name: str = "nearcast", master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process, made if there is none. A master given here, or to ``spark-submit``, is used."""
    _find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")
    master = master or (None if _is_submitted() else "local[*]")
    builder = SparkSession.builder.appName(name)
    for key, value in {**_defaults(), **_place(master), **(settings or {})}.items():
        builder = builder.config(key, value)
    with _noise_aside():
        spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _find_java() -> None:
    """Set-up wrote down a runtime that Spark can use. One that the user names wins."""
    noted = Path(sys.prefix) / "java_home"
    if "JAVA_HOME" not in os.environ and noted.is_file():
        os.environ["JAVA_HOME"] = noted.read_text(encoding="utf-8").strip()


def _is_submitted() -> bool:
    return "SPARK_ENV_LOADED" in os.environ or "spark.master" in os.environ.get("PYSPARK_SUBMIT_ARGS", "")


def _defaults() -> dict[str, str]:
    return {
        "spark.driver.memory": f"{_memory_mb()}m",
        "spark.driver.maxResultSize": "0",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        # Other readers of Parquet take the old kind of timestamp, which is Spark's own, for one without a zone.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.legacy.parquet.nanosAsLong": "true",  # else a file of pandas with times cannot be read
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.speculation": "false",
        "spark.python.worker.reuse": "true",
        **_stream_defaults(),
    }


def _place(master: str | None) -> dict[str, str]:
    """Where to run. On one machine nothing is asked of its network."""
    if master is None:
        return {}
    alone = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    return {"spark.master": master, **(alone if master.startswith("local") else {})}


@contextmanager
def _noise_aside() -> Iterator[None]:
    """Java writes to a file what it would write to the terminal; if it does not start, its last words are shown."""
    if SparkSession.getActiveSession() is not None or _is_submitted():
        yield
        return
    log = Path(tempfile.gettempdir()) / f"nearcast-spark-{os.getpid()}.log"
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("wb") as noise:
        os.dup2(noise.fileno(), 2)
    try:
        yield
    except Exception as error:
        words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise PipelineError(f"Spark did not start: {' | '.join(words) or error}") from error
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        atexit.register(log.unlink, missing_ok=True)


def _stream_defaults() -> dict[str, str]:
    rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    return {
        "spark.sql.streaming.stateStore.providerClass": rocks,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    }


def _memory_mb() -> int:
    """A quarter of the machine's memory for Java: the rest is for Python and for the files that are being read."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return max(1024, min(total // 4, 16_384))
