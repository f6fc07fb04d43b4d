"""What a broker found that clients are to hear, kept for a while: another may have told less of it than was found.

Every broker finds the same, at the same places. So one that takes over goes on where the stream ends, and one whose
server lost the end of the stream tells that again, word for word.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from nearcast.errors import LogError
from nearcast.log.subjects import out_subject
from nearcast.log.telling import NOWHERE, Place, Told

__all__ = ["END", "Item", "Outbox"]

MESSAGES = 100_000
"""The most that is kept,"""
BYTES = 64 * 2**20
"""the most that all of it may take,"""
SECONDS = 180.0
"""and for how long: what was told before is on the server's disk. Who needs it all the same has snapshots."""
END = 2**62
"""Comes after whatever a packet tells: ``Place(n, END)`` is where all of packet n has been told."""


class Item(NamedTuple):
    """A notification, and where it belongs."""

    place: Place
    id: str
    subject: str
    payload: bytes


class Outbox:
    """The latest of what was found, without a gap."""

    def __init__(
        self, floor: Place, messages: int = MESSAGES, size: int = BYTES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.floor = floor
        """All that comes after this place is here."""
        self._items: deque[Item] = deque()
        self._messages, self._most, self._clock = messages, size, clock
        self._times: deque[tuple[float, Place]] = deque()
        """When something was added, now and then, and where it begins."""
        self.size = 0
        """Bytes of all that is here, names and places aside."""

    def __len__(self) -> int:
        return len(self._items)

    def add(self, packet: int, told: Iterable[Told]) -> list[Item]:
        """Note what a packet told, and give it with its places. The oldest is dropped if it is too much."""
        items = [
            Item(Place(packet, ordinal), id_, subject, payload)
            for ordinal, (id_, subscriber, payload) in enumerate(told)
            if (subject := _subject(subscriber))
        ]
        now, begins = self._clock(), Place(packet, 0)
        if items and (not self._times or now >= self._times[-1][0] + SECONDS / 100):
            self._times.append((now, begins))
        self._items.extend(items)
        self.size += sum(len(item.payload) for item in items)
        while len(self._times) > 1 and self._times[1][0] <= now - SECONDS:
            self._times.popleft()
        old = self._times[0][1] if self._times and self._times[0][0] <= now - SECONDS else NOWHERE
        while self._items and (
            self._items[0].place < old or len(self._items) > self._messages or self.size > self._most
        ):
            dropped = self._items.popleft()
            self.size -= len(dropped.payload)
            self.floor = dropped.place
        return items

    def since(self, place: Place) -> list[Item] | None:
        """What is at a place and after it; nothing is known if that is not all there."""
        if place < self.floor:
            return None
        return list(islice(self._items, bisect_left(self._items, place, key=lambda item: item.place), None))


@lru_cache(maxsize=2**16)
def _subject(client: str) -> str:
    """Where it goes; nowhere, if no subject is long enough for the client's name."""
    try:
        return out_subject(client)
    except LogError:
        return ""
