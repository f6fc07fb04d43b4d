"""Helpers: a broker that runs for a while, logs in packets, and what clients hear."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.js import api

from nearcast.broker.service import Broker, Settings
from nearcast.language.oplog import encode_op
from nearcast.log.client import Log
from nearcast.log.connection import connection
from nearcast.log.ending import end
from nearcast.log.packet import Packet, encode_lines
from nearcast.log.subjects import BATCH, ORDINAL, OUT_STREAM, ask_subject, client_of_subject
from nearcast.model import op as ops
from nearcast.model.notification import Notification

QUIET = Settings(ticks=False, snapshot_seconds=3600, lease=1)
"""A broker that writes nothing into the log, and no snapshots."""


class Heard(NamedTuple):
    """A message of the stream of notifications."""

    client: str
    id: str
    batch: int
    ordinal: int
    payload: bytes


def packets_of(log: Sequence[ops.Op], cuts: Iterable[int]) -> list[Packet]:
    """The log in packets that end where it is cut."""
    ends = sorted({cut for cut in cuts if 0 < cut < len(log)} | {len(log)})
    return [encode_lines(map(encode_op, log[a:b])) for a, b in zip([0, *ends], ends, strict=False)]


async def append(url: str, packets: Iterable[Packet]) -> int:
    """Append one after the other, and give the last sequence."""
    last = 0
    async with Log(url) as log:
        await log.create(live=True)
        for packet in packets:
            last = await log.append(packet)
    return last


@asynccontextmanager
async def running(url: str, name: str = "one", settings: Settings = QUIET) -> AsyncIterator[Broker]:
    """A broker, for a while."""
    broker = Broker(url, name, settings)
    work = asyncio.create_task(broker.run())
    try:
        yield broker
    finally:
        await end(work)
        if not work.cancelled():
            work.result()


async def until(what: Any, seconds: float = 30) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.005)


async def tells_up_to(broker: Broker, sequence: int) -> None:
    """Wait until a broker has told all that a packet and those before it tell."""
    await until(lambda: has_told(broker, sequence))


def has_told(broker: Broker, sequence: int) -> bool:
    """Whether it has told all that a packet and those before it tell."""
    if broker.state is None or broker.state.sequence < sequence or broker.writer is None:
        return False
    return broker.writer.acknowledged == broker.writer.sequence


async def everything(url: str) -> list[Heard]:
    """All that was told, in order."""
    found: list[Heard] = []
    async with connection(url) as client:
        state = (await client.jetstream().stream_info(OUT_STREAM)).state
        if not state.messages:
            return []
        subscription = await client.jetstream().subscribe(
            "", stream=OUT_STREAM, ordered_consumer=True, deliver_policy=api.DeliverPolicy.ALL
        )
        while len(found) < state.messages:
            message = await subscription.next_msg(5)
            headers = message.headers or {}
            place = int(headers[BATCH]), int(headers[ORDINAL])
            found.append(Heard(client_of_subject(message.subject), headers["Nats-Msg-Id"], *place, message.data))
        await subscription.unsubscribe()
    return found


def told(heard: Iterable[Heard]) -> list[tuple[str, str]]:
    return [(one.client, one.id) for one in heard]


def expected(notifications: Iterable[Notification]) -> list[tuple[str, str]]:
    return [(n.subscriber, n.id) for n in notifications]


async def ask(nats: Client, question: str, **asked: Any) -> dict[str, Any]:
    answer = await nats.request(ask_subject(question), json.dumps(asked).encode(), 5)
    found: dict[str, Any] = json.loads(answer.data)
    return found
