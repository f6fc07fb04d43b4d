"""Decisions 17 and 18: places, and steps that cross something."""

from __future__ import annotations

import pytest

from tests.match.harness import System, heard

SHOP = "PUBLISH AT POINT(0 0)"


# ---- 17: places --------------------------------------------------------------------------------------


@pytest.fixture
def building(s: System) -> System:
    s.define("PLACE hq LEVEL building AT BOX(0 0, 100 100)")
    s.define("PLACE hq/1 LEVEL floor AT BOX(0 0, 100 100) FLOOR 1")
    s.define("PLACE hq/1/A LEVEL room AT BOX(0 0, 10 10) FLOOR 1")
    s.define("PLACE hq/1/B LEVEL room AT BOX(10 0, 20 10) FLOOR 1")
    s.define("PLACE annex/A LEVEL room AT BOX(200 0, 210 10)")
    s.publish("shop", "ad", SHOP)
    return s


def place_of(s: System, client: str) -> str | None:
    world = s.reference.world
    side = world.sides(client, "", ())[0]
    return world.place_of(side.located) if side.located else None


def test_decision_17_a_coordinate_resolves_to_the_smallest_place_then_by_id(building: System) -> None:
    for t, (x, y, floor, path) in enumerate([
        (5.0, 5.0, 1, "hq/1/A"), (10.0, 5.0, 1, "hq/1/A"), (10.001, 5.0, 1, "hq/1/B"), (50.0, 50.0, 1, "hq"),
        (5.0, 5.0, 2, "hq"), (5.0, 5.0, None, "hq"), (205.0, 5.0, None, "annex/A"), (500.0, 5.0, 1, None),
    ]):  # fmt: skip
        building.move("ann", x, y, t, floor=floor)
        assert place_of(building, "ann") == path


def test_decision_17_room_a_is_the_place_of_level_room_named_a(building: System) -> None:
    building.subscribe("ann", "s", "SELECT WHERE #location IN room A", 0)
    assert heard(building.move("ann", 5, 5, 1, floor=1)) == [("enter", "shop/ad")]
    assert heard(building.move("ann", 15, 5, 2, floor=1)) == [("leave", "shop/ad")]
    assert heard(building.move("ann", 205, 5, 3)) == [("enter", "shop/ad")]
    assert heard(building.move_to("ann", "hq/1/B", 4)) == [("leave", "shop/ad")]
    assert heard(building.move_to("ann", "hq/1/A", 5)) == [("enter", "shop/ad")]


def test_decision_17_in_a_place_is_also_in_what_it_lies_in(building: System) -> None:
    building.subscribe("ann", "s", "SELECT WHERE #location IN PLACE hq", 0)
    assert heard(building.move_to("ann", "hq/1/A", 1)) == [("enter", "shop/ad")]
    assert heard(building.move_to("ann", "hq2", 2)) == [("leave", "shop/ad")]
    assert heard(building.move_to("ann", "hq", 3)) == [("enter", "shop/ad")]
    assert heard(building.move_to("ann", "annex/A", 4)) == [("leave", "shop/ad")]
    assert heard(building.move("ann", 99, 99, 5)) == [("enter", "shop/ad")]


def test_decision_17_an_explicit_path_wins_over_a_coordinate(building: System) -> None:
    building.subscribe("ann", "a", "SELECT WHERE #location IN PLACE hq/1/A", 0)
    building.subscribe("ann", "b", "SELECT WHERE #place = 'hq/1/B'", 0)
    assert building.move("ann", 15, 5, 1, floor=1, place="hq/1/A") == [("enter", "a", "shop/ad", "moved", 1.0)]
    assert building.move("ann", 5, 5, 2, floor=1, place="hq/1/B") == [
        ("leave", "a", "shop/ad", "moved", 2.0),
        ("enter", "b", "shop/ad", "moved", 2.0),
    ]


def test_decision_17_a_place_only_position_fails_distance_conditions(building: System) -> None:
    building.subscribe("ann", "in", "SELECT WHERE &location WITHIN 1000 km OF #location", 0)
    building.subscribe("ann", "out", "SELECT WHERE NOT &location WITHIN 1 m OF #location", 0)
    building.subscribe("ann", "box", "SELECT WHERE #location IN BOX(0 0, 100 100)", 0)
    building.subscribe("ann", "nearest", "SELECT NEAREST 1", 0)
    assert building.move_to("ann", "hq/1/A", 1) == []


def test_decision_17_a_publication_may_be_at_a_place(building: System) -> None:
    building.publish("lamp", "light", "PUBLISH AT room B", 0)
    building.subscribe("ann", "in", "SELECT WHERE &location IN PLACE hq/1", 0)
    assert [n.publication for n in building.last] == ["light"]
    building.move("ann", 9, 5, 1)
    assert heard(building.subscribe("ann", "near", "SELECT WHERE &id = light AND &location WITHIN 1 m OF #location", 2))
    assert building.define("DROP PLACE hq/1/B", 3) == [
        ("leave", "in", "lamp/light", "defined", 3.0),
        ("leave", "near", "lamp/light", "defined", 3.0),
    ]


def test_decision_17_moving_a_place_moves_what_it_contains(building: System) -> None:
    building.move("ann", 300, 0, 0)
    building.subscribe("ann", "s", "SELECT WHERE #location IN PLACE annex/A", 0)
    assert building.define("PLACE annex/A LEVEL room AT BOX(290 0, 310 10)", 1) == [
        ("enter", "s", "shop/ad", "defined", 1.0)
    ]


# ---- 18: crosses -------------------------------------------------------------------------------------


def test_decision_18_a_thin_zone_driven_through_gives_an_enter_and_a_leave(s: System) -> None:
    s.layer("gates", gate=(50, -10, 51, 10))
    s.subscribe("ann", "in", "SELECT WHERE #location IN LAYER gates", 0)
    s.subscribe("ann", "through", "SELECT WHERE #location CROSSES LAYER gates", 0)
    s.move("ann", 0, 0, 1)
    assert s.move("ann", 100, 0, 2) == [
        ("enter", "through", "gates@gate", "moved", 2.0),
        ("leave", "through", "gates@gate", "moved", 2.0),
    ]
    assert {n.cause.number for n in s.last} == {2_000_000}


def test_decision_18_the_segment_is_straight(s: System) -> None:
    s.layer("gates", gate=(50, -10, 51, 10))
    s.subscribe("ann", "s", "SELECT WHERE #location CROSSES LAYER gates", 0)
    s.move("ann", 0, 30, 1)
    assert s.move("ann", 100, 0, 2) == []
    assert len(s.move("ann", 1, 10, 3)) == 2
    assert len(s.move("ann", 100, 10, 4)) == 2


def test_decision_18_stopping_inside_is_an_enter_and_driving_on_is_one_leave(s: System) -> None:
    s.layer("gates", gate=(50, -10, 51, 10))
    s.subscribe("ann", "s", "SELECT WHERE #location CROSSES LAYER gates", 0)
    assert heard(s.move("ann", 50.5, 0, 1)) == [("enter", "gates@gate")]
    assert s.move("ann", 50.6, 0, 2) == []
    assert heard(s.move("ann", 100, 0, 3)) == [("leave", "gates@gate")]
    assert s.move("ann", 100, 50, 4) == []


def test_decision_18_a_first_fix_and_a_forgotten_one_cross_nothing(s: System) -> None:
    s.layer("gates", gate=(50, -10, 51, 10))
    s.publish("bus", "p")
    s.subscribe("ann", "s", "SELECT WHERE &location CROSSES LAYER gates", 0)
    s.move("bus", 0, 0, 1)
    s.forget("bus", 2)
    s.publish("bus", "p", t=3)
    assert s.move("bus", 100, 0, 4) == []
    assert len(s.move("bus", 0, 0, 5)) == 2


def test_decision_18_it_never_counts_for_dwell(s: System) -> None:
    s.layer("gates", gate=(50, -10, 51, 10))
    s.subscribe("ann", "s", "SELECT WHERE #location CROSSES LAYER gates DWELL 1 us", 0)
    s.move("ann", 0, 0, 1)
    assert s.move("ann", 100, 0, 2) == []
    s.move("ann", 50, 0, 3)
    assert s.tick(4) == [("enter", "s", "gates@gate", "dwell", 3.000001)]


def test_decision_18_another_clients_fix_is_no_step(s: System) -> None:
    s.layer("gates", gate=(50, -10, 51, 10))
    s.publish("bus", "p")
    s.subscribe("ann", "s", "SELECT WHERE &location CROSSES LAYER gates", 0)
    s.move("bus", 0, 0, 1)
    s.move("bus", 100, 0, 2)
    assert s.move("ann", 3, 3, 3) == []
    assert s.tick(9) == []


def test_decision_18_the_step_goes_the_shorter_way_round() -> None:
    s = System(planar=False)
    s.layer("zones", date=(179.5, -5, 180, 5), zero=(-1, -5, 1, 5), west=(-180, -5, -179.5, 5))
    s.subscribe("ann", "s", "SELECT WHERE #location CROSSES LAYER zones", 0)
    s.move("ann", 179, 0, 1)
    assert heard(s.move("ann", -179, 0, 2)) == [
        ("enter", "zones@date"), ("enter", "zones@west"), ("leave", "zones@date"), ("leave", "zones@west"),
    ]  # fmt: skip


def test_decision_18_a_step_along_the_antimeridian_crosses_what_lies_on_either_side() -> None:
    s = System(planar=False)
    s.layer("zones", east=(170, 4, 180, 6), west=(-180, 4, -170, 6))
    s.subscribe("ann", "s", "SELECT WHERE #location CROSSES LAYER zones", 0)
    for t, x in enumerate((180, -180)):
        s.move("ann", x, 0, 10 * t + 1)
        assert len(s.move("ann", x, 10, 10 * t + 2)) == 4


def test_decision_18_a_disc_is_crossed_within_its_radius(s: System) -> None:
    s.publish("shop", "ad", SHOP)
    s.subscribe("ann", "s", "SELECT WHERE #location CROSSES DISC(0 0, 5 m)", 0)
    s.move("ann", -50, 5, 1)
    assert len(s.move("ann", 50, 5, 2)) == 2
    s.move("ann", 50, 5.01, 3)
    assert s.move("ann", -50, 5.01, 4) == []
