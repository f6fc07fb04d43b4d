"""History in SQL: what was told, and who met whom, over a folder of notifications."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from nearcast.errors import PipelineError
from nearcast.model.schema import NOTIFICATIONS
from nearcast.stream.backtest import one_line
from nearcast.stream.encounters import NEEDED, encounters

__all__ = ["history", "notifications_in", "plainly", "query"]

_REPORTER = "SQLQueryContextLogger"
"""Spark's own, which writes each wrong query to the terminal with the trace of all of Java."""


def history(spark: SparkSession, folder: str | Path) -> None:
    """Let SQL see the notifications of a folder as ``notifications``, and what follows from them as ``encounters``.

    The folder has Parquet files, in parts named ``day=2026-01-31`` or not; with them there is a column ``day``, and a
    query that names days reads only those. Views are the session's: another folder takes their place.
    """
    told = notifications_in(spark, folder)
    told.createOrReplaceTempView("notifications")
    encounters(told).createOrReplaceTempView("encounters")


def query(spark: SparkSession, folder: str | Path, sql: str) -> DataFrame:
    """The answer of a query about a folder, as ``SELECT * FROM encounters WHERE open``."""
    history(spark, folder)
    with plainly():
        return spark.sql(sql)


def notifications_in(spark: SparkSession, folder: str | Path) -> DataFrame:
    """The notifications of a folder. It is an error if there are none, or if they are something else."""
    there = str(folder) if "://" in str(folder) else str(Path(folder).absolute())  # Java may be in another folder
    try:
        told = spark.read.parquet(there)
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            raise PipelineError(f"{folder}: there is no such folder") from None
        if error.getCondition() == "UNABLE_TO_INFER_SCHEMA":
            raise PipelineError(f"{folder}: there are no notifications in it") from None
        raise PipelineError(f"{folder}: {_first_line(error)}") from None
    except Py4JJavaError as error:
        raise PipelineError(f"{folder}: {_first_line(error.java_exception.getMessage())}") from None
    known = {field.name: field.dataType.simpleString() for field in told.schema.fields}
    for field in from_arrow_schema(NOTIFICATIONS):
        found, wanted = known.get(field.name, "nothing"), field.dataType.simpleString()
        if field.name in NEEDED and found != wanted:
            raise PipelineError(f"{folder}: these are no notifications; {field.name} has {found}, and not {wanted}")
    return told


@contextmanager
def plainly() -> Iterator[None]:
    """What Spark finds wrong with a query or with its rows is said once, in one line."""
    reporter = logging.getLogger(_REPORTER)
    before, reporter.disabled = reporter.disabled, True
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise PipelineError(one_line(error)) from None
    finally:
        reporter.disabled = before


def _first_line(said: object) -> str:
    return str(said).strip().splitlines()[0].rstrip("; ")
