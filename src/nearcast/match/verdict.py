"""What a subscription may match, and whether it does: both filters, life control, and the lives of both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from nearcast.match.history import Past
from nearcast.match.question import Question, Rigour
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
    RelationDefinition,
    spanned_layer,
)

__all__ = ["Asked", "Candidate", "Judge", "Questions", "Verdict"]


@dataclass(frozen=True, slots=True)
class Candidate:
    key: Key
    region: LayerRegion | None = None


Asked = tuple[c.Condition, list[Question]]


@dataclass(frozen=True, slots=True)
class Questions:
    own: Asked
    """The subscription's filter."""
    life: Asked
    """Its life control."""
    theirs: Asked
    """The publisher's filter."""


@dataclass(slots=True)
class Verdict:
    own: bool = False
    """The subscription's filter holds."""
    alive: bool = False
    """Its life control is true."""
    allowed: bool = False
    """The publisher's filter holds."""
    gone: Reason | None = None
    """The other side is no more."""
    distance: float | None = None
    turns: list[int] = field(default_factory=list)
    latched: set[tuple[Any, ...]] = field(default_factory=set)

    @property
    def satisfied(self) -> bool:
        return self.own and self.alive and self.allowed and self.gone is None

    def ask(self, asked: Asked) -> bool:
        """Whether it holds for some choice of regions."""
        condition, questions = asked
        answers = [question.ask(condition) is True for question in questions]
        for question in questions:
            self.keep(question)
        return True in answers

    def keep(self, question: Question) -> None:
        """Remember when the answer may turn, and what now counts as inside."""
        self.turns += question.turns
        self.latched |= question.latched


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
        span = spanned_layer(s.subscription)
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
            mirrored = b in first and a in second
            if a != b and (a < b or not mirrored) and client in (None, a, b):
                yield a, b

    # ---- does it match ---------------------------------------------------------------------------

    def judge(
        self, s: Subscribed, candidate: Candidate, now: int, *, passing: str | None = None, exact: bool = False
    ) -> Verdict:
        verdict = Verdict()
        asked = self.questions(s, candidate, now, passing=passing, exact=exact)
        answers = [question.ask(asked.own[0]) is True for question in asked.own[1]]
        verdict.own = True in answers and self._selected(s, candidate)
        for answer, question in zip(answers, asked.own[1], strict=True):
            if answer and s.chooses:
                verdict.distance = self._nearer(s, verdict.distance, question)
            verdict.keep(question)
        verdict.alive = verdict.ask(asked.life)
        verdict.allowed = verdict.ask(asked.theirs)
        for ends, expires in self._lifetimes(candidate):
            if now >= ends:
                verdict.gone = Reason.EXPIRED if now >= expires == ends else Reason.GONE
            elif ends < FOREVER:
                verdict.turns.append(int(ends))
        return verdict

    def hears(self, s: Subscribed, key: Key, values: Mapping[str, Scalar], now: int) -> bool:
        """Whether a reading of a source satisfies the subscription's ON."""
        if s.subscription.on is None:
            return False
        watchers = self.world.sides(s.owner, s.subscription.id, s.subscription.regions)
        there, here = self._parties(Candidate(key), None, watchers)
        recall = self.past.recall(("subscription", s.owner, s.subscription.id), "&")
        reading = self.world.reading(values)
        asked = [
            Question(self.world, {"&": a, "#": b, "@": reading}, now, recall=recall, asker="#")
            for a, b in product(there, here)
        ]
        return any(question.ask(s.subscription.on) for question in asked)

    def questions(
        self, s: Subscribed, candidate: Candidate, now: int, *, passing: str | None = None, exact: bool = False
    ) -> Questions:
        """The three conditions that decide, each with a question for every choice of regions."""
        subscription, known = s.subscription, s.pairs.get(candidate.key)
        relation = self._relation(s)
        watchers = self.world.sides(s.owner, subscription.id, subscription.regions)
        there, here = self._parties(candidate, relation, watchers)
        holder, publisher = (
            ("subscription", s.owner, subscription.id),
            ("publication", candidate.key[1], candidate.key[0]),
        )

        def mine(case: tuple[int, ...], sides: dict[str, Side]) -> Question:
            return Question(
                self.world,
                sides,
                now,
                Rigour.of(subscription.options),
                known.latches if known else frozenset(),
                case,
                candidate.region,
                passing,
                subscription.options.fresh,
                self.past.recall(holder, "&"),
                None if relation else "#",
                exact,
            )

        def theirs(sides: dict[str, Side]) -> Question:
            return Question(self.world, sides, now, passing=passing, recall=self.past.recall(publisher, "#"), asker="&")

        both = list(product(enumerate(there), enumerate(here)))
        return Questions(
            own=(
                relation.filter if relation else subscription.filter,
                [mine((i, j), {"&": a, "#": b}) for (i, a), (j, b) in both],
            ),
            life=(subscription.life, [mine((j,), {"#": watcher}) for j, watcher in enumerate(watchers)]),
            theirs=(
                self._their_filter(candidate, relation),
                [theirs({"&": a, "#": b}) for a, b in product(there, watchers)],
            ),
        )

    def _relation(self, s: Subscribed) -> RelationDefinition | None:
        source = s.subscription.source
        return self.world.relations.get(source.name) if isinstance(source, FromRelation) else None

    def _parties(
        self, candidate: Candidate, relation: RelationDefinition | None, watchers: list[Side]
    ) -> tuple[list[Side], list[Side]]:
        """The sides & and # that the filter is about."""
        publication, publisher, _, peer = candidate.key
        if relation is not None:
            pair = next((a, b) for a, b in self._members(publication, publisher) if {a, b} == {publisher, peer})
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
        return published.publication.filter if published else c.ALWAYS

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

    def _nearer(self, s: Subscribed, known: float | None, question: Question) -> float | None:
        """The least distance seen."""
        nearest = s.subscription.nearest
        there, here = question.sides["&"], question.sides["#"]
        if nearest and nearest.space:
            found = self._space_distance(nearest.space, there, here)
        else:
            a, b = (where.geometry if where else None for where in (question.where(there), question.where(here)))
            found = self.world.ground.distance(a.shape, b.shape) if a and b else math.inf
        return found if known is None or found < known else known

    def _space_distance(self, name: str, there: Side, here: Side) -> float:
        space = self.world.spaces.get(name)
        a, b = (next(iter(side.regions_in(name)), None) for side in (there, here))
        return region_distance(a, b, space) if space and a and b else math.inf
