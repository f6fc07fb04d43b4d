"""Who and what random statements speak of.

Small pools make things meet; wild ones make text that is hard to read back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.language.format import RESERVED
from nearcast.model.condition import During
from nearcast.model.constraint import Scalar
from nearcast.model.metric import EARTH, PLANE, Ground
from nearcast.model.moment import parse_time
from nearcast.model.shape import FARTHEST, Point, Shape
from nearcast.testing.compose import brief, weighted
from nearcast.testing.scenes import RADII, Scene, scenes

__all__ = ["STARTS", "WILD", "Cast", "shapes", "small_cast"]

T = TypeVar("T")
Strings: TypeAlias = SearchStrategy[str]

SECOND = 1_000_000
STARTS = {
    parse_time("2026-03-02T07:59:58Z"): ("UTC", 8 * 60),
    parse_time("2026-03-08T06:59:58Z"): ("America/New_York", 2 * 60),  # which the clocks skip
    parse_time("2026-10-25T00:59:58Z"): ("Europe/Paris", 3 * 60),  # which the clocks show twice
}
"""When random logs begin: two seconds before a minute of the day in a zone, at which schedules may turn."""


@dataclass(frozen=True, eq=False)
class Cast:
    clients: Strings
    publications: Strings
    subscriptions: Strings
    spaces: Strings
    layers: Strings
    relations: Strings
    items: Strings
    """Ids of the regions of layers."""
    properties: Strings
    paths: Strings
    levels: Strings
    texts: Strings
    numbers: SearchStrategy[int | float]
    distances: SearchStrategy[float]
    durations: SearchStrategy[int]
    instants: SearchStrategy[int]
    schedules: SearchStrategy[During]
    points: SearchStrategy[Point]
    shapes: SearchStrategy[Shape]
    memory: bool = True
    """Statements may depend on the past: τ and π, dwell, cooldown, hysteresis, confidence, choice of source."""
    any: bool = True
    """Statements may ask about ANY of a space, and so about clients that are not of the pair."""

    @property
    def scalars(self) -> SearchStrategy[Scalar]:
        return st.one_of(self.numbers, self.texts, st.booleans())


def _of(*pool: T) -> SearchStrategy[T]:
    return st.sampled_from(pool)


def _schedules(minutes: SearchStrategy[int], zones: Strings) -> SearchStrategy[During]:
    """Every day or on some days; an end at 24:00 is the end of the day."""
    some = st.sets(st.integers(0, 6), min_size=1).map(lambda days: tuple(sorted(days)))
    days = weighted((3, st.just(tuple(range(7)))), (1, some))
    return st.builds(During, days, minutes, st.one_of(minutes, st.just(1440)), zones)


def small_cast(scene: Scene, start: int, *, memory: bool = True, any: bool = True) -> Cast:  # noqa: A002  # as in the language
    """A few of everything, in one scene, near the time at which schedules turn."""
    zone, minute = STARTS[start]
    return Cast(
        clients=_of("a", "b", "c"), publications=_of("p", "p", "q"), subscriptions=_of("s", "s", "t"),
        spaces=_of("gas", "shop"), layers=_of("y", "z"), relations=_of("r"), items=_of("1", "2", "3"),
        properties=_of(*["price", "kind"] * 4, "open", "id", "owner", "place", "floor", "altitude", "accuracy"),
        paths=_of("hq", "hq/1", "hq/1/A"), levels=_of("building", "room"), texts=_of("x", "y", "a", "hq/1"),
        numbers=_of(0, 1, 1.5, 2), distances=_of(*RADII, *RADII, 2 * RADII[0], 0.0),
        durations=_of(1, SECOND, 2 * SECOND, 10 * SECOND),
        instants=_of(*(start + n * SECOND for n in (1, 2, 10, 3600))),
        schedules=_schedules(_of(minute, minute, minute, minute - 1, minute + 1), _of(zone)),
        points=_of(*scene.points), shapes=_of(*scene.shapes), memory=memory, any=any,
    )  # fmt: skip


@brief
def shapes(ground: Ground) -> SearchStrategy[Shape]:
    """Shapes around a few centres: touching, nested, apart, across the antimeridian, over a pole."""
    return st.sampled_from(scenes(ground)).flatmap(lambda scene: st.sampled_from([*scene.shapes, *scene.points]))


_CHARACTERS = st.characters(exclude_categories=["Cs"])
_TEXT = st.text(_CHARACTERS, max_size=6)
_NAMES = st.one_of(
    _of("gas", "Zürich", "a b", "select", "IN", "1st", "it's", "--", ";", "a\\nb", "x_1"),
    _of(*sorted(RESERVED)),
    st.text(_CHARACTERS, min_size=1, max_size=6),
)
_TICKED = _NAMES.filter(lambda name: not {"`", "\n"} & set(name) and name not in ("location", "*"))
_SEGMENTS = _NAMES.filter(lambda name: "/" not in name)
_NUMBERS: SearchStrategy[int | float] = st.one_of(
    st.integers(-(10**18) + 1, 10**18 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    _of(0, 1, -1, 0.1, 1e300, 5e-324),
)
_DURATIONS = st.one_of(_of(1, 1000, SECOND, 60 * SECOND, 86400 * SECOND), st.integers(0, 10**17))


def _all(pools: Sequence[Sequence[T]]) -> SearchStrategy[T]:
    return st.sampled_from([item for pool in pools for item in pool])


_SCENES = (*scenes(EARTH), *scenes(PLANE))
WILD = Cast(
    clients=_NAMES, publications=_NAMES, subscriptions=_NAMES, spaces=_TICKED, layers=_NAMES, relations=_NAMES,
    items=_NAMES, properties=_TICKED, paths=st.lists(_SEGMENTS, min_size=1, max_size=3).map("/".join),
    levels=_of("room", "floor", "étage"), texts=_TEXT, numbers=_NUMBERS, distances=st.floats(0, FARTHEST),
    durations=_DURATIONS, schedules=_schedules(st.integers(0, 1439), _of("UTC", "Europe/Paris", "Asia/Kolkata")),
    instants=st.integers(parse_time("0001-01-01T00:00:00Z"), parse_time("9999-12-31T23:59:59.999999Z")),
    points=_all([scene.points for scene in _SCENES]), shapes=_all([scene.shapes for scene in _SCENES]),
)  # fmt: skip
"""Names, numbers and times that a writer or a reader may stumble over."""
