"""Random conditions: every node of the model, over the sides that a clause may speak of."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.model import condition as c
from nearcast.model.constraint import Constraint, Interval, Values
from nearcast.model.place import PlaceName
from nearcast.model.shape import Geometry
from nearcast.testing.cast import WILD, Cast
from nearcast.testing.compose import brief, maybe, weighted

__all__ = ["conditions", "constraints", "geometries", "intervals", "likely", "place_names", "spanning"]

Strategy = SearchStrategy[Any]

_OPS = st.sampled_from(["<", "<=", "=", "!=", ">=", ">"])


@brief
def conditions(cast: Cast = WILD, sides: str = "&#") -> SearchStrategy[c.Condition]:
    """Conditions about these sides, up to two levels of AND, OR and NOT deep.

    A watched layer is not among them, since only one can be, and only as a direct part of WHERE: see `spanning`.
    """
    one = weighted((2, _places(cast, sides)), (2, _facts(cast, sides)), (1, _times(cast, sides)))
    return _nested(_nested(one))


def _nested(items: Strategy) -> Strategy:
    several = st.lists(items, min_size=2, max_size=3).map(tuple)
    return weighted((4, items), (1, several.map(c.And)), (1, several.map(c.Or)), (1, items.map(c.Not)))


@brief
def likely(cast: Cast, sides: str = "&#") -> SearchStrategy[c.Condition]:
    """Conditions that often hold, and often turn: nearness, zones, schedules, how long ago something was."""
    here = st.sampled_from(_speakers(sides)).map(lambda side: c.Ref(side, "location"))
    near = _paired(cast, sides)
    zones: list[Strategy] = [st.builds(c.Inside, here, st.one_of(geometries(cast), place_names(cast)))]
    if cast.any:
        brackets = maybe(st.one_of(_bracketed(cast, sides), cast.schedules), 2, c.ALWAYS)
        layers = st.builds(c.InLayer, cast.layers, brackets, st.just(True))
        zones.append(st.builds(c.Inside, here, layers))
        zones.append(st.builds(c.Within, here, cast.distances, st.builds(c.AnyOf, cast.spaces, brackets)))
    clock: list[Strategy] = [cast.schedules, st.builds(c.Compare, st.just(c.Now()), _OPS, cast.instants.map(c.Instant))]
    if cast.memory:
        past: Strategy = st.one_of(near, *zones).flatmap(
            lambda spatial: st.sampled_from([c.Entered(spatial), c.Left(spatial)])
        )
        since = past.map(lambda moment: c.Sum(((1, c.Now()), (-1, moment))))
        clock.append(st.builds(c.Compare, since, _OPS, cast.durations.map(c.Duration)))
    one = weighted((3, near), (3, st.one_of(*zones)), (2, st.one_of(*clock)), (1, conditions(cast, sides)))
    two = st.tuples(one, one)
    return weighted((4, one), (2, two.map(c.And)), (1, two.map(c.Or)), (1, one.map(c.Not)))


# ---- facts -------------------------------------------------------------------------------------------


@brief
def _facts(cast: Cast, sides: str) -> Strategy:
    """Comparisons and relations of properties, regions and values."""
    here = _refs(cast, sides)
    whole = st.builds(lambda side, space: c.Ref(side, "*", space), st.sampled_from(_speakers(sides)), cast.spaces)
    related = st.sampled_from(c.Relation)
    return st.one_of(
        st.just(c.ALWAYS),
        st.builds(c.Compare, here, _OPS, st.one_of(cast.scalars.map(c.Constant), here, _sums(cast, here))),
        st.builds(c.Compare, st.one_of(cast.scalars.map(c.Constant), _sums(cast, here)), _OPS, here),
        st.builds(c.Relate, here, related, st.one_of(constraints(cast), here)),
        st.builds(c.Relate, whole, related, whole),
        st.builds(c.Relate, _located(sides), related, st.one_of(geometries(cast), _located(sides))),
    )


def _speakers(sides: str) -> list[c.Side]:
    """The sides that have regions and a location; a reading has only values."""
    named: dict[str, c.Side] = {"&": "&", "#": "#"}
    return [named[side] for side in sides if side in named]


@brief
def _refs(cast: Cast, sides: str) -> SearchStrategy[c.Ref]:
    spoken = st.builds(c.Ref, st.sampled_from(_speakers(sides)), cast.properties, maybe(cast.spaces))
    if "@" not in sides:
        return spoken
    read = st.one_of(st.just("value"), cast.properties).map(lambda name: c.Ref("@", name))
    return st.one_of(read, spoken)


def _located(sides: str) -> SearchStrategy[c.Ref]:
    return st.sampled_from([c.Ref(side, "location") for side in _speakers(sides)])


@brief
def _sums(cast: Cast, refs: SearchStrategy[c.Ref]) -> SearchStrategy[c.Sum]:
    terms: SearchStrategy[c.Expression] = st.one_of(refs, cast.numbers.map(c.Constant))
    return st.lists(st.tuples(st.sampled_from([1, -1]), terms), min_size=2, max_size=3).map(_positive)


def _positive(terms: list[tuple[int, c.Expression]]) -> c.Sum:
    """A sum as it is written: the first term has no sign."""
    return c.Sum(((1, terms[0][1]), *terms[1:]))


@brief
def intervals(cast: Cast = WILD) -> SearchStrategy[Interval]:
    def between(ends: list[Any], closed: tuple[bool, bool]) -> Interval:
        low, high = sorted(ends)
        return Interval(low, high, *((True, True) if low == high else closed))

    closed = st.tuples(st.booleans(), st.booleans())
    both = [st.lists(pool, min_size=2, max_size=2) for pool in (cast.numbers, cast.texts)]
    one = st.one_of(cast.numbers, cast.texts)
    return st.one_of(
        *(st.builds(between, ends, closed) for ends in both),
        st.builds(lambda low, shut: Interval(low, None, shut), one, st.booleans()),
        st.builds(lambda high, shut: Interval(None, high, True, shut), one, st.booleans()),
    )


@brief
def constraints(cast: Cast = WILD) -> SearchStrategy[Constraint]:
    values = st.lists(cast.scalars, min_size=1, max_size=3).map(lambda items: Values(tuple(items)))
    return weighted((2, values), (1, intervals(cast)))


# ---- places ------------------------------------------------------------------------------------------


@brief
def geometries(cast: Cast = WILD) -> SearchStrategy[Geometry]:
    heights = intervals(cast).filter(lambda held: held.kind == "number")
    return st.builds(Geometry, cast.shapes, maybe(heights), maybe(heights))


@brief
def place_names(cast: Cast = WILD) -> SearchStrategy[PlaceName]:
    names = cast.paths.map(lambda path: path.rsplit("/", 1)[-1])
    return st.one_of(cast.paths.map(PlaceName), st.builds(PlaceName, names, cast.levels))


@brief
def _places(cast: Cast, sides: str) -> SearchStrategy[Any]:
    """Conditions on locations. Two sides within a distance, the heart of most subscriptions, come up most."""
    single = st.one_of(_located(sides), geometries(cast), place_names(cast))
    ends: Strategy = st.tuples(_located(sides), single)
    if cast.any:
        many = st.one_of(_any_layers(cast, sides), _anyones(cast, sides))
        ends = weighted(
            (2, ends),
            (2, st.tuples(_located(sides), many)),
            (1, st.tuples(_anyones(cast, sides), single)),
        )
    reach = weighted((3, cast.distances), (1, _refs(cast, "".join(_speakers(sides)))))
    return weighted(
        (3, _paired(cast, sides)),
        (2, ends.map(lambda both: c.Inside(*both))),
        (2, st.builds(lambda both, far: c.Within(both[0], far, both[1]), ends, reach)),
        (1, ends.map(lambda both: c.Crosses(*both))),
    )


def _paired(cast: Cast, sides: str) -> SearchStrategy[c.Within]:
    """The two sides within a distance; of one side alone, itself."""
    apart = st.permutations([c.Ref(side, "location") for side in _speakers(sides)])
    return st.builds(lambda refs, far: c.Within(refs[0], far, refs[-1]), apart, cast.distances)


def _any_layers(cast: Cast, sides: str) -> SearchStrategy[c.InLayer]:
    return st.builds(c.InLayer, cast.layers, _bracketed(cast, sides), st.just(True))


def _anyones(cast: Cast, sides: str) -> SearchStrategy[c.AnyOf]:
    return st.builds(c.AnyOf, cast.spaces, _bracketed(cast, sides))


@brief
def _bracketed(cast: Cast, sides: str) -> Strategy:
    """Conditions on an item's own properties, which have no side, perhaps beside those of a side."""
    own: Strategy = cast.properties.map(lambda name: c.Ref("", name))
    values: Strategy = st.one_of(cast.scalars.map(c.Constant), _refs(cast, sides), _sums(cast, own))
    related = st.one_of(constraints(cast), _refs(cast, sides))
    one = st.one_of(
        st.builds(c.Compare, own, _OPS, values),
        st.builds(c.Relate, own, st.sampled_from(c.Relation), related),
        cast.schedules,
    )
    return maybe(_nested(one), 2, c.ALWAYS)


@brief
def spanning(cast: Cast = WILD, sides: str = "&#") -> SearchStrategy[c.Condition]:
    """A layer watched region by region: a direct part of WHERE."""
    layers = st.builds(c.InLayer, cast.layers, _bracketed(cast, sides))
    return st.one_of(st.builds(c.Inside, _located(sides), layers), st.builds(c.Crosses, _located(sides), layers))


# ---- time --------------------------------------------------------------------------------------------


@brief
def _times(cast: Cast, sides: str) -> Strategy:
    lasting: Strategy = st.one_of(cast.durations.map(c.Duration), _refs(cast, sides))
    known: Strategy = st.one_of(st.just(c.Now()), cast.instants.map(c.Instant))
    speakers = "".join(_speakers(sides))
    if not cast.memory:
        return st.one_of(cast.schedules, _compared_times(known, lasting))
    spatial = _places(cast, speakers)
    past: Strategy = st.one_of(st.just(c.Now()), spatial.map(c.Entered), spatial.map(c.Left))
    quantified = st.builds(c.Inside, _anyones(cast, speakers), geometries(cast))
    stay = st.builds(c.MeanStay, st.integers(1, 3), quantified)
    return st.one_of(
        cast.schedules,
        _compared_times(st.one_of(known, past), lasting),
        _compared_times(past, lasting),
        *([st.builds(c.Compare, stay, _OPS, lasting)] if cast.any else []),
    )


def _compared_times(moments: Strategy, lasting: Strategy) -> SearchStrategy[c.Compare]:
    """A time with a time, or the time between two with a duration; at least one side is surely a time."""

    def between(a: c.Expression, b: c.Expression) -> c.Sum:
        return c.Sum(((1, a), (-1, b)))

    def after(a: c.Expression, sign: int, delay: c.Expression) -> c.Sum:
        return c.Sum(((1, a), (sign, delay)))

    later = st.builds(after, moments, st.sampled_from([1, -1]), lasting)
    return st.one_of(
        st.builds(c.Compare, moments, _OPS, st.one_of(moments, later)),
        st.builds(c.Compare, st.builds(between, moments, moments), _OPS, lasting),
        st.builds(c.Compare, lasting, _OPS, st.builds(between, moments, moments)),
    )
