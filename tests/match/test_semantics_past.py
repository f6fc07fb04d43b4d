"""Decision 19: what happened before, by ENTERED and LEFT."""

from __future__ import annotations

import pytest

from nearcast.errors import LanguageError, OpError
from tests.match.harness import Row, System, heard, square


@pytest.fixture
def town(s: System) -> System:
    """Two coffee shops, a bakery, and an advertisement that is open to all."""
    s.define("SPACE shop (kind text)")
    for name, kind, x in (("java", "coffee", 0), ("mocha", "coffee", 1000), ("bread", "bakery", 2000)):
        s.publish(name, "here", f"PUBLISH AT POINT({x} 0) AS shop(kind = '{kind}')")
    s.publish("ads", "ad")
    return s


COFFEE = "(#location WITHIN 50 m OF ANY shop[kind = 'coffee'])"


def ad(rows: list[Row]) -> list[tuple[str, str, float]]:
    return [(kind, reason, t) for kind, _, about, reason, t in rows if about == "ads/ad"]


def test_decision_19_the_five_hour_rule_is_about_any_coffee_shop(town: System) -> None:
    h = 3600
    town.move("ann", 500, 0, 0)
    assert ad(town.subscribe("ann", "s", f"SELECT WHERE NOW - ENTERED{COFFEE} > 5 h", 0)) == [
        ("snapshot", "subscribed", 0.0)
    ]
    assert ad(town.move("ann", 0, 0, 1 * h)) == [("leave", "moved", 1 * h)]
    assert ad(town.move("ann", 500, 0, 2 * h)) == []
    assert ad(town.move("ann", 1000, 0, 4 * h)) == []
    assert ad(town.move("ann", 2000, 0, 4.5 * h)) == []
    assert ad(town.tick(20 * h)) == [("enter", "time", 9 * h + 1e-6)]


def test_decision_19_left_over_any_is_the_most_recent_leaving(town: System) -> None:
    town.move("ann", 0, 0, 0)
    assert town.subscribe("ann", "s", f"SELECT WHERE &id = ad AND NOW - LEFT{COFFEE} <= 5 s", 1) == []
    assert ad(town.move("ann", 500, 0, 10)) == [("enter", "moved", 10.0)]
    assert ad(town.move("ann", 1000, 0, 12)) == []
    assert ad(town.move("ann", 500, 0, 14)) == []
    assert ad(town.tick(60)) == [("leave", "time", 19.000001)]


def test_decision_19_brackets_decide_which_ones_count(town: System) -> None:
    town.move("ann", 2000, 0, 0)
    town.subscribe("ann", "s", f"SELECT WHERE &id = ad AND ENTERED{COFFEE} > TIME '1970-01-01'", 1)
    town.tick(5)
    assert ad(town.publish("bread", "here", "PUBLISH AT POINT(2000 0) AS shop(kind = 'coffee')", 5)) == [
        ("enter", "edited", 5.0)
    ]


def test_decision_19_they_go_on_while_life_control_is_false(town: System) -> None:
    town.client("ann", 0, on=False)
    town.move("ann", 500, 0, 0)
    town.subscribe("ann", "s", f"SELECT WHERE &id = ad AND NOW - ENTERED{COFFEE} < 10 s WHILE #on = TRUE", 0)
    town.move("ann", 0, 0, 5)
    assert ad(town.client("ann", 8, on=True)) == [("enter", "while", 8.0)]
    assert ad(town.tick(60)) == [("leave", "time", 15.0)]


def test_decision_19_of_one_relation_it_is_about_that_pair(town: System) -> None:
    town.move("ann", 0, 0, 1)
    since = "ENTERED(#location WITHIN 50 m OF &location)"
    town.subscribe("ann", "s", f"SELECT FROM shop WHERE NOW - {since} >= 5 s AND NOW - {since} < 1 h", 2)
    assert town.move("ann", 1000, 0, 4) == []
    assert heard(town.tick(8)) == [("enter", "java/here")]
    assert [(n.publisher, n.time) for n in town.last] == [("java", 7_000_000)]
    assert heard(town.tick(10)) == [("enter", "mocha/here")]


def test_decision_19_the_raw_relation_has_no_hysteresis_or_confidence(town: System) -> None:
    town.move("ann", 0, 0, 0)
    left = "LEFT(#location WITHIN 50 m OF &location)"
    town.subscribe("ann", "s", f"SELECT WHERE &owner = java AND NOW - {left} < 1 h HYSTERESIS 100 m", 1)
    assert heard(town.move("ann", 60, 0, 5)) == [("enter", "java/here")]


def test_decision_19_it_does_not_depend_on_the_match(town: System) -> None:
    """A filter may use the time functions without circularity: the visit counts though nothing was told."""
    town.move("ann", 0, 0, 1)
    entered = "ENTERED(#location WITHIN 50 m OF &location)"
    town.subscribe("ann", "s", f"SELECT WHERE &open = TRUE AND NOW - {entered} > 5 s", 2)
    town.tick(60)
    assert town.client("java", 61, open=True) == [("enter", "s", "java/here", "attributes", 61.0)]


def test_decision_19_a_publisher_may_ask_for_the_past_too(town: System) -> None:
    town.publish("java", "back", "PUBLISH AT POINT(0 0) TO NOW - LEFT(#location WITHIN 50 m OF &location) < 1 h", 0)
    town.move("ann", 500, 0, 0)
    town.subscribe("ann", "s", "SELECT WHERE &id = back", 0)
    town.move("ann", 0, 0, 10)
    assert town.move("ann", 500, 0, 20) == [("enter", "s", "java/back", "moved", 20.0)]
    assert town.tick(9999) == [("leave", "s", "java/back", "unmatched", 3620.0)]


def test_decision_19_a_shop_that_goes_away_is_left(town: System) -> None:
    town.move("ann", 0, 0, 0)
    town.subscribe("ann", "s", f"SELECT WHERE &id = ad AND NOW - LEFT{COFFEE} < 5 s", 1)
    town.tick(7)
    assert ad(town.retract("java", "here", 7)) == [("enter", "retracted", 7.0)]
    assert ad(town.tick(60)) == [("leave", "time", 12.0)]


def test_decision_19_nobody_is_near_to_themselves(town: System) -> None:
    town.publish("ann", "stall", "PUBLISH AS shop(kind = 'coffee')")
    town.subscribe("ann", "s", f"SELECT WHERE &id = ad AND NOW - ENTERED{COFFEE} < 5 s", 0)
    assert town.move("ann", 500, 0, 1) == []
    assert ad(town.move("ann", 0, 0, 2)) == [("enter", "moved", 2.0)]


def test_decision_19_a_relation_between_clients_cannot_ask_for_the_past(s: System) -> None:
    with pytest.raises(OpError, match="past"):
        s.define("RELATION r WHERE NOW - ENTERED(&location WITHIN 5 m OF #location) > 1 h")
    with pytest.raises(LanguageError, match="history"):
        s.subscribe("ann", "s", "SELECT WHERE NOW - ENTERED(&location IN NEAREST) > 1 h")


def test_layer_regions_as_any_have_a_past_each(s: System) -> None:
    s.layer("zones", a=square(0, 0), b=square(100, 0))
    s.publish("ads", "ad")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT WHERE NOW - ENTERED(#location IN ANY LAYER zones) < 5 s", 1)
    assert ad(s.tick(20)) == [("leave", "time", 6.0)]
    assert ad(s.move("ann", 100, 0, 20)) == [("enter", "moved", 20.0)]
    assert ad(s.tick(60)) == [("leave", "time", 25.0)]
