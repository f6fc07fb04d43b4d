"""What a run of moves crosses, found through the index, is what every pair of positions says by itself."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pyproj
import pytest

from nearcast.match.clients import ClientColumns
from nearcast.match.crossings import crossings, inside
from nearcast.match.discs import DiscGrid, anchor_of, count_of, room_of
from nearcast.match.globe import in_space
from nearcast.match.moves import FLOOR, Moves, X, Y, take_moves
from nearcast.match.regions import Regions, Sites, lengths
from nearcast.model.constraint import Interval
from nearcast.model.layer import LayerRegion
from nearcast.model.metric import ground_of
from nearcast.model.shape import Disc, Geometry, Point, Shape
from nearcast.model.space import Metric

Reals = npt.NDArray[np.float64]
PLACES = [(16.4, 48.2), (0.0, 0.0), (180.0, 10.0), (-180.0, -89.999), (45.0, 35.264), (10.0, 90.0), (-45.0, 0.001)]
"""A city, the origin, the antimeridian, near a pole, a corner of three faces of the grid, a pole, an edge of faces."""


def radii(dice: np.random.Generator, n: int) -> Reals:
    made = 10 ** dice.uniform(-2, 4, n)
    made[::17] = 0
    made[::41] = 10 ** dice.uniform(4, 6.9, len(made[::41]))
    return made


def on_earth(dice: np.random.Generator, n: int) -> tuple[Reals, Reals]:
    """Around a few places, from millimetres to a thousand kilometres away."""
    x, y = np.array(PLACES)[dice.integers(len(PLACES), size=n)].T
    x, y, _ = pyproj.Geod(ellps="WGS84").fwd(x, y, dice.uniform(0, 360, n), 10 ** dice.uniform(-3, 6, n))
    return np.asarray(x), np.asarray(y)


def on_a_plane(dice: np.random.Generator, n: int) -> tuple[Reals, Reals]:
    x, y = np.array([(0.0, 0.0), (1024.0, -512.0), (1e9, 1e9), (-1e15, 3.0)])[dice.integers(4, size=n)].T
    angle, away = dice.uniform(0, 2 * math.pi, n), 10 ** dice.uniform(-3, 6, n)
    return x + away * np.cos(angle), y + away * np.sin(angle)


def on_circles(dice: np.random.Generator, x: Reals, y: Reals, radius: Reals, earth: bool) -> tuple[Reals, Reals]:
    """Points that are on circles, as far as numbers can say."""
    angle = dice.uniform(0, 360, len(x))
    if earth:
        made = pyproj.Geod(ellps="WGS84").fwd(x, y, angle, radius)
        return np.asarray(made[0]), np.asarray(made[1])
    return x + radius * np.cos(angle), y + radius * np.sin(angle)


def moved(positions: Reals, clients: int, earth: bool) -> Moves:
    """The moves of clients that take turns."""
    rows = np.arange(len(positions)) % clients
    columns = ClientColumns(clients)
    times, nowhere = np.arange(len(positions)), np.full(len(positions), -1)
    return take_moves(columns, rows, times, positions, nowhere, 0, earth)


def put(sites: Sites, shapes: list[Shape], floors: list[Interval | None]) -> None:
    sites.put(list(range(len(shapes))), [Geometry(s, floor=f) for s, f in zip(shapes, floors, strict=True)])


def holding(
    disc: tuple[float, float, float], floor: Interval | None, here: Reals, earth: bool
) -> npt.NDArray[np.bool_]:
    """Whether a disc holds each of many positions."""
    x, y, radius = (np.full(len(here), value) for value in disc)
    away = lengths(x, y, here[:, X], here[:, Y], earth)
    at_height: npt.NDArray[np.bool_] = here[:, FLOOR] <= 1
    held: npt.NDArray[np.bool_] = away <= radius
    return held if floor is None else held & at_height


@pytest.mark.parametrize("earth", [True, False], ids=["earth", "plane"])
@pytest.mark.parametrize("seed", range(3))
def test_moves_against_discs(earth: bool, seed: int) -> None:
    dice = np.random.default_rng(seed)
    scatter = on_earth if earth else on_a_plane
    x, y = scatter(dice, 300)
    radius = radii(dice, len(x))
    sites = Sites(ground_of(Metric.EARTH if earth else Metric.PLANAR), earth)
    floors = [Interval(0, 1) if i % 9 == 0 else None for i in range(len(x))]
    discs = list(zip(x.tolist(), y.tolist(), radius.tolist(), strict=True))
    shapes: list[Shape] = [Disc(*disc) if disc[2] else Point(*disc[:2]) for disc in discs]
    put(sites, [*shapes, *shapes[::2]], [*floors, *floors[::2]])
    sites.take_out([*range(len(shapes), len(shapes) + len(shapes[::2])), *range(0, len(shapes), 3)])
    sites.put(
        list(range(0, len(shapes), 3)), [Geometry(s, floor=f) for s, f in zip(shapes[::3], floors[::3], strict=True)]
    )

    near = [scatter(dice, 200), on_circles(dice, x, y, radius, earth), (x, y)]
    px, py = (np.repeat(np.concatenate(part), 4) for part in zip(*near, strict=True))
    steps = 10 ** dice.uniform(-4, 3, len(px)) * dice.choice([0, 1], len(px))
    px, py = on_circles(dice, px, py, steps, earth)
    px[:: len(px) // 9] = py[:: len(px) // 9] = np.nan
    # Each of five clients walks a little about a point, and then goes elsewhere.
    order = (dice.permutation(len(px) // 20 * 5).reshape(-1, 1, 5) * 4 + np.arange(4)[:, None]).ravel()
    positions = np.full((len(order), 5), np.nan)
    positions[:, 0], positions[:, 1] = px[order], py[order]
    positions[:, 3] = dice.choice([0.0, 0.0, 0.0, 2.0, np.nan], len(order))
    moves = moved(positions, 5, earth)

    state = np.array([holding(disc, floor, moves.here, earth) for disc, floor in zip(discs, floors, strict=True)]).T
    before = np.vstack([np.zeros((5, len(discs)), bool), state[:-5]])
    found = crossings(sites, moves)
    turned = np.argwhere(state != before)
    assert sorted(zip(found.move, found.region, strict=True)) == [tuple(pair) for pair in turned]
    assert all(state[m, r] == entered for m, r, entered in zip(*found, strict=True))
    assert len(turned) > 100

    at, region = inside(sites, moves.here)
    assert sorted(zip(at, region, strict=True)) == [tuple(pair) for pair in np.argwhere(state)]


def test_more_crossings_than_there_was_room_for() -> None:
    sites = Sites(ground_of(Metric.PLANAR), earth=False)
    shapes: list[Shape] = [Disc(0.0, 0.0, 10.0 + i) for i in range(500)]
    put(sites, shapes, [None] * len(shapes))
    positions = np.array([(x, 0.0, np.nan, np.nan, np.nan) for x in (0.0, 1e6, 0.0)])
    found = crossings(sites, moved(positions, 1, earth=False))
    assert list(zip(found.move, found.region, strict=True)) == list(itertools.product(range(3), range(500)))
    assert found.entered.tolist() == [True] * 500 + [False] * 500 + [True] * 500


def test_discs_that_came_as_columns_are_regions_like_any_other() -> None:
    one = Regions(ground_of(Metric.EARTH), earth=True)
    other = Regions(ground_of(Metric.EARTH), earth=True)
    discs = {"b": Disc(1.0, 2.0, 3.0), "a": Disc(4.0, 5.0, 6.0), "c": Disc(7.0, 8.0, 9.0)}
    one.add([LayerRegion(id_, Geometry(disc)) for id_, disc in discs.items()])
    other.add_discs(list(discs), *np.array([(d.x, d.y, d.radius) for d in discs.values()]).T)
    for table in (one, other):
        table.drop(["a"])
        table.add_discs(["d"], np.array([1.0]), np.array([1.0]), np.array([1.0]))
    rows = one.all_rows()
    assert rows == other.all_rows()
    assert [one.region(row) for row in rows] == [other.region(row) for row in rows]
    assert {one.region(row).id for row in rows} == {"b", "c", "d"}
    assert one.ids.array.to_pylist() == other.ids.array.to_pylist()


@pytest.mark.parametrize("earth", [True, False], ids=["earth", "plane"])
def test_a_posting_says_where_its_disc_is_to_within_a_step(earth: bool) -> None:
    dice = np.random.default_rng(7)
    x, y = (on_earth if earth else on_a_plane)(dice, 2000)
    radius = radii(dice, len(x))
    grid = DiscGrid(earth)
    grid.add(np.arange(len(x)), x, y, radius)
    index, found = grid.arrays, 0
    for at in np.flatnonzero(index.key[:, 0] >= 0).tolist():
        (start, room), (middle, steps) = (index.run[at, 2], 1 << room_of(index.run, at)), anchor_of(index.key[at, 0])
        for i in range(count_of(index.run, at)):
            row = index.whole[3 * start + 2 * room + i]
            *offset, size = (int(index.short[6 * start + column * room + i]) for column in range(4))
            centre = in_space(x[row], y[row]) if earth else (x[row], y[row], 0.0)
            assert offset == pytest.approx((np.array(centre) - middle) * steps, abs=0.51)
            assert size == pytest.approx(radius[row] * steps, abs=0.51)
            found += 1
    assert found > len(x)
