"""Webhooks that are far behind read from the stream on disk: in bounded pages, and with a gap if not all is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import nats

from nearcast.bench.endpoints import Asked, Endpoint
from nearcast.gateway.ask import Broker
from nearcast.gateway.delivery import Hub
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import FeedMetrics
from nearcast.gateway.outbox import Outbox
from nearcast.gateway.seal import Seal
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.log.subjects import out_subject
from tests.gateway.running import notification, teller
from tests.webhooks.running import QUICK, answers, delivering, event_of, ids, scene, status, until, until_true

BIG = 300_000


async def tell_big(url: str, name: str, count: int, first: int = 1) -> list[str]:
    """Notifications that fill a page with a few."""
    client = await nats.connect(url)
    told = []
    for number in range(first, first + count):
        said = {**notification(number), "content": "x" * BIG}
        await client.jetstream().publish(out_subject(name), json.dumps(said).encode())
        told.append(said["id"])
    await client.close()
    return told


async def test_pages_are_bounded_in_bytes(server: NatsServer) -> None:
    async with Link(server.url) as link:
        outbox = Outbox(link)
        await tell_big(server.url, "ann", 10)
        subject = out_subject("ann")
        page = await outbox.page(subject, 0, 100, size=4 * BIG)
        assert (len(page.told), page.is_last) == (3, False)
        page = await outbox.page(subject, 3, 100, size=1000)
        assert ([told.sequence for told in page.told], page.is_last) == ([4], False)
        page = await outbox.page(subject, 3, 100, size=20 * BIG)
        assert (len(page.told), page.is_last) == (7, True)
        assert (await outbox.page(subject, 10, 100, size=1000)) == ([], True)


async def test_each_wait_is_as_long_as_it_is_told_to_be(server: NatsServer) -> None:
    """Though one timer serves all of them: of a wait that was shorter, longer, or ended early by an event."""
    async with (
        Link(server.url) as link,
        teller(server.url) as told,
        Hub(server.url, Broker(link), FeedMetrics()) as hub,
    ):
        with hub.listen("ann", 0) as feed:
            loop = asyncio.get_running_loop()
            for patience, hears in ((5.0, True), (0.2, False), (0.4, False), (5.0, True), (0.3, False), (0.1, False)):
                began, taking = loop.time(), asyncio.ensure_future(feed.take(patience))
                await asyncio.sleep(0.05)
                if hears:
                    await told.tell("ann")
                assert len(await taking) == hears
                assert hears or patience <= loop.time() - began < patience + 4
            taking = asyncio.ensure_future(feed.take(60))
            await asyncio.sleep(0.05)
        assert await taking == []


async def test_nobody_is_further_than_what_was_handed_out(server: NatsServer) -> None:
    """Also while it reads from disk: whoever ends then goes on where it was."""
    async with Link(server.url) as link, teller(server.url) as told:
        for _ in range(50):
            await told.tell("ann")
        async with Hub(server.url, Broker(link), FeedMetrics(), page=20) as hub:
            assert hub.position == 50
            with hub.listen("ann", 0) as feed:
                for reached in (20, 40, 50):
                    before = feed.last
                    taking = asyncio.ensure_future(feed.take(5))
                    while not taking.done():
                        assert feed.reached == before
                        await asyncio.sleep(0)
                    assert (await taking)[-1].sequence == reached
                await told.tell("bob")
                await until(lambda: hub.position == 51)
                assert feed.reached == 51


async def test_what_is_large_and_far_behind_arrives(server: NatsServer) -> None:
    async with scene(server) as at, Endpoint() as endpoint, Endpoint() as batched:
        await at.add(endpoint.url)
        await at.add(batched.url, "batched", batch=100)
        told = await tell_big(server.url, at.name, 30)
        with delivering(server.url, *QUICK):
            await until(lambda: len(ids(endpoint)) == len(ids(batched)) == 30)
        assert ids(endpoint) == ids(batched) == told
        assert max(len(asked.body) for asked in batched.asked) <= 2**20


async def test_a_gap_is_said_and_the_present_state_follows(server: NatsServer) -> None:
    await _with_gap(server, answers())


async def test_a_gap_is_gone_over_though_its_events_fail(server: NatsServer) -> None:
    """Each of them fails once, which does not begin it anew."""
    seen: set[str] = set()

    async def answer(asked: Asked) -> bytes:
        key = asked.headers["webhook-id"]
        is_new = key not in seen
        seen.add(key)
        return status(503 if is_new else 200)

    await _with_gap(server, answer)


async def _with_gap(server: NatsServer, answer: Callable[[Asked], Awaitable[bytes | None]]) -> None:
    async with Log(server.url) as log:
        await log.create(live=True, out_bytes=2**20)
    async with scene(server) as at, Endpoint(answer) as endpoint:
        await at.told.answer()
        await at.add(endpoint.url)
        await at.do("pause")
        told = await tell_big(server.url, at.name, 10, first=100)
        state = [{**notification(number, "snapshot"), "id": f"now-{number}"} for number in range(3)]
        at.told.state = {"sequence": 10, "notifications": state}
        with delivering(server.url, *QUICK):
            await at.do("resume")
            last = await tell_big(server.url, at.name, 1, first=200)
            await until(lambda: ids(endpoint)[-1:] == last)
        taken = list(dict.fromkeys(ids(endpoint)))
        assert not set(taken) & set(told[:5])
        assert taken[1:4] == ["now-0", "now-1", "now-2"]
        assert event_of(endpoint.asked[0])["type"] == "nearcast.gap"
        assert taken[4:] == last


async def test_a_quiet_one_moves_on_with_the_stream(server: NatsServer) -> None:
    """Others are told so much that the stream drops what was there; it had missed nothing, and is told of no gap."""
    async with Log(server.url) as log:
        await log.create(live=True, out_bytes=2**20)
    async with scene(server) as at, Endpoint() as endpoint:
        await at.add(endpoint.url)
        with delivering(server.url, *QUICK) as process:
            [first] = await at.tell()
            await until(lambda: ids(endpoint) == [first])
            await tell_big(server.url, "bob", 10)
            async with Log(server.url) as log:
                seal = await Seal.of(log)

            async def moved() -> bool:
                return seal.open((await at.see())["cursor"]) == 11

            await asyncio.sleep(1)  # until it has been told of what was for others; nothing shows that it was
            process.terminate()
            await asyncio.to_thread(process.wait, 10)
            await until_true(moved)
        with delivering(server.url, *QUICK):
            [second] = await at.tell()
            await until(lambda: ids(endpoint) == [first, second])
