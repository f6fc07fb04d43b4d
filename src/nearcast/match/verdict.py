"""What a subscription may match, and whether it does: both filters, life control, and the lives of both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from nearcast.match.history import Past
from nearcast.match.question import BUILT_IN, Question, Rigour, step_for
from nearcast.match.world import Key, Side, Subscribed, World
from nearcast.model import condition as c
from nearcast.model.constraint import Scalar
from nearcast.model.layer import LayerRegion
from nearcast.model.moment import FOREVER, Moment
from nearcast.model.notification import Reason
from nearcast.model.region import distance as region_distance
from nearcast.model.statement import (
    FromLayer,
    FromRelation,
    FromSpaces,
    Pick,
    RelationDefinition,
)

__all__ = ["Asked", "Candidate", "Judge", "Questions", "Verdict"]


@dataclass(frozen=True, slots=True)
class Candidate:
    key: Key
    region: LayerRegion | None = None


Asked = tuple[c.Condition, list[Question]]


class Questions(NamedTuple):
    own: Asked
    """The subscription's filter."""
    life: Asked
    """Its life control."""
    theirs: Asked
    """The publisher's filter."""


@dataclass(slots=True)
class Verdict:
    own: bool = False
    """The subscription's filter holds; of what is hidden it is not asked."""
    alive: bool = False
    """Its life control is true."""
    allowed: bool = False
    """The publisher's filter holds."""
    gone: Reason | None = None
    """The other side is no more."""
    distance: float | None = None
    """What a choice by distance ranks by; infinite if there is none."""
    turns: list[int] = field(default_factory=list)
    latched: set[tuple[Any, ...]] = field(default_factory=set)

    @property
    def satisfied(self) -> bool:
        return self.own and self.alive and self.allowed and self.gone is None and self.distance != math.inf

    @staticmethod
    def holding(asked: Asked) -> list[Question]:
        """The choices of regions for which the condition holds."""
        condition, questions = asked
        holding = []
        for question in questions:
            question.world.pace()
            if question.ask(condition) is True:
                holding.append(question)
        return holding


class Judge:
    """Judges candidates in a world, with its past."""

    def __init__(self, world: World, past: Past) -> None:
        self.world = world
        self.past = past

    # ---- who may match ---------------------------------------------------------------------------

    def candidates(self, s: Subscribed, client: str | None = None) -> Iterator[Candidate]:
        """Everything the subscription may match; with a client, only what involves it."""
        match s.subscription.source:
            case FromLayer(name):
                layer = self.world.layers.get(name) if client is None else None
                for r in layer.regions if layer else ():
                    yield Candidate((name, "", r.id, ""), r)
            case FromRelation(name):
                for a, b in self._members(name, client):
                    yield Candidate((name, min(a, b), "", max(a, b)))
            case FromSpaces():
                for owner, id_ in list(self.world.publications):
                    if owner != s.owner and client in (None, owner):
                        yield from self._spanned(s, (id_, owner, "", ""))

    def _spanned(self, s: Subscribed, key: Key) -> Iterator[Candidate]:
        span = s.span
        if span is None:
            yield Candidate(key)
        elif span.layer in self.world.layers:
            for r in self.world.layers[span.layer].regions:
                yield Candidate((key[0], key[1], r.id, ""), r)

    def _members(self, name: str, client: str | None) -> Iterator[tuple[str, str]]:
        """The pairs (&, #) of a relation; of the two orders of a pair in both groups, the lesser first."""
        relation = self.world.relations.get(name)
        if relation is None:
            return
        known = self.world.clients
        first = [m for m in relation.members if m in known] if relation.members else sorted(known)
        second = [m for m in relation.others if m in known] if relation.others else first
        for a, b in product(first, second):
            if client in (None, a, b) and _is_pair(relation, a, b):
                yield a, b

    # ---- does it match ---------------------------------------------------------------------------

    def judge(
        self,
        s: Subscribed,
        candidate: Candidate,
        now: int,
        *,
        passing: str | None = None,
        exact: bool = False,
        hidden: bool = False,
    ) -> Verdict:
        """Both filters, life control and the lives of both sides. The publisher's filter is asked first, and where it
        fails the subscription's is only asked if that is wanted of what is ``hidden`` too: it is asked of where the
        publisher is, and how long that takes would tell."""
        verdict, watchers, relation = Verdict(), self._watchers(s), self._relation(s)
        parties = self._parties(candidate, relation, watchers)
        theirs = self._theirs(candidate, relation, (parties[0], watchers), now, passing)
        life = self._life(s, watchers, now, passing, exact=exact)
        verdict.allowed, verdict.alive = bool(verdict.holding(theirs)), bool(verdict.holding(life))
        verdict.turns += [turn for _, questions in (theirs, life) for question in questions for turn in question.turns]
        if verdict.allowed or hidden:
            self._ask_own(verdict, s, candidate, self._own(s, candidate, parties, now, passing, exact=exact))
        for ends, expires in self._lifetimes(candidate):
            if now >= ends:
                verdict.gone = Reason.EXPIRED if now >= expires == ends else Reason.GONE
            elif ends < FOREVER:
                verdict.turns.append(int(ends))
        return verdict

    def is_hidden(self, s: Subscribed, key: Key, now: int) -> bool:
        """Whether the publisher's filter keeps a publication from a subscription, and goes on to as time passes."""
        candidate, watchers = Candidate(key), self._watchers(s)
        there, _ = self._parties(candidate, None, watchers)
        theirs = self._theirs(candidate, None, (there, watchers), now, None)
        return not Verdict.holding(theirs) and not any(question.turns for question in theirs[1])

    def _ask_own(self, verdict: Verdict, s: Subscribed, candidate: Candidate, own: Asked) -> None:
        holding = [] if _is_idle(s, own[1]) else verdict.holding(own)
        verdict.own = bool(holding) and self._selected(s, candidate)
        if s.subscription.nearest or (s.subscription.choice and s.subscription.choice.pick is not Pick.ANY):
            verdict.distance = min((self._distance(s, question) for question in holding), default=math.inf)
        verdict.latched = {latch for question in own[1] for latch in question.latched}
        verdict.turns += [turn for question in own[1] for turn in question.turns]

    def latched_life(self, s: Subscribed, now: int, passing: str | None) -> frozenset[tuple[Any, ...]]:
        """The locations that count as inside for life control, after looking where the subscriber is now."""
        life, questions = self._life(s, self._watchers(s), now, passing, exact=False)
        for question in questions:
            question.ask(life)
        return frozenset(latch for question in questions for latch in question.latched)

    def hears(self, s: Subscribed, key: Key, values: Mapping[str, Scalar], now: int) -> bool:
        """Whether a reading of a source satisfies the subscription's ON."""
        if s.subscription.on is None:
            return False
        there, here = self._parties(Candidate(key), None, self._watchers(s))
        recall = self.past.recall(("subscription", s.owner, s.subscription.id), "&")
        reading = self.world.reading(values)
        asked = [
            Question(self.world, {"&": a, "#": b, "@": reading}, now, recall=recall, asker=b)
            for a, b in product(there, here)
        ]
        return any(question.ask(s.subscription.on) for question in asked)

    def questions(
        self, s: Subscribed, candidate: Candidate, now: int, *, passing: str | None = None, exact: bool = False
    ) -> Questions:
        """The three conditions that decide, each with a question for every choice of regions."""
        watchers, relation = self._watchers(s), self._relation(s)
        there, here = self._parties(candidate, relation, watchers)
        return Questions(
            own=self._own(s, candidate, (there, here), now, passing, exact=exact),
            life=self._life(s, watchers, now, passing, exact=exact),
            theirs=self._theirs(candidate, relation, (there, watchers), now, passing),
        )

    def _watchers(self, s: Subscribed) -> list[Side]:
        return self.world.sides(s.owner, s.subscription.id, s.subscription.regions)

    def _own(
        self,
        s: Subscribed,
        candidate: Candidate,
        parties: tuple[list[Side], list[Side]],
        now: int,
        passing: str | None,
        *,
        exact: bool,
    ) -> Asked:
        known, relation = s.pairs.get(candidate.key), self._relation(s)
        watchers = self._watchers(s)
        watcher = watchers[0] if relation else None
        if s.sees_steps and not relation:
            passing = step_for(self.world, passing, (candidate.key[1], candidate.key[0]), watchers)
        questions = [
            Question(
                self.world,
                {"&": a, "#": b},
                now,
                rigour=Rigour.of(s.subscription.options),
                latches=known.latches if known else frozenset(),
                case=(i, j),
                region=candidate.region,
                passing=passing,
                fresh=s.subscription.options.fresh,
                recall=self.past.recall(("subscription", s.owner, s.subscription.id), "&"),
                asker=watcher or b,
                exact=exact,
            )
            for (i, a), (j, b) in product(enumerate(parties[0]), enumerate(parties[1]))
        ]
        return relation.filter if relation else s.subscription.filter, questions

    def _life(self, s: Subscribed, watchers: list[Side], now: int, passing: str | None, *, exact: bool) -> Asked:
        questions = [
            Question(
                self.world,
                {"#": watcher},
                now,
                rigour=Rigour.of(s.subscription.options),
                latches=s.latches,
                case=(i,),
                passing=passing,
                recall=self.past.recall(("subscription", s.owner, s.subscription.id), "&"),
                asker=watcher,
                exact=exact,
            )
            for i, watcher in enumerate(watchers[:1] if s.subscription.life == c.ALWAYS else watchers)
        ]
        return s.subscription.life, questions

    def _theirs(
        self,
        candidate: Candidate,
        relation: RelationDefinition | None,
        parties: tuple[list[Side], list[Side]],
        now: int,
        passing: str | None,
    ) -> Asked:
        condition = self._their_filter(candidate, relation)
        recall = self.past.recall(("publication", candidate.key[1], candidate.key[0]), "#")
        questions = [
            Question(self.world, {"&": a, "#": b}, now, passing=passing, recall=recall, asker=a)
            for a, b in product(parties[0], _that_differ(condition, parties[1]))
        ]
        return condition, questions

    def _relation(self, s: Subscribed) -> RelationDefinition | None:
        source = s.subscription.source
        return self.world.relations.get(source.name) if isinstance(source, FromRelation) else None

    def _parties(
        self, candidate: Candidate, relation: RelationDefinition | None, watchers: list[Side]
    ) -> tuple[list[Side], list[Side]]:
        """The sides & and # that the filter is about."""
        publication, publisher, _, peer = candidate.key
        if relation is not None:
            pair = (publisher, peer) if _is_pair(relation, publisher, peer) else (peer, publisher)
            first, second = (self.world.sides(member, member, ()) for member in pair)
            return first, second
        if candidate.region is not None and not publisher:
            return [self.world.region_side(candidate.region)], watchers
        regions = self.world.publications[publisher, publication].publication.regions
        return self.world.sides(publisher, publication, regions), watchers

    def _their_filter(self, candidate: Candidate, relation: RelationDefinition | None) -> c.Condition:
        """Who may know of it: the publisher's filter; a layer is open to all."""
        published = self.world.publications.get((candidate.key[1], candidate.key[0]))
        if relation is not None:
            return relation.permit
        return published.publication.permits if published else c.ALWAYS

    def _lifetimes(self, candidate: Candidate) -> Iterator[tuple[Moment, Moment]]:
        """When the other side ends, and when it would by its own expiry alone."""
        publication, publisher, _, peer = candidate.key
        if peer:
            for member in (publisher, peer):
                yield self.world.clients[member].ends, FOREVER
        elif publisher:
            yield self.world.ends((publisher, publication)), self.world.publications[publisher, publication].expires

    def _selected(self, s: Subscribed, candidate: Candidate) -> bool:
        source = s.subscription.source
        if not isinstance(source, FromSpaces) or not source.names:
            return True
        publication, publisher, _, _ = candidate.key
        shown = self.world.visible(self.world.publications[publisher, publication].publication.regions)
        return any(self.world.valid_in(r, name) for r in shown for name in source.names)

    def _distance(self, s: Subscribed, question: Question) -> float:
        """Between the two sides, by the location or by the metric of the space that is asked for."""
        there, here = question.sides["&"], question.sides["#"]
        if s.subscription.nearest and s.subscription.nearest.space:
            return self._space_distance(s.subscription.nearest.space, there, here)
        a, b = (located.geometry if located else None for located in map(question.where, (there, here)))
        return self.world.ground.distance(a.shape, b.shape) if a and b else math.inf

    def _space_distance(self, name: str, there: Side, here: Side) -> float:
        space = self.world.spaces.get(name)
        a, b = (next(iter(side.regions_in(name)), None) for side in (there, here))
        return region_distance(a, b, space) if space and a and b else math.inf


def _that_differ(condition: c.Condition, watchers: list[Side]) -> list[Side]:
    """The choices of a subscriber's regions that a publisher's filter is asked of: any one will do, if no region says
    what it asks for. How long it takes to ask it is nothing that a subscriber is to lengthen by what it says of itself.
    """
    if len(watchers) == 1:
        return watchers
    regions = [r for one in watchers for r in one.regions]
    said = {name for r in regions for name, _ in r.constraints}
    refs = [node for node in c.walk(condition) if isinstance(node, c.Ref) and node.side == "#"]
    is_said = any(ref.space or ref.name == "*" or ref.name in said for ref in refs)
    is_elsewhere = bool(refs) and any(r.geometry or r.place for r in regions)
    return watchers if is_said or is_elsewhere else watchers[:1]


def _is_idle(s: Subscribed, questions: list[Question]) -> bool:
    """Whether neither side has anything that the filter is about. Then it does not hold, however long it is."""
    if s.named is None or not s.named.isdisjoint(BUILT_IN):
        return False
    regions = [r for question in questions for side in question.sides.values() for r in side.regions]
    return all(name not in s.named for r in regions for name, _ in r.constraints)


def _is_pair(relation: RelationDefinition, a: str, b: str) -> bool:
    """Whether two clients, in this order, are a pair of a relation; of both orders, the lesser goes first."""
    first = relation.members
    second = relation.others or first

    def ordered(a: str, b: str) -> bool:
        return (not first or a in first) and (not second or b in second)

    return a != b and ordered(a, b) and (a < b or not ordered(b, a))
