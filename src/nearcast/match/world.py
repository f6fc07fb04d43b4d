"""The present state that conditions are asked about: who and what exists, where it is, what it is like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from nearcast.errors import OpError
from nearcast.match.chain import Pair
from nearcast.model import op as ops
from nearcast.model.condition import ALWAYS, InLayer, Ref, Spatial, asks_for_steps, counted, named_only, tracked, walk
from nearcast.model.constraint import Scalar, contains
from nearcast.model.fix import Fix, Located, Position
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.metric import Ground, ground_of
from nearcast.model.moment import FOREVER, NEVER, Moment
from nearcast.model.place import Place, PlaceName, is_under, places_named
from nearcast.model.region import Region, is_valid, region
from nearcast.model.shape import Geometry
from nearcast.model.space import LOCATION, Metric, SubjectSpace
from nearcast.model.statement import Options, Publication, RelationDefinition, Subscription, spanned_layer

__all__ = ["Client", "Key", "Published", "Side", "StatementKey", "Subscribed", "World"]

Key = tuple[str, str, str, str]
"""What a subscription matches: (publication, publisher, region, peer); what does not apply is empty. Ties are broken
in this order."""


StatementKey = tuple[str, str]
"""The owner of a publication or subscription, and its id."""


@dataclass(slots=True)
class Client:
    attributes: dict[str, Scalar] = field(default_factory=dict)
    fix: Fix | None = None
    previous: Fix | None = None
    lease: int | None = None
    seen: Moment = NEVER
    """When its last own op took effect; its lease runs from then."""
    lateness: int | None = None
    held: list[Fix] = field(default_factory=list)
    """Fixes that wait for their lateness window to pass."""
    newest: Moment = NEVER

    @property
    def ends(self) -> Moment:
        return FOREVER if self.lease is None else self.seen + self.lease


@dataclass(slots=True)
class Published:
    publication: Publication
    version: tuple[int, int]
    expires: Moment = FOREVER
    since: int | None = None
    """When its filter was last changed; at first, when it was published."""
    conditions: int = field(init=False, default=0)
    """How many its filter has,"""
    looks: int = field(init=False, default=0)
    """how often that looks at what others publish,"""
    sees_steps: bool = field(init=False, default=False)
    """whether it looks at the way between two fixes,"""
    past: tuple[Spatial, ...] = field(init=False, default=())
    """the relations whose history it asks for,"""
    about: frozenset[str] = field(init=False, default=frozenset())
    """and the names of what it asks of a subscriber, a star for what it asks in a space."""

    def __post_init__(self) -> None:
        self.since = self.version[0] if self.since is None else self.since
        filter_ = self.publication.filter
        if filter_ is not ALWAYS:
            self.conditions, self.looks = counted(filter_)
            self.sees_steps, self.past = asks_for_steps(filter_), tracked(filter_)
            asked = (node for node in walk(filter_) if isinstance(node, Ref) and node.side == "#")
            self.about = frozenset("*" if ref.space else ref.name for ref in asked)

    @property
    def sees_all(self) -> bool:
        return self.looks > 0


@dataclass(slots=True)
class Subscribed:
    """A subscription, and all that is remembered for it."""

    subscription: Subscription
    version: tuple[int, int]
    expires: Moment = FOREVER
    pairs: dict[Key, Pair] = field(default_factory=dict)
    latches: frozenset[tuple[Any, ...]] = frozenset()
    """Life control's own: it is the subscription that lives, not a pair."""
    conditions: int = field(init=False)
    """How many it has,"""
    looks: int = field(init=False)
    """and how often it looks at what others publish."""
    sees_all: bool = field(init=False)
    """It chooses among all, or looks at what others publish; so its time is everyone's latest."""
    sees_steps: bool = field(init=False)
    """It looks at the way between two fixes; a crossing never counts for dwell."""
    past: tuple[Spatial, ...] = field(init=False)
    """The relations whose history it asks for."""
    named: frozenset[str] | None = field(init=False)
    """The names that its filter is about, if it is about nothing else."""
    span: InLayer | None = field(init=False)
    """The layer whose regions it watches one by one."""

    def __post_init__(self) -> None:
        s = self.subscription
        self.conditions, self.looks = counted(s.filter, s.life, s.on)
        self.sees_all = s.chooses or self.looks > 0
        self.sees_steps = asks_for_steps(s.filter, s.life)
        self.past, self.span = tracked(s.filter, s.life, s.on), spanned_layer(s)
        self.named = named_only(s.filter)

    @property
    def owner(self) -> str:
        return self.subscription.owner

    @property
    def chooses(self) -> bool:
        return self.subscription.chooses

    @property
    def options(self) -> Options:
        """The options that count: readings have no enters for a cooldown to withhold."""
        options = self.subscription.options
        return options if self.subscription.on is None else replace(options, cooldown=0)


@dataclass(frozen=True)
class Side:
    """One side of a match, with one region chosen for each space it has regions in."""

    world: World
    client: str | None
    id: str
    regions: tuple[Region, ...]
    before: Fix | None = None
    """An earlier fix of its client that it is looked at with."""

    @cached_property
    def fix(self) -> Fix | None:
        """The fix that says where it is, unless a region of its own does."""
        if self.client is None or any(r.geometry or r.place for r in self.regions):
            return None
        client = self.world.clients.get(self.client)
        return self.before or (client.fix if client else None)

    @cached_property
    def located(self) -> Located | None:
        for r in self.regions:
            if r.geometry:
                return Located(r.geometry)
            if r.place:
                found = places_named(self.world.ordered_places(), r.place)
                return Located(found[0].geometry, found[0].path) if found else None
        return Located.by(self.fix.position) if self.fix else None

    def regions_in(self, space: str) -> list[Region]:
        """The regions valid in a space. One declared in it comes first: others may only share a dimension."""
        valid = [r for r in self.regions if self.world.valid_in(r, space)]
        return sorted(valid, key=lambda r: r.space != space)


_NOWHERE = Region("location", place=PlaceName("\0"))
"""In a place that there is not."""


def _go_on() -> None:
    """An op is applied to its end, however long that takes."""


class World:
    def __init__(self) -> None:
        self.spaces: dict[str, SubjectSpace] = {"location": LOCATION}
        self.places: dict[str, Place] = {}
        self.layers: dict[str, Layer] = {}
        self.relations: dict[str, RelationDefinition] = {}
        self.clients: MutableMapping[str, Client] = {}
        self.publications: dict[tuple[str, str], Published] = {}
        self.pace: Callable[[], None] = _go_on
        """Called now and then while something is found out. Whoever only asks, and has no more patience, has it
        raise."""

    @property
    def metric(self) -> Metric:
        return self.spaces["location"].metric

    @property
    def ground(self) -> Ground:
        return ground_of(self.metric)

    def define(self, op: ops.SystemOp) -> str:
        """Make a definition so, or undo it; gives the name of what changed."""
        match op:
            case ops.DefineSpace(space=space):
                self.spaces[space.name] = space
                return f"space:{space.name}"
            case ops.DefinePlace(place=place):
                self.places[place.path] = place
                return f"place:{place.path}"
            case ops.DefineRelation(relation=relation):
                self.relations[relation.name] = relation
                return f"relation:{relation.name}"
            case ops.DefineLayer(layer=layer, patch=patch, drop=drop):
                self.layers[layer.name] = self.layers[layer.name].patched(layer.regions, drop) if patch else layer
                return f"layer:{layer.name}"
            case ops.RemoveSpace(name=name):
                del self.spaces[name]
                return f"space:{name}"
            case ops.RemovePlace(name=name):
                del self.places[name]
                return f"place:{name}"
            case ops.RemoveRelation(name=name):
                del self.relations[name]
                return f"relation:{name}"
            case ops.RemoveLayer(name=name):
                del self.layers[name]
                return f"layer:{name}"
        raise OpError(f"{type(op).__name__} defines nothing")

    def ordered_places(self) -> list[Place]:
        return [self.places[path] for path in sorted(self.places)]

    def extents(self, named: PlaceName) -> list[Located]:
        """Where a named place is: itself and everything in it."""
        roots = [place.path for place in places_named(self.ordered_places(), named)]
        if not named.level and not roots:
            return [Located(path=named.name)]  # a path needs no definition to be compared with a path
        inside = [p for p in self.ordered_places() if any(is_under(p.path, root) for root in roots)]
        return [Located(place.geometry, place.path) for place in inside]

    def place_of(self, located: Located) -> str | None:
        """The path of the place one is in: the one that was said, else the smallest that contains the point."""
        if located.path is not None or located.geometry is None:
            return located.path
        sizes = [
            (self.ground.size(place.geometry.shape), place.path)
            for place in self.places.values()
            if place.geometry
            and self.within_heights(located.geometry, place.geometry)
            and self.ground.contains(place.geometry.shape, located.geometry.shape)
        ]
        return min(sizes)[1] if sizes else None

    @staticmethod
    def within_heights(inner: Geometry, outer: Geometry) -> bool | None:
        """Whether the altitude and the floor fit; unknown if one is asked for and missing."""
        asked = [(h, w) for h, w in ((inner.altitude, outer.altitude), (inner.floor, outer.floor)) if w is not None]
        if any(have is not None and not contains(want, have) for have, want in asked):
            return False
        return None if any(have is None for have, _ in asked) else True

    def in_cell(self, publication: Publication, position: Position | None) -> Publication:
        """A publication as others see it: one of a lower precision is in the middle of the cell its client is in, or
        nowhere if that is not known."""
        if publication.precision is None:
            return publication
        point = position.point if position else None
        middle = Geometry(self.ground.cell(point, publication.precision)) if point else None
        where = Region("location", location=middle) if middle else _NOWHERE
        rest = (r for r in publication.regions if not (r.location or r.place))
        return replace(publication, regions=(where, *rest))

    def ends(self, key: tuple[str, str]) -> Moment:
        """When a publication ceases to be, by its own expiry or its owner's lease."""
        owner = self.clients.get(key[0])
        return min(self.publications[key].expires, owner.ends if owner else FOREVER)

    def visible(self, regions: Iterable[Region]) -> list[Region]:
        """The regions whose space is still defined."""
        return [r for r in regions if r.space is None or r.space in self.spaces]

    def valid_in(self, r: Region, name: str) -> bool:
        space = self.spaces.get(name)
        return space is not None and is_valid(r, space)

    def sides(self, client: str | None, id_: str, regions: Iterable[Region]) -> list[Side]:
        """Every way to choose one region for each space; the client's attributes are there in all of them."""
        by_space: dict[str | None, list[Region]] = {}
        for r in self.visible(regions):
            by_space.setdefault(r.space, []).append(r)
        known = self.clients.get(client) if client is not None else None
        attributes = (region(None, known.attributes),) if known and known.attributes else ()
        return [Side(self, client, id_, (*chosen, *attributes)) for chosen in product(*by_space.values())]

    def reading(self, values: Mapping[str, Scalar]) -> Side:
        return Side(self, None, "", (region(None, values),))

    def region_side(self, r: LayerRegion) -> Side:
        return Side(self, None, r.id, (Region("location", location=r.geometry), r.attributes))
