"""The past, asked again only where an op can have changed it. The definition asks for all of it after every op.

A relation of two clients stands as it did until one of them does something, its time comes, or something is defined
anew. One over ANY may turn with anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from nearcast.match.history import Holder, Key, Past, mentions
from nearcast.match.world import Published, StatementKey, Subscribed, World
from nearcast.model import condition as c
from nearcast.model.moment import Moment

__all__ = ["Followed", "Owned"]

Owned = Callable[[str], tuple[Mapping[StatementKey, Published], Mapping[StatementKey, Subscribed]]]
"""What a client publishes, and what it subscribes to."""


class _Asked(NamedTuple):
    relation: c.Spatial
    names_other: bool
    """It is about a client other than the statement's own,"""
    names_any: bool
    """or about anybody."""


class Followed(Past):
    """Histories that are brought up to now op by op."""

    def __init__(
        self,
        world: World,
        subscriptions: Mapping[StatementKey, Subscribed],
        clock: Callable[[Key | None], Moment],
        owned: Owned,
    ) -> None:
        super().__init__(world, subscriptions, clock)
        self.asking: dict[Holder, list[_Asked]] = {}
        """What each statement asks for that asks for the past."""
        self._owned = owned
        self._gone: set[Holder] = set()
        """Statements that have ended since their owner's relations were last looked at."""

    def enter(self, holder: Holder, past: Iterable[c.Spatial]) -> None:
        """Note what a statement asks for, new or edited."""
        other: c.Side = "&" if holder[0] == "subscription" else "#"
        asked = [_Asked(relation, mentions(relation, other), c.asks_for_any(relation)) for relation in past]
        self.asking.pop(holder, None)
        if asked:
            self.asking[holder] = asked

    def leave(self, holder: Holder) -> None:
        self.asking.pop(holder, None)
        if self.asking:
            self._gone.add(holder)

    def observe_after(self, client: str | None, passing: str | None) -> None:
        """Bring up to now what an op of a client may have changed, or one of nobody, which is everyone's."""
        for holder, known in self.relations.items():
            whole = client in (None, holder[1])
            known.dues = [due for due in known.dues if not whole and due[1] is not None and client not in due[1]]
        for holder, asked in self.asking.items():
            for relation, names_other, names_any in asked:
                if client in (None, holder[1]) or names_any:
                    self.watch(holder, relation, passing)
                elif names_other:
                    self.watch(holder, relation, passing, self._parties_of(client, holder, relation))
        self._gone = {holder for holder in self._gone if client not in (None, holder[1])}

    def forget_gone(self) -> None:
        """What has ended by itself was looked at when its time came."""
        self._gone.clear()

    def _parties_of(self, client: str, holder: Holder, relation: c.Spatial) -> list[Key]:
        """What a client has, or had a moment ago, that a statement of another may be about."""
        published, subscribed = self._owned(client)
        here: Iterable[Key] = published if holder[0] == "subscription" else subscribed
        kind = "publication" if holder[0] == "subscription" else "subscription"
        known = self.relations[holder].histories if holder in self.relations else {}
        ended = [(owner, id_) for of, owner, id_ in self._gone if (of, owner) == (kind, client)]
        return [*here, *(key for key in ended if key not in here and (relation, key) in known)]
