"""Clients that come within a distance of each other, and go: the lane tells what the reference tells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.errors import NearcastError
from nearcast.match.clients import Clients
from nearcast.match.kernel import Kernel
from nearcast.match.lane import HERE, THERE
from nearcast.match.meetings import Distances, Reaches, meetings
from nearcast.match.moves import take_moves
from nearcast.match.pairs import PairLane
from nearcast.match.points import PointGrid
from nearcast.match.reference import Reference
from nearcast.match.regions import lengths
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.metric import EARTH
from nearcast.model.moment import MICROS
from nearcast.model.notification import Notification
from nearcast.model.region import Region
from nearcast.model.shape import Geometry, Point
from nearcast.model.space import LOCATION, Metric
from nearcast.model.statement import FromRelation, FromSpaces, Publication, RelationDefinition, Subscription

PLANE = ops.DefineSpace(0, replace(LOCATION, metric=Metric.PLANAR))
SEAMS = [(0.0, 0.0), (180.0, 0.0), (45.0, 0.0), (45.0, 35.2643896), (0.0, 90.0), (-122.0, 37.5), (-135.0, -35.26)]
"""The middle of a face, the antimeridian, an edge and a corner of the cube, a pole, and elsewhere."""


def within(metres: float) -> c.Condition:
    return c.Within(THERE, metres, HERE)


def relation(name: str, metres: float, t: int = 0, **more: Any) -> ops.Op:
    return ops.DefineRelation(t * MICROS, RelationDefinition(name, within(metres), **more))


def move(client: str, x: float, y: float, t: float) -> ops.Op:
    return ops.Move(round(t * MICROS), client, Position(Point(x, y)))


def watch(client: str, name: str = "r", t: int = 0) -> ops.Op:
    return ops.Subscribe(t * MICROS, Subscription("w", client, FromRelation(name)))


def follow(client: str, metres: float, t: int = 0, id_: str = "f") -> ops.Op:
    return ops.Subscribe(t * MICROS, Subscription(id_, client, FromSpaces(), (), within(metres)))


def publish(client: str, id_: str = "p", t: int = 0) -> ops.Op:
    return ops.Publish(t * MICROS, Publication(id_, client))


def agreed(log: Iterable[ops.Op], size: int = 50) -> tuple[list[list[tuple[str, str | None, str | None, float]]], int]:
    """What each op tells, if all agree: kind, publisher, peer, seconds. And how much of it came out of columns."""
    reference, kernel, columns = Reference(), Kernel(), Kernel()
    told: list[list[Notification]] = []
    run: list[ops.Move] = []
    in_columns = 0
    for op in log:
        if run and (len(run) == size or not isinstance(op, ops.Move)):
            in_columns += _ran(columns, run, told[-len(run) :])
            run = []
        told.append(_told(reference, op))
        assert _told(kernel, op) == told[-1]
        if isinstance(op, ops.Move):
            run.append(op)
        else:
            assert _told(columns, op) == told[-1]
    in_columns += _ran(columns, run, told[-len(run) :]) if run else 0
    return [[(str(n.kind), n.publisher, n.peer, n.time / MICROS) for n in each] for each in told], in_columns


def _told(engine: Reference, op: ops.Op) -> list[Notification]:
    """Nothing, if it is refused."""
    try:
        return engine.apply(op)
    except NearcastError:
        return []


def _ran(kernel: Kernel, run: list[ops.Move], expected: list[list[Notification]]) -> int:
    """Take moves as columns, if the kernel does, and hold what they tell against what is expected."""
    rows = kernel.clients.rows([op.client for op in run])
    if not (kernel.is_compiled and kernel.clients.columns.plain[rows].all()):
        assert [_told(kernel, op) for op in run] == expected
        return 0
    points = [op.position.point for op in run]
    numbers = [[p.x if p else np.nan, p.y if p else np.nan, np.nan, np.nan, np.nan] for p in points]
    places = np.array([kernel.clients.path_code(op.position.place) for op in run], np.int64)
    got = kernel.run(rows, np.array([op.time for op in run]), np.array(numbers), places)
    shown = got.arrow().select(["id", "kind", "subscription", "subscriber", "publisher", "peer", "content"]).to_pylist()
    want = [n for each in expected for n in each]
    assert shown == [{name: getattr(n, name) for name in row} for row, n in zip(shown, want, strict=True)]
    assert got.events.time.tolist() == [n.time for n in want]
    assert got.op.tolist() == [i for i, each in enumerate(expected) for _ in each]
    return len(want)


# ---- relations ---------------------------------------------------------------------------------------


def test_two_clients_meet_and_part_on_the_very_boundary() -> None:
    log = [
        PLANE,
        relation("r", 5),
        watch("w"),
        move("b", 0, 0, 1),
        move("a", 9, 4, 2),
        move("a", 3, 4, 3),
        move("a", 3, math.nextafter(4, 5), 4),
    ]
    told, in_columns = agreed(log)
    assert told[-4:] == [[], [], [("enter", "a", "b", 3.0)], [("leave", "a", "b", 4.0)]]
    assert in_columns == 2


def test_both_move_several_times_in_one_run_and_the_time_is_that_of_the_latest_of_three() -> None:
    log = [
        PLANE,
        relation("r", 5),
        watch("w", t=9),
        move("a", 0, 0, 1),
        move("b", 4, 0, 2),
        move("w", 0, 900, 20),
        move("a", 50, 0, 3),
        move("b", 51, 0, 30),
        move("a", 0, 0, 31),
    ]
    told, in_columns = agreed(log)
    assert told[4] == [("enter", "a", "b", 9.0)]
    assert told[6:] == [[("leave", "a", "b", 20.0)], [("enter", "a", "b", 30.0)], [("leave", "a", "b", 31.0)]]
    assert in_columns == 4


def test_a_forgotten_client_is_met_no_more() -> None:
    log = [PLANE, relation("r", 5), watch("w"), move("a", 0, 0, 1), move("b", 1, 0, 1)]
    log += [ops.Forget(2 * MICROS, "a"), move("b", 2, 0, 3), move("a", 2, 0, 4), move("b", 90, 0, 5)]
    told, _ = agreed(log)
    assert told[5:] == [[("leave", "a", "b", 2.0)], [], [("enter", "a", "b", 4.0)], [("leave", "a", "b", 5.0)]]


def test_whoever_is_at_a_place_without_coordinates_has_left() -> None:
    log = [PLANE, relation("r", 5), watch("w"), move("a", 0, 0, 1), move("b", 1, 0, 1)]
    log += [ops.Move(2 * MICROS, "a", Position(place="hq")), move("a", 0, 0, 3)]
    told, in_columns = agreed(log)
    assert told[5:] == [[("leave", "a", "b", 2.0)], [("enter", "a", "b", 3.0)]]
    assert in_columns == 3


def test_a_relation_may_change_its_distance_its_kind_and_be_removed() -> None:
    log = [PLANE, relation("r", 5), watch("w"), watch("a"), move("a", 0, 0, 1), move("b", 4, 0, 1)]
    log += [relation("r", 3, 2), move("b", 3, 0, 3), relation("r", 3, 4, members=("b", "c")), move("b", 2, 0, 5)]
    log += [relation("r", 2, 6), ops.RemoveRelation(7 * MICROS, "r"), move("b", 1, 0, 8), relation("r", 1, 9)]
    told, in_columns = agreed(log)
    assert [[kind for kind, *_ in each] for each in told[5:]] == [
        ["enter"] * 2, ["leave"] * 2, ["enter"] * 2, ["leave"] * 2, [], ["enter"] * 2, ["leave"] * 2, [], ["enter"] * 2,
    ]  # fmt: skip
    assert in_columns == 4


@pytest.mark.parametrize(
    "apart", [ops.SetClient(2 * MICROS, "b", lease=MICROS), ops.SetClient(2 * MICROS, "b", {"x": 3.0, "y": 0.0})]
)
def test_a_client_apart_takes_relations_out_of_the_lane_until_it_is_gone(apart: ops.Op) -> None:
    kernel = Kernel()
    lane = next(lane for lane in kernel.lanes if isinstance(lane, PairLane))
    log = [PLANE, relation("r", 5), watch("w"), move("a", 0, 0, 1), move("b", 4, 0, 1), apart]
    log += [ops.Tick(9 * MICROS), move("a", 1, 1, 10)]
    if not (isinstance(apart, ops.SetClient) and apart.lease):
        log.append(ops.Forget(11 * MICROS, "b"))
    log += [move("c", 0, 0, 12), move("b", 2, 2, 13)]
    agreed(log)
    held = []
    for op in log:
        kernel.apply(op)
        held.append(len(lane.held))
    assert held[4:6] == [1, 0]
    assert held[-2:] == [1, 1]


# ---- subscriptions -----------------------------------------------------------------------------------


def test_each_follows_within_a_distance_of_its_own() -> None:
    log = [PLANE, move("a", 0, 0, 1), move("b", 8, 0, 1), publish("a", t=1), publish("b", t=1), publish("b", "q", 1)]
    log += [follow("a", 10, 2), follow("b", 5, 2), follow("b", 6, 2, "g"), follow("c", 100, 2)]
    log += [move("b", 5, 0, 3), move("a", 20, 0, 4), move("c", 0, 0, 5), move("c", 900, 0, 6)]
    told, in_columns = agreed(log)
    assert [(kind, publisher) for kind, publisher, *_ in told[10]] == [("enter", "a"), ("enter", "a")]
    assert [len(each) for each in told[6:]] == [2, 0, 0, 0, 2, 4, 3, 3]
    assert in_columns == 12


def test_nobody_follows_itself_and_what_is_odd_is_left_to_the_definition() -> None:
    elsewhere = Publication("o", "b", (Region("location", location=Geometry(Point(0.0, 0.0))),))
    log = [PLANE, publish("a"), follow("a", 5), move("a", 0, 0, 1), ops.Publish(2 * MICROS, elsewhere)]
    log += [move("b", 4, 0, 3), publish("b", t=4), move("a", 40, 0, 5), ops.Forget(6 * MICROS, "b")]
    told, _ = agreed(log)
    assert [len(each) for each in told[3:]] == [0, 1, 0, 1, 2, 0]


# ---- against measuring everyone ------------------------------------------------------------------------


@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize(("metres", "scale"), [(30.0, 1e-4), (5000.0, 0.02), (300_000.0, 1.5), (3e6, 20.0)])
def test_meetings_across_seams_are_those_that_measuring_everyone_finds(
    seam: tuple[float, float], metres: float, scale: float
) -> None:
    rng = np.random.default_rng(7)
    clients, n = Clients(0), 40
    rows = clients.rows([str(i) for i in range(n)])
    reach, own, none = Distances(), Distances(), np.zeros(0, np.int64)
    grid = PointGrid(True, metres)
    reaches = Reaches(reach.put(0, metres, True), reach, 1, own, none, none, none)
    near: set[tuple[int, int]] = set()
    for step in range(3):
        mover = np.concatenate([rng.permutation(rows), rng.integers(0, n, 60)])
        position = np.full((len(mover), 5), np.nan)
        position[:, :2] = np.array(seam) + rng.normal(0, scale, (len(mover), 2))
        position[:, 0] = (position[:, 0] + 180) % 360 - 180
        position[:, 1] = np.where(abs(position[:, 1]) > 90, np.sign(seam[1]) * 180 - position[:, 1], position[:, 1])
        times = np.arange(len(mover)) + 1 + 1000 * step
        moves = take_moves(clients.columns, mover, times, position, np.full(len(mover), -1), 0, True)
        for i, j, entered in zip(*(column.tolist() for column in _pairs(grid, reaches, moves, clients)), strict=True):
            (near.add if entered else near.remove)((min(i, j), max(i, j)))
        a, b = np.triu_indices(n, 1)
        x, y = clients.columns.x, clients.columns.y
        held = lengths(x[a], y[a], x[b], y[b], True) <= metres
        assert near == set(zip(a[held].tolist(), b[held].tolist(), strict=True))


def _pairs(grid: PointGrid, reaches: Reaches, moves: Any, clients: Clients) -> tuple[Any, Any, Any]:
    met = meetings(grid, reaches, moves, clients.columns)
    assert list(met.move) == sorted(met.move)
    return moves.row[met.move], met.other, met.entered


def test_a_grid_of_wanderers_does_not_grow() -> None:
    clients = Clients(0)
    clients.earth = False
    rows, reach, none = clients.rows([str(i) for i in range(50)]), Distances(), np.zeros(0, np.int64)
    reaches = Reaches(reach.put(0, 1.0, False), reach, 1, Distances(), none, none, none)
    grid = PointGrid(False, 1.0)
    for step in range(200):
        position = np.full((50, 5), np.nan)
        position[:, 0], position[:, 1] = np.arange(50) * 3.0, step * 7.0
        moves = take_moves(clients.columns, rows, np.full(50, step), position, np.full(50, -1), 0, False)
        assert not len(meetings(grid, reaches, moves, clients.columns).move)
    assert len(grid.arrays.key) <= 512
    assert len(grid.arrays.spot) <= 512
    place = np.array([[6.0, 199 * 7.0, 0.0]])
    assert grid.neighbours(place, 3.5)[1].tolist() == [1, 2, 3]
    grid.drop(2)
    assert sorted(grid.neighbours(place, 3.5)[1].tolist()) == [1, 3]


# ---- random logs ---------------------------------------------------------------------------------------


def _scenes() -> list[tuple[Metric, list[tuple[float, float]], list[float]]]:
    """Few points, and distances that are exactly those between them, or next to that."""
    found: list[tuple[Metric, list[tuple[float, float]], list[float]]] = []
    corners = [(0.0, 0.0), (3.0, 4.0), (3.0, 0.0), (-3.0, 4.0), (8.0, 6.0)]
    found.append((Metric.PLANAR, corners, [0, 5, math.nextafter(5, 0), 10.0, 3.0]))
    for seam in (SEAMS[1], SEAMS[3], SEAMS[4]):
        points = [(seam[0], seam[1]), (-seam[0], seam[1]), (seam[0] - 1e-3, seam[1] - 2e-3), (seam[0] - 2, seam[1] - 1)]
        apart = [EARTH.distance(Point(*points[i]), Point(*points[j])) for i, j in ((0, 2), (2, 3), (0, 1))]
        found.append((Metric.EARTH, points, [f for d in apart for f in (d, math.nextafter(d, 0))]))
    return found


def _logs(metric: Metric, points: list[tuple[float, float]], distances: list[float]) -> SearchStrategy[list[ops.Op]]:
    clients, reach = st.sampled_from("abcd"), st.sampled_from(distances)
    point = st.sampled_from(points).map(lambda xy: Position(Point(*xy)))
    fixes = st.builds(ops.Move, st.just(0), clients, st.one_of(point, point, point, st.just(Position(place="hq"))))
    told = st.builds(publish, clients, st.sampled_from("pr"))
    seen = st.builds(lambda client, d, id_: follow(client, d, 0, id_), clients, reach, st.sampled_from("fg"))
    watched = st.builds(watch, clients, st.sampled_from("rp"))
    leases = st.sampled_from([0, MICROS, 5 * MICROS])
    where = st.sampled_from(points).map(lambda xy: dict(zip("xy", xy, strict=True)))
    events = st.one_of(
        *[fixes] * 12, told, told, seen, seen, watched, watched,
        st.builds(relation, st.sampled_from("rp"), reach),
        st.builds(lambda client: ops.Forget(0, client), clients),
        st.builds(lambda client, lease: ops.SetClient(0, client, lease=lease), clients, leases),
        st.builds(lambda client, at: ops.SetClient(0, client, at), clients, where),
        st.just(ops.Tick(0)),
        st.just(ops.RemoveRelation(0, "r")),
        st.builds(lambda client, id_: ops.Retract(0, client, id_), clients, st.sampled_from("pr")),
    )  # fmt: skip
    steps = st.sampled_from([0, 1, MICROS, MICROS, 2 * MICROS])

    def timed(timed_events: list[tuple[int, Any]]) -> list[ops.Op]:
        first: list[ops.Op] = [ops.DefineSpace(0, replace(LOCATION, metric=metric)), relation("r", distances[0])]
        times = np.cumsum([step for step, _ in timed_events]).tolist()
        return first + [replace(op, time=time) for (_, op), time in zip(timed_events, times, strict=True)]

    return st.lists(st.tuples(steps, events), min_size=5, max_size=40).map(timed)


@settings(max_examples=30)
@given(st.sampled_from(_scenes()).flatmap(lambda scene: _logs(*scene)), st.integers(1, 20))
def test_random_logs_of_those_who_meet(log: list[ops.Op], size: int) -> None:
    agreed(log, size)
