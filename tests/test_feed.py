"""What goes in as a batch is told as the reference tells it, and a bad row is named and changes nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearcast.errors import NearcastError, OpError, RowError
from nearcast.feed import apply_batch, notification_batch
from nearcast.language.oplog import decode_op, encode_op
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model import schema
from nearcast.model.notification import Notification
from nearcast.testing import Log, logs

LOGS = st.one_of(logs(max_ops=30), logs(common=True, max_ops=16))
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=3)
WINDOWS = st.sampled_from([0, 0, 0, 1, 10_000_000])


def row_of(op: ops.Op) -> dict[str, Any]:
    if not isinstance(op, ops.Move):
        return {"time": op.time, "line": encode_op(op).decode()}
    at = op.position
    x, y = (at.point.x, at.point.y) if at.point else (None, None)
    where = {"x": x, "y": y, "altitude": at.altitude, "floor": at.floor, "accuracy": at.accuracy, "place": at.place}
    return {"time": op.time, "client": op.client, **where}


def batch_of(rows: Sequence[dict[str, Any]], columns: pa.Schema = schema.OPS) -> pa.RecordBatch:
    arrays = [
        pa.array([row.get(f.name) for row in rows], pa.int64()).view(f.type)
        if f.name == "time"
        else pa.array([row.get(f.name) for row in rows], f.type)
        for f in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=columns.names)


def cut(log: Sequence[ops.Op], sizes: Sequence[int]) -> Iterator[Sequence[ops.Op]]:
    start = 0
    for size in cycle(sizes):
        if start >= len(log):
            return
        yield log[start : start + size]
        start += size


def told_by(reference: Reference, part: Sequence[ops.Op]) -> tuple[list[Notification], list[int]]:
    """What the reference tells, and the rows that it refuses."""
    told: list[Notification] = []
    refused = []
    for row, op in enumerate(part):
        try:
            told += reference.apply(op)
        except NearcastError:
            refused.append(row)
    return told, refused


def without_evidence(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = schema.NOTIFICATIONS.get_field_index("why")
    return batch.set_column(at, schema.NOTIFICATIONS.field(at), pa.nulls(len(batch), pa.string()))


@settings(max_examples=max(10, settings().max_examples // 4))
@given(LOGS, SIZES, WINDOWS, st.booleans())
def test_a_log_in_batches_is_told_as_the_reference_tells_it(
    log: Log, sizes: list[int], lateness: int, evidence: bool
) -> None:
    said = [op if isinstance(op, ops.Move) else decode_op(encode_op(op)) for op in log]  # text has a canonical form
    reference, kernel = Reference(lateness), Kernel(lateness)
    for part in cut(said, sizes):
        told, refused = told_by(reference, part)
        got, left_out = apply_batch(kernel, batch_of([*map(row_of, part)]), evidence=evidence, on_error="skip")
        want = notification_batch(told)
        assert got == want if evidence else without_evidence(got) == without_evidence(want)
        assert left_out["row"].to_pylist() == refused
    assert {k: n for k, n in kernel.counts.items() if n} == {k: n for k, n in reference.counts.items() if n}


# ---- batches of fixes --------------------------------------------------------------------------------

LINES = [
    {"op": "layer", "text": "LAYER z ('1' AT DISC(0 0, 1 km))"},
    {"op": "publish", "client": "a", "id": "p", "text": "PUBLISH CONTENT {\"n\": 1}"},
    {"op": "publish", "client": "b", "id": "p", "text": "PUBLISH"},
    {"op": "subscribe", "client": "w", "id": "s", "text": "SELECT WHERE &location IN LAYER z"},
]  # fmt: skip
FIXES: list[dict[str, Any]] = [
    {"client": "a", "x": 0.0, "y": 0.0},
    {"client": "b", "x": 0.0, "y": 0.001},
    {"client": "new", "x": 0.0, "y": 0.0},
    {"client": "a", "x": 1.0, "y": 1.0},
]


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel()
    for line in LINES:
        kernel.apply(decode_op(json.dumps({**line, "time": 0})))
    assert kernel.is_compiled
    return kernel


def fixes(*changes: tuple[int, dict[str, Any]]) -> pa.RecordBatch:
    rows = [{"time": 1_000_000 + i, **fix} for i, fix in enumerate(FIXES)]
    for at, change in changes:
        rows[at] = {**rows[at], **change}
    return batch_of(rows, schema.MOVES)


def told(batch: pa.RecordBatch) -> list[tuple[str, str]]:
    return list(zip(batch["kind"].to_pylist(), batch["publisher"].to_pylist(), strict=True))


TOLD = [("enter", "a"), ("enter", "b"), ("leave", "a")]


def test_fixes_are_a_run(kernel: Kernel) -> None:
    got = apply_batch(kernel, fixes())
    assert got.schema == schema.NOTIFICATIONS
    assert told(got) == TOLD
    assert got["content"].to_pylist() == ['{"n": 1}', "", '{"n": 1}']
    assert got["why"].null_count == 3
    assert kernel.clients.keys() == {"a", "b", "w", "new"}


def test_evidence_is_there_if_it_is_asked_for(kernel: Kernel) -> None:
    got = apply_batch(kernel, fixes(), evidence=True)
    assert told(got) == TOLD
    assert json.loads(got["why"][0].as_py())["fixes"]["&"] == {"time": 1_000_000, "x": 0.0, "y": 0.0}


def test_a_client_that_is_not_plain_interrupts_a_run(kernel: Kernel) -> None:
    kernel.apply(ops.SetClient(500_000, "new", lateness=10))
    got = apply_batch(kernel, fixes())
    assert told(got) == TOLD
    assert kernel.counts["Move"] == 4
    assert [fix.time for fix in kernel.clients["new"].held] == [1_000_002]


@pytest.mark.parametrize("values", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("names", [["a", "b", "new"], [None, "unused", "new", "b", "a", "", "x"]])
def test_names_may_be_encoded_already(kernel: Kernel, values: pa.DataType, names: list[str | None]) -> None:
    codes = pa.array([names.index(fix["client"]) for fix in FIXES], pa.int8())
    client = pa.DictionaryArray.from_arrays(codes, pa.array(names, values))
    batch = fixes().set_column(0, "client", client)
    assert told(apply_batch(kernel, batch)) == TOLD
    assert "unused" not in kernel.clients
    again = apply_batch(kernel, batch.slice(0, 1))  # stale
    assert told(again) == []


def test_an_empty_batch_tells_nothing(kernel: Kernel) -> None:
    for columns in (schema.MOVES, schema.OPS):
        got = apply_batch(kernel, batch_of([], columns))
        assert got.schema == schema.NOTIFICATIONS
        assert len(got) == 0
        assert [len(part) for part in apply_batch(kernel, batch_of([], columns), on_error="skip")] == [0, 0]


def test_columns_that_may_be_null_may_be_missing(kernel: Kernel) -> None:
    batch = fixes().select(["time", "client", "x", "y"])
    assert told(apply_batch(kernel, batch)) == TOLD
    narrow = batch.set_column(2, "x", batch["x"].cast(pa.float32()))
    assert told(apply_batch(kernel, narrow)) == []
    for name in batch.schema.names:
        with pytest.raises(OpError, match=f"{name}: the column is missing"):
            apply_batch(kernel, batch.drop_columns(name))
    with pytest.raises(OpError, match="time: the column has string, and not timestamp"):
        apply_batch(kernel, batch.set_column(0, "time", pa.array(["soon"] * 4)))


# ---- bad rows ----------------------------------------------------------------------------------------

BAD: dict[str, dict[str, Any]] = {
    "the client is missing": {"client": None},
    "the client is missing ": {"client": ""},
    "the time is missing": {"time": None},
    "the time does not fit": {"time": 2**62 + 1},
    "the time does not fit ": {"time": -(2**63)},
    "x is not a finite number": {"x": math.nan},
    "y is not a finite number": {"y": math.inf},
    "altitude is not a finite number": {"altitude": -math.inf},
    "floor is not a finite number": {"floor": math.nan},
    "accuracy is not a finite number": {"accuracy": math.nan},
    "accuracy is negative": {"accuracy": -1.0},
    "a coordinate needs both": {"y": None},
    "a fix needs x and y, or a place": {"x": None, "y": None},
    "'a//b' is not a place path": {"place": "a//b"},
    "is not on the earth": {"y": 90.1},
    "is not on the earth ": {"x": -181.0},
    "too far away": {"x": 1e61},
}


@pytest.mark.parametrize(("reason", "change"), BAD.items())
def test_a_bad_row_is_named_and_nothing_is_applied(kernel: Kernel, reason: str, change: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="row 1: ") as raised:
        apply_batch(kernel, fixes((1, change), (3, change)))
    assert raised.value.row == 1
    assert raised.value.told is None
    assert reason.strip() in raised.value.reason
    assert kernel.counts["Move"] == 0
    got, refused = apply_batch(kernel, fixes((1, change), (3, change)), on_error="skip")
    assert told(got) == TOLD[:1]
    assert refused.schema == schema.REFUSED
    assert refused["row"].to_pylist() == [1, 3]
    assert kernel.counts["Move"] == 2


def test_a_place_alone_is_enough_and_a_plane_has_no_edge() -> None:
    kernel = Kernel()
    rows = [
        {"time": 0, "line": '{"op": "space", "time": 0, "text": "SPACE location (x real, y real) METRIC planar"}'},
        {"time": 0, "client": "a", "x": 5000.0, "y": 0.0},
        {"time": 0, "client": "b", "place": "hq/1"},
    ]
    _, refused = apply_batch(kernel, batch_of(rows), on_error="skip")
    assert len(refused) == 0
    _, refused = apply_batch(Kernel(), batch_of([rows[1], *rows]), on_error="skip")
    assert refused["row"].to_pylist() == [0]
    fix = kernel.clients["b"].fix
    assert fix is not None
    assert fix.position.place == "hq/1"


def test_a_bad_line_is_named_and_nothing_is_applied(kernel: Kernel) -> None:
    rows = [{"time": 1, **FIXES[0]}, {"time": 2, "line": '{"op": "nothing"}'}, {"time": 3, "line": "{", "x": 1.0}]
    with pytest.raises(RowError, match="row 1: not an op"):
        apply_batch(kernel, batch_of(rows))
    assert kernel.counts["Move"] == 0
    got, refused = apply_batch(kernel, batch_of(rows), on_error="skip")
    assert told(got) == TOLD[:1]
    assert refused["row"].to_pylist() == [1, 2]


def test_a_row_is_a_fix_or_a_line(kernel: Kernel) -> None:
    rows = [{**FIXES[0], "time": 1, "line": '{"op": "tick", "time": 1}'}]
    with pytest.raises(RowError, match="row 0: a row is a fix or a line, not both"):
        apply_batch(kernel, batch_of(rows))


def test_what_was_told_before_a_refusal_is_not_lost(kernel: Kernel) -> None:
    rows = [{"time": 1, **FIXES[0]}, {"time": 2, "line": '{"op": "retract", "time": 2, "client": "x", "id": "y"}'}]
    with pytest.raises(RowError, match="row 1: client 'x' has no publication 'y'") as raised:
        apply_batch(kernel, batch_of([*rows, {"time": 3, **FIXES[1]}]))
    assert told(raised.value.told) == TOLD[:1]
    assert kernel.counts["Move"] == 1
