"""Group commit. A log that syncs before it answers takes a few thousand messages a second, whatever is in them, so ops
that come in at the same time share a packet.

Packets are sent over one connection, several before the first is answered. Clients take turns, and every other turn is
of one that had nothing waiting before: so whoever waits for an answer before he says more is soon through, however many
have much to send. The ops of each keep their order. An op is acknowledged when its packet is on disk.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from nearcast.errors import GatewayError, LogError
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import Metrics
from nearcast.gateway.pace import MOST, Pace
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


@dataclass(slots=True, eq=False)
class _Lot:
    """Lines that came in together."""

    client: str
    lines: Sequence[bytes]
    size: int
    """Bytes that have yet to be sent."""
    sent: int = 0
    """Lines that have been."""
    done: asyncio.Future[Placed] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def is_sent(self) -> bool:
        return self.sent == len(self.lines)


@dataclass(slots=True)
class _Bundle:
    """What goes into one packet, and what each lot has of it."""

    largest: int
    """Bytes that it may have, unless a single line has more."""
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    lots: list[tuple[_Lot, int, bool]] = field(default_factory=list)
    """The lot, up to which line this is its, and whether it ends with that."""

    def take(self, lot: _Lot, most: int) -> int:
        """Up to so many lines of a lot, while there is room for them; how many those are."""
        first = lot.sent
        while lot.sent < min(len(lot.lines), first + most):
            line = lot.lines[lot.sent]
            if self.lines and self.size + len(line) >= self.largest:
                break
            self.lines.append(line)
            self.size += len(line) + 1
            lot.sent += 1
        if lot.sent > first:
            self.lots.append((lot, len(self.lines), lot.is_sent))
        return lot.sent - first


class Committer:
    """Without a pace, as many are sent as the log takes."""

    def __init__(self, link: Link, metrics: Metrics, pace: Pace | None = None, *, waiting: int = WAITING) -> None:
        self._link, self._metrics, self._pace, self._limit = link, metrics, pace, waiting
        self._waiting: dict[str, deque[_Lot]] = {}
        """By client."""
        self._came, self._more = deque[str](), deque[str]()
        """Those clients in line: the ones that had nothing waiting before, and those that had a turn and have more."""
        self._lines = deque((self._came, self._more))
        """The first of the first has the next turn."""
        self._bytes = 0
        """Of all, also of what is on its way."""
        self._of: Counter[str] = Counter()
        """Of each client."""
        self._in_flight: dict[asyncio.Task[int], _Bundle] = {}
        self._is_woken = False
        if pace is not None:
            pace.opened = self._send

    async def commit(self, lines: Sequence[bytes], client: str = "") -> Placed:
        """Append ops, each a line without a break, and give the place of the last one.

        They are in line when this first waits, so two calls of one task after another keep their order. A 503 for want
        of an answer leaves open whether they are in the log.
        """
        return await self.enqueue(lines, client)

    def enqueue(self, lines: Sequence[bytes], client: str = "") -> asyncio.Future[Placed]:
        """The same, in line before it returns."""
        largest = self._largest
        if (longest := max(map(len, lines))) > largest:
            raise GatewayError(413, f"an op of {longest:,} bytes is too large; the log takes {largest:,}")
        lot = _Lot(client, lines, sum(map(len, lines)) + len(lines))
        # Nobody has more than is left to the others, so there always is room for whoever has little.
        if self._bytes and self._of[client] + lot.size > self._limit - self._bytes:
            raise GatewayError(503, "more ops wait than the log can take; try again", retry_after=1)
        self._count(lot, lot.size)
        if client not in self._waiting:
            self._waiting[client] = deque()
            self._came.append(client)
        self._waiting[client].append(lot)
        if not self._is_woken:
            self._is_woken = True
            asyncio.get_running_loop().call_soon(self._send)
        return lot.done

    def lost(self) -> None:
        """The connection has gone: nobody waits for answers that cannot come."""
        for task in list(self._in_flight):
            task.cancel()
        for lot in [lot for lots in self._waiting.values() for lot in lots]:
            self._refuse(lot)

    async def close(self) -> None:
        """Wait for what has been taken."""
        if self._pace is not None:
            self._pace.open()
        self._send()
        while self._in_flight:
            await asyncio.wait(self._in_flight)

    @property
    def _largest(self) -> int:
        """Bytes that a packet can have."""
        return self._link.log.client.max_payload - ROOM

    # ---- packets ---------------------------------------------------------------------------------

    def _send(self) -> None:
        self._is_woken = False
        while self._waiting and len(self._in_flight) < IN_FLIGHT:
            room = MOST if self._pace is None else self._pace.room
            if not room:
                break
            bundle = self._bundle(min(OPS, room))
            if self._pace is not None:
                self._pace.begin(len(bundle.lines))
            task = asyncio.create_task(self._append(bundle))
            self._in_flight[task] = bundle
            task.add_done_callback(self._sent)

    def _bundle(self, room: int) -> _Bundle:
        """By turns, as many of each client in a turn as make all of them fit."""
        bundle, share = _Bundle(min(BYTES, self._largest)), max(1, room // len(self._waiting))
        while self._waiting and room:
            line = self._lines[0] or self._lines[1]
            client, lots = line[0], self._waiting[line[0]]
            taken = bundle.take(lots[0], min(share, room))
            if not taken:
                break
            room -= taken
            line.popleft()
            self._lines.rotate()
            if lots[0].is_sent:
                lots.popleft()
            if lots:
                self._more.append(client)
            else:
                del self._waiting[client]
        return bundle

    async def _append(self, bundle: _Bundle) -> int:
        began = time.monotonic()
        with self._metrics.append_seconds.time():
            sequence = await self._link.log.append(Packet(LINES, b"\n".join(bundle.lines)))
        self._metrics.ops.inc(len(bundle.lines))
        self._metrics.packets.inc()
        if self._pace is not None:
            self._pace.place(sequence, len(bundle.lines), began)
        return sequence

    def _sent(self, task: asyncio.Task[int]) -> None:
        bundle = self._in_flight.pop(task)
        error = None if task.cancelled() else task.exception()
        is_lost = task.cancelled() or error is not None
        if is_lost and self._pace is not None:
            self._pace.fail(len(bundle.lines))
        for lot, until, is_all in bundle.lots:
            if is_lost:
                self._refuse(lot, error)
            elif is_all:
                self._count(lot, -lot.size)
                if not lot.done.done():
                    lot.done.set_result(Placed(task.result(), until - 1))
        self._send()

    def _refuse(self, lot: _Lot, error: BaseException | None = None) -> None:
        """What is left of it is not sent."""
        if not lot.is_sent:
            lot.sent = len(lot.lines)
            lots = self._waiting[lot.client]
            lots.remove(lot)
            if not lots:
                del self._waiting[lot.client]
                (self._came if lot.client in self._came else self._more).remove(lot.client)
        self._count(lot, -lot.size)
        if not lot.done.done():
            lot.done.set_exception(error if isinstance(error, GatewayError) else _away(error))
            lot.done.exception()  # whoever asked may have gone, and nobody else needs to know

    def _count(self, lot: _Lot, size: int) -> None:
        self._bytes += size
        self._of[lot.client] += size
        if not self._of[lot.client]:
            del self._of[lot.client]
        if size < 0:
            lot.size = 0
        self._metrics.waiting.set(self._bytes)


def _away(error: BaseException | None) -> GatewayError:
    reason = f" ({error})" if isinstance(error, LogError) else ""
    return GatewayError(503, f"the log did not answer, so it is not known whether this was kept{reason}", retry_after=1)
