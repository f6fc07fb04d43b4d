from __future__ import annotations

import math
import time

import numpy as np
import pytest

from nearcast.errors import GeometryError, GeometryWarning
from nearcast.model.constraint import Interval
from nearcast.model.metric import EARTH, PLANE
from nearcast.model.shape import Box, Disc, Geometry, Point, Polygon, polygon

SQUARE = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0), (0.0, 0.0)]
HOLE = [(4.0, 4.0), (6.0, 4.0), (6.0, 6.0), (4.0, 6.0), (4.0, 4.0)]


def test_a_valid_polygon_is_kept_as_it_is_whatever_its_winding() -> None:
    assert polygon([[SQUARE, HOLE]]) == Polygon(((tuple(SQUARE), tuple(HOLE)),))
    assert polygon([[SQUARE[::-1]]]).planar.area == 100
    assert polygon([[SQUARE, HOLE[::-1]]]).planar.area == 96


def test_a_ring_that_is_not_closed_is_closed_with_a_warning() -> None:
    with pytest.warns(GeometryWarning, match="yard was repaired: a ring was not closed"):
        made = polygon([[SQUARE[:-1]]], "yard")
    assert made == polygon([[SQUARE]])


def test_a_polygon_that_crosses_itself_all_over_is_refused_at_once() -> None:
    """A repair takes the cube of its crossings: a thousand corners at random would take an hour."""
    corners = [(math.sin(7.7 * i * i) * 90, math.cos(3.3 * i * i) * 90) for i in range(1000)]
    began = time.perf_counter()
    with pytest.raises(GeometryError, match="zone 7 crosses itself more than 500 times"):
        polygon([[[*corners, corners[0]]]], "zone 7")
    assert time.perf_counter() < began + 1
    with pytest.raises(GeometryError, match="crosses itself"):
        polygon([[[(0, 0), (1, 0), (0, 1)] * 300 + [(0, 0)]]])
    with pytest.warns(GeometryWarning, match="was repaired"):
        polygon([[[*corners[:40], corners[0]]]])


@pytest.mark.parametrize(
    ("rings", "area"),
    [
        ([[(0, 0), (10, 10), (10, 0), (0, 10), (0, 0)]], 50),
        ([SQUARE, [(20, 20), (21, 20), (21, 21), (20, 20)]], 100.5),
        ([SQUARE, [(5, 5), (15, 5), (15, 8), (5, 5)]], None),
        ([[(0, 0), (10, 0), (10, 10), (10, 0), (10, 10), (0, 10), (0, 0)]], 100),
    ],
)
def test_an_invalid_polygon_is_repaired_with_a_warning_that_names_it(
    rings: list[list[tuple[float, float]]], area: float | None
) -> None:
    with pytest.warns(GeometryWarning, match="zone 7 was repaired"):
        made = polygon([rings], "zone 7")
    assert made.planar.is_valid
    if area is not None:
        assert made.planar.area == pytest.approx(area)


def test_overlapping_parts_are_joined() -> None:
    shifted = [(x + 5, y) for x, y in SQUARE]
    with pytest.warns(GeometryWarning, match="repaired"):
        made = polygon([[SQUARE], [shifted]])
    assert made.planar.area == 150


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "no ring"),
        ([[]], "no ring"),
        ([[[(0, 0), (1, 1), (0, 0)]]], "at least three"),
        ([[[(0, 0), (1, 1)]]], "at least three"),
        ([[[]]], "at least three"),
        ([[[(0, 0), (1, 1), (2, 2), (0, 0)]]], "no area"),
        ([[[(0, 0), (0, 0), (0, 0), (0, 0)]]], "no area"),
        ([[[(0, 0), (1,), (1, 1), (0, 0)]]], "needs two"),
        ([[[(0, 0), (math.nan, 0), (1, 1), (0, 0)]]], "finite"),
        ([[[(0, 0), (math.inf, 0), (1, 1), (0, 0)]]], "finite"),
    ],
)
def test_what_is_no_polygon_is_refused_without_a_warning(
    parts: list[list[list[tuple[float, ...]]]], reason: str
) -> None:
    with pytest.raises(GeometryError, match=reason):
        polygon(parts)


def test_other_shapes_that_are_refused() -> None:
    for make in (
        lambda: Point(math.nan, 0), lambda: Point(0, 10**400), lambda: Disc(0, 0, -1), lambda: Disc(0, 0, math.inf),
        lambda: Box(0, 5, 1, 4), lambda: Box(math.nan, 0, 1, 1),
        lambda: Geometry(Point(0, 0), floor=Interval("a", "b")),
    ):  # fmt: skip
        with pytest.raises(GeometryError):
            make()


def test_what_is_not_on_the_earth_is_refused_there() -> None:
    for shape in (
        Point(181, 0),
        Point(0, 90.5),
        Disc(-181, 0, 5),
        Box(170, 0, 190, 1),
        polygon([[[(0, 0), (9, 91), (9, 0), (0, 0)]]]),
    ):
        with pytest.raises(GeometryError, match=r"longitude -180\.\.180"):
            EARTH.check(shape)
        PLANE.check(shape)


def test_a_box_on_a_plane_has_its_west_before_its_east() -> None:
    EARTH.check(Box(170, 0, -170, 1))
    with pytest.raises(GeometryError, match="west"):
        PLANE.check(Box(170, 0, -170, 1))


def test_a_box_may_be_a_line_or_a_point() -> None:
    line, point = Box(0, 5, 10, 5), Box(3, 3, 3, 3)
    assert PLANE.covers(line, Point(4, 5))
    assert not PLANE.covers(line, Point(4, 5.001))
    assert PLANE.covers(point, Point(3, 3))
    assert PLANE.distance(point, Point(6, 7)) == 5
    assert PLANE.distance(line, point) == 2
    assert PLANE.contains(Box(0, 0, 5, 5), point)
    assert not PLANE.contains(point, line)


def test_a_box_that_begins_or_ends_at_the_antimeridian() -> None:
    assert edges(Box(180, 0, -170, 10)) == edges(Box(-180, 0, -170, 10))
    assert edges(Box(170, 0, -180, 10)) == edges(Box(170, 0, 180, 10))
    for box in (Box(180, 0, -170, 10), Box(170, 0, -180, 10), Box(180, 0, -180, 10)):
        assert EARTH.covers(box, Point(180, 5))
        assert EARTH.covers(box, Point(-180, 5))
        assert not EARTH.covers(box, Point(0, 5))
    assert not EARTH.covers(Box(180, 0, -180, 10), Point(179.9, 5))


def edges(shape: Box | Polygon) -> set[tuple[float, ...]]:
    """The boundary on the earth, each edge with its lesser end first."""
    rows = ((tuple(row[:2]), tuple(row[2:])) for row in shape.earth_edges.tolist())
    return {min(a, b) + max(a, b) for a, b in rows}


def test_the_cut_at_the_antimeridian_is_no_boundary() -> None:
    split = polygon([
        [[(170, 0), (180, 0), (180, 10), (170, 10), (170, 0)]],
        [[(-180, 0), (-170, 0), (-170, 10), (-180, 10), (-180, 0)]],
    ])  # fmt: skip
    expected = {
        (170, 0, 180, 0), (170, 10, 180, 10), (170, 0, 170, 10),
        (-180, 0, -170, 0), (-180, 10, -170, 10), (-170, 0, -170, 10),
    }  # fmt: skip
    assert edges(split) == expected
    assert edges(Box(170, 0, -170, 10)) == expected


def test_only_the_part_of_the_cut_that_both_sides_share_is_no_boundary() -> None:
    uneven = polygon([
        [[(170, 0), (180, 0), (180, 10), (170, 10), (170, 0)]],
        [[(-180, 5), (-170, 5), (-170, 20), (-180, 20), (-180, 5)]],
    ])  # fmt: skip
    assert {edge for edge in edges(uneven) if abs(edge[0]) == abs(edge[2]) == 180} == {
        (180, 0, 180, 5), (-180, 10, -180, 20),
    }  # fmt: skip


def test_a_side_that_ends_at_the_antimeridian_is_a_boundary() -> None:
    assert (180, 0, 180, 10) in edges(Box(170, 0, 180, 10))


def test_a_cap_around_a_pole_is_bounded_by_its_parallel_alone() -> None:
    assert edges(Box(-180, 80, 180, 90)) == {(-180, 80, 180, 80)}
    assert edges(Box(-180, -90, 180, -60)) == {(-180, -60, 180, -60)}
    assert edges(Box(-180, -90, 180, 90)) == set()
    assert edges(Box(-180, -10, 180, 10)) == {(-180, -10, 180, -10), (-180, 10, 180, 10)}


def test_shapes_are_values() -> None:
    a, b = polygon([[SQUARE]]), polygon([[SQUARE]])
    assert a.planar.area == b.planar.area
    assert a == b
    assert hash(a) == hash(b)
    assert np.array_equal(a.edges, b.edges)
