from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from nearcast.errors import ModelError, PipelineError
from nearcast.match.world import World
from nearcast.model.constraint import Interval
from nearcast.model.fix import Located, Position
from nearcast.model.metric import EARTH
from nearcast.model.moment import MICROS
from nearcast.model.place import Place
from nearcast.model.schema import MOVES, STAYS, TRIPS
from nearcast.model.shape import Box, Disc, Geometry, Point
from nearcast.stream.places import resolve
from nearcast.stream.tracks import (
    DUPLICATE,
    INACCURATE,
    JUMP,
    NOT_ON_EARTH,
    NULL_ISLAND,
    Tracks,
    _whole_clients,
    clean,
    reasons,
    stays,
    trips,
)
from tests.match.traces import DATA, Row, bus_rows, cab_rows, places, ship_rows

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the traces are not beside the repository")


class Fix(NamedTuple):
    """A row of `MOVES`; its time is in seconds."""

    client: str | None
    time: int | None
    x: float | None
    y: float | None
    altitude: float | None = None
    floor: float | None = None
    accuracy: float | None = None
    place: str | None = None

    @property
    def position(self) -> Position:
        point = None if self.x is None or self.y is None else Point(self.x, self.y)
        return Position(point, self.place, self.altitude, self.floor, self.accuracy)

    @property
    def point(self) -> Point:
        assert self.x is not None
        assert self.y is not None
        return Point(self.x, self.y)


def at(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def batch_of(fixes: Iterable[Fix]) -> pa.RecordBatch:
    """In the order given."""
    rows = [fix._replace(time=at(fix.time))._asdict() for fix in fixes]  # type: ignore[arg-type]
    loose = pa.schema([field.with_nullable(True) for field in MOVES])
    return pa.RecordBatch.from_pylist(rows, schema=loose)


def metres(a: Fix, b: Fix) -> float:
    return EARTH.distance(a.point, b.point)


# ---- the definitions, slowly ---------------------------------------------------------------------------


def flaw(fix: Fix, max_accuracy: float) -> str | None:
    """What is wrong with a fix by itself."""
    try:
        position = fix.position
        if position.point is not None:
            EARTH.check(position.point)
    except ModelError:
        return "it is no fix"
    if (fix.x is None) != (fix.y is None):
        return "it is no fix"
    if (fix.x, fix.y) == (0, 0):
        return NULL_ISLAND
    return INACCURATE if fix.accuracy is not None and fix.accuracy > max_accuracy else None


def judged_slowly(fixes: Sequence[Fix], max_speed: float, max_accuracy: float) -> list[str | None]:
    found: list[str | None] = []
    seen: set[tuple[str | None, int | None]] = set()
    last: dict[str | None, Fix] = {}
    for fix in fixes:
        why = flaw(fix, max_accuracy)
        if why is None and (fix.client, fix.time) in seen:
            why = DUPLICATE
        if why is None:
            seen.add((fix.client, fix.time))
            before = last.get(fix.client)
            if fix.x is not None and before is not None:
                assert fix.time is not None
                assert before.time is not None
                why = JUMP if metres(before, fix) > max_speed * (fix.time - before.time) else None
            if fix.x is not None and why is None:
                last[fix.client] = fix
        found.append(why)
    return found


def stays_slowly(fixes: Sequence[Fix], radius: float, least: int) -> list[list[Fix]]:
    """The fixes of each stay of one client."""
    if not fixes:
        return []
    near = [fix for fix, _ in _while(fixes, lambda fix: metres(fixes[0], fix) <= radius)]
    if seconds(near) >= least:
        return [near, *stays_slowly(fixes[len(near) :], radius, least)]
    return stays_slowly(fixes[1:], radius, least)


def trips_slowly(fixes: Sequence[Fix], radius: float, least: int) -> list[list[Fix]]:
    """The fixes of each trip of one client: those outside of stays, and one of the stay before and after."""
    inner = {fix for stay in stays_slowly(fixes, radius, least) for fix in (stay[1:-1] if len(stay) > 2 else [])}
    held = [(stay[0], stay[-1]) for stay in stays_slowly(fixes, radius, least)]
    found: list[list[Fix]] = []
    way: list[Fix] = []
    for fix in fixes:
        if fix in inner:
            continue
        way.append(fix)
        if any(fix == first for first, _ in held):
            found.append(way)
            way = []
        if any(fix == last for _, last in held):
            way = [fix]
    return [way for way in [*found, way] if len(way) > 1]


def _while(fixes: Sequence[Fix], holds: Callable[[Fix], bool]) -> Iterator[tuple[Fix, int]]:
    for i, fix in enumerate(fixes):
        if not holds(fix):
            return
        yield fix, i


def seconds(fixes: Sequence[Fix]) -> int:
    assert fixes[0].time is not None
    assert fixes[-1].time is not None
    return fixes[-1].time - fixes[0].time


def stay_row(fixes: Sequence[Fix]) -> tuple[Any, ...]:
    first = fixes[0]
    span = (first.client, at(first.time), at(fixes[-1].time), float(seconds(fixes)), len(fixes))
    return (*span, first.x, first.y, first.altitude, first.floor, first.place)


def trip_row(fixes: Sequence[Fix]) -> tuple[Any, ...]:
    first, last = fixes[0], fixes[-1]
    span = (first.client, at(first.time), at(last.time), float(seconds(fixes)), len(fixes))
    length = sum(metres(a, b) for a, b in pairwise(fixes))
    return (*span, pytest.approx(length, abs=1e-6), metres(first, last), first.x, first.y, last.x, last.y)


def of_each(
    slowly: Callable[[Sequence[Fix], float, int], list[list[Fix]]], fixes: Sequence[Fix], radius: float, least: int
) -> list[list[Fix]]:
    clients = [list(own) for _, own in groupby(fixes, key=lambda fix: fix.client)]
    return [found for own in clients for found in slowly(own, radius, least)]


def values(batch: pa.RecordBatch | pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in batch.to_pylist()]


# ---- random fixes --------------------------------------------------------------------------------------

CORNERS = (0.0, 0.0005, 0.001, 0.1)
"""Degrees, from a corner near the antimeridian; some are as far apart as others, to the last bit."""
WEST, SOUTH = 179.9995, 60.0


def wrapped(x: float) -> float:
    return x - 360 if x > 180 else x


coordinates = st.tuples(st.sampled_from(CORNERS), st.sampled_from(CORNERS))
DISTANCES = sorted(
    {EARTH.distance(Point(WEST, SOUTH), Point(wrapped(WEST + x), SOUTH + y)) for x in CORNERS for y in CORNERS}
)


@st.composite
def tracks(draw: st.DrawFn) -> list[Fix]:
    """Fixes of a few clients that are in order, one for each time, with coordinates."""
    found = []
    for client in draw(st.lists(st.sampled_from("abc"), unique=True, max_size=3).map(sorted)):
        for time in draw(st.lists(st.integers(0, 40), unique=True, min_size=1, max_size=12).map(sorted)):
            x, y = draw(coordinates)
            floor = draw(st.sampled_from([None, 1.0]))
            found.append(Fix(client, time, wrapped(WEST + x), SOUTH + y, floor=floor))
    return found


@st.composite
def rough_fixes(draw: st.DrawFn) -> list[Fix]:
    """Fixes of any kind, in order."""
    position = st.one_of(
        coordinates.map(lambda by: (wrapped(WEST + by[0]), SOUTH + by[1])),
        st.sampled_from([(0.0, 0.0), (-0.0, 0.0), (0.0, 1.0), (181.0, 0.0), (0.0, -91.0), (None, None), (1.0, None)]),
        st.sampled_from([(math.nan, 0.0), (0.0, math.inf)]),
    )
    some = st.builds(
        lambda client, time, at, *rest: Fix(client, time, *at, *rest),
        st.sampled_from("ab"),
        st.integers(0, 6),
        position,
        st.sampled_from([None, 5.0, math.inf]),
        st.sampled_from([None, 1.0]),
        st.sampled_from([None, 0.0, 5.0, 50.0, -1.0, math.nan]),
        st.sampled_from([None, None, "hq/1", "hq//1"]),
    )
    return sorted(draw(st.lists(some, max_size=20)), key=order)


def order(fix: Fix) -> tuple[Any, ...]:
    """As a file of fixes is applied; what is not a number comes late."""
    numbers = (fix.x, fix.y, fix.altitude, fix.floor, fix.accuracy)
    ranks = [(2, 0.0) if n is None else (1, 0.0) if math.isnan(n) else (0, n) for n in numbers]
    return (fix.client is None, fix.client or "", fix.time is None, fix.time or 0, *ranks, fix.place or "")


# ---- clean ---------------------------------------------------------------------------------------------


def said(batch: pa.RecordBatch, max_speed: float, max_accuracy: float) -> list[str | None]:
    """The reasons, all those for which something is no fix taken together."""
    known = (None, DUPLICATE, JUMP, NULL_ISLAND, INACCURATE)
    return [why if why in known else "it is no fix" for why in reasons(batch, max_speed, max_accuracy).to_pylist()]


@given(rough_fixes(), st.sampled_from([*DISTANCES[1:], 1.0, math.inf]), st.sampled_from([0.0, 5.0, 20.0, math.inf]))
def test_fixes_are_judged_as_the_definition_says(fixes: list[Fix], max_speed: float, max_accuracy: float) -> None:
    assert said(batch_of(fixes), max_speed, max_accuracy) == judged_slowly(fixes, max_speed, max_accuracy)


@given(rough_fixes())
def test_of_fixes_at_one_time_the_kernel_would_keep_the_same(fixes: list[Fix]) -> None:
    good = [fix for fix in fixes if flaw(fix, math.inf) is None]
    least: dict[tuple[str | None, int | None], Fix] = {}
    for fix in good:
        now = (fix.client, fix.time)
        least[now] = min(least.get(now, fix), fix, key=lambda some: some.position.order)
    found = said(batch_of(good), math.inf, math.inf)
    kept = {(fix.client, fix.time): fix for fix, why in zip(good, found, strict=True) if why is None}
    assert kept == least


def test_a_jump_is_from_the_last_fix_that_was_kept() -> None:
    """Away at once, back at once, and away for good: it is believed when there was time to get there."""
    away = 0.01  # 1113 m
    fixes = [Fix("a", t, x, 0.0) for t, x in ((0, 1), (10, 1 + away), (20, 1), (30, 1 + away), (40, 1 + away))]
    assert said(batch_of(fixes), 60.0, math.inf) == [None, JUMP, None, JUMP, None]


def test_clients_and_times_that_are_missing_are_told() -> None:
    fixes = [Fix("a", 1, 1.0, 1.0), Fix("a", None, 1.0, 1.0), Fix(None, 1, 1.0, 1.0), Fix(None, 1, 1.0, 1.0)]
    found = reasons(batch_of(fixes), 1.0, 1.0).to_pylist()
    assert found == [None, "the time is missing", *["the client is missing"] * 2]


@given(tracks(), st.data())
def test_batches_are_cut_only_between_clients(fixes: list[Fix], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(fixes)), max_size=4)))
    parts = [batch_of(fixes[a:b]) for a, b in pairwise([0, *cuts, len(fixes)])]
    found = [{row["client"] for row in part.to_pylist()} for part in _whole_clients(iter(parts))]
    assert all(found)
    assert sum(map(len, found)) == len({fix.client for fix in fixes})
    assert [row for part in _whole_clients(iter(parts)) for row in values(part)] == values(batch_of(fixes))


# ---- stays and trips -----------------------------------------------------------------------------------

radii = st.sampled_from([*DISTANCES[:6], 1.0, 1e7])
times = st.sampled_from([0, 1, 5, 10, 20])


@given(tracks(), radii, times)
@example([Fix("a", 0, 1.0, 1.0)], 1.0, 1)
def test_stays_are_as_the_definition_says(fixes: list[Fix], radius: float, least: int) -> None:
    found = Tracks(batch_of(fixes)).stays(radius, least * MICROS)
    assert found.schema.names == STAYS.names
    assert values(found) == [stay_row(stay) for stay in of_each(stays_slowly, fixes, radius, least)]


@given(tracks(), radii, times)
def test_trips_are_as_the_definition_says(fixes: list[Fix], radius: float, least: int) -> None:
    found = Tracks(batch_of(fixes)).trips(radius, least * MICROS)
    assert found.schema.names == TRIPS.names
    assert values(found) == [trip_row(trip) for trip in of_each(trips_slowly, fixes, radius, least)]


@given(tracks(), radii, times)
def test_stays_and_trips_fill_the_time_of_each_client(fixes: list[Fix], radius: float, least: int) -> None:
    batch = batch_of(fixes)
    spans = [*values(Tracks(batch).stays(radius, least * MICROS)), *values(Tracks(batch).trips(radius, least * MICROS))]
    for client, own in groupby(fixes, key=lambda fix: fix.client):
        seen = list(own)
        mine = sorted(span[1:3] for span in spans if span[0] == client)
        assert all(a[1] == b[0] for a, b in pairwise(mine))
        if mine:
            assert (mine[0][0], mine[-1][1]) == (at(seen[0].time), at(seen[-1].time))
        else:
            assert len(seen) == 1


def test_the_edge_of_a_stay_belongs_to_it() -> None:
    fixes = [Fix("a", 0, 0.0, 1.0), Fix("a", 9, 0.0, 1.001)]
    apart = metres(*fixes)
    assert len(Tracks(batch_of(fixes)).stays(apart, 9 * MICROS)) == 1
    assert not len(Tracks(batch_of(fixes)).stays(math.nextafter(apart, 0), 9 * MICROS))
    assert not len(Tracks(batch_of(fixes)).stays(apart, 9 * MICROS + 1))


# ---- on Spark ------------------------------------------------------------------------------------------

YARD = Geometry(Box(10.0, 50.0, 10.002, 50.002))
PLACES = [
    Place("town", geometry=Geometry(Disc(10.0, 50.0, 5000.0))),
    Place("town/yard", geometry=YARD),
    Place("town/yard/2", geometry=Geometry(YARD.shape, floor=Interval(2, 2))),
    Place("town/yard/b", geometry=YARD),
    Place("town/spot", geometry=Geometry(Disc(10.001, 50.001, 20.0))),
    Place("somewhere"),
    Place("pole", geometry=Geometry(Box(-180.0, 89.0, 180.0, 90.0))),
]
FIXES = [
    Fix("a", 0, 10.0, 50.0),
    Fix("a", 60, 10.0001, 50.0),
    Fix("a", 60, 10.0002, 50.0),
    Fix("a", 120, 10.0, 50.0001, floor=2.0),
    Fix("a", 130, 11.0, 50.0),
    Fix("a", 180, 10.001, 50.001),
    Fix("a", 240, 10.02, 50.0, accuracy=500.0),
    Fix("a", 300, 10.02, 50.0),
    Fix("a", 360, None, None, place="town/hall"),
    Fix("b", 0, 0.0, 0.0),
    Fix("b", 10, 10.0005, 50.0005, floor=2.0),
    Fix("b", 20, 190.0, 0.0),
    Fix("b", 30, 77.0, 90.0),
    Fix("b", 40, 77.0, 10.0, place="town/hall"),
    Fix(None, 40, 10.0, 50.0),
]
WHY = {
    2: DUPLICATE,
    4: JUMP,
    6: INACCURATE,
    9: NULL_ISLAND,
    11: NOT_ON_EARTH,
    12: JUMP,
    13: JUMP,
    14: "the client is missing",
}


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """The fixes above, in no order, with a further column that says which they are."""
    table = pa.Table.from_batches([batch_of(FIXES)]).append_column("number", pa.array(range(len(FIXES))))
    return spark.createDataFrame(table.take(pa.array(sorted(range(len(FIXES)), key=lambda i: (i * 7) % 15))))


def numbers(frame: DataFrame) -> list[int]:
    return sorted(row["number"] for row in frame.collect())


def test_nothing_is_lost_on_spark(frame: DataFrame) -> None:
    cleaned = clean(frame, max_speed=100.0, max_accuracy=100.0)
    cleaned.judged.cache()
    assert {row["number"]: row["reason"] for row in cleaned.dropped.collect()} == WHY
    assert numbers(cleaned.kept) == [i for i in range(len(FIXES)) if i not in WHY]
    assert cleaned.kept.columns == frame.columns
    assert cleaned.counts() == {"kept": 7, JUMP: 3} | dict.fromkeys({*WHY.values()} - {JUMP}, 1)
    cleaned.judged.unpersist()


def test_stays_and_trips_on_spark(frame: DataFrame) -> None:
    """Only the columns that are needed have to be there."""
    kept = clean(frame, max_accuracy=100.0).kept.select("time", "client", "x", "y")
    (stay,) = values(stays(kept, 50.0, timedelta(seconds=90)).toArrow())
    assert stay == ("a", at(0), at(120), 120.0, 3, 10.0, 50.0, None, None, None)
    (trip,) = values(trips(kept, 50.0, timedelta(seconds=90)).toArrow())
    assert trip == trip_row([FIXES[3], FIXES[5], FIXES[7]])


def test_places_on_spark(frame: DataFrame) -> None:
    world = World()
    world.places = {place.path: place for place in PLACES}
    found = resolve(frame, PLACES)
    assert found.columns == frame.columns
    for row in found.collect():
        fix = FIXES[row["number"]]
        assert row["place"] == world.place_of(Located.by(fix.position)), fix
    (nowhere,) = resolve(frame.where("time = timestamp_seconds(300)").select("x", "y"), []).collect()
    assert tuple(nowhere) == (10.02, 50.0, None)


def test_what_cannot_be_asked_is_refused(frame: DataFrame) -> None:
    with pytest.raises(PipelineError, match="no column 'y', only client, time, x"):
        clean(frame.select("client", "time", "x"))
    with pytest.raises(PipelineError, match="a column 'reason'"):
        clean(clean(frame).judged)
    with pytest.raises(PipelineError, match="'time' has string, and not timestamp"):
        clean(frame.withColumn("time", frame["time"].cast("string")))
    with pytest.raises(PipelineError, match="'floor' has int, and not double"):
        resolve(frame.withColumn("floor", frame["floor"].cast("int")), PLACES)
    with pytest.raises(PipelineError, match="keep nothing"):
        clean(frame, max_speed=0)
    with pytest.raises(PipelineError, match="nobody stays within -1 m"):
        stays(frame, -1, timedelta(0))
    with pytest.raises(PipelineError, match="nobody stays"):
        trips(frame, 1, timedelta(seconds=-1))
    with pytest.raises(PipelineError, match="no column 'x'"):
        resolve(frame.select("y"), PLACES)


# ---- real traces ---------------------------------------------------------------------------------------


def as_fixes(rows: Iterable[Row]) -> list[Fix]:
    return sorted((Fix(row.client, row.time, row.x, row.y) for row in rows), key=order)


@needs_data
def test_buses_that_are_lost_come_out_with_the_reason(spark: SparkSession) -> None:
    fixes = as_fixes(bus_rows("2015-03-18T12:00:00+00:00", 7200, 30))
    lost = sum(fix.x == fix.y == 0 for fix in fixes)
    counts = clean(spark.createDataFrame(pa.Table.from_batches([batch_of(fixes)])), max_speed=40.0).counts()
    why = judged_slowly(fixes, 40.0, math.inf)
    assert counts == {word: why.count(None if word == "kept" else word) for word in ("kept", *{*why} - {None})}
    assert counts[NULL_ISLAND] == lost


@needs_data
def test_cabs_jump(spark: SparkSession) -> None:
    fixes = as_fixes(cab_rows("2008-05-23T18:00:00-07:00", 3600, 100))
    assert said(batch_of(fixes), 60.0, math.inf) == judged_slowly(fixes, 60.0, math.inf)
    assert JUMP in said(batch_of(fixes), 60.0, math.inf)


@needs_data
def test_ships_wait_for_the_canal(spark: SparkSession) -> None:
    fixes = as_fixes(ship_rows(6000))
    kept = [fix for fix, why in zip(fixes, judged_slowly(fixes, 30.0, math.inf), strict=True) if why is None]
    frame = spark.createDataFrame(pa.Table.from_batches([batch_of(fixes)]))
    found = stays(clean(frame, max_speed=30.0).kept, 300.0, timedelta(hours=6)).toArrow()
    assert sorted(values(found)) == [stay_row(stay) for stay in of_each(stays_slowly, kept, 300.0, 6 * 3600)]
    assert len(found) > 20


@needs_data
def test_cabs_in_neighbourhoods(spark: SparkSession) -> None:
    regions = places("hoods", "places_sf/sf_neighborhoods.geojson").regions
    hoods = [Place(region.id, geometry=region.geometry) for region in regions]
    world = World()
    world.places = {place.path: place for place in hoods}
    fixes = as_fixes(cab_rows("2008-05-23T18:00:00-07:00", 600, 60))
    found = resolve(spark.createDataFrame(pa.Table.from_batches([batch_of(fixes)])), hoods).toArrow()
    expected = [world.place_of(Located.by(fix.position)) for fix in fixes]
    assert sorted((row["client"], row["time"], row["place"]) for row in found.to_pylist()) == [
        (fix.client, at(fix.time), place) for fix, place in zip(fixes, expected, strict=True)
    ]
