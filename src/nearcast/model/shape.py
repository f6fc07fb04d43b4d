"""Shapes on the earth or on a plane. Closed: the boundary belongs to them.

Coordinates are (x, y): longitude and latitude on the earth, metres on a plane. Polygon edges are straight
in these coordinates, and a polygon that crosses the antimeridian is split there, as in RFC 7946. A box whose
west is greater than its east crosses it too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import shapely

from nearcast.errors import GeometryError, ModelError
from nearcast.model.constraint import Interval, is_finite
from nearcast.model.repair import repaired

__all__ = ["Box", "Disc", "Geometry", "Point", "Polygon", "Ring", "Shape", "check_distance", "polygon", "shifted"]

Ring = tuple[tuple[float, float], ...]


FARTHEST = 1e60
"""No coordinate, radius or distance is beyond this, so that products of four of them stay finite."""
CROSSINGS = 500
"""How often a polygon that is repaired may cross itself: a fifth of a second's work."""


def _require_finite(*numbers: float) -> None:
    for number in numbers:
        if not is_finite(number):
            raise GeometryError(f"{number!r:.20} is not a coordinate; it must be a finite number")
        if abs(number) > FARTHEST:
            raise GeometryError(f"{number!r:.20} is too far away for a coordinate or a radius")


def check_distance(metres: float) -> None:
    if not is_finite(metres) or abs(metres) > FARTHEST:
        raise ModelError(f"{metres:g} m is too far; a distance is at most {FARTHEST:g} m")


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float

    def __post_init__(self) -> None:
        _require_finite(self.x, self.y)


@dataclass(frozen=True, slots=True)
class Disc:
    """All points within a radius, in metres, of a centre."""

    x: float
    y: float
    radius: float

    def __post_init__(self) -> None:
        _require_finite(self.x, self.y, self.radius)
        if self.radius < 0:
            raise GeometryError(f"a disc cannot have radius {self.radius!r}")

    @property
    def centre(self) -> Point:
        return Point(self.x, self.y)


@dataclass(frozen=True)
class _Area(ABC):
    """What boxes and polygons share: a shapely form, made once."""

    @cached_property
    def planar(self) -> shapely.Geometry:
        """The area in the plane of its coordinates, prepared for many questions."""
        made = self._plain()
        shapely.prepare(made)
        return made

    def _plain(self) -> shapely.Geometry:
        return shapely.MultiPolygon([shapely.Polygon(rings[0], rings[1:]) for rings in self.rings()])

    @cached_property
    def corners(self) -> tuple[tuple[float, float], ...]:
        return tuple(corner for rings in self.rings() for ring in rings for corner in ring[:-1])

    @cached_property
    def edges(self) -> npt.NDArray[np.float64]:
        """Every boundary edge of the plane, a row (x1, y1, x2, y2) each, in order."""
        return _edge_rows(ring for rings in self.rings() for ring in rings)

    @cached_property
    def earth_edges(self) -> npt.NDArray[np.float64]:
        """The edges that bound the area on the globe.

        Where both sides of the antimeridian belong to the area, the cut made there is no boundary; nor is
        the edge along a pole of an area that goes all the way round it.
        """
        boundary = shapely.MultiLineString([ring for rings in self.rings() for ring in rings])
        seam = _side(boundary, 180.0).intersection(shifted(_side(boundary, -180.0), 360.0))
        cuts = [seam, shifted(seam, -360.0)]
        for latitude in (-90.0, 90.0):
            pole = shapely.LineString([(-180.0, latitude), (180.0, latitude)])
            if boundary.covers(pole):
                cuts.append(pole)
        if all(cut.is_empty or cut.length == 0 for cut in cuts):
            return self.edges
        left = boundary.difference(shapely.union_all(cuts))
        lines = getattr(left, "geoms", [left])
        return _edge_rows(tuple(line.coords) for line in lines if not line.is_empty)

    @abstractmethod
    def rings(self) -> Sequence[tuple[Ring, ...]]:
        """The parts, each an outer ring and its holes."""


@dataclass(frozen=True)
class Box(_Area):
    west: float
    south: float
    east: float
    north: float

    def __post_init__(self) -> None:
        _require_finite(self.west, self.south, self.east, self.north)
        if self.south > self.north:
            raise GeometryError(f"a box cannot have its south {self.south!r} above its north {self.north!r}")

    def rings(self) -> Sequence[tuple[Ring, ...]]:
        if self.west <= self.east:
            return [(self._ring(self.west, self.east),)]
        sides = [side for side in ((self.west, 180.0), (-180.0, self.east)) if side[0] < side[1]]
        return [(self._ring(*side),) for side in sides or [(180.0, 180.0)]]

    def _plain(self) -> shapely.Geometry:
        """A box without area is a line or a point."""
        hulls = [shapely.MultiPoint(rings[0]).convex_hull for rings in self.rings()]
        return super()._plain() if all(hull.area > 0 for hull in hulls) else shapely.union_all(hulls)

    def _ring(self, west: float, east: float) -> Ring:
        south, north = self.south, self.north
        return ((west, south), (east, south), (east, north), (west, north), (west, south))


@dataclass(frozen=True)
class Polygon(_Area):
    """One or more parts, each an outer ring and its holes. Make one with `polygon`, which checks it."""

    parts: tuple[tuple[Ring, ...], ...]

    def rings(self) -> Sequence[tuple[Ring, ...]]:
        return self.parts


Shape = Point | Disc | Box | Polygon


@dataclass(frozen=True, slots=True)
class Geometry:
    """A shape with an optional range of altitudes (metres) and of floors. A missing range is every value."""

    shape: Shape
    altitude: Interval | None = None
    floor: Interval | None = None

    def __post_init__(self) -> None:
        for interval in (self.altitude, self.floor):
            if interval is not None and interval.kind not in (None, "number"):
                raise GeometryError("a range of altitudes or floors needs numbers")


def polygon(parts: Iterable[Sequence[Sequence[Sequence[float]]]], name: str = "polygon") -> Polygon:
    """A polygon from parts of rings of (x, y) corners; closes open rings and repairs what is not valid.

    A repair warns, and the warning names the polygon. What has no area left is refused, and so is what crosses itself
    more than a few hundred times: a repair takes the cube of that.
    """
    closed = tuple(tuple(_ring(ring, name) for ring in rings) for rings in parts)
    if not closed or not all(closed):
        raise GeometryError(f"{name} has no ring")
    made = Polygon(closed)
    reason = shapely.is_valid_reason(made.planar)
    if reason == "Valid Geometry":
        return made
    if _is_tangled(closed):
        raise GeometryError(f"{name} crosses itself more than {CROSSINGS} times; draw it without crossings")
    try:
        areas = _areas(shapely.make_valid(made.planar))
    except shapely.errors.GEOSException as error:
        raise GeometryError(f"{name} cannot be repaired: {error}") from None
    if not areas:
        raise GeometryError(f"{name} has no area: {reason}")
    repaired(f"{name} was repaired: {reason}")
    return Polygon(tuple(_rings(part) for part in areas))


def _is_tangled(parts: Iterable[tuple[Ring, ...]]) -> bool:
    """Whether its edges meet more often than a repair can be asked for. An edge meets itself and its two neighbours."""
    rows = _edge_rows(ring for rings in parts for ring in rings)
    rows = rows[(rows[:, :2] != rows[:, 2:]).any(axis=1)]
    edges = shapely.linestrings(rows.reshape(-1, 2, 2))
    tree, meetings = shapely.STRtree(edges), 0
    for start in range(0, len(edges), 64):
        some = edges[start : start + 64]
        meetings += tree.query(some, predicate="intersects").shape[1] - 3 * len(some)
        if meetings > 2 * CROSSINGS:
            return True
    return False


def _ring(corners: Sequence[Sequence[float]], name: str) -> Ring:
    ring = []
    for corner in corners:
        if len(corner) < 2:
            raise GeometryError(f"{name} has a corner with {len(corner)} coordinates; it needs two")
        _require_finite(corner[0], corner[1])
        ring.append((float(corner[0]), float(corner[1])))
    closed = [*ring, ring[0]] if ring and ring[0] != ring[-1] else ring
    if len(closed) < 4:
        raise GeometryError(f"{name} has a ring of {max(0, len(closed) - 1)} corners; it needs at least three")
    if closed is not ring:
        repaired(f"{name} was repaired: a ring was not closed")
    return tuple(closed)


def _areas(geometry: shapely.Geometry) -> list[shapely.Polygon]:
    """The polygons inside whatever make_valid returned; lines and points it left over have no area."""
    if isinstance(geometry, shapely.Polygon):
        return [] if geometry.is_empty else [geometry]
    return [area for part in getattr(geometry, "geoms", ()) for area in _areas(part)]


def _rings(part: shapely.Polygon) -> tuple[Ring, ...]:
    return tuple(tuple((x, y) for x, y, *_ in ring.coords) for ring in (part.exterior, *part.interiors))


def _edge_rows(lines: Iterable[Sequence[tuple[float, float]]]) -> npt.NDArray[np.float64]:
    return np.array([(*a, *b) for line in lines for a, b in pairwise(line)], dtype=np.float64).reshape(-1, 4)


def _side(boundary: shapely.Geometry, x: float) -> shapely.Geometry:
    """The part of a boundary that runs along a meridian."""
    return boundary.intersection(shapely.LineString([(x, -90.0), (x, 90.0)]))


def shifted(geometry: shapely.Geometry, by: float) -> shapely.Geometry:
    """The same geometry a number of degrees further east."""
    return shapely.transform(geometry, lambda corners: corners + np.array([by, 0.0]))
