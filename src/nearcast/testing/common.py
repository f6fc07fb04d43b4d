"""Statements of the forms that most systems are full of, which an engine answers in bulk, and moves in bursts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.language.normalize import normalize
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.layer import Layer
from nearcast.model.region import region
from nearcast.model.shape import Geometry
from nearcast.model.statement import (
    FromLayer,
    FromRelation,
    FromSpaces,
    Nearest,
    Options,
    Publication,
    RelationDefinition,
    Subscription,
)  # fmt: skip
from nearcast.testing.cast import Cast
from nearcast.testing.compose import maybe, weighted
from nearcast.testing.conditions import geometries
from nearcast.testing.statements import layers, options

__all__ = ["CLIENTS", "FLAVOURS", "Flavour", "bursts", "definitions", "fixes", "publish", "subscribe"]

Strategy = SearchStrategy[Any]
Burst = list[tuple[int, ops.Op]]
"""Ops, each so much later than the one before."""

CLIENTS = ("a", "b", "c", "é")
_HERE, _THERE = c.Ref("#", "location"), c.Ref("&", "location")


@dataclass(frozen=True)
class Flavour:
    """What a log has subscriptions of. If they are plain and of few forms, an engine may answer all moves in bulk."""

    forms: tuple[str, ...]
    detailed: bool = False
    """Some filter attributes, select from a space, hear readings, or have an option."""
    hears: bool = False
    """Most hear readings, which come between the moves, and the others hear updates."""
    guarded: bool = False
    """Some publications let in only those who are like this or that."""
    odd: bool = False
    """Some clients have leases and lateness windows, and some statements are of any form at all."""


_ALL = ("zones", "own", "spots", "reach", "pairs", "within", "nearest")
FLAVOURS = (
    Flavour(("zones", "own", "spots", "reach")),
    Flavour(("pairs", "within")),
    Flavour(("nearest",)),
    Flavour(_ALL),
    Flavour(("zones", "spots", "reach", "within", "nearest"), hears=True),
    Flavour(_ALL, detailed=True),
    Flavour(("zones", "own", "spots", "reach", "pairs", "within"), guarded=True),
    Flavour(_ALL, detailed=True, guarded=True),
    Flavour(_ALL, detailed=True, odd=True),
    Flavour(_ALL, odd=True),
)


def publish(cast: Cast, flavour: Flavour) -> SearchStrategy[ops.Op]:
    """Publications that go where their client goes. They are open to all, or some are not."""
    priced = cast.numbers.map(lambda price: (region("gas", {"price": price, "kind": "x"}),))
    held = weighted((2, st.just(())), (1, priced))
    contents = st.sampled_from(["", "", '{"n":1}'])

    filters = weighted((1, st.just(c.ALWAYS)), (2, _guards(cast))) if flavour.guarded else st.just(c.ALWAYS)
    pauses = weighted((7, st.just(False)), (1, st.just(True))) if flavour.guarded else st.just(False)

    def made(id_: str, owner: str, held: Any, filter_: c.Condition, content: str, paused: bool) -> ops.Op:
        return ops.Publish(0, normalize(Publication(id_, owner, held, filter_, content, paused=paused)))

    return st.builds(made, cast.publications, cast.clients, held, filters, contents, pauses)


def _guards(cast: Cast) -> Strategy:
    """Filters that ask who one is, and what one is like."""
    others = st.one_of(cast.numbers.map(c.Constant), st.just(c.Ref("&", "price")), st.just(c.Ref("&", "price", "gas")))
    priced = st.builds(c.Compare, st.just(c.Ref("#", "price")), st.sampled_from(["<", "<=", "="]), others)
    named = cast.clients.map(lambda name: c.Compare(c.Ref("#", "owner"), "=", c.Constant(name)))
    kind = st.just(c.Compare(c.Ref("#", "kind"), "=", c.Constant("x")))
    one: Strategy = st.one_of(priced, named, kind)
    return weighted((3, one), (2, one.map(c.Not)), (1, st.tuples(one, one).map(c.Or)))


def subscribe(cast: Cast, flavour: Flavour) -> SearchStrategy[ops.Op]:
    """Subscriptions of the flavour's forms. The two sides of a distance come in either order, as no parser has them."""
    forms = _forms(cast)
    wanted = st.sampled_from(flavour.forms).flatmap(lambda name: forms[name])
    details = _heard(cast) if flavour.hears else _details(cast) if flavour.detailed else st.just({})

    def made(id_: str, owner: str, wanted: dict[str, Any], details: dict[str, Any]) -> ops.Op:
        return ops.Subscribe(0, Subscription(id_, owner, **_detailed(wanted, details)))

    return st.builds(made, cast.subscriptions, cast.clients, wanted, details)


def _forms(cast: Cast) -> dict[str, Strategy]:
    """Forms by name: where others are, where one is oneself, who is close to whom, and what is closest."""
    within = st.builds(
        lambda ends, far: c.Within(ends[0], far, ends[1]), st.permutations([_HERE, _THERE]), cast.distances
    )
    around = st.builds(lambda far, centre: c.Within(_THERE, far, Geometry(centre)), cast.distances, cast.points)
    counts = weighted((2, st.just(1)), (1, st.integers(2, 4))).map(Nearest)
    return {
        "zones": cast.layers.map(lambda name: {"filter": c.Inside(_THERE, c.InLayer(name, c.ALWAYS))}),
        "own": cast.layers.map(lambda name: {"source": FromLayer(name), "filter": c.Inside(_HERE, _THERE)}),
        "pairs": cast.relations.map(lambda name: {"source": FromRelation(name)}),
        "spots": geometries(cast).map(lambda area: {"filter": c.Inside(_THERE, area)}),
        "reach": around.map(lambda filter_: {"filter": filter_}),
        "within": within.map(lambda filter_: {"filter": filter_}),
        "nearest": st.fixed_dictionaries(
            {"nearest": counts},
            optional={"filter": within, "source": cast.layers.map(FromLayer)},
        ),
    }


def _details(cast: Cast) -> Strategy:
    """At most one thing that is asked besides."""
    priced: Strategy = st.builds(
        c.Compare,
        st.just(c.Ref("&", "price")),
        st.sampled_from(["<", "<=", ">="]),
        st.one_of(cast.numbers.map(c.Constant), st.just(c.Ref("#", "price"))),
    )
    sides = st.sampled_from([c.Ref("&", "kind"), c.Ref("#", "kind")])
    kinds: Strategy = sides.map(lambda kind: c.Compare(kind, "=", c.Constant("x")))
    one = weighted(
        (3, st.one_of(priced, kinds).map(lambda and_: {"and": and_})),
        (1, cast.spaces.map(lambda name: {"source": FromSpaces((name,))})),
        (2, _heard(cast)),
        (1, st.just({"where": c.Compare(c.Ref("", "kind"), "=", c.Constant("x"))})),
        (3, options(cast).map(lambda told: {"options": told})),
        (1, st.just({"options": Options(bandwidth=1000.0)})),
    )
    return maybe(one, 2, {})


def _heard(cast: Cast) -> Strategy:
    """What is told besides enters and leaves."""
    above: Strategy = cast.numbers.map(lambda least: c.Compare(c.Ref("@", "value"), ">=", c.Constant(least)))
    readings = st.one_of(st.just(c.ALWAYS), above).map(lambda on: {"on": on})
    return weighted((2, readings), (1, st.just({"options": Options(updates=True)})))


def _detailed(wanted: dict[str, Any], details: dict[str, Any]) -> dict[str, Any]:
    """The fields of a subscription, with a detail if it can have it."""
    told = {"source": FromSpaces(), "filter": c.ALWAYS, **wanted}
    source, filter_ = told["source"], told["filter"]
    for name, value in details.items():
        if name == "options":
            told["options"] = value
        elif isinstance(source, FromRelation):
            continue
        elif name == "and":
            told["filter"] = value if filter_ == c.ALWAYS else c.And((filter_, value))
        elif name == "where":
            if isinstance(filter_, c.Inside) and isinstance(filter_.right, c.InLayer):
                told["filter"] = replace(filter_, right=replace(filter_.right, where=value))
        elif isinstance(source, FromSpaces):
            told[name] = value
    return told


def fixes(cast: Cast) -> SearchStrategy[Position]:
    """Coordinates, often with an altitude or a floor, since regions may ask for one; now and then a place."""
    heights = st.sampled_from([None, 0.0, 1.0, 1.5, 2.0])
    accuracies = st.sampled_from([None, None, 100.0])
    high = st.builds(Position, cast.points, st.none(), heights, heights, accuracies)
    placed = st.builds(Position, maybe(cast.points, 2), cast.paths)
    return weighted((8, st.builds(Position, cast.points)), (5, high), (1, placed))


def bursts(cast: Cast, flavour: Flavour, steps: SearchStrategy[int]) -> SearchStrategy[Burst]:
    """Many moves in a row, of clients that all publish and subscribe; some are stale, some change nothing."""
    moves = st.builds(ops.Move, st.just(0), cast.clients, fixes(cast))
    measured = cast.numbers.map(lambda value: {"value": value})
    emits = st.builds(ops.Emit, st.just(0), cast.clients, cast.publications, measured)
    return st.lists(
        st.tuples(steps, weighted((2, moves), (1, emits)) if flavour.hears else moves), min_size=5, max_size=20
    )


def definitions(cast: Cast) -> SearchStrategy[ops.Op]:
    """Layers, whole or in part, and relations within a distance."""
    groups = st.sampled_from([(), (), ("a", "b"), ("b", "é")])
    drops = st.lists(cast.items, max_size=2, unique=True).map(tuple)
    some = st.one_of(layers(cast), cast.layers.map(lambda name: Layer(name, ())))

    def related(name: str, far: float, ends: list[c.Ref], members: Any, others: Any) -> ops.Op:
        where = c.Within(ends[0], far, ends[1])
        return ops.DefineRelation(0, RelationDefinition(name, where, members, others if members else ()))

    return st.one_of(
        st.builds(ops.DefineLayer, st.just(0), some),
        st.builds(ops.DefineLayer, st.just(0), some, st.just(True), drops),
        st.builds(related, cast.relations, cast.distances, st.permutations([_THERE, _HERE]), groups, groups),
    )
