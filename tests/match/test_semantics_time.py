"""Decisions 1 to 6: time and order."""

from __future__ import annotations

from itertools import pairwise

import pytest

from nearcast.errors import OpError
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.moment import NEVER
from nearcast.model.notification import Cause
from nearcast.model.shape import Point
from tests.match.harness import System, heard

NEAR = "SELECT WHERE &location WITHIN 10 m OF #location"


def test_decision_1_a_strict_time_condition_turns_at_the_first_microsecond_after(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.move("ann", 0, 0, 1)
    since = "ENTERED(#location WITHIN 10 m OF &location)"
    s.subscribe("ann", "after", f"SELECT WHERE NOW - {since} > 5 s", 2)
    s.subscribe("ann", "at", f"SELECT WHERE NOW - {since} >= 5 s", 2)
    assert s.tick(100) == [
        ("enter", "at", "shop/ad", "time", 7.0),
        ("enter", "after", "shop/ad", "time", 7.000001),
    ]


def test_decision_1_an_equality_of_times_holds_for_one_microsecond(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", "SELECT WHERE NOW = TIME '1970-01-01T00:00:05Z'", 1)
    assert s.tick(9) == [("enter", "s", "shop/ad", "time", 5.0), ("leave", "s", "shop/ad", "time", 5.000001)]


def test_decision_1_never_is_before_everything_even_the_distant_past(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(1000 0)", -1e8)
    s.move("ann", 0, 0, -1e8)
    visit = "LEFT(#location WITHIN 10 m OF &location)"
    assert heard(s.subscribe("ann", "long", f"SELECT WHERE NOW - {visit} > 1000000 h", -1e8)) == [
        ("snapshot", "shop/ad")
    ]
    assert s.subscribe("ann", "since", f"SELECT WHERE {visit} > TIME '1800-01-01'", -1e8) == []


def test_decision_1_never_is_not_after_never(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(1000 0)")
    s.move("ann", 0, 0, 0)
    near = "(#location WITHIN 10 m OF &location)"
    assert s.subscribe("ann", "in", f"SELECT WHERE ENTERED{near} > LEFT{near}", 1) == []
    assert heard(s.subscribe("ann", "out", f"SELECT WHERE NOT ENTERED{near} > LEFT{near}", 1)) == [
        ("snapshot", "shop/ad")
    ]


def test_decision_1_a_time_longer_than_any_never_comes(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.move("ann", 0, 0, 0)
    s.client("ann", 0, patience=1e300)
    wait = "NOW - ENTERED(#location WITHIN 10 m OF &location)"
    assert s.subscribe("ann", "s", f"SELECT WHERE {wait} > #patience", 1) == []
    assert s.tick(8e8) == []
    assert s.client("ann", 8e8, patience=9) == [("enter", "s", "shop/ad", "attributes", 8e8)]


def test_decision_2_a_move_advances_only_its_own_clock(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    for name in ("ann", "bob"):
        s.move(name, 0, 0, 1)
        s.subscribe(name, name, f"{NEAR} DWELL 5 s", 1)
    assert s.move("ann", 1, 0, 50) == [("enter", "ann", "shop/ad", "dwell", 6.0)]
    assert s.move("bob", 1, 0, 4) == []
    assert s.tick(10) == [("enter", "bob", "shop/ad", "dwell", 6.0)]


def test_decision_2_a_tick_advances_everyone_and_a_late_op_takes_effect_at_the_tick(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", NEAR, 1)
    s.tick(100)
    assert s.move("ann", 0, 0, 7) == [("enter", "s", "shop/ad", "moved", 100.0)]
    assert s.last[0].cause == Cause("fix", "ann", 7_000_000)
    assert s.last[0].why["fixes"]["#"]["time"] == 7_000_000


def test_decision_2_an_op_takes_effect_no_earlier_than_its_clients_clock(s: System) -> None:
    s.move("ann", 0, 0, 30)
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)", 1)
    assert s.subscribe("ann", "s", NEAR, 2) == [("snapshot", "s", "shop/ad", "subscribed", 30.0)]


def test_decision_2_the_time_of_a_pair_is_the_later_of_the_two_clocks(s: System) -> None:
    s.publish("bus", "p")
    s.move("ann", 0, 0, 20)
    s.subscribe("ann", "s", NEAR, 20)
    assert s.move("bus", 1, 0, 5) == [("enter", "s", "bus/p", "moved", 20.0)]
    assert s.move("bus", 99, 0, 25) == [("leave", "s", "bus/p", "moved", 25.0)]


def test_decision_2_one_pair_does_not_wait_for_another(s: System) -> None:
    s.publish("bus", "p")
    s.publish("van", "p")
    s.move("ann", 0, 0, 1)
    s.subscribe("ann", "s", f"{NEAR} DWELL 10 s", 1)
    s.move("bus", 0, 0, 2)
    s.move("van", 0, 0, 3)
    assert s.move("van", 0, 1, 60) == [("enter", "s", "van/p", "dwell", 13.0)]
    assert s.move("bus", 0, 1, 11) == []
    assert s.move("bus", 0, 2, 12) == [("enter", "s", "bus/p", "dwell", 12.0)]


def test_decision_2_an_op_of_nobodys_moves_all_clocks(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.move("ann", 0, 0, 1)
    s.subscribe("ann", "s", f"{NEAR} DWELL 5 s", 1)
    assert s.define("SPACE gas (price real)", 30) == [("enter", "s", "shop/ad", "dwell", 6.0)]
    assert s.move("ann", 99, 0, 9) == [("leave", "s", "shop/ad", "moved", 30.0)]


def test_decision_3_a_timer_fires_before_the_op_and_is_stamped_with_its_due_time(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", f"{NEAR} DWELL 5 s", 0)
    s.move("ann", 0, 0, 1)
    assert s.move("ann", 99, 0, 8) == [
        ("enter", "s", "shop/ad", "dwell", 6.0),
        ("leave", "s", "shop/ad", "moved", 8.0),
    ]
    assert [n.cause for n in s.last] == [Cause("timer", "", 6_000_000), Cause("fix", "ann", 8_000_000)]


def test_decision_3_a_timer_due_exactly_when_the_op_takes_effect_comes_first(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", f"{NEAR} DWELL 5 s", 0)
    s.move("ann", 0, 0, 1)
    assert s.move("ann", 99, 0, 6) == [
        ("enter", "s", "shop/ad", "dwell", 6.0),
        ("leave", "s", "shop/ad", "moved", 6.0),
    ]


def test_decision_3_timers_see_the_state_as_it_was_then(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0) AS (price = 5) CONTENT 'old'")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT WHERE &price < 9 AND NOW >= TIME '1970-01-01T00:00:05Z'", 1)
    assert s.publish("shop", "ad", "PUBLISH AT POINT(0 0) AS (price = 50) CONTENT 'new'", 7) == [
        ("enter", "s", "shop/ad", "time", 5.0),
        ("leave", "s", "shop/ad", "edited", 7.0),
    ]
    assert s.last[0].content == '"old"'


def test_decision_3_several_timers_fire_in_the_order_of_their_times(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0) EXPIRES 9 s")
    s.move("ann", 0, 0, 0)
    for id_, dwell in (("slow", 7), ("fast", 3), ("never", 9)):
        s.subscribe("ann", id_, f"{NEAR} DWELL {dwell} s", 0)
    assert s.tick(60) == [
        ("enter", "fast", "shop/ad", "dwell", 3.0),
        ("enter", "slow", "shop/ad", "dwell", 7.0),
        ("leave", "fast", "shop/ad", "expired", 9.0),
        ("leave", "slow", "shop/ad", "expired", 9.0),
    ]


def test_decision_3_nothing_fires_after_the_last_tick(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", f"{NEAR} DWELL 5 s", 0)
    assert s.tick(4.999999) == []
    assert s.tick(5) == [("enter", "s", "shop/ad", "dwell", 5.0)]


def test_decision_4_a_log_is_applied_in_its_order_not_by_time(s: System) -> None:
    s.publish("bus", "p")
    s.publish("van", "p")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", NEAR, 0)
    assert heard(s.move("van", 1, 0, 9)) == [("enter", "van/p")]
    assert heard(s.move("bus", 1, 0, 3)) == [("enter", "bus/p")]
    assert [n.time for n in s.log] == [9_000_000, 3_000_000]


def test_decision_4_of_several_fixes_at_one_time_the_least_is_kept() -> None:
    there = Point(2, 0)
    expected = [
        Position(Point(1, 2)), Position(Point(1, 3)), Position(there, altitude=1), Position(there, altitude=2),
        Position(there, floor=1), Position(there, accuracy=1), Position(there), Position(there, "hq"),
        Position(place="hq"),
    ]  # fmt: skip
    assert all(a.order < b.order for a, b in pairwise(expected))


def test_decision_4_with_a_window_duplicates_resolve_to_the_least_whatever_their_order() -> None:
    for fixes in ([(5, 0), (2, 9), (2, 1)], [(2, 1), (5, 0), (2, 9)], [(2, 9), (2, 1), (5, 0)]):
        s = System(lateness=10)
        for x, y in fixes:
            s.move("ann", x, y, 1)
        s.tick(11)
        fix = s.reference.world.clients["ann"].fix
        assert fix is not None
        assert fix.position.point == Point(2, 1)
        assert s.stale == 2


def test_decision_5_a_stale_fix_is_dropped_and_counted(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", NEAR, 0)
    s.move("ann", 99, 0, 5)
    assert s.move("ann", 0, 0, 5) == []
    assert s.move("ann", 0, 0, 4.999999) == []
    assert s.stale == 2
    assert s.move("ann", 0, 0, 5.000001) == [("enter", "s", "shop/ad", "moved", 5.000001)]


def test_decision_5_a_stale_fix_changes_nothing_at_all(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.move("ann", 0, 0, 5)
    s.client("ann", 5, lease=10)
    s.subscribe("bob", "s", "SELECT", 5)
    s.publish("ann", "p", t=5)
    s.move("ann", 9, 9, 4)
    assert s.tick(20) == [("leave", "s", "ann/p", "gone", 15.0)]


def test_decision_5_stale_is_by_the_fixes_own_time_not_by_the_clock(s: System) -> None:
    s.tick(100)
    s.move("ann", 0, 0, 3)
    s.move("ann", 1, 0, 4)
    assert s.stale == 0


def test_decision_5_one_clients_fixes_are_not_stale_for_another(s: System) -> None:
    s.move("ann", 0, 0, 50)
    s.move("bob", 0, 0, 5)
    assert s.stale == 0


def test_decision_5_a_forgotten_client_remembers_its_last_fix_time(s: System) -> None:
    s.move("ann", 0, 0, 5)
    s.forget("ann", 6)
    s.move("ann", 0, 0, 5)
    assert s.stale == 1


def test_decision_5_a_window_holds_fixes_and_releases_them_in_order() -> None:
    s = System(lateness=10)
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", NEAR, 0)
    assert s.move("ann", 99, 0, 7) == []
    assert s.move("ann", 0, 0, 3) == []
    assert s.move("ann", 0, 0, 12) == []
    assert s.move("ann", 99, 0, 13) == [("enter", "s", "shop/ad", "moved", 3.0)]
    assert s.move("ann", 99, 0, 17) == [("leave", "s", "shop/ad", "moved", 7.0)]
    assert s.tick(22) == [("enter", "s", "shop/ad", "moved", 12.0)]
    assert s.tick(23) == [("leave", "s", "shop/ad", "moved", 22.0)]
    assert s.last[0].cause.number == 13_000_000


def test_decision_5_a_fix_later_than_the_window_is_stale() -> None:
    s = System(lateness=10)
    s.move("ann", 0, 0, 5)
    s.move("ann", 0, 0, 15)
    assert s.stale == 0
    s.move("ann", 1, 1, 5)
    s.move("ann", 1, 1, 4)
    assert s.stale == 2


def test_decision_5_a_client_may_have_its_own_window() -> None:
    s = System(lateness=10)
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", NEAR, 0)
    s.client("ann", 0, lateness=0)
    assert s.move("ann", 0, 0, 1) == [("enter", "s", "shop/ad", "moved", 1.0)]


def test_decision_5_a_tick_releases_the_fixes_of_all_clients_by_time_and_then_id() -> None:
    s = System(lateness=10)
    for name in ("bus", "car", "van"):
        s.publish(name, "p")
    s.move("ann", 0, 0, -50)
    s.move("ann", 0, 0, -40)
    s.subscribe("ann", "s", NEAR, 0)
    s.move("van", 0, 0, 1)
    s.move("car", 0, 0, 2)
    s.move("bus", 0, 0, 2)
    assert s.tick(12) == [
        ("enter", "s", "van/p", "moved", 1.0),
        ("enter", "s", "bus/p", "moved", 2.0),
        ("enter", "s", "car/p", "moved", 2.0),
    ]


def test_decision_6_leaves_come_first_then_by_subscription_publication_and_region(s: System) -> None:
    s.layer("new", old=(0, 0, 1, 1))
    for owner, id_ in (("van", "p"), ("bus", "q"), ("bus", "p")):
        s.publish(owner, id_)
    for name in ("bus", "van"):
        s.move(name, 0, 0, 0)
    for id_ in ("s2", "s1", "s10"):
        s.subscribe("ann", id_, "SELECT WHERE &location IN LAYER new", 0)
    s.layer("new", 1, b=(0, 0, 2, 2), a=(0, 0, 3, 3))
    rows = [(n.kind.value, n.subscription, n.publication, n.publisher, n.region) for n in s.last]
    assert rows == sorted(rows, key=lambda row: (row[0] != "leave", *(str(part) for part in row[1:])))
    assert len(rows) == 3 * 3 * 3
    assert rows[0] == ("leave", "s1", "p", "bus", "old")
    assert rows[-1] == ("enter", "s2", "q", "bus", "b")


def test_decision_6_order_is_by_bytes_of_utf_8(s: System) -> None:
    ids = ["Z", "a", "é", "\uffff", "\U00010000", "10", "9"]
    for id_ in ids:
        s.publish("shop", id_)
    s.subscribe("ann", "s", "SELECT", 1)
    assert [n.publication for n in s.last] == sorted(ids, key=lambda id_: id_.encode())


def test_refused_ops_change_nothing_and_raise_our_errors(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", "SELECT", 1)
    for op in (
        ops.Retract(5_000_000, "shop", "other"),
        ops.Unsubscribe(5_000_000, "shop", "s"),
        ops.Emit(5_000_000, "ann", "ad", {"value": 1}),
        ops.Emit(5_000_000, "shop", "ad", {"value": float("nan")}),
        ops.SetClient(5_000_000, "ann", {"age": 10**400}),
        ops.Forget(5_000_000, "nobody"),
    ):
        with pytest.raises(OpError):
            s.apply(op)
    assert s.retract("shop", "ad", 2) == [("leave", "s", "shop/ad", "retracted", 2.0)]


def test_an_empty_system_is_before_all_time() -> None:
    assert Reference()._latest == NEVER
