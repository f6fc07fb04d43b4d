"""The broker: one that tells, others that follow in silence and are ready to.

All brokers apply the log. The one with the lease writes what is told, ticks, and answers. If its connection is lost, it
begins again with what it has; if another has written, it falls silent. Nothing that it does depends on time but the
ticks it writes, so all brokers find the same.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import math
import time
from collections import Counter, deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from nearcast.broker.applying import Applied, Fault, Refusal, apply_each, apply_packet
from nearcast.broker.asking import answering
from nearcast.broker.fairness import Fairness
from nearcast.broker.following import Follower
from nearcast.broker.recovery import SAFE, State, Stuck, needed, restored, told_so_far
from nearcast.broker.refusals import Refusals
from nearcast.broker.store import Mark, Record, Store, packed
from nearcast.broker.writer import Writer
from nearcast.errors import LogError
from nearcast.log.client import OUT_BYTES, Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.ending import end
from nearcast.log.lease import SECONDS, Lease
from nearcast.log.memory import trim
from nearcast.log.packet import Packet
from nearcast.log.reading import Entry
from nearcast.log.subjects import OPS_STREAM
from nearcast.log.telling import Overtaken
from nearcast.log.ticker import Ticker
from nearcast.match.kernel import Kernel

__all__ = ["Broker", "Settings"]

logger = logging.getLogger(__name__)

PAUSE = 0.2
"""Seconds before a lost server is looked for again."""
WARM = 10_000
"""Notifications that wait when a broker that just began must begin to tell."""
LATELY = 5.0
"""Seconds after which a packet counts half in how long an op took lately."""
LITTER = 64 * 2**20
"""Bytes of names that a broker may remember in any case."""
MARKED = 1.0
"""Seconds between two marks of how far was told."""
CUT, CUTS, BETWEEN = 300, 200, 0.05
"""A log is cut by so many packets at a time, or in so many pieces, with so many seconds between two."""


@dataclass(frozen=True)
class Settings:
    """What may be set; all brokers of a log should have the same."""

    lease: float = SECONDS
    """Seconds after which another takes over from a broker that died."""
    snapshot_seconds: float = 60.0
    """A snapshot is written so long after the last,"""
    snapshot_packets: int = 100_000
    """or when there are so many packets that are not in it."""
    safe: float = SAFE
    """Seconds after which what a server took is on disk."""
    keep: int = 0
    """Packets of the log that are kept in any case, for other readers of it."""
    ticks: bool = True
    """Whether to write ticks; if not, timers fire only when others do."""
    out_bytes: int = OUT_BYTES
    """Bytes of notifications that are kept for clients that come back; the oldest are dropped."""


class _Rewind(LogError):
    """Begin again, from a snapshot: as when what was told is further back than what is known."""


class Broker:
    """One broker. ``run`` it; cancelling ends it cleanly."""

    def __init__(self, url: str, name: str, settings: Settings | None = None) -> None:
        self.url, self.name = url, name
        self.settings = settings or Settings()
        self.counts: Counter[str] = Counter()
        """Packets, ops, notifications; packets that could not be read, and ops that were refused."""
        self.state: State | None = None
        self.writer: Writer | None = None
        """There while this one tells."""
        self.follower: Follower | None = None
        self.apply_seconds: deque[float] = deque(maxlen=1000)
        """How long the latest packets took."""
        self._lately = 0.0, 0.0, 0.0
        """Seconds and ops, of which those long ago count little, and when that was."""
        self._refusals = Refusals()
        self._faulty: dict[int, set[int]] = {}
        """Packets at which a kernel failed, and the ops of each that are known to be why."""
        self._must_rewind = False
        self._is_cold = True
        """Has yet to read what was in the log when it began."""
        self._lease: Lease | None = None
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    # ---- running ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled. A server that is lost is waited for; one that never was there raises `LogError`."""
        connected = False
        while True:
            try:
                async with Log(self.url) as log:
                    connected = True
                    with explained(self.url, OPS_STREAM):
                        await self._session(log)
            except Stuck:
                raise
            except _Rewind as error:
                logger.warning("%s: %s", self.name, error)
                continue
            except LogError as error:
                if not connected:
                    raise
                logger.warning("%s: %s; trying again", self.name, error)
            await asyncio.sleep(PAUSE)

    async def _session(self, log: Log) -> None:
        """Everything, over one connection, until it is lost."""
        await log.create(live=True, out_bytes=self.settings.out_bytes)
        store = await Store.open(log)
        state = await self._begin(log, store)
        self.follower = Follower(log, state.sequence + 1, lambda: self.writer is not None)
        logger.info("%s follows, from packet %d on", self.name, state.sequence + 1)
        try:
            await _any_of(
                self.follower.run(self._take),
                self.follower.watch(),
                self._compete(log, store),
                self._keep_snapshots(log, store),
                log.lost.wait(),
            )
        finally:
            self.follower = None
        raise LogError("the connection to the server was lost")

    async def _begin(self, log: Log, store: Store) -> State:
        """Go on with what is there, if the log still is the same and has what follows; else from a snapshot."""
        told = await told_so_far(log, store)
        state, ops = self.state, told.ops
        same = state is not None and state.log == ops.created and ops.first - 1 <= state.sequence <= ops.last
        if state is None or not same or self._must_rewind:
            state = self.state = await restored(store, told)
            self._must_rewind, self._is_cold = False, True
            self._refusals.begin(state.sequence + 1)
        return state

    async def _take(self, entry: Entry) -> None:
        """Apply a packet, and have what it told written, if this broker tells."""
        state = self._known()
        began = time.perf_counter()
        applied = self._apply(state.kernel, entry)
        state.sequence = entry.sequence
        items = state.outbox.add(entry.sequence, applied.told)
        if self.writer is not None:
            self.writer.give(items)
        took = time.perf_counter() - began
        self.apply_seconds.append(took)
        self._note_pace(began, took, applied.ops)
        self._note(entry.sequence, applied)
        if self.writer is not None:
            await self.writer.room()

    def _apply(self, kernel: Kernel, entry: Entry) -> Applied:
        """An op at which a kernel fails must not be the end of every broker that comes to it. The packet is tried
        again, with a kernel from a snapshot, op by op; then once more, without the one that failed."""
        packet, faulty = Packet(entry.format, entry.payload), self._faulty.get(entry.sequence)
        try:
            return apply_packet(kernel, packet) if faulty is None else apply_each(kernel, packet, faulty)
        except MemoryError:  # another time it may do
            raise
        except Exception as error:
            self._must_rewind = True
            self._faulty[entry.sequence] = (faulty or set()) | ({error.index} if isinstance(error, Fault) else set())
            logger.exception("%s fails at packet %d", self.name, entry.sequence)
            raise _Rewind(f"packet {entry.sequence} is tried again, op by op") from None

    @property
    def op_seconds(self) -> float:
        """How long an op took lately. A tick is one too, and may apply fixes that were held back until then."""
        seconds, ops, _ = self._lately
        return seconds / max(1.0, ops)

    def _note_pace(self, now: float, took: float, count: int) -> None:
        seconds, ops, since = self._lately
        kept = 0.5 ** ((now - since) / LATELY)
        self._lately = seconds * kept + took, ops * kept + count, now

    def _known(self) -> State:
        assert self.state is not None
        return self.state

    def _note(self, sequence: int, applied: Applied) -> None:
        unreadable = sum(refusal.index is None for refusal in applied.refused)
        self.counts.update(packets=1, ops=applied.ops, told=len(applied.told), unreadable=unreadable)
        self.counts["refused"] += len(applied.refused) - unreadable
        self._refusals.note(sequence, applied.refused)
        while self._waiting and self._waiting[0][0] <= sequence:
            _, _, waiting = heapq.heappop(self._waiting)
            if not waiting.done():
                waiting.set_result(None)

    # ---- for whoever asks ------------------------------------------------------------------------

    async def until(self, sequence: int) -> None:
        """Wait until a packet is applied."""
        if self._known().sequence < sequence:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            entry = (sequence, id(waiting), waiting)
            heapq.heappush(self._waiting, entry)
            try:
                await waiting
            finally:
                if entry in self._waiting:
                    self._waiting.remove(entry)
                    heapq.heapify(self._waiting)

    def refused(self, sequence: int) -> list[Refusal] | None:
        """The ops of a packet that were refused; None if that is not known any more, or not yet."""
        return self._refusals.of(sequence)

    # ---- telling ---------------------------------------------------------------------------------

    async def _compete(self, log: Log, store: Store) -> None:
        """Tell whenever nobody else does."""
        if self._lease is None:
            self._lease = Lease(log, "broker", self.name, self.settings.lease)
        self._lease.reopen(log)
        if self._is_cold:
            await self._warm_up(await log.last_sequence())
            self._is_cold = False
        try:
            while True:
                if await self._lease.hold():
                    await self._lead(log, store, self._lease)
                await asyncio.sleep(self.settings.lease / 10)
        finally:
            if not log.lost.is_set():
                with suppress(LogError):
                    await self._lease.give_up()

    async def _warm_up(self, last: int) -> None:
        """Read up to where the log was, or until there is much to tell: one that just began is slow at first."""
        state = self._known()
        while state.sequence < last and len(state.outbox) < WARM:
            await asyncio.sleep(PAUSE / 10)

    async def _lead(self, log: Log, store: Store, lease: Lease) -> None:
        """Tell, until the lease is lost or another has written."""
        told = await told_so_far(log, store)
        state = self._known()
        items = state.outbox.since(told.place)
        if items is None:
            self._must_rewind = True
            raise _Rewind(f"packet {told.place.batch} was the last that was told, which is further back than is known")
        fairness = Fairness(log)
        self.writer = writer = Writer(log, told.tail, fairness)
        writer.give(items)
        logger.info("%s tells, after packet %d", self.name, max(told.place.batch, 0))
        marking = self._mark(store, Mark(told.ops.created, told.out.created, 0, 0), writer)
        tasks = [writer.run(), writer.say_ahead(), fairness.run(), self._renew(lease), marking, answering(self, log)]
        try:
            await _any_of(*tasks, *([self._tick(log)] if self.settings.ticks else []))
        except Overtaken as error:
            logger.warning("%s: %s", self.name, error)
        finally:
            self.writer = None
            logger.info("%s is silent", self.name)

    async def _renew(self, lease: Lease) -> None:
        while await lease.hold():
            await asyncio.sleep(self.settings.lease / 4)

    async def _tick(self, log: Log) -> None:
        """Write ticks. A log that takes none, since it is full, is no reason not to tell."""
        while True:
            try:
                await Ticker(log, self.name, is_due=self._is_due).run()
            except LogError as error:
                logger.warning("%s cannot tick: %s", self.name, error)
            await asyncio.sleep(MARKED)

    def _is_due(self, tick: int, now: int) -> bool:
        """Whether a fix that is held back waits for a tick. What the last one did is not known before it is applied.

        A timer waits for the next that there is anyway: whoever counts ticks would know that one had been set.
        """
        state = self._known()
        return state.sequence >= tick and state.kernel.release_due <= now

    async def _mark(self, store: Store, streams: Mark, writer: Writer) -> None:
        """Say now and then how far was told."""
        marked = streams
        while True:
            mark = msgspec.structs.replace(streams, sequence=self._known().sequence, out=writer.sequence)
            await asyncio.sleep(MARKED)
            if mark != marked and mark.out <= writer.acknowledged:
                with self._spared():
                    await store.mark(mark)
                    marked = mark

    # ---- snapshots -------------------------------------------------------------------------------

    async def _keep_snapshots(self, log: Log, store: Store) -> None:
        """Write snapshots. One that tells leaves it to the silent ones, and does it only if nobody else does."""
        while True:
            await asyncio.sleep(min(1.0, self.settings.snapshot_seconds / 4))
            with self._spared():
                await self._snapshot_if_due(log, store)
            self._tidy_up()

    def _tidy_up(self) -> None:
        """A kernel remembers every name that it ever heard. One whose names have doubled since it began, and are many,
        begins anew from a snapshot, which has only those that there are. One that tells leaves it to others first."""
        state, patience = self._known(), 1 if self.writer is None else 2
        if state.kernel.remembered > patience * (LITTER + 2 * state.began_with):
            self._must_rewind = True
            raise _Rewind(f"names take {state.kernel.remembered >> 20} MB, of which most may be gone; beginning anew")

    @contextmanager
    def _spared(self) -> Iterator[None]:
        """What fails here can be done later; if the server is lost, others notice."""
        try:
            yield
        except LogError as error:
            logger.warning("%s: %s", self.name, error)

    async def _snapshot_if_due(self, log: Log, store: Store) -> None:
        state, patience = self._known(), 1 if self.writer is None else 2
        records = [record for record in await store.records() if record.log == state.log]
        latest = max(records, key=lambda record: record.sequence, default=None)
        since, age = (latest.sequence, time.time() - latest.time) if latest else (0, math.inf)
        new = state.sequence - since
        overdue = age > patience * self.settings.snapshot_seconds or new > patience * self.settings.snapshot_packets
        if new > 0 and overdue and not self._must_rewind:
            await self._save(log, store)

    async def _save(self, log: Log, store: Store) -> None:
        """Write a snapshot, and drop what it makes needless."""
        state, began = self._known(), time.perf_counter()
        sequence, data = state.sequence, packed(state.kernel)
        trim()
        if self.writer is not None:
            logger.info("%s paused for %.0f ms to take a snapshot", self.name, 1000 * (time.perf_counter() - began))
        name, first = await store.save(data)
        record = Record(state.log, sequence, name, len(data), first, time.time(), await store.told())
        cut = 0

        def listed(before: list[Record]) -> list[Record]:
            nonlocal cut
            same = [one for one in before if one.log == record.log and one.sequence != sequence]
            kept, cut = needed([*same, record], time.time(), self.settings.safe)
            return kept

        records = await store.change(listed)
        await store.drop_before(min(one.first for one in records))
        logger.info("%s wrote a snapshot of packet %d, %d bytes", self.name, sequence, len(data))
        await self._cut(log, min(cut, sequence - self.settings.keep))

    async def _cut(self, log: Log, upto: int) -> None:
        """Drop the beginning of the log, a little at a time: a server that drops something takes nothing meanwhile."""
        first = await log.first_sequence()
        if upto < first:
            return
        jetstream = log.client.jetstream(timeout=PATIENCE)
        with explained(self.url, OPS_STREAM):
            for kept in (*range(first + CUT, upto, max(CUT, (upto - first) // CUTS)), upto + 1):
                await jetstream.purge_stream(OPS_STREAM, seq=kept)
                await asyncio.sleep(BETWEEN)
        logger.info("%s cut the log up to packet %d", self.name, upto)


async def _any_of(*works: Coroutine[Any, Any, Any]) -> None:
    """Do all at once, until one is done or fails; then the others are ended."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end(*tasks)
    for task in tasks:
        if task in done:
            task.result()
