"""ANY: whom it sees (decision 28), at what time (2), and what a missing value does (12)."""

from __future__ import annotations

import pytest

from nearcast.match.binding import Binding
from nearcast.model.constraint import Interval, Values, compare
from tests.match.harness import System, heard

LONELY = "SELECT FROM ad WHERE &kind = 'open' AND #location WITHIN 10 m OF ANY club"


@pytest.fixture
def town(s: System) -> System:
    s.define("SPACE club (name text)")
    s.define("SPACE ad (kind text)")
    s.publish("paper", "ad", "PUBLISH AS ad (kind = 'open')")
    s.move("ann", 0, 0, 1)
    return s


def test_decision_28_any_does_not_see_what_a_publisher_hides(town: System) -> None:
    town.publish("den", "door", "PUBLISH AT POINT(1 0) AS club (name = 'den') TO #member = TRUE", 1)
    assert town.subscribe("ann", "s", LONELY, 2) == []
    assert heard(town.client("ann", 3, member=True)) == [("enter", "paper/ad")]
    assert heard(town.client("ann", 4, member=None)) == [("leave", "paper/ad")]


def test_decision_28_nor_in_while_nor_in_the_past(town: System) -> None:
    town.publish("den", "door", "PUBLISH AT POINT(1 0) AS club (name = 'den') TO #member = TRUE", 1)
    alive = "SELECT FROM ad WHILE #location WITHIN 10 m OF ANY club"
    before = "SELECT FROM ad WHERE NOW - ENTERED(#location WITHIN 10 m OF ANY club) < 1 h"
    assert town.subscribe("ann", "alive", alive, 2) == []
    assert town.subscribe("ann", "before", before, 2) == []
    told = town.client("ann", 3, member=True)
    assert [(kind, s) for kind, s, *_ in told] == [("enter", "alive"), ("enter", "before")]


def test_decision_28_a_filter_that_asks_about_others_lets_nobody_see_it_through_any(town: System) -> None:
    town.publish("den", "door", "PUBLISH AT POINT(1 0) AS club (name = 'den') TO #location WITHIN 5 m OF ANY club", 1)
    assert town.subscribe("ann", "s", LONELY, 2) == []


def test_decision_28_any_in_a_filter_looks_with_the_publishers_eyes(town: System) -> None:
    """The paper shows an ad to those for whom the editor is near a club; ann may not see that club, the paper may."""
    town.client("paper", 1, member=True)
    town.move("paper", 100, 0, 1)
    town.publish("den", "door", "PUBLISH AT POINT(101 0) AS club (name = 'den') TO #member = TRUE", 1)
    town.publish("paper", "late", "PUBLISH AS ad (kind = 'late') TO &location WITHIN 10 m OF ANY club", 2)
    assert heard(town.subscribe("ann", "s", "SELECT FROM ad WHERE &kind = 'late'", 3)) == [("snapshot", "paper/late")]
    assert heard(town.client("paper", 4, member=False)) == [("leave", "paper/late")]


def test_decision_2_nothing_is_told_before_its_cause(town: System) -> None:
    town.subscribe("ann", "s", LONELY, 2)
    ((kind, _, _, _, time),) = town.publish("den", "door", "PUBLISH AT POINT(1 0) AS club (name = 'den')", 50)
    assert (kind, time) == ("enter", 50)


def test_decision_2_two_timers_at_one_instant_do_not_repeat_an_id(town: System) -> None:
    town.subscribe("ann", "s", LONELY, 2)
    for name in ("den", "bar"):
        town.publish(
            name, "door", f"PUBLISH AT POINT(1 0) AS club (name = '{name}') EXPIRES AT '1970-01-01T00:00:30Z'", 3
        )
    town.move("den", 0, 0, 40)
    town.move("bar", 0, 0, 40)
    town.tick(60)
    kinds = [n.kind.value for n in town.log]
    assert kinds == ["enter", "leave"]
    assert town.log[-1].time == 30_000_000
    assert len({n.id for n in town.log}) == len(town.log)


def test_decision_2_an_edit_that_stops_looking_at_everyone_does_not_turn_time_back(town: System) -> None:
    town.subscribe("ann", "s", LONELY, 2)
    town.publish("den", "door", "PUBLISH AT POINT(1 0) AS club (name = 'den')", 50)
    told = town.subscribe("ann", "s", "SELECT FROM ad WHERE &kind = 'closed'", 3)
    assert told == [("leave", "s", "paper/ad", "edited", 50.0)]


def test_decision_12_a_missing_floor_is_neither_inside_nor_outside(s: System) -> None:
    s.publish("van", "self")
    s.subscribe("desk", "in", "SELECT WHERE &location IN BOX(0 0, 9 9) FLOOR 2")
    s.subscribe("desk", "out", "SELECT WHERE NOT &location IN BOX(0 0, 9 9) FLOOR 2")
    assert s.move("van", 5, 5, 1) == []
    assert [(k, i) for k, i, *_ in s.move("van", 50, 5, 2)] == [("enter", "out")]
    assert [(k, i) for k, i, *_ in s.move("van", 5, 5, 3, floor=2)] == [("leave", "out"), ("enter", "in")]
    assert [(k, i) for k, i, *_ in s.move("van", 5, 5, 4, floor=3)] == [("leave", "in"), ("enter", "out")]


def test_decision_26_a_choice_ranks_by_the_regions_that_satisfy_the_conditions(s: System) -> None:
    """The chain's near shop is closed: its far one is what counts."""
    s.define("SPACE shop (open boolean, x real, y real)")
    s.publish("chain", "shops", "PUBLISH AS shop (open = FALSE, x = 1, y = 0), shop (open = TRUE, x = 50, y = 0)")
    s.publish("solo", "shop", "PUBLISH AS shop (open = TRUE, x = 20, y = 0)")
    s.move("ann", 0, 0, 1)
    assert heard(s.subscribe("ann", "s", "SELECT nearof() WHERE &open = TRUE", 2)) == [("snapshot", "solo/shop")]


def test_on_may_ask_for_the_past(s: System) -> None:
    s.publish("lamp", "light", "PUBLISH AT POINT(0 0)")
    s.subscribe("ann", "s", "SELECT ON @ > 1 AND NOW - ENTERED(#location WITHIN 10 m OF &location) > 5 s")
    s.move("ann", 1, 0, 1)
    assert s.emit("lamp", "light", 2, 3) == []
    assert heard(s.emit("lamp", "light", 2, 10)) == [("reading", "lamp/light")]
    assert s.reference.bindings("lamp", "light") == {("ann", "s"): Binding.ACTIVE}


def test_a_watcher_learns_how_two_stand_to_each_other_and_not_where(s: System) -> None:
    s.define("RELATION close AMONG (ann, bob) WHERE &location WITHIN 10 m OF #location")
    s.subscribe("officer", "s", "SELECT FROM RELATION close")
    s.move("ann", 0, 0, 1)
    assert heard(s.move("bob", 4, 0, 2)) == [("enter", "close:ann~bob")]
    assert s.last[0].why["where"] == [{"holds": True, "depth": 6.0}]
    assert "fixes" not in s.last[0].why


def test_every_part_of_the_filter_is_in_the_evidence(s: System) -> None:
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0) AS (price = 5)")
    s.move("ann", 3, 0, 1)
    s.subscribe("ann", "s", "SELECT WHERE &price < 9 AND &location WITHIN 10 m OF #location", 2)
    s.publish("shop", "ad", "PUBLISH AT POINT(0 0) AS (price = 10)", 3)
    assert s.last[0].why["where"] == [{"holds": True, "depth": 7.0}, {"holds": False, "depth": None}]


def test_equality_speaks_of_single_values() -> None:
    assert compare(Values((1,)), "=", Interval(1, 1))
    assert not compare(Interval(1, 5), "=", Interval(1, 5))
    assert not compare(Values((1, 2)), "=", Values((1, 2)))
