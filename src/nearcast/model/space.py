"""Subject spaces: the metadata that says which properties exist and what values they take (paper, 4.1 and 4.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from nearcast.errors import ModelError, UnknownName
from nearcast.model.constraint import (
    EVERYTHING,
    Constraint,
    Interval,
    Kind,
    Scalar,
    Values,
    contains,
    kind_of,
    overlaps,
)

__all__ = [
    "BOOLEAN", "INTEGER", "LOCATION", "PERCENTAGE", "REAL", "TEXT",
    "Base", "Containment", "Dimension", "Metric", "SubjectSpace", "Type", "enumeration", "relation",
]  # fmt: skip


def _intersection(a: Interval, b: Interval) -> Interval:
    """The values in both; the caller knows that there are some."""
    low_from = b if contains(Interval(a.low, None, a.low_closed), Interval(b.low, None, b.low_closed)) else a
    high_from = (
        b if contains(Interval(None, a.high, True, a.high_closed), Interval(None, b.high, True, b.high_closed)) else a
    )
    return Interval(low_from.low, high_from.high, low_from.low_closed, high_from.high_closed)


def _whole_numbers(interval: Interval) -> Interval | None:
    """The same integers with closed integer ends, so that 2 < d < 5 equals [3, 4]."""
    low, high = interval.low, interval.high
    if isinstance(low, (int, float)) and kind_of(low) == "number":
        low = math.ceil(low) if interval.low_closed else math.floor(low) + 1
    if isinstance(high, (int, float)) and kind_of(high) == "number":
        high = math.floor(high) if interval.high_closed else math.ceil(high) - 1
    if isinstance(low, int) and isinstance(high, int) and low > high:
        return None
    return Interval(low, high)


class Base(StrEnum):
    REAL = "real"
    INTEGER = "integer"
    TEXT = "text"
    BOOLEAN = "boolean"


@dataclass(frozen=True, slots=True)
class Type:
    """A base type, or a subset of one: an interval of numbers, or listed values (an enumeration)."""

    base: Base
    within: Constraint = EVERYTHING

    def __post_init__(self) -> None:
        if self.clip(EVERYTHING) is None:
            raise ModelError(f"no {self.base.value} is in the given interval or set")

    @property
    def domain(self) -> Constraint:
        """All values of the type."""
        return self.clip(EVERYTHING) or EVERYTHING

    @property
    def kind(self) -> Kind:
        return "number" if self.numeric else "text" if self.base is Base.TEXT else "boolean"

    @property
    def numeric(self) -> bool:
        return self.base in (Base.REAL, Base.INTEGER)

    def admits(self, value: Scalar) -> bool:
        if self.base is Base.INTEGER and isinstance(value, float) and not value.is_integer():
            return False
        return kind_of(value) == self.kind and value in self.within

    def clip(self, constraint: Constraint) -> Constraint | None:
        """The part of the constraint that lies in the domain; nothing if none does."""
        if isinstance(constraint, Interval) and constraint.kind not in (None, self.kind):
            return None
        listed = _listed(constraint) or _listed(self.within) or (BOTH if self.base is Base.BOOLEAN else ())
        if listed:
            kept = tuple(v for v in listed if v in constraint and self.admits(v))
            return Values(kept) if kept else None
        assert isinstance(constraint, Interval)
        assert isinstance(self.within, Interval)
        if not overlaps(constraint, self.within):
            return None
        both = _intersection(constraint, self.within)
        return _whole_numbers(both) if self.base is Base.INTEGER else both


BOTH = (False, True)


def _listed(constraint: Constraint) -> tuple[Scalar, ...]:
    return constraint.items if isinstance(constraint, Values) else ()


REAL = Type(Base.REAL)
INTEGER = Type(Base.INTEGER)
TEXT = Type(Base.TEXT)
BOOLEAN = Type(Base.BOOLEAN)
PERCENTAGE = Type(Base.REAL, Interval(0, 100))


def enumeration(*values: str) -> Type:
    return Type(Base.TEXT, Values(values))


@dataclass(frozen=True, slots=True)
class Dimension:
    name: str
    type: Type


class Metric(StrEnum):
    """How far apart two regions of a space are."""

    EARTH = "earth"
    """x and y are longitude and latitude; geodesic metres on the WGS 84 ellipsoid."""
    PLANAR = "planar"
    """x and y are metres on a plane."""
    EUCLIDEAN = "euclidean"
    """The root of the squared gaps in the numeric dimensions, or in those that the space names."""


@dataclass(frozen=True, slots=True)
class SubjectSpace:
    """A named set of dimensions, each with a type, and a metric."""

    name: str
    dimensions: tuple[Dimension, ...]
    metric: Metric = Metric.EUCLIDEAN
    measured: tuple[str, ...] = ()
    """The dimensions that a Euclidean metric measures; all numeric ones if empty."""

    def __post_init__(self) -> None:
        names = [dimension.name for dimension in self.dimensions]
        if not names:
            raise ModelError(f"space {self.name!r} needs at least one dimension")
        for name in names:
            if names.count(name) > 1:
                raise ModelError(f"space {self.name!r} names dimension {name!r} twice")
        for name in self.measured:
            if not self.dimension(name).type.numeric:
                raise ModelError(f"space {self.name!r} cannot measure dimension {name!r}: it is not numeric")
        if self.metric is not Metric.EUCLIDEAN and not {"x", "y"} <= set(names):
            raise ModelError(f"space {self.name!r} needs dimensions x and y for the {self.metric.value} metric")
        ordered = tuple(sorted(self.dimensions, key=lambda dimension: dimension.name))
        object.__setattr__(self, "dimensions", ordered)
        object.__setattr__(self, "measured", tuple(sorted(set(self.measured))))

    @property
    def names(self) -> frozenset[str]:
        return frozenset(dimension.name for dimension in self.dimensions)

    def dimension(self, name: str) -> Dimension:
        for dimension in self.dimensions:
            if dimension.name == name:
                return dimension
        raise UnknownName(f"dimension of space {self.name!r}:", name, self.names)


LOCATION = SubjectSpace("location", (Dimension("x", REAL), Dimension("y", REAL), Dimension("z", REAL)), Metric.EARTH)
"""Where everything is. A system may define it as planar before the first position arrives."""


class Containment(StrEnum):
    """The four answers to how two spaces relate by the dimensions they share."""

    CONTAINS = "contains"
    CONTAINED = "is contained by"
    PARTIAL = "partial"
    UNRELATED = "unrelated"


def relation(a: SubjectSpace, b: SubjectSpace) -> Containment:
    """How ``a`` relates to ``b``; equal spaces contain each other, and the answer is then ``CONTAINS``."""
    ours, theirs = set(a.dimensions), set(b.dimensions)
    if theirs <= ours:
        return Containment.CONTAINS
    if ours < theirs:
        return Containment.CONTAINED
    return Containment.PARTIAL if ours & theirs else Containment.UNRELATED
