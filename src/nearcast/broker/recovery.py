"""Where to go on: how far was told, which snapshot is from before that, and what of the log nobody needs any more."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nearcast.broker.outbox import END, Outbox
from nearcast.broker.store import Mark, Record, Store
from nearcast.broker.weighing import Scales
from nearcast.errors import LogError, SnapshotError
from nearcast.log.client import Log
from nearcast.log.reading import Extent, extent_of
from nearcast.log.subjects import OPS_STREAM, OUT_STREAM
from nearcast.log.telling import NOWHERE, Place, Tail, tail_of
from nearcast.match.kernel import Kernel

__all__ = ["State", "Stuck", "Told", "needed", "restored", "told_so_far"]

logger = logging.getLogger(__name__)

KEPT = 3
"""Snapshots that are kept at least: one that is damaged is no disaster."""
SAFE = 150.0
"""Seconds after which a server has put on disk what it acknowledged before it was there."""


class Stuck(LogError):
    """A broker cannot go on, and trying again would not help."""


@dataclass
class State:
    """A kernel, and how far it has come."""

    log: str
    """When the log was made that it has read."""
    kernel: Kernel
    sequence: int
    """The last packet that is applied."""
    outbox: Outbox = field(default_factory=lambda: Outbox(NOWHERE))
    scales: Scales = field(init=False)
    began_with: int = field(init=False)
    """Bytes of the names that its kernel remembered then."""

    def __post_init__(self) -> None:
        self.scales, self.began_with = Scales(self.kernel), self.kernel.remembered


@dataclass(frozen=True)
class Told:
    """How far was told."""

    ops: Extent
    out: Extent
    tail: Tail
    place: Place
    """All up to here; after the tail, if what followed told nothing."""


async def told_so_far(log: Log, store: Store) -> Told:
    """Look at the streams, and at what brokers have left."""
    ops, out = await extent_of(log.client, OPS_STREAM), await extent_of(log.client, OUT_STREAM)
    tail = await tail_of(log.client, OUT_STREAM)
    marks = [await store.told(), *(record.told for record in await store.records())]
    known = (mark for mark in marks if mark is not None and (mark.log, mark.stream) == (ops.created, out.created))
    return Told(ops, out, tail, _furthest(tail, known))


def _furthest(tail: Tail, marks: Iterable[Mark]) -> Place:
    """A mark says something only if the stream still goes as far as it did."""
    return max([tail.place, *(Place(mark.sequence, END) for mark in marks if mark.out <= tail.sequence)])


async def restored(store: Store, told: Told) -> State:
    """The state of the latest snapshot from which all that was not told yet can be found again.

    Without one, it is the beginning of the log; if that is gone, the broker is stuck.
    """
    created = told.ops.created
    _check_tail(told)
    records = [record for record in await store.records() if record.log == created]
    usable = [record for record in records if Place(record.sequence, END) <= told.place]
    for record in sorted(usable, key=lambda record: -record.sequence):
        if not told.ops.first - 1 <= record.sequence <= told.ops.last:
            continue
        try:
            kernel = await store.load(record)
        except SnapshotError as error:
            logger.warning("snapshot of packet %d: %s", record.sequence, error)
            continue
        logger.info("restored the snapshot of packet %d", record.sequence)
        return State(created, kernel, record.sequence, Outbox(Place(record.sequence, END)))
    if told.ops.first > 1:
        raise Stuck(
            f"stream {OPS_STREAM!r} begins at {told.ops.first}, and there is no snapshot to go on from that is whole "
            f"and from before what was told; what is missing cannot be told again"
        )
    return State(created, Kernel(), 0)


def _check_tail(told: Told) -> None:
    if told.tail.place.batch > told.ops.last:
        raise Stuck(
            f"stream {OPS_STREAM!r} lost its tail: it ends at {told.ops.last}, and what packet {told.tail.place.batch} "
            f"told is in stream {OUT_STREAM!r}; what was told of the lost ops cannot be taken back"
        )


def needed(records: Sequence[Record], now: float, safe: float = SAFE) -> tuple[list[Record], int]:
    """The snapshots that are still needed, and up to which packet nobody needs the log.

    The latest few are, and what it takes to tell again what a crash of the server may lose. What was told before a
    snapshot that is old enough is on disk; the latest snapshot from before *that* is needed, and one more in case it is
    damaged.
    """
    ordered = sorted(records, key=lambda record: record.sequence)
    old = [i for i, record in enumerate(ordered) if record.told is not None and record.time <= now - safe]
    if not old:
        return ordered, 0
    mark = ordered[old[-1]].told
    assert mark is not None
    base = sum(record.sequence <= mark.sequence for record in ordered) - 1
    if base < 1:
        return ordered, 0
    kept = ordered[max(min(base - 1, old[-1], len(ordered) - KEPT), 0) :]
    return kept, kept[0].sequence
