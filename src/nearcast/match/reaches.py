"""How far each of many looks from where it is: whom a place concerns.

A reach is a ball. It is in the few cells that it touches of the level whose cells are about as wide as it is, so a
place looks into one cell of each level. A ball is made larger than what is asked of it, so that it stays where it is
while its owner moves about and its size changes a little.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.chains import CELL, HEAD, NEXT, attach, detach, find, new_links, new_table, renewed
from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.globe import FLAT, HIGHEST, LOWEST, PER_METRE, SPAN, cell_key, cell_of, face_of, face_point, spread

__all__ = ["EVERYWHERE", "ReachArrays", "Reaches", "concerned", "cover", "uncover"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

_NODES = 12
"""A ball may be in so many cells: four, on each of three faces."""
_WIDE = 5e5
"""Metres. What is larger counts as everywhere."""
_FULL = 0.9
"""A ball that would need a cell when the table is so full is everywhere, until the table is made anew."""
EVERYWHERE = math.inf
WIDES, LOW, HIGH, OVERFLOWN = 0, 1, 2, 3
"""In ``meta``: how many are everywhere, the lowest and the highest level ever used, and whether the table is full."""


class ReachArrays(NamedTuple):
    """What compiled loops see."""

    ball: Reals
    """Centre in space (3) and radius; the radius is not a number if there is no ball."""
    table: Wholes
    used: Wholes
    links: Wholes
    levels: Wholes
    """How many balls each level has."""
    wide: Wholes
    """Those that are everywhere, without gaps."""
    where: Wholes
    """By row, its index there, or -1."""
    meta: Wholes


class Reaches:
    """Balls by row. Rows are the caller's."""

    def __init__(self) -> None:
        self.arrays = ReachArrays(
            np.full((16, 4), np.nan), new_table(1024), np.zeros(1, np.int64), new_links(16 * _NODES),
            np.zeros(HIGHEST - LOWEST + 1, np.int64), np.zeros(16, np.int64), np.full(16, -1, np.int64),
            np.array([0, HIGHEST, LOWEST, 0], np.int64),
        )  # fmt: skip

    def reserve(self, rows: int) -> None:
        a = self.arrays
        if rows > len(a.ball):
            ball = grown(a.ball, rows, np.nan)
            n = len(ball)
            links, wide, where = grown(a.links, n * _NODES, -1), grown(a.wide, n), grown(a.where, n, -1)
            self.arrays = a._replace(ball=ball, links=links, wide=wide, where=where)

    def make_room(self) -> None:
        """Make the table anew; what was everywhere for want of room finds its place when it next turns."""
        table = renewed(self.arrays.table, self.arrays.used)
        self.arrays.meta[OVERFLOWN] = 0
        self.arrays = self.arrays._replace(table=table)

    def drop(self, row: int) -> None:
        a = self.arrays
        uncover(a.ball, a.table, a.links, a.levels, a.wide, a.where, a.meta, row)


@njit
def cover(
    ball: Reals, table: Wholes, used: Wholes, links: Wholes, levels: Wholes, wide: Wholes, where: Wholes,
    meta: Wholes, earth: bool, row: int, px: float, py: float, pz: float, radius: float,
) -> None:  # fmt: skip
    """Have a ball of at least this radius around a place, unless the one that is there will do."""
    x, y, z = px - ball[row, 0], py - ball[row, 1], pz - ball[row, 2]
    off = math.sqrt(x * x + y * y + z * z)
    if radius == EVERYWHERE:
        if ball[row, 3] == EVERYWHERE:
            return
    elif off + radius <= ball[row, 3] and ball[row, 3] <= 4 * radius + 1.0:  # not so if there is none
        return
    uncover(ball, table, links, levels, wide, where, meta, row)
    larger = 1.3 * radius + 1e-2
    reach = larger if earth else larger * (1 + 1e-12) + 1e-12 * (abs(px) + abs(py))
    ball[row, 0], ball[row, 1], ball[row, 2], ball[row, 3] = px, py, pz, larger
    level = _level_of(reach)
    if 2 * _NODES + used[0] > _FULL * len(table):
        meta[OVERFLOWN], level = 1, HIGHEST + 1
    while level <= HIGHEST and _cells(px, py, pz, reach, level, earth) > _NODES:
        level += 1
    if not reach <= _WIDE * (1 if earth else np.inf) or level > HIGHEST or _is_clipped(px, py, reach, level, earth):
        ball[row, 3] = EVERYWHERE
        wide[meta[WIDES]], where[row] = row, meta[WIDES]
        meta[WIDES] += 1
        return
    levels[level - LOWEST] += 1
    meta[LOW], meta[HIGH] = min(meta[LOW], level), max(meta[HIGH], level)
    node = row * _NODES
    for face in range(0 if earth else FLAT, FLAT if earth else FLAT + 1):
        west, south, east, north = spread(face, px, py, pz, reach)
        if west > east or south > north:
            continue
        for ix in range(cell_of(west, level), cell_of(east, level) + 1):
            for iy in range(cell_of(south, level), cell_of(north, level) + 1):
                attach(table, used, links, node, cell_key(face, level, ix, iy))
                node += 1


@njit
def _level_of(reach: float) -> int:
    """The level whose cells are about as wide as a ball."""
    if not reach < 1e17:
        return HIGHEST + 1
    return max(LOWEST, math.ceil(math.log2(2 * reach)))


@njit
def _is_clipped(px: float, py: float, reach: float, level: int, earth: bool) -> bool:
    """Whether a ball of a plane is so far out that cells cannot tell."""
    return not earth and not max(abs(px), abs(py)) + reach < SPAN / 2 / PER_METRE[level - LOWEST]


@njit
def _cells(px: float, py: float, pz: float, reach: float, level: int, earth: bool) -> int:
    n = 0
    for face in range(0 if earth else FLAT, FLAT if earth else FLAT + 1):
        west, south, east, north = spread(face, px, py, pz, reach)
        if west <= east and south <= north:
            wide = cell_of(east, level) - cell_of(west, level) + 1
            n += wide * (cell_of(north, level) - cell_of(south, level) + 1)
    return n


@njit
def uncover(
    ball: Reals, table: Wholes, links: Wholes, levels: Wholes, wide: Wholes, where: Wholes, meta: Wholes, row: int
) -> None:
    """Have no ball."""
    ball[row, 3] = np.nan
    if where[row] >= 0:
        meta[WIDES] -= 1
        last = wide[meta[WIDES]]
        wide[where[row]], where[last] = last, where[row]
        where[row] = -1
        return
    node = row * _NODES
    if links[node, CELL] != -1:
        levels[links[node, CELL] >> 57] -= 1
    while node < (row + 1) * _NODES and links[node, CELL] != -1:
        detach(table, links, node)
        node += 1


@njit
def concerned(
    ball: Reals, table: Wholes, links: Wholes, levels: Wholes, wide: Wholes, meta: Wholes, earth: bool, px: float,
    py: float, pz: float, seen: Wholes, stamp: int, out: Wholes, n: int,
) -> int:  # fmt: skip
    """Add those whose reach has a place, if they do not have the stamp yet; gives how many there are then."""
    for i in range(meta[WIDES]):
        if seen[wide[i]] != stamp:
            seen[wide[i]] = stamp
            out[n] = wide[i]
            n += 1
    face = face_of(px, py, pz) if earth else FLAT
    u, v = face_point(face, px, py, pz)
    for level in range(meta[LOW], meta[HIGH] + 1):
        if levels[level - LOWEST] == 0:
            continue
        at = find(table, cell_key(face, level, cell_of(u, level), cell_of(v, level)))
        node = table[at, HEAD] if at >= 0 else -1
        while node >= 0:
            row = node // _NODES
            if seen[row] != stamp:
                x, y, z, r = px - ball[row, 0], py - ball[row, 1], pz - ball[row, 2], ball[row, 3]
                if x * x + y * y + z * z <= r * r * (1 + 1e-9):
                    seen[row] = stamp
                    out[n] = row
                    n += 1
            node = links[node, NEXT]
    return n
