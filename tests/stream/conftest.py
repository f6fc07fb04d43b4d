from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from nearcast.stream.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests: it takes longer to start than most of them take to run."""
    session = spark_session("tests", "local[2]", {"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()
