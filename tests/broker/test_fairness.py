"""A stream that is nearly full is cut where there is most, and whoever is cut is told so."""

from __future__ import annotations

import asyncio
import json

import nats
import pytest

from nearcast.broker.fairness import PART, Fairness
from nearcast.broker.outbox import Item
from nearcast.broker.writer import Writer
from nearcast.gateway.seal import BEGINNING
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.log.subjects import CUTS, OUT_STREAM, out_subject
from nearcast.log.telling import NOWHERE, Place, Tail
from tests.gateway.running import gateway, hear, ids, notification, teller

SIZE = 2**20


def items(names: list[str], first: int = 1, size: int = 100) -> list[Item]:
    made = []
    for number, name in enumerate(names, first):
        body = json.dumps(notification(number, about="x" * size)).encode()
        made.append(Item(Place(number, 0), f"id-{number}", out_subject(name), body))
    return made


async def written(server: NatsServer, *parts: list[Item], size: int = SIZE) -> None:
    """By a broker's writer, with someone who looks after fairness."""
    async with Log(server.url) as log:
        await log.create(live=True, out_bytes=size)
        fairness = Fairness(log)
        writer = Writer(log, Tail(0, NOWHERE, ""), fairness)
        tasks = [asyncio.create_task(doing) for doing in (writer.run(), fairness.run())]
        for part in parts:
            for at in range(0, len(part), 20):
                writer.give(part[at : at + 20])
                while writer.acknowledged < writer.sequence:
                    await asyncio.sleep(0.002)
        for _ in range(2):  # the first may have begun before the last was written
            fairness._looked.clear()
            fairness._more.set()
            await asyncio.wait_for(fairness._looked.wait(), 60)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def held(server: NatsServer) -> dict[str, int]:
    client = await nats.connect(server.url)
    try:
        info = await client.jetstream().stream_info(OUT_STREAM, subjects_filter="nearcast.out.*")
        return {subject.rpartition(".")[2]: count for subject, count in (info.state.subjects or {}).items()}
    finally:
        await client.close()


@pytest.mark.parametrize("size", [100, 15_000])
async def test_one_who_is_told_much_takes_nothing_from_others(server: NatsServer, size: int) -> None:
    """Four times what the stream holds; those who were told before have all of it."""
    many = 4 * SIZE // (size + 400)
    quiet = items(["bob", "eve"] * 10)
    await written(server, quiet, items(["mallory"] * many, first=21, size=size))
    counts = await held(server)
    assert (counts["bob"], counts["eve"]) == (10, 10)
    assert counts["mallory"] > 0
    async with gateway(server.url) as door, teller(server.url) as told:
        told.state = {"sequence": 20, "notifications": []}
        await told.answer()
        async with door.socket("bob", after=BEGINNING) as socket:
            assert ids(await hear(socket, 10)) == [item.id for item in quiet if item.subject == out_subject("bob")]
        async with door.socket("mallory", after=BEGINNING) as socket:
            gap, first = await hear(socket, 2)
            assert gap["type"] == "nearcast.gap"
            heard = [first, *await hear(socket, counts["mallory"] - 1)]
        assert heard[-1]["id"] == f"id-{20 + many}"
        async with door.socket("mallory", after=gap["cursor"]) as socket:
            assert ids(await hear(socket, len(heard))) == ids(heard), "once is enough"


async def test_nobody_is_cut_who_has_only_a_part(server: NatsServer) -> None:
    """Then the stream drops its oldest, whosever it is."""
    names = [f"c{number}" for number in range(round(2 / PART))]
    await written(server, items(names * 200, size=300))
    counts = await held(server)
    assert max(counts.values()) - min(counts.values()) <= 1
    client = await nats.connect(server.url)
    with pytest.raises(nats.js.errors.BucketNotFoundError):
        await client.jetstream().key_value(CUTS)
    await client.close()


async def test_a_cut_of_a_stream_that_is_gone_means_nothing(server: NatsServer) -> None:
    await written(server, items(["mallory"] * 6000, size=300))
    client = await nats.connect(server.url)
    await client.jetstream().key_value(CUTS)
    await client.jetstream().delete_stream(OUT_STREAM)
    await client.close()
    await written(server, items(["mallory"] * 3))
    async with gateway(server.url) as door, door.socket("mallory", after=BEGINNING) as socket:
        assert ids(await hear(socket, 3)) == ["id-1", "id-2", "id-3"]
