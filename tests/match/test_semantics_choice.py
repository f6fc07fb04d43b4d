"""Decisions 25 and 26: life control with its schedules, and the choice of source."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from nearcast.errors import LanguageError, ModelError
from nearcast.model.statement import Choice, Nearest, Options, Pick, Subscription
from tests.match.harness import System, heard

IN_BOX = "SELECT WHERE #location IN BOX(0 0, 100 100)"


@pytest.fixture
def open_ad(s: System) -> System:
    """One publication that is open to all; subscriptions ask where the subscriber is."""
    s.publish("ads", "ad")
    return s


# ---- 25: WHILE ---------------------------------------------------------------------------------------


def test_decision_25_false_makes_matches_leave_and_none_enter(open_ad: System) -> None:
    open_ad.client("ann", 0, on=True)
    open_ad.move("ann", 50, 50, 0)
    open_ad.subscribe("ann", "s", f"{IN_BOX} WHILE #on = TRUE", 1)
    assert open_ad.client("ann", 2, on=False) == [("leave", "s", "ads/ad", "while", 2.0)]
    assert open_ad.publish("more", "ad", t=3) == []
    assert open_ad.move("ann", 500, 50, 4) == []
    assert open_ad.move("ann", 50, 50, 5) == []
    assert open_ad.client("ann", 6, on=True) == [
        ("enter", "s", "ads/ad", "while", 6.0),
        ("enter", "s", "more/ad", "while", 6.0),
    ]


def test_decision_25_unknown_is_not_true(open_ad: System) -> None:
    assert open_ad.subscribe("ann", "s", "SELECT WHILE #on = TRUE", 1) == []
    assert heard(open_ad.client("ann", 2, on=True)) == [("enter", "ads/ad")]


def test_decision_25_it_may_be_about_where_the_subscriber_is(open_ad: System) -> None:
    open_ad.define("PLACE hq/A LEVEL room AT BOX(0 0, 10 10)")
    open_ad.subscribe("ann", "s", "Select Life-control #location in room A", 0)
    assert heard(open_ad.move("ann", 5, 5, 1)) == [("enter", "ads/ad")]
    assert open_ad.move("ann", 50, 5, 2) == [("leave", "s", "ads/ad", "while", 2.0)]


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def test_decision_25_a_schedule_turns_at_its_exact_boundaries(open_ad: System) -> None:
    start = at("2026-01-05 00:00")
    assert open_ad.subscribe("ann", "s", "SELECT WHILE DURING mon-fri 08:00-17:00", start) == []
    assert open_ad.tick(at("2026-01-07 00:00")) == [
        ("enter", "s", "ads/ad", "while", at("2026-01-05 08:00")),
        ("leave", "s", "ads/ad", "while", at("2026-01-05 17:00")),
        ("enter", "s", "ads/ad", "while", at("2026-01-06 08:00")),
        ("leave", "s", "ads/ad", "while", at("2026-01-06 17:00")),
    ]


def test_decision_25_a_schedule_may_run_over_midnight(open_ad: System) -> None:
    open_ad.subscribe("ann", "s", "SELECT WHILE DURING fri 22:00-06:00", at("2026-01-08 00:00"))
    assert [(k, t) for k, _, _, _, t in open_ad.tick(at("2026-01-20 00:00"))] == [
        ("enter", at("2026-01-09 22:00")), ("leave", at("2026-01-10 06:00")),
        ("enter", at("2026-01-16 22:00")), ("leave", at("2026-01-17 06:00")),
    ]  # fmt: skip


def test_decision_25_a_schedule_follows_the_wall_clock_of_its_zone_over_a_dst_change(open_ad: System) -> None:
    """In Paris, 2026-03-29 02:00 becomes 03:00, and 2026-10-25 03:00 becomes 02:00."""
    zone = "Europe/Paris"
    open_ad.subscribe("ann", "s", f"SELECT WHILE DURING daily 08:00-17:00 ZONE '{zone}'", at("2026-03-28 00:00", zone))
    told = [t for *_, t in open_ad.tick(at("2026-03-30 00:00", zone))]
    assert told == [at(f"2026-03-{day} {hour}:00", zone) for day in (28, 29) for hour in ("08", "17")]
    assert told[2] - told[0] == 23 * 3600
    open_ad.tick(at("2026-10-25 00:00", zone))
    told = [t for *_, t in open_ad.tick(at("2026-10-26 00:00", zone))]
    assert told == [at("2026-10-25 08:00", zone), at("2026-10-25 17:00", zone)]


def test_decision_25_a_schedule_in_the_hour_that_is_skipped_and_the_one_that_comes_twice(open_ad: System) -> None:
    zone = "America/New_York"
    open_ad.subscribe("ann", "s", f"SELECT WHILE DURING sun 02:15-02:45 ZONE '{zone}'", at("2026-03-07 12:00", zone))
    assert open_ad.tick(at("2026-03-09 12:00", zone)) == []
    open_ad.tick(at("2026-10-31 12:00", zone))
    zone_sub = f"SELECT WHILE DURING sun 01:15-01:45 ZONE '{zone}'"
    open_ad.subscribe("ann", "twice", zone_sub, at("2026-10-31 12:00", zone))
    first = at("2026-11-01 01:15", zone)
    told = [(k, t - first) for k, id_, _, _, t in open_ad.tick(at("2026-11-01 01:59", zone) + 3600) if id_ == "twice"]
    assert told == [("enter", 0.0), ("leave", 1800.0), ("enter", 3600.0), ("leave", 5400.0)]


# ---- 26: choice of source ----------------------------------------------------------------------------


def sources(s: System, **at_x: float) -> None:
    for name, x in at_x.items():
        s.publish(name, "p")
        s.move(name, x, 0, 0)
    s.move("ann", 0, 0, 0)


RANGE = "WHERE &location IN rang:loc(100)"


def test_decision_26_anyof_keeps_its_source_while_valid_and_else_takes_the_least_id(s: System) -> None:
    sources(s, c=1, b=2)
    assert heard(s.subscribe("ann", "s", f"SELECT anyof() {RANGE}", 0)) == [("snapshot", "b/p")]
    s.publish("a", "p", t=1)
    assert s.move("a", 0, 0, 1) == []
    assert s.move("b", 200, 0, 2) == [("leave", "s", "b/p", "source", 2.0), ("enter", "s", "a/p", "source", 2.0)]
    assert s.move("b", 1, 0, 3) == []


def test_decision_26_nearof_switches_only_to_a_strictly_nearer_one(s: System) -> None:
    sources(s, b=10, a=20)
    s.subscribe("ann", "s", f"SELECT nearof() {RANGE}", 0)
    assert s.move("a", 10, 0, 1) == []
    assert s.move("a", -10, 0, 2) == []
    assert heard(s.move("a", 9.999, 0, 3)) == [("leave", "b/p"), ("enter", "a/p")]
    assert s.move("b", 9.999, 0, 4) == []


def test_decision_26_remoteof_switches_only_to_a_strictly_farther_one(s: System) -> None:
    sources(s, b=50, a=20)
    s.subscribe("ann", "s", f"SELECT remoteof() {RANGE}", 0)
    assert s.move("a", 50, 0, 1) == []
    assert heard(s.move("a", 50.001, 0, 2)) == [("leave", "b/p"), ("enter", "a/p")]
    assert heard(s.move("a", 101, 0, 3)) == [("leave", "a/p"), ("enter", "b/p")]


def test_decision_26_with_k_the_same_holds_for_the_set(s: System) -> None:
    sources(s, a=30, b=10, c=20, d=40)
    assert heard(s.subscribe("ann", "near", f"SELECT nearof(2) {RANGE}", 0)) == [
        ("snapshot", "b/p"),
        ("snapshot", "c/p"),
    ]
    assert s.move("a", 20, 0, 1) == []
    assert heard(s.move("a", 19, 0, 2)) == [("leave", "c/p"), ("enter", "a/p")]
    assert heard(s.move("b", 200, 0, 3)) == [("leave", "b/p"), ("enter", "c/p")]
    assert [about for _, about in heard(s.subscribe("ann", "any", f"SELECT anyof(2) {RANGE}", 4))] == ["a/p", "c/p"]
    assert heard(s.subscribe("ann", "far", f"SELECT remoteof(2) {RANGE}", 4)) == [
        ("snapshot", "c/p"),
        ("snapshot", "d/p"),
    ]


def test_decision_26_fewer_than_k_are_all_taken(s: System) -> None:
    sources(s, a=1)
    assert heard(s.subscribe("ann", "s", f"SELECT nearof(5) {RANGE}", 0)) == [("snapshot", "a/p")]
    s.publish("b", "p", t=1)
    assert s.move("b", 9, 0, 1) == [("enter", "s", "b/p", "moved", 1.0)]


def test_decision_26_a_lost_source_leaves_with_reason_source_unless_it_is_gone(s: System) -> None:
    sources(s, a=1, b=2)
    s.subscribe("ann", "s", f"SELECT nearof() {RANGE}", 0)
    assert s.retract("a", "p", 1)[0] == ("leave", "s", "a/p", "retracted", 1.0)
    assert s.move("b", 500, 0, 2) == [("leave", "s", "b/p", "source", 2.0)]


def test_decision_26_a_choice_has_one_time_the_latest_of_all(s: System) -> None:
    sources(s, a=10, b=20)
    s.subscribe("ann", "s", f"SELECT nearof() {RANGE}", 0)
    s.move("stranger", 0, 0, 77)
    assert s.move("b", 5, 0, 3) == [("leave", "s", "a/p", "source", 77.0), ("enter", "s", "b/p", "source", 77.0)]


def test_decision_26_it_applies_to_ranges_not_to_nearest(s: System) -> None:
    with pytest.raises(ModelError, match="NEAREST"):
        Subscription("s", "ann", choice=Choice(Pick.NEAR), nearest=Nearest(1), options=Options())
    with pytest.raises(LanguageError, match="NEAREST"):
        s.subscribe("ann", "s", "Select nearof() Where &location in nearest")
