"""Model → text. What is written reads back as the same model.

The same writer gives a statement's *shape*: the text with every constant left out, and the constants in order.
Two subscriptions that differ only in constants have one shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nearcast.language.units import DAYS, duration_text, length_text, number_text
from nearcast.model import condition as c
from nearcast.model.constraint import EVERYTHING, Constraint, Interval, Scalar, Values
from nearcast.model.layer import Layer
from nearcast.model.moment import time_text
from nearcast.model.place import Place, PlaceName
from nearcast.model.region import Region
from nearcast.model.shape import Box, Disc, Geometry, Point, Polygon, Shape
from nearcast.model.space import Metric, SubjectSpace, Type
from nearcast.model.statement import (
    FromLayer,
    FromRelation,
    FromSpaces,
    LayerFile,
    Options,
    Publication,
    RelationDefinition,
    Removal,
    Source,
    Statement,
    Subscription,
)

__all__ = ["RESERVED", "StatementShape", "condition_text", "shape_of", "statement_text"]

_KEYWORDS = """
    altitude always among and any anyof as at bandwidth between box by confidence contains content cooldown
    crosses daily disc drop during dwell enclosed entered expires false floor fresh from hysteresis in layer
    left level mean metric multipolygon nearest nearof not now null of on or overlaps paused permit place point
    polygon precision publish rang reading relation remoteof retract select space stay subscribe time to true
    unsubscribe updates where while with within zone life mon tue wed thu fri sat sun
"""
RESERVED = frozenset(_KEYWORDS.split())
"""Words that a name is quoted for, so that it never reads as anything else."""

_LOCATIONS = frozenset(("any", "box", "disc", "layer", "multipolygon", "nearest", "place", "point", "polygon"))
_PLAIN_NAME = re.compile(r"[^\W\d]\w*\Z")
_ESCAPED = re.compile(r"['\\\x00-\x1f\x7f]")
_SHORT = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_RELATED = {c.Relation.CONTAINS: "CONTAINS", c.Relation.ENCLOSED: "ENCLOSED BY", c.Relation.OVERLAPS: "OVERLAPS"}


@dataclass(frozen=True, slots=True)
class StatementShape:
    text: str
    constants: tuple[Any, ...]


def statement_text(statement: Statement) -> str:
    return _Writer().statement(statement)


def condition_text(condition: c.Condition) -> str:
    return _Writer().condition(condition)


def shape_of(statement: Subscription | c.Condition) -> StatementShape:
    """The shape of a subscription, apart from its name and owner, or of a condition."""
    writer = _Writer(hide=True)
    body = writer.selection(statement) if isinstance(statement, Subscription) else writer.condition(statement)
    return StatementShape(body, tuple(writer.constants))


class _Writer:
    def __init__(self, hide: bool = False) -> None:
        self.hide = hide
        self.constants: list[Any] = []

    def constant(self, text: str, value: Any) -> str:
        if not self.hide:
            return text
        self.constants.append(value)
        return "?"

    # ---- statements ------------------------------------------------------------------------------

    def statement(self, statement: Statement) -> str:
        writers: dict[type, Callable[[Any], str]] = {
            Subscription: self.subscription,
            Publication: self.publication,
            SubjectSpace: self.space,
            Place: self.place,
            Layer: self.layer,
            RelationDefinition: self.relation,
            Removal: _removal,
            LayerFile: lambda layer: f"LAYER {_name(layer.name)} FROM {_quoted(layer.path)}",
        }
        return writers[type(statement)](statement)

    def subscription(self, s: Subscription) -> str:
        header = f"SUBSCRIBE {_name(s.id)}{_by(s.owner)} " if s.id else ""
        return header + self.selection(s)

    def selection(self, s: Subscription) -> str:
        pick = nearest = on = ""
        if s.choice:
            pick = f"{s.choice.pick.value}({self.constant(str(s.choice.count), s.choice.count)})"
        if s.nearest:
            by = f" BY {_name(s.nearest.space)}" if s.nearest.space else ""
            nearest = f"NEAREST {self.constant(str(s.nearest.count), s.nearest.count)}{by}"
        if s.on is not None:
            on = "ON READING" if s.on == c.ALWAYS else f"ON {self.condition(s.on)}"
        parts = [
            "SELECT",
            pick,
            _source(s.source),
            *self.regions(s.regions),
            self.clause("WHERE", s.filter),
            nearest,
            on,
            self.clause("WHILE", s.life),
            *self.options(s.options),
        ]
        return _joined(parts)

    def options(self, o: Options) -> Iterable[str]:
        if o.dwell:
            yield f"DWELL {self.constant(duration_text(o.dwell), o.dwell)}"
        if o.hysteresis:
            yield f"HYSTERESIS {self.constant(length_text(o.hysteresis), o.hysteresis)}"
        if o.cooldown:
            yield f"COOLDOWN {self.constant(duration_text(o.cooldown), o.cooldown)}"
        if o.confidence is not None:
            yield f"CONFIDENCE {self.constant(f'{_percent(o.confidence)} %', o.confidence)}"
        if o.fresh is not None:
            yield f"FRESH {self.constant(duration_text(o.fresh), o.fresh)}"
        if o.updates:
            yield "WITH UPDATES"
        if o.bandwidth is not None:
            yield f"BANDWIDTH {self.constant(f'{number_text(o.bandwidth)} bps', o.bandwidth)}"
        if o.expires is not None:
            yield self.expires(o.expires)

    def expires(self, when: c.Duration | c.Instant) -> str:
        if isinstance(when, c.Duration):
            return f"EXPIRES {self.constant(duration_text(when.micros), when)}"
        return f"EXPIRES AT {self.constant(_quoted(time_text(when.micros)), when)}"

    def publication(self, p: Publication) -> str:
        parts = [
            "PUBLISH" + (f" {_name(p.id)}{_by(p.owner)}" if p.id else ""),
            *self.regions(p.regions if p.precision is None else _unlocated(p.regions)),
            self.clause("TO", p.filter),
            f"CONTENT {p.content}" if p.content else "",
            f"PRECISION {self.constant(length_text(p.precision), p.precision)}" if p.precision else "",
            "PAUSED" if p.paused else "",
            self.expires(p.expires) if p.expires else "",
        ]
        return _joined(parts)

    def space(self, s: SubjectSpace) -> str:
        dimensions = ", ".join(f"{_name(d.name)} {_type(d.type)}" for d in s.dimensions)
        metric = f" METRIC {s.metric.value}" if s.metric is not Metric.EUCLIDEAN else ""
        measured = f" METRIC ({', '.join(map(_name, s.measured))})" if s.measured else ""
        return f"SPACE {_name(s.name)} ({dimensions}){metric}{measured}"

    def place(self, p: Place) -> str:
        level = f" LEVEL {_name(p.level)}" if p.level else ""
        return f"PLACE {_quoted(p.path)}{level}" + (f" AT {self.geometry(p.geometry)}" if p.geometry else "")

    def layer(self, layer: Layer) -> str:
        def one(r: Any) -> str:
            attributes = f" AS {self.region(r.attributes)}" if r.attributes.constraints else ""
            return f"{_quoted(r.id)} AT {self.geometry(r.geometry)}{attributes}"

        return f"LAYER {_name(layer.name)} ({', '.join(map(one, layer.regions))})"

    def relation(self, r: RelationDefinition) -> str:
        first, second = (", ".join(map(_name, group)) for group in (r.members, r.others))
        members = f" BETWEEN ({first}) AND ({second})" if second else f" AMONG ({first})" if first else ""
        where = f" WHERE {self.condition(r.filter)}"
        return f"RELATION {_name(r.name)}{members}{where}" + (
            "" if r.permit == c.ALWAYS else f" {self.clause('PERMIT', r.permit)}"
        )

    # ---- regions ---------------------------------------------------------------------------------

    def regions(self, regions: tuple[Region, ...]) -> Iterable[str]:
        spots = [self.spot(r) for r in regions if r.location or r.place]
        others = [self.region(r) for r in regions if not (r.location or r.place)]
        if spots:
            yield f"AT {', '.join(spots)}"
        if others:
            yield f"AS {', '.join(others)}"

    def spot(self, r: Region) -> str:
        return self.geometry(r.location) if r.location else self.place_name(r.place) if r.place else ""

    def region(self, r: Region) -> str:
        space = f"{_name(r.space)} " if r.space else ""
        return f"{space}({', '.join(self.constrained(key, held) for key, held in r.constraints)})"

    def constrained(self, key: str, held: Constraint) -> str:
        name = key if _PLAIN_NAME.match(key) else f"`{key}`"
        if isinstance(held, Values):
            one = len(held.items) == 1
            return f"{name} = {self.scalar(held.items[0])}" if one else f"{name} IN {self.values(held)}"
        if held.low is None and held.high is not None:
            return f"{name} {'<=' if held.high_closed else '<'} {self.scalar(held.high)}"
        if held.high is None and held.low is not None:
            return f"{name} {'>=' if held.low_closed else '>'} {self.scalar(held.low)}"
        return f"{name} IN {self.values(held)}"

    # ---- conditions ------------------------------------------------------------------------------

    def clause(self, word: str, condition: c.Condition) -> str:
        return "" if condition == c.ALWAYS else f"{word} {self.condition(condition)}"

    def condition(self, node: c.Condition, inside: str = "") -> str:
        match node:
            case c.And(items) | c.Or(items):
                word = "AND" if isinstance(node, c.And) else "OR"
                text = f" {word} ".join(self.condition(item, word) for item in items)
                return f"({text})" if inside in ("AND", "NOT") or (inside == "OR" and word == "OR") else text
            case c.Not(item):
                return f"NOT {self.condition(item, 'NOT')}"
            case c.Compare(left, op, right):
                first = _ref(left) if isinstance(left, c.Ref) else self.expression(left)
                return f"{first} {op} {self.expression(right)}"
            case c.Relate(left, relation, right):
                return self.related(left, relation, right)
            case c.Within(left, reach, right):
                far = _ref(reach) if isinstance(reach, c.Ref) else self.constant(length_text(reach), reach)
                return f"{self.target(left)} WITHIN {far} OF {self.target(right)}"
            case c.Inside(left, right):
                return f"{self.target(left)} IN {self.target(right)}"
            case c.Crosses(left, right):
                return f"{self.target(left)} CROSSES {self.target(right)}"
            case c.During(days, start, end, zone):
                when = f"{_days(days)} {_clock(start)}-{_clock(end)} ZONE {_quoted(zone)}"
                return f"DURING {self.constant(when, node)}"
        return "ALWAYS"

    def related(self, left: c.Ref, relation: c.Relation, right: Any) -> str:
        if isinstance(right, c.Ref):
            return f"{_ref(left)} {_RELATED[relation]} {_ref(right)}"
        if isinstance(right, Geometry):
            return f"{_ref(left)} {_RELATED[relation]} {self.geometry(right)}"
        word = "IN" if relation is c.Relation.ENCLOSED else _RELATED[relation]
        return f"{_ref(left)} {word} {self.values(right)}"

    def expression(self, node: c.Expression) -> str:
        match node:
            case c.Ref(side, name):
                return _ref(node) if side else f"`{name}`"  # a plain word here would read as text
            case c.Constant(value):
                return self.scalar(value)
            case c.Duration(micros):
                return self.constant(duration_text(micros), node)
            case c.Instant(micros):
                return f"TIME {self.constant(_quoted(time_text(micros)), node)}"
            case c.Entered(relation):
                return f"ENTERED({self.condition(relation)})"
            case c.Left(relation):
                return f"LEFT({self.condition(relation)})"
            case c.MeanStay(last, relation):
                return f"MEAN STAY({self.constant(str(last), last)}, {self.condition(relation)})"
            case c.Sum(terms):
                first, *rest = terms
                signed = (f" {'+' if sign > 0 else '-'} {self.expression(term)}" for sign, term in rest)
                return self.expression(first[1]) + "".join(signed)
        return "NOW"

    def target(self, node: c.Target) -> str:
        match node:
            case c.Ref():
                return _ref(node)
            case Geometry():
                return self.geometry(node)
            case PlaceName():
                return self.place_name(node)
            case c.InLayer(layer, where, any_):
                return f"{'ANY ' if any_ else ''}LAYER {_name(layer)}{self.bracketed(where)}"
            case c.AnyOf(space, where):
                return f"ANY {_name(space)}{self.bracketed(where)}"

    def bracketed(self, where: c.Condition) -> str:
        return "" if where == c.ALWAYS else f"[{self.condition(where)}]"

    def place_name(self, place: PlaceName) -> str:
        name = self.constant(_quoted(place.name), place.name)
        return f"{_level(place.level)} {name}" if place.level else f"PLACE {name}"

    # ---- values ----------------------------------------------------------------------------------

    def scalar(self, value: Scalar) -> str:
        return self.constant(_scalar(value), value)

    def values(self, held: Constraint) -> str:
        if isinstance(held, Values):
            return self.constant("{" + ", ".join(map(_scalar, held.items)) + "}", held)
        return self.constant(_interval(held), held)

    def geometry(self, g: Geometry) -> str:
        altitude = f" ALTITUDE {_interval(g.altitude)}" if g.altitude else ""
        floor = f" FLOOR {_interval(g.floor)}" if g.floor else ""
        return self.constant(f"{_shape(g.shape)}{altitude}{floor}", g)


def _removal(r: Removal) -> str:
    words = {"publication": "RETRACT", "subscription": "UNSUBSCRIBE"}
    if r.kind in words:
        return f"{words[r.kind]} {_name(r.name)}{_by(r.owner)}"
    return f"DROP {r.kind.upper()} {_quoted(r.name) if r.kind == 'place' else _name(r.name)}"


def _source(source: Source) -> str:
    match source:
        case FromLayer(name):
            return f"FROM LAYER {_name(name)}"
        case FromRelation(name):
            return f"FROM RELATION {_name(name)}"
        case FromSpaces(names):
            return f"FROM {', '.join(map(_name, names))}" if names else ""


def _type(kind: Type) -> str:
    if kind.within == EVERYTHING:
        return kind.base.value
    held = kind.within
    return f"{kind.base.value} " + (
        _interval(held) if isinstance(held, Interval) else "{" + ", ".join(map(_scalar, held.items)) + "}"
    )


def _shape(shape: Shape) -> str:
    match shape:
        case Point(x, y):
            return f"POINT({_pair(x, y)})"
        case Disc(x, y, radius):
            return f"DISC({_pair(x, y)}, {length_text(radius)})"
        case Box(west, south, east, north):
            return f"BOX({_pair(west, south)}, {_pair(east, north)})"
        case Polygon(parts):
            texts = [f"({', '.join(map(_ring, rings))})" for rings in parts]
            return f"POLYGON{texts[0]}" if len(texts) == 1 else f"MULTIPOLYGON({', '.join(texts)})"


def _ring(ring: Iterable[tuple[float, float]]) -> str:
    return f"({', '.join(_pair(x, y) for x, y in ring)})"


def _pair(x: float, y: float) -> str:
    return f"{number_text(x)} {number_text(y)}"


def _interval(held: Interval) -> str:
    """An end without a bound is written open: there is no last value to include."""
    low, high = ("" if end is None else _scalar(end) for end in (held.low, held.high))
    opening = "[" if held.low_closed and low else "("
    return f"{opening}{low}, {high}{']' if held.high_closed and high else ')'}"


def _scalar(value: Scalar) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return _quoted(value) if isinstance(value, str) else number_text(value)


def _quoted(text: str) -> str:
    return "'" + _ESCAPED.sub(lambda m: _SHORT.get(m.group(), f"\\u{ord(m.group()):04x}"), text) + "'"


def _name(name: str) -> str:
    return name if _PLAIN_NAME.match(name) and name.lower() not in RESERVED else _quoted(name)


def _level(level: str) -> str:
    """A level may be a keyword, such as floor, unless a location can begin with it."""
    return level if _PLAIN_NAME.match(level) and level.lower() not in _LOCATIONS else _quoted(level)


def _by(owner: str) -> str:
    return f" BY {_name(owner)}" if owner else ""


def _ref(ref: c.Ref) -> str:
    if ref.side == "@":
        return "@" if ref.name == "value" else "@" + _tick(ref.name)
    name = ref.name if ref.name == "*" and ref.space else _tick(ref.name, bare=not ref.side)
    return f"{ref.side}{_tick(ref.space)}.{name}" if ref.space else f"{ref.side}{name}"


def _tick(name: str, bare: bool = False) -> str:
    plain = _PLAIN_NAME.match(name) and not (bare and name.lower() in RESERVED)
    return name if plain else f"`{name}`"


def _days(days: tuple[int, ...]) -> str:
    return "DAILY" if len(days) == 7 else ",".join(DAYS[day].capitalize() for day in days)


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _percent(share: float) -> str:
    """The shortest number of percent that reads back as the same share."""
    for digits in range(1, 18):
        text = f"{share * 100:.{digits}g}"
        if float(text) / 100 == share:
            return number_text(float(text))
    return repr(share * 100)


def _unlocated(regions: Sequence[Region]) -> tuple[Region, ...]:
    """Without the cell that one of a lower precision is in."""
    return tuple(r for r in regions if not (r.location or r.place))


def _joined(parts: Iterable[str]) -> str:
    return " ".join(part for part in parts if part)
