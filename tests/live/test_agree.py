"""A live broker, a backtest and a stream of the same log tell the same: ids, contents, and order."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from nearcast.client import Client
from nearcast.errors import NearcastError
from nearcast.language.oplog import decode_op, encode_notification
from nearcast.log.export import Exported, export
from nearcast.log.server import NatsServer
from nearcast.match.reference import Reference
from nearcast.model import schema
from nearcast.model.notification import Notification
from nearcast.stream.backtest import Backtest, run_backtest
from nearcast.stream.streaming import Stream, run_stream
from tests.broker.heard import Heard, everything, running, tells_up_to
from tests.gateway.running import seal_of
from tests.gateway.test_serve import served
from tests.live.scene import Scene, real, synthetic
from tests.match.traces import DATA
from tests.stream.test_backtest import rows_in, rows_of

SECONDS = 9.0
WATCHED = ("desk", "watch", "scout", "ann", "bob")


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(real, marks=pytest.mark.skipif(not DATA.exists(), reason="the traces are not here")),
        pytest.param(synthetic, marks=pytest.mark.skipif(DATA.exists(), reason="there are real traces")),
    ],
)
def test_three_ways_of_one_log(trace: Any, spark: SparkSession, tmp_path: Path) -> None:
    rows, zones = trace()
    with NatsServer(tmp_path / "nats") as server:
        with served(tmp_path, "--nats", server.url, "--keep", "1000000") as (_, at):
            heard = asyncio.run(live(at, rows, zones))
            seal = asyncio.run(seal_of(server.url))
        told_live, exported = asyncio.run(ended(server.url, tmp_path / "log.jsonl"))
        stream = Stream(tmp_path / "streamed", tmp_path / "checkpoint", nats=server.url, most=200, once=True)
        run_stream(spark, stream)
    backtest = Backtest(tmp_path / "tested", log=[str(tmp_path / "log.jsonl")], shards=2, slices=2)
    summary = run_backtest(spark, backtest)
    told, refused = defined(tmp_path / "log.jsonl")

    assert {(n.kind.value, n.reason.value) for n in told} >= EXPECTED
    assert [content(json.loads(one.payload)) for one in told_live] == [content(json.loads(said(n))) for n in told]
    assert [(one.client, one.id) for one in told_live] == [(n.subscriber, n.id) for n in told]
    assert rows_in(tmp_path / "tested") == rows_of(told)
    assert rows_in(tmp_path / "streamed") == rows_of(told)
    assert in_order(tmp_path / "streamed") == by_day_and_client(told)
    for client in WATCHED:
        ids = [seal.notification(n.id, n.cause.kind) for n in told if n.subscriber == client]
        assert heard[client] == ids[: len(heard[client])], client
        assert len(heard[client]) > 10, client
    assert (summary["rows"], exported.unreadable) == (exported.ops, 0)
    assert (summary["refused"], refused) == (3, 3)


EXPECTED = {
    ("snapshot", "subscribed"), ("enter", "moved"), ("leave", "moved"), ("enter", "dwell"), ("leave", "gone"),
    ("leave", "retracted"), ("enter", "while"), ("leave", "while"), ("reading", "emitted"), ("update", "moved"),
    ("leave", "defined"), ("enter", "attributes"),
}  # fmt: skip
"""Kinds and reasons that the scene is meant to bring about."""


async def live(at: dict[str, str], rows: Any, zones: dict[str, Any]) -> dict[str, list[str]]:
    """Play the scene, and give the ids that clients heard meanwhile."""
    heard: dict[str, list[str]] = defaultdict(list)

    async def listen(name: str) -> None:
        async with Client(at["url"], at["token"], client=name) as me, aclosing(me.events("0")) as events:
            async for event in events:
                heard[name].append(event.id)

    listening = [asyncio.create_task(listen(name)) for name in WATCHED]
    await Scene(at["url"], at["token"], zones).play(rows, SECONDS)
    await asyncio.sleep(2.5)  # for what dwells, and for leases to end
    for task in listening:
        task.cancel()
    await asyncio.gather(*listening, return_exceptions=True)
    return heard


async def ended(url: str, path: Path) -> tuple[list[Heard], Exported]:
    """The log in a file, and all that was told of it, when nobody writes any more."""
    exported = await export(url, path)
    async with running(url) as broker:
        await tells_up_to(broker, exported.last)
    return await everything(url), exported


def defined(path: Path) -> tuple[list[Notification], int]:
    """What the reference tells of a file of ops, and how many it refuses."""
    reference, told, refused = Reference(), list[Notification](), 0
    for line in path.read_bytes().splitlines():
        try:
            told += reference.apply(decode_op(line))
        except NearcastError:
            refused += 1
    return told, refused


def said(n: Notification) -> bytes:
    return encode_notification(n)


def content(notification: dict[str, Any]) -> dict[str, Any]:
    """Without the evidence, which a run of fixes does not find."""
    return {**notification, "why": None}


def in_order(out: Path) -> dict[tuple[str, str], list[str]]:
    """The ids of each day and client, in the order of the batches."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(out.glob("day=*/*.parquet"), key=lambda path: path.name):
        for row in pq.read_table(path, schema=schema.NOTIFICATIONS).to_pylist():
            found[str(row["time"].date()), row["subscriber"]].append(row["id"])
    return found


def by_day_and_client(told: list[Notification]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for n in told:
        found[json.loads(said(n))["time"][:10], n.subscriber].append(n.id)
    return found
