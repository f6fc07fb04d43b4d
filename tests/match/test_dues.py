"""Times at which pairs may turn by themselves are kept as long as they are so, and not until they come."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearcast.language.oplog import decode_op
from nearcast.match import stored
from nearcast.match.kernel import Kernel
from nearcast.match.stored import Dues
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.shape import Point
from nearcast.testing import Log, logs
from tests.match.agreement import answers_of, check_in_runs, check_one_by_one

SECOND = 1_000_000


def test_each_fix_has_another_time_and_the_last_is_kept() -> None:
    kernel = Kernel()
    for client in ("a", "b", "c"):
        line = {"op": "publish", "time": 0, "client": client, "id": "me", "text": "PUBLISH"}
        kernel.apply(decode_op(json.dumps(line)))
    text = "SELECT WHERE &location WITHIN 1 km OF #location FRESH 52 weeks"
    kernel.apply(decode_op(json.dumps({"op": "subscribe", "time": 0, "client": "a", "id": "s", "text": text})))
    for n in range(2000):
        kernel.apply(ops.Move(n * SECOND, "abc"[n % 3], Position(Point(1, 1))))
    assert 0 < len(kernel._dues) < 6 * stored.FEW


def test_a_heap_loses_what_is_not_so() -> None:
    now: dict[str, int] = {}
    dues = Dues(lambda entry: now.get(entry[1][1]) == entry[0])
    for n in range(10_000):
        name = f"s{n % 10}"
        now[name] = n
        dues.push(n, ("a", name), ("p", "b", "", ""), ["a", "b"])
        assert len(dues) <= 3 * (stored.FEW + 1)
    found = []
    while (entry := dues.first("a")) is not None:
        assert dues.drop("a") == entry
        if now[entry[1][1]] == entry[0]:
            found.append(entry[0])
    assert found == list(range(9990, 10_000))


@pytest.mark.parametrize("common", [True, False])
def test_the_answers_are_the_same(common: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it is looked through."""
    monkeypatch.setattr(stored, "FEW", 1)

    @given(logs(common=common), st.lists(st.integers(1, 9), min_size=1, max_size=5), st.sampled_from([0, 5]))
    @settings(max_examples=60)
    def same(log: Log, sizes: list[int], restart: int) -> None:
        expected = answers_of(log)
        check_one_by_one(expected)
        check_in_runs(expected, sizes, restart)

    same()


NEAR = "SELECT WHERE &location WITHIN 1 km OF #location"
TIMED: list[dict[str, object]] = [
    {"op": "publish", "client": "b", "id": "me", "text": "PUBLISH"},
    {"op": "publish", "client": "c", "id": "me", "text": "PUBLISH EXPIRES 40 s"},
    {"op": "client", "client": "d", "lease": 20},
    {"op": "publish", "client": "d", "id": "me", "text": "PUBLISH"},
    {"op": "subscribe", "client": "a", "id": "dwell", "text": f"{NEAR} DWELL 5 s"},
    {"op": "subscribe", "client": "a", "id": "fresh", "text": f"{NEAR} FRESH 7 s"},
    {
        "op": "subscribe",
        "client": "a",
        "id": "late",
        "text": f"{NEAR} AND NOW - ENTERED(&location WITHIN 1 km OF #location) > 9 s",
    },
]
"""Statements that turn as time passes."""
STEPS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([1.0, 1.001, 2.0]), st.integers(0, 12), st.integers(0, 6)),
    max_size=20,
)
"""Who moves, where to, seconds since the last, and until a tick."""


@pytest.mark.parametrize("lateness", [0, 1, 10 * SECOND])
def test_a_tick_that_is_not_due_lets_nothing_go(lateness: int) -> None:

    @given(STEPS)
    @settings(max_examples=200)
    def nothing(steps: list[tuple[str, float, int, int]]) -> None:
        kernel, now = Kernel(lateness=lateness), 0
        for line in TIMED:
            kernel.apply(decode_op(json.dumps({**line, "time": 0})))
        for client, lon, since, until in steps:
            now += since * SECOND
            kernel.apply(ops.Move(now, client, Position(Point(lon, 1))))
            check_tick(kernel, int(max(now + until * SECOND, kernel._everyone)))

    nothing()


def check_tick(kernel: Kernel, time: int) -> None:
    """At a time that may be too early."""
    due, held = kernel.release_due, held_by(kernel)
    kernel.apply(ops.Tick(time))
    alive = {row: fixes for row, fixes in held.items() if kernel.clients.names.text(row) in kernel.clients}
    if time < due:
        assert held_by(kernel) == alive
    elif alive == held:
        assert held_by(kernel) != held
    assert kernel.release_due > kernel._everyone


def held_by(kernel: Kernel) -> dict[int, list[object]]:
    return {row: list(fixes) for row, fixes in kernel.clients.held.items() if fixes}
