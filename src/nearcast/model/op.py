"""Ops: the only inputs. A log of them, applied in order, gives the same notifications everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nearcast.errors import ModelError
from nearcast.model.constraint import Scalar
from nearcast.model.fix import Position
from nearcast.model.layer import Layer
from nearcast.model.place import Place
from nearcast.model.space import SubjectSpace
from nearcast.model.statement import Publication, RelationDefinition, Subscription

__all__ = ["ClientOp", "DefineLayer", "DefinePlace", "DefineRelation", "DefineSpace", "Emit", "Forget", "Move", "Op",
           "Publish", "RemoveLayer", "RemovePlace", "RemoveRelation", "RemoveSpace", "Retract", "SetClient",
           "Subscribe", "SystemOp", "Tick", "Unsubscribe"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DefineSpace:
    time: int
    space: SubjectSpace


@dataclass(frozen=True, slots=True)
class RemoveSpace:
    time: int
    name: str


@dataclass(frozen=True, slots=True)
class DefinePlace:
    time: int
    place: Place


@dataclass(frozen=True, slots=True)
class RemovePlace:
    time: int
    name: str


@dataclass(frozen=True, slots=True)
class DefineLayer:
    """Replaces the layer, or, with ``patch``, sets the given regions and drops the named ones."""

    time: int
    layer: Layer
    patch: bool = False
    drop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.drop and not self.patch:
            raise ModelError("regions are dropped from a layer that is patched, not from one that is replaced")


@dataclass(frozen=True, slots=True)
class RemoveLayer:
    time: int
    name: str


@dataclass(frozen=True, slots=True)
class DefineRelation:
    time: int
    relation: RelationDefinition


@dataclass(frozen=True, slots=True)
class RemoveRelation:
    time: int
    name: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passes for everyone; timers fire."""

    time: int


@dataclass(frozen=True, slots=True)
class Publish:
    time: int
    publication: Publication

    @property
    def client(self) -> str:
        return self.publication.owner


@dataclass(frozen=True, slots=True)
class Retract:
    time: int
    client: str
    id: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    time: int
    subscription: Subscription

    @property
    def client(self) -> str:
        return self.subscription.owner


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    time: int
    client: str
    id: str


@dataclass(frozen=True, slots=True)
class Move:
    """A fix. Its time is the fix's own."""

    time: int
    client: str
    position: Position


@dataclass(frozen=True, slots=True)
class SetClient:
    """Replaces the attributes that are named; None removes one. A lease or lateness of None changes nothing."""

    time: int
    client: str
    attributes: Mapping[str, Scalar | None] = field(default_factory=dict)
    lease: int | None = None
    lateness: int | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    time: int
    client: str


@dataclass(frozen=True, slots=True)
class Emit:
    """A transient reading of a source, which is a publication of the client."""

    time: int
    client: str
    publication: str
    values: Mapping[str, Scalar]
    """``@`` is the value named ``value``; ``@name`` any other."""


SystemOp = (
    DefineSpace
    | RemoveSpace
    | DefinePlace
    | RemovePlace
    | DefineLayer
    | RemoveLayer
    | DefineRelation
    | RemoveRelation
    | Tick
)
ClientOp = Publish | Retract | Subscribe | Unsubscribe | Move | SetClient | Forget | Emit
Op = SystemOp | ClientOp
