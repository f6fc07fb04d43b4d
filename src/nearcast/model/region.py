"""Regions: sets of values in subject spaces, and how two of them match (paper, 4.3).

A region constrains some dimensions. In a space, a dimension it does not constrain takes its whole domain; a
region that constrains none of the space's dimensions is not valid there and matches nothing.

Location is one constraint, a `Geometry`, on the dimensions x, y and z together. A region that gives x and y
as closed numbers or intervals, as the paper does, means the point or box that they span.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nearcast.errors import ModelError, OpError
from nearcast.model import constraint as sets
from nearcast.model.constraint import EVERYTHING, Constraint, Interval, Scalar, Values
from nearcast.model.metric import ground_of
from nearcast.model.place import PlaceName
from nearcast.model.shape import Box, Geometry, Point
from nearcast.model.space import Metric, SubjectSpace

__all__ = ["LONGEST_NAME", "LONGEST_TEXT", "MOST", "PLACE_AXES", "Region", "check_said", "contains", "distance",
           "enclosed", "geometry_contains", "geometry_overlaps", "is_valid", "nearest", "overlaps", "region",
           "ways", "within"]  # fmt: skip

PLACE_AXES = frozenset("xyz")
MOST = 256
"""Attributes that a client has, or that a region of its statements or a reading of its has,"""
LONGEST_NAME, LONGEST_TEXT = 256, 4096
"""and the characters of a name and of a text, as far as a client says them of itself or in a reading. All of it is
kept, and looked at whenever something of that client is judged."""


@dataclass(frozen=True, slots=True)
class Region:
    """Constraints on dimensions, optionally declared in a space. Make one with `region`."""

    space: str | None
    constraints: tuple[tuple[str, Constraint], ...] = ()
    location: Geometry | None = None
    place: PlaceName | None = None
    """A place to take the location from, instead of giving one."""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name, _ in self.constraints:
            if name in seen:
                raise ModelError(f"a region constrains {name!r} twice")
            seen.add(name)
        object.__setattr__(self, "constraints", tuple(sorted(self.constraints, key=lambda pair: pair[0])))

    @property
    def dimensions(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.constraints) | (
            PLACE_AXES if self.location or self.place else frozenset()
        )

    def get(self, dimension: str) -> Constraint | None:
        for name, constraint in self.constraints:
            if name == dimension:
                return constraint
        return None

    @property
    def geometry(self) -> Geometry | None:
        """Where the region is: its location, or the point or box that its x and y span."""
        if self.location is not None:
            return self.location
        x, y, z = (_span(self.get(axis)) for axis in "xyz")
        if x is None or y is None:
            return None
        shape = Point(x[0], y[0]) if x[0] == x[1] and y[0] == y[1] else Box(x[0], y[0], x[1], y[1])
        return Geometry(shape, altitude=Interval(*z) if z else None)


def region(
    space: str | None = None, values: Mapping[str, Constraint | bool | float | str] | None = None,
    location: Geometry | None = None,
) -> Region:  # fmt: skip
    """A region from plain values and constraints: ``region("gas", {"price": 65})``."""
    given = (values or {}).items()
    constraints = tuple((n, v if isinstance(v, (Interval, Values)) else Values((v,))) for n, v in given)
    return Region(space, constraints, location)


def check_said(values: Mapping[str, Scalar | None]) -> None:
    """Refuse a name or a text that is too long for what a client says of itself, or in a reading."""
    for name, value in values.items():
        if len(name) > LONGEST_NAME:
            raise OpError(f"a name has at most {LONGEST_NAME} characters, and {name[:20]!r}… has {len(name):,}")
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise OpError(f"a text has at most {LONGEST_TEXT:,} characters, and this has {len(value):,}", name)


def ways(regions: Iterable[Region]) -> int:
    """In how many ways one region can be chosen for each space; each is a case that is judged."""
    return math.prod(Counter(r.space for r in regions).values())


def check(declared: Region, space: SubjectSpace) -> None:
    """Refuse a region whose dimensions or values the space it is declared in does not have."""
    for name, constraint in declared.constraints:
        dimension = space.dimension(name)
        if isinstance(constraint, Values):
            for value in constraint.items:
                if not dimension.type.admits(value):
                    raise ModelError(f"{value!r} is not a value of {space.name}.{name}")
        elif dimension.type.clip(constraint) is None:
            raise ModelError(f"no value of {space.name}.{name} is in the given interval")
    if declared.location is not None and not {"x", "y"} <= space.names:
        raise ModelError(f"space {space.name!r} has no dimensions x and y to locate a region by")


def is_valid(r: Region, space: SubjectSpace) -> bool:
    """Whether the region has any extension in the space."""
    if not r.dimensions & space.names:
        return False
    return all(_extent(r, space, name) is not None for name in space.names)


def contains(r1: Region, r2: Region, space: SubjectSpace) -> bool:
    """The paper's containment: all of r2 is inside r1."""
    return _relate(r1, r2, space, sets.contains, geometry_contains)


def enclosed(r1: Region, r2: Region, space: SubjectSpace) -> bool:
    """The paper's enclosure, the converse of containment: all of r1 is inside r2."""
    return contains(r2, r1, space)


def overlaps(r1: Region, r2: Region, space: SubjectSpace) -> bool:
    """The paper's overlap: they share a value in every dimension."""
    return _relate(r1, r2, space, sets.overlaps, geometry_overlaps)


def within(r1: Region, r2: Region, space: SubjectSpace, reach: float) -> bool:
    return distance(r1, r2, space) <= reach


def nearest(r1: Region, others: Iterable[Region], space: SubjectSpace) -> list[Region]:
    """The paper's nearest neighbour: every region at the least distance matches, ties included."""
    ranked = [(distance(r1, r, space), r) for r in others if r is not r1]
    least = min((d for d, _ in ranked), default=math.inf)
    return [r for d, r in ranked if d == least and d < math.inf]


def distance(r1: Region, r2: Region, space: SubjectSpace) -> float:
    """Between the closest points of two regions: 0 if they overlap, infinite if one is not valid in the space.

    The paper's MINDIST takes the ends of r1 only, and so is not symmetric when r1 surrounds r2; this is.
    """
    if not (is_valid(r1, space) and is_valid(r2, space)):
        return math.inf
    if space.metric is not Metric.EUCLIDEAN:
        a, b = r1.geometry, r2.geometry
        return 0.0 if a is None or b is None else ground_of(space.metric).distance(a.shape, b.shape)
    measured = space.measured or tuple(d.name for d in space.dimensions if d.type.numeric)
    return math.hypot(*(_gap(r1, r2, space, name) for name in measured))


def _gap(r1: Region, r2: Region, space: SubjectSpace, name: str) -> float:
    a, b = _extent(r1, space, name), _extent(r2, space, name)
    return math.inf if a is None or b is None else sets.gap(a, b)


def _extent(r: Region, space: SubjectSpace, name: str) -> Constraint | None:
    """The region's values in one dimension of the space; nothing if none of them is in the domain."""
    kind = space.dimension(name).type
    return kind.clip(r.get(name) or EVERYTHING)


def _relate(
    r1: Region, r2: Region, space: SubjectSpace,
    of_sets: Callable[[Constraint, Constraint], bool],
    of_geometries: Callable[[Geometry, Geometry, Metric], bool],
) -> bool:  # fmt: skip
    if not (is_valid(r1, space) and is_valid(r2, space)):
        return False
    names = set(space.names)
    if PLACE_AXES & names and (r1.location or r2.location) and r1.geometry and r2.geometry:
        names -= PLACE_AXES
        metric = Metric.EARTH if space.metric is Metric.EARTH else Metric.PLANAR
        if not of_geometries(r1.geometry, r2.geometry, metric):
            return False
    elif of_sets is sets.contains and r1.location and not r2.geometry:
        return False
    extents = ((_extent(r1, space, name), _extent(r2, space, name)) for name in names)
    return all(a is not None and b is not None and of_sets(a, b) for a, b in extents)


def geometry_contains(outer: Geometry, inner: Geometry, metric: Metric) -> bool:
    return (
        ground_of(metric).contains(outer.shape, inner.shape)
        and sets.contains(outer.altitude or EVERYTHING, inner.altitude or EVERYTHING)
        and sets.contains(outer.floor or EVERYTHING, inner.floor or EVERYTHING)
    )


def geometry_overlaps(a: Geometry, b: Geometry, metric: Metric) -> bool:
    return (
        ground_of(metric).overlaps(a.shape, b.shape)
        and sets.overlaps(a.altitude or EVERYTHING, b.altitude or EVERYTHING)
        and sets.overlaps(a.floor or EVERYTHING, b.floor or EVERYTHING)
    )


def _span(constraint: Constraint | None) -> tuple[float, float] | None:
    """The least and greatest number of a closed, bounded constraint."""
    if isinstance(constraint, Values):
        numbers = [v for v in constraint.items if isinstance(v, (int, float)) and not isinstance(v, bool)]
        return (numbers[0], numbers[0]) if len(constraint.items) == len(numbers) == 1 else None
    if constraint is None or not (constraint.low_closed and constraint.high_closed):
        return None
    low, high = constraint.low, constraint.high
    return (low, high) if isinstance(low, (int, float)) and isinstance(high, (int, float)) else None
