"""An index of discs of very different sizes: which of them hold a point.

Levels of square cells, each level twice as wide as the one below. A disc lies on the level whose cells are one to
two times as wide as it is, so it touches at most four of them, and a point looks into one cell of each level that
has discs. A cell's postings lie together and carry the discs' geometry, as 32-bit offsets from the cell's own
anchor: 20 bytes to read for each disc in the neighbourhood, and exact coordinates only for the few that this cannot
decide. A run of postings is five columns, each with the room that the run has, so that a loop over a cell takes many
discs at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.globe import (
    FLAT,
    HIGHEST,
    IN,
    LOWEST,
    OUT,
    PER_METRE,
    SPAN,
    TIGHTEST,
    UNSURE,
    A,
    band,
    cell_from,
    cell_key,
    cell_of,
    face_of,
    in_space,
    spread,
)  # fmt: skip

__all__ = ["CUBED", "DiscArrays", "DiscGrid", "anchor_of", "count_of", "exact_side", "find_cell", "room_of", "slot_of"]

_WIDE = 1e6
"""Metres. Larger discs are few, and are looked at one by one."""
CUBED = 1 / (24 * TIGHTEST * TIGHTEST)
"""2R sin(r / 2R) >= r - r³/24R²."""
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
    """Runs of postings: the last column is the row of the disc, those before it are ..."""
    real: npt.NDArray[np.float32]
    """... the same memory as numbers: offset in space (3), radius."""
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
        pool = np.zeros(64 * 5, np.int32)
        self.arrays = DiscArrays(
            key=(table := _empty_table(cells)),
            run=table.view(np.int32),
            whole=pool,
            real=pool.view(np.float32),
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
        return sum(array.nbytes for name, array in self.arrays._asdict().items() if name not in ("real", "run"))

    def _make_room(self) -> None:
        """Double whatever is nearly full."""
        a = self.arrays
        if a.meta[_CELLS] * 2 >= len(a.key) - 16:
            table = _empty_table(2 * len(a.key))
            _rehash(a.key, table)
            self.arrays = a = a._replace(key=table, run=table.view(np.int32))
        size = len(a.whole) // 5
        pool = np.zeros((size + max(64, size // 2)) * 5, np.int32)
        pool[: len(a.whole)] = a.whole
        self.arrays = a._replace(whole=pool, real=pool.view(np.float32))


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
    """A point of space near a cell. Postings give their place relative to it."""
    side = 1.0 / PER_METRE[level - LOWEST]
    u, v = (ix + 0.5) * side, (iy + 0.5) * side
    if face == FLAT:
        return u, v, 0.0
    w = A / math.sqrt(A * A + u * u + v * v)
    depth, s, t = w * A, w * u, w * v
    if face == 0:
        return depth, s, t
    if face == 1:
        return -depth, s, t
    if face == 2:
        return s, depth, t
    if face == 3:
        return s, -depth, t
    if face == 4:
        return s, t, depth
    return s, t, -depth


@njit
def _slack_of(level: int, face: int) -> float:
    """How far a distance from 32-bit offsets may be off: they have 24 bits, and reach from the anchor to the cell.

    The anchor is on a sphere of the equator's radius, which the poles are 21 km inside of.
    """
    reach = 4.0 / PER_METRE[level - LOWEST]
    return 2e-7 * float(reach if face == FLAT else reach + 25000.0)


@njit
def anchor_of(key: int) -> tuple[tuple[float, float, float], float]:
    """The anchor of a cell that is known by its key, and the slack of its postings."""
    face, level, ix, iy = cell_from(key)
    return _anchor(face, level, ix, iy), _slack_of(level, face)


# ---- postings ------------------------------------------------------------------------------------------


@njit
def _level_of(width: float) -> int:
    """The level whose cells are at least so wide, and less than four times.

    Every other level would do for postings; with half of the levels there are half as many cells to look for.
    """
    if width <= 1.0 / PER_METRE[0]:
        return LOWEST
    return math.ceil(math.log2(width)) | 1


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
        face = face_of(px, py, pz)
        west, south, east, north = spread(face, px, py, pz, reach)
        return px, py, pz, reach, _level_of(max(east - west, north - south))
    reach += 1e-12 * (abs(x) + abs(y))
    level = _level_of(2 * reach)
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
    return (int(a.meta[_USED]) + needed) * 5 <= len(a.whole)


@njit
def _take_run(a: DiscArrays, size: int) -> int:
    """A run of 2**size postings."""
    start = a.free[size]
    if start >= 0:
        a.free[size] = a.whole[5 * start]
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
        for column in range(5):
            there, here = 5 * start + (column << (size + 1)), 5 * old + (column << size)
            a.whole[there : there + n] = a.whole[here : here + n]
        a.whole[5 * old] = a.free[size]
        a.free[size] = old
        size += 1
    ax, ay, az = _anchor(face, level, ix, iy)
    slot, room = 5 * start + n, 1 << size
    a.real[slot], a.real[slot + room], a.real[slot + 2 * room] = px - ax, py - ay, pz - az
    a.real[slot + 3 * room], a.whole[slot + 4 * room] = a.radius[row], row
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
    first, room = 5 * start, 1 << size
    for i in range(last + 1):
        if a.whole[first + 4 * room + i] == row:
            for column in range(first, first + 5 * room, room):
                a.whole[column + i] = a.whole[column + last]
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
