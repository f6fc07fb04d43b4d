from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable

import pytest

from nearcast.errors import ModelError
from nearcast.model.constraint import (
    EVERYTHING,
    Constraint,
    Interval,
    Scalar,
    Values,
    compare,
    contains,
    equal_to,
    gap,
    is_finite,
    overlaps,
)  # fmt: skip

# Every interval over 0..3 with open, closed and missing ends, and every set of values: small enough to check the
# definitions against sampled points.
ENDS = (None, 0, 1, 2, 3)
SAMPLES = [i / 4 for i in range(-4, 17)]


def intervals() -> list[Interval]:
    made = set()
    for low, high, low_closed, high_closed in itertools.product(ENDS, ENDS, (True, False), (True, False)):
        if low is None or high is None or low < high or (low == high and low_closed and high_closed):
            made.add(Interval(low, high, low_closed, high_closed))
    return sorted(made, key=str)


SETS: list[Constraint] = [
    *intervals(),
    *(Values(items) for n in (1, 2) for items in itertools.combinations((0, 1, 2), n)),
]


def members(constraint: Constraint) -> set[float]:
    return {x for x in SAMPLES if x in constraint}


def test_containment_is_of_all_values() -> None:
    for a, b in itertools.product(SETS, SETS):
        assert contains(a, b) == (members(b) <= members(a) and not _beyond(a, b)), (a, b)


def _beyond(a: Constraint, b: Constraint) -> bool:
    """Whether b has values that the samples do not show to be outside a: all but those listed."""
    return isinstance(a, Values) and isinstance(b, Interval) and b.low != b.high


def test_overlap_is_of_some_value() -> None:
    for a, b in itertools.product(SETS, SETS):
        assert overlaps(a, b) == bool(members(a) & members(b)), (a, b)
        assert overlaps(a, b) == overlaps(b, a)


def test_gap_is_between_the_closest_numbers_and_symmetric() -> None:
    for a, b in itertools.product(SETS, SETS):
        assert gap(a, b) == gap(b, a)
        if overlaps(a, b):
            assert gap(a, b) == 0
        else:
            assert gap(a, b) <= min(abs(x - y) for x in members(a) for y in members(b))


def test_gap_takes_open_ends_as_their_limits() -> None:
    assert gap(Interval(2, 3, high_closed=False), Interval(3, 4, low_closed=False)) == 0
    assert gap(Interval(None, 1), Interval(4.5, None)) == 3.5
    assert gap(Values((1, 10)), Values((4, 7))) == 3


def test_gap_without_numbers_is_infinite() -> None:
    assert gap(equal_to("a"), equal_to("a")) == math.inf
    assert gap(equal_to(True), equal_to(1)) == math.inf
    assert gap(Interval("a", "b"), EVERYTHING) == math.inf


ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
}


@pytest.mark.parametrize("op", ORDERS)
def test_a_comparison_speaks_of_all_values(op: str) -> None:
    for a, b in itertools.product(SETS, SETS):
        bounded = all(isinstance(s, Values) or (s.low is not None and s.high is not None) for s in (a, b))
        if bounded:
            expected = all(ORDERS[op](x, y) for x in members(a) for y in members(b))
            assert compare(a, op, b) == expected, (a, op, b)


def test_an_unbounded_side_has_no_comparison_at_that_end() -> None:
    assert compare(Interval(5, None), "<", equal_to(9)) is False
    assert compare(Interval(5, None), ">", equal_to(4)) is True
    assert compare(EVERYTHING, ">=", EVERYTHING) is False


def test_comparison_at_touching_ends() -> None:
    half_open = Interval(0, 5, high_closed=False)
    assert compare(half_open, "<", equal_to(5)) is True
    assert compare(Interval(0, 5), "<", equal_to(5)) is False
    assert compare(Interval(0, 5), "<=", equal_to(5)) is True
    assert compare(equal_to(5), ">", half_open) is True


def test_equality_is_of_one_value_or_of_the_same_interval() -> None:
    assert compare(equal_to(5), "=", equal_to(5.0)) is True
    assert compare(equal_to(5), "=", Interval(5, 5)) is True
    assert compare(Interval(5, 5), "=", equal_to(5)) is True
    assert compare(Values((5, 6)), "=", equal_to(5)) is False
    assert compare(Values((5, 6)), "=", Values((5, 6))) is False


@pytest.mark.parametrize(("a", "b"), [(True, 1), (False, 0), (1, "1"), ("true", True)])
def test_values_of_different_kinds_are_never_equal(a: Scalar, b: Scalar) -> None:
    assert compare(equal_to(a), "=", equal_to(b)) is False
    assert compare(equal_to(a), "!=", equal_to(b)) is True
    assert not contains(equal_to(a), equal_to(b))
    assert not overlaps(equal_to(a), equal_to(b))
    assert b not in Values((a,))
    assert len(Values((a, b)).items) == 2


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_values_without_a_common_order_compare_to_unknown(op: str) -> None:
    for a, b in ((True, False), (True, 2), ("a", 1)):
        assert compare(equal_to(a), op, equal_to(b)) is None
    assert compare(Values((1, "a")), op, equal_to(5)) is None
    assert compare(equal_to("a"), op, Interval(1, 2)) is None


def test_a_boolean_is_in_no_interval_of_numbers() -> None:
    assert True not in Interval(0, 1)
    assert "a" not in Interval(0, 1)
    assert True in EVERYTHING
    assert "a" in EVERYTHING


def test_text_is_ordered_by_code_points() -> None:
    words = Interval("apple", "banana", high_closed=False)
    assert "avocado" in words
    assert "banana" not in words
    assert "Banana" not in words
    assert contains(Interval("a", None), words)
    assert compare(equal_to("Z"), "<", equal_to("a")) is True


def test_values_are_sorted_and_distinct() -> None:
    assert Values((3, 1, 2, 1.0)).items == (1, 2, 3)
    assert Values(("b", 2, True, "a")) == Values((True, 2, "a", "b"))
    assert Values((True, False)).items == (False, True)


def test_a_missing_end_is_written_one_way() -> None:
    assert Interval(None, 5, low_closed=False) == Interval(None, 5)
    assert Interval(low_closed=False, high_closed=False) == EVERYTHING


@pytest.mark.parametrize(
    ("low", "high", "closed", "reason"),
    [
        (2, 1, True, "empty"), (1, 1, False, "empty"), ("b", "a", True, "empty"), (1, "a", True, "mixes"),
        (math.nan, 1, True, "finite"), (0, math.inf, True, "finite"), (0, 10**400, True, "too large"),
        (False, 1, True, "boolean"),
    ],
)  # fmt: skip
def test_intervals_that_are_refused(low: float, high: float, closed: bool, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        Interval(low, high, closed, closed)


@pytest.mark.parametrize("items", [(), (math.nan,), (1, -math.inf), (10**400,)])
def test_values_that_are_refused(items: tuple[float, ...]) -> None:
    with pytest.raises(ModelError):
        Values(items)


def test_finite_is_what_a_float_can_hold() -> None:
    assert is_finite(10**308)
    assert is_finite(-1.7e308)
    assert not any(is_finite(x) for x in (10**309, math.inf, -math.inf, math.nan))
