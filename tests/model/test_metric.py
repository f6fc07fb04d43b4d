from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pyproj
import pytest

from nearcast.model.metric import EARTH, PLANE, Ground, ground_of
from nearcast.model.shape import Box, Disc, Point, Polygon, Shape, polygon
from nearcast.model.space import Metric

WGS84 = pyproj.Geod(ellps="WGS84")
DATE_LINE = Box(170, -10, -170, 10)
SPLIT = polygon([
    [[(170, -10), (180, -10), (180, 10), (170, 10), (170, -10)]],
    [[(-180, -10), (-170, -10), (-170, 10), (-180, 10), (-180, -10)]],
])  # fmt: skip
ARCTIC = Box(-180, 80, 180, 90)
RING = polygon([[
    [(0, 0), (10, 0), (10, 10), (0, 10), (0, 0)],
    [(4, 4), (6, 4), (6, 6), (4, 6), (4, 4)],
]])  # fmt: skip


def geodesic(a: Point, b: Point) -> float:
    return float(WGS84.inv(a.x, a.y, b.x, b.y)[2])


def test_each_metric_has_its_ground() -> None:
    assert ground_of(Metric.EARTH) is EARTH
    assert ground_of(Metric.PLANAR) is ground_of(Metric.EUCLIDEAN) is PLANE


# ---- points and discs --------------------------------------------------------------------------------


def test_points_are_as_far_apart_as_geodesics_are_long() -> None:
    assert EARTH.distance(Point(0, 0), Point(1, 0)) == pytest.approx(111319.491, abs=0.001)
    assert EARTH.distance(Point(0, 0), Point(0, 1)) == pytest.approx(110574.389, abs=0.001)
    assert EARTH.distance(Point(-122.4, 37.8), Point(2.35, 48.85)) == geodesic(Point(-122.4, 37.8), Point(2.35, 48.85))


def test_the_antimeridian_and_the_poles_are_ordinary_places() -> None:
    assert EARTH.distance(Point(180, 12), Point(-180, 12)) == 0
    assert EARTH.distance(Point(179.5, 0), Point(-179.5, 0)) == pytest.approx(111319.491, abs=0.001)
    assert EARTH.distance(Point(0, 90), Point(137, 90)) == 0
    assert EARTH.distance(Point(0, 89), Point(180, 89)) == pytest.approx(2 * 111693.9, abs=1)


def test_a_disc_is_closed_and_measured_from_its_centre() -> None:
    reach = geodesic(Point(0, 60), Point(1, 60))
    disc = Disc(0, 60, reach)
    assert EARTH.covers(disc, Point(1, 60))
    assert EARTH.depth(disc, Point(1, 60)) == 0
    assert not EARTH.covers(disc, Point(1.000001, 60))
    assert EARTH.distance(disc, Point(2, 60)) == pytest.approx(reach, rel=0.001)
    assert EARTH.covers(Disc(0, 90, 120_000), Point(77, 89))


def test_discs_on_a_plane() -> None:
    a, b = Disc(0, 0, 5), Disc(20, 0, 5)
    assert PLANE.distance(a, b) == 10
    assert PLANE.overlaps(a, Disc(10, 0, 5))
    assert not PLANE.overlaps(a, Disc(10.001, 0, 5))
    assert PLANE.contains(a, Disc(2, 0, 3))
    assert not PLANE.contains(a, Disc(2, 0, 3.001))
    assert PLANE.contains(a, Box(-3, -4, 3, 4))
    assert not PLANE.contains(a, Box(-3, -4, 3.1, 4))


# ---- areas -------------------------------------------------------------------------------------------


def test_boundaries_are_closed_the_outer_and_the_inner() -> None:
    for point in (Point(0, 0), Point(10, 3), Point(4, 5), Point(6, 6)):
        assert PLANE.covers(RING, point)
        assert PLANE.depth(RING, point) == 0
    assert PLANE.depth(RING, Point(5, 5)) == -1
    assert PLANE.depth(RING, Point(2, 5)) == 2
    assert PLANE.depth(RING, Point(-3, -4)) == -5


def test_outside_by_nothing_measurable_is_still_outside() -> None:
    diagonal = polygon([[[(0, 0), (3, 1), (0, 1), (0, 0)]]])
    below = Point(1, math.nextafter(1 / 3, 0))
    assert not PLANE.covers(diagonal, below)
    assert PLANE.depth(diagonal, below) < 0


@pytest.mark.parametrize("area", [DATE_LINE, SPLIT])
def test_an_area_over_the_antimeridian_is_one_area(area: Box | Polygon) -> None:
    assert all(EARTH.covers(area, Point(x, 0)) for x in (175, 180, -180, -175, 170, -170))
    assert not any(EARTH.covers(area, Point(x, 0)) for x in (0, 169.9, -169.9))
    middle = EARTH.depth(area, Point(180, 0))
    assert middle == EARTH.depth(area, Point(-180, 0))
    assert middle == pytest.approx(geodesic(Point(180, 0), Point(180, 10)), rel=0.01)
    assert EARTH.distance(area, Point(169, 0)) == pytest.approx(geodesic(Point(169, 0), Point(170, 0)))
    assert EARTH.distance(area, Point(-169, 0)) == pytest.approx(geodesic(Point(-169, 0), Point(-170, 0)))


def test_both_names_of_the_antimeridian_are_in_a_side_that_ends_there() -> None:
    east, west = Box(170, 0, 180, 10), Box(-180, 0, -170, 10)
    for area in (east, west):
        assert EARTH.covers(area, Point(180, 5))
        assert EARTH.covers(area, Point(-180, 5))
    assert EARTH.overlaps(east, west)
    assert EARTH.distance(east, Box(-179, 0, -170, 10)) == pytest.approx(geodesic(Point(180, 10), Point(-179, 10)))


def test_a_disc_near_the_antimeridian_is_contained_by_an_area_over_it() -> None:
    assert EARTH.contains(DATE_LINE, Disc(180, 0, 1_000_000))
    assert not EARTH.contains(Box(170, -10, 180, 10), Disc(180, 0, 1))
    assert EARTH.contains(DATE_LINE, Box(175, -5, -175, 5))
    assert not EARTH.contains(DATE_LINE, Box(165, -5, -175, 5))


def test_the_pole_is_one_point_and_a_cap_has_no_other_boundary() -> None:
    for x in (-180, -90, 0, 33, 180):
        assert EARTH.covers(ARCTIC, Point(x, 90))
        assert EARTH.depth(ARCTIC, Point(x, 85)) == pytest.approx(geodesic(Point(0, 85), Point(0, 80)), rel=0.001)
    assert EARTH.covers(Box(0, 80, 10, 90), Point(123, 90))
    assert EARTH.overlaps(Box(0, 80, 10, 90), Box(90, 80, 100, 90))


def test_the_whole_earth_has_no_boundary() -> None:
    everything = Box(-180, -90, 180, 90)
    assert EARTH.depth(everything, Point(12, 34)) == math.inf
    assert EARTH.distance(everything, Point(12, 34)) == 0
    assert EARTH.contains(everything, Disc(0, 0, 1e7))


def test_containment_of_areas() -> None:
    assert PLANE.contains(RING, Box(1, 1, 3, 9))
    assert PLANE.contains(RING, RING)
    assert not PLANE.contains(RING, Box(3, 3, 7, 7))
    assert not PLANE.contains(RING, Disc(5, 5, 0.1))
    assert PLANE.contains(RING, Disc(2, 2, 2))
    assert not PLANE.contains(RING, Disc(2, 2, 2.001))
    assert not PLANE.contains(Point(1, 1), RING)


# ---- distances ---------------------------------------------------------------------------------------


def shapes(rng: random.Random) -> list[Shape]:
    """A few of each kind, around a random place."""
    x, y = rng.uniform(-180, 180), rng.uniform(-75, 75)
    made: list[Shape] = []
    for _ in range(3):
        u, v = x + rng.uniform(-0.2, 0.2), y + rng.uniform(-0.2, 0.2)
        lon = (u + 180) % 360 - 180
        made += [Point(lon, v), Disc(lon, v, rng.uniform(0, 3000))]
        width = rng.uniform(0.01, 0.1)
        if abs(lon) < 179.5:
            made += [Box(lon, v, lon + width, v + width)]
            ring = [(lon, v), (lon + width, v + 0.01), (lon + width / 2, v + width), (lon, v)]
            made += [polygon([[ring]])]
    return made


@pytest.mark.parametrize("seed", range(8))
def test_distances_are_symmetric_to_the_last_bit(seed: int) -> None:
    for a, b in itertools.product(shapes(random.Random(seed)), repeat=2):
        assert EARTH.distance(a, b) == EARTH.distance(b, a)
        assert EARTH.overlaps(a, b) == EARTH.overlaps(b, a)


@pytest.mark.parametrize("seed", range(8))
def test_depth_distance_and_containment_agree(seed: int) -> None:
    made = shapes(random.Random(seed))
    for shape, point in itertools.product(made, [s for s in made if isinstance(s, Point)]):
        inside = EARTH.covers(shape, point)
        assert inside == (EARTH.depth(shape, point) >= 0) == EARTH.contains(shape, point)
        assert inside == (EARTH.distance(shape, point) == 0)
        if not inside:
            assert EARTH.distance(shape, point) == pytest.approx(-EARTH.depth(shape, point))


def densely(ring: list[tuple[float, float]], steps: int) -> tuple[list[float], list[float]]:
    """Points along straight lines in longitude and latitude."""
    fractions = np.linspace(0, 1, steps)
    lons: list[float] = []
    lats: list[float] = []
    for (x1, y1), (x2, y2) in itertools.pairwise(ring):
        lons += list(x1 + fractions * (x2 - x1))
        lats += list(y1 + fractions * (y2 - y1))
    return lons, lats


@pytest.mark.parametrize("latitude", [-70, -45, -1, 0, 30, 60, 70])
@pytest.mark.parametrize("longitude", [-179.9, -60, 0, 150, 179.9])
def test_distance_to_a_polygon_against_dense_samples_of_its_boundary(latitude: float, longitude: float) -> None:
    rng = random.Random(latitude * 1000 + longitude)
    for _ in range(4):
        # A triangle of some ten kilometres whose longitudes stay on one side of the antimeridian.
        side = -0.1 if longitude > 0 else 0.1
        x, y = longitude, latitude
        ring = [(x, y), (x + side * rng.uniform(0.5, 1), y + rng.uniform(0, 0.1)), (x + side * 0.5, y + 0.1), (x, y)]
        shape = polygon([[ring]])
        angle, far = rng.uniform(0, 360), rng.uniform(10, 20_000)
        lon, lat, _ = WGS84.fwd(x, y, angle, far)
        point = Point((lon + 180) % 360 - 180, lat)
        lons, lats = densely(ring, 1500)
        sampled = min(WGS84.inv(lons, lats, [point.x] * len(lons), [point.y] * len(lats))[2])
        measured = -EARTH.depth(shape, point) if not EARTH.covers(shape, point) else EARTH.depth(shape, point)
        assert sampled * 0.99 - 10 <= measured <= sampled * 1.02 + 10


def test_planar_distances_between_areas() -> None:
    assert PLANE.distance(Box(0, 0, 1, 1), Box(4, 5, 6, 6)) == 5
    assert PLANE.distance(Box(0, 0, 1, 1), Box(1, 1, 2, 2)) == 0
    assert PLANE.distance(RING, Box(4.5, 4.5, 5.5, 5.5)) == 0.5
    assert PLANE.distance(Box(-1, 4, 11, 5), Box(4, -1, 5, 11)) == 0


# ---- segments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ground", "shape", "start", "end", "crossed"),
    [
        (PLANE, Box(4, 4, 6, 6), (0, 5), (10, 5), True),
        (PLANE, Box(4, 4, 6, 6), (0, 6), (10, 6), True),
        (PLANE, Box(4, 4, 6, 6), (0, 6.001), (10, 6.001), False),
        (PLANE, Box(4, 4, 6, 6), (5, 5), (5, 5), True),
        (PLANE, Disc(0, 0, 5), (-9, 5), (9, 5), True),
        (PLANE, Disc(0, 0, 5), (6, 0), (9, 0), False),
        (PLANE, Point(5, 0), (0, 0), (9, 0), True),
        (EARTH, Box(-1, -5, 1, 5), (179, 0), (-179, 0), False),
        (EARTH, DATE_LINE, (169, 0), (-169, 0), True),
        (EARTH, Box(-180, -5, -179.5, 5), (179, 0), (-179, 0), True),
        (EARTH, Box(-180, -5, -179.5, 5), (-179, 0), (179, 0), True),
        (EARTH, Box(-180, 4, -170, 6), (180, 0), (180, 10), True),
        (EARTH, Box(170, 4, 180, 6), (-180, 0), (-180, 10), True),
        (EARTH, Disc(180, 0, 1000), (179, 0), (-179, 0), True),
        (EARTH, Disc(-180, 0, 1000), (179, 0), (-179, 0), True),
        (EARTH, Disc(180, 0.1, 1000), (179, 0), (-179, 0), False),
    ],
)
def test_crossing(
    ground: Ground, shape: Shape, start: tuple[float, float], end: tuple[float, float], crossed: bool
) -> None:
    assert ground.crosses(shape, Point(*start), Point(*end)) is crossed
    assert ground.crosses(shape, Point(*end), Point(*start)) is crossed


def test_half_way_round_goes_eastward() -> None:
    """Both ways are as long; the choice must be one and the same for all."""
    east, west = Box(89, -1, 91, 1), Box(-91, -1, -89, 1)
    assert EARTH.crosses(east, Point(0, 0), Point(180, 0))
    assert not EARTH.crosses(west, Point(0, 0), Point(180, 0))
    assert EARTH.crosses(west, Point(180, 0), Point(0, 0))


# ---- sizes -------------------------------------------------------------------------------------------


def test_sizes_tell_the_smaller_of_two() -> None:
    assert PLANE.size(Point(0, 0)) == 0 < PLANE.size(Disc(0, 0, 1)) < PLANE.size(Box(0, 0, 2, 2))
    assert EARTH.size(Box(0, 60, 1, 61)) < EARTH.size(Box(0, 0, 1, 1))
    assert EARTH.size(Box(0, 0, 1, 1)) == pytest.approx(1.2309e10, rel=0.01)
