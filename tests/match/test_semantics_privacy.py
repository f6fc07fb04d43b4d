"""Decisions 27, 28 and 30: bindings and readings, who learns what, and statements cut short."""

from __future__ import annotations

import pytest

from nearcast.errors import LanguageError
from nearcast.language.parse import parse
from nearcast.match.binding import Binding
from nearcast.model.shape import Point
from tests.match.harness import System, heard, square

LIGHT = "Select anyof() Where &context=light and &location in rang:loc(30) On @>50 Life-control #location in room A"
NEAR = "SELECT WHERE &location WITHIN 10 m OF #location"


@pytest.fixture
def room(s: System) -> System:
    """Two lamps near room A, and ann, who has the subscription of the LACL paper."""
    s.define("PLACE hq/A LEVEL room AT BOX(0 0, 10 10)")
    for name, x in (("lamp1", 5), ("lamp2", 6)):
        s.publish(name, "light", f"PUBLISH AT POINT({x} 20) AS (context = 'light')")
    s.subscribe("ann", "s", LIGHT, 0)
    return s


def binding(s: System, publisher: str) -> Binding | None:
    pairs = s.reference.subscriptions["ann", "s"].pairs
    found = [pair.binding for key, pair in pairs.items() if key[1] == publisher]
    return found[0] if found else None


# ---- 27: readings ------------------------------------------------------------------------------------


def test_decision_27_the_binding_follows_the_conditions(room: System) -> None:
    room.move("ann", 5, 50, 1)
    assert binding(room, "lamp1") is Binding.STOP
    room.move("ann", 5, 5, 2)
    assert (binding(room, "lamp1"), binding(room, "lamp2")) == (Binding.ACTIVE, Binding.START)
    room.publish("lamp1", "light", "PUBLISH AT POINT(5 200) AS (context = 'light')", 3)
    assert (binding(room, "lamp1"), binding(room, "lamp2")) == (Binding.INACTIVE, Binding.ACTIVE)
    room.move("ann", 5, 50, 4)
    assert (binding(room, "lamp1"), binding(room, "lamp2")) == (Binding.STOP, Binding.STOP)


def test_decision_27_with_on_readings_are_sent_and_no_enter_or_leave(room: System) -> None:
    assert room.move("ann", 5, 5, 1) == []
    assert room.emit("lamp1", "light", 60, 2) == [("reading", "s", "lamp1/light", "emitted", 2.0)]
    assert room.last[0].values == {"value": 60}
    assert room.retract("lamp1", "light", 3) == []
    assert heard(room.emit("lamp2", "light", 51, 4)) == [("reading", "lamp2/light")]


def test_decision_27_only_qualifying_readings_of_the_chosen_source(room: System) -> None:
    room.move("ann", 5, 5, 1)
    assert room.emit("lamp1", "light", 50, 2) == []
    assert room.emit("lamp1", "light", "bright", 2) == []
    assert room.emit("lamp2", "light", 99, 2) == []
    assert heard(room.emit("lamp1", "light", 50.5, 2)) == [("reading", "lamp1/light")]


def test_decision_27_readings_of_inactive_sources_are_dropped_and_never_replayed(room: System) -> None:
    assert room.emit("lamp1", "light", 99, 0) == []
    room.move("ann", 5, 50, 1)
    assert room.emit("lamp1", "light", 99, 2) == []
    assert room.move("ann", 5, 5, 3) == []
    assert heard(room.emit("lamp1", "light", 98, 4)) == [("reading", "lamp1/light")]
    assert room.last[0].values == {"value": 98}


def test_decision_27_life_control_false_stops_readings_and_true_starts_them_again(room: System) -> None:
    room.move("ann", 5, 5, 1)
    room.move("ann", 5, 15, 2)
    assert room.emit("lamp1", "light", 99, 3) == []
    room.move("ann", 5, 5, 4)
    assert heard(room.emit("lamp1", "light", 99, 5)) == [("reading", "lamp1/light")]


def test_decision_27_each_reading_is_sent_even_if_equal_and_at_one_time(s: System) -> None:
    s.publish("lamp", "light")
    s.subscribe("ann", "s", "SELECT ON READING", 0)
    for _ in range(3):
        assert heard(s.emit("lamp", "light", 7, 1)) == [("reading", "lamp/light")]
    assert len({n.id for n in s.log}) == 3


def test_decision_27_a_reading_has_named_values_and_may_be_compared_with_both_sides(s: System) -> None:
    s.publish("van", "cold", "PUBLISH AS (limit = 8)")
    s.client("ann", 0, patience=2)
    s.subscribe("ann", "s", "SELECT ON @temperature > &limit AND @minutes >= #patience", 0)
    assert s.emit("van", "cold", 0, 1, temperature=9, minutes=1) == []
    assert s.emit("van", "cold", 0, 1, temperature=8, minutes=5) == []
    assert heard(s.emit("van", "cold", 0, 1, temperature=8.1, minutes=2)) == [("reading", "van/cold")]


def test_decision_27_dwell_holds_for_the_binding(s: System) -> None:
    s.publish("lamp", "light", "PUBLISH AT POINT(0 0)")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", f"{NEAR} ON READING DWELL 10 s", 0)
    assert s.emit("lamp", "light", 1, 9) == []
    assert heard(s.emit("lamp", "light", 1, 10)) == [("reading", "lamp/light")]


def test_decision_27_a_reading_goes_to_every_subscription_bound_to_its_source(s: System) -> None:
    s.publish("lamp", "light")
    for client, id_ in (("bob", "s"), ("ann", "t"), ("ann", "s")):
        s.subscribe(client, id_, "SELECT ON READING", 0)
    s.subscribe("ann", "enters", "SELECT", 0)
    s.emit("lamp", "light", 1, 1)
    assert [(n.subscription, n.subscriber) for n in s.last] == [("s", "ann"), ("s", "bob"), ("t", "ann")]


def test_decision_27_a_reading_of_an_expired_source_is_dropped(s: System) -> None:
    s.publish("lamp", "light", "PUBLISH EXPIRES 5 s", 0)
    s.subscribe("ann", "s", "SELECT ON READING", 0)
    assert heard(s.emit("lamp", "light", 1, 4)) == [("reading", "lamp/light")]
    assert s.emit("lamp", "light", 1, 5) == []


# ---- 28: privacy -------------------------------------------------------------------------------------

CLUB = "PUBLISH AT POINT(0 0) TO #member = TRUE CONTENT 'party'"


def test_decision_28_who_does_not_satisfy_the_publishers_filter_learns_nothing_of_it() -> None:
    """Two systems, one with a hidden club and one without, must tell the stranger exactly the same."""

    def story(hidden: bool) -> list[object]:
        s = System()
        s.layer("zones", yard=square(0, 0, 50))
        s.publish("shop", "ad", "PUBLISH AT POINT(3 0)")
        s.move("ann", 1, 1, 0)
        if hidden:
            s.publish("club", "c", CLUB)
        for id_, text in (
            ("all", "SELECT WITH UPDATES"), ("near", NEAR), ("nearest", "SELECT NEAREST 1"), ("any", "SELECT anyof()"),
            ("nearof", "SELECT nearof() WHERE &location IN rang:loc(50)"), ("far", "SELECT remoteof(2)"),
            ("zone", "SELECT WHERE &location IN LAYER zones"), ("on", "SELECT ON READING"),
            ("since", "SELECT WHERE NOW - ENTERED(#location WITHIN 10 m OF &location) < 5 s"),
        ):  # fmt: skip
            s.subscribe("ann", id_, text, 1)
        s.move("ann", 0, 0, 2)
        if hidden:
            s.emit("club", "c", 5, 3)
            s.publish("club", "c", CLUB.replace("party", "dance"), 4)
            s.move("club", 9, 9, 5)
            s.client("club", 5, loud=True, lease=10)
        s.client("ann", 6, member=False)
        s.move("ann", 100, 0, 7)
        s.tick(60)
        return [n for n in s.log if n.subscriber == "ann"]

    assert story(hidden=True) == story(hidden=False)


def test_decision_28_satisfying_the_filter_is_an_enter(s: System) -> None:
    s.publish("club", "c", CLUB)
    assert s.subscribe("ann", "s", "SELECT", 1) == []
    assert s.client("ann", 2, member=True) == [("enter", "s", "club/c", "attributes", 2.0)]
    assert s.last[0].content == '"party"'


def test_decision_28_a_leave_on_the_publishers_side_shows_the_last_visible_state(s: System) -> None:
    s.client("ann", 0, member=True)
    s.publish("club", "c", CLUB)
    s.subscribe("ann", "s", "SELECT", 1)
    assert s.publish("club", "c", "PUBLISH AT POINT(5 5) TO #member = 'gold' CONTENT 'secret party'", 2) == [
        ("leave", "s", "club/c", "unmatched", 2.0)
    ]
    assert s.last[0].content == '"party"'
    assert set(s.last[0].why) == {"was", "is", "versions"}
    assert set(s.last[0].why["versions"]) == {"subscription"}


def test_decision_28_a_publisher_that_moves_away_does_not_say_so(s: System) -> None:
    s.publish("club", "c", "PUBLISH TO #location WITHIN 10 m OF &location CONTENT 'party'")
    s.move("club", 0, 0, 0)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", "SELECT", 1)
    assert s.move("club", 500, 0, 2) == [("leave", "s", "club/c", "unmatched", 2.0)]
    assert "fixes" not in s.last[0].why


def test_decision_28_a_leave_does_not_say_whether_the_subscribers_own_filter_fails_too(s: System) -> None:
    s.client("ann", 0, member=True)
    s.publish("club", "c", CLUB)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", NEAR, 1)
    s.subscribe("ann", "wide", "SELECT WHERE &location WITHIN 1 km OF #location", 1)
    s.publish("club", "c", "PUBLISH AT POINT(500 0) TO #member = 'gold' CONTENT 'secret party'", 2)
    assert [(n.reason.value, n.content, set(n.why)) for n in s.last] == 2 * [
        ("unmatched", '"party"', {"was", "is", "versions"})
    ]


def test_decision_28_of_what_the_subscriber_itself_did_the_reason_says_what_that_was(s: System) -> None:
    s.client("ann", 0, tank=10)
    s.publish("shell", "fuel", "PUBLISH AT POINT(500 0) TO #tank < 70 AND #location WITHIN 2 km OF &location")
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "near", "SELECT WHERE &location WITHIN 1 km OF #location AND #tank < 20", 1)
    s.subscribe("ann", "any", "SELECT WHERE #tank < 99", 1)
    assert [row[1::2] for row in s.client("ann", 2, tank=80)] == [("any", "unmatched"), ("near", "attributes")]
    assert [row[0] for row in s.client("ann", 3, tank=10)] == ["enter", "enter"]
    assert [row[1::2] for row in s.move("ann", -5000, 0, 4)] == [("any", "unmatched"), ("near", "moved")]
    assert [set(n.why) for n in s.last] == 2 * [{"was", "is", "versions"}]


def test_decision_28_evidence_shows_the_fix_only_of_a_publication_that_goes_with_it(s: System) -> None:
    s.publish("shop", "stall", "PUBLISH AT POINT(0 0)")
    s.publish("shop", "cart")
    s.move("shop", 7, 7, 0)
    s.move("ann", 0, 0, 0)
    s.subscribe("ann", "s", NEAR, 1)
    shown = {n.publication: n.why["fixes"] for n in s.last}
    assert set(shown["stall"]) == {"#"}
    assert shown["cart"]["&"] == {"time": 0, "x": 7, "y": 7}


def test_decision_28_readings_stop_with_the_publishers_filter(s: System) -> None:
    s.client("ann", 0, member=True)
    s.publish("club", "c", CLUB)
    s.subscribe("ann", "s", "SELECT ON READING", 1)
    assert heard(s.emit("club", "c", 1, 2)) == [("reading", "club/c")]
    s.client("ann", 3, member=False)
    assert s.emit("club", "c", 1, 4) == []


def test_decision_28_filters_are_symmetric(s: System) -> None:
    """The publisher's filter is over the subscriber's regions, the subscriber's over the publication's."""
    s.define("SPACE gas (price real)")
    s.publish("shell", "ad", "PUBLISH AS gas(price = 65) TO #tank < 20")
    s.client("ann", 0, tank=50)
    s.subscribe("ann", "s", "SELECT FROM gas WHERE &price < 70", 0)
    assert heard(s.client("ann", 1, tank=19)) == [("enter", "shell/ad")]
    assert heard(s.publish("shell", "ad", "PUBLISH AS gas(price = 70) TO #tank < 20", 2)) == [("leave", "shell/ad")]


# ---- 30: statements cut short ------------------------------------------------------------------------


STATEMENTS = (
    LIGHT,
    """SUBSCRIBE s BY ann SELECT nearof(2) FROM gas WHERE &price < 2 AND NOT &location IN ANY LAYER z[kind = 'a']
    ON @temperature > 5 WHILE DURING mon-fri 08:00-17:00 ZONE 'Europe/Paris' DWELL 5 min COOLDOWN 1 h""",
    """PUBLISH p AT POLYGON((0 0, 1 0, 1 1, 0 0)) FLOOR [1, 2] AS gas(price = [1, 2), kind IN {'a', 'b'})
    TO NOW - ENTERED(#location WITHIN 5 km OF ANY shop[kind = "x"]) > 5 h CONTENT {"a": [1, null]} EXPIRES 1 d""",
    "RELATION r BETWEEN (a, b) AND (c) WHERE &location WITHIN 100 yd OF #location PERMIT #role = officer",
)


def refusal(text: str) -> LanguageError | None:
    try:
        parse(text)
    except LanguageError as error:
        return error
    return None


@pytest.mark.parametrize("text", STATEMENTS)
def test_decision_30_a_truncated_statement_parses_or_gives_our_error(text: str) -> None:
    assert refusal(text) is None
    refused = {end: error for end in range(len(text)) if (error := refusal(text[:end])) is not None}
    assert 0 < len(refused) < len(text)
    for end, error in refused.items():
        line = text[:end].split("\n")[error.line - 1]
        assert error.column <= len(line) + 1


# ---- what publishers do to say less ------------------------------------------------------------------------


def test_decision_28_a_lower_precision_shows_a_cell(s: System) -> None:
    s.subscribe("bob", "s", "SELECT WHERE &location IN BOX(0 0, 3000 1000) WITH UPDATES")
    s.publish("ann", "me", "PUBLISH PRECISION 1 km", 1)
    assert heard(s.move("ann", 10, 10, 2)) == [("enter", "ann/me")]
    assert s.move("ann", 990, 990, 3) == [], "within a cell nothing is told, not even an update"
    assert heard(s.move("ann", 1010, 990, 4)) == [("update", "ann/me")]
    assert "fixes" not in s.last[0].why or "&" not in s.last[0].why["fixes"]
    seen = s.reference.world.publications["ann", "me"].publication
    assert [r.location.shape for r in seen.regions if r.location] == [Point(1500, 500)]
    assert heard(s.move("ann", 500, 1010, 5)) == [("leave", "ann/me")]


def test_decision_28_a_lower_precision_is_never_more_precise_for_a_moment(s: System) -> None:
    """A small region around where ann is, but not around the middle of her cell, hears nothing."""
    s.subscribe("bob", "s", "SELECT WHERE &location IN BOX(-15 -15, 25 25)")
    s.subscribe("bob", "near", "SELECT WHERE &location WITHIN 30 m OF #location")
    s.subscribe("bob", "way", "SELECT WHERE &location CROSSES BOX(-15 -15, 25 25)")
    s.subscribe("bob", "first", "SELECT NEAREST 1")
    s.move("bob", 5, 5, 1)
    assert heard(s.publish("cid", "shop", "PUBLISH AT POINT(300 300)", 1)) == [("enter", "cid/shop")]
    s.publish("ann", "me", "PUBLISH PRECISION 1 km", 1)
    for time, (x, y) in enumerate(((5, 5), (900, 900), (5, 5), (-5, 5), (5, 5)), 2):
        assert s.move("ann", x, y, time) == []
    assert s.publish("ann", "me", "PUBLISH PRECISION 1 km TO ALWAYS", 9) == []


def test_decision_28_a_lower_precision_keeps_its_expiry(s: System) -> None:
    s.subscribe("bob", "s", "SELECT WHERE &location IN BOX(0 0, 3000 3000)")
    s.publish("ann", "me", "PUBLISH PRECISION 1 km EXPIRES 10 s", 0)
    assert heard(s.move("ann", 10, 10, 1)) == [("enter", "ann/me")]
    assert s.move("ann", 1500, 10, 8) == []
    assert heard(s.tick(10)) == [("leave", "ann/me")]
    assert s.move("ann", 10, 10, 11) == []


def test_decision_28_a_place_is_left_out(s: System) -> None:
    s.define("PLACE home AT BOX(0 0, 100 100)")
    s.publish("ann", "me", "PUBLISH TO NOT &location IN PLACE home")
    s.subscribe("bob", "s", "SELECT WHERE &location WITHIN 1 km OF #location WITH UPDATES")
    s.move("bob", 0, 200, 1)
    assert heard(s.move("ann", 0, 150, 2)) == [("enter", "ann/me")]
    assert heard(s.move("ann", 50, 50, 3)) == [("leave", "ann/me")]
    left = s.last[0]
    assert (left.reason, "fixes" in left.why) == ("unmatched", False)
    assert s.move("ann", 60, 60, 4) == []
    assert heard(s.move("ann", 0, 150, 5)) == [("enter", "ann/me")]


def test_decision_28_a_paused_publication_is_not_there(s: System) -> None:
    s.publish("ann", "me", "PUBLISH PAUSED")
    s.subscribe("bob", "s", "SELECT WHERE &location WITHIN 1 km OF #location")
    s.move("bob", 0, 0, 1)
    assert s.move("ann", 0, 0, 2) == []
    assert heard(s.publish("ann", "me", "PUBLISH", 3)) == [("enter", "ann/me")]
    assert heard(s.publish("ann", "me", "PUBLISH PAUSED", 4)) == [("leave", "ann/me")]
    assert s.last[0].reason == "unmatched"


def test_decision_28_a_way_that_begins_where_nobody_may_look_is_not_seen(s: System) -> None:
    s.define("PLACE home AT BOX(0 0, 100 100)")
    s.publish("ann", "me", "PUBLISH TO NOT &location IN PLACE home")
    s.subscribe("bob", "s", "SELECT WHERE &location CROSSES DISC(150 50, 10 m)")
    s.move("ann", 50, 50, 1)
    assert s.move("ann", 200, 50, 2) == []
    assert heard(s.move("ann", 110, 50, 3)) == [("enter", "ann/me"), ("leave", "ann/me")]


@pytest.mark.parametrize("hide", ["PUBLISH PAUSED", "PUBLISH TO &shown = TRUE", None])
def test_decision_28_nor_is_one_from_before_it_was_shown(s: System, hide: str | None) -> None:
    s.publish("ann", "me", "PUBLISH")
    s.subscribe("bob", "s", "SELECT WHERE &location CROSSES DISC(150 50, 10 m)")
    s.move("ann", 50, 50, 1)
    s.publish("ann", "me", hide, 2) if hide else s.retract("ann", "me", 2)
    s.publish("ann", "me", "PUBLISH", 3)
    assert s.move("ann", 200, 50, 4) == []
    s.publish("ann", "me", "PUBLISH CONTENT 'of the same filter'", 5)
    assert heard(s.move("ann", 110, 50, 6)) == [("enter", "ann/me"), ("leave", "ann/me")]


def test_decision_28_hysteresis_forgets_what_was_hidden(s: System) -> None:
    s.publish("ann", "me", "PUBLISH TO #member = TRUE")
    s.subscribe("bob", "s", "SELECT WHERE &location IN DISC(0 0, 10 m) HYSTERESIS 1 km")
    s.move("ann", 0, 0, 1)
    s.move("ann", 100, 0, 2)
    assert s.client("bob", 3, member=True) == []
    assert heard(s.move("ann", 0, 0, 4)) == [("enter", "ann/me")]
    assert s.move("ann", 100, 0, 5) == []


def test_decision_28_the_past_begins_where_one_may_look(s: System) -> None:
    s.publish("ann", "me", "PUBLISH TO #member = TRUE")
    s.subscribe("bob", "s", "SELECT WHERE NOW - ENTERED(&location IN DISC(0 0, 10 m)) > 5 s")
    s.move("ann", 0, 0, 1)
    assert s.client("bob", 9, member=True) == []
    assert s.move("ann", 1, 0, 10) == []
    assert s.tick(14) == []
    assert s.tick(15) == [("enter", "s", "ann/me", "time", 14.000001)]


@pytest.mark.parametrize("text", ["PUBLISH PRECISION 0 m", "PUBLISH PRECISION 2000 km", "PUBLISH PRECISION 0.5 m"])
def test_a_precision_has_bounds(text: str) -> None:
    with pytest.raises(LanguageError, match="a precision is from 1 m to 1000 km"):
        parse(text)


def test_a_precision_needs_something_that_moves() -> None:
    with pytest.raises(LanguageError, match="at a place of its own has no PRECISION"):
        parse("PUBLISH AT POINT(0 0) PRECISION 1 km")
