"""A stream in micro-batches tells what the reference tells of the whole log, through restarts too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from nearcast.model import op as ops
from nearcast.stream.streaming import Stream, run_stream
from nearcast.testing import Log, logs
from tests.seeds import FIRST_SEED
from tests.stream.test_backtest import rows_in, rows_of, told_by, write_log


def write_files(folder: Path, log: Sequence[ops.Op], size: int, begin: int = 0) -> int:
    """A log in files of so many ops; gives how many files there are then."""
    folder.mkdir(exist_ok=True)
    parts = [log[at : at + size] for at in range(0, len(log), size)]
    for number, part in enumerate(parts, begin):
        path = write_log(folder / f".{number:05d}", part)
        os.utime(path, (number, number))  # the older first
        path.rename(folder / f"{number:05d}.jsonl")
    return begin + len(parts)


@pytest.mark.parametrize("shard", range(2))
def test_a_folder_that_grows(spark: SparkSession, shard: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    def tells_the_same(log: Log, size: int, shards: int) -> None:
        folder = tmp_path_factory.mktemp("stream")
        job = Stream(
            folder / "out", folder / "checkpoint", folder=folder / "log", shards=shards, slices=1, once=True, most=2
        )
        half = len(log) // 2
        begin = write_files(folder / "log", log[:half], size)
        run_stream(spark, job)
        write_files(folder / "log", log[half:], size, begin)
        counts = run_stream(spark, job)
        told, _ = told_by(log)
        assert rows_in(folder / "out") == rows_of(told)
        assert counts["bad"] == 0

    few = settings(max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    drawn = (logs(common=shard == 0), st.sampled_from([9, 14]), st.sampled_from([1, 2, 5]))
    seed(FIRST_SEED + shard)(few(given(*drawn)(tells_the_same)))()
