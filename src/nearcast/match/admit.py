"""What may be applied: every op is checked against the state before it changes anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearcast.errors import ModelError, OpError, UnknownName
from nearcast.match.chain import Pair
from nearcast.match.world import Subscribed, World
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.constraint import Scalar, equal_to
from nearcast.model.metric import Ground, ground_of
from nearcast.model.region import MOST, Region, check_said, ways
from nearcast.model.region import check as check_region
from nearcast.model.shape import Geometry
from nearcast.model.space import Metric
from nearcast.model.statement import FromSpaces, Subscription

__all__ = ["WAYS", "carry_latches", "check"]

WAYS = 64
"""In which the regions of a statement may be chosen, one for each space. They multiply, and each is judged."""


def check(op: ops.Op, world: World, subscriptions: Mapping[tuple[str, str], Subscribed]) -> None:
    """Raise one of our errors if the op cannot be applied."""
    match op:
        case ops.DefineSpace(space=space):
            _redefined(space.name, space.metric, world)
        case ops.RemoveSpace(name=name):
            _known("space", name, world.spaces)
            if name == "location":
                raise OpError("the location space cannot be removed", "space")
        case ops.DefinePlace(place=place):
            _shapes(place.geometry, world.ground)
        case ops.RemovePlace(name=name):
            _known("place", name, world.places)
        case ops.DefineLayer():
            _layer(op, world)
        case ops.RemoveLayer(name=name):
            _known("layer", name, world.layers)
        case ops.DefineRelation(relation=relation):
            _conditions((relation.filter, relation.permit), world)
            if any(isinstance(n, (c.Entered, c.Left, c.MeanStay)) for n in c.walk((relation.filter, relation.permit))):
                raise OpError("a relation between clients cannot ask for the past", "relation")
        case ops.RemoveRelation(name=name):
            _known("relation", name, world.relations)
        case ops.Publish(publication=publication):
            _regions(publication.regions, world)
            _conditions(publication.filter, world)
        case ops.Subscribe(subscription=subscription):
            _subscription(subscription, world)
        case ops.Retract(client=client, id=id_) | ops.Emit(client=client, publication=id_):
            if (client, id_) not in world.publications:
                raise OpError(f"client {client!r} has no publication {id_!r}")
            if isinstance(op, ops.Emit):
                _count(len(op.values), "values")
                _values(op.values)
        case ops.SetClient(client=client, attributes=attributes):
            _attributes(client, attributes, world)
            _values(attributes)
        case ops.Unsubscribe(client=client, id=id_):
            if (client, id_) not in subscriptions:
                raise OpError(f"client {client!r} has no subscription {id_!r}")
        case ops.Forget(client=client):
            if client not in world.clients:
                raise OpError(f"there is no client {client!r}")
        case ops.Move(position=position):
            if position.point is not None:
                world.ground.check(position.point)


def _layer(op: ops.DefineLayer, world: World) -> None:
    name = op.layer.name
    if op.patch:
        _known("layer", name, world.layers)
        for id_ in op.drop:
            if world.layers[name].find(id_) is None:
                raise UnknownName(f"region of layer {name!r}:", id_, [r.id for r in world.layers[name].regions])
    for r in op.layer.regions:
        _named(f"region {r.id!r} of layer {name!r}", lambda r=r: _shapes(r.geometry, world.ground))


def carry_latches(old: Subscription, new: Subscribed) -> None:
    """An edit keeps the state that hysteresis and confidence remember, condition by condition."""
    before, after = (_spatial(s) for s in (old, new.subscription))
    if [type(node) for node in before] != [type(node) for node in after]:
        return
    renamed = dict(zip(before, after, strict=True))
    states: list[Subscribed | Pair] = [new, *new.pairs.values()]
    for state in states:
        state.latches = frozenset((renamed.get(node, node), *rest) for node, *rest in state.latches)


def _spatial(s: Subscription) -> list[c.Spatial]:
    return [n for n in c.walk((s.filter, s.life)) if isinstance(n, (c.Within, c.Inside, c.Crosses))]


def _subscription(s: Subscription, world: World) -> None:
    _regions(s.regions, world)
    _conditions((s.filter, s.life, s.on), world)
    named = s.source.names if isinstance(s.source, FromSpaces) else ()
    for space in (*named, *([s.nearest.space] if s.nearest and s.nearest.space else [])):
        _known("space", space, world.spaces)


def _regions(regions: Sequence[Region], world: World) -> None:
    if (count := ways(regions)) > WAYS:
        reason = f"they can be chosen in {count:,} ways, and {WAYS} are the most; make several statements"
        raise OpError(reason, "regions")
    for r in regions:
        _count(len(r.constraints), "attributes")
        if r.space is not None:
            _known("space", r.space, world.spaces)
            check_region(r, world.spaces[r.space])
        _shapes(r.geometry, world.ground)


def _conditions(conditions: Any, world: World) -> None:
    for node in c.walk(conditions):
        if isinstance(node, Geometry):
            _shapes(node, world.ground)
        elif isinstance(node, (c.AnyOf, c.Ref)) and node.space is not None:
            _known("space", node.space, world.spaces)
            if isinstance(node, c.Ref) and node.name != "*":
                world.spaces[node.space].dimension(node.name)


def _attributes(client: str, given: Mapping[str, Scalar | None], world: World) -> None:
    """A client has so many. One that has more, from before there was an end, may have no further ones."""
    known = world.clients.get(client)
    before = known.attributes if known is not None else {}
    new = sum(value is not None and name not in before for name, value in given.items())
    gone = sum(value is None and name in before for name, value in given.items())
    if new > gone:
        _count(len(before) + new - gone, "attributes")


def _count(names: int, what: str) -> None:
    if names > MOST:
        raise OpError(f"{names:,} are too many; {MOST} are the most", what)


def _values(given: Mapping[str, Scalar | None]) -> None:
    check_said(given)
    for name, value in given.items():
        if value is not None:
            _named(name, lambda v=value: equal_to(v))


def _shapes(geometry: Geometry | None, ground: Ground) -> None:
    if geometry is not None:
        ground.check(geometry.shape)


def _named(what: str, checked: Any) -> None:
    try:
        checked()
    except ModelError as error:
        raise OpError(str(error), what) from None


def _known(kind: str, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise UnknownName(kind, name, known)


def _redefined(name: str, metric: Metric, world: World) -> None:
    if name != "location":
        if metric not in (Metric.EUCLIDEAN, world.metric):
            raise OpError(f"space {name!r} is measured otherwise than location; define location first", "space")
        return
    if metric is Metric.EUCLIDEAN:
        raise OpError(
            "the location space is measured on the earth or on a plane; add METRIC earth or METRIC planar", "space"
        )
    placed = world.places or world.layers or world.relations or world.clients
    if ground_of(metric) is not world.ground and placed:
        raise OpError("the location space cannot change its metric once it is in use; define it first", "space")
