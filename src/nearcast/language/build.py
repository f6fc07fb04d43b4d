"""Parse tree → statements."""

from __future__ import annotations

import json
from typing import Any, cast

from lark import Token

from nearcast.errors import suggestion
from nearcast.language import units
from nearcast.language.conditions import Conditions
from nearcast.language.literals import Refused, plain
from nearcast.model import condition as c
from nearcast.model.constraint import Constraint, Interval, Values
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.moment import parse_time
from nearcast.model.place import Place
from nearcast.model.region import Region
from nearcast.model.shape import Geometry
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
)

__all__ = ["Builder"]

TYPES = {"real": REAL, "integer": INTEGER, "text": TEXT, "boolean": BOOLEAN, "percentage": PERCENTAGE}


class Builder(Conditions):
    """Builds one statement."""

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
        if "precision" in told and "at" in told:
            raise Refused("what is at a place of its own has no PRECISION", "write a larger shape after AT instead")
        return Publication(
            name, owner,
            regions=(*told.get("at", ()), *told.get("as", ())),
            filter=told.get("to", c.ALWAYS),
            content=told.get("content", ""),
            expires=told.get("expires"),
            precision=told.get("precision"),
            paused=told.get("paused", False),
        )  # fmt: skip

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
        held = self.speaking("&#", where, "a relation is between two clients, & and #")
        allowed = self.speaking("#", permit, "PERMIT is about the watcher, #")
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
        return "where", self.speaking("&#", where, "a reading is tested in ON")

    def to_clause(self, where: Any) -> tuple[str, Any]:
        return "to", self.speaking("&#", where, "a reading is tested in the subscription's ON")

    def while_clause(self, where: Any) -> tuple[str, Any]:
        return "life", self.speaking("#", where, "WHILE is about the subscriber, #")

    def on_clause(self, where: Any) -> tuple[str, Any]:
        return "on", c.ALWAYS if isinstance(where, Token) else self.build(where)

    def nearest_clause(self, count: Any, space: Any) -> tuple[str, Nearest]:
        return "nearest", Nearest(self.count(count), self.build(space))

    def content_clause(self, content: Any) -> tuple[str, str]:
        return "content", json.dumps(plain(self.build(content)), ensure_ascii=False)

    def dwell(self, duration: Any) -> tuple[str, int]:
        return "dwell", self.build(duration).micros

    def cooldown(self, duration: Any) -> tuple[str, int]:
        return "cooldown", self.build(duration).micros

    def fresh(self, duration: Any) -> tuple[str, int]:
        return "fresh", self.build(duration).micros

    def hysteresis(self, length: Any) -> tuple[str, float]:
        return "hysteresis", self.build(length)

    def confidence(self, number: Any) -> tuple[str, float]:
        percent = self.build(number)
        if not 50 <= percent < 100:
            raise Refused("a confidence is at least 50 % and less than 100 %")
        return "confidence", percent / 100

    def precision(self, length: Any) -> tuple[str, float]:
        return "precision", self.build(length)

    def paused(self) -> tuple[str, bool]:
        return "paused", True

    def updates(self) -> tuple[str, bool]:
        return "updates", True

    def bandwidth(self, number: Any, unit: Token) -> tuple[str, float]:
        return "bandwidth", units.bits_per_second(self.build(number), unit)

    def expires(self, when: Any) -> tuple[str, Any]:
        built = self.build(when)
        return "expires", built if isinstance(built, c.Duration) else c.Instant(parse_time(built))
