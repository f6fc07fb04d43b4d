"""Names of hosts to addresses that may be called.

The system's resolver holds a thread for as long as a name server is silent. So names that have been found before have
threads of their own, and those that have not cannot keep them waiting. And no client may have more than a few threads
look for the names that it gives, whether it still waits for them or not.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from weakref import WeakValueDictionary

from nearcast.gateway.targets import Nowhere, is_allowed

__all__ = ["Found", "Lookups", "Resolver"]

FRESH = 60.0
"""Seconds for which an address is used."""
MISSED = 10.0
"""Seconds for which a name that was not found is not looked for again."""
THREADS = 16
AT_ONCE = 2
"""Names of one client that are looked for at once."""
LOOKING = 3.0
"""Seconds for a name that a client gave to be found."""
KEEPS = 3600.0
"""Seconds for which a name that was found keeps its place among those that are, though it is not found now."""
KNOWN = 10_000
"""Names that are remembered."""


class Found(NamedTuple):
    """An address of a host."""

    family: int
    address: str


Lookup = Callable[[str], list[Found]]


def _lookup(host: str) -> list[Found]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(Found(family, str(address[0])) for family, *_, address in found))


class _Name:
    """What is known of a name, and who looks for it."""

    def __init__(self) -> None:
        self.found: list[Found] = []
        self.until = 0.0
        self.known = 0.0
        """Until when it counts as one that was found before."""
        self.looking: asyncio.Future[list[Found]] | None = None


class Resolver:
    """Looks each name up once at a time, and remembers it for a while."""

    def __init__(self, *, private: bool, lookup: Lookup = _lookup, clock: Callable[[], float] = time.monotonic) -> None:
        self._private, self._lookup, self._clock = private, lookup, clock
        self._names: dict[str, _Name] = {}
        self._known, self._new = (ThreadPoolExecutor(THREADS, f"nearcast {lane}") for lane in ("known", "new"))

    def close(self) -> None:
        for lane in (self._known, self._new):
            lane.shutdown(wait=False, cancel_futures=True)

    async def resolve(self, host: str) -> list[Found]:
        """Addresses that may be called. If there is none it raises `Nowhere`, whatever the reason."""
        found = await self.find(host)
        allowed = [one for one in found if is_allowed(one.address, private=self._private)]
        if not allowed:
            raise Nowhere
        return allowed

    async def find(self, host: str) -> list[Found]:
        """All addresses, wherever they lead."""
        name = self._names.get(host)
        if name is None:
            if len(self._names) >= KNOWN:
                self._names.clear()
            name = self._names[host] = _Name()
        if self._clock() >= name.until:
            await self._look(host, name)
        return name.found

    async def _look(self, host: str, name: _Name) -> None:
        """Whoever gives up waiting leaves it to the others, and to the next who asks."""
        if name.looking is None:
            lane = self._known if self._clock() < name.known else self._new
            name.looking = asyncio.get_running_loop().run_in_executor(lane, self._lookup, host)
            name.looking.add_done_callback(lambda done: self._take(name, done))
        await asyncio.wait([name.looking])

    def _take(self, name: _Name, done: asyncio.Future[list[Found]]) -> None:
        name.looking = None
        if done.cancelled():
            return
        now = self._clock()
        if done.exception() is None:
            name.found, name.until = done.result(), now + FRESH
        else:
            name.found, name.until = [], now + MISSED
        if name.found:
            name.known = now + KEEPS


class Lookups:
    """Names that clients give: those of one wait for each other, and for nobody else's."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def addresses(self, client: str, host: str) -> list[str]:
        """Of a host; none if none is found in time. What is given up keeps its turn until its thread is free."""
        turn = self._turns.setdefault(client, asyncio.Semaphore(AT_ONCE))
        try:
            async with asyncio.timeout(LOOKING):
                await turn.acquire()
                looking = asyncio.ensure_future(self._resolver.find(host))
                looking.add_done_callback(lambda _: turn.release())
                found = await asyncio.shield(looking)
        except TimeoutError:
            return []
        return [one.address for one in found]
