"""Parse tree → model, one method a grammar rule. What the model refuses is reported where it is written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast
from zoneinfo import ZoneInfo

from lark import Token, Tree

from nearcast.errors import LanguageError, ModelError, suggestion
from nearcast.language import units
from nearcast.language.normalize import NearestHere
from nearcast.model import condition as c
from nearcast.model.constraint import Constraint, Interval, Values
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.moment import parse_time
from nearcast.model.place import Place, PlaceName
from nearcast.model.region import Region
from nearcast.model.shape import Box, Disc, Geometry, Point, polygon
from nearcast.model.space import BOOLEAN, INTEGER, PERCENTAGE, REAL, TEXT, Dimension, Metric, SubjectSpace, Type
from nearcast.model.statement import (
    Choice,
    FromLayer,
    FromRelation,
    FromSpaces,
    LayerFile,
    Nearest,
    Options,
    Pick,
    Publication,
    RelationDefinition,
    Removal,
    Source,
    Statement,
    Subscription,
)  # fmt: skip

__all__ = ["Builder"]


TYPES = {"real": REAL, "integer": INTEGER, "text": TEXT, "boolean": BOOLEAN, "percentage": PERCENTAGE}
WORDED = {"≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "="}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)

DEEPEST = 100
LOCATION = {side: c.Ref(cast(c.Side, side), "location") for side in "&#"}


class Refused(Exception):
    """A reason and a hint, before the place in the text is known."""

    def __init__(self, reason: str, hint: str = "") -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


class Builder:
    """Builds one statement. ``source`` and ``offset`` place errors in the whole source."""

    def __init__(self, source: str, offset: int = 0) -> None:
        self.source = source
        self.offset = offset
        self.level = 0
        self.depth = 0
        """How many brackets deep: inside them, a bare name is a property of the item."""

    def build(self, node: Any) -> Any:
        if node is None:
            return None
        if isinstance(node, Token):
            return getattr(self, f"token_{node.type}", str)(node)
        if self.level > DEEPEST:
            raise LanguageError("this is nested too deeply", self.source, self.offset + node.meta.start_pos)
        self.level += 1
        try:
            return getattr(self, node.data)(*node.children)
        except (ModelError, Refused) as error:
            at = self.offset + (0 if node.meta.empty else node.meta.start_pos)
            hint = error.hint if isinstance(error, Refused) else ""
            raise LanguageError(str(error), self.source, at, hint) from None
        finally:
            self.level -= 1

    def all(self, nodes: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.build(node) for node in nodes)

    def start(self, statement: Any) -> Statement:
        return cast(Statement, self.build(statement))

    # ---- statements ------------------------------------------------------------------------------

    def select(self, header: Any, choice: Any, *clauses: Any) -> Subscription:
        name, owner = self.build(header) or ("", "")
        told = self.clauses(clauses)
        options = {key: told[key] for key in Options.__dataclass_fields__ if key in told}
        return Subscription(
            name, owner,
            source=told.get("source", FromSpaces()),
            regions=(*told.get("at", ()), *told.get("as", ())),
            filter=told.get("where", c.ALWAYS),
            choice=self.build(choice),
            nearest=told.get("nearest"),
            on=told.get("on"),
            life=told.get("life", c.ALWAYS),
            options=Options(**options),
        )  # fmt: skip

    def publish(self, header: Any, *clauses: Any) -> Publication:
        name, owner = self.build(header) or ("", "")
        told = self.clauses(clauses)
        return Publication(
            name, owner,
            regions=(*told.get("at", ()), *told.get("as", ())),
            filter=told.get("to", c.ALWAYS),
            content=told.get("content", ""),
            expires=told.get("expires"),
        )  # fmt: skip

    def clauses(self, nodes: Sequence[Tree[Any]]) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for node in nodes:
            key, value = self.build(node)
            if key in told:
                at = self.offset + node.meta.start_pos
                raise LanguageError(f"{_clause(key)} is given twice", self.source, at, "join the two, or drop one")
            told[key] = value
        return told

    def header(self, name: Any, owner: Any) -> tuple[str, str]:
        return self.build(name), self.build(owner) or ""

    def choice(self, pick: Token, count: Any) -> Choice:
        return Choice(Pick(pick.lower()), 1 if count is None else self.count(count))

    def space(self, name: Any, *rest: Any) -> SubjectSpace:
        *dimensions, metric = rest
        kind, measured = self.build(metric) or (Metric.EUCLIDEAN, ())
        return SubjectSpace(self.build(name), self.all(dimensions), kind, measured)

    def dimension(self, name: Any, kind: Any, within: Any) -> Dimension:
        word = self.build(kind)
        if word.lower() not in TYPES:
            raise Refused(f"unknown type {word!r}", suggestion(word, TYPES) or f"types are {', '.join(TYPES)}")
        base = TYPES[word.lower()]
        return Dimension(self.build(name), base if within is None else Type(base.base, self.build(within)))

    def metric(self, name: Any) -> tuple[Metric, tuple[str, ...]]:
        word = self.build(name)
        try:
            return Metric(word.lower()), ()
        except ValueError:
            known = [metric.value for metric in Metric]
            raise Refused(f"unknown metric {word!r}", suggestion(word, known) or "earth, planar or euclidean") from None

    def measured(self, names: Any) -> tuple[Metric, tuple[str, ...]]:
        return Metric.EUCLIDEAN, self.build(names)

    def place(self, path: Any, level: Any, geometry: Any) -> Place:
        return Place(self.build(path), self.build(level) or "", self.build(geometry))

    def layer(self, name: Any, *regions: Any) -> Layer:
        return Layer(self.build(name), self.all(regions))

    def layer_file(self, name: Any, path: Any) -> LayerFile:
        return LayerFile(self.build(name), self.build(path))

    def layer_region(self, name: Any, geometry: Any, attributes: Any) -> LayerRegion:
        return LayerRegion(self.build(name), self.build(geometry), self.build(attributes) or Region(None))

    def relation(self, name: Any, members: Any, where: Any, permit: Any) -> RelationDefinition:
        first, second = self.build(members) or ((), ())
        held = _without("@", self.build(where), "a relation is between two clients, & and #")
        allowed = _without("@&", self.build(permit) or c.ALWAYS, "PERMIT is about the watcher, #")
        return RelationDefinition(self.build(name), held, first, second, allowed)

    def among(self, names: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(sorted(set(self.build(names)))), ()

    def between(self, first: Any, second: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(sorted(set(self.build(first)))), tuple(sorted(set(self.build(second))))

    def drop(self, kind: Token, name: Any) -> Removal:
        return Removal(cast(Any, kind.lower()), self.build(name))

    def retract(self, header: Any) -> Removal:
        return Removal("publication", *self.build(header))

    def unsubscribe(self, header: Any) -> Removal:
        return Removal("subscription", *self.build(header))

    # ---- clauses ---------------------------------------------------------------------------------

    def from_clause(self, source: Any) -> tuple[str, Source]:
        built = self.build(source)
        return "source", built if isinstance(built, (FromLayer, FromRelation)) else FromSpaces(
            tuple(sorted(set(built)))
        )

    def from_layer(self, name: Any) -> FromLayer:
        return FromLayer(self.build(name))

    def from_relation(self, name: Any) -> FromRelation:
        return FromRelation(self.build(name))

    def names(self, *names: Any) -> tuple[str, ...]:
        return self.all(names)

    def at_clause(self, *spots: Any) -> tuple[str, tuple[Region, ...]]:
        return "at", self.all(spots)

    def spot(self, where: Any) -> Region:
        built = self.build(where)
        return Region("location", location=built) if isinstance(built, Geometry) else Region("location", place=built)

    def as_clause(self, *regions: Any) -> tuple[str, tuple[Region, ...]]:
        return "as", self.all(regions)

    def region(self, space: Any, *constraints: Any) -> Region:
        return Region(self.build(space), self.all(constraints))

    def constrain_compare(self, key: Any, op: Token, value: Any) -> tuple[str, Constraint]:
        sign, bound = self.comparison(op), self.build(value).value
        if sign == "=":
            return self.build(key), Values((bound,))
        if sign == "!=":
            raise Refused("a region cannot exclude a value", "list the values it has: kind IN {'a', 'b'}")
        if isinstance(bound, bool):
            raise Refused("a boolean has no order", "write = TRUE or = FALSE")
        below, closed = sign.startswith("<"), "=" in sign
        return self.build(key), Interval(None, bound, True, closed) if below else Interval(bound, None, closed)

    def constrain_values(self, key: Any, *rest: Any) -> tuple[str, Constraint]:
        if len(rest) == 2 and self.comparison(rest[0]) != "=":
            raise Refused("an interval or a set follows = or IN")
        return self.build(key), self.build(rest[-1])

    def where_clause(self, where: Any) -> tuple[str, Any]:
        return "where", _without("@", self.build(where), "a reading is tested in ON")

    def to_clause(self, where: Any) -> tuple[str, Any]:
        return "to", _without("@", self.build(where), "a reading is tested in the subscription's ON")

    def while_clause(self, where: Any) -> tuple[str, Any]:
        return "life", _without("@&", self.build(where), "WHILE is about the subscriber, #")

    def on_clause(self, where: Any) -> tuple[str, Any]:
        return "on", c.ALWAYS if isinstance(where, Token) else self.build(where)

    def nearest_clause(self, count: Any, space: Any) -> tuple[str, Nearest]:
        return "nearest", Nearest(self.count(count), self.build(space))

    def content_clause(self, content: Any) -> tuple[str, str]:
        return "content", json.dumps(_plain(self.build(content)), ensure_ascii=False)

    def dwell(self, duration: Any) -> tuple[str, int]:
        return "dwell", self.build(duration).micros

    def cooldown(self, duration: Any) -> tuple[str, int]:
        return "cooldown", self.build(duration).micros

    def fresh(self, duration: Any) -> tuple[str, int]:
        return "fresh", self.build(duration).micros

    def hysteresis(self, length: Any) -> tuple[str, float]:
        return "hysteresis", self.build(length)

    def confidence(self, number: Any) -> tuple[str, float]:
        return "confidence", self.build(number) / 100

    def updates(self) -> tuple[str, bool]:
        return "updates", True

    def bandwidth(self, number: Any, unit: Token) -> tuple[str, float]:
        return "bandwidth", units.bits_per_second(self.build(number), unit)

    def expires(self, when: Any) -> tuple[str, Any]:
        built = self.build(when)
        return "expires", built if isinstance(built, c.Duration) else c.Instant(parse_time(built))

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
        return check_comparison(compared)

    def inside(self, left: Any, right: Any) -> c.Condition:
        subject, target = self.build(left), self.build(right)
        if isinstance(target, (Interval, Values)):
            return self.related(subject, c.Relation.ENCLOSED, target)
        if isinstance(target, c.Within):
            return replace(target, left=subject)
        if isinstance(target, c.Ref) and not _is_location(target):
            return self.related(subject, c.Relation.ENCLOSED, target)
        if isinstance(target, NearestHere):
            return cast(c.Condition, target)
        return c.Inside(_located(subject), target)

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
        count = self.count(last)
        if count < 1:
            raise Refused("MEAN STAY needs at least one stay")
        return c.MeanStay(count, tracked)

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
        side, rest = cast(c.Side, token[0]), [_unquoted(part) for part in _parts(token[1:])]
        if side == "@":
            return c.Ref("@", rest[0] if rest else "value")
        return c.Ref(side, rest[-1], rest[0] if len(rest) == 2 else None)

    def bare(self, token: Token) -> c.Ref:
        if not self.depth:
            raise Refused(
                f"{token!s} belongs to nobody", f"write &{token} (the publisher's) or #{token} (the subscriber's)"
            )
        return c.Ref("", _unquoted(token))

    def numeral(self, number: Any) -> c.Constant:
        return c.Constant(self.build(number))

    def text(self, text: Any) -> c.Constant:
        return c.Constant(self.build(text))

    def word(self, token: Token) -> c.Constant:
        return c.Constant(str(token))

    def truth(self, token: Token) -> c.Constant:
        return c.Constant(token.lower() == "true")

    # ---- values ----------------------------------------------------------------------------------

    def geometry(self, shape: Any, *heights: Any) -> Geometry:
        told = self.clauses(heights)
        return Geometry(self.build(shape), told.get("altitude"), told.get("floor"))

    def altitude(self, heights: Any) -> tuple[str, Interval]:
        return "altitude", _interval(self.build(heights))

    def floor(self, heights: Any) -> tuple[str, Interval]:
        return "floor", _interval(self.build(heights))

    def point(self, at: Any) -> Point:
        return Point(*self.build(at))

    def disc(self, at: Any, radius: Any) -> Disc:
        x, y = self.build(at)
        return Disc(x, y, self.build(radius))

    def box(self, low: Any, high: Any) -> Box:
        return Box(*self.build(low), *self.build(high))

    def polygon_shape(self, *parts: Any) -> Any:
        return polygon(self.all(parts))

    def polygon(self, *rings: Any) -> tuple[Any, ...]:
        return self.all(rings)

    def ring(self, *corners: Any) -> tuple[Any, ...]:
        return self.all(corners)

    def coordinate(self, x: Any, y: Any) -> tuple[float, float]:
        return float(self.build(x)), float(self.build(y))

    def interval(self, opening: Token, low: Any, high: Any, closing: Token) -> Interval:
        least, most = (None if bound is None else self.build(bound).value for bound in (low, high))
        return Interval(least, most, low_closed=opening == "[", high_closed=closing == "]")

    def set(self, *items: Any) -> Values:
        return Values(tuple(item.value for item in self.all(items)))

    def duration(self, *parts: Any) -> c.Duration:
        amounts = [_number(part) for part in parts[::2]]
        return c.Duration(sum(units.micros_of(a, u) for a, u in zip(amounts, parts[1::2], strict=True)))

    def length(self, number: Any, unit: Token) -> float:
        return units.metres(self.build(number), unit)

    def plain_length(self, number: Any) -> float:
        return units.metres(self.build(number), "m")

    def number(self, token: Token) -> int | float:
        return _number(token)

    def negative(self, token: Token) -> int | float:
        return -_number(token)

    def string(self, token: Token) -> str:
        return _unescaped(token[1:-1])

    def count(self, token: Token) -> int:
        number = _number(token)
        if not isinstance(number, int) or number > 2**31:
            raise Refused(f"{token} is not a reasonable count")
        return number

    def comparison(self, token: Token) -> str:
        return WORDED.get(token, str(token))

    def token_QUOTED_NAME(self, token: Token) -> str:  # noqa: N802  # named for its terminal
        return _unquoted(token)

    def json_number(self, number: Any) -> c.Constant:
        return c.Constant(self.build(number))

    def json_null(self, _token: Any) -> None:
        return None

    def json_array(self, *items: Any) -> list[Any]:
        return [_plain(item) for item in self.all([i for i in items if i is not None])]

    def json_object(self, *pairs: Any) -> dict[str, Any]:
        return dict(self.all([pair for pair in pairs if pair is not None]))

    def json_pair(self, key: Any, value: Any) -> tuple[str, Any]:
        return self.build(key), _plain(self.build(value))


TIMED = (c.Now, c.Entered, c.Left, c.Instant, c.MeanStay)
_NOT_IN_BRACKETS = (c.Inside, c.Within, c.Crosses, c.Entered, c.Left, c.MeanStay, c.Now, NearestHere)


def check_comparison(compared: c.Compare) -> c.Compare:
    """Refuse a comparison of unlike things; plain durations become seconds next to plain numbers."""
    sides = [_terms(compared.left), _terms(compared.right)]
    everything = [term for side in sides for _, term in side]
    if any(isinstance(term, TIMED) for term in everything):
        if any(isinstance(term, c.Constant) for term in everything):
            raise Refused("a time is compared with a plain number", "add a unit: 5 h, 30 min, 10 s")
        absolute = [sum(sign for sign, term in side if isinstance(term, _ABSOLUTE)) for side in sides]
        if absolute[0] != absolute[1] or absolute[0] not in (-1, 0, 1):
            raise Refused("a time is compared with a duration", "subtract a time: NOW - ENTERED(…) > 5 h")
        return compared
    left, right = (_without_durations(side) for side in (compared.left, compared.right))
    if any(isinstance(side, c.Sum) and _worded(side) for side in (left, right)):
        raise Refused("only numbers can be added")
    return c.Compare(left, compared.op, right)


_ABSOLUTE = (c.Now, c.Entered, c.Left, c.Instant)


def _terms(expression: c.Expression) -> tuple[tuple[int, c.Expression], ...]:
    return expression.terms if isinstance(expression, c.Sum) else ((1, expression),)


def _without_durations(expression: c.Expression) -> c.Expression:
    if isinstance(expression, c.Sum):
        return c.Sum(tuple((sign, _without_durations(term)) for sign, term in expression.terms))
    return c.Constant(expression.micros / 1e6) if isinstance(expression, c.Duration) else expression


def _worded(total: c.Sum) -> bool:
    return any(isinstance(t, c.Constant) and isinstance(t.value, (bool, str)) for _, t in total.terms)


def _without(sides: str, where: Any, hint: str) -> Any:
    for node in c.walk(where):
        if isinstance(node, c.Ref) and node.side and node.side in sides:
            raise Refused(f"{node.side} has no meaning here", hint)
    return where


def _is_location(ref: c.Ref) -> bool:
    return ref.name == "location" and ref.space in (None, "location")


def _located(subject: Any) -> Any:
    if isinstance(subject, c.Ref) and not _is_location(subject):
        raise Refused(f"{subject.side}{subject.name} is not a location", f"write {subject.side}location")
    return subject


def _clause(key: str) -> str:
    return {"life": "WHILE", "source": "FROM", "updates": "WITH UPDATES"}.get(key, key.upper())


def _minute(token: Token, most: int = 1439) -> int:
    hours, minutes = (int(part) for part in token.split(":"))
    if minutes > 59 or hours * 60 + minutes > most:
        raise Refused(f"{token} is not a time of day")
    return hours * 60 + minutes


def _interval(heights: Interval | float) -> Interval:
    return heights if isinstance(heights, Interval) else Interval(heights, heights)


def _number(token: str) -> int | float:
    if token.isdigit():
        if len(token) > 18:
            raise Refused(f"{token[:20]}… is too large a number")
        return int(token)
    number = float(token)
    if not math.isfinite(number):
        raise Refused(f"{token[:20]} is too large a number")
    return number


def _parts(name: str) -> list[str]:
    return re.findall(r"`[^`]+`|[^.`]+", name)


def _unquoted(name: str) -> str:
    return name[1:-1] if name.startswith("`") else str(name)


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found.group(1)
        return chr(int(code[1:], 16)) if len(code) == 5 else ESCAPES.get(code, code)

    plain = _ESCAPE.sub(one, text)
    # Escaped surrogate pairs are one character; a lone half is none.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, c.Constant) else value
