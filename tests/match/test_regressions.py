"""What random tests found, as plain cases."""

from __future__ import annotations

import json

import pytest

from nearcast.errors import LanguageError
from nearcast.language.format import statement_text
from nearcast.language.oplog import decode_op, encode_op, statement_to_op
from nearcast.language.parse import parse
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.model.moment import MICROS, parse_time, time_text
from tests.match.harness import System


@pytest.mark.parametrize(
    "text",
    [
        "SELECT WHERE #location IN ANY LAYER roads[limit < #speed]",
        "SELECT WHERE #location IN ANY LAYER roads[`limit` + 10 < #speed]",
        "SELECT WHERE #location IN ANY LAYER roads[kinds CONTAINS #kind]",
    ],
)
def test_a_name_that_is_no_text_is_not_written_as_text(text: str) -> None:
    statement = parse(text)
    assert parse(statement_text(statement)) == statement


def test_brackets_refuse_a_location_that_could_not_be_written_back() -> None:
    with pytest.raises(LanguageError, match="properties only"):
        parse("SELECT WHERE #location IN ANY LAYER roads[location ENCLOSED BY DISC(0 0, 5 m)]")


@pytest.mark.parametrize("time", [-(2**62), -(10**18) - 1, 0, 1, 2**62])
def test_a_time_beyond_the_calendar_reads_back(time: int) -> None:
    assert parse_time(time_text(time)) == time


@pytest.mark.parametrize(
    "text",
    [
        "LAYER z (a AT BOX(0 0, 1 1))",
        "LAYER z (a AT DISC(0 0, 5 m))",
        "LAYER z (a AT DISC(0 0, 5 m) AS (price < 2))",
        "LAYER z (a AT POINT(0 0) FLOOR (0, 2))",
        "LAYER z (a AT POINT(0 0) AS (altitude = 'high'))",
    ],
)
def test_a_layer_that_geojson_cannot_say_reads_back(text: str) -> None:
    op = statement_to_op(parse(text), 0)
    assert op is not None
    assert decode_op(encode_op(op)) == op


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SUBSCRIBE '' BY ann SELECT", "a name cannot be empty"),
        ("SELECT NEAREST 1 BY ''", "a name cannot be empty"),
        ("SELECT AS '' (price = 1)", "a name cannot be empty"),
        ("SELECT WHERE &price IN rang:loc(30)", "is not a location"),
        ("SELECT WHERE &price IN NEAREST", "is not a location"),
        ("SELECT WHERE &location IN POLYGON((0 0, 4 0, 4 4, 1e308 0, 0 0))", "too far away"),
        ("SELECT WHERE &location IN DISC(0 0, 1e300 m)", "too far away"),
    ],
)
def test_what_could_not_be_written_back_or_measured_is_refused(text: str, reason: str) -> None:
    with pytest.raises(LanguageError, match=reason):
        parse(text)


def test_a_reading_has_no_past() -> None:
    with pytest.raises(LanguageError, match="@ has no meaning in the past"):
        parse("SELECT ON NOW - ENTERED(#location IN ANY LAYER z[least < @]) > 5 s")


def test_a_schedule_in_brackets_turns_at_its_time() -> None:
    system = System()
    eight = parse_time("2026-03-02T08:00:00Z") // MICROS
    system.layer("z", eight - 2, a=(0, 0, 9, 9))
    system.move("van", 5, 5, eight - 2)
    system.publish("van", "self", t=eight - 2)
    system.subscribe("ann", "near", "SELECT WHERE &location IN ANY LAYER z[DURING DAILY 08:00-09:00]", eight - 2)
    assert system.tick(eight + 10) == [("enter", "near", "van/self", "time", eight)]


def test_a_subscription_that_has_expired_hears_of_no_retraction() -> None:
    system = System()
    system.move("van", 0, 0, 0)
    system.publish("van", "self")
    system.subscribe("ann", "near", "SELECT EXPIRES 1 s", 0)
    assert system.retract("van", "self", 5) == []


@pytest.mark.parametrize("properties", [{"floor": "0;1", "`": 2**63}, {"level": 2, "altitude": [3, 1]}, {"radius": 5}])
def test_a_layer_from_geojson_reads_back(properties: dict[str, object]) -> None:
    feature = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}, "properties": properties}
    op = decode_op(json.dumps({"op": "layer", "time": 0, "name": "z", "features": [feature]}))
    assert decode_op(encode_op(op)) == op


@pytest.mark.parametrize(
    "where",
    [
        "&location CROSSES DISC(0 0, 4 m) AND &location IN LAYER zones HYSTERESIS 6 m",
        "&location IN DISC(0 0, 4 m) AND &location WITHIN 3 m OF #location HYSTERESIS 6 m",
        "&location IN DISC(0 0, 4 m) AND &location WITHIN 5 m OF #location CONFIDENCE 90 %",
    ],
)
def test_of_what_is_left_out_by_one_boundary_the_side_of_another_is_remembered(where: str) -> None:
    """Ann was in the disc, and is not far enough from it to have left; she comes into what the other part asks for."""
    texts: list[dict[str, object]] = [
        {"op": "space", "text": "SPACE location (x real, y real) METRIC planar"},
        {"op": "layer", "text": "LAYER zones (a AT BOX(6 0, 9 5))"},
        {"op": "move", "client": "bob", "lon": 6, "lat": 4},
        {"op": "subscribe", "client": "bob", "id": "s", "text": f"SELECT WHERE {where}"},
        {"op": "publish", "client": "ann", "id": "p", "text": "PUBLISH"},
        {"op": "move", "client": "ann", "lon": 0, "lat": 0, "accuracy": 1},
        {"op": "move", "client": "ann", "lon": 6, "lat": 4, "accuracy": 3},
    ]
    kernel, reference = Kernel(), Reference()
    for time, text in enumerate(texts):
        op = decode_op(json.dumps({**text, "time": time}))
        told = reference.apply(op)
        assert kernel.apply(op) == told
    assert [n.kind for n in told] == ["enter"]


def test_all_that_a_move_turns_is_told_in_order_while_a_publisher_looks_at_steps() -> None:
    """One of the two is judged pair by pair, since its publisher asks what is crossed; the other is in a lane."""
    texts: list[dict[str, object]] = [
        {"op": "layer", "text": "LAYER y ('1' AT DISC(2.35 48.85, 100 m))"},
        {"op": "relation", "text": "RELATION r WHERE &location WITHIN 100 m OF #location"},
        {"op": "move", "client": "a", "lon": 2.35, "lat": 48.85},
        {"op": "move", "client": "b", "lon": 2.35, "lat": 48.85},
        {"op": "subscribe", "client": "c", "id": "s", "text": "SELECT WHERE &location IN LAYER y"},
        {"op": "publish", "client": "a", "id": "p", "text": "PUBLISH TO &location CROSSES &location"},
        {"op": "subscribe", "client": "a", "id": "s", "text": "SELECT FROM RELATION r"},
        {"op": "move", "client": "a", "lon": 2.35, "lat": 48.86},
    ]
    kernel, reference = Kernel(), Reference()
    for time, text in enumerate(texts):
        op = decode_op(json.dumps({**text, "time": time}))
        told = kernel.apply(op)
        assert told == reference.apply(op)
    assert [n.subscriber for n in told] == ["a", "c"]


def test_what_goes_from_cell_to_cell_does_so_in_the_order_of_ids() -> None:
    """Whichever of them was published first, or last changed."""
    lines: list[dict[str, object]] = [
        {"op": "move", "client": "bob", "lon": 0, "lat": 0},
        {"op": "move", "client": "ann", "lon": 0, "lat": 0},
        {"op": "subscribe", "client": "bob", "id": "s", "text": "SELECT WHERE &location WITHIN 100 m OF #location"},
        {"op": "publish", "client": "ann", "id": "p", "text": "PUBLISH"},
        {"op": "publish", "client": "ann", "id": "q", "text": "PUBLISH PRECISION 1 m"},
        {"op": "publish", "client": "ann", "id": "p", "text": "PUBLISH PRECISION 1 m"},
        {"op": "move", "client": "ann", "lon": 1, "lat": 0},
    ]
    for engine in (Reference(), Kernel()):
        *_, told = [engine.apply(decode_op(json.dumps({"time": time, **op}))) for time, op in enumerate(lines)]
        assert [n.publication for n in told] == ["p", "q"]
