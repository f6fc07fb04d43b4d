"""Group commit. A log that syncs before it answers takes a few thousand messages a second, whatever is in them, so ops
that come in at the same time share a packet.

Packets are sent in the order in which ops came in, over one connection, several before the first is answered. So the
ops of a client keep their order. An op is acknowledged when its packet is on disk.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from nearcast.errors import GatewayError, LogError
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import Metrics
from nearcast.log.packet import LINES, Packet

__all__ = ["Committer", "Placed"]

IN_FLIGHT = 4
"""Packets that wait for an answer. While they do, the next one fills."""
OPS, BYTES = 10_000, 2**18
"""The most that go into one packet together; a single line may be as large as a message can be."""
WAITING = 64 * 2**20
"""Bytes that may wait to be sent. What comes then is refused until there is room."""
ROOM = 1024
"""Bytes of a message that are left to its headers."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an op is in the log: its packet's sequence, and which of the packet it is."""

    sequence: int
    index: int


@dataclass(slots=True)
class _Part:
    """Lines that go into one packet together."""

    payload: bytes
    count: int
    done: asyncio.Future[Placed] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Committer:
    def __init__(self, link: Link, metrics: Metrics, *, waiting: int = WAITING) -> None:
        self._link, self._metrics, self._limit = link, metrics, waiting
        self._parts: deque[_Part] = deque()
        self._bytes = 0
        self._in_flight: dict[asyncio.Task[int], list[_Part]] = {}
        self._is_woken = False

    async def commit(self, lines: Sequence[bytes]) -> Placed:
        """Append ops, each a line without a break, and give the place of the last one.

        They are in line when this first waits, so two calls of one task after another keep their order. A 503 for want
        of an answer leaves open whether they are in the log.
        """
        return await self.enqueue(lines)

    def enqueue(self, lines: Sequence[bytes]) -> asyncio.Future[Placed]:
        """The same, in line before it returns."""
        log = self._link.log
        parts = list(_parts(lines, log.client.max_payload - ROOM))
        size = sum(len(part.payload) for part in parts)
        if self._bytes and self._bytes + size > self._limit:
            raise GatewayError(503, "more ops wait than the log can take; try again", retry_after=1)
        self._bytes += size
        self._parts += parts
        self._metrics.waiting.set(self._bytes)
        if not self._is_woken:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._send)
        return parts[-1].done if len(parts) == 1 else asyncio.ensure_future(_last(parts))

    def lost(self) -> None:
        """The connection has gone: nobody waits for answers that cannot come."""
        for task in list(self._in_flight):
            task.cancel()
        waiting = list(self._parts)
        self._parts.clear()
        self._refuse(waiting)

    async def close(self) -> None:
        """Wait for what has been sent."""
        while self._in_flight:
            await asyncio.wait(self._in_flight)

    def _send(self) -> None:
        self._is_woken = False
        while self._parts and len(self._in_flight) < IN_FLIGHT:
            parts = [self._parts.popleft()]
            count, size = parts[0].count, len(parts[0].payload)
            while self._parts and count + self._parts[0].count <= OPS and size + len(self._parts[0].payload) < BYTES:
                count, size = count + self._parts[0].count, size + len(self._parts[0].payload) + 1
                parts.append(self._parts.popleft())
            task = asyncio.create_task(self._append(parts))
            self._in_flight[task] = parts
            task.add_done_callback(self._sent)

    async def _append(self, parts: list[_Part]) -> int:
        with self._metrics.append_seconds.time():
            sequence = await self._link.log.append(Packet(LINES, b"\n".join(part.payload for part in parts)))
        self._metrics.ops.inc(sum(part.count for part in parts))
        self._metrics.packets.inc()
        return sequence

    def _sent(self, task: asyncio.Task[int]) -> None:
        parts = self._in_flight.pop(task)
        if task.cancelled() or task.exception() is not None:
            self._refuse(parts, None if task.cancelled() else task.exception())
        else:
            self._let_go(parts)
            index = -1
            for part in parts:
                index += part.count
                if not part.done.done():
                    part.done.set_result(Placed(task.result(), index))
        self._send()

    def _refuse(self, parts: Sequence[_Part], error: BaseException | None = None) -> None:
        self._let_go(parts)
        refusal = error if isinstance(error, GatewayError) else _away(error)
        for part in parts:
            if not part.done.done():
                part.done.set_exception(refusal)
                part.done.exception()  # whoever asked may have gone, and nobody else needs to know

    def _let_go(self, parts: Sequence[_Part]) -> None:
        self._bytes -= sum(len(part.payload) for part in parts)
        self._metrics.waiting.set(self._bytes)


async def _last(parts: Sequence[_Part]) -> Placed:
    placed = await asyncio.gather(*(part.done for part in parts))
    return placed[-1]


def _away(error: BaseException | None) -> GatewayError:
    reason = f" ({error})" if isinstance(error, LogError) else ""
    return GatewayError(503, f"the log did not answer, so it is not known whether this was kept{reason}", retry_after=1)


def _parts(lines: Sequence[bytes], largest: int) -> list[_Part]:
    """Lines in as many parts as it takes for each to fit."""
    parts: list[_Part] = []
    some: list[bytes] = []
    size = 0
    for line in lines:
        if len(line) > largest:
            raise GatewayError(413, f"an op of {len(line):,} bytes is too large; the log takes {largest:,}")
        if some and (size + len(line) >= min(BYTES, largest) or len(some) >= OPS):
            parts.append(_Part(b"\n".join(some), len(some)))
            some, size = [], 0
        some.append(line)
        size += len(line) + 1
    parts.append(_Part(b"\n".join(some), len(some)))
    return parts
