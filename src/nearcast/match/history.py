"""τ and π: when a relation between regions last became true, and when it last stopped (paper, 4.3.4).

They are about the relation, not about the match: they go on while life control is false, and take no notice of
confidence, hysteresis or freshness.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from nearcast.match.question import History, Question, Recall, quantified, step_for
from nearcast.match.world import Side, StatementKey, Subscribed, World
from nearcast.model import condition as c
from nearcast.model.moment import FOREVER, NEVER, Moment
from nearcast.model.region import Region

__all__ = ["Holder", "Past", "Relations", "mentions"]

Key = tuple[str, ...]
Holder = tuple[str, str, str]
"""The kind of a statement, its owner, and its id."""


@dataclass(slots=True)
class Relations:
    """The histories that one statement asks for."""

    histories: dict[tuple[c.Spatial, Key], dict[Key, History]] = field(default_factory=dict)
    """By the relation and the other party, if it names one, then by what ANY stands for."""
    dues: list[tuple[int, Key | None]] = field(default_factory=list)
    """When a relation may turn by itself, and whose clocks must get there; none is anyone's."""


class Past:
    """The histories of all relations that some statement asks about. A holder is a statement."""

    def __init__(
        self,
        world: World,
        subscriptions: Mapping[StatementKey, Subscribed],
        clock: Callable[[Key | None], Moment],
    ) -> None:
        self.world = world
        self.subscriptions = subscriptions
        self.clock = clock
        self.relations: dict[Holder, Relations] = {}

    def drop(self, holder: Holder) -> None:
        self.relations.pop(holder, None)

    def narrow(self, holder: Holder, past: Container[c.Spatial]) -> None:
        """Drop what a statement that was edited asks for no more: nobody would look how that goes on."""
        if (known := self.relations.get(holder)) is not None:
            known.histories = {about: held for about, held in known.histories.items() if about[0] in past}

    def recall(self, holder: Holder, other: c.Side) -> Recall:
        """How a question of the holder's finds (τ, π); ``other`` is the side that is not the holder's."""

        def recall(relation: c.Spatial, question: Question) -> list[History]:
            side = question.sides.get(other)
            party = (side.client or "", side.id) if side and mentions(relation, other) else ()
            known = self.relations.get(holder, Relations()).histories.get((relation, party), {})
            return list(known.values())

        return recall

    def dues(self, client: str | None) -> Iterator[int]:
        """When something may turn by itself that a client, or everyone, can bring about by letting time pass."""
        for known in self.relations.values():
            yield from (due for due, clients in known.dues if None in (client, clients) or client in (clients or ()))

    def observe(self, passing: str | None) -> None:
        """Bring every history up to now."""
        for known in self.relations.values():
            known.dues.clear()
        for kind, statements in (("subscription", self.subscriptions), ("publication", self.world.publications)):
            for key, statement in statements.items():
                for relation in statement.past:
                    self.watch((kind, *key), relation, passing)

    def watch(
        self, holder: Holder, relation: c.Spatial, passing: str | None, only: Iterable[Key] | None = None
    ) -> None:
        """Note how a relation of a statement stands to each other party that it may name, or to some of them."""
        relations = self.relations.setdefault(holder, Relations())
        kind, owner, id_ = holder
        side: c.Side = "#" if kind == "subscription" else "&"
        other: c.Side = "&" if side == "#" else "#"
        if only is None:
            only = self._parties(relations, holder, relation) if mentions(relation, other) else {()}
        for key in only:
            party = self._party(kind, (key[0], key[1])) if key else _NOBODY
            theirs: list[Side | None] = [*self.world.sides(key[0], key[1], party.regions)] if key else [None]
            here = self.world.sides(owner, id_, self._regions(holder))
            published = (key[0], key[1]) if key and kind == "subscription" else None
            step = step_for(self.world, passing, published, here) if published else passing
            questions = [
                Question(
                    self.world,
                    {side: ours} if their is None else {side: ours, other: their},
                    0,
                    passing=step,
                    asker=ours,
                )
                for ours, their in product(here, theirs)
            ]
            joint = mentions(relation, side) or (published is not None and self._is_guarded(published))
            involved = (*((owner,) if joint else ()), *key[:1])
            self._note(relations, relation, key, questions, involved, party.ends, published)

    def _parties(self, relations: Relations, holder: Holder, relation: c.Spatial) -> set[Key]:
        """Whoever is on the other side now, or has been."""
        kind, owner, _ = holder
        others = self.world.publications if kind == "subscription" else self.subscriptions
        return {key for key in others if key[0] != owner} | {party for r, party in relations.histories if r == relation}

    def _is_guarded(self, key: StatementKey) -> bool:
        """Whether it also depends on the subscriber if something is there, since not everyone may see it."""
        published = self.world.publications.get(key)
        return published is not None and published.publication.permits != c.ALWAYS

    def _regions(self, holder: Holder) -> tuple[Region, ...]:
        kind, *key = holder
        if kind == "subscription":
            return self.subscriptions[key[0], key[1]].subscription.regions
        return self.world.publications[key[0], key[1]].publication.regions

    def _party(self, kind: str, key: StatementKey) -> _Party:
        """The other side of a statement of this kind."""
        if kind == "subscription":
            published = self.world.publications.get(key)
            return _Party(published.publication.regions, self.world.ends(key)) if published else _GONE
        subscribed = self.subscriptions.get(key)
        if subscribed is None:
            return _GONE
        return _Party(subscribed.subscription.regions, min(subscribed.expires, self.world.clients[key[0]].ends))

    def _note(
        self,
        relations: Relations,
        relation: c.Spatial,
        party: Key,
        questions: list[Question],
        involved: Key,
        ends: Moment,
        published: StatementKey | None,
    ) -> None:
        """Note the relation for each thing that it may hold with; what never held has no history. With what is
        published it holds while the publisher's filter lets the subscriber see it.

        It happens at the latest time of the clients involved; one over ANY involves everyone.
        """
        known = relations.histories.get((relation, party), {})
        items = dict(questions[0].items(relation)) if quantified(relation) else {(): []}
        clients = involved if not c.asks_for_any(relation) else None
        for item in known.keys() | items.keys():
            when = int(self.clock(clients))
            holds = False
            for question in questions:
                asked = replace(question, now=when, turns=[])
                asked.may_turn(ends)
                there = when < ends and item in items and asked.exists(item, relation)
                if there and (published is None or asked.may_see(published)):
                    answer = asked.of_item(relation, item, items[item]) if item else asked.ask(relation)
                    holds |= answer is True
                relations.dues += [(turn, clients) for turn in asked.turns]
            if holds or item in known:
                known.setdefault(item, History()).observe(holds, when)
        if known:
            relations.histories[relation, party] = known


@dataclass(frozen=True, slots=True)
class _Party:
    """The other side of a relation, and when it ends."""

    regions: tuple[Region, ...]
    ends: Moment


_NOBODY, _GONE = _Party((), FOREVER), _Party((), NEVER)


def mentions(node: object, side: c.Side) -> bool:
    return any(isinstance(part, c.Ref) and part.side == side for part in c.walk(node))
