"""Neighbourhoods where things meet: points at, just inside and just outside the radii around a few hard centres."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import pyproj

from nearcast.model.metric import EARTH, PLANE, Ground
from nearcast.model.shape import Box, Disc, Point, Shape, polygon

__all__ = ["RADII", "Scene", "scenes"]

RADII = (100.0, 1000.0)
NUDGES = (-1e-3, 0.0, 1e-3)
"""Metres: a point at a radius, and its neighbours on either side."""

CENTRES = {
    EARTH: ((2.3522, 48.8566), (0.0, 0.0), (180.0, -17.0), (-179.9995, 65.0), (0.0, 90.0), (45.0, -90.0)),
    PLANE: ((0.0, 0.0), (-250.0, 1e6)),
}
_WGS84 = pyproj.Geod(ellps="WGS84")


@dataclass(frozen=True)
class Scene:
    ground: Ground
    points: tuple[Point, ...]
    shapes: tuple[Shape, ...]


@cache
def scenes(ground: Ground) -> tuple[Scene, ...]:
    return tuple(_scene(ground, Point(*centre)) for centre in CENTRES[ground])


def _scene(ground: Ground, centre: Point) -> Scene:
    rings = (_away(ground, centre, degrees, r + nudge) for r in RADII for degrees in (0, 90, 225) for nudge in NUDGES)
    points = (centre, *_twins(ground, centre), *rings)
    return Scene(ground, points, (*_round(ground, centre), *_straight(ground, centre)))


def _away(ground: Ground, start: Point, degrees: float, metres: float) -> Point:
    """The point so far from another in a direction, clockwise from north."""
    if ground is PLANE:
        angle = math.radians(90 - degrees)
        return Point(start.x + metres * math.cos(angle), start.y + metres * math.sin(angle))
    x, y, _ = _WGS84.fwd(start.x, start.y, degrees, metres)
    return Point(float(x), float(y))


def _twins(ground: Ground, point: Point) -> tuple[Point, ...]:
    """The same spot by other coordinates."""
    if ground is PLANE:
        return ()
    if abs(point.y) == 90:
        return (Point(180.0, point.y), Point(-77.0, point.y))
    return (Point(-point.x, point.y),) if abs(point.x) == 180 else ()


def _round(ground: Ground, centre: Point) -> list[Shape]:
    beside = _away(ground, centre, 90, 2 * RADII[0])
    return [
        centre,
        Disc(centre.x, centre.y, 0.0),
        *(Disc(centre.x, centre.y, radius) for radius in RADII),
        Disc(beside.x, beside.y, RADII[0]),  # touches the first disc from outside
    ]


def _straight(ground: Ground, centre: Point) -> list[Shape]:
    small, large = (_box(ground, centre, radius) for radius in RADII)
    beside = _box(ground, _away(ground, centre, 180, 3 * RADII[0]), RADII[0])
    thin = Box(small.west, centre.y, small.east, centre.y)
    ring_pairs = zip(large.rings(), small.rings(), strict=True)
    holed = polygon(
        [(*outer, *inner) for outer, inner in ring_pairs if _strictly_inside(small, large)] or large.rings()
    )
    return [small, large, thin, polygon(small.rings()), holed, polygon([*small.rings(), *beside.rings()])]


def _box(ground: Ground, centre: Point, radius: float) -> Box:
    north, east, south, west = (_away(ground, centre, degrees, radius) for degrees in (0, 90, 180, 270))
    if ground is EARTH and abs(centre.y) == 90:
        return Box(-180.0, min(centre.y, north.y), 180.0, max(centre.y, north.y))
    return Box(west.x, south.y, east.x, north.y)


def _strictly_inside(small: Box, large: Box) -> bool:
    """Whether one box can be a hole of the other: it touches neither its edge nor the seam of the map."""
    return (
        large.west < small.west <= small.east < large.east and large.south < small.south and small.north < large.north
    )
