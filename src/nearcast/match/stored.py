"""The pairs that are remembered, found by the clients they involve, and when each may turn by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from nearcast.match.chain import Pair
from nearcast.match.world import Key, StatementKey

__all__ = ["EVERYONE", "Dues", "Entry", "Involved", "Pairs"]

Involved = dict[str, set[tuple[StatementKey, Key]]]
"""By client: the pairs, each with its subscription, in which it is the publisher or the peer."""


class Pairs(dict[Key, Pair]):
    """The pairs of one subscription, noted by client as well."""

    def __init__(self, name: StatementKey, involved: Involved, pairs: dict[Key, Pair]) -> None:
        super().__init__()
        self._name, self._involved = name, involved
        for key, pair in pairs.items():
            self[key] = pair

    def __setitem__(self, key: Key, pair: Pair) -> None:
        super().__setitem__(key, pair)
        for client in _clients(key):
            self._involved.setdefault(client, set()).add((self._name, key))

    def setdefault(self, key: Key, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __delitem__(self, key: Key) -> None:
        super().__delitem__(key)
        self._unnote(key)

    def pop(self, key: Key, *default: Any) -> Any:
        known = key in self
        found = super().pop(key, *default)
        if known:
            self._unnote(key)
        return found

    def clear(self) -> None:
        for key in list(self):
            del self[key]

    def _unnote(self, key: Key) -> None:
        for client in _clients(key):
            of = self._involved[client]
            of.discard((self._name, key))
            if not of:
                del self._involved[client]


def _clients(key: Key) -> tuple[str, ...]:
    return tuple(client for client in (key[1], key[3]) if client)


Entry = tuple[int, StatementKey, Key]
FEW = 64
"""Times in a heap that are not looked through."""


class Dues:
    """Heaps of times at which pairs may turn: one for each client whose clock matters, and two for all.

    A pair whose time changes leaves the old one behind. It would stay until it comes, and with every fix of a client
    there may be another, a year from now: so a heap that has doubled is rid of what ``is_so`` no more.
    """

    def __init__(self, is_so: Callable[[Entry], bool]) -> None:
        self._is_so = is_so
        self._heaps: dict[str | None, list[Entry]] = {}
        self._queued: set[tuple[str | None, Entry]] = set()
        self._most: dict[str | None, int] = {}
        """When each is to be looked through."""

    def __len__(self) -> int:
        return len(self._queued)

    def push(self, due: int, name: StatementKey, key: Key, clients: Iterable[str | None]) -> None:
        """Note a due time for some clients; ``None`` is for what anyone's clock brings about."""
        for client in {EVERYONE, *clients}:
            entry = (due, name, key)
            if (client, entry) not in self._queued:
                self._queued.add((client, entry))
                heap = self._heaps.setdefault(client, [])
                heappush(heap, entry)
                if len(heap) > self._most.get(client, FEW):
                    self._tidy(client, heap)

    def _tidy(self, client: str | None, heap: list[Entry]) -> None:
        self._queued.difference_update((client, entry) for entry in heap if not self._is_so(entry))
        heap[:] = [entry for entry in heap if (client, entry) in self._queued]
        heapify(heap)
        self._most[client] = max(FEW, 2 * len(heap))

    def first(self, client: str | None) -> Entry | None:
        """What is noted earliest. If it is no longer so, the caller drops it."""
        heap = self._heaps.get(client)
        return heap[0] if heap else None

    def drop(self, client: str | None) -> Entry:
        """Take the first away."""
        heap = self._heaps[client]
        entry = heappop(heap)
        self._queued.discard((client, entry))
        if not heap:
            del self._heaps[client]
            self._most.pop(client, None)
        return entry


EVERYONE = ""
"""The heap of all pairs, for ticks."""
