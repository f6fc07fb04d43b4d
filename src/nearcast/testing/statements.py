"""Random statements, in canonical form: what `parse` gives for their text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.errors import ModelError
from nearcast.language.normalize import normalize
from nearcast.model import condition as c
from nearcast.model.constraint import Constraint, Interval, Values
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.metric import ground_of
from nearcast.model.place import Place
from nearcast.model.region import Region
from nearcast.model.space import BOOLEAN, INTEGER, PERCENTAGE, REAL, TEXT, Base, Dimension, Metric, SubjectSpace, Type
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
    Statement,
    Subscription,
)  # fmt: skip
from nearcast.testing.cast import WILD, Cast, shapes
from nearcast.testing.compose import brief, maybe, weighted
from nearcast.testing.conditions import conditions, constraints, geometries, place_names, spanning

__all__ = [
    "layers", "places", "publications", "regions", "relations", "removals", "spaces", "statements", "subscriptions",
]  # fmt: skip

Strategy = SearchStrategy[Any]


@brief
def statements(cast: Cast = WILD) -> SearchStrategy[Statement]:
    """Every statement of the language."""
    others = (spaces(cast), places(cast), layers(cast), relations(cast), removals(cast))
    files = st.builds(LayerFile, cast.layers, cast.texts)
    return weighted((4, subscriptions(cast)), (2, publications(cast)), (1, files), *((1, other) for other in others))


def _named(made: Strategy, names: SearchStrategy[str], owners: SearchStrategy[str]) -> Strategy:
    """With an id and an owner, an id alone, or neither, as statements are written."""
    headers = st.one_of(st.tuples(names, owners), st.tuples(names, st.just("")), st.just(("", "")))
    return st.builds(lambda statement, header: replace(statement, id=header[0], owner=header[1]), made, headers)


# ---- subscriptions -----------------------------------------------------------------------------------


@brief
def subscriptions(cast: Cast = WILD) -> SearchStrategy[Subscription]:
    watching = {"source": cast.relations.map(FromRelation), "life": lives(cast), "options": options(cast)}
    selecting = {
        "source": _sources(cast), "regions": _held(cast), "filter": _filters(cast), "chooser": choosers(cast),
        "on": readings(cast), "life": lives(cast), "options": options(cast),
    }  # fmt: skip
    selected = st.fixed_dictionaries(selecting).map(subscription_of).filter(lambda made: made is not None)
    watched = st.fixed_dictionaries(watching).map(subscription_of)
    made = weighted((4, selected), (1, watched)).map(normalize)
    return _named(made, cast.subscriptions, cast.clients)


def subscription_of(told: dict[str, Any]) -> Subscription | None:
    """A subscription from its fields, if they go together; ``chooser`` is a choice of source or NEAREST."""
    chooser = told.pop("chooser", None)
    choice = chooser if isinstance(chooser, Choice) else None
    nearest = chooser if isinstance(chooser, Nearest) else None
    try:
        return Subscription("", "", choice=choice, nearest=nearest, **told)
    except ModelError:
        return None  # a watched layer goes with neither NEAREST nor FROM LAYER


def _sources(cast: Cast) -> Strategy:
    chosen = st.sets(cast.spaces, max_size=2).map(lambda names: FromSpaces(tuple(sorted(names))))
    return weighted((3, st.just(FromSpaces())), (1, chosen), (1, cast.layers.map(FromLayer)))


def _filters(cast: Cast) -> Strategy:
    plain = conditions(cast)
    return weighted((4, plain), (1, spanning(cast)), (1, st.tuples(spanning(cast), plain).map(c.And)))


def choosers(cast: Cast) -> Strategy:
    nearest = st.builds(Nearest, st.integers(1, 3), st.one_of(st.none(), cast.spaces))
    if not cast.memory:
        return st.none()
    return maybe(st.one_of(st.builds(Choice, st.sampled_from(Pick), st.integers(1, 2)), nearest))


def readings(cast: Cast) -> Strategy:
    return maybe(st.one_of(st.just(c.ALWAYS), conditions(cast, "&#@")))


def lives(cast: Cast) -> Strategy:
    return maybe(conditions(cast, "#"), never=c.ALWAYS)


@brief
def options(cast: Cast = WILD) -> SearchStrategy[Options]:
    """All options; most statements have few of them."""
    remembered: dict[str, Strategy] = {
        "dwell": cast.durations, "cooldown": cast.durations, "hysteresis": cast.distances,
        "confidence": _percentages().map(lambda percent: percent / 100),
    }  # fmt: skip
    others: dict[str, Strategy] = {
        "fresh": cast.durations, "updates": st.just(True), "bandwidth": st.floats(1e-300, 1e300),
        "expires": expiries(cast),
    }  # fmt: skip
    given = {**(remembered if cast.memory else {}), **others}
    some: Strategy = st.one_of(*(st.fixed_dictionaries({name: value}) for name, value in given.items()))
    several = st.fixed_dictionaries({}, optional=given)
    return weighted((4, st.just({})), (4, some), (1, several)).map(lambda told: Options(**told))


def _percentages() -> SearchStrategy[float]:
    return st.one_of(st.sampled_from([50, 68, 90, 99.9]), st.floats(50, 99.99))


def expiries(cast: Cast) -> Strategy:
    return st.one_of(cast.durations.map(c.Duration), cast.instants.map(c.Instant))


# ---- publications ------------------------------------------------------------------------------------


@brief
def publications(cast: Cast = WILD) -> SearchStrategy[Publication]:
    filters = maybe(conditions(cast), never=c.ALWAYS)
    open_ = st.builds(
        Publication, st.just(""), st.just(""), _held(cast), filters, _contents(cast), maybe(expiries(cast))
    )
    made = weighted((4, open_), (1, st.builds(_discreet, open_, maybe(PRECISIONS), st.booleans())))
    return _named(made.map(normalize), cast.publications, cast.clients)


PRECISIONS = st.sampled_from([1.0, 150.0, 5000.0])


def _discreet(p: Publication, precision: float | None, paused: bool) -> Publication:
    """One that says less of where it is, or nothing for now."""
    located = precision is not None
    regions = tuple(r for r in p.regions if not (located and (r.location or r.place)))
    return replace(p, regions=regions, precision=precision, paused=paused)


def _contents(cast: Cast) -> SearchStrategy[str]:
    plain: Strategy = st.one_of(cast.scalars, st.none())
    nested = st.one_of(st.lists(plain, max_size=2), st.dictionaries(cast.texts, plain, max_size=2))
    either: Strategy = st.one_of(plain, nested, st.lists(nested, max_size=2))
    return maybe(either.map(lambda value: json.dumps(value, ensure_ascii=False)), 2, "")


def _held(cast: Cast) -> SearchStrategy[tuple[Region, ...]]:
    """The regions of a statement: where it is, and what it is like."""
    located = geometries(cast).map(lambda geometry: Region("location", location=geometry))
    placed = place_names(cast).map(lambda place: Region("location", place=place))
    some = weighted((2, located), (1, placed), (2, described(cast)))
    return maybe(st.lists(some, min_size=1, max_size=3).map(tuple), 2, ())


@brief
def described(cast: Cast = WILD) -> SearchStrategy[Region]:
    """A region of properties, declared in a space or in none."""
    held = st.dictionaries(cast.properties, constraints(cast), min_size=1, max_size=2)
    return st.builds(lambda space, held: Region(space, tuple(held.items())), st.one_of(st.none(), cast.spaces), held)


# ---- definitions -------------------------------------------------------------------------------------


@brief
def spaces(cast: Cast = WILD) -> SearchStrategy[SubjectSpace]:
    subsets: Strategy = st.builds(_subset, st.sampled_from(Base), constraints(cast)).filter(
        lambda made: made is not None
    )
    types = st.one_of(st.sampled_from([REAL, INTEGER, TEXT, BOOLEAN, PERCENTAGE]), subsets)
    dimensions = st.dictionaries(cast.properties, types, min_size=1, max_size=3)

    def made(name: str, types: dict[str, Type], metric: Metric, measured: int) -> SubjectSpace:
        axes = {"x": REAL, "y": REAL} if metric is not Metric.EUCLIDEAN else {}
        held = tuple(Dimension(*item) for item in {**types, **axes}.items())
        numeric = [] if axes else [dimension.name for dimension in held if dimension.type.numeric]
        return SubjectSpace(name, held, metric, tuple(numeric[:measured]))

    return st.builds(made, cast.spaces, dimensions, st.sampled_from(Metric), st.integers(0, 2))


def _subset(base: Base, within: Constraint) -> Type | None:
    try:
        return Type(base, within)
    except ModelError:
        return None  # nothing of the type is in it


@brief
def places(cast: Cast = WILD) -> SearchStrategy[Place]:
    return st.builds(Place, cast.paths, st.one_of(st.just(""), cast.levels), st.one_of(st.none(), geometries(cast)))


@brief
def layers(cast: Cast = WILD) -> SearchStrategy[Layer]:
    attributes = st.one_of(st.just(Region(None)), described(cast))
    one = st.builds(LayerRegion, cast.items, geometries(cast), attributes)
    several = st.lists(one, min_size=1, max_size=3, unique_by=lambda region: region.id)
    return st.builds(lambda name, held: Layer(name, tuple(held)), cast.layers, several)


@brief
def relations(cast: Cast = WILD) -> SearchStrategy[RelationDefinition]:
    groups = st.sets(cast.clients, min_size=1, max_size=2).map(lambda names: tuple(sorted(names)))
    nobody: SearchStrategy[tuple[str, ...]] = st.just(())
    members = st.one_of(st.tuples(nobody, nobody), st.tuples(groups, nobody), st.tuples(groups, groups))
    permits = st.one_of(st.just(c.ALWAYS), conditions(cast, "#"))

    def made(name: str, where: c.Condition, groups: tuple[Any, Any], permit: c.Condition) -> RelationDefinition:
        relation: RelationDefinition = normalize(RelationDefinition(name, where, *groups, permit=permit))
        return relation

    return st.builds(made, cast.relations, conditions(cast), members, permits)


@brief
def removals(cast: Cast = WILD) -> SearchStrategy[Removal]:
    pools = {"space": cast.spaces, "place": cast.paths, "layer": cast.layers, "relation": cast.relations}
    defined = st.one_of(*(st.builds(Removal, st.just(kind), names) for kind, names in pools.items()))
    owners = st.one_of(st.just(""), cast.clients)
    return st.one_of(
        defined,
        st.builds(Removal, st.just("publication"), cast.publications, owners),
        st.builds(Removal, st.just("subscription"), cast.subscriptions, owners),
    )


# ---- regions of a space ------------------------------------------------------------------------------


@brief
def regions(space: SubjectSpace) -> SearchStrategy[Region]:
    """Regions that the space admits: each dimension free, listed, or between two ends, and perhaps a location."""
    there = geometries(replace(WILD, shapes=shapes(ground_of(space.metric))))
    held = st.fixed_dictionaries({}, optional={d.name: _within(d.type) for d in space.dimensions})
    located = st.one_of(st.none(), there) if {"x", "y"} <= space.names else st.none()
    return st.builds(lambda held, where: Region(space.name, tuple(held.items()), where), held, located)


def _within(kind: Type) -> SearchStrategy[Constraint]:
    values: Strategy = st.sampled_from(["a", "b", "c", ""])
    if kind.base is Base.BOOLEAN:
        values = st.booleans()
    elif kind.numeric:
        values = st.integers(-3, 3) if kind.base is Base.INTEGER else st.one_of(st.integers(-3, 3), st.floats(-3, 3))
    listed: Strategy = st.lists(values.filter(kind.admits), min_size=1, max_size=3).map(
        lambda items: Values(tuple(items))
    )
    if kind.base is Base.BOOLEAN:
        return listed
    ends = st.lists(values, min_size=2, max_size=2).map(sorted)
    between: Strategy = st.builds(
        lambda ends, low, high: Interval(*ends, *((low, high) if ends[0] != ends[1] else (True, True))),
        ends,
        st.booleans(),
        st.booleans(),
    )
    return st.one_of(listed, between.filter(lambda held: kind.clip(held) is not None))
