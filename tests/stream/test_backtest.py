"""A backtest on Spark tells what the reference tells, ids included."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from nearcast.errors import NearcastError
from nearcast.feed import notification_batch
from nearcast.language.oplog import decode_op, encode_op
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model import schema
from nearcast.model.notification import Notification
from nearcast.stream.pipeline import backtest_log
from nearcast.testing import Log, logs
from tests.seeds import FIRST_SEED


def rows_of(told: Sequence[Notification]) -> list[str]:
    """Notifications without their evidence, in a fixed order."""
    return sorted(json.dumps({**row, "why": None}, default=str) for row in notification_batch(told).to_pylist())


def rows_in(out: Path) -> list[str]:
    found = [
        row
        for path in sorted(out.glob("day=*/*.parquet"))
        for row in pq.read_table(path, schema=schema.NOTIFICATIONS).to_pylist()
    ]
    return sorted(json.dumps({**row, "why": None}, default=str) for row in found)


def told_by(log: Sequence[ops.Op]) -> tuple[list[Notification], int]:
    """What the reference tells of a log as it is written, and how many ops it refuses."""
    reference, told, refused = Reference(), list[Notification](), 0
    for op in log:
        try:
            told += reference.apply(decode_op(encode_op(op)))
        except NearcastError:
            refused += 1
    return told, refused


def write_log(path: Path, log: Sequence[ops.Op]) -> Path:
    path.write_bytes(b"".join(encode_op(op) + b"\n" for op in log))
    return path


@pytest.mark.parametrize("shard", range(3))
def test_a_log(spark: SparkSession, shard: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    def tells_the_same(log: Log, shards: int, slices: int) -> None:
        folder = tmp_path_factory.mktemp("log")
        summary = backtest_log(spark, [write_log(folder / "log.jsonl", log)], [], folder / "out", shards, slices)
        told, refused = told_by(log)
        assert rows_in(folder / "out") == rows_of(told)
        assert summary.counts["refused"] == refused

    numbers = st.sampled_from([1, 2, 7, 16])
    few = settings(
        max_examples=5, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )  # a run takes too long to shrink it
    seed(FIRST_SEED + shard)(few(given(logs(common=shard != 1), numbers, numbers)(tells_the_same)))()
