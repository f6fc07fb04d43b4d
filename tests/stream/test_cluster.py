"""A backtest on a real cluster: a master and two workers, each a process of its own, and one that dies halfway."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.stream.city import ZONES, city_rows
from tests.stream.oracle import columns_of
from tests.stream.test_backtest import rows_in

SPARK = Path(pyspark.__file__).parent
ASKED = """
RELATION close WHERE &location WITHIN 120 m OF #location;
SUBSCRIBE zones BY desk SELECT WHERE &location IN LAYER zones;
SUBSCRIBE calm BY desk SELECT WHERE &location IN LAYER zones DWELL 30 s COOLDOWN 2 min;
SUBSCRIBE fuel BY desk SELECT WHERE &fuel < 3 AND &location IN LAYER zones;
SUBSCRIBE pairs BY watch SELECT FROM RELATION close;
"""
PATIENCE = 600
"""Seconds that a process may take to say what it is expected to say."""


@contextmanager
def process(command: list[object], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, so that whatever it started goes with it."""
    settings = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": "-Dspark.master.rest.enabled=false"}  # fmt: skip
    with log.open("wb") as out:
        made = subprocess.Popen(
            list(map(str, command)), stdout=out, stderr=out, env=settings, cwd=log.parent, start_new_session=True
        )
    try:
        yield made
    finally:
        kill(made)


def kill(started: subprocess.Popen[bytes]) -> None:
    if started.poll() is None or _has_group(started.pid):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def _has_group(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def said(log: Path, pattern: str) -> str:
    """What a process wrote, once it did."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := re.search(pattern, log.read_text(encoding="utf-8", errors="replace")):
            return found.group(0)
        time.sleep(0.1)
    raise AssertionError(f"{log.name} never said {pattern!r}: {log.read_text(encoding='utf-8')[-2000:]}")


class Cluster:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.url = self._start("master", "master.Master", "--host", "127.0.0.1", "--port", "0")
        self.workers = [self._worker(number) for number in range(2)]

    def _start(self, name: str, kind: str, *options: object) -> str:
        self._daemon(name, kind, *options)
        return said(self._folder / f"{name}.log", r"spark://127\.0\.0\.1:\d+")

    def _daemon(self, name: str, kind: str, *options: object) -> subprocess.Popen[bytes]:
        command = [SPARK / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}", *options, "--webui-port", 0]
        return self._stack.enter_context(process(command, self._folder / f"{name}.log"))

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        folder = self._folder / f"work{number}"
        options = ("--host", "127.0.0.1", "--cores", 1, "--memory", "1g", "--work-dir", folder, self.url)
        made = self._daemon(f"worker{number}", "worker.Worker", *options)
        said(self._folder / f"worker{number}.log", "Successfully registered with master")
        return made

    def executors(self, number: int) -> list[Path]:
        """The logs of what a worker runs."""
        return sorted(self._folder.glob(f"work{number}/app-*/*/stderr"))


@pytest.fixture(scope="module")
def cluster(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The session of the other tests has found a Java runtime."""
    with ExitStack() as stack:
        yield Cluster(tmp_path_factory.mktemp("cluster"), stack)


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that a backtest takes."""
    folder = tmp_path_factory.mktemp("city")
    (folder / "zones.geojson").write_text(json.dumps(ZONES), encoding="utf-8")
    (folder / "city.lacl").write_text(ASKED, encoding="utf-8")
    columns = columns_of(city_rows(300, 12, skew=True))
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    lines = [json.dumps({**row, "time": row["time"] / 1e6}) for row in rows]
    (folder / "fixes").mkdir()
    for part in range(4):
        (folder / "fixes" / f"{part}.jsonl").write_text("\n".join([*lines[part::4], "broken"]) + "\n", encoding="utf-8")
    return folder


def backtest(city: Path, out: str, *options: object) -> list[object]:
    """The command, with paths as a user in that folder writes them."""
    what = ("--fixes", "fixes", "--layer", "zones=zones.geojson", "--subscriptions", "city.lacl", "--shards", 2)
    return [sys.executable, "-m", "nearcast.cli", "backtest", *what, "--out", out, "--json", *options]


@pytest.fixture(scope="module")
def expected(city: Path) -> list[str]:
    """What it tells on this machine alone."""
    with process(backtest(city, "local", "--master", "local[2]"), city / "local.log") as job:
        assert job.wait(PATIENCE) == 0, (city / "local.log").read_text(encoding="utf-8")
    return rows_in(city / "local")


def test_a_cluster_tells_the_same(cluster: Cluster, city: Path, expected: list[str]) -> None:
    with process(backtest(city, "far", "--master", cluster.url), city / "far.log") as job:
        assert job.wait(PATIENCE) == 0, (city / "far.log").read_text(encoding="utf-8")
    assert len(expected) > 500
    assert rows_in(city / "far") == expected
    summary = json.loads((city / "far" / "_summary.json").read_text(encoding="utf-8"))
    assert (summary["bad"], summary["notifications"]) == (4, len(expected))
    assert all(cluster.executors(number) for number in range(2))


def test_a_worker_that_is_killed(cluster: Cluster, city: Path, expected: list[str]) -> None:
    """Its tasks run again elsewhere, and write the same files; what it had begun is swept away."""
    before = set(cluster.executors(1))
    with process(backtest(city, "torn", "--master", cluster.url), city / "torn.log") as job:
        working(cluster, city / "torn", before, job)
        kill(cluster.workers[1])
        assert job.wait(PATIENCE) == 0, (city / "torn.log").read_text(encoding="utf-8")
    assert rows_in(city / "torn") == expected
    assert list((city / "torn").rglob(".*")) == []


def working(cluster: Cluster, out: Path, before: set[Path], job: subprocess.Popen[bytes]) -> None:
    """Wait until the second worker has begun to match."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and job.poll() is None:
        for log in set(cluster.executors(1)) - before:
            if "Running task" in log.read_text(encoding="utf-8") and out.exists():
                return
        time.sleep(0.02)
    raise AssertionError("the job ended before it could be disturbed")
