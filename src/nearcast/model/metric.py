"""Distance and containment of shapes: one definition, for every placement.

On the earth, distance is geodesic on WGS 84. The distance to a polygon goes to its nearest boundary point,
found in an equirectangular projection at the latitude one looks from, then measured geodesically.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyproj
import shapely

from nearcast.errors import GeometryError
from nearcast.model.shape import Box, Disc, Point, Polygon, Shape, shifted
from nearcast.model.space import Metric

__all__ = ["EARTH", "PLANE", "Ground", "ground_of"]

Area = Box | Polygon
Edges = npt.NDArray[np.float64]
_WGS84 = pyproj.Geod(ellps="WGS84")
_DEGREE = 111_195.0
"""Metres of a degree of latitude, about."""


class _Surface(Protocol):
    """What differs between the earth and a plane."""

    def check(self, shape: Shape) -> None: ...
    def length(self, a: Point, b: Point) -> float: ...
    def covers(self, area: Area, point: Point) -> bool: ...
    def boundary(self, area: Area) -> Edges: ...
    def scale(self, point: Point) -> float: ...
    def views(self, point: Point) -> tuple[float, ...]: ...
    def segment(self, a: Point, b: Point) -> shapely.Geometry: ...
    def cell(self, point: Point, width: float) -> Point: ...


class _Earth:
    def check(self, shape: Shape) -> None:
        corners = shape.corners if isinstance(shape, (Box, Polygon)) else ((shape.x, shape.y),)
        for x, y in corners:
            if not (-180 <= x <= 180 and -90 <= y <= 90):
                raise GeometryError(f"({x}, {y}) is not on the earth; give longitude -180..180, then latitude -90..90")

    def length(self, a: Point, b: Point) -> float:
        # The solver is not symmetric to the last bit, so the lesser point always goes first.
        first, second = sorted(((a.x, a.y), (b.x, b.y)))
        return float(_WGS84.inv(*first, *second)[2])

    def covers(self, area: Area, point: Point) -> bool:
        if abs(point.y) == 90:
            pole = shapely.LineString([(-180.0, point.y), (180.0, point.y)])
            return bool(area.planar.intersects(pole))
        same = (point.x, -point.x) if abs(point.x) == 180 else (point.x,)
        return any(shapely.intersects_xy(area.planar, x, point.y) for x in same)

    def boundary(self, area: Area) -> Edges:
        return area.earth_edges

    def scale(self, point: Point) -> float:
        return math.cos(math.radians(point.y))

    def views(self, point: Point) -> tuple[float, ...]:
        return (point.x, point.x + 360.0, point.x - 360.0)

    def segment(self, a: Point, b: Point) -> shapely.Geometry:
        """The straight way in longitude and latitude, the shorter way round; eastward if both are as long."""
        step = b.x - a.x
        turn = -360.0 if step > 180 else 360.0 if step <= -180 else 0.0
        line = shapely.LineString([(a.x, a.y), (b.x + turn, b.y)])
        # The antimeridian has two names, so what leaves by one, or runs along it, is also seen from the other.
        beyond = [x for x in (a.x, b.x + turn) if abs(x) >= 180]
        return shapely.multilinestrings([line, *(shifted(line, -math.copysign(360.0, x)) for x in beyond)])

    def cell(self, point: Point, width: float) -> Point:
        """Rows from pole to pole, each with as many cells as there is room for."""
        rows = max(1, round(180.0 / (width / _DEGREE)))
        row = min(int((point.y + 90.0) / 180.0 * rows), rows - 1)
        y = (row + 0.5) / rows * 180.0 - 90.0
        columns = max(1, round(360.0 * math.cos(math.radians(y)) / (width / _DEGREE)))
        column = min(int((point.x + 180.0) / 360.0 * columns), columns - 1)
        return Point((column + 0.5) / columns * 360.0 - 180.0, y)


class _Plane:
    def check(self, shape: Shape) -> None:
        if isinstance(shape, Box) and shape.west > shape.east:
            raise GeometryError(f"a box on a plane cannot have its west {shape.west} beyond its east {shape.east}")

    def length(self, a: Point, b: Point) -> float:
        return math.hypot(a.x - b.x, a.y - b.y)

    def covers(self, area: Area, point: Point) -> bool:
        return bool(shapely.intersects_xy(area.planar, point.x, point.y))

    def boundary(self, area: Area) -> Edges:
        return area.edges

    def scale(self, point: Point) -> float:  # noqa: ARG002  # a plane is the same everywhere
        return 1.0

    def views(self, point: Point) -> tuple[float, ...]:
        return (point.x,)

    def segment(self, a: Point, b: Point) -> shapely.Geometry:
        return shapely.LineString([(a.x, a.y), (b.x, b.y)])

    def cell(self, point: Point, width: float) -> Point:
        return Point((math.floor(point.x / width) + 0.5) * width, (math.floor(point.y / width) + 0.5) * width)


class Ground:
    """Questions about shapes on one surface."""

    def __init__(self, surface: _Surface) -> None:
        self._on = surface
        self.check = surface.check
        self.cell = surface.cell
        """The middle of the cell of a grid, so many metres wide, that a point is in."""

    def distance(self, a: Shape, b: Shape) -> float:
        """Metres between the closest points of two shapes; 0 if they overlap."""
        if isinstance(a, Disc) and isinstance(b, Disc):
            # Taking off one radius after the other would not be symmetric to the last bit.
            return max(0.0, self._on.length(a.centre, b.centre) - (a.radius + b.radius))
        if isinstance(a, Disc):
            return max(0.0, self.distance(a.centre, b) - a.radius)
        if isinstance(b, Disc):
            return max(0.0, self.distance(a, b.centre) - b.radius)
        if isinstance(a, Point):
            if isinstance(b, Point):
                return self._on.length(a, b)
            return 0.0 if self._on.covers(b, a) else self._to_boundary(b, a)
        if isinstance(b, Point):
            return self.distance(b, a)
        if self._meet(a, b):
            return 0.0
        ways = [self._to_boundary(b, Point(*corner)) for corner in a.corners]
        return min(ways + [self._to_boundary(a, Point(*corner)) for corner in b.corners])

    def depth(self, outer: Shape, inner: Shape) -> float:
        """How far inside the boundary all of a shape is, in metres; negative if, and by how much, some of it is out."""
        if isinstance(inner, Point):
            return self._point_depth(outer, inner)
        if isinstance(inner, Disc):
            return self._point_depth(outer, inner.centre) - inner.radius
        least = min(self._point_depth(outer, Point(*corner)) for corner in inner.corners)
        return max(least, 0.0) if self.contains(outer, inner) else min(least, -_LEAST)

    def _point_depth(self, shape: Shape, point: Point) -> float:
        if isinstance(shape, Point):
            return 0.0 - self._on.length(shape, point)
        if isinstance(shape, Disc):
            return shape.radius - self._on.length(shape.centre, point)
        to_boundary = self._to_boundary(shape, point)
        return to_boundary if self._on.covers(shape, point) else -max(to_boundary, _LEAST)

    def covers(self, shape: Shape, point: Point) -> bool:
        if isinstance(shape, (Box, Polygon)):
            return self._on.covers(shape, point)
        return self._point_depth(shape, point) >= 0

    def contains(self, outer: Shape, inner: Shape) -> bool:
        """Whether all of ``inner`` is in ``outer``. A disc is asked for a polygon's corners."""
        if isinstance(inner, Point):
            return self.covers(outer, inner)
        if isinstance(inner, Disc):
            return self.depth(outer, inner) >= 0
        if isinstance(outer, (Box, Polygon)):
            return bool(outer.planar.covers(inner.planar))
        return all(self.covers(outer, Point(*corner)) for corner in inner.corners)

    def overlaps(self, a: Shape, b: Shape) -> bool:
        return self.distance(a, b) == 0

    def crosses(self, shape: Shape, start: Point, end: Point) -> bool:
        """Whether the straight segment between two points touches the shape."""
        if isinstance(shape, (Box, Polygon)):
            return bool(shape.planar.intersects(self._on.segment(start, end)))
        centre = shape if isinstance(shape, Point) else shape.centre
        reach = 0.0 if isinstance(shape, Point) else shape.radius
        lines = self._on.segment(start, end)
        rows = [(*p, *q) for line in getattr(lines, "geoms", [lines]) for p, q in pairwise(line.coords)]
        return self._nearest(np.array(rows, dtype=np.float64), centre) <= reach

    def size(self, shape: Shape) -> float:
        """Square metres, well enough to tell the smaller of two shapes that share a point."""
        if isinstance(shape, (Point, Disc)):
            return 0.0 if isinstance(shape, Point) else math.pi * shape.radius**2
        degree = self._on.length(Point(0.0, 0.0), Point(0.0, 1.0))
        middle = shape.planar.centroid
        return float(shape.planar.area) * degree**2 * self._on.scale(Point(middle.x, middle.y))

    def _meet(self, a: Area, b: Area) -> bool:
        if a.planar.intersects(b.planar):
            return True
        turns = {x - a.corners[0][0] for x in self._on.views(Point(*a.corners[0]))} - {0.0}
        return any(shifted(a.planar, turn).intersects(b.planar) for turn in turns)

    def _to_boundary(self, area: Area, point: Point) -> float:
        return self._nearest(self._on.boundary(area), point)

    def _nearest(self, edges: Edges, point: Point) -> float:
        """Metres from a point to the nearest of the edges; infinite if there are none."""
        if not len(edges):
            return math.inf
        best, found = math.inf, point
        for x in self._on.views(point):
            squared, px, py = _nearest_on(edges, x, point.y, self._on.scale(point))
            if squared < best:
                best, found = squared, Point(px, py)
        return self._on.length(point, found)


_LEAST = math.ulp(0.0)
"""What is outside by nothing measurable is still outside."""

EARTH = Ground(_Earth())
PLANE = Ground(_Plane())


def ground_of(metric: Metric) -> Ground:
    return EARTH if metric is Metric.EARTH else PLANE


def _nearest_on(edges: Edges, x: float, y: float, scale: float) -> tuple[float, float, float]:
    """The squared projected distance to the nearest edge, and that point; the first edge wins a tie."""
    ax, ay = (edges[:, 0] - x) * scale, edges[:, 1] - y
    run, rise = edges[:, 2] - edges[:, 0], edges[:, 3] - edges[:, 1]
    dx = run * scale
    square = dx * dx + rise * rise
    along = np.where(square > 0, -(ax * dx + ay * rise) / np.where(square > 0, square, 1.0), 0.0)
    along = np.minimum(np.maximum(along, 0.0), 1.0)
    px, py = ax + along * dx, ay + along * rise
    squared = px * px + py * py
    i = int(np.argmin(squared))
    return float(squared[i]), float(edges[i, 0] + along[i] * run[i]), float(edges[i, 1] + along[i] * rise[i])
