"""Every format of a position comes to the same lines; what is wrong is said with its field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.errors import GatewayError
from nearcast.gateway.formats import Lines, read_lines, read_positions
from nearcast.gateway.grants import Role
from nearcast.gateway.identity import Identity
from nearcast.language.oplog import decode_op
from nearcast.log.packet import LINES, decode
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.moment import parse_time
from nearcast.model.shape import Point

NOW = parse_time("2026-01-01T08:00:00Z")
AHEAD = 300_000_000
ANN, OPERATOR = Identity("ann"), Identity("boss", Role.OPERATOR)


def read(body: Any, who: Identity = ANN, named: str | None = None) -> Lines:
    return read_positions(body if isinstance(body, bytes) else json.dumps(body).encode(), who, NOW, AHEAD, named)


def only(body: Any, who: Identity = ANN) -> list[ops.Op]:
    found = read(body, who)
    assert not found.faults
    return [decode_op(line) for line in found.lines]


AT = Position(Point(-97.74, 30.27), altitude=150.0, accuracy=12.0)
THEN = parse_time("2026-01-01T07:59:00Z")


@pytest.mark.parametrize(
    "body",
    [
        {"lon": -97.74, "lat": 30.27, "alt": 150, "accuracy": 12, "time": "2026-01-01T07:59:00Z"},
        {"lon": -97.74, "lat": 30.27, "alt": 150, "accuracy": 12, "time": THEN / 1e6, "client": "ann"},
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [-97.74, 30.27, 150]},
            "properties": {"accuracy": 12, "timestamp": "2026-01-01T07:59:00Z"},
        },
        {"_type": "location", "lon": -97.74, "lat": 30.27, "alt": 150, "acc": 12, "tst": THEN // 1_000_000, "tid": "x"},
    ],
)
def test_formats_agree(body: dict[str, Any]) -> None:
    expected = ops.Move(THEN, "ann", AT)
    assert only(body) == only([body]) == [expected]
    assert only([body, body]) == [expected, expected]


def test_a_collection_of_features() -> None:
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [n, 2]}, "properties": {"time": n}}
        for n in range(3)
    ]
    body = {"type": "FeatureCollection", "features": features}
    assert [op.position.point.x for op in only(body) if isinstance(op, ops.Move) and op.position.point] == [0, 1, 2]


def test_without_a_time_it_is_of_now() -> None:
    assert only({"place": "hq/2/A"}) == [ops.Move(NOW, "ann", Position(place="hq/2/A"))]


def test_attributes_come_before_the_fix() -> None:
    plain = {"lon": 1, "lat": 2, "attributes": {"fuel": 15, "role": None}}
    feature = {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [1, 2]},
        "properties": {"fuel": 15, "tags": ["a"]},
    }
    phone = {"_type": "location", "lon": 1, "lat": 2, "tst": NOW // 1_000_000, "batt": 40, "vel": 3}
    move = ops.Move(NOW, "ann", Position(Point(1, 2)))
    assert only(plain) == [ops.SetClient(NOW, "ann", {"fuel": 15, "role": None}), move]
    assert only(feature) == [ops.SetClient(NOW, "ann", {"fuel": 15}), move]
    assert only(phone) == [ops.SetClient(NOW, "ann", {"battery": 40, "velocity": 3}), move]


def test_a_plane_has_x_and_y() -> None:
    assert only({"x": 5000, "y": -3}) == [ops.Move(NOW, "ann", Position(Point(5000, -3)))]


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"lon": 181, "lat": 0}, "lon", "181 is not a longitude"),
        ({"lon": 0, "lat": -91}, "lat", "-91 is not a latitude"),
        ({"lon": 0}, "lat", "needs both"),
        ({}, "lon", "needs lon and lat, or a place"),
        ({"lon": "1", "lat": 2}, "lon", "Expected `float | null`, got `str`"),
        ({"lon": 1, "lat": 2, "lenght": 3}, "lenght", "unknown field `lenght`"),
        ({"lng": 1, "lat": 2}, "lng", "unknown field `lng`; did you mean 'lon'?"),
        ({"longitude": 1, "latitude": 2}, "longitude", "; did you mean 'lon'?"),
        ({"lon": 1, "lat": 2, "timestamp": 3}, "timestamp", "; did you mean 'time'?"),
        ({"lon": 1, "lat": 2, "accuracy": -1}, "accuracy", "not negative"),
        ({"lon": 1, "lat": 2, "time": "noon"}, "time", "is not a time"),
        ({"lon": 1, "lat": 2, "time": "2026-01-01T08:05:01Z"}, "time", "more than 300 s ahead of now"),
        ({"lon": 1, "lat": 2, "x": 1, "y": 1}, "x", "or x and y"),
        ({"place": "hq//A"}, "place", "is not a place path"),
        ({"_type": "waypoint", "lon": 1, "lat": 2}, "_type", "is no position"),
        ({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": []}}, "geometry", "is a Point"),
        ({"type": "Feature", "geometry": {"type": "Point", "coordinates": [1]}}, "geometry", "longitude, latitude"),
        ({"type": "Feature", "geometry": None, "properties": 3}, "properties", "are an object"),
        (5, "", "Expected `object`"),
    ],
)
def test_what_is_wrong_is_said(body: Any, field: str, reason: str) -> None:
    for sent, index in ((body, 0), ([{"lon": 0, "lat": 0}, body], 1)):
        [fault] = read(sent).faults
        assert (fault.index, fault.field) == (index, field)
        assert reason in fault.reason


@pytest.mark.parametrize("body", [b"", b"{", b"nonsense", b'{"lon": NaN, "lat": 1}', b"\xff", b"[" * 5000])
def test_what_is_not_json(body: bytes) -> None:
    with pytest.raises(GatewayError, match="not JSON") as raised:
        read(body)
    assert raised.value.status == 400


@pytest.mark.parametrize(
    "body",
    [
        {"lon": 1, "lat": 2, "client": "bob"},
        [{"lon": 1, "lat": 2}, {"lon": 1, "lat": 2, "client": "bob"}],
        {"type": "Feature", "properties": {"client": "bob"}, "geometry": {"type": "Point", "coordinates": [1, 2]}},
    ],
)
def test_nobody_moves_another(body: Any) -> None:
    with pytest.raises(GatewayError, match="this token is for 'ann'") as raised:
        read(body)
    assert (raised.value.status, raised.value.field) == (403, "client")
    with pytest.raises(GatewayError, match="cannot act for another"):
        read({"lon": 1, "lat": 2}, named="bob")


@pytest.mark.parametrize("who", [ANN, OPERATOR])
def test_the_id_of_a_feature_is_not_a_client(who: Identity) -> None:
    feature = {"type": "Feature", "id": 7, "geometry": {"type": "Point", "coordinates": [1, 2]}}
    assert [op.client for op in only(feature, who) if isinstance(op, ops.Move)] == [who.client]


def test_an_operator_moves_anyone() -> None:
    assert [op.client for op in only({"lon": 1, "lat": 2, "client": "bob"}, OPERATOR) if isinstance(op, ops.Move)] == [
        "bob"
    ]
    [line] = read({"lon": 1, "lat": 2}, OPERATOR, "cab").lines
    assert b'"cab"' in line


def test_lines_of_ops() -> None:
    lines = [
        b'{"op":"move","time":1,"client":"a","lon":1,"lat":2}\r',
        b"",
        b'{"op":"publish","time":1,"client":"a","id":"p","text":"PUBLISH"}',
        b'{"op":"layer","time":1,"name":"z","features":[]}',
        b'{"op":"tick","time":1}',
        b'{"op":"move","time":1,"client":"a","lon":1,"lat":2,"speed":3}',
        b'{"op":"move","time":1e10,"client":"a","lon":1,"lat":2}',
    ]
    found = read_lines(b"\n".join(lines), NOW, AHEAD)
    assert found.count == 3
    assert found.layers == {"z"}
    assert [(fault.index, fault.field) for fault in found.faults] == [(3, "op"), (4, ""), (5, "time")]
    assert decode(LINES, b"\n".join(found.lines)).num_rows == 3


@given(
    st.integers(-(2**51), NOW),
    st.floats(-180, 180),
    st.floats(-90, 90),
    st.none() | st.floats(0, 1e6),
    st.text(min_size=1).filter(lambda text: text.encode("utf-8", "replace").decode() == text),
)
def test_nothing_changes_on_the_way(time: int, lon: float, lat: float, accuracy: float | None, client: str) -> None:
    body = {"lon": lon, "lat": lat, "accuracy": accuracy, "time": time / 1e6, "client": client}
    moment = parse_time(time / 1e6)
    expected = ops.Move(moment, client, Position(Point(lon, lat), accuracy=accuracy))
    assert only(body, OPERATOR) == [expected]
    row = decode(LINES, read(body, OPERATOR).lines[0]).to_pylist()[0]
    assert (row["x"], row["y"], row["client"]) == (lon, lat, client)
