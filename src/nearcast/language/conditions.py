"""Parse tree → conditions and expressions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, cast
from zoneinfo import ZoneInfo

from lark import Token

from nearcast.errors import LanguageError
from nearcast.language import units
from nearcast.language.literals import Literals, Refused, unquoted
from nearcast.language.normalize import NearestHere
from nearcast.model import condition as c
from nearcast.model.constraint import Interval, Values
from nearcast.model.moment import parse_time
from nearcast.model.place import Place, PlaceName
from nearcast.model.shape import Geometry

__all__ = ["Conditions"]

LOCATION = {side: c.Ref(cast(c.Side, side), "location") for side in "&#"}


class Conditions(Literals):
    """Builds conditions."""

    # ---- conditions ------------------------------------------------------------------------------

    def either(self, *items: Any) -> c.Condition:
        return c.Or(self.all(items))

    def both(self, *items: Any) -> c.Condition:
        return c.And(self.all(items))

    def negated(self, item: Any) -> c.Condition:
        return c.Not(self.build(item))

    def always(self, _word: Any) -> c.Condition:
        return c.ALWAYS

    def compare(self, left: Any, op: Token, right: Any) -> c.Condition:
        first = self.bare(left.children[0]) if getattr(left, "data", "") == "word" else self.build(left)
        compared = c.Compare(first, cast(Any, self.comparison(op)), self.build(right))
        return _checked(compared)

    def inside(self, left: Any, right: Any) -> c.Condition:
        subject, target = self.build(left), self.build(right)
        if isinstance(target, (Interval, Values)):
            return self.related(subject, c.Relation.ENCLOSED, target)
        if isinstance(target, c.Within):
            return replace(target, left=_located(subject))
        if isinstance(target, c.Ref) and not _is_location(target):
            return self.related(subject, c.Relation.ENCLOSED, target)
        subject = _located(subject)
        return cast(c.Condition, target) if isinstance(target, NearestHere) else c.Inside(subject, target)

    def within(self, left: Any, reach: Any, right: Any) -> c.Condition:
        target = self.build(right)
        if not isinstance(target, (c.Ref, Geometry, PlaceName, c.InLayer, c.AnyOf)):
            raise Refused("this is not somewhere one can be near to", "name &location, a shape, a place or a layer")
        return c.Within(_located(self.build(left)), self.build(reach), _located(target))

    def crosses(self, left: Any, right: Any) -> c.Condition:
        target = self.build(right)
        if not isinstance(target, (c.Ref, Geometry, PlaceName, c.InLayer, c.AnyOf)):
            raise Refused("this is not something one can cross", "name a shape, a place or a layer")
        return c.Crosses(_located(self.build(left)), _located(target))

    def contains(self, left: Any, right: Any) -> c.Condition:
        return self.related(self.build(left), c.Relation.CONTAINS, self.build(right))

    def enclosed(self, left: Any, right: Any) -> c.Condition:
        return self.related(self.build(left), c.Relation.ENCLOSED, self.build(right))

    def overlaps(self, left: Any, right: Any) -> c.Condition:
        return self.related(self.build(left), c.Relation.OVERLAPS, self.build(right))

    def related(self, left: Any, relation: c.Relation, right: Any) -> c.Condition:
        if not isinstance(left, c.Ref):
            raise Refused("ANY works with IN, WITHIN and CROSSES", "name a property of & or # here")
        somewhere = isinstance(right, Geometry) or (isinstance(right, c.Ref) and _is_location(right))
        if somewhere != _is_location(left):
            raise Refused("a location relates to a location, and a property to values or a property")
        if isinstance(right, c.Ref) and (left.name == "*") != (right.name == "*"):
            raise Refused("a whole region relates to a whole region", "write .* on both sides")
        if left.name == "*" and not isinstance(right, c.Ref):
            raise Refused("a whole region relates to a whole region", "write &space.* or #space.*")
        return c.Relate(left, relation, right)

    def range_of(self, length: Any) -> c.Condition:
        return c.Within(LOCATION["&"], self.build(length), LOCATION["#"])

    def nearest_here(self, count: Any) -> Any:
        return NearestHere(1 if count is None else self.count(count))

    def in_layer(self, any_: Any, name: Any, where: Any) -> c.InLayer:
        return c.InLayer(self.build(name), self.bracketed(where), any_ is not None)

    def any_of(self, _any: Any, name: Any, where: Any) -> c.AnyOf:
        return c.AnyOf(self.build(name), self.bracketed(where))

    def speaking(self, sides: str, where: Any, hint: str) -> c.Condition:
        """A condition that speaks of these sides only; none at all always holds."""
        built = cast(c.Condition, c.ALWAYS if where is None else self.build(where))
        for node in c.walk(built):
            if isinstance(node, c.Ref) and node.side and node.side not in sides:
                at = self.offset + where.meta.start_pos
                raise LanguageError(f"{node.side} has no meaning here", self.source, at, hint)
        return built

    def bracketed(self, where: Any) -> c.Condition:
        self.depth += 1
        built = cast(c.Condition, self.build(where) or c.ALWAYS)
        self.depth -= 1
        for node in c.walk(built):
            located = isinstance(node, c.Relate) and _is_location(node.left)
            if located or isinstance(node, _NOT_IN_BRACKETS):
                raise Refused("brackets hold conditions on the item's properties only")
        return built

    def place_path(self, path: Any) -> PlaceName:
        return PlaceName(Place(self.build(path)).path)

    def place_level(self, level: Any, name: Any) -> PlaceName:
        word = self.build(name)
        return PlaceName(word if isinstance(word, str) else units.number_text(word), self.build(level))

    def during(self, days: Any, start: Token, end: Token, zone: Any) -> c.During:
        name = self.build(zone) or "UTC"
        try:
            ZoneInfo(name)
        except (ValueError, OSError, KeyError):
            raise Refused(f"unknown time zone {name!r}", "use a name such as 'Europe/Paris' or 'UTC'") from None
        return c.During(self.build(days), _minute(start), _minute(end, 1440), name)

    def days(self, *ranges: Any) -> tuple[int, ...]:
        if isinstance(ranges[0], Token):
            return tuple(range(7))
        return tuple(sorted({day for days in self.all(ranges) for day in days}))

    def day_range(self, first: Token, last: Token | None) -> tuple[int, ...]:
        start, end = units.DAYS.index(first.lower()), units.DAYS.index((last or first).lower())
        return tuple((start + i) % 7 for i in range((end - start) % 7 + 1))

    # ---- expressions -----------------------------------------------------------------------------

    def sum(self, first: Any, *rest: Any) -> c.Sum:
        signs, terms = self.all(rest[::2]), self.all(rest[1::2])
        return c.Sum(((1, self.build(first)), *zip(signs, terms, strict=True)))

    def sign(self, _plus: Any) -> int:
        return 1

    def minus(self) -> int:
        return -1

    def now(self) -> c.Now:
        return c.Now()

    def entered(self, relation: Any) -> c.Entered:
        return c.Entered(self.tracked(relation))

    def left(self, relation: Any) -> c.Left:
        return c.Left(self.tracked(relation))

    def mean_stay(self, last: Any, relation: Any) -> c.MeanStay:
        tracked = self.tracked(relation)
        if not any(isinstance(side, c.AnyOf) for side in (tracked.left, tracked.right)):
            raise Refused("MEAN STAY is about ANY of a space", "write MEAN STAY(3, ANY car IN …)")
        return c.MeanStay(self.count(last), tracked)

    def tracked(self, relation: Any) -> c.Spatial:
        built = self.build(relation)
        if not isinstance(built, (c.Within, c.Inside, c.Crosses)):
            raise Refused("only a relation between locations has a history", "write location IN, WITHIN or CROSSES")
        return built

    def instant(self, text: Any) -> c.Instant:
        return c.Instant(parse_time(self.build(text)))

    def length_value(self, length: Any) -> c.Constant:
        return c.Constant(self.build(length))

    def ref(self, token: Token) -> c.Ref:
        side, rest = cast(c.Side, token[0]), [unquoted(part) for part in _parts(token[1:])]
        if side == "@":
            return c.Ref("@", rest[0] if rest else "value")
        return c.Ref(side, rest[-1], rest[0] if len(rest) == 2 else None)

    def bare(self, token: Token) -> c.Ref:
        if not self.depth:
            raise Refused(
                f"{token!s} belongs to nobody", f"write &{token} (the publisher's) or #{token} (the subscriber's)"
            )
        return c.Ref("", unquoted(token))

    def numeral(self, number: Any) -> c.Constant:
        return c.Constant(self.build(number))

    def text(self, text: Any) -> c.Constant:
        return c.Constant(self.build(text))

    def word(self, token: Token) -> c.Constant:
        if token.lower() == "null":
            raise Refused("a value that is missing cannot be compared", "it is unknown; 'null' in quotes is text")
        return c.Constant(str(token))

    def truth(self, token: Token) -> c.Constant:
        return c.Constant(token.lower() == "true")


_NOT_IN_BRACKETS = (c.Inside, c.Within, c.Crosses, c.Entered, c.Left, c.MeanStay, c.Now, NearestHere)


_ABSOLUTE = (c.Now, c.Entered, c.Left, c.Instant)
_TIMED = (*_ABSOLUTE, c.MeanStay)


def _checked(compared: c.Compare) -> c.Compare:
    """Refuse a comparison of unlike things; plain durations become seconds next to plain numbers."""
    sides = [_terms(compared.left), _terms(compared.right)]
    everything = [term for side in sides for _, term in side]
    if any(isinstance(term, _TIMED) for term in everything):
        if any(isinstance(term, c.Constant) for term in everything):
            raise Refused("a time is compared with a plain number", "add a unit: 5 h, 30 min, 10 s")
        absolute = [sum(sign for sign, term in side if isinstance(term, _ABSOLUTE)) for side in sides]
        if absolute[0] != absolute[1] or absolute[0] not in (-1, 0, 1):
            raise Refused("a time is compared with a duration", "subtract a time: NOW - ENTERED(…) > 5 h")
        return compared
    if any(isinstance(term, c.Ref) and term.name == "*" and term.space for term in everything):
        raise Refused("a whole region has no order", "write CONTAINS, ENCLOSED BY or OVERLAPS")
    if any(isinstance(term, c.Ref) and _is_location(term) for term in everything):
        raise Refused("a location has no order", "write IN, WITHIN … OF, OVERLAPS or CONTAINS")
    if all(isinstance(term, c.Constant | c.Duration) for term in everything):
        raise Refused("nothing can vary here", "compare a property, which goes on the left: kind = 'coffee'")
    left, right = (_without_durations(side) for side in (compared.left, compared.right))
    if any(isinstance(side, c.Sum) and _worded(side) for side in (left, right)):
        raise Refused("only numbers can be added")
    return c.Compare(left, compared.op, right)


def _terms(expression: c.Expression) -> tuple[tuple[int, c.Expression], ...]:
    return expression.terms if isinstance(expression, c.Sum) else ((1, expression),)


def _without_durations(expression: c.Expression) -> c.Expression:
    if isinstance(expression, c.Sum):
        return c.Sum(tuple((sign, _without_durations(term)) for sign, term in expression.terms))
    return c.Constant(expression.micros / 1e6) if isinstance(expression, c.Duration) else expression


def _worded(total: c.Sum) -> bool:
    return any(isinstance(t, c.Constant) and isinstance(t.value, (bool, str)) for _, t in total.terms)


def _is_location(ref: c.Ref) -> bool:
    return ref.name == "location" and ref.space in (None, "location")


def _located(subject: Any) -> Any:
    if isinstance(subject, c.Ref) and not _is_location(subject):
        raise Refused(f"{subject.side}{subject.name} is not a location", f"write {subject.side}location")
    return subject


def _minute(token: Token, most: int = 1439) -> int:
    hours, minutes = (int(part) for part in token.split(":"))
    if minutes > 59 or hours * 60 + minutes > most:
        raise Refused(f"{token} is not a time of day")
    return hours * 60 + minutes


def _parts(name: str) -> list[str]:
    return re.findall(r"`[^`]+`|[^.`]+", name)
