"""A crowd of points that move, at several scales: who is within any distance of a place.

Each point is in a square cell of each scale. The finest cells have a few points each where most points are, and each
scale is four times as wide as the one below, so that a look around finds cells of about the width that it asks for,
in a city as in the desert.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.chains import CELL, HEAD, NEXT, attach, detach, find, new_links, new_table, renewed
from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.globe import FLAT, HIGHEST, LOWEST, PER_METRE, A, cell_key, cell_of, face_of, face_point, spread

__all__ = ["COUNT", "Crowd", "CrowdArrays", "finest_cell", "is_crowded", "put", "within"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

COUNT, FINEST, SCALES = 0, 1, 2
"""In ``meta``: how many points there are, the level of the finest cells, and the number of scales."""
_CROWD = 4.0
"""With so many, counted by each of them, a point may share a cell of the finest."""
_MOST_SCALES = 6
_WIDE = 1e6
"""Metres. Beyond, `globe.spread` has no bound, and everyone is looked at."""
_AWAY = A * (1 - 1e-9)
"""What stays within so many metres of the middle of a face is seen through no other."""


class CrowdArrays(NamedTuple):
    """What compiled loops see of a crowd."""

    spot: Reals
    """By client: x, y, and the point in space; also of those that are not in the crowd."""
    table: Wholes
    used: Wholes
    links: Wholes
    """A node for each scale of each client."""
    dense: Wholes
    """Those that are in the crowd, without gaps."""
    where: Wholes
    """By client, its index there, or -1."""
    meta: Wholes


class Crowd:
    def __init__(self, earth: bool, spots: Reals, rows: Wholes) -> None:
        self.earth = earth
        self._moves = self._built = 0
        self._shared = _CROWD
        self.arrays = self._made(spots, rows)

    def reserve(self, clients: int) -> None:
        """Make room for so many clients."""
        a = self.arrays
        if clients <= len(a.spot):
            return
        spot, where = grown(a.spot, clients, np.nan), grown(a.where, clients, -1)
        links = grown(a.links, len(spot) * int(a.meta[SCALES]), -1)
        dense = grown(a.dense, len(spot))
        self.arrays = a._replace(spot=spot, where=where, links=links, dense=dense)

    def tend(self, moves: int) -> None:
        """Before so many moves: measure the cells again if the points had time to gather or scatter."""
        a = self.arrays
        n, built = int(a.meta[COUNT]), self._built
        self._moves += moves
        if n > 2 * built + 64 or n < built // 4 or self._moves > 16 * n + 1000:
            self._moves = 0
            rows = a.dense[:n].copy()
            if not built // 2 <= n <= 2 * built or self._sharing(a.spot, rows, int(a.meta[FINEST])) > 4 * self._shared:
                self.arrays = self._made(a.spot, rows)

    def make_room(self) -> None:
        self.arrays = self.arrays._replace(table=renewed(self.arrays.table, self.arrays.used))

    def put(self, row: int, position: Reals, there: bool) -> None:
        """Note where a client is, and whether it is in the crowd."""
        a = self.arrays
        a.spot[row] = position
        if is_crowded(a.table, a.used):
            self.make_room()
            a = self.arrays
        put(a.spot, a.table, a.used, a.links, a.dense, a.where, a.meta, self.earth, row, there)

    def _made(self, spots: Reals, rows: Wholes) -> CrowdArrays:
        """The finest cells are the widest that are not crowded."""
        low, high = LOWEST, HIGHEST
        while low < high:
            middle = (low + high + 1) // 2
            if self._sharing(spots, rows, middle) <= _CROWD:
                low = middle
            else:
                high = middle - 1
        scales = 1
        while (
            scales < _MOST_SCALES and low + 2 * scales <= HIGHEST and self._cells(spots, rows, low + 2 * scales - 2) > 8
        ):
            scales += 1
        n = len(spots)
        slots = 1 << max(10, (4 * scales * len(rows)).bit_length())
        self._built, self._shared = len(rows), max(_CROWD, self._sharing(spots, rows, low))
        made = CrowdArrays(
            spots, new_table(slots), np.zeros(1, np.int64), new_links(n * scales), np.zeros(n, np.int64),
            np.full(n, -1, np.int64), np.array([0, low, scales], np.int64),
        )  # fmt: skip
        _fill(*made, self.earth, rows)
        return made

    def _sharing(self, spots: Reals, rows: Wholes, level: int) -> float:
        """How many points are in a cell, as one of them sees it."""
        counts = np.unique(self._keys(spots, rows, level), return_counts=True)[1].astype(np.float64)
        return float((counts * counts).sum() / max(1, len(rows)))

    def _cells(self, spots: Reals, rows: Wholes, level: int) -> int:
        return len(np.unique(self._keys(spots, rows, level)))

    def _keys(self, spots: Reals, rows: Wholes, level: int) -> Wholes:
        keys = np.empty(len(rows), np.int64)
        _cell_keys(spots, rows, level, self.earth, keys)
        return keys


@njit
def is_crowded(table: Wholes, used: Wholes) -> bool:
    """Whether the table needs to be made anew before anything moves."""
    return bool(10 * (used[0] + 2 * _MOST_SCALES) >= 7 * len(table))


@njit
def _cell_keys(spot: Reals, rows: Wholes, level: int, earth: bool, keys: Wholes) -> None:
    for i in range(len(rows)):
        px, py, pz = spot[rows[i], 2], spot[rows[i], 3], spot[rows[i], 4]
        face = face_of(px, py, pz) if earth else FLAT
        u, v = face_point(face, px, py, pz)
        keys[i] = cell_key(face, level, cell_of(u, level), cell_of(v, level))


@njit
def _fill(
    spot: Reals, table: Wholes, used: Wholes, links: Wholes, dense: Wholes, where: Wholes, meta: Wholes, earth: bool,
    rows: Wholes,
) -> None:  # fmt: skip
    for row in rows:
        put(spot, table, used, links, dense, where, meta, earth, row, True)


@njit
def put(
    spot: Reals, table: Wholes, used: Wholes, links: Wholes, dense: Wholes, where: Wholes, meta: Wholes, earth: bool,
    row: int, there: bool,
) -> None:  # fmt: skip
    """Have a client in the crowd where its spot is, or not at all."""
    if not there and where[row] < 0:
        return
    scales, finest = meta[SCALES], meta[FINEST]
    face, u, v = FLAT, 0.0, 0.0
    if there:
        px, py, pz = spot[row, 2], spot[row, 3], spot[row, 4]
        face = face_of(px, py, pz) if earth else FLAT
        u, v = face_point(face, px, py, pz)
        if where[row] < 0:
            dense[meta[COUNT]], where[row] = row, meta[COUNT]
            meta[COUNT] += 1
    else:
        meta[COUNT] -= 1
        last = dense[meta[COUNT]]
        dense[where[row]], where[last] = last, where[row]
        where[row] = -1
    for scale in range(scales):
        level, node, key = finest + 2 * scale, row * scales + scale, -1
        if there:
            key = cell_key(face, level, cell_of(u, level), cell_of(v, level))
        if links[node, CELL] != key:
            if links[node, CELL] != -1:
                detach(table, links, node)
            if key != -1:
                attach(table, used, links, node, key)


@njit
def finest_cell(meta: Wholes) -> float:
    """How wide the finest cells are."""
    return float(1.0 / PER_METRE[meta[FINEST] - LOWEST])


@njit
def within(
    spot: Reals, table: Wholes, links: Wholes, dense: Wholes, meta: Wholes, earth: bool, px: float, py: float,
    pz: float, reach: float, but: int, chord: Reals, row: Wholes,
) -> int:  # fmt: skip
    """All that are within a chord of a place, but for one client. Gives how many; ``row`` has room for everyone."""
    scales, everyone = meta[SCALES], meta[COUNT]
    width, scale = finest_cell(meta), 0
    while scale + 1 < scales and 4 * width <= 1.5 * reach:
        width, scale = 4 * width, scale + 1
    level = meta[FINEST] + 2 * scale
    box = reach if earth else reach + 1e-12 * (abs(px) + abs(py))
    face = face_of(px, py, pz) if earth else FLAT
    if (earth and box > _WIDE) or not (2 * box / width + 2) ** 2 < everyone:
        n = 0
        for i in range(everyone):
            n = _look(spot, dense[i], px, py, pz, reach, but, chord, row, n)
        return n
    west, south, east, north = spread(face, px, py, pz, box)
    n = _look_in(
        spot, table, links, scales, face, level, west, south, east, north, px, py, pz, reach, but, chord, row, 0
    )
    if earth and max(-west, -south, east, north) >= _AWAY:
        for other in range(FLAT):
            if other != face:
                west, south, east, north = spread(other, px, py, pz, box)
                n = _look_in(
                    spot, table, links, scales, other, level, west, south, east, north, px, py, pz, reach, but,
                    chord, row, n,
                )  # fmt: skip
    return n


@njit
def _look_in(
    spot: Reals, table: Wholes, links: Wholes, scales: int, face: int, level: int, west: float,
    south: float, east: float, north: float, px: float, py: float, pz: float, reach: float, but: int, chord: Reals,
    row: Wholes, n: int,
) -> int:  # fmt: skip
    if west > east or south > north:
        return n
    low, high = cell_of(south, level), cell_of(north, level)
    for ix in range(cell_of(west, level), cell_of(east, level) + 1):
        for iy in range(low, high + 1):
            at = find(table, cell_key(face, level, ix, iy))
            node = table[at, HEAD] if at >= 0 else -1
            while node >= 0:
                n = _look(spot, node // scales, px, py, pz, reach, but, chord, row, n)
                node = links[node, NEXT]
    return n


@njit
def _look(
    spot: Reals, who: int, px: float, py: float, pz: float, reach: float, but: int, chord: Reals, row: Wholes, n: int
) -> int:
    x, y, z = spot[who, 2] - px, spot[who, 3] - py, spot[who, 4] - pz
    away = math.sqrt(x * x + y * y + z * z)
    if away <= reach and who != but:
        chord[n], row[n] = away, who
        n += 1
    return n
