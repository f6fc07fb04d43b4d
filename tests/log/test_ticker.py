from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from nearcast.errors import LogError
from nearcast.language.oplog import decode_op
from nearcast.log.client import Log
from nearcast.log.lease import Lease
from nearcast.log.server import NatsServer
from nearcast.log.subjects import LEASES
from nearcast.log.ticker import Ticker
from nearcast.model.op import Tick

HOLDER = """
import asyncio, sys
from nearcast.log.client import Log
from nearcast.log.ticker import Ticker

async def main():
    async with Log(sys.argv[1]) as log:
        ticker = Ticker(log, "first", every=0.1, lease=1)
        print(await ticker.step(), flush=True)
        await ticker.run()

asyncio.run(main())
"""


async def ticks(log: Log) -> list[int]:
    read = [decode_op(entry.payload) async for entry in log.read(1, await log.last_sequence())]
    assert all(isinstance(op, Tick) for op in read)
    return [op.time for op in read]


async def test_one_ticks_and_the_other_waits(server: NatsServer) -> None:
    async with Log(server.url) as log:
        await log.create()
        times = iter([10, 20, 15, 40])
        one, two = (Ticker(log, name, clock=lambda: next(times), lease=30) for name in ("one", "two"))
        assert [await one.step(), await two.step(), await one.step()] == [1, None, 2]
        assert [await two.step(), await one.step()] == [None, 3]
        assert await ticks(log) == [10, 20, 20]


async def test_one_that_is_cancelled_gives_way_at_once(server: NatsServer) -> None:
    async with Log(server.url) as log:
        await log.create()
        running = asyncio.create_task(Ticker(log, "one", every=60).run())
        while await log.last_sequence() == 0:
            await asyncio.sleep(0)
        two = Ticker(log, "two")
        assert await two.step() is None
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await two.step() == 2


async def test_the_next_takes_over_when_the_first_is_killed(server: NatsServer) -> None:
    async with Log(server.url) as log:
        await log.create()
        first = subprocess.Popen([sys.executable, "-c", HOLDER, server.url], stdout=subprocess.PIPE)
        assert first.stdout is not None
        with first.stdout as said:
            assert said.readline() == b"1\n"
        second = Ticker(log, "second")
        for _ in range(20):
            assert await second.step() is None, "there are two at once"
        first.kill()
        killed = time.monotonic()
        first.wait()
        while await second.step() is None:
            assert time.monotonic() < killed + 10, "nobody takes over"
            await asyncio.sleep(0.01)
        written = await ticks(log)
        assert written == sorted(written)


async def test_a_holder_that_slept_finds_out_that_it_lost(server: NatsServer) -> None:
    async with Log(server.url) as log:
        one, two = (Lease(log, "work", name, seconds=30) for name in ("one", "two"))
        assert await one.hold()
        bucket = await log.client.jetstream().key_value(LEASES)
        await bucket.purge("work")
        assert await two.hold()
        assert not await one.hold()
        await one.give_up()
        assert await two.hold()


async def test_an_answer_that_comes_too_late_is_no_yes(server: NatsServer) -> None:
    async with Log(server.url) as log:
        lease = Lease(log, "work", "one", seconds=60)
        assert await lease.hold()
        lease._seconds = 0
        assert not await lease.hold()


async def test_no_server_is_an_error(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.log.lease.PATIENCE", 1)
    async with Log(server.url) as log:
        lease = Lease(log, "work", "one")
        assert await lease.hold()
        server.kill()
        with pytest.raises(LogError, match=f"'{LEASES}' at nats://.*: no answer"):
            await lease.hold()


async def test_all_leases_last_as_long_as_the_shortest(server: NatsServer) -> None:
    """A broker that is to be replaced sooner says so, though others have made the bucket."""
    async with Log(server.url) as log:
        assert await Lease(log, "work", "one", seconds=30).hold()
        two, three = Lease(log, "other", "two", seconds=0.5), Lease(log, "work", "three", seconds=60)
        async with asyncio.timeout(10):
            while not await two.hold():
                await asyncio.sleep(0.05)
            while not await three.hold():
                await asyncio.sleep(0.05)


async def test_ticks_are_often_while_something_is_due(server: NatsServer) -> None:
    asked: list[tuple[int, int]] = []

    def is_due(tick: int, now: int) -> bool:
        asked.append((tick, now))
        return len(asked) <= 3

    async with Log(server.url) as log:
        await log.create()
        running = asyncio.create_task(Ticker(log, "one", is_due=is_due, every=60).run())
        async with asyncio.timeout(10):
            while len(asked) < 6:
                await asyncio.sleep(0.01)
        running.cancel()
        assert len(await ticks(log)) == 4
        assert [tick for tick, _ in asked] == [1, 2, 3, 4, 4, 4]
        assert all(now > before + 50_000 for (_, before), (_, now) in pairwise(asked))
