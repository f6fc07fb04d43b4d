"""What a careful stranger tried: claims, third parties, memory, and fields that contradict each other."""

from __future__ import annotations

import pytest

from nearcast.errors import LanguageError, NearcastError, OpError, UnknownName
from nearcast.language.oplog import decode_op, read_ops
from nearcast.language.parse import parse
from nearcast.match.explain import explain
from nearcast.model import op as ops
from tests.match.harness import System, heard


@pytest.mark.parametrize("claim", ["owner", "id", "place", "floor"])
def test_nobody_can_claim_what_is_built_in(s: System, claim: str) -> None:
    s.publish("b", "secret", f"PUBLISH AT POINT(0 0) TO #{claim} = 'ann'")
    s.apply(ops.SetClient(1, "eve", {claim: "ann"}))
    assert s.subscribe("eve", "s", "SELECT", 2) == []
    assert s.subscribe("eve", "t", f"SELECT AS ({claim} = 'ann')", 3) == []


def test_the_owner_it_is_meant_for_gets_it(s: System) -> None:
    s.publish("b", "secret", "PUBLISH TO #owner = 'ann'")
    assert heard(s.subscribe("ann", "s", "SELECT", 1)) == [("snapshot", "b/secret")]


def test_a_cause_does_not_name_a_third_party(s: System) -> None:
    s.define("SPACE shop (kind text)")
    s.move("spy", 0, 0, 1)
    s.publish("spy", "hid", "PUBLISH AS shop (kind = 'spy') TO #role = 'boss'", 1)
    s.client("b", 1, role="boss")
    s.move("b", 0, 0, 1)
    s.publish("b", "p", "PUBLISH TO &location WITHIN 10 m OF ANY shop", 2)
    s.subscribe("a", "all", "SELECT", 3)
    s.move("spy", 99, 0, 4)
    (left,) = s.last
    assert (left.reason.value, left.cause.kind, left.cause.entity) == ("unmatched", "hidden", "")


def test_a_withdrawing_publisher_does_not_say_what_it_did(s: System) -> None:
    s.move("b", 0, 0, 1)
    s.publish("b", "p", "PUBLISH TO #location WITHIN 10 m OF &location", 1)
    s.move("a", 1, 0, 1)
    s.subscribe("a", "s", "SELECT", 2)
    s.move("b", 50, 0, 3)
    assert (s.last[0].reason.value, s.last[0].cause.kind) == ("unmatched", "hidden")
    s.move("b", 0, 0, 4)
    assert (s.last[0].reason.value, s.last[0].cause.kind) == ("moved", "fix")


def test_any_in_a_relation_looks_with_the_watchers_eyes(s: System) -> None:
    s.define("SPACE shop (kind text)")
    s.publish("spy", "hid", "PUBLISH AT POINT(0 0) AS shop (kind = 'spy') TO #role = 'boss'")
    s.define("RELATION r AMONG (ann, bob) WHERE &location WITHIN 10 m OF ANY shop")
    s.move("ann", 0, 0, 1)
    s.move("bob", 0, 0, 1)
    s.client("chief", 1, role="boss")
    assert s.subscribe("clerk", "s", "SELECT FROM RELATION r", 2) == []
    assert heard(s.subscribe("chief", "s", "SELECT FROM RELATION r", 2)) == [("snapshot", "r:ann~bob")]


def test_life_control_has_one_memory_for_the_subscription(s: System) -> None:
    s.publish("x", "p")
    s.subscribe("a", "s", "SELECT WHILE #location IN DISC(0 0, 100 m) HYSTERESIS 50 m")
    assert heard(s.move("a", 0, 0, 1)) == [("enter", "x/p")]
    assert s.move("a", 120, 0, 2) == []
    assert heard(s.publish("y", "p", "PUBLISH", 3)) == [("enter", "y/p")]
    assert heard(s.move("a", 151, 0, 4)) == [("leave", "x/p"), ("leave", "y/p")]


def test_life_control_remembers_even_with_nothing_to_match(s: System) -> None:
    s.subscribe("a", "s", "SELECT WHILE #location IN DISC(0 0, 100 m) HYSTERESIS 50 m")
    s.move("a", 0, 0, 1)
    s.move("a", 120, 0, 2)
    assert heard(s.publish("y", "p", "PUBLISH", 3)) == [("enter", "y/p")]


def test_the_hysteresis_of_an_area_is_how_far_it_sticks_out(s: System) -> None:
    s.subscribe("a", "s", "SELECT WHERE &location IN BOX(-100 -100, 100 100) HYSTERESIS 20 m")
    assert heard(s.publish("b", "p", "PUBLISH AT DISC(0 0, 50 m)", 1)) == [("enter", "b/p")]
    assert s.publish("b", "p", "PUBLISH AT DISC(70 0, 50 m)", 2) == []
    assert heard(s.publish("b", "p", "PUBLISH AT DISC(71 0, 50 m)", 3)) == [("leave", "b/p")]
    assert heard(s.publish("b", "p", "PUBLISH AT BOX(0 0, 100 100)", 4)) == [("enter", "b/p")]
    assert s.publish("b", "p", "PUBLISH AT BOX(0 0, 120 100)", 5) == []
    assert heard(s.publish("b", "p", "PUBLISH AT BOX(0 0, 121 100)", 6)) == [("leave", "b/p")]


def test_a_car_that_returns_does_not_undo_the_mean(s: System) -> None:
    s.define("SPACE car (plate text)")
    for car in ("c1", "c2"):
        s.publish(car, "self", f"PUBLISH AS car (plate = '{car}')")
    s.publish("road", "jam", "PUBLISH TO MEAN STAY(2, ANY car IN DISC(0 0, 100 m)) > 9 s")
    s.subscribe("a", "s", "SELECT WHERE &id = 'jam'")
    for car, x, t in (("c1", 0, 1), ("c2", 0, 2), ("c1", 500, 11)):
        assert s.move(car, x, 0, t) == []
    assert heard(s.move("c2", 500, 0, 14)) == [("enter", "road/jam")]
    assert s.move("c1", 0, 0, 20) == []


def test_a_shorter_window_lets_go_what_it_held(s: System) -> None:
    s.publish("v", "self")
    s.subscribe("a", "s", "SELECT WHERE &location IN DISC(0 0, 10 m)")
    s.client("v", 1, lateness=10)
    assert s.move("v", 0, 0, 30) == []
    assert heard(s.client("v", 30, lateness=0)) == [("enter", "v/self")]
    s.move("v", 0, 0, 31)
    assert s.stale == 0


def test_cooldown_does_not_withhold_readings(s: System) -> None:
    s.publish("lamp", "light", "PUBLISH AT POINT(0 0)")
    s.client("a", 0, on=1)
    s.subscribe("a", "s", "SELECT ON READING WHILE #on = 1 COOLDOWN 60 s")
    assert heard(s.emit("lamp", "light", 1, 1)) == [("reading", "lamp/light")]
    s.client("a", 2, on=0)
    s.client("a", 3, on=1)
    assert heard(s.emit("lamp", "light", 1, 4)) == [("reading", "lamp/light")]


def test_the_metric_is_fixed_once_anything_was_said(s: System) -> None:
    s.subscribe("a", "s", "SELECT AT BOX(1000 1000, 2000 2000) WHERE &location IN #location")
    with pytest.raises(OpError, match="define it first"):
        s.define("SPACE location (x real, y real, z real) METRIC earth", 1)


def test_the_first_of_the_nearest_came_because_someone_moved(s: System) -> None:
    s.publish("b", "p", "PUBLISH AT POINT(0 0)")
    s.subscribe("a", "s", "SELECT NEAREST 1")
    assert [reason for *_, reason, _ in s.move("a", 5, 0, 1)] == ["moved"]


def test_numbers_too_large_to_add_are_unknown(s: System) -> None:
    s.publish("b", "p")
    s.subscribe("a", "s", "SELECT WHERE #a + #a > 1")
    assert s.client("a", 1, a=17 * 10**307) == []


def test_explain_says_what_is_the_matter(s: System) -> None:
    s.publish("b", "p", "PUBLISH AT POINT(0 0)")
    s.subscribe("a", "near", "SELECT NEAREST 1")
    s.subscribe("a", "old", "SELECT EXPIRES 5 s")
    s.publish("b", "p", "PUBLISH AT POINT(0 0)", 9)
    told = {pair.subscription: pair.summary for pair in explain(s.reference, "a")}
    assert told == {
        "near": "the conditions hold, but there is no distance to rank it by",
        "old": "the subscription has ended",
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"op":"move","time":1,"client":"a","lon":0,"y":0}', "not both"),
        ('{"op":"move","time":1,"client":"a","lon":0,"lat":0,"x":1,"y":1}', "not both"),
        ('{"op":"client","time":1,"client":"a","forget":true,"attributes":{"b":1}}', "keeps nothing"),
        ('{"op":"layer","time":1,"name":"z","features":[],"drop":["a"]}', "patch"),
        ('{"op":"layer","time":1,"name":"z","text":"LAYER y (a AT POINT(0 0))"}', "says 'y'"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(line: str, reason: str) -> None:
    with pytest.raises(OpError, match=reason):
        decode_op(line)


def test_a_region_that_is_not_there_cannot_be_dropped(s: System) -> None:
    s.layer("z", a=(0, 0, 1, 1))
    with pytest.raises(UnknownName, match="unknown region of layer 'z'"):
        s.patch("z", 1, drop=("b",))


def test_a_dimension_that_the_space_does_not_have_is_an_error(s: System) -> None:
    s.define("SPACE gas (price real)")
    with pytest.raises(UnknownName, match="did you mean 'price'"):
        s.subscribe("a", "s", "SELECT WHERE &gas.prize < 2")


@pytest.mark.parametrize("text", ["&location = #location", "&location < 3", "&a = NULL"])
def test_what_can_never_be_true_is_not_a_condition(text: str) -> None:
    with pytest.raises(LanguageError):
        parse(f"SELECT WHERE {text}")


def test_a_byte_order_mark_does_not_cost_a_line() -> None:
    lines = [b'\xef\xbb\xbf{"op":"tick","time":1}', b'{"op":"tick","time":2}']
    assert not any(isinstance(op, NearcastError) for _, op in read_ops(lines))


def test_decision_29_a_new_subscription_says_what_is_true_now(s: System) -> None:
    """The queue that is bounded belongs to delivery; what the engine gives it is a snapshot at any time."""
    s.publish("b", "p", "PUBLISH AT POINT(0 0)")
    s.move("a", 0, 0, 1)
    s.subscribe("a", "s", "SELECT WHERE &location WITHIN 9 m OF #location", 2)
    s.unsubscribe("a", "s", 3)
    s.publish("c", "p", "PUBLISH AT POINT(5 0)", 4)
    again = s.subscribe("a", "s", "SELECT WHERE &location WITHIN 9 m OF #location", 5)
    assert heard(again) == [("snapshot", "b/p"), ("snapshot", "c/p")]


def test_any_stands_on_one_side_only() -> None:
    for text in ("ANY car IN ANY shop", "ANY car WITHIN 5 m OF ANY car", "ANY car IN ANY LAYER zones"):
        with pytest.raises(LanguageError, match="one side only"):
            parse(f"SELECT WHERE {text}")


def test_a_whole_region_has_no_order() -> None:
    with pytest.raises(LanguageError, match="no order"):
        parse("SELECT WHERE &gas.* < 3")


def test_an_edit_that_begins_or_ends_readings_begins_anew(s: System) -> None:
    s.publish("lamp", "light", "PUBLISH AT POINT(0 0)")
    assert heard(s.subscribe("a", "s", "SELECT", 1)) == [("snapshot", "lamp/light")]
    assert s.subscribe("a", "s", "SELECT ON READING", 2) == []
    assert heard(s.emit("lamp", "light", 1, 3)) == [("reading", "lamp/light")]
    assert heard(s.subscribe("a", "s", "SELECT", 4)) == [("snapshot", "lamp/light")]


def test_a_space_is_measured_as_the_location_is(s: System) -> None:
    with pytest.raises(OpError, match="define location first"):
        s.define("SPACE shop (x real, y real) METRIC earth", 1)


FAR_AWAY = (
    "&location WITHIN {far} OF #location",
    "&location WITHIN {far} OF POINT(0 0)",
    "&location WITHIN {far} OF ANY location",
    "&location WITHIN {far} OF #location AND &price < 3",
    "&location WITHIN &far OF #location",
    "&location WITHIN #far OF POINT(0 0)",
)


@pytest.mark.parametrize("planar", [True, False])
@pytest.mark.parametrize("options", ["", " DWELL 1 s", " HYSTERESIS 1e60 m", " NEAREST"])
@pytest.mark.parametrize("filter_", FAR_AWAY)
def test_no_distance_is_too_much_for_a_kernel(planar: bool, filter_: str, options: str) -> None:
    """The longest that can be written, and what only attributes can say."""
    s = System(planar=planar)
    for number, far in enumerate((1e155, 1e300, -1e300, 3.0)):
        s.publish(f"p{number}", "p", f"PUBLISH AS (far = {far!r})", 1)
        s.move(f"p{number}", number, 0, 2)
    s.client("ann", 3, far=1e300)
    nearest, options = (" NEAREST 2", "") if options == " NEAREST" else ("", options)
    s.subscribe("ann", "s", f"SELECT{nearest} WHERE {filter_.format(far='1e60 m')}{options}", 3)
    for who, x, t in (("ann", 1, 4), ("p1", 50, 5), ("p0", 1, 6), ("ann", 80, 8)):
        s.move(who, x, 0, t)
        s.tick(t)
    s.client("ann", 9, far=1.0)
    s.move("p2", 1, 1, 10)


@pytest.mark.parametrize("far", ["1.1e60 m", "1e155 m", "1e300 km"])
def test_a_distance_has_an_end(far: str) -> None:
    for text in (f"WHERE &location WITHIN {far} OF #location", f"HYSTERESIS {far}"):
        with pytest.raises(LanguageError, match="is too far; a distance is at most 1e\\+60 m"):
            parse(f"SELECT {text}")
