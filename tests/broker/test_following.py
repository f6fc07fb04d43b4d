"""The log as it grows: in order, and what a packet told is on its way before the next one is looked at."""

from __future__ import annotations

import asyncio
import time

from nearcast.broker.following import LATER, Follower
from nearcast.log.client import Log
from nearcast.log.ending import end
from nearcast.log.packet import encode_lines
from nearcast.log.reading import Entry
from nearcast.log.server import NatsServer

TICK = b'{"op": "tick", "time": %d}'


async def test_what_a_packet_told_does_not_wait_for_the_next(server: NatsServer) -> None:
    happened: list[str] = []
    news = asyncio.Event()

    async def take(entry: Entry) -> None:
        happened.append(f"take {entry.sequence}")
        news.set()

    async def say() -> None:
        while True:
            await news.wait()
            news.clear()
            happened.append("say")

    async with Log(server.url) as log:
        await log.create()
        for number in range(8):
            await log.append(encode_lines([TICK % number]))
        works = [asyncio.create_task(say()), asyncio.create_task(Follower(log, 1).run(take))]
        while len(happened) < 16:
            await asyncio.sleep(0.005)
        await end(*works)
    assert happened == [word for number in range(1, 9) for word in (f"take {number}", "say")]


async def test_where_nobody_waits_packets_are_left_for_a_while(server: NatsServer) -> None:
    taken: list[float] = []

    async def take(_: Entry) -> None:
        taken.append(time.monotonic())

    async with Log(server.url) as log:
        await log.create()
        following = asyncio.create_task(Follower(log, 1, lambda: False).run(take))
        for number in range(2):  # what is there when it begins is taken at once
            began = time.monotonic()
            await log.append(encode_lines([TICK % number]))
            while len(taken) == number:
                await asyncio.sleep(0.005)
        await end(following)
    assert taken[1] - began >= LATER
