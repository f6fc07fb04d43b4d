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
