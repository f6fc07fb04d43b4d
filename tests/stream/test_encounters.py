from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from nearcast.feed import notification_batch
from nearcast.language.oplog import decode_op
from nearcast.match.reference import Reference
from nearcast.model.moment import MICROS
from nearcast.model.notification import Kind, Notification, Reason, by_fix
from nearcast.model.schema import NOTIFICATIONS
from nearcast.stream.encounters import NEEDED, PARTIES, encounters
from tests.seeds import FIRST_SEED

S, E, L, R = Kind.SNAPSHOT, Kind.ENTER, Kind.LEAVE, Kind.READING
Row = tuple[int | None, int | None, bool]
"""When it started, when it ended, in seconds, and whether it is open."""


def told(events: Iterable[tuple[int, Kind]], **about: str | None) -> list[Notification]:
    parties: dict[str, Any] = {"subscription": "near", "subscriber": "ann", "publisher": "bob", "publication": "car"}
    parties |= {"region": None, "peer": None, **about}
    return [
        Notification(f"{about}{i}", time * MICROS, kind, reason=Reason.MOVED, cause=by_fix("bob", time), **parties)
        for i, (time, kind) in enumerate(events)
    ]


def met(spark: SparkSession, notifications: list[Notification]) -> list[dict[str, Any]]:
    table = pa.Table.from_batches([notification_batch(notifications)])
    rows = [row.asDict() for row in encounters(spark.createDataFrame(table)).collect()]
    return sorted(rows, key=lambda row: (str(row["start"] or row["end"]), row["end"] is None))


def spans(rows: Iterable[dict[str, Any]]) -> list[Row]:
    def seconds(time: Any) -> int | None:
        return None if time is None else int(time.timestamp())

    return [(seconds(row["start"]), seconds(row["end"]), row["open"]) for row in rows]


HISTORIES: dict[str, tuple[list[tuple[int, Kind]], list[Row]]] = {
    "nothing": ([], []),
    "one, and another": ([(1, E), (4, L), (6, E), (9, L)], [(1, 4, False), (6, 9, False)]),
    "the last is open": ([(1, E), (4, L), (6, E)], [(1, 4, False), (6, None, True)]),
    "a snapshot is an enter": ([(1, S), (4, L)], [(1, 4, False)]),
    "readings are no enters": ([(1, R), (2, E), (3, R), (4, L)], [(2, 4, False)]),
    "it begins in the middle": ([(4, L), (6, E)], [(None, 4, False), (6, None, True)]),
    "a part is missing": ([(1, E), (2, L), (5, L), (6, E)], [(1, 2, False), (None, 5, False), (6, None, True)]),
    "subscribed again": ([(1, S), (5, S), (7, L)], [(1, None, False), (5, 7, False)]),
    "in passing": ([(3, L), (3, E)], [(3, 3, False)]),
    "in passing, twice": ([(3, E), (3, L), (5, L), (5, E)], [(3, 3, False), (5, 5, False)]),
    "out for no time": ([(1, E), (3, E), (3, L), (5, L)], [(1, 3, False), (3, 5, False)]),
    "out for no time, in the middle": ([(3, E), (3, L), (5, L)], [(None, 3, False), (3, 5, False)]),
    "in again at once": ([(3, E), (3, E), (3, L)], [(3, 3, False), (3, None, True)]),
    "out at last": ([(1, E), (3, L), (3, E), (3, L)], [(1, 3, False), (3, 3, False)]),
}


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Row]]:
    """All histories at once, each of another region."""
    rows = met(spark, [n for name, (events, _) in HISTORIES.items() for n in told(events, region=name)])
    return {name: spans(row for row in rows if row["region"] == name) for name in HISTORIES}


@pytest.mark.parametrize("name", HISTORIES)
def test_enters_and_leaves_make_encounters(found: dict[str, list[Row]], name: str) -> None:
    assert found[name] == HISTORIES[name][1]


def test_parties_that_differ_in_anything_are_others(spark: SparkSession) -> None:
    others = [told([(1, E)]), *(told([(2, L)], **{party: "else"}) for party in PARTIES)]
    rows = met(spark, [n for some in others for n in some])
    assert spans(rows) == [(1, None, True), *[(None, 2, False)] * len(PARTIES)]


def test_what_was_delivered_twice_counts_once(spark: SparkSession) -> None:
    once = told([(1, E), (4, L)])
    assert spans(met(spark, once + once)) == [(1, 4, False)]


def test_it_says_how_long_and_why_it_ended(spark: SparkSession) -> None:
    row, later = met(spark, told([(1, E), (4, L), (5, E)]))
    assert row["duration"] == 3.0
    assert row["reason"] == "moved"
    assert later["duration"] is None
    assert later["reason"] is None


def test_events_are_sent_to_their_parties_once(spark: SparkSession) -> None:
    frame = encounters(spark.createDataFrame([], schema=_columns()))
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == 1


def _columns() -> str:
    kinds = {"time": "timestamp"}
    return ", ".join(f"{name} {kinds.get(name, 'string')}" for name in NEEDED)


def test_a_history_comes_back_whatever_order_its_rows_are_in(spark: SparkSession) -> None:
    """Of clients that come and go so fast that much happens at one time; every other one was there from the start."""
    random = Random(FIRST_SEED)
    rows: list[Notification] = []
    expected: dict[str, list[Row]] = {}
    for name in map(str, range(200)):
        times = sorted(random.choices(range(6), k=2 * random.randint(1, 5)))
        pairs = list(zip(times[::2], times[1::2], strict=True))
        expected[name] = [(start, end, False) for start, end in pairs]
        events = [(time, kind) for pair in pairs for time, kind in zip(pair, (E, L), strict=True)]
        if int(name) % 2:
            expected[name][0] = (None, times[1], False)
            del events[0]
        rows += told(events, region=name)
    random.shuffle(rows)
    found = met(spark, rows)
    for name, history in expected.items():
        assert sorted(map(str, spans(row for row in found if row["region"] == name))) == sorted(map(str, history))


LOG = """
{"op": "move", "time": 0, "client": "ann", "lon": 0, "lat": 0}
{"op": "relation", "time": 0, "text": "RELATION close WHERE &location WITHIN 100 m OF #location"}
{"op": "subscribe", "time": 0, "client": "eve", "id": "watch", "text": "SELECT FROM RELATION close"}
{"op": "move", "time": 1, "client": "bob", "lon": 0, "lat": 0}
{"op": "move", "time": 2, "client": "bob", "lon": 1, "lat": 0}
{"op": "move", "time": 3, "client": "bob", "lon": 0, "lat": 0}
"""


def test_what_the_engine_tells_about_two_clients(spark: SparkSession) -> None:
    reference = Reference()
    rows = met(spark, [n for line in LOG.split("\n")[1:-1] for n in reference.apply(decode_op(line))])
    assert spans(rows) == [(1, 2, False), (3, None, True)]
    assert {(row["subscriber"], row["publisher"], row["peer"]) for row in rows} == {("eve", "ann", "bob")}


def test_the_columns_that_are_read_are_those_of_notifications() -> None:
    assert set(NEEDED) <= set(NOTIFICATIONS.names)
