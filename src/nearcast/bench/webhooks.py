"""Whether webhooks whose endpoints are dead or slow delay the others, and how many events one process delivers.

There are 1,000 webhooks of as many clients, each with an endpoint that is a real server on a port of its own. Of 50
that are dead, some have nobody who listens, some nobody who answers, and some let nobody in. 50 more are slow: they
answer after three seconds. All are told things at the same steady rate, by messages in the stream of notifications as a
broker writes them; the process is one as ``nearcast serve`` runs it.

A delay is from telling to the request that arrives at an endpoint that is well. The baseline of a delay is the same
while those that are dead or slow are paused, in the same run: both are measured in turn, twelve times. The baseline of
the rate is the HTTP client alone, with the same requests.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import uvloop

from nearcast.bench import Case, Result
from nearcast.bench.endpoints import Asked, Endpoint, hole, nowhere
from nearcast.bench.load import open_files
from nearcast.gateway.hooks import Hooks, new_hook
from nearcast.gateway.link import Link
from nearcast.log.server import NatsServer, die_with_parent
from nearcast.log.subjects import out_subject
from nearcast.webhooks.sending import Sender

__all__ = ["CASES", "Crowd", "Size", "crowd", "delivering", "measured", "served", "typical"]

T = TypeVar("T")
SLOW = 3.0
"""Seconds that a slow endpoint takes."""
ROUNDS = 12
SETTLE = 1.0
"""Seconds after a hundred webhooks are paused or resumed, which is not what is measured."""
PATIENCE = 60.0
STOP = 20.0
MAKING = 50
"""Webhooks that are registered at the same time."""
_ID = re.compile(rb'"id":"([^"]+)"')


@dataclass(frozen=True)
class Size:
    """How many endpoints there are, how many of them are dead and slow, and how much all are told."""

    endpoints: int = 1000
    dead: int = 50
    slow: int = 50
    rate: float = 300.0
    """Events a second, of all together."""
    seconds: float = 2.0

    @property
    def well(self) -> int:
        return self.endpoints - self.dead - self.slow


@contextmanager
def served() -> Iterator[str]:
    """A NATS server, of which it gives the URL."""
    with (
        TemporaryDirectory(prefix="nearcast-", ignore_cleanup_errors=True) as folder,
        NatsServer(Path(folder) / "nats") as nats,
    ):
        yield nats.url


@contextmanager
def delivering(url: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that delivers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "nearcast.webhooks", "--nats", url, "--private", *options],
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent(),  # noqa: PLW1509 (it calls what is already loaded, and nothing else)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(STOP)


class Crowd:
    """Webhooks, their endpoints, and whoever tells their clients something."""

    def __init__(self, link: Link, size: Size) -> None:
        self.size, self._link, self._hooks = size, link, Hooks(link)
        self.ids = itertools.count(1)
        self.well: list[str] = []
        self.unwell: list[str] = []
        self.endpoints: dict[str, Endpoint] = {}
        self.sent: dict[str, float] = {}
        """When each event was told, by its id."""
        self._dice = random.Random(1)

    async def add(self, client: str, url: str) -> None:
        await self._hooks.put(client, "hook", new_hook("hook", url, 0, client, None))

    async def pause(self) -> None:
        """Those that are not well."""
        await _few(self._hooks.pause(client, "hook", "for a while") for client in self.unwell)

    async def resume(self) -> None:
        await _few(self._hooks.resume(client, "hook") for client in self.unwell)

    async def tell(self, client: str) -> str:
        id_ = f"told-{next(self.ids)}"
        said = {"id": id_, "time": "2026-01-01T00:00:00Z", "kind": "enter", "subscription": "s", "subscriber": client}
        further = {"publisher": "p", "publication": "x", "region": None, "peer": None, "reason": "moved"}
        payload = json.dumps({**said, **further, "content": "x" * 200}).encode()
        self.sent[id_] = time.time()
        await self._link.log.client.publish(out_subject(client), payload)
        return id_

    async def tell_at_a_rate(self, clients: Sequence[str], seconds: float) -> set[str]:
        """Tell one after the other something, as steadily as it goes, and give the ids."""
        rate = self.size.rate * len(clients) / self.size.endpoints
        began, told = time.monotonic(), set()
        order = [*clients]
        self._dice.shuffle(order)
        for number in range(int(rate * seconds)):
            if (wait := began + number / rate - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            told.add(await self.tell(order[number % len(order)]))
        return told

    async def delays(self, told: set[str]) -> list[float]:
        """Milliseconds that the events of those that are well took, when all have arrived."""
        well = [self.endpoints[client] for client in self.well]
        async with asyncio.timeout(PATIENCE):
            while sum(len(endpoint.asked) for endpoint in well) < len(told):
                await asyncio.sleep(0.05)
        found = [(id_of(asked), asked.came) for endpoint in well for asked in endpoint.asked]
        for endpoint in well:
            endpoint.asked.clear()
        assert {id_ for id_, _ in found} == told
        return [(came - self.sent[id_]) * 1e3 for id_, came in found]


def id_of(asked: Asked) -> str:
    found = _ID.search(asked.body)
    assert found is not None
    return found[1].decode()


@asynccontextmanager
async def crowd(url: str, size: Size) -> AsyncIterator[Crowd]:
    """Endpoints of all kinds, each with its webhook."""

    async def late(_asked: Asked) -> bytes | None:
        await asyncio.sleep(SLOW)
        return b"HTTP/1.1 204 No Content\r\n\r\n"

    async def silent(_asked: Asked) -> bytes | None:
        return None

    open_files()
    async with AsyncExitStack() as stack, Link(url) as link:
        made, urls = Crowd(link, size), dict[str, str]()
        holes = stack.enter_context(ExitStack())
        for number in range(size.endpoints):
            client = f"client{number}"
            if number < size.dead and number % 3 < 2:
                urls[client] = nowhere(holes) if number % 3 == 0 else hole(holes)
            else:
                endpoint = Endpoint(silent) if number < size.dead else Endpoint()
                endpoint.answer = late if size.dead <= number < size.dead + size.slow else endpoint.answer
                made.endpoints[client] = await stack.enter_async_context(endpoint)
                urls[client] = endpoint.url
            (made.unwell if number < size.dead + size.slow else made.well).append(client)
        await _few(made.add(client, target) for client, target in urls.items())
        yield made


async def _few(works: Iterator[Coroutine[Any, Any, Any]]) -> None:
    room = asyncio.Semaphore(MAKING)

    async def one(work: Coroutine[Any, Any, Any]) -> None:
        async with room:
            await work

    await asyncio.gather(*(one(work) for work in works))


# ---- delay -----------------------------------------------------------------------------------------------


def _delay(quick: bool) -> Iterator[Result]:
    """Of the webhooks that are well: while others are not, beside while those are paused."""
    size = Size(20, 2, 2, rate=40.0, seconds=1.0) if quick else Size()
    with served() as url, delivering(url):
        beside, alone = _run(measured(url, size, 1 if quick else ROUNDS))
    for p in (50, 99):
        yield Result(f"delay-p{p}", typical(beside, p), "ms", typical(alone, p))


def typical(turns: list[list[float]], p: int) -> float:
    """A percentile of a turn, of all turns the middle one: other work on the machine hits some of them."""
    return float(np.median([np.percentile(times, p) for times in turns]))


async def measured(url: str, size: Size, rounds: int) -> tuple[list[list[float]], list[list[float]]]:
    """Delays with those that are not well, and without, by turns."""
    beside: list[list[float]] = []
    alone: list[list[float]] = []
    async with crowd(url, size) as all_:
        await all_.delays({await all_.tell(client) for client in all_.well})  # by then all are connected
        for _ in range(rounds):
            await all_.pause()
            await asyncio.sleep(SETTLE)
            alone.append(await all_.delays(await all_.tell_at_a_rate(all_.well, size.seconds)))
            await all_.resume()
            unwell = asyncio.ensure_future(all_.tell_at_a_rate(all_.unwell, SETTLE + size.seconds))
            await asyncio.sleep(SETTLE)
            beside.append(await all_.delays(await all_.tell_at_a_rate(all_.well, size.seconds)))
            await unwell
    return beside, alone


# ---- rate ------------------------------------------------------------------------------------------------


def _rate(quick: bool) -> Iterator[Result]:
    """Events a second that one process delivers to endpoints that are well, beside the HTTP client alone."""
    count, each = (5, 4) if quick else (200, 50)
    size = Size(count, 0, 0)
    with served() as url, delivering(url):
        ours = _run(_delivered(url, size, each))
    yield Result("rate", ours, "events/s", _run(_posted(count, each)))


async def _delivered(url: str, size: Size, each: int) -> float:
    async with crowd(url, size) as all_:
        await all_.delays({await all_.tell(client) for client in all_.well})
        began = time.monotonic()
        told = {await all_.tell(client) for _ in range(each) for client in all_.well}
        await all_.delays(told)
        return len(told) / (time.monotonic() - began)


async def _posted(count: int, each: int) -> float:
    """The same requests, by as many at once, without a stream, cursors or signatures."""
    async with AsyncExitStack() as stack, Sender(private=True, timeout=PATIENCE) as sender:
        endpoints = [await stack.enter_async_context(Endpoint()) for _ in range(count)]

        async def posting(endpoint: Endpoint) -> None:
            for _ in range(each):
                await sender.post(endpoint.url, {"Content-Type": "application/json"}, b"x" * 600)

        await asyncio.gather(*map(posting, endpoints))
        began = time.monotonic()
        await asyncio.gather(*map(posting, endpoints))
        return count * each / (time.monotonic() - began)


def _run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


CASES: dict[str, Case] = {"delay": _delay, "rate": _rate}
