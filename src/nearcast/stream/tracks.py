"""Tracks on Spark: fixes that are fit for use, where clients stayed, and how they went on.

A client's fixes must be seen in order, and all of them by one worker. So each partition is sorted, and cut only between
clients; plain functions of columns then take many clients at a time. To hand over each client by itself, as grouping
does, takes four times as long if there are a hundred thousand of them, and no less if there are five hundred.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import objmode
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  # as everyone calls it
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import AtomicType, StringType, StructField, StructType, VariantType

from nearcast.errors import PipelineError
from nearcast.match.compiled import njit
from nearcast.match.fixes import Fixes
from nearcast.match.globe import band
from nearcast.match.regions import lengths
from nearcast.model.moment import MICROS
from nearcast.model.schema import MOVES, SPAN, STAYS, TRIPS
from nearcast.stream.located import FIXES, Batches, Reals, Wholes, in_space, reals, require

__all__ = [
    "DUPLICATE", "INACCURATE", "JUMP", "NOT_ON_EARTH", "NULL_ISLAND",
    "Cleaned", "Tracks", "clean", "reasons", "stays", "trips",
]  # fmt: skip

Bools = npt.NDArray[np.bool_]
Find = Callable[["Tracks", float, int], pa.RecordBatch]

DUPLICATE = "another fix of the client at this time is less"
JUMP = "it is too far from the last fix that was kept"
NOT_ON_EARTH = "the coordinate is not on the earth"
NULL_ISLAND = "the coordinate is (0, 0), where what is lost is said to be"
INACCURATE = "it is less accurate than was asked for"

_DUPLICATE, _JUMP = 1, 2


# ---- clean -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cleaned:
    """Fixes that were judged. Each use computes them again, unless ``judged`` is cached or written."""

    judged: DataFrame
    """Every fix that there was, with the ``reason`` why it is dropped; null if it is kept."""

    @property
    def kept(self) -> DataFrame:
        return self.judged.where(F.col("reason").isNull()).drop("reason")

    @property
    def dropped(self) -> DataFrame:
        return self.judged.where(F.col("reason").isNotNull())

    def counts(self) -> dict[str, int]:
        """How many were dropped for each reason, and how many were ``kept``."""
        rows = self.judged.groupBy(F.coalesce("reason", F.lit("kept")).alias("reason")).count().collect()
        return {"kept": 0} | {row["reason"]: row["count"] for row in rows}


def clean(fixes: DataFrame, max_speed: float = 100.0, max_accuracy: float = math.inf) -> Cleaned:
    """Tell the fixes that are fit for use from those that are not, and why.

    A fix is dropped for the first of these that is true:

    1. it is no fix, as the kernel would say: it has no client or time, neither a coordinate nor a place, a number that
       is not finite, or it is not on the earth; or its coordinate is (0, 0);
    2. its accuracy is more than ``max_accuracy`` metres; one that is not known counts as good;
    3. of the client's fixes at this time that are left, another is less by x, y, and then the remaining columns;
    4. from the last kept fix with a coordinate, the client would have been faster than ``max_speed`` metres a second.

    So after a first fix that is wrong, good ones are dropped until the client could have got there. The further columns
    stay with their fixes.
    """
    if not (max_speed > 0 and max_accuracy >= 0):
        raise PipelineError(f"a speed of {max_speed} m/s and an accuracy of {max_accuracy} m keep nothing")
    require(fixes, "client", "time", "x", "y")
    if "reason" in fixes.columns:
        raise PipelineError("the fixes have a column 'reason', which is where it is said why one is dropped")
    judged = StructType([*fixes.schema.fields, StructField("reason", StringType())])
    judge = partial(_judged, max_speed=float(max_speed), max_accuracy=float(max_accuracy))
    return Cleaned(_in_order(fixes).mapInArrow(judge, judged))


def _judged(batches: Batches, max_speed: float, max_accuracy: float) -> Batches:
    for batch in _whole_clients(batches):
        yield batch.append_column("reason", reasons(batch, max_speed, max_accuracy))


def reasons(batch: pa.RecordBatch, max_speed: float, max_accuracy: float) -> pa.StringArray:
    """Why each fix is dropped, null if it is kept. Clients are whole, and the fixes in order."""
    fixes = Fixes(batch)
    said: list[str | None] = [None, DUPLICATE, JUMP]
    reason = np.zeros(len(batch), np.int64)
    for rows, why in _faults(fixes, max_accuracy):
        reason[rows & (reason == 0)] = len(said)
        said.append(why)
    x, y, space = in_space(fixes.position[:, 0], fixes.position[:, 1])
    _follow(_starts(batch), fixes.time, x, y, space, max_speed, reason)
    return pa.array(said, pa.string()).take(pa.array(reason))


def _faults(fixes: Fixes, max_accuracy: float) -> Iterator[tuple[Bools, str]]:
    """What is wrong with a fix by itself."""
    x, y, *_, accuracy = fixes.position.T
    yield from fixes.faults()
    yield fixes.off_earth(), NOT_ON_EARTH
    yield (x == 0) & (y == 0), NULL_ISLAND
    yield accuracy > max_accuracy, INACCURATE


@njit
def _follow(starts: Wholes, time: Wholes, x: Reals, y: Reals, space: Reals, speed: float, reason: Wholes) -> None:
    """Give a reason to each fix that cannot follow those before it."""
    for k in range(len(starts) - 1):
        seen, last = -1, -1
        for i in range(starts[k], starts[k + 1]):
            if reason[i] != 0:
                continue
            if seen >= 0 and time[i] == time[seen]:
                reason[i] = _DUPLICATE
                continue
            seen = i
            if np.isnan(x[i]):  # a place is nowhere in particular
                continue
            if last >= 0 and not _are_near(x, y, space, last, i, speed * ((time[i] - time[last]) / MICROS)):
                reason[i] = _JUMP
            else:
                last = i


# ---- stays and trips ---------------------------------------------------------------------------------


def stays(fixes: DataFrame, radius: float, least: timedelta) -> DataFrame:
    """Where and when each client stayed, as `STAYS`.

    Take a client's fixes in order. From the first one, go on while they are within ``radius`` metres of it (the edge
    included). If the last of them is at least ``least`` later, all of them are a stay, from the first one's time to
    the last one's, and the next is looked for from the fix after it. If not, it is looked for from the second one.

    Nothing is known about the time between two fixes, however long. Clean the fixes first: one stray fix ends a
    stay. Those without a coordinate on the earth take no part.
    """
    return _spans(fixes, Tracks.stays, STAYS, radius, least)


def trips(fixes: DataFrame, radius: float, least: timedelta) -> DataFrame:
    """What lies between the stays of each client, as `TRIPS`.

    A trip begins with the last fix of a stay, or with the client's first, and ends with the first fix of the next stay,
    or with the client's last; both are counted. So stays and trips take turns, and fill a client's time from its first
    fix to its last. A client that was seen once, and did not stay, made no trip.
    """
    return _spans(fixes, Tracks.trips, TRIPS, radius, least)


def _spans(fixes: DataFrame, find: Find, columns: pa.Schema, radius: float, least: timedelta) -> DataFrame:
    if not (radius >= 0 and least >= timedelta(0)):
        raise PipelineError(f"nobody stays within {radius} m for {least}; give a radius and a time from 0 up")
    found = partial(_found, find=find, radius=float(radius), least=least // timedelta(microseconds=1))
    return _in_order(_located(fixes)).mapInArrow(found, from_arrow_schema(columns))


def _found(batches: Batches, find: Find, radius: float, least: int) -> Batches:
    return (find(Tracks(batch), radius, least) for batch in _whole_clients(batches))


class Tracks:
    """The fixes of whole clients, in order, with all columns of `MOVES` and a coordinate each."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._starts = _starts(batch)
        self._time = np.array(batch.column("time").view(pa.int64()))
        self._x, self._y, self._space = in_space(reals(batch, "x"), reals(batch, "y"))

    def stays(self, radius: float, least: int) -> pa.RecordBatch:
        first, last = self._stays(radius, least)
        rest = STAYS.names[len(SPAN) :]
        return self._made(first, last, {name: self._batch.column(name).take(pa.array(first)) for name in rest})

    def trips(self, radius: float, least: int) -> pa.RecordBatch:
        first, last = _between(self._starts, *self._stays(radius, least))
        x, y = self._x, self._y
        steps = np.append(lengths(x[:-1], y[:-1], x[1:], y[1:], True), 0.0)
        ends = np.column_stack((first, last)).ravel()
        rest = {
            "length": np.add.reduceat(steps, ends)[::2] if len(ends) else np.zeros(0),
            "straight": lengths(x[first], y[first], x[last], y[last], True),
            "from_x": x[first],
            "from_y": y[first],
            "to_x": x[last],
            "to_y": y[last],
        }
        return self._made(first, last, {name: pa.array(column) for name, column in rest.items()})

    def _stays(self, radius: float, least: int) -> tuple[Wholes, Wholes]:
        return _stays(self._starts, self._time, self._x, self._y, self._space, radius, least)

    def _made(self, first: Wholes, last: Wholes, rest: dict[str, pa.Array]) -> pa.RecordBatch:
        at, until = pa.array(first), pa.array(last)
        span = {
            "client": self._batch.column("client").take(at),
            "start": self._batch.column("time").take(at),
            "end": self._batch.column("time").take(until),
            "duration": pa.array((self._time[last] - self._time[first]) / MICROS),
            "fixes": pa.array(last - first + 1),
        }
        return pa.RecordBatch.from_pydict(span | rest)


@njit
def _stays(
    starts: Wholes, time: Wholes, x: Reals, y: Reals, space: Reals, radius: float, least: int
) -> tuple[Wholes, Wholes]:
    """The first and the last fix of each stay."""
    first, last = np.empty(len(time), np.int64), np.empty(len(time), np.int64)
    n = 0
    for k in range(len(starts) - 1):
        i, end = starts[k], starts[k + 1]
        while i < end:
            j = i
            while j + 1 < end and _are_near(x, y, space, i, j + 1, radius):
                j += 1
            if time[j] - time[i] >= least:
                first[n], last[n] = i, j
                n += 1
                i = j
            i += 1
    return first[:n], last[:n]


@njit
def _between(starts: Wholes, first: Wholes, last: Wholes) -> tuple[Wholes, Wholes]:
    """The first and the last fix of each trip, given those of the stays."""
    room = len(first) + len(starts)
    begins, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    n, stay = 0, 0
    for k in range(len(starts) - 1):
        at = starts[k]
        while stay < len(first) and first[stay] < starts[k + 1]:
            if first[stay] > at:
                begins[n], ends[n] = at, first[stay]
                n += 1
            at = last[stay]
            stay += 1
        if at < starts[k + 1] - 1:
            begins[n], ends[n] = at, starts[k + 1] - 1
            n += 1
    return begins[:n], ends[:n]


# ---- shared ------------------------------------------------------------------------------------------


def _located(fixes: DataFrame) -> DataFrame:
    """The columns of `MOVES`, of fixes with a coordinate on the earth."""
    require(fixes, "client", "time", "x", "y")
    columns = [f.name if f.name in fixes.columns else F.lit(None).cast(f.dataType).alias(f.name) for f in FIXES]
    on_earth = F.col("x").between(-180, 180) & F.col("y").between(-90, 90)
    return fixes.select(*columns).where(on_earth & F.col("client").isNotNull() & F.col("time").isNotNull())


def _in_order(fixes: DataFrame) -> DataFrame:
    """Each client in one partition, its fixes together and by time; of those at one time, the least first."""
    others = [f.name for f in fixes.schema.fields if f.name not in MOVES.names and _has_order(f)]
    names = [name for name in MOVES.names if name in fixes.columns] + sorted(others)
    # A number that is missing is greater than all others, and a place that is missing less.
    order = [F.asc_nulls_first(name) if name == "place" else F.asc_nulls_last(name) for name in names]
    # Each partition needs a Python worker for itself, so two a core, not the 200 that Spark would make.
    parts = 2 * fixes.sparkSession.sparkContext.defaultParallelism
    return fixes.repartition(parts, "client").sortWithinPartitions(*order)


def _has_order(field: StructField) -> bool:
    return isinstance(field.dataType, AtomicType) and not isinstance(field.dataType, VariantType)


def _whole_clients(batches: Batches) -> Batches:
    """The rows of a sorted partition, cut only between clients."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not len(batch):
            continue
        last = int(_starts(batch)[-2])
        follows = not held or held[-1].column("client")[-1] == batch.column("client")[0]
        if last == 0 and follows:
            held.append(batch)
        else:
            yield pa.concat_batches([*held, batch.slice(0, last)])
            held = [batch.slice(last)]
    if held:
        yield pa.concat_batches(held)


def _starts(batch: pa.RecordBatch) -> Wholes:
    """Where each client begins, and where the last one ends."""
    client = batch.column("client")
    turns = pc.not_equal(client[1:], client[:-1]).fill_null(True)
    found: Wholes = np.concatenate(([0], np.flatnonzero(turns) + 1, [len(batch)]))
    return found


@njit
def _are_near(x: Reals, y: Reals, space: Reals, i: int, j: int, metres: float) -> bool:
    """Whether two fixes are at most so far apart. A straight line decides; if not, the geodesic solver does."""
    dx, dy, dz = space[i, 0] - space[j, 0], space[i, 1] - space[j, 1], space[i, 2] - space[j, 2]
    chord = math.sqrt(dx * dx + dy * dy + dz * dz)
    sure, most = band(metres, True)
    if chord <= sure:
        return True
    if chord > most:
        return False
    with objmode(near="boolean"):
        near = bool(lengths(x[i : i + 1], y[i : i + 1], x[j : j + 1], y[j : j + 1], True)[0] <= metres)
    return near  # noqa: RET504  # what leaves the block must have a name
