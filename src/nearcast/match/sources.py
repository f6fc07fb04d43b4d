"""Which subscriptions a source is bound to, so that a reading is looked up and not matched against all of them."""

from __future__ import annotations

from typing import Any

from nearcast.match.chain import Pair
from nearcast.match.world import Key, StatementKey, Subscribed

__all__ = ["SourcePairs", "Sources"]

Sources = dict[StatementKey, dict[tuple[StatementKey, Key], tuple[Subscribed, Key]]]
"""By the owner and id of a publication: every pair with it that is remembered for a subscription to readings."""


class SourcePairs(dict[Key, Pair]):
    """The pairs of one subscription to readings, noted by source as well."""

    def __init__(self, s: Subscribed, sources: Sources, pairs: dict[Key, Pair]) -> None:
        super().__init__()
        self._s, self._sources = s, sources
        self._name = (s.owner, s.subscription.id)
        for key, pair in pairs.items():
            self[key] = pair

    def __setitem__(self, key: Key, pair: Pair) -> None:
        super().__setitem__(key, pair)
        self._sources.setdefault((key[1], key[0]), {})[self._name, key] = (self._s, key)

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
        of = self._sources[key[1], key[0]]
        del of[self._name, key]
        if not of:
            del self._sources[key[1], key[0]]
