"""Conditions: what filters, ON and WHILE are made of.

``&`` is the publisher's side, ``#`` the subscriber's, ``@`` the reading. Inside the brackets of
``ANY shop[kind = 'coffee']`` or ``LAYER zones[kind = 'school']`` a bare name is a property of that item; its
side is the empty string.

A condition is true, false, or unknown. It is unknown when a value that it needs is missing, so that neither
``&price < 2`` nor its negation matches a publication without a price.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Literal

from nearcast.errors import ModelError
from nearcast.model.constraint import Interval, Scalar, Values
from nearcast.model.place import PlaceName
from nearcast.model.shape import Geometry, check_distance

__all__ = [
    "ALWAYS",
    "Always",
    "And",
    "AnyOf",
    "Compare",
    "Condition",
    "Constant",
    "Crosses",
    "Duration",
    "During",
    "Entered",
    "Expression",
    "InLayer",
    "Inside",
    "Instant",
    "Left",
    "MeanStay",
    "Not",
    "Now",
    "Or",
    "PlaceName",
    "Ref",
    "Relate",
    "Relation",
    "Side",
    "Spatial",
    "Subject",
    "Sum",
    "Target",
    "Within",
    "asks_for_any",
    "asks_for_steps",
    "counted",
    "named_only",
    "names_of",
    "tracked",
    "walk",
]  # fmt: skip

Side = Literal["&", "#", "@", ""]
Comparison = Literal["<", "<=", "=", "!=", ">=", ">"]


@dataclass(frozen=True, slots=True)
class Ref:
    """A property of a side: ``&price``, ``#gas.price``, ``&gas.*`` (the whole region), ``@`` (the reading)."""

    side: Side
    name: str
    space: str | None = None


# What a location can be compared with.


@dataclass(frozen=True, slots=True)
class InLayer:
    """The regions of a layer that satisfy the conditions in brackets.

    Each region is a match of its own, with its own state, unless ``any`` asks only whether there is one.
    """

    layer: str
    where: Condition
    any: bool = False


@dataclass(frozen=True, slots=True)
class AnyOf:
    """``ANY shop[…]``: some publication with a region valid in the space that satisfies the conditions."""

    space: str
    where: Condition


Subject = Ref | AnyOf
Target = Ref | Geometry | PlaceName | InLayer | AnyOf


# Expressions.


@dataclass(frozen=True, slots=True)
class Constant:
    value: Scalar


@dataclass(frozen=True, slots=True)
class Duration:
    micros: int


@dataclass(frozen=True, slots=True)
class Instant:
    micros: int


@dataclass(frozen=True, slots=True)
class Now:
    pass


@dataclass(frozen=True, slots=True)
class Entered:
    """τ: when the relation last became true; over ``ANY``, the most recent of all."""

    relation: Spatial


@dataclass(frozen=True, slots=True)
class Left:
    """π: when the relation last stopped being true; over ``ANY``, the most recent of all."""

    relation: Spatial


@dataclass(frozen=True, slots=True)
class MeanStay:
    """The mean of π less τ over the last so many things that left; unknown until so many have."""

    last: int
    relation: Spatial


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms added and subtracted: each has the sign +1 or -1."""

    terms: tuple[tuple[int, Expression], ...]


Expression = Ref | Constant | Duration | Instant | Now | Entered | Left | MeanStay | Sum


def _one_any(left: Subject, right: Target) -> None:
    if isinstance(left, AnyOf) and isinstance(right, (AnyOf, InLayer)):
        raise ModelError("ANY of a space stands on one side only, and not before a layer")


# Conditions.


class Relation(StrEnum):
    CONTAINS = "contains"
    ENCLOSED = "enclosed"
    OVERLAPS = "overlaps"


@dataclass(frozen=True, slots=True)
class Compare:
    """True if every value of the left stands so to every value of the right."""

    left: Expression
    op: Comparison
    right: Expression


@dataclass(frozen=True, slots=True)
class Relate:
    """How the values of a dimension, a region or a location relate to others, as sets."""

    left: Ref
    relation: Relation
    right: Ref | Interval | Values | Geometry


@dataclass(frozen=True, slots=True)
class Within:
    left: Subject
    distance: float | Ref
    """Metres; a property of a side gives each object its own reach."""
    right: Target

    def __post_init__(self) -> None:
        _one_any(self.left, self.right)
        if not isinstance(self.distance, Ref):
            check_distance(self.distance)


@dataclass(frozen=True, slots=True)
class Inside:
    left: Subject
    right: Target

    def __post_init__(self) -> None:
        _one_any(self.left, self.right)


@dataclass(frozen=True, slots=True)
class Crosses:
    """Inside, or passed through between two fixes."""

    left: Subject
    right: Target

    def __post_init__(self) -> None:
        _one_any(self.left, self.right)


Spatial = Within | Inside | Crosses


@dataclass(frozen=True, slots=True)
class During:
    """A weekly schedule: from start (included) to end (excluded), minutes of the day, on these days, 0 = Monday.

    An end at or before the start is on the next day.
    """

    days: tuple[int, ...]
    start: int
    end: int
    zone: str


@dataclass(frozen=True, slots=True)
class Always:
    pass


@dataclass(frozen=True, slots=True)
class And:
    items: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    items: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    item: Condition


Condition = Always | And | Or | Not | Compare | Relate | Within | Inside | Crosses | During

ALWAYS = Always()


def walk(node: Any) -> list[Any]:
    """The node and every node inside it, in the order they are written. Shapes and sets of values are leaves."""
    found: list[Any] = []
    _collect(node, found)
    return found


def _collect(node: Any, found: list[Any]) -> None:
    if isinstance(node, tuple):
        for item in node:
            _collect(item, found)
        return
    kind: type = type(node)
    if (parts := _parts(kind)) is not None:
        found.append(node)
        for name in parts:
            _collect(getattr(node, name), found)


@cache
def _parts(kind: type) -> tuple[str, ...] | None:
    """The fields to look into; none for what is no node at all, such as a number."""
    if kind in (Geometry, Interval, Values, Ref):
        return ()
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else None


def asks_for_any(*conditions: Condition | None) -> bool:
    """Whether a condition looks at what other clients publish."""
    return any(isinstance(node, AnyOf) for node in walk(conditions))


def counted(*conditions: Condition | None) -> tuple[int, int]:
    """How many conditions there are, and how often they look at what other clients publish."""
    nodes = walk(conditions)
    return sum(isinstance(node, Condition) for node in nodes), sum(isinstance(node, AnyOf) for node in nodes)


def names_of(condition: Condition, side: Side) -> frozenset[str]:
    """The names of what it asks of one side; of all that there is, a star."""
    return frozenset(node.name for node in walk(condition) if isinstance(node, Ref) and node.side == side)


def named_only(condition: Condition) -> frozenset[str] | None:
    """The names that a condition is about, if it compares properties with constants and does nothing else. Where there
    is nothing of any of these names, its answer is not known."""
    names: set[str] = set()
    for node in walk(condition):
        match node:
            case And(items=()) | Or(items=()):
                return None
            case Compare(left=Ref(space=None, name=name), right=Constant()):
                names.add(name)
            case And() | Or() | Not() | Ref() | Constant():
                pass
            case _:
                return None
    return frozenset(names)


def asks_for_steps(*conditions: Any) -> bool:
    """Whether a condition looks at the way between two fixes."""
    return any(isinstance(node, Crosses) for node in walk(conditions))


def tracked(*conditions: Condition | None) -> tuple[Spatial, ...]:
    """The relations whose history is asked for."""
    found = (node.relation for node in walk(conditions) if isinstance(node, (Entered, Left, MeanStay)))
    return tuple(dict.fromkeys(found))
