"""Sites come and go, and what is inside which of them is always what the ground says."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyproj
import pytest

from nearcast.match.clients import space_point
from nearcast.match.crossings import inside
from nearcast.match.regions import Sites
from nearcast.model.metric import Ground, ground_of
from nearcast.model.shape import Box, Disc, Geometry, Point, Shape
from nearcast.model.space import Metric

Reals = npt.NDArray[np.float64]
EARTHLY = [(-122.4, 37.7), (0.0, 0.0), (180.0, -17.0), (-179.9995, 65.0), (0.0, 90.0), (45.0, -90.0), (45.0, 35.2644)]
PLANAR = [(0.0, 0.0), (-250.0, 1e6), (1e12, -1e12), (1e30, 5.0), (-1e59, 1e59)]


class Place:
    """Random shapes and points around the same few centres."""

    def __init__(self, earth: bool, seed: int) -> None:
        self.earth = earth
        self.ground: Ground = ground_of(Metric.EARTH if earth else Metric.PLANAR)
        self.dice = np.random.default_rng(seed)

    def away(self, x: float, y: float, metres: float) -> tuple[float, float]:
        angle = float(self.dice.uniform(0, 360))
        if not self.earth:
            return x + metres * math.cos(angle), y + metres * math.sin(angle)
        east, north, _ = pyproj.Geod(ellps="WGS84").fwd(x, y, angle, metres)
        return float(east), float(north)

    def centre(self) -> tuple[float, float]:
        pool = EARTHLY if self.earth else PLANAR
        x, y = pool[int(self.dice.integers(len(pool)))]
        return self.away(x, y, float(10 ** self.dice.uniform(-2, 5))) if self.dice.random() < 0.7 else (x, y)

    def shape(self) -> Shape:
        """A disc from a metre to 5,000 km, a point, or a box."""
        x, y = self.centre()
        kind = self.dice.random()
        if kind < 0.1:
            return Point(x, y)
        if kind < 0.25:
            half = float(10 ** self.dice.uniform(-6, 0))
            most = (180.0, 90.0) if self.earth else (math.inf, math.inf)
            west, south = max(x - half, -most[0]), max(y - half, -most[1])
            return Box(west, south, min(x + half, most[0]), min(y + half, most[1]))
        return Disc(x, y, float(10 ** self.dice.uniform(0, math.log10(5e6))))

    def points(self, shape: Shape) -> Iterator[tuple[float, float]]:
        """At the centre, on the boundary, and beside it."""
        match shape:
            case Box():
                yield from ((shape.west, shape.south), (shape.east, (shape.south + shape.north) / 2))
            case Disc(x, y) | Point(x, y):
                radius = shape.radius if isinstance(shape, Disc) else 0.0
                yield x, y
                for nudge in (0.0, 1e-9, -1e-9, 1e-3, -1e-3):
                    yield self.away(x, y, max(0.0, radius + nudge))


def positions(points: list[tuple[float, float]], earth: bool) -> Reals:
    """As rows of a move: coordinates, the point in space, no heights."""
    return np.array([[x, y, *space_point(Point(x, y), earth), math.nan, math.nan] for x, y in points])


@pytest.mark.parametrize("earth", [True, False], ids=["earth", "plane"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_inside_is_what_the_ground_covers(earth: bool, seed: int) -> None:
    place = Place(earth, seed)
    sites, held = Sites(place.ground, earth), dict[int, Shape]()
    for step in range(4):
        gone = [row for row in held if place.dice.random() < 0.3]
        sites.take_out(gone)
        for row in gone:
            del held[row]
        new = {row: place.shape() for row in range(150) if row not in held and place.dice.random() < 0.3}
        sites.put(list(new), [Geometry(shape) for shape in new.values()])
        held.update(new)
        asked = [point for row, shape in held.items() if row % 5 == step for point in place.points(shape)]
        at, rows = inside(sites, positions(asked, earth))
        covered = {
            (i, row)
            for i, point in enumerate(asked)
            for row, shape in held.items()
            if place.ground.covers(shape, Point(*point))
        }
        assert set(zip(at.tolist(), rows.tolist(), strict=True)) == covered
        assert len(at) == len(covered), "each is found once"
        assert len(covered) > len(asked) / 4
    sites.take_out(list(held))
    assert not len(inside(sites, positions([*EARTHLY] if earth else [*PLANAR], earth))[0])
