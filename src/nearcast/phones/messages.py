"""What phones say, as OwnTracks has it (https://owntracks.org/booklet/tech/json/), and what they are told, likewise.

Whoever does not speak OwnTracks sends positions as the gateway takes them: plain JSON or GeoJSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from nearcast.errors import GatewayError
from nearcast.gateway.formats import Lines, owntracks_fix, read_positions
from nearcast.gateway.identity import Identity
from nearcast.log.topics import Topic
from nearcast.model.moment import MICROS, parse_time

__all__ = ["ABOUTS", "EVENTS", "OWN", "Heard", "NotUnderstood", "Said", "Waypoint", "transition", "understand"]

ABOUTS = ("", "event", "waypoint", "waypoints")
"""What is read: positions, and what is one level below them."""
OTHERS = frozenset({"beacon", "card", "cmd", "configuration", "dump", "encrypted", "request", "status", "steps"})
"""What else the apps send, which says nothing of where they are."""
OWN = "our own"
SOURCE = "nearcast"
"""What our own transitions say they are from. They come back here, and are not taken for the phone's."""
LONGEST = 100
"""Characters of a waypoint's name, or of what a phone says of itself."""
FARTHEST = 1_000_000.0
"""Metres of a waypoint's radius."""
Scalar = bool | int | float | str
_encoder = msgspec.json.Encoder()


class NotUnderstood(Exception):
    """A message that is none of ours. ``kind`` is what it is counted as: one of a few words, whatever was sent."""

    def __init__(self, kind: str, reason: str = "") -> None:
        super().__init__(reason or kind)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A circle that a phone wants to be told of. Without a radius it wants that no more."""

    name: str
    lon: float
    lat: float
    radius: float
    made: int
    """When it was, in seconds: by this the app knows it."""
    rid: str = ""


@dataclass(slots=True)
class Heard:
    """What a message comes to."""

    fixes: Lines = field(default_factory=Lines)
    attributes: dict[str, Scalar] = field(default_factory=dict)
    """What the phone says of itself."""
    at: tuple[float, float, float] | None = None
    """Where it is: longitude, latitude, accuracy."""
    time: float | None = None
    """Since when, in seconds; None if it does not say."""
    tid: str = ""
    """The two letters that an app shows for it."""
    is_gone: bool = False
    """The server lost it."""
    waypoints: list[Waypoint] = field(default_factory=list)
    are_all: bool = False
    """These are all the waypoints that it has."""


def understand(topic: Topic, payload: bytes, now: int, ahead: int) -> Heard:
    """What a message says at a time, in microseconds; a fix may be ``ahead`` of it by so many. What is none raises."""
    if not payload:
        raise NotUnderstood("empty")
    try:
        said = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotUnderstood("not JSON", str(error)) from None
    if isinstance(said, dict) and "_type" in said:
        return _owntracks(topic, said, now, ahead)
    if topic.about:
        raise NotUnderstood("out of place", f"no OwnTracks message on …/{topic.about}")
    return Heard(_read(topic, payload, now, ahead))


def _read(topic: Topic, body: bytes, now: int, ahead: int) -> Lines:
    try:
        read = read_positions(body, Identity(topic.client), now, ahead)
    except GatewayError as error:
        raise NotUnderstood("no position", str(error)) from None
    if not read.lines:
        fault = read.faults[0] if read.faults else None
        raise NotUnderstood("no position", f"{fault.field}: {fault.reason}" if fault else "there is nothing in it")
    return read


def _owntracks(topic: Topic, said: dict[str, Any], now: int, ahead: int) -> Heard:
    match topic.about, said["_type"]:
        case "", "location":
            return _located(topic, said, now, ahead)
        case "", "lwt":
            return Heard(is_gone=True)
        case "event" | "", "transition":
            if said.get("source") == SOURCE:
                raise NotUnderstood(OWN)
            if said.get("lat") is None or said.get("lon") is None:
                raise NotUnderstood("transition", "it does not say where")
            return _located(topic, said, now, ahead)
        case "waypoint", "waypoint":
            return Heard(waypoints=[_waypoint(said)])
        case "waypoints", "waypoints":
            return Heard(waypoints=_waypoints(said.get("waypoints")), are_all=True)
        case _, str() as kind if kind in OTHERS:
            raise NotUnderstood(kind)
        case _, str() as kind if kind in ("location", "lwt", "transition", "waypoint", "waypoints"):
            raise NotUnderstood("out of place", f"{kind} on …/{topic.about}")
    raise NotUnderstood("unknown type", f"{said['_type']!r:.40}")


def _located(topic: Topic, said: dict[str, Any], now: int, ahead: int) -> Heard:
    fix = owntracks_fix(said)
    attributes = {name: value for name, value in fix.pop("attributes", {}).items() if _is_sayable(value)}
    read = _read(topic, _encoder.encode(fix), now, ahead)
    accuracy = fix.get("accuracy")
    at = float(fix["lon"]), float(fix["lat"]), float(accuracy) if isinstance(accuracy, (int, float)) else 0.0
    tid = said.get("tid")
    return Heard(
        read, attributes, at, _number(said.get("tst")), tid if _is_sayable(tid) and isinstance(tid, str) else ""
    )


def _is_sayable(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST
    return isinstance(value, (bool, int, float)) and -(2**53) <= value <= 2**53


# ---- waypoints -----------------------------------------------------------------------------------------


def _waypoints(said: object) -> list[Waypoint]:
    """Of a list, those that are circles: an app may have others, which it knows by a beacon."""
    if not isinstance(said, list):
        raise NotUnderstood("no waypoints", "a list of waypoints is wanted")
    found = []
    for item in said:
        try:
            found.append(_waypoint(item))
        except NotUnderstood:
            continue
    return found


def _waypoint(said: object) -> Waypoint:
    if not isinstance(said, dict):
        raise NotUnderstood("no waypoint", "a waypoint is an object")
    name, rid = said.get("desc"), said.get("rid")
    if not isinstance(name, str) or not name or len(name) > LONGEST or not name.isprintable():
        raise NotUnderstood("no waypoint", f"desc is a name of 1 to {LONGEST} characters")
    lon, lat, radius = (_number(said.get(key, default)) for key, default in (("lon", None), ("lat", None), ("rad", 0)))
    if lon is None or lat is None or radius is None or not -180 <= lon <= 180 or not -90 <= lat <= 90:
        raise NotUnderstood("no waypoint", "lon, lat and rad say where it is")
    if radius > FARTHEST:
        raise NotUnderstood("no waypoint", f"rad is at most {FARTHEST:g} m")
    made = _number(said.get("tst", 0))
    if made is None:
        raise NotUnderstood("no waypoint", "tst is a time in seconds")
    return Waypoint(name, lon, lat, radius, int(made), rid if isinstance(rid, str) and len(rid) <= LONGEST else "")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 2**53:
        return None
    return float(value)


# ---- what they are told --------------------------------------------------------------------------------


class Said(msgspec.Struct, omit_defaults=True):
    """A transition, with what OwnTracks has no word for under ours."""

    type: str = msgspec.field(name="_type")
    event: str
    desc: str
    tst: int
    wtst: int
    tid: str
    t: str
    id: str
    """By which one knows a transition that comes again."""
    source: str
    subscription: str
    publication: str
    publisher: str | None = None
    region: str | None = None
    peer: str | None = None
    rid: str = ""
    lat: float | None = None
    lon: float | None = None
    acc: int | None = None
    """Whole metres: an app takes no others."""


EVENTS = {"enter": "enter", "leave": "leave", "snapshot": "enter"}
"""What of the notifications is told, and as what."""


def transition(
    told: Mapping[str, Any], tid: str, waypoint: tuple[str, int, str] | None, at: tuple[float, float, float] | None
) -> bytes | None:
    """A notification as an app is told of it; None if it is neither an enter nor a leave.

    ``waypoint`` has the name, the time and the id of the waypoint that it is about, if it is about one.
    """
    event = EVENTS.get(told["kind"])
    if event is None:
        return None
    tst = parse_time(told["time"]) // MICROS
    name, made, rid = waypoint or (told.get("region") or told["publication"] or told.get("peer") or "", tst, "")
    lon, lat, accuracy = _place(told, at) or (None, None, None)
    whole = None if accuracy is None else round(min(accuracy, FARTHEST))
    about = (told["subscription"], told["publication"], told.get("publisher"), told.get("region"), told.get("peer"))
    said = Said("transition", event, name, tst, made, tid, "l", told["id"], SOURCE, *about, rid, lat, lon, whole)
    return _encoder.encode(said)


def _place(told: Mapping[str, Any], at: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
    """Where the subscriber was: as the notification says, or where it is."""
    fix = (told.get("why") or {}).get("fixes", {}).get("#", {})
    x, y = fix.get("x"), fix.get("y")
    if x is None or y is None or (at is not None and at[:2] == (x, y)):
        return at
    return float(x), float(y), 0.0
