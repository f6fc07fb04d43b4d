"""Positions as they come in: GeoJSON, OwnTracks, plain JSON, and lines of ops. All become lines of the op log.

A body holds one position or a list of them. What is wrong with one is said of that one; the others are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from nearcast.errors import GatewayError, NearcastError
from nearcast.gateway.identity import Identity
from nearcast.language.oplog import decode_op
from nearcast.model import op as ops
from nearcast.model.moment import MICROS, parse_time, time_text
from nearcast.model.region import LONGEST_NAME, LONGEST_TEXT
from nearcast.model.region import MOST as MOST_SAID
from nearcast.model.repair import repairs

__all__ = [
    "MOST",
    "Attributes",
    "Fault",
    "Lines",
    "Name",
    "Position",
    "Text",
    "faulty",
    "op_line",
    "owntracks_fix",
    "read_lines",
    "read_positions",
    "when",
]

Scalar = bool | int | float | str
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Attributes = Annotated[dict[Name, bool | int | float | Text | None], Meta(max_length=MOST_SAID)]
"""What a client says of itself, within what the model takes; null removes one."""
EXACT = 2**52
"""Microseconds that a JSON number of seconds gives back exactly."""
NAMED = ("time", "alt", "floor", "place", "accuracy")
"""Properties of a feature that are part of the fix; the others are attributes."""


class Position(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A position in plain JSON: a coordinate, a place, or both. Without a time it is of now."""

    lon: float | None = None
    lat: float | None = None
    time: str | int | float | None = None
    alt: float | None = None
    floor: float | None = None
    accuracy: float | None = None
    place: Text | None = None
    attributes: Attributes | None = None
    client: str | None = None
    x: float | None = None
    y: float | None = None


class _Move(msgspec.Struct, tag_field="op", tag="move", omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A line of the op log."""

    time: str | int | float
    client: str
    lon: float | None = None
    lat: float | None = None
    alt: float | None = None
    floor: float | None = None
    accuracy: float | None = None
    place: str | None = None


class _Attributes(msgspec.Struct, tag_field="op", tag="client"):
    time: str | int | float
    client: str
    attributes: dict[str, bool | int | float | str | None]


class Fault(msgspec.Struct, omit_defaults=True):
    """Which position was not taken, and why."""

    index: int
    reason: str
    field: str = ""


@dataclass(slots=True)
class Lines:
    """What a body comes to."""

    lines: list[bytes] = field(default_factory=list)
    count: int = 0
    """Positions that were taken; one may come to two lines."""
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """What was repaired, and in which line."""
    layers: set[str] = field(default_factory=set)
    """Layers that are written by these lines."""
    forgotten: set[str] = field(default_factory=set)
    """Clients that are to be forgotten by them."""


_plain = msgspec.json.Decoder(list[Position] | Position)
_line = msgspec.json.Decoder(_Move)
_encoder = msgspec.json.Encoder()
UNKNOWN = "contains unknown field `"
"""What msgspec says before a field that there is not."""
ELSEWHERE = {
    "lng": "lon", "long": "lon", "longitude": "lon", "latitude": "lat", "altitude": "alt", "ele": "alt",
    "level": "floor", "acc": "accuracy", "timestamp": "time", "tst": "time", "ts": "time", "id": "client",
    "device": "client", "properties": "attributes",
}  # fmt: skip
"""What others call the fields of a position."""


def when(given: str | float | None, now: int, ahead: int) -> str | float:
    """A time as a line has it. One that is further ahead than ``ahead`` microseconds is refused."""
    moment = now if given is None else parse_time(given)
    if moment > now + ahead:
        raise GatewayError(422, f"{time_text(moment)} is more than {ahead // MICROS} s ahead of now", "time")
    return moment / MICROS if -EXACT < moment < EXACT else time_text(moment)


def op_line(op: dict[str, Any]) -> bytes:
    """An op as a line, which is read first: what cannot be one raises."""
    line = _encoder.encode(op)
    decode_op(line)
    return line


# ---- positions -----------------------------------------------------------------------------------------


MOST = 100_000
"""Positions of one body."""


def read_positions(
    body: bytes, who: Identity, now: int, ahead: int, named: str | None = None, most: int = MOST,
    count: Callable[[int], None] = lambda _: None,
) -> Lines:  # fmt: skip
    """The lines of a body of positions, for whoever asks, or for the client that is ``named`` where none is in it.

    More than ``most`` are refused before a closer look, and so is what ``count`` refuses: what is wrong with each of a
    million takes seconds to say.
    """
    try:
        found = _plain.decode(body)
    except msgspec.ValidationError:
        found = None  # of another format, or wrong: both take a closer look
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise GatewayError(400, f"not JSON: {error}") from None
    read = Lines()
    if isinstance(found, Position):
        found = [found]
    owner = who.acting_for(named)
    data = _listed(_decoded(body)) if found is None else found
    if len(data) > most:
        raise GatewayError(413, f"{len(data):,} positions at once are too many; {most:,} is the most")
    count(len(data))
    for index, position in enumerate(_others(data) if found is None else found):
        if isinstance(position, Fault):
            read.faults.append(Fault(index, position.reason, position.field))
            continue
        client = owner if position.client is None else who.acting_for(position.client)
        try:
            _add(read.lines, position, client, when(position.time, now, ahead))
        except GatewayError as error:
            read.faults.append(Fault(index, error.reason, error.field))
        except NearcastError as error:
            read.faults.append(Fault(index, str(error), "time"))
        else:
            read.count += 1
    return read


def _add(lines: list[bytes], p: Position, client: str, time: str | float) -> None:
    lon, lat = p.lon, p.lat
    if lon is not None and lat is not None:
        if not -180 <= lon <= 180:
            raise GatewayError(422, f"{lon:g} is not a longitude; it is from -180 to 180", "lon")
        if not -90 <= lat <= 90:
            raise GatewayError(422, f"{lat:g} is not a latitude; it is from -90 to 90", "lat")
    elif lon is not None or lat is not None:
        raise GatewayError(422, "a coordinate needs both lon and lat", "lon" if lon is None else "lat")
    if p.x is not None or p.y is not None:
        if lon is not None or p.x is None or p.y is None:
            raise GatewayError(422, "a coordinate is lon and lat, or x and y", "x")
        lon, lat = p.x, p.y
    if lon is None and p.place is None:
        raise GatewayError(422, "a position needs lon and lat, or a place", "lon")
    if p.accuracy is not None and p.accuracy < 0:
        raise GatewayError(422, "accuracy is a radius in metres, and not negative", "accuracy")
    move = _encoder.encode(_Move(time, client, lon, lat, p.alt, p.floor, p.accuracy, p.place))
    if p.place is not None:
        _checked(move, "place")
    if p.attributes:
        lines.append(_encoder.encode(_Attributes(time, client, p.attributes)))
    lines.append(move)


def _checked(line: bytes, field: str) -> None:
    try:
        decode_op(line)
    except NearcastError as error:
        raise GatewayError(422, str(error), field) from None


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise GatewayError(400, f"not JSON: {error}") from None


def _listed(data: Any) -> list[Any]:
    """What may be positions."""
    if isinstance(data, dict) and data.get("type") == "FeatureCollection":
        data = data.get("features")
        if not isinstance(data, list):
            raise GatewayError(422, "a FeatureCollection has a list of features", "features")
    return data if isinstance(data, list) else [data]


def _others(data: list[Any]) -> Iterator[Position | Fault]:
    """Positions, whatever their format."""
    for item in data:
        try:
            yield _position(item)
        except msgspec.ValidationError as error:
            yield _fault(error)


def _position(item: Any) -> Position:
    if isinstance(item, dict) and item.get("type") == "Feature":
        item = _feature(item)
    elif isinstance(item, dict) and "_type" in item:
        item = _owntracks(item)
    return msgspec.convert(item, Position)


def _fault(error: msgspec.ValidationError) -> Fault:
    reason, field = faulty(error)
    if UNKNOWN in reason and field in ELSEWHERE:
        reason += f"; did you mean {ELSEWHERE[field]!r}?"
    return Fault(0, reason, field)


def faulty(error: msgspec.ValidationError) -> tuple[str, str]:
    """What is wrong, and with which field: msgspec says so at the end of its message, or quotes one that it does not
    know."""
    said, _, path = str(error).partition(" - at `")
    if path.startswith("key` in `"):
        said, path = f"{said} as a name", path.removeprefix("key` in `")
    unknown = said.partition(UNKNOWN)[2]
    return said, (path.removeprefix("$").removeprefix(".") or unknown).rstrip("`")


def _feature(feature: dict[str, Any]) -> dict[str, Any]:
    """The properties of a fix have its names, ``client`` too; what else is a plain value is an attribute. The id is the
    feature's own, and says nothing here."""
    geometry, said = feature.get("geometry"), feature.get("properties") or {}
    if not isinstance(said, dict):
        raise msgspec.ValidationError("properties are an object - at `$.properties`")
    if isinstance(geometry, dict) and geometry.get("type") != "Point":
        raise msgspec.ValidationError("a position is a Point - at `$.geometry`")
    fix: dict[str, Any] = {name: said[name] for name in NAMED if said.get(name) is not None}
    if "time" not in fix and said.get("timestamp") is not None:
        fix["time"] = said["timestamp"]
    if isinstance(geometry, dict):
        at = geometry.get("coordinates")
        if not isinstance(at, list) or not 2 <= len(at) <= 3:
            raise msgspec.ValidationError("coordinates are longitude, latitude and perhaps altitude - at `$.geometry`")
        fix |= dict(zip(("lon", "lat", "alt"), at, strict=False))
    if said.get("client") is not None:
        fix["client"] = str(said["client"])
    attributes = {
        name: value
        for name, value in said.items()
        if isinstance(value, Scalar) and name not in (*NAMED, "timestamp", "client")
    }
    if attributes:
        fix["attributes"] = attributes
    return fix


def _owntracks(message: dict[str, Any]) -> dict[str, Any]:
    """The client is the token's, whatever the topic says."""
    if message["_type"] != "location":
        raise msgspec.ValidationError(
            f"OwnTracks' {message['_type']!r:.40} is no position; send location - at `$._type`"
        )
    return owntracks_fix(message)


CONNECTIONS = {"w": "wifi", "m": "mobile", "o": "offline"}


def owntracks_fix(message: dict[str, Any]) -> dict[str, Any]:
    """A position of https://owntracks.org/booklet/tech/json/, and what the phone says of itself, in our words."""
    names = {"lon": "lon", "lat": "lat", "tst": "time", "alt": "alt", "acc": "accuracy"}
    fix = {ours: message[theirs] for theirs, ours in names.items() if message.get(theirs) is not None}
    values = {"batt": "battery", "vel": "velocity", "cog": "course", "conn": "connection"}
    attributes = {ours: message[theirs] for theirs, ours in values.items() if message.get(theirs) is not None}
    if isinstance(attributes.get("connection"), str):
        attributes["connection"] = CONNECTIONS.get(attributes["connection"], attributes["connection"])
    return {**fix, "attributes": attributes} if attributes else fix


# ---- lines of ops --------------------------------------------------------------------------------------


def read_lines(body: bytes, now: int, ahead: int) -> Lines:
    """Lines of ops, as an operator sends them. Only a tick is not for others to say."""
    read = Lines()
    with repairs() as repaired:
        for index, line in enumerate(piece for piece in body.split(b"\n") if piece.strip()):
            try:
                read.lines.append(_read_line(line.strip(), now, ahead, read))
                read.count += 1
            except GatewayError as error:
                read.faults.append(Fault(index, error.reason, error.field))
            except NearcastError as error:
                read.faults.append(Fault(index, str(error)))
            if repaired:
                read.warnings += [f"[{index}]: {what}" for what in repaired]
                repaired.clear()
    return read


def _read_line(line: bytes, now: int, ahead: int, read: Lines) -> bytes:
    """Nearly all are fixes with a coordinate; what is not is left to `decode_op`, which takes eight times as long."""
    try:
        move = _line.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        move = None
    if move is not None and move.client and move.lon is not None and move.lat is not None and move.place is None:
        when(move.time, now, ahead)
    else:
        op = decode_op(line)
        if isinstance(op, ops.Tick):
            raise GatewayError(422, "time passes by itself; ticks are not taken", "op")
        if isinstance(op, (ops.DefineLayer, ops.RemoveLayer)):
            read.layers.add(op.name if isinstance(op, ops.RemoveLayer) else op.layer.name)
        when(op.time / MICROS, now, ahead)
        if isinstance(op, ops.Forget):
            read.forgotten.add(op.client)
    return line.replace(b"\r", b"")
