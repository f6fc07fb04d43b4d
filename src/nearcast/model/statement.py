"""What clients say: publications, subscriptions, and named relations between clients (paper, 4.4 to 4.6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from nearcast.errors import ModelError
from nearcast.model.condition import (
    ALWAYS,
    Condition,
    Crosses,
    Duration,
    Entered,
    InLayer,
    Inside,
    Instant,
    Left,
    MeanStay,
    Not,
    Ref,
    walk,
)
from nearcast.model.condition import And as _And
from nearcast.model.layer import Layer
from nearcast.model.place import Place
from nearcast.model.region import Region
from nearcast.model.shape import check_distance
from nearcast.model.space import SubjectSpace

__all__ = [
    "Choice",
    "FromLayer",
    "FromRelation",
    "FromSpaces",
    "LayerFile",
    "Nearest",
    "Options",
    "Pick",
    "Publication",
    "RelationDefinition",
    "Removal",
    "Source",
    "Statement",
    "Subscription",
    "spanned_layer",
]


LEAST, MOST = 1.0, 1_000_000.0
"""Metres of a precision."""
NEVER = Not(ALWAYS)


@dataclass(frozen=True, slots=True)
class Publication:
    """Object regions, and a filter over the regions of the subscribers it may reach."""

    id: str
    owner: str
    regions: tuple[Region, ...] = ()
    filter: Condition = ALWAYS
    content: str = ""
    """JSON text, delivered as it is; empty if there is none."""
    expires: Duration | Instant | None = None
    precision: float | None = None
    """Metres: others see it in the middle of a cell that wide, and not with its client."""
    paused: bool = False
    """Nobody may know of it for now."""

    def __post_init__(self) -> None:
        if self.filter is not ALWAYS:
            _speaks_of("&#", self.filter, "TO")
        if self.precision is not None and not LEAST <= self.precision <= MOST:
            raise ModelError(f"a precision is from {LEAST:g} m to {MOST / 1000:g} km")

    @property
    def permits(self) -> Condition:
        """Who may know of it."""
        return NEVER if self.paused else self.filter


@dataclass(frozen=True, slots=True)
class FromSpaces:
    """Publications with a region valid in one of these spaces; all publications if none is named."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FromLayer:
    """The regions of a layer, each as if it were a publication open to all."""

    name: str


@dataclass(frozen=True, slots=True)
class FromRelation:
    """The pairs of clients of a named relation."""

    name: str


Source = FromSpaces | FromLayer | FromRelation


class Pick(StrEnum):
    ANY = "anyof"
    NEAR = "nearof"
    REMOTE = "remoteof"


@dataclass(frozen=True, slots=True)
class Choice:
    """Of the sources that satisfy the conditions, keep so many."""

    pick: Pick
    count: int = 1


@dataclass(frozen=True, slots=True)
class Nearest:
    """Exactly so many, by distance and then id; by the metric of a space if one is named."""

    count: int
    space: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    dwell: int = 0
    hysteresis: float = 0.0
    cooldown: int = 0
    confidence: float | None = None
    fresh: int | None = None
    updates: bool = False
    bandwidth: float | None = None
    """Bits per second; delivery may coalesce updates to keep to it."""
    expires: Duration | Instant | None = None

    def __post_init__(self) -> None:
        check_distance(self.hysteresis)
        if self.confidence is not None and not 0.5 <= self.confidence < 1:
            raise ModelError("a confidence is at least 50 % and less than 100 %")


@dataclass(frozen=True, slots=True)
class Subscription:
    """Interest regions, a filter over the publication's regions, and how to choose and when to tell."""

    id: str
    owner: str
    source: Source = FromSpaces()
    regions: tuple[Region, ...] = ()
    filter: Condition = ALWAYS
    choice: Choice | None = None
    nearest: Nearest | None = None
    on: Condition | None = None
    life: Condition = ALWAYS
    """WHILE: life control."""
    options: Options = field(default_factory=Options)

    def __post_init__(self) -> None:
        _speaks_of("&#", self.filter, "WHERE")
        _speaks_of("#", self.life, "WHILE")
        for node in walk(self.on):
            if isinstance(node, (Entered, Left, MeanStay)):
                _speaks_of("&#", node.relation, "the past")  # a reading has none
        if isinstance(self.source, FromRelation) and (self.filter != ALWAYS or self.chooses or self.on is not None):
            raise ModelError(
                "a relation has its conditions where it is defined; watching it takes WHILE and options only"
            )
        if self.choice and self.nearest:
            raise ModelError("a choice of source applies to ranges, not to NEAREST; give one of the two")
        for part in (self.choice, self.nearest):
            if part and part.count < 1:
                raise ModelError("the number of sources must be at least 1")
        spanned_layer(self)

    @property
    def chooses(self) -> bool:
        """Whether one match depends on the others, so that the subscription is one thing, not many pairs."""
        return self.choice is not None or self.nearest is not None


def _speaks_of(sides: str, condition: Condition, clause: str) -> None:
    for node in walk(condition):
        if isinstance(node, Ref) and node.side not in sides and node.side:
            raise ModelError(f"{node.side} has no meaning in {clause}")


def spanned_layer(subscription: Subscription) -> InLayer | None:
    """The layer whose regions the subscription watches one by one, if there is one."""
    spans = [n for n in walk(subscription.filter) if isinstance(n, InLayer) and not n.any]
    elsewhere = [n for n in walk((subscription.life, subscription.on)) if isinstance(n, InLayer) and not n.any]
    if not spans and not elsewhere:
        return None
    top = subscription.filter.items if isinstance(subscription.filter, _And) else (subscription.filter,)
    direct = [n.right for n in top if isinstance(n, (Inside, Crosses)) and n.right in spans]
    if elsewhere or len(direct) != 1 or len(spans) != 1:
        raise ModelError(
            "only one LAYER can be watched region by region, as a direct part of WHERE; write ANY LAYER for the others"
        )
    if subscription.nearest is not None or not isinstance(subscription.source, FromSpaces):
        raise ModelError("a LAYER cannot be watched region by region here; write ANY LAYER")
    return spans[0]


@dataclass(frozen=True, slots=True)
class RelationDefinition:
    """A relation between two clients that others may watch by name.

    Of two groups, ``&`` is the member of the first and ``#`` of the second. In one group (or in none, which is
    every client) ``&`` is the client with the lesser id.
    """

    name: str
    filter: Condition
    members: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    permit: Condition = ALWAYS
    """Over ``#``, the watcher: who may watch."""

    def __post_init__(self) -> None:
        _speaks_of("&#", self.filter, "WHERE")
        _speaks_of("#", self.permit, "PERMIT")


@dataclass(frozen=True, slots=True)
class Removal:
    """The end of something that was defined, published or subscribed."""

    kind: Literal["space", "place", "layer", "relation", "publication", "subscription"]
    name: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class LayerFile:
    """A layer whose regions are in a GeoJSON file."""

    name: str
    path: str


Statement = Subscription | Publication | SubjectSpace | Place | Layer | LayerFile | RelationDefinition | Removal
