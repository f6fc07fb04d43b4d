"""τ and π: when a relation between regions last became true, and when it last stopped (paper, 4.3.4).

They are about the relation, not about the match: they go on while life control is false, and take no notice of
confidence, hysteresis or freshness.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from nearcast.match.question import History, Question, Recall, quantified
from nearcast.match.world import Side, Subscribed, World
from nearcast.model import condition as c
from nearcast.model.moment import FOREVER, NEVER, Moment
from nearcast.model.region import Region

__all__ = ["Holder", "Past", "Relations", "mentions", "tracked"]

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

    def __init__(self, world: World, clock: Callable[[Key | None], Moment]) -> None:
        self.world = world
        self.clock = clock
        self.relations: dict[Holder, Relations] = {}

    def drop(self, holder: Holder) -> None:
        self.relations.pop(holder, None)

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

    def observe(
        self,
        subscriptions: Mapping[tuple[str, str], Subscribed],
        passing: str | None,
        asking: Container[Holder] | None = None,
    ) -> None:
        """Bring every history up to now. If it is known which statements ask for any, no others are looked through."""
        for known in self.relations.values():
            known.dues.clear()
        subscribed = {
            key: _Party(s.subscription.regions, self._ends(key[0], s.expires)) for key, s in subscriptions.items()
        }
        published = {
            key: _Party(p.publication.regions, self.world.ends(key)) for key, p in self.world.publications.items()
        }
        for key, s in subscriptions.items():
            holder = ("subscription", *key)
            if asking is None or holder in asking:
                for relation in tracked(s.subscription.filter, s.subscription.life, s.subscription.on):
                    self._watch(holder, relation, "#", s.subscription.regions, published, passing)
        for key, p in self.world.publications.items():
            holder = ("publication", *key)
            if asking is None or holder in asking:
                for relation in tracked(p.publication.filter):
                    self._watch(holder, relation, "&", p.publication.regions, subscribed, passing)

    def _ends(self, owner: str, expires: Moment) -> Moment:
        return min(expires, self.world.clients[owner].ends)

    def _watch(
        self,
        holder: Holder,
        relation: c.Spatial,
        side: c.Side,
        regions: tuple[Region, ...],
        others: Mapping[tuple[str, str], _Party],
        passing: str | None,
    ) -> None:
        """Note how a relation of the holder stands to each other party that it may name."""
        relations = self.relations.setdefault(holder, Relations())
        other: c.Side = "&" if side == "#" else "#"
        _, owner, id_ = holder
        parties: set[Key] = {()}
        if mentions(relation, other):
            past = {party for known, party in relations.histories if known == relation}
            parties = {key for key in others if key[0] != owner} | past
        for key in parties:
            party = others.get((key[0], key[1]), _GONE) if key else _NOBODY
            theirs: list[Side | None] = [*self.world.sides(key[0], key[1], party.regions)] if key else [None]
            questions = [
                Question(
                    self.world,
                    {side: ours} if their is None else {side: ours, other: their},
                    0,
                    passing=passing,
                    asker=ours,
                )
                for ours, their in product(self.world.sides(owner, id_, regions), theirs)
            ]
            involved = (*((owner,) if mentions(relation, side) else ()), *key[:1])
            self._note(relations, relation, key, questions, involved, party.ends)

    def _note(
        self,
        relations: Relations,
        relation: c.Spatial,
        party: Key,
        questions: list[Question],
        involved: Key,
        ends: Moment,
    ) -> None:
        """Note the relation for each thing that it may hold with.

        It happens at the latest time of the clients involved; one over ANY involves everyone.
        """
        known = relations.histories.setdefault((relation, party), {})
        items = dict(questions[0].items(relation)) if quantified(relation) else {(): []}
        clients = involved if not c.asks_for_any(relation) else None
        for item in known.keys() | items.keys():
            when = int(self.clock(clients))
            holds = False
            for question in questions:
                asked = replace(question, now=when, turns=[])
                asked.may_turn(ends)
                if when < ends and item in items and asked.exists(item, relation):
                    answer = asked.of_item(relation, item, items[item]) if item else asked.ask(relation)
                    holds |= answer is True
                relations.dues += [(turn, clients) for turn in asked.turns]
            known.setdefault(item, History()).observe(holds, when)


@dataclass(frozen=True, slots=True)
class _Party:
    """The other side of a relation, and when it ends."""

    regions: tuple[Region, ...]
    ends: Moment


_NOBODY, _GONE = _Party((), FOREVER), _Party((), NEVER)


def tracked(*conditions: c.Condition | None) -> list[c.Spatial]:
    """The relations whose history is asked for."""
    found = [n.relation for n in c.walk(conditions) if isinstance(n, (c.Entered, c.Left, c.MeanStay))]
    return list(dict.fromkeys(found))


def mentions(node: object, side: c.Side) -> bool:
    return any(isinstance(part, c.Ref) and part.side == side for part in c.walk(node))
