"""What a broker found that clients are to hear, kept for a while: another may have told less of it than was found.

Every broker finds the same, at the same places. So one that takes over goes on where the stream ends, and one whose
server lost the end of the stream tells that again, word for word.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from nearcast.errors import LogError
from nearcast.log.subjects import out_subject
from nearcast.log.telling import Place, Told

__all__ = ["END", "Item", "Outbox"]

MESSAGES = 100_000
"""The most that is kept,"""
BYTES = 64 * 2**20
"""and the most that all of it may take."""
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

    def __init__(self, floor: Place, messages: int = MESSAGES, size: int = BYTES) -> None:
        self.floor = floor
        """All that comes after this place is here."""
        self._items: deque[Item] = deque()
        self._messages, self._most = messages, size
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
        self._items.extend(items)
        self.size += sum(len(item.payload) for item in items)
        while len(self._items) > self._messages or self.size > self._most:
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
