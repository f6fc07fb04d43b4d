"""A stream in micro-batches tells what the reference tells of the whole log, through restarts too."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from nearcast.errors import PipelineError
from nearcast.model import op as ops
from nearcast.stream.backtest import Backtest, run_backtest
from nearcast.stream.streaming import Stream, run_stream
from nearcast.testing import Log, logs
from tests.seeds import FIRST_SEED
from tests.stream.city import city_definitions, city_rows
from tests.stream.oracle import Given
from tests.stream.test_backtest import rows_in, rows_of, told_by, write_log
from tests.stream.test_fixes import batches_of


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


# ---- files of fixes --------------------------------------------------------------------------------------


def write_fixes(folder: Path, rows: Sequence[Given], name: str, number: int) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_batches(batches_of(rows)), folder / ".part", row_group_size=40)
    os.utime(folder / ".part", (number, number))
    (folder / ".part").rename(folder / name)


def fixes_job(folder: Path, shards: int = 2) -> Stream:
    out, checkpoint = folder / "out", folder / "checkpoint"
    definitions = city_definitions("zones", "broad", "sure", "pairs")
    return Stream(out, checkpoint, fixes=folder / "fixes", definitions=definitions, shards=shards, most=1, once=True)


def test_fixes_in_files_that_appear(spark: SparkSession, tmp_path: Path) -> None:
    """Names of files may have what a URL would write otherwise."""
    rows = city_rows(300)
    early, late = np.percentile([row.time for row in rows], [33, 66])
    parts: tuple[list[Given], ...] = ([], [], [])
    for row in rows:
        parts[int(row.time > early) + int(row.time > late)].append(row)
    write_fixes(tmp_path / "fixes", parts[0], "a b.parquet", 1)
    write_fixes(tmp_path / "fixes", parts[1], "50%20 of #1 [x].parquet", 2)
    job = fixes_job(tmp_path)
    run_stream(spark, job)
    write_fixes(tmp_path / "fixes", parts[2], "é.parquet", 3)
    assert run_stream(spark, job)["rows"] == len(parts[2])
    backtest = Backtest(tmp_path / "backtest", [str(tmp_path / "fixes")], (), job.definitions)
    run_backtest(spark, backtest)
    told = rows_in(tmp_path / "backtest")
    assert len(told) > 20
    assert rows_in(tmp_path / "out") == told


def test_files_that_are_broken(spark: SparkSession, tmp_path: Path) -> None:
    """One that is no Parquet is found at the start, one with bad pages when it is read; either is named."""
    write_fixes(tmp_path / "fixes", city_rows(50), "good.parquet", 1)
    write_fixes(tmp_path / "fixes", city_rows(300), "bad.parquet", 2)
    bad = tmp_path / "fixes" / "bad.parquet"
    data = bad.read_bytes()
    bad.write_bytes(data[:4] + bytes(len(data) // 2) + data[4 + len(data) // 2 :])
    with pytest.raises(PipelineError, match=r"bad\.parquet cannot be read: "):
        run_stream(spark, fixes_job(tmp_path))
    (tmp_path / "fixes" / "worse.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(PipelineError, match=r"worse\.parquet is not Parquet that can be read: "):
        run_stream(spark, fixes_job(tmp_path))


def test_two_streams_on_one_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    write_fixes(tmp_path / "fixes", city_rows(50), "good.parquet", 1)
    job = fixes_job(tmp_path)
    job.checkpoint.mkdir()
    with (job.checkpoint / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(PipelineError, match=r"another stream runs on .*checkpoint"):
            run_stream(spark, job)
    assert run_stream(spark, job)["rows"] == len(city_rows(50))
