"""An index of points that move: who is near a place, kept in step with every move.

Square cells in a hash table, on the faces of `globe`. A cell's points lie together with their coordinates, so a
look around reads a few runs of memory and follows nothing. A cell that everyone has left keeps its place until the
table is full; then it is built anew from the points that are there, with cells as wide as their crowding asks for.
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
    LOWEST,
    PER_METRE,
    A,
    cell_key,
    cell_of,
    face_of,
    face_point,
    spread,
)  # fmt: skip

__all__ = ["PointArrays", "PointGrid", "around", "cell_at", "find_cell", "put", "take_out"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Smalls = npt.NDArray[np.int32]

CELLS, USED, LEVEL, EARTH = 0, 1, 2, 3
"""In ``meta``: cells taken, room for points ever taken, the level of the cells, and whether this is the earth."""

_CLASSES = 32
"""A cell has room for 2**class points."""
_CROWD = 12.0
"""If a point shares its cell with more than so many, cells are made smaller."""
_WIDE = 1e6
"""Metres. Beyond, `globe.spread` has no bound, and everyone is looked at."""
_MANY = 64.0
"""Cells. Looking further than so many is looking at everyone."""
_AWAY = A * (1 - 1e-9)
"""What stays within so many metres of the middle of a face is seen through no other."""


class PointArrays(NamedTuple):
    """What compiled loops see of the index."""

    key: Wholes
    """Open-addressed: the cell, or -1."""
    runs: Smalls
    """Of each cell: where its points begin, and how many there are."""
    room: npt.NDArray[np.int8]
    spot: Reals
    """Points: the place in space (3), and whose it is."""
    free: Smalls
    """By class, the first free run of points; each run says in its first point which is the next."""
    home: Wholes
    """By client, the cell that it is in, or -1."""
    meta: Wholes


class PointGrid:
    """Where clients are, to be asked who is within ``reach`` metres of a place."""

    def __init__(self, earth: bool, reach: float) -> None:
        self.earth, self.reach = earth, reach
        self.arrays = _empty(_level_of(reach), earth, np.full(16, -1, np.int64), 64, 64)

    def load(self, rows: Wholes, px: Reals, py: Reals, pz: Reals) -> None:
        """Put clients where they are; those that are nowhere are left out."""
        somewhere = rows[~np.isnan(px[rows])]
        self.reserve(int(rows.max()) + 1 if len(rows) else 0)
        self._build(np.column_stack([px[somewhere], py[somewhere], pz[somewhere], somewhere]))

    def reserve(self, clients: int) -> None:
        """Make room for so many clients' homes."""
        self.arrays = self.arrays._replace(home=grown(self.arrays.home, clients, -1))

    def drop(self, row: int) -> None:
        if row < len(self.arrays.home):
            take_out(self.arrays, row)

    def make_room(self) -> None:
        """Build the index anew, with room to spare."""
        points = np.empty((int(self.arrays.runs[:, 1].sum()), 4))
        _collect(self.arrays, points)
        self._build(points)

    def neighbours(self, place: Reals, reach: float) -> tuple[Wholes, Wholes, Reals]:
        """Who may be within reach of each of some places in space: which place, whose row, and the square chord."""
        room = 64 + 32 * len(place)
        cells = np.empty(len(self.arrays.key), np.int32)
        while True:
            at, row, squared = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
            n = _neighbours(self.arrays, place, reach, cells, at, row, squared)
            if n <= room:
                return at[:n], row[:n], squared[:n]
            room = n

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def _build(self, points: Reals) -> None:
        """Cells are at first about as wide as the reach; if they are crowded, down to half of that and again."""
        widest, level = _level_of(self.reach), _level_of(self.reach)
        while True:
            cells, crowd = self._try(points, level)
            if crowd <= _CROWD or level in (widest - 2, LOWEST):
                break
            level -= 1
        points = points[np.argsort(self.arrays.home[points[:, 3].astype(np.int64)])]  # neighbours lie together
        taken = int(self.arrays.meta[USED])
        size = 1 << max(6, math.ceil(math.log2(4 * cells + 1)))
        self.arrays = _empty(level, self.earth, self.arrays.home, size, 2 * taken + 64)
        assert _insert(self.arrays, points)

    def _try(self, points: Reals, level: int) -> tuple[int, float]:
        """Build with cells of a level; gives how many there are, and how many a point shares one with."""
        size, pool = 64, 2 * len(points) + 64
        while True:
            self.arrays = _empty(level, self.earth, self.arrays.home, size, pool)
            if _insert(self.arrays, points):
                break
            size, pool = 4 * size, 2 * pool
        counts = self.arrays.runs[:, 1].astype(np.float64)
        return int(self.arrays.meta[CELLS]), float((counts * counts).sum() / max(1, len(points)))


def _empty(level: int, earth: bool, home: Wholes, cells: int, points: int) -> PointArrays:
    return PointArrays(
        key=np.full(cells, -1, np.int64),
        runs=np.zeros((cells, 2), np.int32),
        room=np.zeros(cells, np.int8),
        spot=np.empty((points, 4)),
        free=np.full(_CLASSES, -1, np.int32),
        home=home,
        meta=np.array([0, 0, level, earth], np.int64),
    )


def _level_of(reach: float) -> int:
    """Cells that are at least as wide as the reach, and less than twice."""
    return LOWEST if reach <= 0 else min(max(math.ceil(math.log2(reach)), LOWEST), HIGHEST)


# ---- cells ---------------------------------------------------------------------------------------------


@njit
def cell_at(px: float, py: float, pz: float, level: int, earth: bool) -> int:
    """The cell that a point is in."""
    face = face_of(px, py, pz) if earth else FLAT
    u, v = face_point(face, px, py, pz)
    return cell_key(face, level, cell_of(u, level), cell_of(v, level))


@njit
def find_cell(keys: Wholes, key: int) -> int:
    """Where a cell is; if it is not there, the complement of where it would go. Neighbours mostly lie together."""
    block = np.uint64(key) & ~np.uint64(0x18000003)
    h = block * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    near = (key & 3) | ((key >> 25) & 12)
    at = (int(h >> np.uint64(33)) << 4 | near) & (len(keys) - 1)
    while True:
        found = keys[at]
        if found == key:
            return at
        if found == -1:
            return ~at
        at = (at + 1) & (len(keys) - 1)


@njit
def around(
    keys: Wholes, runs: Smalls, px: float, py: float, pz: float, reach: float, level: int, earth: bool,
    cells: Smalls, n: int,
) -> int:  # fmt: skip
    """Add to ``cells`` all that may have a point within reach, if they are not among the first ``n`` already.

    Gives how many there are then. ``cells`` has room for every cell there is.
    """
    if not earth:
        reach += 1e-12 * (abs(px) + abs(py))
    if (earth and reach > _WIDE) or reach * PER_METRE[level - LOWEST] > _MANY:
        n = 0
        for at in range(len(keys)):
            if runs[at, 1] > 0:
                cells[n] = at
                n += 1
        return n
    known = n
    face = face_of(px, py, pz) if earth else FLAT
    west, south, east, north = spread(face, px, py, pz, reach)
    n = _add_cells(keys, runs, face, west, south, east, north, level, cells, known, n)
    if earth and max(-west, -south, east, north) >= _AWAY:
        for other in range(FLAT):
            if other != face:
                west, south, east, north = spread(other, px, py, pz, reach)
                n = _add_cells(keys, runs, other, west, south, east, north, level, cells, known, n)
    return n


@njit
def _add_cells(
    keys: Wholes, runs: Smalls, face: int, west: float, south: float, east: float, north: float, level: int,
    cells: Smalls, known: int, n: int,
) -> int:  # fmt: skip
    if west > east or south > north:
        return n
    for ix in range(cell_of(west, level), cell_of(east, level) + 1):
        for iy in range(cell_of(south, level), cell_of(north, level) + 1):
            at = find_cell(keys, cell_key(face, level, ix, iy))
            if at < 0 or runs[at, 1] == 0:
                continue
            new = True
            for k in range(known):
                new = new and cells[k] != at
            if new:
                cells[n] = at
                n += 1
    return n


# ---- points --------------------------------------------------------------------------------------------


@njit
def put(a: PointArrays, row: int, px: float, py: float, pz: float) -> bool:
    """Put a client that is nowhere to a place; it stays nowhere if there is no room."""
    wanted = cell_at(px, py, pz, a.meta[LEVEL], a.meta[EARTH] != 0)
    at = find_cell(a.key, wanted)
    if at < 0:
        if 2 * a.meta[CELLS] >= len(a.key):
            return False
        start = _take_run(a, 0)
        if start < 0:
            return False
        at = ~at
        a.key[at], a.runs[at, 0], a.runs[at, 1], a.room[at] = wanted, start, 0, 0
        a.meta[CELLS] += 1
    elif a.runs[at, 1] == 1 << a.room[at]:
        old, size, count = a.runs[at, 0], a.room[at], a.runs[at, 1]
        new = _take_run(a, size + 1)
        if new < 0:
            return False
        a.spot[new : new + count] = a.spot[old : old + count]
        a.spot[old, 0] = a.free[size]
        a.free[size] = old
        a.runs[at, 0], a.room[at] = new, size + 1
    k = a.runs[at, 0] + a.runs[at, 1]
    a.spot[k, 0], a.spot[k, 1], a.spot[k, 2], a.spot[k, 3] = px, py, pz, row
    a.runs[at, 1] += 1
    a.home[row] = wanted
    return True


@njit
def take_out(a: PointArrays, row: int) -> None:
    """Leave a client nowhere. The last point of its cell takes its place."""
    if a.home[row] == -1:
        return
    at = find_cell(a.key, a.home[row])
    k = a.runs[at, 0]
    while a.spot[k, 3] != row:
        k += 1
    a.runs[at, 1] -= 1
    last = a.runs[at, 0] + a.runs[at, 1]
    for i in range(4):
        a.spot[k, i] = a.spot[last, i]
    a.home[row] = -1


@njit
def _take_run(a: PointArrays, size: int) -> int:
    """Room for 2**size points; -1 if there is none."""
    start = a.free[size]
    if start >= 0:
        a.free[size] = int(a.spot[start, 0])
        return int(start)
    start = a.meta[USED]
    if start + (1 << size) > len(a.spot):
        return -1
    a.meta[USED] += 1 << size
    return int(start)


@njit
def _insert(a: PointArrays, points: Reals) -> bool:
    for i in range(len(points)):  # noqa: SIM110  # a generator is slow to compile
        if not put(a, int(points[i, 3]), points[i, 0], points[i, 1], points[i, 2]):
            return False
    return True


@njit
def _collect(a: PointArrays, points: Reals) -> None:
    n = 0
    for at in range(len(a.key)):
        for k in range(a.runs[at, 0], a.runs[at, 0] + a.runs[at, 1]):
            points[n] = a.spot[k]
            n += 1


@njit
def _neighbours(
    a: PointArrays, place: Reals, reach: float, cells: Smalls, at: Wholes, row: Wholes, squared: Reals
) -> int:
    keys, runs, spot = a.key, a.runs, a.spot
    level, earth = a.meta[LEVEL], a.meta[EARTH] != 0
    n = 0
    for i in range(len(place)):
        px, py, pz = place[i, 0], place[i, 1], place[i, 2]
        found = around(keys, runs, px, py, pz, reach, level, earth, cells, 0)
        for cell in cells[:found]:
            for k in range(runs[cell, 0], runs[cell, 0] + runs[cell, 1]):
                x, y, z = spot[k, 0] - px, spot[k, 1] - py, spot[k, 2] - pz
                chord = x * x + y * y + z * z
                if chord <= reach * reach:
                    if n < len(at):
                        at[n], row[n], squared[n] = i, int(spot[k, 3]), chord
                    n += 1
    return n
