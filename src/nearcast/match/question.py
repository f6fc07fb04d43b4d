"""A condition, asked of one case at one time: true, false, or unknown for want of a value.

Besides the answer, a question collects when the answer may turn by itself (``turns``) and what was measured
(``measures``). Nothing is skipped once the answer is clear, so that both lists are complete.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

from nearcast.match import schedule
from nearcast.match.world import Side, World
from nearcast.model import condition as c
from nearcast.model import constraint as sets
from nearcast.model import region as regions
from nearcast.model.constraint import Constraint, Interval, Values, equal_to, is_finite
from nearcast.model.fix import Fix, Located
from nearcast.model.layer import LayerRegion
from nearcast.model.moment import LIMIT, MICROS, NEVER, Moment
from nearcast.model.place import PlaceName, is_under
from nearcast.model.shape import Geometry, Shape
from nearcast.model.statement import Options

__all__ = ["History", "Measure", "Question", "Recall", "Rigour", "lets_in", "quantified", "step_for"]

BUILT_IN = frozenset(("accuracy", "altitude", "floor", "id", "owner", "place"))
"""What is known of every side, whatever it says of itself."""


@dataclass(slots=True)
class History:
    """One relation of two things: whether it holds, τ, π, and how long it held the last time it was over."""

    holds: bool = False
    entered: Moment = NEVER
    left: Moment = NEVER
    stay: Moment = 0

    def observe(self, holds: bool, now: int) -> None:
        now = int(max(now, self.entered, self.left))  # by other clocks than before, if its publication was edited
        if holds and not self.holds:
            self.entered = now
        if self.holds and not holds:
            self.left, self.stay = now, now - self.entered
        self.holds = holds


Recall = Callable[[c.Spatial, "Question"], list[History]]
"""The histories of a relation, one for each thing it has held with."""


@dataclass(frozen=True, slots=True)
class Rigour:
    """How sure one must be, and how far outside, before the side of a boundary changes."""

    quantile: float = 0.0
    hysteresis: float = 0.0

    @staticmethod
    def of(options: Options) -> Rigour:
        p = options.confidence
        return Rigour(0.0 if p is None else NormalDist().inv_cdf(p), options.hysteresis)

    def verdict(self, depth: float, accuracy: float, before: bool) -> bool:
        unsure = self.quantile * accuracy
        if depth >= unsure:
            return True
        return not -depth > (max(unsure, self.hysteresis) if before else unsure) and before


@dataclass(frozen=True, slots=True)
class Measure:
    """One condition about locations, and how far it was from turning."""

    condition: c.Condition
    holds: bool | None
    depth: float | None = None
    """Metres inside; negative outside."""


@dataclass
class Question:
    world: World
    sides: Mapping[str, Side]
    now: int
    rigour: Rigour = Rigour()
    latches: frozenset[tuple[Any, ...]] = frozenset()
    """The conditions on locations that counted as true before; those that do now are in ``latched``."""
    case: tuple[int, ...] = ()
    """Which regions were chosen for the two sides."""
    region: LayerRegion | None = None
    """The region of the layer that is watched region by region."""
    passing: str | None = None
    """The client whose last step is looked at by ``CROSSES``."""
    fresh: int | None = None
    recall: Recall | None = None
    asker: Side | None = None
    """With whose eyes ANY looks; what a publisher's filter hides from it is not there."""
    exact: bool = False
    """Measure even where the answer needs no number."""
    turns: list[int] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    latched: set[tuple[Any, ...]] = field(default_factory=set)

    # ---- logic -----------------------------------------------------------------------------------

    def ask(self, node: c.Condition) -> bool | None:
        match node:
            case c.Compare():
                return self._compare(node)
            case c.And():
                return _all([self.ask(item) for item in node.items])
            case c.Or():
                return _any([self.ask(item) for item in node.items])
            case c.Not():
                answer = self.ask(node.item)
                return None if answer is None else not answer
            case c.Relate():
                return self._relate(node)
            case c.Within() | c.Inside() | c.Crosses():
                return self._spatial(node)
            case c.During():
                self.may_turn(schedule.next_turn(node, self.now))
                return schedule.holds(node, self.now)
        return True

    def may_turn(self, moment: Moment | None) -> None:
        if moment is not None and self.now < moment < math.inf:
            self.turns.append(int(moment))

    # ---- values ----------------------------------------------------------------------------------

    def value(self, ref: c.Ref) -> Constraint | None:
        side = self.sides[ref.side]
        if ref.space is None and side.client is not None and ref.name in BUILT_IN:
            return self._built_in(side, ref.name)  # nothing that a client says of itself hides who and where it is
        if ref.space and (ref.space not in self.world.spaces or ref.name not in self.world.spaces[ref.space].names):
            return None
        for r in side.regions_in(ref.space) if ref.space else side.regions:
            found = r.get(ref.name)
            if found is not None:
                return found
        return self._built_in(side, ref.name) if ref.space is None and ref.name in BUILT_IN else None

    def _built_in(self, side: Side, name: str) -> Constraint | None:
        located = self.where(side)
        geometry = located.geometry if located else None
        if name in ("altitude", "floor"):
            return getattr(geometry, name) if geometry else None
        known: Mapping[str, Any] = {
            "id": side.id or None,
            "owner": side.client,
            "accuracy": side.fix.position.accuracy if side.fix and located else None,
            "place": self.world.place_of(located) if located and name == "place" else None,
        }
        value = known.get(name)
        return None if value is None else equal_to(value)

    def where(self, side: Side) -> Located | None:
        """Where a side is, unless its fix is older than the subscription accepts."""
        if side.fix is not None and self.fresh is not None:
            stale = side.fix.time + self.fresh + 1
            if self.now >= stale:
                return None
            self.may_turn(stale)
        return side.located

    def _compare(self, node: c.Compare) -> bool | None:
        left, right = node.left, node.right
        if isinstance(left, c.Ref) and isinstance(right, c.Constant):  # nearly all are
            found = self.value(left)
            return None if found is None else sets.compare(found, node.op, equal_to(right.value))
        if _is_timed(left) or _is_timed(right):
            return self._compare_times(node)
        one, other = self._set(left), self._set(right)
        return None if one is None or other is None else sets.compare(one, node.op, other)

    def _set(self, node: c.Expression) -> Constraint | None:
        match node:
            case c.Ref():
                return self.value(node)
            case c.Constant(value):
                return equal_to(value)
            case c.Sum(terms):
                return self._total(terms)
        return None

    def _total(self, terms: Iterable[tuple[int, c.Expression]]) -> Constraint | None:
        total: float = 0
        for sign, term in terms:
            number = _number(self._set(term))
            if number is None:
                return None
            total += sign * number
        return equal_to(total) if is_finite(total) else None

    # ---- time ------------------------------------------------------------------------------------

    def _compare_times(self, node: c.Compare) -> bool | None:
        """Both sides are linear in the present time, so the instant at which they meet is known."""
        (k1, c1), (k2, c2) = self._linear(node.left), self._linear(node.right)
        if math.isnan(c1) or math.isnan(c2):
            return None
        slope, rest = k1 - k2, c1 - c2
        if slope and math.isfinite(rest):
            meeting, left_over = divmod(-rest, slope)
            self.may_turn(meeting if left_over == 0 else None)
            self.may_turn(meeting + 1)
        # Not by their difference: never minus never is no number, yet never is not after never.
        left, right = k1 * self.now + c1, k2 * self.now + c2
        return {
            "<": left < right, "<=": left <= right, "=": left == right,
            "!=": left != right, ">=": left >= right, ">": left > right,
        }[node.op]  # fmt: skip

    def _linear(self, node: c.Expression) -> tuple[int, Moment]:
        """A factor of the present time, and the rest in microseconds; not a number if a value is missing."""
        match node:
            case c.Now():
                return 1, 0
            case c.Duration(micros) | c.Instant(micros):
                return 0, micros
            case c.Sum(terms):
                parts = [(sign, *self._linear(term)) for sign, term in terms]
                return sum(s * k for s, k, _ in parts), sum(s * rest for s, _, rest in parts)
            case c.Entered(relation):
                return 0, max((past.entered for past in self._history(relation)), default=NEVER)
            case c.Left(relation):
                return 0, max((past.left for past in self._history(relation)), default=NEVER)
            case c.MeanStay(last, relation):
                return 0, self._mean_stay(last, relation)
            case c.Ref():
                return 0, _micros(_number(self.value(node)))
        return 0, math.nan

    def _history(self, relation: c.Spatial) -> list[History]:
        return self.recall(relation, self) if self.recall else []

    def _mean_stay(self, last: int, relation: c.Spatial) -> Moment:
        stays = sorted((past.left, past.stay) for past in self._history(relation) if past.left != NEVER)
        return sum(stay for _, stay in stays[-last:]) / last if len(stays) >= last else math.nan

    # ---- sets and regions ------------------------------------------------------------------------

    def _relate(self, node: c.Relate) -> bool | None:
        if node.left.name == "*":
            return self._relate_regions(node)
        if node.left.name == "location":
            return self._relate_locations(node)
        left = self.value(node.left)
        right = self.value(node.right) if isinstance(node.right, c.Ref) else node.right
        if left is None or not isinstance(right, (Interval, Values)):
            return None
        return {
            c.Relation.CONTAINS: sets.contains(left, right),
            c.Relation.ENCLOSED: sets.contains(right, left),
            c.Relation.OVERLAPS: sets.overlaps(left, right),
        }[node.relation]

    def _relate_regions(self, node: c.Relate) -> bool | None:
        assert isinstance(node.right, c.Ref)
        space = self.world.spaces.get(node.left.space or "")
        found = [self.sides[ref.side].regions_in(ref.space or "") for ref in (node.left, node.right)]
        if space is None or not all(found):
            return None
        relate = {
            c.Relation.CONTAINS: regions.contains,
            c.Relation.ENCLOSED: regions.enclosed,
            c.Relation.OVERLAPS: regions.overlaps,
        }[node.relation]
        return relate(found[0][0], found[1][0], space)

    def _relate_locations(self, node: c.Relate) -> bool | None:
        left = self.where(self.sides[node.left.side])
        right = self.where(self.sides[node.right.side]) if isinstance(node.right, c.Ref) else node.right
        a, b = (where.geometry if isinstance(where, Located) else where for where in (left, right))
        if not isinstance(a, Geometry) or not isinstance(b, Geometry):
            return None
        if node.relation is c.Relation.CONTAINS:
            return _all([self.world.within_heights(b, a), self.world.ground.contains(a.shape, b.shape)])
        return regions.geometry_overlaps(a, b, self.world.metric)

    # ---- places ----------------------------------------------------------------------------------

    def _spatial(self, node: c.Spatial) -> bool | None:
        """Asked of everything that ANY stands for, it holds if it holds of one; what cannot be known is not one."""
        if not quantified(node):
            return self._one(node, (), None)
        known = next((end for end in (node.left, node.right) if isinstance(end, c.Ref)), None)
        if known is not None and self.where(self.sides[known.side]) is None:
            return None
        return True in [self.of_item(node, key, sides) for key, sides in self.items(node) if self.exists(key, node)]

    def items(self, node: c.Spatial) -> list[tuple[tuple[str, ...], list[Side]]]:
        """What ANY stands for in the condition; without it, one case of its own."""
        for end in (node.left, node.right):
            if isinstance(end, c.AnyOf):
                return [
                    (key, self.world.sides(key[0], key[1], p.publication.regions))
                    for key, p in sorted(self.world.publications.items())
                    if any(self.world.valid_in(r, end.space) for r in self.world.visible(p.publication.regions))
                ]
            if isinstance(end, c.InLayer) and end.any:
                layer = self.world.layers.get(end.layer)
                return [((r.id,), [self.world.region_side(r)]) for r in layer.regions] if layer else []
        return [((), [])]

    def exists(self, key: tuple[str, ...], node: c.Spatial) -> bool:
        """Whether one of ANY is still there for the asker, and not the client itself: nobody is near to themselves."""
        if len(key) != 2:
            return True
        ends = self.world.ends((key[0], key[1]))
        self.may_turn(ends)
        clients = [self.sides[end.side].client for end in (node.left, node.right) if isinstance(end, c.Ref)]
        return self.now < ends and key[0] not in clients and self.may_see((key[0], key[1]))

    def may_see(self, key: tuple[str, str]) -> bool:
        """Whether the publisher's filter lets the asker know of it."""
        if self.asker is None:
            return True
        seen, turns = lets_in(self.world, key, self.asker, self.now)
        self.turns += turns
        return seen

    def of_item(self, node: c.Spatial, key: tuple[str, ...], sides: list[Side]) -> bool | None:
        return _any([self._one(node, (*key, i), side) for i, side in enumerate(sides)])

    def _one(self, node: c.Spatial, item: tuple[Any, ...], side: Side | None) -> bool | None:
        self.world.pace()
        where = next((end.where for end in (node.left, node.right) if isinstance(end, (c.AnyOf, c.InLayer))), c.ALWAYS)
        about = side or (self.world.region_side(self.region) if self.region else None)
        admitted = True if where == c.ALWAYS else self._admits(where, about)
        subject = self._subject(node.left, side)
        targets = self._targets(node.right, side)
        depth, accuracy = self._depth(node, subject, targets)
        inside = None if depth is None else self._latched(node, item, depth, accuracy)
        holds = _all([inside, admitted])
        if isinstance(node, c.Crosses) and holds is False and admitted:
            holds = self._crossed(node, targets)
        self.measures.append(Measure(node, holds, depth))
        return holds

    def _admits(self, where: c.Condition, item: Side | None) -> bool | None:
        """Whether an item satisfies the conditions in brackets, which may turn by themselves too."""
        sides = self.sides if item is None else {**self.sides, "": item}
        asked = Question(self.world, sides, self.now, fresh=self.fresh)
        answer = asked.ask(where)
        self.turns += asked.turns
        return answer

    def _subject(self, subject: c.Subject, item: Side | None) -> Located | None:
        side = item if isinstance(subject, c.AnyOf) else self.sides[subject.side]
        return self.where(side) if side else None

    def _targets(self, target: c.Target, item: Side | None) -> list[Located]:
        """Where the target is; several, if it is a place with others inside."""
        match target:
            case c.Ref():
                there = self.where(self.sides[target.side])
            case Geometry():
                there = Located(target)
            case PlaceName():
                return self.world.extents(target)
            case c.InLayer(any=False):
                there = Located(self.region.geometry) if self.region else None
            case _:
                there = self.where(item) if item else None
        return [there] if there else []

    def _depth(self, node: c.Spatial, subject: Located | None, targets: list[Located]) -> tuple[float | None, float]:
        """How far inside the subject is, in metres, and how uncertain that is; nothing if it cannot be known."""
        if subject is None:
            return None, 0.0
        accuracy = math.hypot(subject.accuracy, *(target.accuracy for target in targets[:1]))
        if isinstance(node, c.Within):
            reach = node.distance if not isinstance(node.distance, c.Ref) else _number(self.value(node.distance))
            away = [self._distance(subject, target) for target in targets]
            near = [d for d in away if d is not None]
            return (reach - min(near) if near and reach is not None else None), accuracy
        depths = [self._depth_in(subject, target) for target in targets]
        if not targets:
            return (-math.inf if isinstance(node.right, PlaceName) else None), accuracy
        best = max((depth for depth in depths if depth is not None), default=None)
        return (None if None in depths and (best is None or best < 0) else best), accuracy

    def _distance(self, a: Located, b: Located) -> float | None:
        if a.geometry is None or b.geometry is None:
            return None
        return self.world.ground.distance(a.geometry.shape, b.geometry.shape)

    def _depth_in(self, a: Located, b: Located) -> float | None:
        if a.path is not None and b.path is not None:
            return math.inf if is_under(a.path, b.path) else -math.inf
        if a.geometry is None:
            return None
        if b.geometry is None:
            return None if b.path is None else -math.inf  # a place without an outline has nobody in it by coordinates
        level = self.world.within_heights(a.geometry, b.geometry)
        depth = self._shape_depth(a.geometry.shape, b.geometry.shape)
        if level is None:
            return None if depth >= 0 else depth
        return depth if level else -math.inf

    def _shape_depth(self, inner: Shape, outer: Shape) -> float:
        """Metres inside; where only the side of the boundary matters, any number on that side."""
        if self.exact or self.rigour != _PLAIN:
            return self.world.ground.depth(outer, inner)
        return 0.0 if self.world.ground.contains(outer, inner) else -1.0

    def _latched(self, node: c.Spatial, item: tuple[Any, ...], depth: float, accuracy: float) -> bool:
        if self.rigour == _PLAIN:
            return depth >= 0
        key = (node, self.case, item)
        inside = self.rigour.verdict(depth, accuracy, key in self.latches)
        if inside:
            self.latched.add(key)
        return inside

    def _crossed(self, node: c.Crosses, targets: list[Located]) -> bool:
        side = self.sides[node.left.side] if isinstance(node.left, c.Ref) else None
        if side is None or side.client is None or side.client != self.passing or side.fix is None:
            return False
        before = self.world.clients[side.client].previous
        start, end = (fix.position.point if fix else None for fix in (before, side.fix))
        here = side.located
        if start is None or end is None or here is None or here.geometry is None:
            return False
        return any(
            t.geometry is not None
            and self.world.within_heights(here.geometry, t.geometry)
            and self.world.ground.crosses(t.geometry.shape, start, end)
            for t in targets
        )


def lets_in(
    world: World, key: tuple[str, str], asker: Side, now: int, before: Fix | None = None
) -> tuple[bool, list[int]]:
    """Whether a publisher's filter lets somebody know of it, or did when it was there before; and when that may turn.

    One that asks about others in turn, or about the past, lets nobody in.
    """
    publication = world.publications[key].publication
    if publication.permits == c.ALWAYS or asker.client == key[0]:
        return True, []
    if any(isinstance(node, (c.AnyOf, c.Entered, c.Left, c.MeanStay)) for node in c.walk(publication.permits)):
        return False, []
    sides = [replace(side, before=before) for side in world.sides(*key, publication.regions)]
    asked = [Question(world, {"&": side, "#": asker}, now) for side in sides]
    seen = True in [question.ask(publication.permits) for question in asked]
    return seen, [turn for question in asked for turn in question.turns]


def step_for(world: World, passing: str | None, key: tuple[str, str], askers: Iterable[Side]) -> str | None:
    """The client whose last step is looked at; nobody, if it is the publisher's and the askers were not let in where
    it began. What they are told of the way would tell where that was."""
    published = world.publications.get(key)
    if passing != key[0] or published is None:
        return passing
    start = world.clients[passing].previous
    if start is None or published.since is None or published.since > start.time:
        return None
    return passing if any(lets_in(world, key, asker, start.time, start)[0] for asker in askers) else None


_PLAIN = Rigour()
_TIMED = (c.Now, c.Entered, c.Left, c.MeanStay, c.Instant)


def _all(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _any(answers: list[bool | None]) -> bool | None:
    if True in answers:
        return True
    return None if None in answers else False


def quantified(node: c.Spatial) -> bool:
    return any(isinstance(end, c.AnyOf) or (isinstance(end, c.InLayer) and end.any) for end in (node.left, node.right))


def _is_timed(node: c.Expression) -> bool:
    return any(isinstance(part, _TIMED) for part in c.walk(node))


def _micros(seconds: float | None) -> Moment:
    """What does not fit in 64 bits is longer than any time."""
    if seconds is None:
        return math.nan
    return round(seconds * MICROS) if abs(seconds) * MICROS <= LIMIT else math.copysign(math.inf, seconds)


def _number(constraint: Constraint | None) -> float | None:
    """The number, if there is exactly one."""
    if not isinstance(constraint, Values) or len(constraint.items) != 1:
        return None
    value = constraint.items[0]
    return None if isinstance(value, (bool, str)) else value
