"""What phones say, and what cannot be understood of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.language.oplog import decode_op
from nearcast.log.topics import Topic
from nearcast.model.op import Move
from nearcast.phones.messages import ABOUTS, Heard, NotUnderstood, Waypoint, transition, understand

NOW = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z"""
SECONDS = NOW // 1_000_000
AHEAD = 300_000_000
PHONE = Topic("ann", "phone")
HOME = {"_type": "waypoint", "desc": "Home", "lat": 30.27, "lon": -97.74, "rad": 100, "tst": 1700000000, "rid": "r1"}


def hear(said: object, about: str = "") -> Heard:
    payload = said if isinstance(said, bytes) else json.dumps(said).encode()
    return understand(Topic("ann", "phone", about), payload, NOW, AHEAD)


def moves(heard: Heard) -> list[Move]:
    ops = [decode_op(line) for line in heard.fixes.lines]
    assert all(isinstance(op, Move) for op in ops)
    return ops  # type: ignore[return-value]


def test_a_location_is_a_fix_and_what_the_phone_is_like() -> None:
    said = {"_type": "location", "lat": 30.27, "lon": -97.74, "tst": SECONDS, "acc": 12, "alt": 150, "batt": 80,
            "vel": 5, "cog": 270, "conn": "w", "tid": "an", "t": "u", "inregions": ["Home"], "BSSID": "x"}  # fmt: skip
    heard = hear(said)
    (move,) = moves(heard)
    assert (move.client, move.time) == ("ann", NOW)
    at = move.position
    assert at.point is not None
    assert (at.point.x, at.point.y, at.altitude, at.accuracy) == (-97.74, 30.27, 150, 12)
    assert heard.attributes == {"battery": 80, "velocity": 5, "course": 270, "connection": "wifi"}
    assert (heard.at, heard.time, heard.tid) == ((-97.74, 30.27, 12.0), SECONDS, "an")


def test_a_transition_of_the_phone_says_where_it_is() -> None:
    said = {"_type": "transition", "event": "enter", "desc": "Home", "lat": 1, "lon": 2, "tst": SECONDS, "acc": 5}
    assert len(moves(hear(said, "event"))) == 1
    with pytest.raises(NotUnderstood, match="our own"):
        hear({**said, "source": "nearcast"}, "event")
    with pytest.raises(NotUnderstood, match="does not say where"):
        hear({"_type": "transition", "event": "enter", "tst": SECONDS}, "event")


def test_a_will_says_that_it_is_gone() -> None:
    assert hear({"_type": "lwt", "tst": SECONDS}).is_gone


def test_waypoints() -> None:
    home = Waypoint("Home", -97.74, 30.27, 100.0, 1700000000, "r1")
    assert hear(HOME, "waypoint").waypoints == [home]
    beacon = {"_type": "waypoint", "desc": "Keys", "tst": 1, "uuid": "x"}
    all_ = hear({"_type": "waypoints", "waypoints": [HOME, beacon, 3, {**HOME, "desc": "Off", "rad": 0}]}, "waypoints")
    assert [(w.name, w.radius) for w in all_.waypoints] == [("Home", 100.0), ("Off", 0.0)]
    assert all_.are_all
    assert hear({"_type": "waypoints", "waypoints": []}, "waypoints").are_all


@pytest.mark.parametrize(
    "wrong",
    [{"desc": ""}, {"desc": 3}, {"desc": "x" * 101}, {"desc": "a\nb"}, {"lat": 91}, {"lon": None}, {"lat": True},
     {"rad": "100"}, {"rad": 1e9}, {"tst": "x"}, {"lat": 1e400}],
)  # fmt: skip
def test_no_waypoint(wrong: dict[str, Any]) -> None:
    with pytest.raises(NotUnderstood) as raised:
        hear({**HOME, **wrong}, "waypoint")
    assert raised.value.kind in ("no waypoint", "not JSON")


def test_other_formats() -> None:
    assert len(moves(hear({"lon": 1, "lat": 2}))) == 1
    assert len(hear([{"lon": 1, "lat": 2}, {"lon": 1, "lat": 200}]).fixes.faults) == 1
    point = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": {}}
    assert len(moves(hear(point))) == 1


@pytest.mark.parametrize(
    ("said", "about", "kind"),
    [
        (b"", "", "empty"),
        (b"{", "", "not JSON"),
        (b"\xff\xfe", "", "not JSON"),
        (b"[" * 100_000, "", "not JSON"),
        (b'{"a":' * 5_000, "", "not JSON"),
        (b"3", "", "no position"),
        (b"null", "", "no position"),
        (b"[]", "", "no position"),
        ({"_type": "location"}, "", "no position"),
        ({"_type": "location", "lat": 91, "lon": 0, "tst": SECONDS}, "", "no position"),
        ({"_type": "location", "lat": "x", "lon": 0, "tst": SECONDS}, "", "no position"),
        ({"_type": "location", "lat": 1, "lon": 1, "tst": SECONDS + 301}, "", "no position"),
        ({"_type": "location", "lat": 1, "lon": 1, "tst": 10**400}, "", "no position"),
        ({"_type": "location", "lat": 1, "lon": 1, "tst": [1]}, "", "no position"),
        ({"_type": "location", "lat": 1, "lon": 1, "acc": -1, "tst": SECONDS}, "", "no position"),
        ({"lon": 1, "lat": 2, "client": "bob"}, "", "no position"),
        ({"_type": "encrypted", "data": "x"}, "", "encrypted"),
        ({"_type": "card"}, "", "card"),
        ({"_type": "cmd", "action": "dump"}, "", "cmd"),
        ({"_type": "whatever"}, "", "unknown type"),
        ({"_type": {"x": 1}}, "", "unknown type"),
        ({"_type": None}, "", "unknown type"),
        (HOME, "", "out of place"),
        ({"_type": "location", "lat": 1, "lon": 1}, "waypoint", "out of place"),
        ({"lon": 1, "lat": 2}, "event", "out of place"),
        ({"_type": "waypoints", "waypoints": 3}, "waypoints", "no waypoints"),
    ],
)
def test_what_is_not_understood_is_counted_as_one_of_a_few_things(said: object, about: str, kind: str) -> None:
    with pytest.raises(NotUnderstood) as raised:
        hear(said, about)
    assert raised.value.kind == kind


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
TYPES = st.sampled_from(["location", "lwt", "transition", "waypoint", "waypoints", "card", "x"]) | JSON
NAMES = ["lat", "lon", "tst", "acc", "alt", "batt", "vel", "cog", "conn", "tid", "desc", "rad", "rid", "waypoints"]
MESSAGES = st.dictionaries(st.sampled_from(NAMES), JSON | st.floats(-180, 180), max_size=8)
BYTES = st.binary(max_size=50) | st.builds(
    lambda kind, rest: json.dumps({"_type": kind, **rest}).encode(), TYPES, MESSAGES
)  # fmt: skip


@given(BYTES | JSON.map(lambda said: json.dumps(said).encode()), st.sampled_from(ABOUTS))
def test_whatever_comes_is_understood_or_not(payload: bytes, about: str) -> None:
    """What is understood makes lines that can be read."""
    try:
        heard = understand(Topic("ann", "phone", about), payload, NOW, AHEAD)
    except NotUnderstood:
        return
    for line in heard.fixes.lines:
        decode_op(line)
    json.dumps(heard.attributes)


# ---- what they are told --------------------------------------------------------------------------------


TOLD: dict[str, Any] = {
    "id": "id-1", "time": "2026-01-01T00:00:00.5Z", "kind": "enter", "subscription": "near", "subscriber": "ann",
    "publisher": "shop", "publication": "fuel", "region": None, "peer": None, "reason": "moved", "why": {},
}  # fmt: skip


def said(told: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = transition(told, "an", more.get("waypoint"), more.get("at"))
    assert made is not None
    return dict(json.loads(made))


def test_a_notification_is_a_transition() -> None:
    assert said(TOLD, at=(2.0, 1.0, 5.0)) == {
        "_type": "transition", "event": "enter", "desc": "fuel", "tst": SECONDS, "wtst": SECONDS, "tid": "an", "t": "l",
        "id": "id-1", "source": "nearcast", "subscription": "near", "publication": "fuel", "publisher": "shop",
        "lat": 1.0, "lon": 2.0, "acc": 5,
    }  # fmt: skip


def test_an_app_takes_whole_metres_only() -> None:
    assert repr(said(TOLD, at=(2.0, 1.0, 5.4))["acc"]) == "5"
    assert said(TOLD, at=(2.0, 1.0, 1e300))["acc"] == 1_000_000


def test_what_it_is_about_gives_it_its_name() -> None:
    assert said({**TOLD, "region": "zone-1"})["desc"] == "zone-1"
    assert said({**TOLD, "publication": "", "peer": "bob"})["desc"] == "bob"
    at_home = said({**TOLD, "subscription": "waypoint/Home"}, waypoint=("Home", 17, "r1"))
    assert (at_home["desc"], at_home["wtst"], at_home["rid"]) == ("Home", 17, "r1")


def test_kinds() -> None:
    assert said({**TOLD, "kind": "leave"})["event"] == "leave"
    assert said({**TOLD, "kind": "snapshot"})["event"] == "enter"
    for kind in ("reading", "update"):
        assert transition({**TOLD, "kind": kind}, "an", None, None) is None


def test_where_it_happened_is_what_the_notification_says() -> None:
    why = {"fixes": {"#": {"time": 1, "x": 3.0, "y": 4.0}}}
    there = said({**TOLD, "why": why}, at=(2.0, 1.0, 5.0))
    assert (there["lon"], there["lat"], there["acc"]) == (3.0, 4.0, 0.0)
    here = said({**TOLD, "why": why}, at=(3.0, 4.0, 5.0))
    assert (here["lon"], here["lat"], here["acc"]) == (3.0, 4.0, 5.0)
    assert "lat" not in said(TOLD)
