"""Fixes of files, decoded, routed and matched by shares, tell what the reference tells of the log they stand for."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from nearcast.check import statement_ops
from nearcast.errors import NearcastError, PipelineError
from nearcast.language.oplog import decode_op, encode_op
from nearcast.match.reference import Reference
from nearcast.match.share import whole_plan
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.moment import MICROS, parse_time
from nearcast.model.schema import TIME
from nearcast.model.shape import Point
from nearcast.model.space import Metric
from nearcast.stream.backtest import checked
from nearcast.stream.decode import FixDecoder, fix_columns
from nearcast.stream.sources import attributes_asked, decoder_of
from nearcast.testing import Log, logs
from tests.seeds import FIRST_SEED
from tests.stream.city import START, city_definitions, city_rows
from tests.stream.oracle import Given, columns_of, matched, rows_told

DEFINING = (ops.DefineSpace, ops.DefinePlace, ops.DefineLayer, ops.DefineRelation, ops.Subscribe, ops.Publish)
NUMBERS = (1, 2, 7, 16)


def batches_of(rows: Sequence[Given], size: int = 50) -> list[pa.RecordBatch]:
    """A file in batches, with times as timestamps."""
    columns = columns_of(rows)
    columns["time"] = pa.array(columns["time"], pa.int64()).view(TIME)
    for name in ("lon", "lat", "alt", "floor", "accuracy"):
        columns[name] = pa.array(columns[name], pa.float64())
    columns["place"] = pa.array(columns["place"], pa.string())
    batches: list[pa.RecordBatch] = pa.table(columns).to_batches(max_chunksize=size)
    return batches


def agree(definitions: Sequence[ops.Op], rows: Sequence[Given], shards: int, slices: int, lateness: int = 0) -> int:
    """Gives how much was told."""
    batches = batches_of(rows)
    decoder = decoder_of(batches[0].schema.names, {}, attributes_asked(definitions))
    decoder = decoder.on(checked(definitions).world.metric is Metric.EARTH)
    told, counts = matched(decoder, definitions, batches, whole_plan(definitions, shards, slices), lateness)
    assert told == rows_told(definitions, rows, lateness)
    assert counts["notifications"] == len(told)
    assert counts["duplicates"] == len(rows) - len({(row.client, row.time) for row in rows})
    return len(told)


def as_file(log: Log) -> tuple[list[ops.Op], list[Given]]:
    """The statements of a log that stand, and its fixes as rows."""
    reference, definitions = Reference(), list[ops.Op]()
    for op in log:
        if isinstance(op, DEFINING):
            try:
                reference.apply(decode_op(encode_op(op)))
            except NearcastError:
                continue
            definitions.append(op)
    return definitions, [Given(op.client, op.time, op.position) for op in log if isinstance(op, ops.Move)]


def on_the_ground(definitions: Sequence[ops.Op], rows: Sequence[Given]) -> list[Given]:
    ground, found = checked(definitions).world.ground, list[Given]()
    for row in rows:
        try:
            ground.check(row.position.point or Point(0, 0))
        except NearcastError:
            continue
        found.append(row)
    return found


@pytest.mark.parametrize("shard", range(2))
def test_random_fixes_and_statements(shard: int) -> None:
    def tells_the_same(log: Log, shards: int, slices: int, lateness: int, order: random.Random) -> None:
        definitions, rows = as_file(log)
        rows = on_the_ground(definitions, rows)
        if rows:
            rows += [Given(row.client, row.time, other.position) for row, other in zip(rows, rows[3:], strict=False)]
            order.shuffle(rows)
            agree(definitions, rows, shards, slices, lateness)

    numbers, late = st.sampled_from(NUMBERS), st.sampled_from([0, 0, 2_000_000])
    fixes = st.randoms(use_true_random=False)
    some = settings(max_examples=25)
    seed(FIRST_SEED + shard)(some(given(logs(common=shard == 1), numbers, numbers, late, fixes)(tells_the_same)))()


# ---- a city ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", NUMBERS)
def test_everything_about_a_city(number: int) -> None:
    rows = city_rows(100, 6, seed=number, skew=number == 7)
    assert agree(city_definitions(), rows, number, min(number, 3)) > 100


def test_runs_of_plain_fixes() -> None:
    """Without attributes and what looks at everyone, fixes are applied as columns."""
    rows = [Given(row.client, row.time, row.position) for row in city_rows(400, 15, seed=1)]
    for names in (("zones", "sure", "calm", "broad"), ("pairs", "met"), ("nearest",), ("own", "zones", "pairs")):
        assert agree(city_definitions(*names), rows, 2, 2) > 50


def test_one_who_watches_is_told_before_its_own_first_fix() -> None:
    """Its clock stands still until then, though it is published with the others of a run."""
    relation, watch = "RELATION r WHERE &location WITHIN 100 m OF #location", "SELECT FROM RELATION r"
    lines = [
        {"op": "relation", "time": 0, "text": relation},
        {"op": "subscribe", "time": 0, "client": "a", "id": "s", "text": watch},
    ]
    definitions = [decode_op(json.dumps(line)) for line in lines]
    at = Position(Point(2.3522, 48.8566))
    rows = [Given(client, second * 1_000_000, at) for client, second in (("b", 1), ("c", 2), ("a", 3), ("a", 4))]
    assert agree(definitions, rows, 1, 1) == 3


def test_duplicates_are_resolved_alike_in_any_order() -> None:
    at = [Position(Point(13.002, 52.0), place, *heights) for place in (None, "hq", "hq/2/A") for heights in HEIGHTS]
    rows = [Given("c1", START, position, said) for position in at for said in ({"fuel": 1}, {"fuel": 9}, {})]
    rows += [Given("c1", START + 1, Position(Point(13.0, 52.0))), Given("é", START, at[0]), Given("z", START, at[0])]
    for number in range(3):
        random.Random(number).shuffle(rows)
        agree(city_definitions("zones", "fuel", "upstairs", "pairs"), rows, 3, 1)


HEIGHTS = ((None, None, None), (1.0, None, None), (None, 2.0, None), (None, None, 5.0), (-1.0, 3.0, 80.0))


def test_truth_is_not_one() -> None:
    """A number that follows a truth is a change, though Python calls them equal."""
    definitions = [*city_definitions("line"), *statement_ops("SUBSCRIBE one BY desk SELECT WHERE &fuel = 1", Path(), 0)]
    at = Position(Point(13.0, 52.0))
    batches = [
        pa.RecordBatch.from_pylist([{"client": "a", "time": time, "lon": 13.0, "lat": 52.0, "fuel": said}])
        for time, said in ((0, "true"), (1, "1"), (2, "true"))
    ]
    decoder = decoder_of(batches[0].schema.names, {}, attributes_asked(definitions))
    told, _ = matched(decoder, definitions, batches, whole_plan(definitions, 1, 1))
    rows = [Given("a", i * MICROS, at, {"fuel": said}) for i, said in enumerate((True, 1, True))]
    assert told == rows_told(definitions, rows)


# ---- decoding ----------------------------------------------------------------------------------------

TIMES = {
    "zulu": ["2024-02-29T23:59:59Z", "1969-12-31T23:59:59.5Z", "2024-03-01T00:00:00.123456Z"],
    "offset": ["2024-03-01T01:00:00+05:30", "2024-03-01T01:00:00.25-0800"],
    "no zone": ["2024-03-01T01:00:00", "2024-03-01 01:00:00.000001"],
    "seconds": ["1700000000", "1700000000.25", "-1.5", "1.7e9"],
    "mixed": ["2024-03-01T01:00Z", "1700000000", "2024-03-01 01:00", "2024-03-01T01:00:00.123456789Z", "20240301T01Z"],
    "days": ["2024-03-01", "0001-01-01", "9999-12-31T23:59:59.999999Z"],
}  # fmt: skip


def decoded(column: pa.Array) -> tuple[list[int], list[str]]:
    """The times of a column in microseconds, and what is said of those that are none."""
    n = len(column)
    ones = {"client": pa.array(["a"] * n), "lon": pa.array([0.0] * n), "lat": pa.array([0.0] * n)}
    moves, bad = FixDecoder(fix_columns(["client", "time", "lon", "lat"], {}))(
        pa.RecordBatch.from_pydict({**ones, "time": column})
    )
    return moves["time"].view(pa.int64()).to_pylist(), [reason for _, reason in bad]


@pytest.mark.parametrize("texts", TIMES.values(), ids=TIMES)
def test_times_as_text(texts: list[str]) -> None:
    """A column at once, and each by itself among others that differ, is the same time."""
    expected = [
        parse_time(float(t)) if t.lstrip("-").replace(".", "").replace("e", "").isdigit() else parse_time(t)
        for t in texts
    ]
    assert decoded(pa.array(texts)) == (expected, [])
    for text, time in zip(texts, expected, strict=True):
        assert decoded(pa.array([text])) == ([time], [])
        assert decoded(pa.array([text, "nonsense", None, ""])) == (
            [time],
            ["time: 'nonsense' is not a time", "the time is missing", "the time is missing"],
        )


def test_times_as_numbers() -> None:
    for kind in (pa.int32(), pa.int64(), pa.uint32(), pa.float64(), pa.decimal128(20, 3)):
        assert decoded(pa.array([0, 1_700_000_000, None], kind)) == (
            [0, 1_700_000_000_000_000],
            ["the time is missing"],
        )
    whole = pa.array([-(2**63), 2**63 - 1, 5], pa.int64())
    assert decoded(whole) == ([5_000_000], [f"time: {t} is not a time" for t in (-(2**63), 2**63 - 1)])
    real = pa.array([float("nan"), float("inf"), 1e300, 0.1], pa.float64())
    times, reasons = decoded(real)
    assert times == [100_000]
    assert len(reasons) == 3


def test_rows_that_are_none() -> None:
    rows: list[dict[str, str | None]] = [
        {"client": "a", "time": "0", "lon": "1", "lat": "2"},
        *({"client": "a", "time": "0", "lon": "1", "lat": "2", **wrong} for wrong, _ in WRONG),
    ]
    names = ("client", "time", "lon", "lat", "alt", "accuracy", "place", "fuel")
    batch = pa.RecordBatch.from_arrays(
        [pa.array([row.get(n) for row in rows], pa.string()) for n in names], names=names
    )
    moves, bad = decoder_of(names, {}, {"fuel": None})(batch)
    assert len(moves) == 1
    assert [reason for _, reason in bad] == [reason for _, reason in WRONG]
    assert [json.loads(content) for content, _ in bad] == [
        {name: value for name, value in row.items() if value is not None} for row in rows[1:]
    ]


WRONG: list[tuple[dict[str, str | None], str]] = [
    ({"client": None}, "the client is missing"),
    ({"client": ""}, "the client is missing"),
    ({"time": None}, "the time is missing"),
    ({"time": "late"}, "time: 'late' is not a time"),
    ({"lon": "east"}, "lon: 'east' is not a number"),
    ({"lon": "nan"}, "x is not a finite number"),
    ({"lat": "-inf"}, "y is not a finite number"),
    ({"lat": None}, "a coordinate needs both x and y"),
    ({"lon": None, "lat": None}, "a fix needs x and y, or a place"),
    ({"lon": "180.0001"}, "the coordinate is not on the earth"),
    ({"lat": "90.5"}, "the coordinate is not on the earth"),
    ({"lon": "1e300"}, "the coordinate is too far away"),
    ({"accuracy": "-1"}, "accuracy is negative; it is a radius in metres"),
    ({"alt": "high"}, "alt: 'high' is not a number"),
]


def test_attributes_that_are_no_values() -> None:
    """What is not a number is missing, as pandas has it; what has no end is wrong."""
    nan, inf = float("nan"), float("inf")
    batch = pa.RecordBatch.from_pydict(
        {"client": ["a"] * 4, "time": [0] * 4, "lon": [0] * 4, "lat": [0] * 4, "fuel": [nan, 2.5, -inf, None]}
    )
    moves, bad = decoder_of(batch.schema.names, {}, {"fuel": None})(batch)
    assert moves["attributes"].to_pylist() == ["{}", '{"fuel": 2.5}', "{}"]
    assert [reason for _, reason in bad] == ["fuel is not a finite number"]
    texts = pa.RecordBatch.from_arrays(
        [pa.array(["a"]), pa.array([0]), pa.array(["x"]), pa.array(["1e999"])],
        names=["client", "time", "place", "fuel"],
    )
    moves, bad = decoder_of(texts.schema.names, {}, {"fuel": None})(texts)
    assert (moves["attributes"].to_pylist(), bad) == (['{"fuel": "1e999"}'], [])


def test_attributes_that_are_too_long() -> None:
    """What a kernel would refuse is a row that cannot be read, and does not end the job."""
    batch = pa.RecordBatch.from_pydict(
        {"client": ["a"] * 2, "time": [0] * 2, "lon": [0] * 2, "lat": [0] * 2, "line": ["7", "7" * 4097]}
    )
    moves, bad = decoder_of(batch.schema.names, {}, {"line": str})(batch)
    assert moves["attributes"].to_pylist() == ['{"line": "7"}']
    assert [reason for _, reason in bad] == ["line: a text has at most 4,096 characters, and this has 4,097"]


def test_what_is_asked_of_clients() -> None:
    """Not where they are, nor what every client has anyway."""
    assert attributes_asked(city_definitions()) == {"fuel": None, "line": str}


def test_columns_that_are_missing() -> None:
    for found, renamed, reason in (
        (["cab", "time", "lon", "lat"], {}, "the fixes have no column 'client'"),
        (["client", "Time", "lon", "lat"], {}, "did you mean 'Time'?"),
        (["client", "time", "lon", "lat"], {"client": "cab"}, "there is no column 'cab'"),
        (["client", "time", "lon", "lat"], {"cab": "client"}, "'cab' is none of"),
    ):
        with pytest.raises(PipelineError, match=re.escape(reason)):
            fix_columns(found, renamed)
