"""An index of discs of very different sizes: which of them hold a point.

Levels of square cells, each level four times as wide as the one below. A disc lies on the level whose cells are two
to eight times as wide as it is, so it touches at most four of them, or nine in the corners of a face, where cells are
narrower than they say; and a point looks into one cell of each level that has discs. A cell's postings lie together
and carry the discs' geometry, in steps of 1/16384 of the cell's width from its middle: 8 bytes to read for each disc
in the neighbourhood, and exact coordinates only for the few that this cannot decide. A run of postings is five
columns, each with the room that the run has, so that a loop over a cell takes many discs at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.globe import (
    E2,
    FLAT,
    HIGHEST,
    IN,
    LOWEST,
    OUT,
    PER_METRE,
    SLACK,
    SPAN,
    TIGHTEST,
    UNSURE,
    A,
    band,
    cell_from,
    cell_key,
    cell_of,
    in_space,
    spread,
)  # fmt: skip

__all__ = [
    "CUBED",
    "DiscArrays",
    "DiscGrid",
    "anchor_of",
    "count_of",
    "exact_side",
    "find_cell",
    "room_of",
    "slack_of",
    "slot_of",
]

_WIDE = 1e6
"""Metres. Larger discs are few, and are looked at one by one."""
CUBED = 1 / (24 * TIGHTEST * TIGHTEST)
"""2R sin(r / 2R) >= r - r³/24R²."""
STEPS = 2.0**14
"""To a cell's width. A centre is within one width of the middle of a cell that its disc touches: half a diagonal of the
cell is 0.71, and a disc reaches no further than a quarter. So 16 bits hold it, twice over."""
_CLASSES = 32
"""Postings of a cell have room for 2**class of them."""
_CELLS, _USED, _EARTH = 0, 1, 2
"""In ``meta``: cells taken, postings ever taken, and whether this is the earth."""


class DiscArrays(NamedTuple):
    """What compiled loops see of the index."""

    key: npt.NDArray[np.int64]
    """Open-addressed rows of two: the cell, or -1, and ..."""
    run: npt.NDArray[np.int32]
    """... the same memory in rows of four: the third is where its postings begin, the fourth how many there are and for
    how many there is room (`count_of`, `room_of`). What is asked of a cell thus comes with one fetch."""
    whole: npt.NDArray[np.int32]
    """Runs of postings, three numbers to a posting: the last column is the row of the disc, those before it are ..."""
    short: npt.NDArray[np.int16]
    """... the same memory in halves: the centre from the middle of the cell (3), and the radius, in steps."""
    free: npt.NDArray[np.int32]
    """By class, the first free run of postings."""
    levels: npt.NDArray[np.int64]
    """How many discs each level has."""
    wide: npt.NDArray[np.int32]
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]
    radius: npt.NDArray[np.float64]
    meta: npt.NDArray[np.int64]


class DiscGrid:
    """Discs by row. Rows are the caller's, who also keeps what else belongs to them."""

    def __init__(self, earth: bool, cells: int = 64) -> None:
        self.earth = earth
        self._wide: list[int] = []
        pool = np.zeros(64 * 3, np.int32)
        self.arrays = DiscArrays(
            key=(table := _empty_table(cells)),
            run=table.view(np.int32),
            whole=pool,
            short=pool.view(np.int16),
            free=np.full(_CLASSES, -1, np.int32),
            levels=np.zeros(HIGHEST - LOWEST + 1, np.int64),
            wide=np.zeros(0, np.int32),
            x=np.zeros(0),
            y=np.zeros(0),
            radius=np.zeros(0),
            meta=np.array([0, 0, earth], np.int64),
        )

    def __len__(self) -> int:
        return int(self.arrays.levels.sum()) + len(self._wide)

    def add(self, rows: npt.NDArray[np.int64], x: npt.ArrayLike, y: npt.ArrayLike, radius: npt.ArrayLike) -> None:
        if not len(rows):
            return
        a, size = self.arrays, int(rows.max()) + 1
        self.arrays = a = a._replace(x=grown(a.x, size), y=grown(a.y, size), radius=grown(a.radius, size))
        a.x[rows], a.y[rows], a.radius[rows] = x, y, radius
        # Those about a place are inserted together, so that what is looked at together lies together.
        strip = np.floor(a.x[rows] / (0.02 if self.earth else 2000.0))
        done, rows = 0, rows[np.lexsort((a.y[rows], strip))]
        while True:
            done, wide = _insert(self.arrays, rows, done)
            if wide >= 0:
                self._wide.append(wide)
            elif done == len(rows):
                break
            else:
                self._make_room()
        self.arrays = self.arrays._replace(wide=np.array(self._wide, np.int32))

    def remove(self, rows: npt.NDArray[np.int64]) -> None:
        _remove(self.arrays, rows)
        if self._wide:
            gone = set(rows.tolist())
            self._wide = [row for row in self._wide if row not in gone]
            self.arrays = self.arrays._replace(wide=np.array(self._wide, np.int32))

    @property
    def is_crowded(self) -> bool:
        """Whether a cell has so many discs that looking into it again soon is worth a detour."""
        a = self.arrays
        return bool(a.meta[_USED] > 8 * a.meta[_CELLS])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for name, array in self.arrays._asdict().items() if name not in ("short", "run"))

    def _make_room(self) -> None:
        """Double whatever is nearly full."""
        a = self.arrays
        if a.meta[_CELLS] * 2 >= len(a.key) - 16:
            table = _empty_table(2 * len(a.key))
            _rehash(a.key, table)
            self.arrays = a = a._replace(key=table, run=table.view(np.int32))
        size = len(a.whole) // 3
        pool = np.zeros((size + max(64, size // 2)) * 3, np.int32)
        pool[: len(a.whole)] = a.whole
        self.arrays = a._replace(whole=pool, short=pool.view(np.int16))


# ---- cells ---------------------------------------------------------------------------------------------


def _empty_table(cells: int) -> npt.NDArray[np.int64]:
    table = np.zeros((cells, 2), np.int64)
    table[:, 0] = -1
    return table


@njit
def slot_of(key: int, size: int) -> int:
    """Where a cell is first looked for."""
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return int(h >> np.uint64(33)) & (size - 1)


@njit
def find_cell(keys: npt.NDArray[np.int64], key: int) -> int:
    """Where a cell is; if it is not there, the complement of where it would go."""
    size = len(keys)
    at = slot_of(key, size)
    while True:
        found = keys[at, 0]
        if found == key:
            return at
        if found == -1:
            return ~at
        at = (at + 1) & (size - 1)


@njit
def _rehash(old: npt.NDArray[np.int64], new: npt.NDArray[np.int64]) -> None:
    for i in range(len(old)):
        if old[i, 0] != -1:
            at = slot_of(old[i, 0], len(new))
            while new[at, 0] != -1:
                at = (at + 1) & (len(new) - 1)
            new[at, 0], new[at, 1] = old[i, 0], old[i, 1]


@njit
def count_of(run: npt.NDArray[np.int32], at: int) -> int:
    return int(run[at, 3] >> 5)


@njit
def room_of(run: npt.NDArray[np.int32], at: int) -> int:
    """There is room for 2 to the power of this."""
    return int(run[at, 3] & 31)


@njit
def _set_run(run: npt.NDArray[np.int32], at: int, start: int, count: int, room: int) -> None:
    run[at, 2], run[at, 3] = start, count << 5 | room


@njit
def _anchor(face: int, level: int, ix: int, iy: int) -> tuple[float, float, float]:
    """The middle of a cell, in space. Postings give their place relative to it."""
    side = 1.0 / PER_METRE[level - LOWEST]
    u, v = (ix + 0.5) * side, (iy + 0.5) * side
    if face == FLAT:
        return u, v, 0.0
    if face < 2:
        x, y, z = A, u, v
    elif face < 4:
        x, y, z = u, A, v
    else:
        x, y, z = u, v, A
    w = A / math.sqrt(x * x + y * y + z * z / (1.0 - E2))
    x, y, z = x * w, y * w, z * w
    if face == 1:
        return -x, y, z
    if face == 3:
        return x, -y, z
    return x, y, -z if face == 5 else z


@njit
def _steps(level: int) -> float:
    """To a metre."""
    return float(STEPS * PER_METRE[level - LOWEST])


@njit
def anchor_of(key: int) -> tuple[tuple[float, float, float], float]:
    """The middle of a cell that is known by its key, and its steps to a metre."""
    face, level, ix, iy = cell_from(key)
    return _anchor(face, level, ix, iy), _steps(level)


@njit
def slack_of(steps: float) -> float:
    """How many steps the distance to a circle may be off.

    Rounding moves a centre by less than 0.87 steps, and a radius by half a one; 32-bit numbers add less than 0.02.
    """
    return 1.5 + SLACK * steps


# ---- postings ------------------------------------------------------------------------------------------


@njit
def _level_of(reach: float) -> int:
    """The level whose cells are two to eight times as wide as what reaches so far.

    Narrower cells would have fewer discs to look at, but there would be more cells and more levels to look for.
    """
    if 4 * reach <= 1.0 / PER_METRE[0]:
        return LOWEST
    return (math.ceil(math.log2(4 * reach)) + 1) // 2 * 2


@njit
def _home(a: DiscArrays, row: int) -> tuple[float, float, float, float, int]:
    """A disc's centre in space, how far it surely reaches, and its level; ``LOWEST - 1`` if it is a wide one."""
    x, y, radius = a.x[row], a.y[row], a.radius[row]
    earth = a.meta[_EARTH] != 0
    reach = band(radius, earth)[1]
    if earth:
        px, py, pz = in_space(x, y)
        if radius > _WIDE:
            return px, py, pz, reach, LOWEST - 1
        return px, py, pz, reach, _level_of(reach)
    reach += 1e-12 * (abs(x) + abs(y))
    level = _level_of(reach)
    if level > HIGHEST or max(abs(x), abs(y)) + reach > SPAN / 2 / PER_METRE[level - LOWEST]:
        level = LOWEST - 1
    return x, y, 0.0, reach, level


@njit
def _insert(a: DiscArrays, rows: npt.NDArray[np.int64], done: int) -> tuple[int, int]:
    """Insert from ``done`` on. Gives how far it got, and the row of a wide disc that it leaves to the caller."""
    for i in range(done, len(rows)):
        if a.meta[_CELLS] * 2 >= len(a.key) - 16:
            return i, -1
        row = rows[i]
        px, py, pz, reach, level = _home(a, row)
        if level < LOWEST:
            return i + 1, row
        if not _room_for(a, px, py, pz, reach, level):
            return i, -1
        for face in range(FLAT if a.meta[_EARTH] == 0 else 0, FLAT + 1 if a.meta[_EARTH] == 0 else FLAT):
            west, south, east, north = spread(face, px, py, pz, reach)
            if west > east or south > north:
                continue
            for ix in range(cell_of(west, level), cell_of(east, level) + 1):
                for iy in range(cell_of(south, level), cell_of(north, level) + 1):
                    _post(a, row, px, py, pz, face, level, ix, iy)
        a.levels[level - LOWEST] += 1
    return len(rows), -1


@njit
def _room_for(a: DiscArrays, px: float, py: float, pz: float, reach: float, level: int) -> bool:
    """Whether all of a disc's postings surely fit: each may move a cell's postings to a place twice as large."""
    needed = 0
    for face in range(FLAT if a.meta[_EARTH] == 0 else 0, FLAT + 1 if a.meta[_EARTH] == 0 else FLAT):
        west, south, east, north = spread(face, px, py, pz, reach)
        if west > east or south > north:
            continue
        for ix in range(cell_of(west, level), cell_of(east, level) + 1):
            for iy in range(cell_of(south, level), cell_of(north, level) + 1):
                at = find_cell(a.key, cell_key(face, level, ix, iy))
                needed += 1 if at < 0 else 2 << room_of(a.run, at)
    return (int(a.meta[_USED]) + needed) * 3 <= len(a.whole)


@njit
def _take_run(a: DiscArrays, size: int) -> int:
    """A run of 2**size postings."""
    start = a.free[size]
    if start >= 0:
        a.free[size] = a.whole[3 * start]
        return int(start)
    start = a.meta[_USED]
    a.meta[_USED] += 1 << size
    return int(start)


@njit
def _post(a: DiscArrays, row: int, px: float, py: float, pz: float, face: int, level: int, ix: int, iy: int) -> None:
    key = cell_key(face, level, ix, iy)
    at = find_cell(a.key, key)
    if at < 0:
        at = ~at
        a.key[at, 0] = key
        _set_run(a.run, at, _take_run(a, 0), 0, 0)
        a.meta[_CELLS] += 1
    start, n, size = int(a.run[at, 2]), count_of(a.run, at), room_of(a.run, at)
    if n == 1 << size:
        old, start = start, _take_run(a, size + 1)
        for column in range(4):
            there, here = 6 * start + (column << (size + 1)), 6 * old + (column << size)
            a.short[there : there + n] = a.short[here : here + n]
        there, here = 3 * start + (4 << size), 3 * old + (2 << size)
        a.whole[there : there + n] = a.whole[here : here + n]
        a.whole[3 * old] = a.free[size]
        a.free[size] = old
        size += 1
    ax, ay, az = _anchor(face, level, ix, iy)
    steps, slot, room = _steps(level), 6 * start + n, 1 << size
    a.short[slot], a.short[slot + room] = round((px - ax) * steps), round((py - ay) * steps)
    a.short[slot + 2 * room], a.short[slot + 3 * room] = round((pz - az) * steps), round(a.radius[row] * steps)
    a.whole[3 * start + 2 * room + n] = row
    _set_run(a.run, at, start, n + 1, size)


@njit
def _remove(a: DiscArrays, rows: npt.NDArray[np.int64]) -> None:
    for row in rows:
        px, py, pz, reach, level = _home(a, row)
        if level < LOWEST:
            continue
        for face in range(FLAT if a.meta[_EARTH] == 0 else 0, FLAT + 1 if a.meta[_EARTH] == 0 else FLAT):
            west, south, east, north = spread(face, px, py, pz, reach)
            if west > east or south > north:
                continue
            for ix in range(cell_of(west, level), cell_of(east, level) + 1):
                for iy in range(cell_of(south, level), cell_of(north, level) + 1):
                    _unpost(a, row, cell_key(face, level, ix, iy))
        a.levels[level - LOWEST] -= 1


@njit
def _unpost(a: DiscArrays, row: int, key: int) -> None:
    """The last posting takes the place of the one that goes."""
    at = find_cell(a.key, key)
    if at < 0:
        return
    start, last, size = int(a.run[at, 2]), count_of(a.run, at) - 1, room_of(a.run, at)
    first, rows, room = 6 * start, 3 * start + (2 << size), 1 << size
    for i in range(last + 1):
        if a.whole[rows + i] == row:
            for column in range(first, first + 4 * room, room):
                a.short[column + i] = a.short[column + last]
            a.whole[rows + i] = a.whole[rows + last]
            _set_run(a.run, at, start, last, size)
            return


# ---- questions -----------------------------------------------------------------------------------------


@njit
def exact_side(x: float, y: float, radius: float, earth: bool, p: tuple[float, float, float]) -> int:
    """On which side of a disc a point of space is, by the proven band; unsure only within it."""
    centre = in_space(x, y) if earth else (x, y, 0.0)
    inner, outer = band(radius, earth)
    dx, dy, dz = p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]
    chord = math.sqrt(dx * dx + dy * dy + dz * dz)
    if chord > outer:
        return OUT
    return IN if chord < inner else UNSURE
