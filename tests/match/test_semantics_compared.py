"""Decisions 12 to 16: what is compared: distances, boundaries, pairs, the nearest."""

from __future__ import annotations

import pytest

from nearcast.errors import GeometryWarning
from tests.match.harness import System, heard

NEAR = "SELECT WHERE &location WITHIN 10 m OF #location"
SHOP = "PUBLISH AT POINT(0 0)"


# ---- 12: distance, altitude, floor -------------------------------------------------------------------


def test_decision_12_distance_on_the_earth_is_geodesic() -> None:
    s = System(planar=False)
    s.publish("pole", "north", "PUBLISH AT POINT(0 90)")
    s.publish("date", "line", "PUBLISH AT POINT(180 0)")
    s.subscribe("ann", "pole", "SELECT WHERE &id = north AND &location WITHIN 111.7 km OF #location", 0)
    s.subscribe("ann", "line", "SELECT WHERE &id = line AND &location WITHIN 111.4 km OF #location", 0)
    assert heard(s.move("ann", 137, 89, 1)) == [("enter", "pole/north")]
    assert heard(s.move("ann", -179, 0, 2)) == [("leave", "pole/north"), ("enter", "date/line")]
    assert heard(s.move("ann", 179, 0, 3)) == []


def test_decision_12_distance_is_horizontal_whatever_the_altitude(s: System) -> None:
    s.publish("kite", "k")
    s.move("kite", 0, 0, 0, alt=5000)
    s.move("ann", 6, 8, 0, alt=0)
    assert heard(s.subscribe("ann", "s", NEAR, 1)) == [("snapshot", "kite/k")]


def test_decision_12_altitude_and_floor_are_ranges_of_their_own(s: System) -> None:
    s.publish("bus", "p")
    s.subscribe("ann", "alt", "SELECT WHERE &location IN BOX(0 0, 9 9) ALTITUDE [100, 200)", 0)
    s.subscribe("ann", "floor", "SELECT WHERE &location IN BOX(0 0, 9 9) FLOOR 2", 0)
    assert s.move("bus", 5, 5, 1, alt=99.9, floor=1) == []
    assert s.move("bus", 5, 5, 2, alt=100, floor=2) == [
        ("enter", "alt", "bus/p", "moved", 2.0),
        ("enter", "floor", "bus/p", "moved", 2.0),
    ]
    assert s.move("bus", 5, 5, 3, alt=200, floor=2) == [("leave", "alt", "bus/p", "moved", 3.0)]
    assert s.move("bus", 50, 5, 4, alt=150, floor=2) == [("leave", "floor", "bus/p", "moved", 4.0)]


def test_decision_12_a_missing_altitude_or_floor_fails_a_range(s: System) -> None:
    s.publish("bus", "p")
    s.subscribe("ann", "alt", "SELECT WHERE &location IN BOX(0 0, 9 9) ALTITUDE [, 200]", 0)
    s.subscribe("ann", "floor", "SELECT WHERE &location IN BOX(0 0, 9 9) FLOOR [0, ]", 0)
    s.subscribe("ann", "value", "SELECT WHERE &floor >= 0", 0)
    assert s.move("bus", 5, 5, 1) == []
    assert heard(s.move("bus", 5, 5, 2, alt=3)) == [("enter", "bus/p")]
    assert [n.subscription for n in s.last] == ["alt"]
    s.move("bus", 5, 5, 3, floor=0)
    assert [(n.kind.value, n.subscription) for n in s.last] == [
        ("leave", "alt"),
        ("enter", "floor"),
        ("enter", "value"),
    ]


def test_decision_12_a_missing_value_is_neither_true_nor_false(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AS (kind = 'gas')")
    assert s.subscribe("ann", "yes", "SELECT WHERE &price < 2", 1) == []
    assert s.subscribe("ann", "no", "SELECT WHERE NOT &price < 2", 1) == []
    assert heard(s.subscribe("ann", "or", "SELECT WHERE &price < 2 OR &kind = gas", 1)) == [("snapshot", "shop/ad")]
    assert s.subscribe("ann", "in", "SELECT WHERE #location IN BOX(0 0, 1 1)", 1) == []
    assert s.subscribe("ann", "out", "SELECT WHERE NOT #location IN BOX(0 0, 1 1)", 1) == []
    assert heard(s.move("ann", 5, 5, 2)) == [("enter", "shop/ad")]


def test_decision_12_distance_to_a_polygon_goes_to_its_nearest_boundary_point(s: System) -> None:
    s.publish("lake", "l", "PUBLISH AT POLYGON((0 0, 100 0, 100 100, 0 100, 0 0), (40 40, 60 40, 60 60, 40 60, 40 40))")
    s.subscribe("ann", "s", NEAR, 0)
    assert heard(s.move("ann", 50, -10, 1)) == [("enter", "lake/l")]
    assert heard(s.move("ann", 50, -10.001, 2)) == [("leave", "lake/l")]
    assert heard(s.move("ann", 20, 20, 3)) == [("enter", "lake/l")]
    assert heard(s.move("ann", 50, 50, 4)) == []
    s.subscribe("ann", "close", NEAR.replace("10 m", "9.999 m"), 4)
    assert s.last == []


# ---- 13: boundaries ----------------------------------------------------------------------------------


def test_decision_13_boundaries_are_closed(s: System) -> None:
    s.layer("zones", left=(0, 0, 10, 10), right=(10, 0, 20, 10))
    s.subscribe("ann", "s", "SELECT WHERE #location IN LAYER zones", 0)
    assert heard(s.move("ann", 10, 10, 1)) == [("enter", "zones@left"), ("enter", "zones@right")]
    assert heard(s.move("ann", 10.000001, 10, 2)) == [("leave", "zones@left")]


def test_decision_13_a_disc_and_a_reach_include_their_rim(s: System) -> None:
    s.publish("shop", "ad", SHOP)
    s.subscribe("ann", "disc", "SELECT WHERE #location IN DISC(0 0, 5 m)", 0)
    s.subscribe("ann", "reach", "SELECT WHERE &location WITHIN 5 m OF #location", 0)
    assert len(s.move("ann", 3, 4, 1)) == 2
    assert len(s.move("ann", 3, 4.0001, 2)) == 2


def test_decision_13_an_invalid_polygon_is_repaired_with_a_warning(s: System) -> None:
    s.publish("shop", "ad", SHOP)
    with pytest.warns(GeometryWarning, match=r"[Ss]elf-intersection"):
        s.subscribe("ann", "s", "SELECT WHERE #location IN POLYGON((0 0, 10 10, 10 0, 0 10, 0 0))", 0)
    assert heard(s.move("ann", 1, 5, 1)) == [("enter", "shop/ad")]
    assert heard(s.move("ann", 5, 1, 2)) == [("leave", "shop/ad")]
    assert heard(s.move("ann", 9, 5, 3)) == [("enter", "shop/ad")]


# ---- 14: pairs and freshness -------------------------------------------------------------------------


def test_decision_14_a_pair_exists_once_both_have_a_fix(s: System) -> None:
    s.publish("bus", "p")
    s.subscribe("ann", "s", NEAR, 0)
    assert s.move("bus", 0, 0, 1) == []
    assert heard(s.move("ann", 0, 0, 2)) == [("enter", "bus/p")]


def test_decision_14_the_last_fix_persists_unless_freshness_is_asked_for(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 0, 0, 0)
    s.move("ann", 0, 0, 5)
    s.subscribe("ann", "any", NEAR, 5)
    s.subscribe("ann", "fresh", f"{NEAR} FRESH 10 s", 5)
    assert s.tick(10) == []
    assert s.tick(1e6) == [("leave", "fresh", "bus/p", "time", 10.000001)]
    assert s.move("bus", 0, 1, 1e6) == []
    assert s.move("ann", 0, 1, 1e6) == [("enter", "fresh", "bus/p", "moved", 1e6)]


def test_decision_14_a_fixed_location_is_always_fresh(s: System) -> None:
    s.publish("shop", "ad", SHOP)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", f"{NEAR} FRESH 10 s", 0)
    assert s.tick(60) == [("leave", "s", "shop/ad", "time", 10.000001)]
    assert heard(s.move("ann", 0, 0, 61)) == [("enter", "shop/ad")]


def test_decision_14_freshness_counts_where_a_source_is_chosen_by_distance(s: System) -> None:
    s.publish("bus", "p")
    s.publish("van", "p")
    s.move("bus", 1, 0, 0)
    s.move("van", 5, 0, 8)
    s.move("ann", 0, 0, 8)
    s.subscribe("ann", "near", "SELECT nearof() FRESH 10 s", 8)
    s.subscribe("ann", "nearest", "SELECT NEAREST 1 FRESH 10 s", 8)
    assert [(n.subscription, n.publisher) for n in s.last] == [("nearest", "bus")]
    s.tick(12)
    assert [(n.kind.value, n.publisher, n.time) for n in s.last] == [
        ("leave", "bus", 10_000_001), ("leave", "bus", 10_000_001),
        ("enter", "van", 10_000_001), ("enter", "van", 10_000_001),
    ]  # fmt: skip


def test_decision_14_two_fixes_at_one_time_give_an_enter_and_a_leave_at_that_time(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 0, 0, 1)
    s.move("ann", 50, 0, 1)
    s.subscribe("ann", "s", NEAR, 1)
    assert s.move("bus", 50, 0, 9) == [("enter", "s", "bus/p", "moved", 9.0)]
    assert s.move("ann", 0, 0, 9) == [("leave", "s", "bus/p", "moved", 9.0)]


# ---- 15: nearest -------------------------------------------------------------------------------------


def fleet(s: System, **at: float) -> None:
    for name, x in at.items():
        s.publish(name, "p")
        s.move(name, x, 0, 0)


def test_decision_15_nearest_takes_exactly_k_and_ties_go_to_the_lesser_id(s: System) -> None:
    fleet(s, d=5, c=-5, b=5, a=70)
    s.move("ann", 0, 0, 0)
    assert heard(s.subscribe("ann", "s", "SELECT NEAREST 2", 1)) == [("snapshot", "b/p"), ("snapshot", "c/p")]


def test_decision_15_both_filters_come_before_the_rank(s: System) -> None:
    fleet(s, near=1, mid=2, far=3)
    s.client("near", 0, free=False)
    s.client("mid", 0, free=True)
    s.client("far", 0, free=True)
    s.publish("mid", "p", "PUBLISH TO #member = TRUE")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT WHERE &free = TRUE NEAREST 1", 1)
    assert [n.publisher for n in s.last] == ["far"]
    assert s.client("ann", 2, member=True) == [
        ("leave", "s", "far/p", "source", 2.0),
        ("enter", "s", "mid/p", "attributes", 2.0),
    ]


def test_decision_15_changes_of_rank_within_the_set_are_silent(s: System) -> None:
    fleet(s, a=1, b=2, c=9)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT NEAREST 2", 1)
    assert s.move("a", 3, 0, 2) == []
    assert s.move("a", 9, 0, 3) == []
    assert s.move("a", 9.5, 0, 4) == [("leave", "s", "a/p", "source", 4.0), ("enter", "s", "c/p", "source", 4.0)]


def test_decision_15_without_a_fix_the_set_is_empty(s: System) -> None:
    fleet(s, a=1)
    s.publish("lost", "p")
    assert s.subscribe("ann", "s", "SELECT NEAREST 5", 1) == []
    assert heard(s.move("ann", 0, 0, 2)) == [("enter", "a/p")]


def test_decision_15_a_tie_has_no_memory(s: System) -> None:
    """Unlike nearof, NEAREST does not prefer what it has."""
    fleet(s, a=9, b=5)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT NEAREST 1", 1)
    assert heard(s.move("a", 5, 0, 2)) == [("leave", "b/p"), ("enter", "a/p")]


def test_decision_15_nearest_works_over_any_numeric_dimensions(s: System) -> None:
    s.define("SPACE car (price real, year integer, colour text) METRIC (price)")
    s.publish("lot", "cheap", "PUBLISH AS car(price = 1000, year = 1990)")
    s.publish("lot", "dear", "PUBLISH AS car(price = 8000, year = 2020)")
    s.publish("lot", "bike", "PUBLISH AT POINT(0 0)")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT AS car(price = [4000, 6000], year = 2020) NEAREST 1 BY car", 1)
    assert [n.publication for n in s.last] == ["dear"]
    assert heard(s.publish("lot", "cheap", "PUBLISH AS car(price = 3999)", 2)) == [
        ("leave", "lot/dear"),
        ("enter", "lot/cheap"),
    ]


def test_decision_15_lacls_nearest_is_the_same(s: System) -> None:
    fleet(s, a=9, b=5)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "Select Where &location in nearest", 1)
    assert [n.publisher for n in s.last] == ["b"]


# ---- 16: regions -------------------------------------------------------------------------------------


def test_decision_16_the_distance_of_areas_is_between_their_closest_points(s: System) -> None:
    s.publish("park", "p", "PUBLISH AT BOX(0 0, 100 100)")
    s.subscribe("ann", "s", "SELECT AT BOX(110 50, 120 60) WHERE &location WITHIN 10 m OF #location", 0)
    assert [n.kind.value for n in s.last] == ["snapshot"]
    assert heard(s.subscribe("ann", "s", "SELECT AT BOX(110.1 50, 120 60) WHERE &location WITHIN 10 m OF #location", 1))
    assert heard(s.subscribe("ann", "s", "SELECT AT BOX(40 40, 60 60) WHERE &location WITHIN 0 m OF #location", 2)) == [
        ("enter", "park/p")
    ]
