"""What a soak finds fault with, and what it lets pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.soak_live import Sample, faults, growing, header, resident, row, size

HERE = {"nats": 1, "broker": 2}


def samples(
    count: int = 40,
    *,
    leak: float = 0.0,
    slower: float = 0.0,
    data: float = 50.0,
    busier: float = 0.0,
    pace: float = 0.0,
) -> list[Sample]:
    """Half an hour of a broker that is steady but for noise, after it has grown in the beginning; on a machine that
    may become slower in the second half, which all feel."""
    return [
        Sample(
            seconds=45.0 * n,
            memory={"nats": 80 + n % 3, "broker": min(100 + 20 * n, 200) + leak * n},
            p50=3 + 0.3 * (n % 2) + slower * n + 20 * pace * (n > 20),
            p99=20 + 5 * (n % 4) + 200 * pace * (n > 20),
            events=900,
            rate=30_000,
            data=data,
            work=1 + 0.02 * (n % 3) + busier * n + pace * (n > 20),
            pace=0.5 + 0.01 * (n % 2) + pace * (n > 20),
        )
        for n in range(1, 40)
    ]


def test_what_stays_as_it_is_passes() -> None:
    assert faults(samples(), HERE, HERE, op=100) == []


def test_what_keeps_growing_is_found() -> None:
    [leak] = faults(samples(leak=4), HERE, HERE, op=100)
    assert leak.startswith("memory of broker grows: from 2")
    [slow] = faults(samples(slower=0.2), HERE, HERE, op=100)
    assert slow.startswith("latency p50 grows")

    [busy] = faults(samples(busier=0.01), HERE, HERE, op=100)
    assert busy.startswith("work grows")


def test_a_machine_that_becomes_slower_is_no_fault_and_hides_none() -> None:
    assert faults(samples(pace=0.25), HERE, HERE, op=100) == []
    assert [fault[:17] for fault in faults(samples(pace=0.25, slower=0.2), HERE, HERE, op=100)] == ["latency p50 grows"]
    assert [fault[:10] for fault in faults(samples(pace=0.25, busier=0.01), HERE, HERE, op=100)] == ["work grows"]


def test_more_data_than_is_kept_is_found() -> None:
    assert faults(samples(data=10_000), HERE, HERE, op=100) == ["10000 MB of data, and 3595 are to be kept"]


def test_one_that_died_is_found() -> None:
    assert faults(samples(), HERE, {"nats": 1, "broker": 3}, op=100) == [
        "broker is another process than in the beginning"
    ]


@pytest.mark.parametrize("values", [[1.0], [5.0, 900.0], [300.0, 200.0, 100.0], [100.0, 100.0, 120.0]])
def test_little_says_nothing(values: list[float]) -> None:
    assert growing("memory", [10.0 * n for n in range(len(values))], values, "memory", "MB") == []


def test_files_and_memory_are_measured(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "file").write_bytes(b"x" * 100_000)
    assert 100_000 <= size(tmp_path) < 200_000
    assert resident(1 if Path("/proc/1/status").exists() else 0) >= 0
    assert len(header(list(HERE))) == len(row(samples()[0])) == 12 * 10
