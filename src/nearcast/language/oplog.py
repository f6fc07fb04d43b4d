"""Logs of ops as JSON lines, and notifications as JSON lines. Statements in them are language text.

One object a line; ``op`` says which. Times are ISO 8601 or epoch seconds, durations are seconds.

    {"op": "publish", "time": 0, "client": "bp", "id": "gas", "text": "PUBLISH AT POINT(-122.4 37.7) AS (price = 65)"}
    {"op": "subscribe", "time": 1, "client": "al", "id": "s", "text": "SELECT WHERE &location WITHIN 1 km OF #location"}
    {"op": "move", "time": 2, "client": "al", "lon": -122.41, "lat": 37.7}
"""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar, get_args

import msgspec

from nearcast.errors import NearcastError, OpError, suggestion
from nearcast.language.format import statement_text
from nearcast.language.parse import parse
from nearcast.model import op as ops
from nearcast.model.constraint import Scalar
from nearcast.model.fix import Position
from nearcast.model.geojson import layer_from_geojson, layer_to_geojson
from nearcast.model.layer import Layer
from nearcast.model.moment import MICROS, micros, parse_time, time_text
from nearcast.model.notification import Notification
from nearcast.model.place import Place
from nearcast.model.shape import Point
from nearcast.model.space import SubjectSpace
from nearcast.model.statement import Publication, RelationDefinition, Removal, Statement, Subscription

__all__ = ["decode_op", "encode_notification", "encode_op", "json_text", "read_ops", "statement_to_op"]

Time = str | int | float
T = TypeVar("T")


class _Line(msgspec.Struct, tag_field="op", forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    time: Time


class _Space(_Line, tag="space"):
    text: str = ""
    name: str = ""
    remove: bool = False


class _Place(_Line, tag="place"):
    text: str = ""
    name: str = ""
    remove: bool = False


class _Relation(_Line, tag="relation"):
    text: str = ""
    name: str = ""
    remove: bool = False


class _Layer(_Line, tag="layer"):
    name: str = ""
    features: Any = None
    text: str = ""
    patch: bool = False
    drop: list[str] = []
    remove: bool = False


class _Publish(_Line, tag="publish"):
    client: str
    id: str
    text: str


class _Retract(_Line, tag="retract"):
    client: str
    id: str


class _Subscribe(_Line, tag="subscribe"):
    client: str
    id: str
    text: str


class _Unsubscribe(_Line, tag="unsubscribe"):
    client: str
    id: str


class _Move(_Line, tag="move"):
    client: str
    lon: float | None = None
    lat: float | None = None
    x: float | None = None
    y: float | None = None
    alt: float | None = None
    floor: float | None = None
    place: str | None = None
    accuracy: float | None = None


class _Client(_Line, tag="client"):
    client: str
    attributes: dict[str, bool | int | float | str | None] = {}
    lease: float | None = None
    lateness: float | None = None
    forget: bool = False


class _Emit(_Line, tag="emit"):
    client: str
    publication: str
    value: bool | int | float | str | None = None
    values: dict[str, bool | int | float | str] = {}


class _Tick(_Line, tag="tick"):
    pass


_Any = (
    _Space
    | _Place
    | _Relation
    | _Layer
    | _Publish
    | _Retract
    | _Subscribe
    | _Unsubscribe
    | _Move
    | _Client
    | _Emit
    | _Tick
)
_NAMES = [str(kind.__struct_config__.tag) for kind in get_args(_Any)]


class _Named(msgspec.Struct):
    op: str


_decoder = msgspec.json.Decoder(_Any)
_name_decoder = msgspec.json.Decoder(_Named)
_encoder = msgspec.json.Encoder()


def decode_op(line: str | bytes) -> ops.Op:
    """One op from a line. Anything else raises `OpError`, or the error of the statement in it."""
    try:
        read = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise OpError(f"not an op: {_hint(line) or error}") from None
    return _to_op(read, parse_time(read.time))


def _hint(line: str | bytes) -> str:
    """What a line that cannot be read may have meant, if it says an op that there is not."""
    try:
        name = _name_decoder.decode(line).op
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    if name in _NAMES:
        return ""
    return f"there is no op {name!r}; {suggestion(name, _NAMES) or 'there are ' + ', '.join(_NAMES)}"


def read_ops(lines: Iterable[str | bytes]) -> Iterator[tuple[int, ops.Op | NearcastError]]:
    """The ops of a log with their line numbers; a bad line gives its error and does not stop the others."""
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix("\ufeff") if isinstance(line, str) else line.removeprefix(BOM_UTF8)  # noqa: PLW2901
        if not line.strip():
            continue
        try:
            yield number, decode_op(line)
        except NearcastError as error:
            yield number, error


def _to_op(line: _Any, time: int) -> ops.Op:
    match line:
        case _Space() | _Place() | _Relation():
            return _definition(line, time)
        case _Layer():
            return _layer(line, time)
        case _Publish(client=client, id=id_):
            return ops.Publish(time, _owned(_statement(line.text, Publication), client, id_))
        case _Subscribe(client=client, id=id_):
            return ops.Subscribe(time, _owned(_statement(line.text, Subscription), client, id_))
        case _Retract(client=client, id=id_):
            return ops.Retract(time, _given(client, "client"), id_)
        case _Unsubscribe(client=client, id=id_):
            return ops.Unsubscribe(time, _given(client, "client"), id_)
        case _Move():
            return ops.Move(time, _given(line.client, "client"), _position(line))
        case _Client(client=client, forget=forget):
            if forget and (line.attributes or line.lease is not None or line.lateness is not None):
                raise OpError("a client that is forgotten keeps nothing", "forget")
            return ops.Forget(time, _given(client, "client")) if forget else _client(line, time)
        case _Emit():
            values: dict[str, Scalar] = {**line.values, **({} if line.value is None else {"value": line.value})}
            if not values:
                raise OpError("a reading needs a value", "value")
            return ops.Emit(time, _given(line.client, "client"), line.publication, values)
        case _Tick():
            return ops.Tick(time)


def _definition(line: _Space | _Place | _Relation, time: int) -> ops.Op:
    kind = type(line).__name__.removeprefix("_").lower()
    if line.remove:
        name = _given(line.name, "name")
        return _REMOVALS[kind](time, name)
    wanted = {"space": SubjectSpace, "place": Place, "relation": RelationDefinition}[kind]
    op = statement_to_op(_statement(_given(line.text, "text"), wanted), time)
    assert op is not None
    return op


def _layer(line: _Layer, time: int) -> ops.Op:
    if line.drop and not line.patch:
        raise OpError('regions are dropped from a layer that is patched; add "patch": true', "drop")
    if line.remove:
        return ops.RemoveLayer(time, _given(line.name, "name"))
    if line.text:
        layer: Layer = _statement(line.text, Layer)
        if line.name and line.name != layer.name:
            raise OpError(f"the statement says {layer.name!r}, the op says {line.name!r}", "name")
    elif line.features is None and line.patch:
        layer = Layer(_given(line.name, "name"), ())
    else:
        layer = layer_from_geojson(_given(line.name, "name"), line.features)
    return ops.DefineLayer(time, layer, line.patch, tuple(line.drop))


def _position(line: _Move) -> Position:
    if (line.lon, line.lat) != (None, None) and (line.x, line.y) != (None, None):
        raise OpError("a coordinate is lon and lat, or x and y, not both", "x")
    x, y = (b if a is None else a for a, b in ((line.lon, line.x), (line.lat, line.y)))
    if (x is None) != (y is None):
        raise OpError("a coordinate needs both lon and lat (or x and y)", "lon" if x is None else "lat")
    point = None if x is None or y is None else Point(x, y)
    if point is None and line.place is None:
        raise OpError("a move needs lon and lat, or a place", "lon")
    return Position(point, line.place, line.alt, line.floor, line.accuracy)


def _client(line: _Client, time: int) -> ops.SetClient:
    lease, lateness = (None if v is None else micros(v) for v in (line.lease, line.lateness))
    for name, value in (("lease", lease), ("lateness", lateness)):
        if value is not None and value < 0:
            raise OpError("a duration is not negative", name)
    return ops.SetClient(time, _given(line.client, "client"), line.attributes, lease, lateness)


def _statement(text: str, wanted: type[T]) -> T:
    statement = parse(text)
    if not isinstance(statement, wanted):
        raise OpError(f"the statement is a {type(statement).__name__}, not a {wanted.__name__}", "text")
    return statement


S = TypeVar("S", Publication, Subscription)


def _owned(statement: S, client: str, id_: str) -> S:
    for said, given, field in ((statement.id, id_, "id"), (statement.owner, client, "client")):
        if said and said != given:
            raise OpError(f"the statement says {said!r}, the op says {given!r}", field)
    return replace(statement, id=_given(id_, "id"), owner=_given(client, "client"))


def _given(value: str, field: str) -> str:
    if not value:
        raise OpError("is missing", field)
    return value


_REMOVALS: dict[str, Callable[[int, str], ops.Op]] = {
    "space": ops.RemoveSpace,
    "place": ops.RemovePlace,
    "layer": ops.RemoveLayer,
    "relation": ops.RemoveRelation,
}


def statement_to_op(statement: Statement, time: int) -> ops.Op | None:
    """The op that makes a statement so; none for a layer whose file has not been read."""
    match statement:
        case Subscription():
            return ops.Subscribe(time, statement)
        case Publication():
            return ops.Publish(time, statement)
        case SubjectSpace():
            return ops.DefineSpace(time, statement)
        case Place():
            return ops.DefinePlace(time, statement)
        case Layer():
            return ops.DefineLayer(time, statement)
        case RelationDefinition():
            return ops.DefineRelation(time, statement)
        case Removal(kind, name, owner):
            if kind in _REMOVALS:
                return _REMOVALS[kind](time, name)
            return (ops.Retract if kind == "publication" else ops.Unsubscribe)(time, owner, name)
    return None


def encode_op(op: ops.Op) -> bytes:
    """The line that `decode_op` reads back as the same op."""
    return _encoder.encode(_from_op(op, time_text(op.time)))


def _from_op(op: ops.Op, time: str) -> _Any:
    match op:
        case ops.DefineSpace(space=space):
            return _Space(time=time, text=statement_text(space))
        case ops.DefinePlace(place=place):
            return _Place(time=time, text=statement_text(place))
        case ops.DefineRelation(relation=relation):
            return _Relation(time=time, text=statement_text(relation))
        case ops.DefineLayer():
            return _from_layer(op, time)
        case ops.RemoveSpace(name=name):
            return _Space(time=time, name=name, remove=True)
        case ops.RemovePlace(name=name):
            return _Place(time=time, name=name, remove=True)
        case ops.RemoveRelation(name=name):
            return _Relation(time=time, name=name, remove=True)
        case ops.RemoveLayer(name=name):
            return _Layer(time=time, name=name, remove=True)
        case ops.Tick():
            return _Tick(time=time)
        case ops.Publish(publication=p):
            return _Publish(time=time, client=p.owner, id=p.id, text=statement_text(replace(p, id="", owner="")))
        case ops.Subscribe(subscription=s):
            return _Subscribe(time=time, client=s.owner, id=s.id, text=statement_text(replace(s, id="", owner="")))
        case ops.Retract(client=client, id=id_):
            return _Retract(time=time, client=client, id=id_)
        case ops.Unsubscribe(client=client, id=id_):
            return _Unsubscribe(time=time, client=client, id=id_)
        case ops.Move(client=client, position=at):
            x, y = (at.point.x, at.point.y) if at.point else (None, None)
            return _Move(
                time=time,
                client=client,
                lon=x,
                lat=y,
                alt=at.altitude,
                floor=at.floor,
                place=at.place,
                accuracy=at.accuracy,
            )
        case ops.SetClient(client=client):
            lease, lateness = (None if v is None else v / MICROS for v in (op.lease, op.lateness))
            return _Client(time=time, client=client, attributes=dict(op.attributes), lease=lease, lateness=lateness)
        case ops.Forget(client=client):
            return _Client(time=time, client=client, forget=True)
        case ops.Emit(client=client, publication=publication, values=values):
            return _Emit(time=time, client=client, publication=publication, values=dict(values))


def _from_layer(op: ops.DefineLayer, time: str) -> _Layer:
    """As GeoJSON if that says it all; else as text, which also knows boxes, intervals and discs without a property."""
    layer, features, drop = op.layer, layer_to_geojson(op.layer), list(op.drop)
    try:
        same = layer_from_geojson(layer.name, features) == layer
    except NearcastError:
        same = False
    if same:
        return _Layer(time=time, name=layer.name, features=features, patch=op.patch, drop=drop)
    return _Layer(time=time, text=statement_text(layer), patch=op.patch, drop=drop)


def encode_notification(n: Notification) -> bytes:
    """A notification as one JSON object; content that is JSON is not quoted again."""
    cause = {"kind": n.cause.kind, "entity": n.cause.entity, "number": n.cause.number, "ordinal": n.cause.ordinal}
    return _encoder.encode(
        {
            "id": n.id,
            "time": time_text(n.time),
            "kind": n.kind,
            "subscription": n.subscription,
            "subscriber": n.subscriber,
            "publisher": n.publisher,
            "publication": n.publication,
            "region": n.region,
            "peer": n.peer,
            "reason": n.reason,
            "content": msgspec.Raw(n.content.encode()) if n.content else None,
            **({"values": n.values} if n.values else {}),
            "cause": cause,
            "why": _finite(n.why),
        }
    )


def json_text(value: Any) -> str:
    """Evidence or a reading, as in a notification's line."""
    return _encoder.encode(_finite(value)).decode()


def _finite(value: Any) -> Any:
    """JSON has no infinity; a place that is wholly inside or outside is that deep, which says the same."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
