"""Whoever sends more than a broker can apply waits, and nobody else does."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator

import httpx
import pytest

from nearcast.gateway.commit import Committer
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import Metrics
from nearcast.gateway.pace import AWAY, FIRST, FORGOTTEN, MOST, SHARE, Applying, Pace
from nearcast.log.server import NatsServer
from tests.gateway.running import Live, gateway
from tests.gateway.test_commit import lines_of

STATEMENTS = 150
"""So many make an op take ten milliseconds and more."""
SLOW = "SELECT WHERE &location WITHIN 30 m OF #location AND &a > {}"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def nobody() -> Applying:
    raise AssertionError


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(nobody, clock)


def send(pace: Pace, clock: Clock, sequence: int, ops: int) -> None:
    pace.begin(ops)
    pace.place(sequence, ops, clock.now)


def test_no_more_than_some_may_be_ahead(pace: Pace, clock: Clock) -> None:
    send(pace, clock, 1, FIRST - 10)
    assert pace.room == 10
    send(pace, clock, 2, 10)
    assert pace.room == 0
    pace.look(Applying(1, 1))
    assert pace.room > FIRST - 10, "it was soon, and someone waited"


def test_one_that_is_slow_gets_fewer_until_it_is_one(pace: Pace, clock: Clock) -> None:
    send(pace, clock, 1, FIRST)
    found = []
    for _ in range(20):
        clock.now += 1
        pace.look(Applying(0, 1))
        assert pace.room == 0
        found.append(pace.most)
    assert found[:3] == [FIRST // 2, FIRST // 4, FIRST // 8]
    assert found[-1] == 1
    pace.look(Applying(1, 0))
    assert pace.room == 1


def test_one_that_is_fast_gets_more_and_more(pace: Pace, clock: Clock) -> None:
    for sequence in range(1, 40):
        send(pace, clock, sequence, pace.room)
        assert pace.room == 0
        clock.now += 0.01
        pace.look(Applying(sequence, 0))
    assert pace.most == MOST
    clock.now += 10
    send(pace, clock, 40, 1)
    pace.look(Applying(40, 0))
    assert pace.most == FIRST, "long ago is not now"


def test_how_many_are_first_follows_from_how_long_an_op_took(pace: Pace, clock: Clock) -> None:
    found = []
    for sequence, seconds in enumerate([0.0, 1e-6, 0.025, 10.0, 0.01]):
        clock.now += 10
        send(pace, clock, sequence, 1)
        pace.look(Applying(sequence, 0, seconds))
        found.append(pace.most)
    assert found == [FIRST, FIRST, 10, 1, 25]


def test_dear_ops_that_are_held_back_wait_for_the_tick_that_applies_them(pace: Pace, clock: Clock) -> None:
    """Each is in the log and noted at once, so nothing ever is ahead."""
    pace.look(Applying(0, 0, 0.05))
    sent = 0
    for sequence in range(1, 1001):
        if room := pace.room:
            send(pace, clock, sequence, room)
            sent += room
        pace.look(Applying(sequence, 0, 0.05))
        clock.now += 0.01
    assert sent == pytest.approx(200 * SHARE, abs=10), "twenty a second, in ten seconds"


def test_one_op_that_took_long_has_nobody_wait_for_long(pace: Pace, clock: Clock) -> None:
    pace.look(Applying(0, 0, 10.0))
    waits = []
    for sequence in range(1, 20):
        since = clock.now
        while not pace.room:
            clock.now += 0.01
        waits.append(clock.now - since)
        send(pace, clock, sequence, 1)
        pace.look(Applying(sequence, 0, 10.0))
    assert max(waits) < 0.2


def test_more_only_if_someone_waits(pace: Pace, clock: Clock) -> None:
    for sequence in range(1, 40):
        send(pace, clock, sequence, 100)
        pace.look(Applying(sequence, 0))
    assert pace.most == FIRST


def test_a_broker_that_is_behind_with_what_was_there_is_not_waited_for(pace: Pace, clock: Clock) -> None:
    send(pace, clock, 100_001, FIRST)
    clock.now += 1
    pace.look(Applying(1, 100_000))
    assert pace.room == FIRST, "however many are ahead"
    pace.look(Applying(100_000, 1))
    assert pace.room == 0


def test_nor_is_one_that_is_away(pace: Pace, clock: Clock) -> None:
    send(pace, clock, 1, FIRST)
    clock.now += AWAY - 1
    pace.miss()
    assert pace.room == 0, "it may only be another's turn"
    clock.now += 2
    pace.miss()
    assert pace.room == FIRST
    send(pace, clock, 2, 5)
    pace.look(Applying(2, 0))
    assert pace.room == FIRST, "it is back, and nothing is ahead of it"


def test_nor_one_that_reads_another_log(pace: Pace, clock: Clock) -> None:
    send(pace, clock, 1000, FIRST)
    clock.now += FORGOTTEN + 1
    pace.look(Applying(3, 0))
    assert pace.room > 0


def test_what_failed_is_not_ahead(pace: Pace) -> None:
    pace.begin(FIRST)
    assert pace.room == 0
    pace.fail(FIRST)
    assert pace.room == FIRST


# ---- whose turn it is ----------------------------------------------------------------------------------


def said(client: str, count: int) -> list[bytes]:
    return [f'"{client} {number}"'.encode() for number in range(count)]


async def test_one_with_little_does_not_wait_for_one_with_much(server: NatsServer) -> None:
    applied = Applying(0, 0)

    async def ask() -> Applying:
        return applied

    async with Link(server.url) as link:
        pace = Pace(ask)
        committer = Committer(link, Metrics(), pace)
        running = asyncio.create_task(pace.run())
        much = committer.enqueue(said("much", 5000), "much")
        await asyncio.sleep(0.1)
        little = [committer.enqueue(said(f"little{n}", 3), f"little{n}") for n in range(4)]
        assert not any(one.done() for one in little), "as much is ahead as may be"
        applied = Applying(1, 0)
        await asyncio.wait_for(asyncio.gather(*little), 5)
        assert not much.done()
        await committer.close()
        assert (await much).index >= 0, "at the end all is sent"
        running.cancel()
    packets = await lines_of(server.url)
    assert len(packets[0]) == FIRST
    lines = [line for packet in packets for line in packet]
    for client, count in (("much", 5000), *((f"little{n}", 3) for n in range(4))):
        assert [line for line in lines if line.startswith(f'"{client} ')] == [
            line.decode() for line in said(client, count)
        ]
    assert len(set(lines)) == len(lines) == 5012


async def test_one_waits_only_as_long_as_dear_ops_take(server: NatsServer) -> None:
    """Also if nothing is ahead: what was sent is in the log, noted, and held back."""

    async def ask() -> Applying:
        return Applying(10**9, 0, 0.02)

    async with Link(server.url) as link:
        pace = Pace(ask)
        committer = Committer(link, Metrics(), pace)
        running = asyncio.create_task(pace.run())
        await committer.commit(said("first", 1))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        async with asyncio.timeout(10):
            await asyncio.gather(*(committer.commit(said(f"one {number}", 1)) for number in range(50)))
        assert time.monotonic() - began > 0.5
        running.cancel()


async def test_one_who_waits_for_answers_is_soon_through(server: NatsServer) -> None:
    """However many have much to send, and they are not kept from it."""

    async def ask() -> Applying:
        return Applying(10**9, 0, 0.02)

    async with Link(server.url) as link:
        pace = Pace(ask)
        committer = Committer(link, Metrics(), pace)
        running = asyncio.create_task(pace.run())
        await committer.commit(said("first", 1))
        await asyncio.sleep(0.1)
        crowd = [committer.enqueue(said(f"much{n}", 100), f"much{n}") for n in range(20)]
        waits = []
        for number in range(20):
            began = time.monotonic()
            await asyncio.wait_for(committer.commit([f'"little {number}"'.encode()], "little"), 10)
            waits.append(time.monotonic() - began)
        assert statistics.median(waits) < 0.25, waits
        assert not any(one.done() for one in crowd)
        await committer.close()
        await asyncio.gather(*crowd)
        running.cancel()
    lines = [line for packet in await lines_of(server.url) for line in packet]
    before = lines[: lines.index('"little 19"')]
    assert {line.split()[0] for line in before} >= {f'"much{n}' for n in range(20 // 2)}, "others had turns meanwhile"


async def test_one_who_fills_the_queue_leaves_room_for_others(server: NatsServer) -> None:
    async with Link(server.url) as link:
        committer = Committer(link, Metrics(), waiting=10_000)
        first = committer.enqueue([b"x" * 4000], "much")
        with pytest.raises(Exception, match="more ops wait"):
            committer.enqueue([b"x" * 4000], "much")
        await asyncio.gather(first, committer.enqueue([b"x" * 4000], "little"))


# ---- a slow broker -------------------------------------------------------------------------------------


@pytest.fixture
def live(server: NatsServer) -> Iterator[str]:
    with Live(server.url):
        yield server.url


async def test_nobody_waits_for_those_who_flood_a_slow_broker(live: str) -> None:
    async with gateway(live) as door:
        boss = await door.client("operator")
        for number in range(STATEMENTS):
            path = f"/v1/subscriptions/{number}"
            answer = await boss.put(path, json={"text": SLOW.format(number)}, params={"client": "watcher"})
            assert answer.status_code == 200, answer.text
        await _move(boss, "watcher")
        stop, sent = asyncio.Event(), 0

        async def flood(name: str) -> None:
            nonlocal sent
            client = await door.client(name)
            body = [{"lon": 1 + n / 1e6, "lat": 2} for n in range(25)]
            assert (await client.put("/v1/publications/p", json={"text": "PUBLISH"})).status_code == 200
            while not stop.is_set():
                answer = await client.post("/v1/positions", json=body, timeout=60)
                assert answer.status_code in (202, 429), answer.text
                if answer.status_code == 202:
                    sent += len(body)

        floods = [asyncio.create_task(flood(f"stranger{n}")) for n in range(4)]
        await asyncio.sleep(2)
        normal, waits = await door.client("normal"), []
        for _ in range(10):
            began = time.monotonic()
            await _move(normal, None)
            assert (await normal.get("/v1/subscriptions")).status_code == 200
            waits.append(time.monotonic() - began)
        stop.set()
        await asyncio.gather(*floods)
    assert sent > 100, "they are served, too"
    assert max(waits) < 5, waits


async def _move(client: httpx.AsyncClient, name: str | None) -> None:
    answer = await client.post("/v1/positions", json={"lon": 1, "lat": 2, **({"client": name} if name else {})})
    assert answer.status_code == 202, answer.text
