"""What is said while Spark works."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from nearcast.language.oplog import encode_op
from nearcast.log.client import Log
from nearcast.log.packet import encode_lines
from nearcast.log.server import NatsServer
from nearcast.model import op as ops
from nearcast.stream.progress import watched
from nearcast.stream.streaming import Stream, run_stream


def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    time.sleep(1.2)
    yield from batches


def test_tasks_are_counted_while_they_run(spark: SparkSession) -> None:
    said: list[str] = []
    with watched(spark, said.append):
        spark.range(4, numPartitions=4).mapInArrow(slowly, "id long").collect()
    assert any("of 4 tasks" in line for line in said)
    assert said[-1] == ""


def test_a_stream_says_how_far_behind_it_is(spark: SparkSession, tmp_path: Path) -> None:
    async def fill(url: str) -> None:
        async with Log(url) as log:
            await log.create()
            for number in range(3):
                await log.append(encode_lines([encode_op(ops.Tick(number))]))

    heard: list[dict[str, Any]] = []
    with NatsServer(tmp_path / "nats") as server:
        asyncio.run(fill(server.url))
        run_stream(spark, Stream(tmp_path / "out", tmp_path / "c", nats=server.url, most=1, once=True), heard.append)
    assert [batch["lag"] for batch in heard] == [2, 1, 0]
