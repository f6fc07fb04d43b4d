from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings

from nearcast.errors import OpError
from nearcast.feed import apply_batch
from nearcast.language.oplog import decode_op, encode_op
from nearcast.log.packet import ARROW, LINES, Packet, decode, encode_batch, encode_lines, format_of
from nearcast.match.kernel import Kernel
from nearcast.model import schema
from nearcast.model.op import Move
from nearcast.testing import Log, logs, run

LOG = [
    '{"op": "space", "time": 0, "text": "SPACE gas (price REAL)"}',
    '{"op": "publish", "time": 1, "client": "bp", "id": "gas", "text": "PUBLISH AT POINT(-122.4 37.7)"}',
    '{"op": "subscribe", "time": 2, "client": "al", "id": "s", "text": "SELECT WHERE &price < 70"}',
    '{"op": "move", "time": 3.5, "client": "al", "lon": -122.401, "lat": 37.7, "alt": 3, "accuracy": 5}',
    '{"op": "tick", "time": "2026-01-31T08:00:00Z"}',
]


def test_a_fix_gets_its_columns_and_the_rest_its_line() -> None:
    batch = decode(*encode_lines(LOG))
    assert batch.schema == schema.OPS
    rows = batch.to_pylist()
    assert [row["line"] for row in rows] == [*LOG[:3], None, LOG[4]]
    assert [row["client"] for row in rows] == [None, "bp", "al", "al", None]
    assert (rows[3]["x"], rows[3]["y"], rows[3]["altitude"], rows[3]["accuracy"]) == (-122.401, 37.7, 3, 5)
    assert batch["time"].cast(pa.int64()).to_pylist() == [0, 10**6, 2 * 10**6, 3_500_000, 1_769_846_400_000_000]


@pytest.mark.parametrize(
    "line",
    [
        '{"op":"move","time":1,"client":"al","x":3,"y":4.5}',
        '{"op":"move","time":"2026-01-31T08:00:00+01:00","client":"al","place":"hq/1"}',
        '{"op":"move","time":1.5,"client":"al","lon":3,"lat":4,"floor":2,"place":"hq/1"}',
        '{"time":1,"lat":4,"lon":3,"client":"al","op":"move","accuracy":7}',
    ],
)
def test_a_fix_of_any_form_is_the_move_that_it_says(line: str) -> None:
    (row,) = decode(LINES, line.encode()).to_pylist()
    move = decode_op(line)
    assert isinstance(move, Move)
    at = move.position
    assert row == {
        "time": datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=move.time),
        "x": at.point and at.point.x,
        "y": at.point and at.point.y,
        "altitude": at.altitude,
        "floor": at.floor,
        "accuracy": at.accuracy,
        "place": at.place,
        "client": "al",
        "line": None,
    }


def test_ops_survive_both_formats() -> None:
    batch = decode(*encode_lines(LOG))
    packet = encode_batch(batch)
    assert packet.format == ARROW
    assert decode(*packet).equals(batch)


def test_packets_say_how_they_are_written() -> None:
    assert format_of(None) == format_of({}) == format_of(encode_lines(LOG).headers) == LINES
    assert format_of(encode_batch(decode(LINES, b"")).headers) == ARROW


def test_a_line_that_is_no_op_is_left_for_the_kernel_to_refuse() -> None:
    lines = [
        '{"op": "move", "time": 0, "client": "al", "lon": 1}',
        "{",
        "[]",
        '{"op": "tick", "time": "noon"}',
        '"\xff"',
    ]
    batch = decode(LINES, "\n".join(lines).encode("latin-1"))
    told, refused = apply_batch(Kernel(), batch, on_error="skip")
    assert len(told) == 0
    assert refused["row"].to_pylist() == list(range(len(lines)))


@given(logs(max_ops=20))
@settings(max_examples=10)
def test_a_log_in_packets_tells_the_same(log: Log) -> None:
    batch = decode(*encode_batch(decode(*encode_lines(map(encode_op, log)))))
    told, _ = apply_batch(Kernel(), batch, on_error="skip")
    assert told["id"].to_pylist() == [notification.id for notification in run(log)]


def test_blank_lines_say_nothing() -> None:
    assert encode_lines(["", LOG[0] + "\n", b"  "]) == Packet(LINES, LOG[0].encode())
    assert len(decode(LINES, b"\n" + LOG[0].encode() + b"\n\n")) == 1


def test_an_op_is_one_line() -> None:
    with pytest.raises(OpError, match="line 2: an op is one line"):
        encode_lines([LOG[0], '{"op":\n"tick"}'])


@pytest.mark.parametrize("payload", [b"", b"nonsense", encode_batch(decode(*encode_lines(LOG))).payload[:-500]])
def test_a_payload_that_is_not_arrow_is_refused(payload: bytes) -> None:
    with pytest.raises(OpError, match="not a packet of ops"):
        decode(ARROW, payload)


def test_other_columns_are_refused() -> None:
    other = pa.RecordBatch.from_pydict({"client": ["al"]})
    with pytest.raises(OpError, match=r"not: client string"):
        encode_batch(other)


def test_a_row_without_a_time_is_refused() -> None:
    columns = {field.name: pa.nulls(1, field.type) for field in schema.OPS}
    batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=schema.OPS)
    with pytest.raises(OpError, match="time: is missing"):
        decode(*encode_batch(batch))


def test_an_unknown_format_gets_a_hint() -> None:
    with pytest.raises(OpError, match=r"unknown format of ops 'line'; did you mean 'lines'\?"):
        decode("line", b"")
