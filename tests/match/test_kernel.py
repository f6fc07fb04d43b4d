"""The kernel tells what the reference tells, about every log."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.testing import Log, logs
from tests.match.agreement import answers_of, check_in_runs, check_one_by_one
from tests.seeds import FIRST_SEED

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=3)
"""How many moves are taken at a time."""
RESTARTS = st.sampled_from([0, 0, 0, 5, 12])
"""After how many runs the kernel goes on as another."""
AT_ONCE = st.just(0)
WINDOWS = st.sampled_from([1, 1_000_000, 10_000_000])

shards = pytest.mark.parametrize
"""A property is checked in several tests, each with a seed of its own, so that all cores have work."""


SHARE = 1 if os.environ.get("CI") else 4
"""2,000 logs where nobody waits for them; 500 where somebody does."""


def check(shard: int, property_: Callable[..., None], *drawn: SearchStrategy[Any]) -> None:
    """Check a property of random values, with a share of the profile's examples."""
    shared = settings(max_examples=max(1, settings().max_examples // SHARE))
    seed(FIRST_SEED + shard)(shared(given(*drawn)(property_)))()


def tells_the_same(log: Log, sizes: list[int], restart: int, lateness: int) -> None:
    expected = answers_of(log, lateness)
    check_one_by_one(expected)
    check_in_runs(expected, sizes, restart)


@shards("shard", range(10))
def test_what_is_common(shard: int) -> None:
    check(shard, tells_the_same, logs(common=True, max_ops=16), SIZES, RESTARTS, AT_ONCE)


@shards("shard", range(5))
def test_what_is_not(shard: int) -> None:
    check(shard, tells_the_same, logs(), SIZES, RESTARTS, AT_ONCE)


@shards("shard", range(5))
def test_fixes_that_are_held_back(shard: int) -> None:
    check(shard, tells_the_same, logs(common=True, max_ops=16), SIZES, RESTARTS, WINDOWS)
