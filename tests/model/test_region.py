from __future__ import annotations

import itertools
import math
import time

import pytest

from nearcast.errors import ModelError, UnknownName
from nearcast.model.constraint import Interval, Values
from nearcast.model.region import (
    Region,
    check,
    contains,
    distance,
    enclosed,
    is_valid,
    nearest,
    overlaps,
    region,
    within,
)  # fmt: skip
from nearcast.model.shape import Box, Disc, Geometry, Point
from nearcast.model.space import (
    INTEGER,
    LOCATION,
    PERCENTAGE,
    REAL,
    TEXT,
    Dimension,
    Metric,
    SubjectSpace,
)  # fmt: skip

PLANE = SubjectSpace("plane", (Dimension("x", REAL), Dimension("y", REAL)), Metric.PLANAR)
GAS = SubjectSpace("gas", (Dimension("price", REAL), Dimension("brand", TEXT), Dimension("full", PERCENTAGE)))
CAR = SubjectSpace("car", (Dimension("price", REAL), Dimension("year", INTEGER)))


def test_a_region_is_valid_where_it_constrains_something_and_excludes_nothing() -> None:
    assert is_valid(region(None, {"price": 5}), GAS)
    assert is_valid(region(None, {"price": 5, "colour": "red"}), GAS)
    assert not is_valid(region(None, {"colour": "red"}), GAS)
    assert not is_valid(region(None), GAS)
    assert not is_valid(region(None, {"full": 101}), GAS)
    assert not is_valid(region(None, {"price": "cheap"}), GAS)


def test_a_dimension_without_a_constraint_is_its_whole_domain() -> None:
    any_brand, shell = region(None, {"price": 5}), region(None, {"price": 5, "brand": "shell"})
    assert contains(any_brand, shell, GAS)
    assert not contains(shell, any_brand, GAS)
    assert enclosed(shell, any_brand, GAS)
    assert overlaps(shell, any_brand, GAS)
    full = region(None, {"full": Interval(0, 100)})
    assert contains(full, any_brand, GAS)


def test_an_invalid_region_matches_nothing() -> None:
    stranger = region(None, {"colour": "red"})
    everything = region(None, {"price": Interval(None, None)})
    assert not contains(everything, stranger, GAS)
    assert not overlaps(everything, stranger, GAS)
    assert distance(everything, stranger, GAS) == math.inf


def test_the_same_region_in_two_spaces_is_two_things() -> None:
    cheap = region(None, {"price": Interval(0, 10)})
    mine = region(None, {"price": 5, "year": 2000})
    assert contains(cheap, mine, CAR)
    assert not is_valid(mine, SubjectSpace("year", (Dimension("year", TEXT),)))


def test_overlap_needs_every_dimension() -> None:
    a = region(None, {"price": Interval(0, 10), "year": Interval(1990, 2000)})
    assert overlaps(a, region(None, {"price": Interval(10, 20), "year": 2000}), CAR)
    assert not overlaps(a, region(None, {"price": Interval(10, 20), "year": 2001}), CAR)
    assert not overlaps(a, region(None, {"price": Interval(10, 20, low_closed=False), "year": 2000}), CAR)
    years = region(None, {"year": Interval(2000, 2001, low_closed=False, high_closed=False)})
    assert not is_valid(years, CAR)


def test_distance_is_euclidean_over_the_measured_dimensions() -> None:
    a, b = (
        region(None, {"price": 3, "year": 2000}),
        region(None, {"price": Interval(6, 9), "year": Interval(2004, 2010)}),
    )
    assert distance(a, b, CAR) == 5
    by_price = SubjectSpace("car", CAR.dimensions, measured=("price",))
    assert distance(a, b, by_price) == 3
    assert within(a, b, CAR, 5)
    assert not within(a, b, CAR, 4.999)


def test_decision_16_distance_is_symmetric_unlike_the_papers_mindist() -> None:
    """The paper's MINDIST looks at the ends of one region only, so what surrounds a region is far from it."""
    outer, inner = region(None, {"price": Interval(0, 100)}), region(None, {"price": Interval(40, 60)})

    def printed_mindist(r1: tuple[float, float], r2: tuple[float, float]) -> float:
        return min(0.0 if r2[0] <= end <= r2[1] else min(abs(end - e) for e in r2) for end in r1)

    assert (printed_mindist((0, 100), (40, 60)), printed_mindist((40, 60), (0, 100))) == (40, 0)
    assert distance(outer, inner, CAR) == distance(inner, outer, CAR) == 0
    spans = [Interval(low, high) for low, high in itertools.combinations((0, 2, 5, 9), 2)]
    for a, b in itertools.product(spans, spans):
        r1, r2 = region(None, {"price": a}), region(None, {"price": b})
        assert distance(r1, r2, CAR) == distance(r2, r1, CAR)
        assert (distance(r1, r2, CAR) == 0) == overlaps(r1, r2, CAR)


def test_decision_15_the_models_nearest_has_all_ties() -> None:
    here = region(None, {"price": 10})
    others = [region(None, {"price": p}) for p in (7, 13, 14)] + [region(None, {"colour": "red"})]
    assert nearest(here, others, CAR) == others[:2]
    assert nearest(here, [here], CAR) == []
    assert nearest(here, [others[3]], CAR) == []


def test_x_and_y_span_a_point_or_a_box() -> None:
    def shape(**values: float | Interval | Values) -> object:
        geometry = region(None, values).geometry
        return geometry and geometry.shape

    assert shape(x=1, y=2) == Point(1, 2)
    assert shape(x=Interval(1, 3), y=2) == Box(1, 2, 3, 2)
    assert shape(x=Interval(1, 3), y=Interval(2, 5)) == Box(1, 2, 3, 5)
    assert shape(x=1) is None
    assert shape(x=Interval(1, 3, high_closed=False), y=2) is None
    assert shape(x=Interval(1, None), y=2) is None
    assert shape(x=Values((1, 2)), y=2) is None


def test_z_is_an_altitude() -> None:
    assert region(None, {"x": 1, "y": 2, "z": Interval(5, 9)}).geometry == Geometry(Point(1, 2), Interval(5, 9))
    assert region(None, {"x": 1, "y": 2, "z": 5}).geometry == Geometry(Point(1, 2), Interval(5, 5))


def test_a_location_given_either_way_matches_the_other() -> None:
    box = region(None, {"x": Interval(0, 10), "y": Interval(0, 10)})
    disc = Region(None, location=Geometry(Disc(5, 5, 2)))
    far = Region(None, location=Geometry(Disc(50, 5, 2)))
    assert contains(box, disc, PLANE)
    assert not contains(disc, box, PLANE)
    assert not overlaps(box, far, PLANE)
    assert distance(box, far, PLANE) == 38
    assert distance(region(None, {"x": 0, "y": 0}), region(None, {"x": 3, "y": 4}), PLANE) == 5


def test_a_location_does_not_contain_what_has_none() -> None:
    disc = Region(None, location=Geometry(Disc(0, 0, 5)))
    half = region(None, {"x": 1})
    assert not contains(disc, half, PLANE)


def test_altitudes_and_floors_of_geometries_are_ranges() -> None:
    low = Region(None, location=Geometry(Box(0, 0, 1, 1), altitude=Interval(0, 10)))
    high = Region(None, location=Geometry(Box(0, 0, 1, 1), altitude=Interval(10, 20)))
    over = Region(None, location=Geometry(Box(0, 0, 1, 1), altitude=Interval(11, 20)))
    anywhere = Region(None, location=Geometry(Box(0, 0, 1, 1)))
    assert overlaps(low, high, LOCATION)
    assert not overlaps(low, over, LOCATION)
    assert contains(anywhere, low, LOCATION)
    assert not contains(low, anywhere, LOCATION)


def test_regions_that_a_space_refuses() -> None:
    with pytest.raises(UnknownName, match="did you mean 'price'"):
        check(region("gas", {"prce": 5}), GAS)
    with pytest.raises(ModelError, match="101"):
        check(region("gas", {"full": 101}), GAS)
    with pytest.raises(ModelError, match="interval"):
        check(region("gas", {"full": Interval(101, 102)}), GAS)
    with pytest.raises(ModelError, match="x and y"):
        check(Region("gas", location=Geometry(Point(0, 0))), GAS)
    with pytest.raises(ModelError, match="twice"):
        Region(None, (("a", Values((1,))), ("a", Values((2,)))))


def test_the_order_of_constraints_is_no_difference() -> None:
    assert region(None, {"a": 1, "b": 2}) == region(None, {"b": 2, "a": 1})


def test_a_region_takes_as_long_as_it_has_dimensions() -> None:
    """It compared each name with all others: 100,000 would have taken minutes."""
    began = time.perf_counter()
    assert len(region(None, {str(number): number for number in range(100_000)}).dimensions) == 100_000
    assert time.perf_counter() < began + 10
