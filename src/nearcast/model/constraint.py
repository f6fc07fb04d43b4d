"""A constraint is a set of values in one dimension: an interval with open or closed ends, or listed values.

Every question about two constraints is a question about two sets, and is asked here: does one contain
the other, do they overlap, how far apart are they.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Literal

from nearcast.errors import ModelError

__all__ = [
    "EVERYTHING",
    "Constraint",
    "Interval",
    "Scalar",
    "Values",
    "compare",
    "contains",
    "equal_to",
    "gap",
    "is_finite",
    "kind_of",
    "overlaps",
]

Scalar = bool | int | float | str
Kind = Literal["boolean", "number", "text"]


def kind_of(value: Scalar) -> Kind:
    """Booleans are not numbers here, whatever Python says."""
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "number"


def is_finite(number: float) -> bool:
    """Whether it is a number that a float can hold; Python's integers may be larger."""
    return abs(number) <= sys.float_info.max


def _finite(value: Scalar) -> Scalar:
    if not isinstance(value, str) and not is_finite(value):
        raise ModelError(f"{value!r:.20} is not a finite number, or too large a one")
    return value


@dataclass(frozen=True, slots=True)
class Interval:
    """All values between two ends. A missing end is unbounded. Never empty."""

    low: int | float | str | None = None
    high: int | float | str | None = None
    low_closed: bool = True
    high_closed: bool = True

    def __post_init__(self) -> None:
        for end in (self.low, self.high):
            if isinstance(end, bool):
                raise ModelError("an interval needs numbers or text at its ends, not a boolean")
            if end is not None:
                _finite(end)
        if self.low is None:
            object.__setattr__(self, "low_closed", True)
        if self.high is None:
            object.__setattr__(self, "high_closed", True)
        if self.low is None or self.high is None:
            return
        if kind_of(self.low) != kind_of(self.high):
            raise ModelError(f"an interval from {self.low!r} to {self.high!r} mixes text and numbers")
        if _less(self.high, self.low) or (self.low == self.high and not (self.low_closed and self.high_closed)):
            raise ModelError(f"the interval from {self.low!r} to {self.high!r} is empty")

    @property
    def kind(self) -> Kind | None:
        end = self.low if self.low is not None else self.high
        return None if end is None else kind_of(end)

    def __contains__(self, value: Scalar) -> bool:
        if self.kind is not None and kind_of(value) != self.kind:
            return False
        above = self.low is None or _less(self.low, value) or (self.low_closed and self.low == value)
        below = self.high is None or _less(value, self.high) or (self.high_closed and self.high == value)
        return above and below


@dataclass(frozen=True, slots=True)
class Values:
    """One or more listed values, kept sorted and distinct; one value is equality."""

    items: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not self.items:
            raise ModelError("a set of values needs at least one")
        if len(self.items) == 1:
            _finite(self.items[0])
            return
        distinct = {(kind_of(v), v): _finite(v) for v in self.items}
        object.__setattr__(self, "items", tuple(distinct[key] for key in sorted(distinct)))

    def __contains__(self, value: Scalar) -> bool:
        kind = kind_of(value)
        return any(kind_of(item) == kind and item == value for item in self.items)


Constraint = Interval | Values

EVERYTHING = Interval()
"""The whole domain of a dimension that nothing is known about."""


def equal_to(value: Scalar) -> Values:
    return Values((value,))


def contains(outer: Constraint, inner: Constraint) -> bool:
    """Whether every value of ``inner`` is one of ``outer``."""
    if isinstance(inner, Values):
        return all(value in outer for value in inner.items)
    if isinstance(outer, Values):
        return inner.low is not None and inner.low == inner.high and inner.low in outer
    if outer.kind is not None and inner.kind is not None and outer.kind != inner.kind:
        return False
    low_fits = outer.low is None or (inner.low is not None and _starts_no_earlier(inner, outer))
    high_fits = outer.high is None or (inner.high is not None and _ends_no_later(inner, outer))
    return low_fits and high_fits


def overlaps(a: Constraint, b: Constraint) -> bool:
    """Whether some value is in both."""
    if isinstance(a, Values):
        return any(value in b for value in a.items)
    if isinstance(b, Values):
        return any(value in a for value in b.items)
    if a.kind is not None and b.kind is not None and a.kind != b.kind:
        return False
    return not _before(a, b) and not _before(b, a)


def gap(a: Constraint, b: Constraint) -> float:
    """The distance between the closest numbers of the two; 0 if they overlap, infinite without numbers.

    Open ends count as their limits: the distance of (2, 3) and (3, 4) is 0, though they do not overlap.
    """
    return min((_piece_gap(p, q) for p in _pieces(a) for q in _pieces(b)), default=math.inf)


def compare(a: Constraint, op: str, b: Constraint) -> bool | None:
    """Whether every value of ``a`` stands so to every value of ``b``; unknown if they have no common order."""
    if op == "=":
        return contains(a, b) and contains(b, a) and _is_single(a)
    if op == "!=":
        return not overlaps(a, b)
    if op.startswith(">"):
        return compare(b, op.replace(">", "<"), a)
    first, second = _hull(a), _hull(b)
    if first is None or second is None or (first.kind and second.kind and first.kind != second.kind):
        return None
    if first.high is None or second.low is None:
        return False
    if first.high == second.low:
        return op == "<=" or not (first.high_closed and second.low_closed)
    return _less(first.high, second.low)


def _is_single(constraint: Constraint) -> bool:
    if isinstance(constraint, Values):
        return len(constraint.items) == 1
    return constraint.low is not None and constraint.low == constraint.high


def _hull(constraint: Constraint) -> Interval | None:
    """The least interval around the values; none for values without an order, or of several kinds."""
    if isinstance(constraint, Interval):
        return constraint
    kinds = {kind_of(value) for value in constraint.items}
    first, last = constraint.items[0], constraint.items[-1]
    if len(kinds) > 1 or isinstance(first, bool) or isinstance(last, bool):
        return None
    return Interval(first, last)


Piece = tuple[float, float]


def _pieces(constraint: Constraint) -> list[Piece]:
    if isinstance(constraint, Values):
        return [
            (float(v), float(v)) for v in constraint.items if isinstance(v, (int, float)) and kind_of(v) == "number"
        ]
    low, high = constraint.low, constraint.high
    if isinstance(low, str) or isinstance(high, str):
        return []
    return [(-math.inf if low is None else float(low), math.inf if high is None else float(high))]


def _piece_gap(a: Piece, b: Piece) -> float:
    return max(0.0, a[0] - b[1], b[0] - a[1])


def _less(a: Scalar, b: Scalar) -> bool:
    return a < b  # type: ignore[operator]  # callers compare values of one kind


def _before(a: Interval, b: Interval) -> bool:
    """Whether all of ``a`` is below all of ``b``."""
    if a.high is None or b.low is None:
        return False
    return _less(a.high, b.low) or (a.high == b.low and not (a.high_closed and b.low_closed))


def _starts_no_earlier(inner: Interval, outer: Interval) -> bool:
    assert inner.low is not None
    assert outer.low is not None
    return _less(outer.low, inner.low) or (outer.low == inner.low and (outer.low_closed or not inner.low_closed))


def _ends_no_later(inner: Interval, outer: Interval) -> bool:
    assert inner.high is not None
    assert outer.high is not None
    return _less(inner.high, outer.high) or (outer.high == inner.high and (outer.high_closed or not inner.high_closed))
