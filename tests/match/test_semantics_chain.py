"""Decisions 20 to 24: the chain from a raw relation to a notification."""

from __future__ import annotations

from statistics import NormalDist

import pytest

from nearcast.errors import LanguageError
from tests.match.harness import System, heard, square

NEAR = "SELECT WHERE &location WITHIN 10 m OF #location"
IN_BOX = "SELECT WHERE #location IN BOX(0 0, 100 100)"
SHOP = "PUBLISH AT POINT(0 0)"


@pytest.fixture
def box(s: System) -> System:
    """One publication that is open to all; subscriptions ask where the subscriber is."""
    s.publish("ads", "ad")
    return s


def kinds(s: System) -> list[str]:
    return [n.kind.value for n in s.last]


# ---- 20: the order -----------------------------------------------------------------------------------


def test_decision_20_hysteresis_comes_before_filters(box: System) -> None:
    """What is inside only by its margin still loses its match when another condition fails, and gains it back."""
    box.client("ann", 0, on=True)
    box.subscribe("ann", "s", f"{IN_BOX} AND #on = TRUE HYSTERESIS 10 m", 0)
    box.move("ann", 50, 50, 1)
    box.move("ann", 105, 50, 2)
    assert heard(box.client("ann", 3, on=False)) == [("leave", "ads/ad")]
    assert heard(box.client("ann", 4, on=True)) == [("enter", "ads/ad")]


def test_decision_20_filters_come_before_the_choice_of_source(s: System) -> None:
    for name, x in (("a", 1), ("b", 2)):
        s.publish(name, "p", f"PUBLISH AT POINT({x} 0) AS (ok = TRUE)")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT nearof() WHERE &ok = TRUE", 0)
    assert heard(s.publish("a", "p", "PUBLISH AT POINT(1 0) AS (ok = FALSE)", 1)) == [
        ("leave", "a/p"),
        ("enter", "b/p"),
    ]


def test_decision_20_the_choice_comes_before_dwell(s: System) -> None:
    """A source dwells from when it was chosen, not from when it was in range."""
    s.publish("a", "p", "PUBLISH AT POINT(5 0)")
    s.publish("b", "p", "PUBLISH AT POINT(6 0)")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", f"{NEAR.replace('SELECT', 'SELECT nearof()')} DWELL 10 s", 0)
    assert s.retract("a", "p", 7) == []
    assert s.tick(16.999999) == []
    assert s.tick(60) == [("enter", "s", "b/p", "dwell", 17.0)]


def test_decision_20_dwell_comes_before_cooldown(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} DWELL 5 s COOLDOWN 20 s", 0)
    box.move("ann", 50, 50, 0)
    assert box.move("ann", 500, 50, 10) == [
        ("enter", "s", "ads/ad", "dwell", 5.0),
        ("leave", "s", "ads/ad", "moved", 10.0),
    ]
    box.move("ann", 50, 50, 11)
    assert box.tick(24) == []
    assert box.tick(60) == [("enter", "s", "ads/ad", "cooldown", 25.0)]
    box.move("ann", 500, 50, 61)
    box.move("ann", 50, 50, 62)
    assert box.tick(90) == [("enter", "s", "ads/ad", "dwell", 67.0)]


# ---- 21: confidence ----------------------------------------------------------------------------------

Z90 = NormalDist().inv_cdf(0.9)


def test_decision_21_inside_needs_the_depth_and_outside_the_distance(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} CONFIDENCE 90 %", 0)
    margin = Z90 * 10
    assert box.move("ann", margin - 0.01, 50, 1, accuracy=10) == []
    assert heard(box.move("ann", margin + 0.01, 50, 2, accuracy=10)) == [("enter", "ads/ad")]
    assert box.move("ann", 0, 50, 3, accuracy=10) == []
    assert box.move("ann", -margin + 0.01, 50, 4, accuracy=10) == []
    assert heard(box.move("ann", -margin - 0.01, 50, 5, accuracy=10)) == [("leave", "ads/ad")]
    assert box.move("ann", margin - 0.01, 50, 6, accuracy=10) == []


def test_decision_21_a_missing_accuracy_is_exact(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} CONFIDENCE 99 %", 0)
    assert heard(box.move("ann", 0, 0, 1)) == [("enter", "ads/ad")]
    assert heard(box.move("ann", -0.001, 0, 2)) == [("leave", "ads/ad")]


def test_decision_21_it_is_initially_outside(box: System) -> None:
    box.move("ann", 1, 50, 0, accuracy=10)
    assert box.subscribe("ann", "s", f"{IN_BOX} CONFIDENCE 90 %", 1) == []


def test_decision_21_the_accuracies_of_a_pair_add_in_squares(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 0, 0, 0, accuracy=3)
    s.subscribe("ann", "s", "SELECT WHERE &location WITHIN 100 m OF #location CONFIDENCE 90 %", 0)
    edge = 100 - Z90 * 5
    assert s.move("ann", edge + 0.01, 0, 1, accuracy=4) == []
    assert heard(s.move("ann", edge - 0.01, 0, 2, accuracy=4)) == [("enter", "bus/p")]


def test_decision_21_half_a_chance_is_no_margin_at_all(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} CONFIDENCE 50 %", 0)
    assert heard(box.move("ann", 0, 0, 1, accuracy=500)) == [("enter", "ads/ad")]
    assert heard(box.move("ann", -0.001, 0, 2, accuracy=500)) == [("leave", "ads/ad")]


@pytest.mark.parametrize("percent", ["0", "30", "49.9", "100", "250"])
def test_decision_21_certainty_is_refused(percent: str) -> None:
    with pytest.raises(LanguageError, match="at least 50 % and less than 100 %"):
        System().subscribe("ann", "s", f"SELECT CONFIDENCE {percent} %")


# ---- 22: hysteresis ----------------------------------------------------------------------------------


def test_decision_22_leaving_needs_more_than_the_margin(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} HYSTERESIS 10 m", 0)
    assert box.move("ann", 105, 50, 1) == []
    assert heard(box.move("ann", 100, 50, 2)) == [("enter", "ads/ad")]
    assert box.move("ann", 110, 50, 3) == []
    assert heard(box.move("ann", 110.001, 50, 4)) == [("leave", "ads/ad")]
    assert box.move("ann", 105, 50, 5) == []


def test_decision_22_it_works_for_pairs(s: System) -> None:
    s.publish("bus", "p")
    s.move("bus", 0, 0, 0)
    s.move("ann", 10, 0, 0)
    s.subscribe("ann", "s", f"{NEAR} HYSTERESIS 5 m", 0)
    assert s.move("bus", -5, 0, 1) == []
    assert heard(s.move("ann", 10.001, 0, 2)) == [("leave", "bus/p")]


def test_decision_22_each_region_has_a_state_of_its_own(s: System) -> None:
    s.layer("zones", a=(0, 0, 10, 10), b=(10, 0, 20, 10))
    s.subscribe("ann", "s", "SELECT WHERE #location IN LAYER zones HYSTERESIS 3 m", 0)
    assert heard(s.move("ann", 9, 5, 1)) == [("enter", "zones@a")]
    assert heard(s.move("ann", 11, 5, 2)) == [("enter", "zones@b")]
    assert heard(s.move("ann", 14, 5, 3)) == [("leave", "zones@a")]
    assert heard(s.move("ann", 9, 5, 4)) == [("enter", "zones@a")]
    assert heard(s.move("ann", 6, 5, 5)) == [("leave", "zones@b")]


def test_decision_22_the_state_and_the_margin_hold_across_edits(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} HYSTERESIS 10 m", 0)
    box.move("ann", 50, 50, 1)
    box.move("ann", 105, 50, 2)
    assert box.subscribe("ann", "s", "SELECT WHERE #location IN BOX(0 0, 99 100) HYSTERESIS 10 m", 3) == []
    assert kinds(box) == []
    assert heard(box.subscribe("ann", "s", "SELECT WHERE #location IN BOX(0 0, 94 100) HYSTERESIS 10 m", 4)) == [
        ("leave", "ads/ad")
    ]
    assert box.subscribe("ann", "s", f"{IN_BOX} HYSTERESIS 10 m", 5) == []


def test_decision_22_the_margin_holds_when_the_region_is_edited(s: System) -> None:
    s.layer("zones", a=(0, 0, 10, 10))
    s.subscribe("ann", "s", "SELECT WHERE #location IN LAYER zones HYSTERESIS 3 m", 0)
    s.move("ann", 10, 5, 1)
    assert s.layer("zones", 2, a=(0, 0, 7, 10)) == []
    assert heard(s.layer("zones", 3, a=(0, 0, 6.9, 10))) == [("leave", "zones@a")]


def test_decision_22_it_does_not_apply_to_nearest(s: System) -> None:
    s.publish("a", "p", "PUBLISH AT POINT(10 0)")
    s.publish("b", "p", "PUBLISH AT POINT(-10 0)")
    s.move("ann", 1, 0, 0)
    s.subscribe("ann", "s", "SELECT NEAREST 1 HYSTERESIS 50 m", 0)
    assert heard(s.move("ann", -1, 0, 1)) == [("leave", "a/p"), ("enter", "b/p")]


def test_decision_22_confidence_and_hysteresis_together_need_both(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} CONFIDENCE 90 % HYSTERESIS 20 m", 0)
    box.move("ann", 50, 50, 1, accuracy=10)
    assert box.move("ann", 119, 50, 2, accuracy=10) == []
    assert box.move("ann", 125, 50, 3, accuracy=20) == []
    assert heard(box.move("ann", 125, 50, 4, accuracy=10)) == [("leave", "ads/ad")]


# ---- 23: dwell ---------------------------------------------------------------------------------------


def test_decision_23_the_match_must_hold_without_a_break(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} DWELL 10 s", 0)
    box.move("ann", 50, 50, 1)
    assert box.move("ann", 500, 50, 6) == []
    box.move("ann", 50, 50, 7)
    assert box.tick(60) == [("enter", "s", "ads/ad", "dwell", 17.0)]


def test_decision_23_it_starts_no_earlier_than_the_subscription(box: System) -> None:
    box.move("ann", 50, 50, 0)
    assert box.subscribe("ann", "s", f"{IN_BOX} DWELL 10 s", 100) == []
    assert box.tick(200) == [("enter", "s", "ads/ad", "dwell", 110.0)]


def test_decision_23_no_leave_is_sent_for_an_enter_that_was_never_sent(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} DWELL 10 s", 0)
    box.move("ann", 50, 50, 1)
    assert box.move("ann", 500, 50, 10.999999) == []
    assert box.tick(60) == []


def test_decision_23_a_break_of_no_length_is_a_break(box: System) -> None:
    box.client("ann", 0, on=True)
    box.subscribe("ann", "s", f"{IN_BOX} AND #on = TRUE DWELL 10 s", 0)
    box.move("ann", 50, 50, 1)
    box.client("ann", 8, on=False)
    box.client("ann", 8, on=True)
    assert box.tick(60) == [("enter", "s", "ads/ad", "dwell", 18.0)]


def test_decision_23_life_control_and_freshness_break_it_too(box: System) -> None:
    box.client("ann", 0, on=True)
    box.subscribe("ann", "life", f"{IN_BOX} WHILE #on = TRUE DWELL 10 s", 0)
    box.subscribe("ann", "fresh", f"{IN_BOX} FRESH 5 s DWELL 10 s", 0)
    box.move("ann", 50, 50, 1)
    box.client("ann", 4, on=False)
    box.client("ann", 5, on=True)
    box.move("ann", 50, 50, 7)
    box.move("ann", 50, 50, 12)
    assert box.move("ann", 50, 50, 17) == [
        ("enter", "life", "ads/ad", "dwell", 15.0),
        ("enter", "fresh", "ads/ad", "dwell", 17.0),
    ]


def test_decision_23_moving_within_the_zone_does_not_break_it(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} DWELL 10 s", 0)
    for t in range(1, 11):
        assert box.move("ann", t, 50, t) == []
    assert box.move("ann", 50, 50, 11) == [("enter", "s", "ads/ad", "dwell", 11.0)]


def test_decision_23_editing_the_dwell_keeps_the_time_that_has_passed(box: System) -> None:
    box.move("ann", 50, 50, 0)
    box.subscribe("ann", "s", f"{IN_BOX} DWELL 100 s", 0)
    assert box.subscribe("ann", "s", f"{IN_BOX} DWELL 10 s", 30) == [("enter", "s", "ads/ad", "dwell", 30.0)]


# ---- 24: cooldown ------------------------------------------------------------------------------------


def test_decision_24_further_enters_and_their_leaves_are_withheld(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} COOLDOWN 60 s", 0)
    assert heard(box.move("ann", 50, 50, 1)) == [("enter", "ads/ad")]
    assert heard(box.move("ann", 500, 50, 2)) == [("leave", "ads/ad")]
    for t in range(3, 60, 2):
        assert box.move("ann", 50, 50, t) == []
        assert box.move("ann", 500, 50, t + 1) == []
    assert box.tick(99) == []
    assert heard(box.move("ann", 50, 50, 100)) == [("enter", "ads/ad")]


def test_decision_24_if_the_match_holds_when_it_ends_the_enter_comes_then(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} COOLDOWN 60 s", 0)
    box.move("ann", 50, 50, 1)
    box.move("ann", 500, 50, 2)
    box.move("ann", 50, 50, 3)
    assert box.tick(99) == [("enter", "s", "ads/ad", "cooldown", 61.0)]


def test_decision_24_it_runs_from_the_enter_and_not_from_the_leave(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} COOLDOWN 60 s", 0)
    box.move("ann", 50, 50, 1)
    assert heard(box.move("ann", 500, 50, 60)) == [("leave", "ads/ad")]
    assert heard(box.move("ann", 50, 50, 61)) == [("enter", "ads/ad")]


def test_decision_24_an_edit_that_begins_one_starts_afresh(box: System) -> None:
    box.subscribe("ann", "s", IN_BOX, 0)
    box.move("ann", 50, 50, 1)
    assert box.subscribe("ann", "s", f"{IN_BOX} COOLDOWN 60 s", 2) == []
    assert heard(box.move("ann", 500, 50, 3)) == [("leave", "ads/ad")]
    assert heard(box.move("ann", 50, 50, 4)) == [("enter", "ads/ad")]
    assert heard(box.move("ann", 500, 50, 5)) == [("leave", "ads/ad")]
    assert box.move("ann", 50, 50, 6) == []


def test_decision_24_a_leave_of_a_sent_enter_is_never_withheld(box: System) -> None:
    box.subscribe("ann", "s", f"{IN_BOX} COOLDOWN 60 s", 0)
    box.move("ann", 50, 50, 1)
    assert heard(box.move("ann", 500, 50, 1.000001)) == [("leave", "ads/ad")]


def test_decision_24_each_pair_cools_alone(s: System) -> None:
    s.layer("zones", a=square(0, 0), b=square(100, 0))
    s.subscribe("ann", "s", "SELECT WHERE #location IN LAYER zones COOLDOWN 60 s", 0)
    s.move("ann", 0, 0, 1)
    assert heard(s.move("ann", 100, 0, 2)) == [("leave", "zones@a"), ("enter", "zones@b")]
    assert heard(s.move("ann", 0, 0, 3)) == [("leave", "zones@b")]


def test_decision_24_a_snapshot_counts_and_a_retraction_does_not_reset_it(box: System) -> None:
    box.move("ann", 50, 50, 0)
    box.subscribe("ann", "s", f"{IN_BOX} COOLDOWN 60 s", 1)
    assert heard(box.retract("ads", "ad", 2)) == [("leave", "ads/ad")]
    assert box.publish("ads", "ad", t=3) == []
    assert box.tick(99) == [("enter", "s", "ads/ad", "cooldown", 61.0)]
