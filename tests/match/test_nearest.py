"""The nearest that a kernel keeps are those that the definition chooses: after every op, with reasons and causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.match.regions import lengths
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.notification import HIDDEN
from nearcast.model.region import Region
from nearcast.model.shape import Geometry, Point
from nearcast.model.space import LOCATION, Metric
from nearcast.model.statement import Nearest, Publication, Subscription
from tests.match.agreement import answers_of, check_in_runs, check_one_by_one

SECOND = 1_000_000
EARTH, PLANE = (ops.DefineSpace(0, replace(LOCATION, metric=metric)) for metric in (Metric.EARTH, Metric.PLANAR))
OUTSIDERS = c.Compare(c.Ref("#", "id"), "!=", c.Constant("nobody"))
Spot = tuple[float, float]


def publish(client: str, id_: str = "p", filter_: c.Condition = c.ALWAYS) -> ops.Op:
    return ops.Publish(0, Publication(id_, client, filter=filter_, content=f'{{"of": "{client}"}}'))


def ask(client: str, k: int, id_: str = "s") -> ops.Op:
    return ops.Subscribe(0, Subscription(id_, client, nearest=Nearest(k)))


def move(client: str, x: float, y: float = 0.0) -> ops.Op:
    return ops.Move(0, client, Position(Point(x, y)))


def in_time(log: Sequence[ops.Op]) -> list[ops.Op]:
    """The ops a second apart."""
    return [replace(op, time=SECOND * (i + 1)) for i, op in enumerate(log)]


def told(log: Sequence[ops.Op]) -> list[list[str]]:
    """What each op of a log tells, by both engines."""
    reference, kernel, rows = Reference(), Kernel(), []
    for op in in_time(log):
        expected = reference.apply(op)
        assert kernel.apply(op) == expected
        rows.append([f"{n.kind} {n.publisher}/{n.publication} {n.reason}" for n in expected])
    return rows


# ---- what is told ------------------------------------------------------------------------------------


def test_who_comes_nearer_takes_the_place_of_who_is_farthest() -> None:
    cast = [PLANE, publish("a"), publish("b"), move("a", 1), move("b", 2), move("me", 0), ask("me", 1)]
    rows = told([*cast, move("b", 1.5), move("b", 0.5), move("me", -9)])
    assert rows[-4:] == [["snapshot a/p subscribed"], [], ["leave a/p source", "enter b/p source"], []]


def test_ranks_within_the_nearest_are_not_told() -> None:
    cast = [PLANE, publish("a"), publish("b"), publish("c"), move("a", 1), move("b", 2), move("c", 9), move("me", 0)]
    assert told([*cast, ask("me", 2), move("a", 3), move("b", 4), move("me", 3.5)])[-3:] == [[], [], []]


def test_what_had_no_place_enters_and_leaves_by_its_own_move() -> None:
    lost = ops.Move(0, "a", Position(place="hq"))
    rows = told([PLANE, publish("a"), ask("me", 1), move("me", 0), move("a", 5), lost, move("a", 6)])
    assert rows[-3:] == [["enter a/p moved"], ["leave a/p moved"], ["enter a/p moved"]]


def test_a_subscriber_without_a_place_has_no_nearest() -> None:
    lost = ops.Move(0, "me", Position(place="hq"))
    rows = told([PLANE, publish("a"), move("a", 1), ask("me", 1), move("me", 0), lost, move("me", 3)])
    assert rows[-4:] == [[], ["enter a/p moved"], ["leave a/p moved"], ["enter a/p moved"]]


def test_at_the_same_place_the_lesser_id_is_nearer() -> None:
    same = [publish("b", "p"), publish("a", "p"), publish("a", "q"), publish("c", "o")]
    rows = told([PLANE, *same, *(move(name, 1) for name in "abc"), move("me", 0), ask("me", 3)])
    assert rows[-1] == ["snapshot c/o subscribed", "snapshot a/p subscribed", "snapshot b/p subscribed"]


def test_what_is_retracted_or_forgotten_makes_room_for_the_next() -> None:
    cast = [PLANE, *(publish(name) for name in "abc"), *(move(name, i) for i, name in enumerate("abc")), move("me", -1)]
    rows = told([*cast, ask("me", 1), ops.Retract(0, "a", "p"), ops.Forget(0, "b"), publish("a")])
    assert rows[-3:-1] == [["leave a/p retracted", "enter b/p source"], ["leave b/p gone", "enter c/p source"]]
    assert rows[-1] == ["leave c/p source", "enter a/p published"]


def test_an_edit_keeps_those_that_are_still_among_the_nearest() -> None:
    cast = [PLANE, *(publish(name) for name in "abc"), *(move(name, i) for i, name in enumerate("abc")), move("me", -1)]
    rows = told([*cast, ask("me", 1), ask("me", 3), ask("me", 2)])
    assert rows[-2:] == [["enter b/p source", "enter c/p source"], ["leave c/p source"]]


def test_a_subscriber_without_a_place_that_publishes_hears_of_nothing() -> None:
    cast = [PLANE, publish("me"), publish("a"), move("a", 1), *(publish(f"c{i}") for i in range(20)), ask("me", 1)]
    assert told([*cast, ops.SetClient(0, "me", {"kind": "x"}), ops.Retract(0, "me", "p")])[-3:] == [[], [], []]


def test_nobody_is_near_to_itself() -> None:
    assert told([PLANE, publish("me"), move("me", 0), ask("me", 2), move("me", 1)])[-2:] == [[], []]


def test_a_third_party_is_not_named_as_the_cause() -> None:
    log = [PLANE, publish("a"), publish("b"), move("a", 1), move("b", 2), move("me", 0), ask("me", 1), move("b", 0.5)]
    kernel = Kernel()
    left, entered = [kernel.apply(op) for op in in_time(log)][-1]
    assert (left.publisher, left.cause) == ("a", HIDDEN)
    assert (entered.publisher, entered.cause.entity) == ("b", "b")


# ---- what competes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "odd",
    [
        publish("b", filter_=OUTSIDERS),
        ops.Publish(0, Publication("p", "b", (Region("location", location=Geometry(Point(0.5, 0.0))),))),
        ops.Publish(0, Publication("p", "b", expires=c.Duration(3600 * SECOND))),
        ops.SetClient(0, "b", {"x": 0.25, "y": 0.0}),
        ops.SetClient(0, "b", {}, lease=3600 * SECOND),
    ],
)
def test_what_no_lane_takes_competes_with_the_others(odd: ops.Op) -> None:
    kernel, cast = Kernel(), [PLANE, publish("a"), publish("b"), publish("c"), move("a", 1), move("b", 0.1)]
    log = [*cast, move("c", 0.8), move("me", 0), ask("me", 1), odd, move("a", 0.05), move("a", 2), move("c", 3)]
    told([*log, ops.Forget(0, "b"), move("c", 0.9), move("a", 0.1)])
    for op in in_time(log):
        kernel.apply(op)
    assert not kernel.is_compiled
    kernel.apply(ops.Forget(99 * SECOND, "b"))
    assert kernel.is_compiled


def test_a_client_that_says_where_it_is_is_not_where_its_fix_says() -> None:
    cast = [PLANE, publish("a"), publish("b"), move("a", 1), move("b", 4), move("me", 0), ask("me", 1)]
    said, unsaid = ops.SetClient(0, "me", {"x": 5.0, "y": 0.0}), ops.SetClient(0, "me", {"y": None})
    rows = told([*cast, said, move("me", 1), unsaid])
    swapped = ["leave a/p source", "enter b/p source"]
    assert rows[-3:] == [swapped, [], ["leave b/p source", "enter a/p source"]]


# ---- many ----------------------------------------------------------------------------------------------


class Town:
    """Many clients in a kernel, that all publish; every fifth asks for the nearest."""

    def __init__(self, spots: npt.NDArray[np.float64], k: int) -> None:
        self.kernel, self.k, self.now = Kernel(), k, 2 * SECOND
        self.names = [f"c{i:04}" for i in range(len(spots))]
        self.rows = self.kernel.clients.rows(self.names)
        for name in self.names:
            self.kernel.apply(replace(publish(name), time=1))
        for name in self.names[::5]:
            self.kernel.apply(replace(ask(name, k), time=1))
        self.near: dict[str, set[str]] = {name: set() for name in self.names[::5]}
        self.spots = np.full_like(spots, np.nan)
        self.move(np.arange(len(spots)), spots)

    def move(self, who: npt.NDArray[np.int64], spots: npt.NDArray[np.float64]) -> None:
        self.now += SECOND
        heights = np.full((len(who), 3), np.nan)
        run = self.kernel.run(self.rows[who], self.now + np.arange(len(who)), np.hstack([spots, heights]))
        for row in run.arrow().select(["kind", "subscriber", "publisher"]).to_pylist():
            nearest = self.near[row["subscriber"]]
            (nearest.add if row["kind"] == "enter" else nearest.remove)(row["publisher"])
        self.spots[who] = spots

    def check(self) -> None:
        x, y = self.spots.T
        for i, (name, nearest) in enumerate(self.near.items()):
            here = np.full(len(x), x[5 * i]), np.full(len(x), y[5 * i])
            ranked = [j for j in np.lexsort((np.array(self.names), lengths(x, y, *here, True))) if j != 5 * i]
            assert nearest == {self.names[j] for j in ranked[: self.k]}, name


@pytest.mark.parametrize("spread", [1e-6, 0.1, 20.0])
@pytest.mark.parametrize("centre", [(11.0, 48.0), (180.0, 0.0), (45.0, 35.2), (0.0, 89.99)])
def test_a_town_that_moves_about(spread: float, centre: Spot) -> None:
    rng = np.random.default_rng(5)
    spots = _on_earth(np.array(centre) + rng.normal(0, spread, (400, 2)))
    town = Town(spots, k=4)
    town.check()
    for _ in range(3):
        who = rng.integers(0, 400, 300)
        town.move(who, _on_earth(town.spots[who] + rng.normal(0, spread / 10, (300, 2))))
        town.check()


def test_a_crowd_that_gathers_and_scatters() -> None:
    rng = np.random.default_rng(6)
    everyone = np.arange(300)
    town = Town(rng.uniform(-60, 60, (300, 2)), k=3)
    for spread in (1e-5, 1e-5, 50.0, 1e-3):
        for _ in range(5):
            town.move(everyone, rng.normal(0, spread, (300, 2)).clip(-80, 80))
        town.check()


def test_all_at_one_place() -> None:
    town = Town(np.tile([7.0, 50.0], (150, 1)), k=6)
    town.check()
    town.move(np.arange(0, 150, 2), np.tile([7.0, 50.1], (75, 1)))
    town.check()


def _on_earth(spots: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    x, y = spots.T
    beyond = np.abs(y) > 90
    x, y = np.where(beyond, x + 180, x), np.where(beyond, np.sign(y) * 180 - y, y)
    return np.column_stack([(x + 180) % 360 - 180, y])


# ---- any story -----------------------------------------------------------------------------------------

NAMES, IDS = st.sampled_from("abcde"), st.sampled_from("pq")
STEPS = st.sampled_from([0.0, 1e-3, -1e-3, 2e-3, 1e-3 + 1e-12, 1e-3 - 1e-9, 30.0, -30.0])
SPOTS = st.one_of(st.tuples(STEPS, STEPS), st.tuples(st.floats(-0.01, 0.01), st.floats(-0.01, 0.01)))
MOVES = st.builds(
    lambda name, spot: ops.Move(0, name, Position(Point(*spot)) if spot else Position(place="hq")),
    NAMES, st.one_of(SPOTS, SPOTS, SPOTS, st.none()),
)  # fmt: skip
OTHERS = st.one_of(
    st.builds(publish, NAMES, IDS, st.sampled_from([c.ALWAYS, c.ALWAYS, c.ALWAYS, OUTSIDERS])),
    st.builds(ask, NAMES, st.integers(1, 4), IDS),
    st.builds(lambda name, id_: ops.Retract(0, name, id_), NAMES, IDS),
    st.builds(lambda name, id_: ops.Unsubscribe(0, name, id_), NAMES, IDS),
    st.builds(lambda name: ops.Forget(0, name), NAMES),
    st.builds(lambda name, window: ops.SetClient(0, name, lateness=window), NAMES, st.sampled_from([0, 2 * SECOND])),
)
PAUSES = st.sampled_from([SECOND, 0, 1, -SECOND])
CAST = [publish("a"), publish("b"), publish("b", "q"), publish("c"), ask("d", 2), ask("a", 1, "q"), ask("e", 3)]
"""What a story begins with, so that a short one has something to tell."""


STORIES = st.lists(st.tuples(PAUSES, st.one_of(MOVES, MOVES, MOVES, OTHERS)), max_size=40)


@given(st.sampled_from([EARTH, PLANE]), STORIES)
def test_every_story_is_told_the_same(ground: ops.Op, story: list[tuple[int, ops.Op]]) -> None:
    times = accumulate((pause for pause, _ in story), initial=SECOND)
    log = [ground, *CAST, *(replace(op, time=time) for (_, op), time in zip(story, times, strict=False))]
    expected = answers_of(log)
    check_one_by_one(expected)
    check_in_runs(expected, [7])
