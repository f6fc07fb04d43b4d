"""Moves against moving points: who came within a distance of whom, and who went.

Every move is looked up among the points as they are at that moment, once for where the client was and where it is,
and then made; so it does not matter how often either of two clients moves in one run. What straight lines cannot
decide (`globe.band`) is measured afterwards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.clients import ClientColumns
from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.globe import band
from nearcast.match.moves import Moves
from nearcast.match.points import EARTH, LEVEL, PointArrays, PointGrid, around, cell_at, find_cell, put, take_out
from nearcast.match.regions import lengths

__all__ = ["Distances", "Meetings", "Reaches", "are_within", "meetings"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.int8]

OUT, UNSURE, IN = 0, 1, 2
"""How many of the two bounds of a distance hold."""
_DONE, _FULL, _CROWDED = 0, 1, 2
_LEAST = 1e-100
"""The square of a lesser number may be nothing; what is so near is measured."""


class Distances:
    """Distances by row, with the square chords up to which a point is certainly within, and beyond which it is not."""

    def __init__(self) -> None:
        self.metres, self.inner, self.outer = np.zeros(16), np.zeros(16), np.zeros(16)

    def put(self, row: int, metres: float, earth: bool) -> float:
        """Note a distance; gives how far it reaches."""
        self.metres, self.inner = grown(self.metres, row + 1), grown(self.inner, row + 1)
        self.outer = grown(self.outer, row + 1)
        inner, outer = band(metres, earth)
        outer = max(outer, _LEAST)
        self.metres[row], self.outer[row] = metres, outer * outer
        self.inner[row] = inner * inner if inner > _LEAST else -1.0
        return outer


class Reaches(NamedTuple):
    """What is asked of points: some distances between any two, and others around certain clients."""

    far: float
    """Nothing reaches further."""
    mutual: Distances
    mutuals: int
    """So many of the mutual distances count."""
    own: Distances
    """Around clients, by the row of the subscription."""
    first: Wholes
    """By client, its first subscription here, or -1."""
    next: Wholes
    """The next of the same client."""
    published: Wholes
    """By client, its first publication, or -1: only who publishes is found by others."""


class Meetings(NamedTuple):
    move: Wholes
    other: Wholes
    """The client that did not move."""
    what: Wholes
    """Which of the mutual distances; or the complement of a subscription's row."""
    entered: npt.NDArray[np.bool_]
    """Or left."""


def meetings(grid: PointGrid, reaches: Reaches, moves: Moves, columns: ClientColumns) -> Meetings:
    """Make the moves, and give what came within a distance or left it, exactly; in the order of the moves."""
    grid.reserve(columns.capacity)
    parts, done, room = [], 0, 2 * len(moves) + 256
    cells = np.empty(len(grid.arrays.key), np.int32)
    r = reaches
    while True:
        move, other, what = (np.empty(room, np.int64) for _ in range(3))
        was, now = np.empty(room, np.int8), np.empty(room, np.int8)
        last = done
        done, n, ended = _run(
            grid.arrays, done, moves.row, moves.there, moves.here, r.far, r.mutuals, r.mutual.inner, r.mutual.outer,
            r.first, r.next, r.own.inner, r.own.outer, r.published, cells, move, other, what, was, now,
        )  # fmt: skip
        parts.append((move[:n], other[:n], what[:n], was[:n], now[:n]))
        if ended == _DONE:
            break
        if ended == _CROWDED:
            grid.make_room()
            cells = np.empty(len(grid.arrays.key), np.int32)
        elif done == last:
            room *= 4
    move, other, what, was, now = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    _measure(grid.earth, reaches, moves, columns, (move, other, what), was, now)
    turned = np.flatnonzero(was != now)
    return Meetings(move[turned], other[turned], what[turned], now[turned] == IN)


def are_within(
    reach: Distances, rows: Wholes, squared: Reals, first: tuple[Reals, Reals], second: tuple[Reals, Reals], earth: bool
) -> npt.NDArray[np.bool_]:
    """Whether points are within the distances of some rows, by their chords and, where these do not say, measured."""
    within = squared <= reach.inner[rows]
    k = np.flatnonzero(~within & (squared <= reach.outer[rows]))
    away = lengths(first[0][k], first[1][k], second[0][k], second[1][k], earth)
    within[k] = reach.metres[rows[k]] - away >= 0
    return within


def _measure(
    earth: bool, reaches: Reaches, moves: Moves, columns: ClientColumns, found: tuple[Wholes, Wholes, Wholes],
    was: Flags, now: Flags,
) -> None:  # fmt: skip
    """Decide what is unsure."""
    unsure = np.flatnonzero((was == UNSURE) | (now == UNSURE))
    if not len(unsure):
        return
    move, other, what = (column[unsure] for column in found)
    own = what < 0
    metres = np.where(own, reaches.own.metres[np.where(own, ~what, 0)], reaches.mutual.metres[np.where(own, 0, what)])
    x, y = _standing(moves, columns, other, move)
    for state, position in ((was, moves.there), (now, moves.here)):
        k = np.flatnonzero(state[unsure] == UNSURE)
        away = lengths(position[move[k], 0], position[move[k], 1], x[k], y[k], earth)
        state[unsure[k]] = np.where(metres[k] - away >= 0, IN, OUT)


def _standing(moves: Moves, columns: ClientColumns, rows: Wholes, at: Wholes) -> tuple[Reals, Reals]:
    """Where some clients were during the moves ``at`` of others."""
    x, y = columns.x[rows], columns.y[rows]
    ran = np.flatnonzero(np.isin(moves.row, rows))
    for k in range(len(rows)) if len(ran) else ():
        own = ran[moves.row[ran] == rows[k]]
        if len(own):
            after = int(np.searchsorted(own, at[k]))
            place = moves.here[own[after - 1]] if after else moves.there[own[0]]
            x[k], y[k] = place[0], place[1]
    return x, y


@njit
def _run(
    a: PointArrays, begin: int, mover: Wholes, there: Reals, here: Reals, far: float, mutual: int, inner: Reals,
    outer: Reals, first: Wholes, following: Wholes, own_inner: Reals, own_outer: Reals, published: Wholes,
    cells: npt.NDArray[np.int32], move: Wholes, other: Wholes, what: Wholes, was: Flags, now: Flags,
) -> tuple[int, int, int]:  # fmt: skip
    """Make moves from ``begin`` on. Gives how far it got, how much it wrote, and why it ended."""
    keys, runs, spot, home = a.key, a.runs, a.spot, a.home
    level, earth = a.meta[LEVEL], a.meta[EARTH] != 0
    room, owners, publishers, limit = len(move), len(first), len(published), far * far
    simple, inner0, outer0 = mutual == 1 and owners == 0, inner[0], outer[0]
    n = 0
    for m in range(begin, len(mover)):
        row, written = mover[m], n
        px, py, pz = here[m, 2], here[m, 3], here[m, 4]
        qx, qy, qz = there[m, 2], there[m, 3], there[m, 4]
        found = _look(keys, runs, level, earth, far, px, py, pz, qx, qy, qz, cells)
        mine = first[row] if row < owners else -1
        is_open = row < publishers and published[row] >= 0
        for c in range(found):
            cell = cells[c]
            for k in range(runs[cell, 0], runs[cell, 0] + runs[cell, 1]):
                x, y, z = spot[k, 0] - px, spot[k, 1] - py, spot[k, 2] - pz
                new = x * x + y * y + z * z
                x, y, z = spot[k, 0] - qx, spot[k, 1] - qy, spot[k, 2] - qz
                old = x * x + y * y + z * z
                if simple:  # one distance between any two, which hardly ever turns
                    same = (old <= inner0) == (new <= inner0) and (old <= outer0) == (new <= outer0)
                    if same and not inner0 < old <= outer0:
                        continue
                elif not (old <= limit or new <= limit):
                    continue
                j = int(spot[k, 3])
                if j == row:
                    continue
                for d in range(mutual):
                    prior, after = _state(old, inner[d], outer[d]), _state(new, inner[d], outer[d])
                    if prior != after or prior == UNSURE:
                        if n == room:
                            return m, written, _FULL
                        move[n], other[n], what[n], was[n], now[n] = m, j, d, prior, after
                        n += 1
                s = mine if j < publishers and published[j] >= 0 else -1
                theirs = first[j] if is_open and j < owners else -1
                while s >= 0 or theirs >= 0:
                    if s < 0:
                        s, theirs = theirs, -1
                    prior, after = _state(old, own_inner[s], own_outer[s]), _state(new, own_inner[s], own_outer[s])
                    if prior != after or prior == UNSURE:
                        if n == room:
                            return m, written, _FULL
                        move[n], other[n], what[n], was[n], now[n] = m, j, ~s, prior, after
                        n += 1
                    s = following[s]
        wanted = -1 if math.isnan(px) else cell_at(px, py, pz, level, earth)
        if wanted != home[row]:
            if not _change_cells(a, row, px, py, pz, qx, qy, qz):
                return m, written, _CROWDED
        elif wanted >= 0:
            _shift(keys, runs, spot, wanted, row, px, py, pz)
    return len(mover), n, _DONE


@njit
def _state(squared: float, inner: float, outer: float) -> int:
    return int(squared <= inner) + int(squared <= outer)


@njit
def _shift(
    keys: Wholes, runs: npt.NDArray[np.int32], spot: Reals, cell: int, row: int, px: float, py: float, pz: float
) -> None:  # fmt: skip
    """Move a client within its cell."""
    k = runs[find_cell(keys, cell), 0]
    while spot[k, 3] != row:
        k += 1
    spot[k, 0], spot[k, 1], spot[k, 2] = px, py, pz


@njit
def _change_cells(
    a: PointArrays, row: int, px: float, py: float, pz: float, qx: float, qy: float, qz: float
) -> bool:  # fmt: skip
    """Move a client to another cell; if there is no room it stays where it was, where there is."""
    take_out(a, row)
    if math.isnan(px) or put(a, row, px, py, pz):
        return True
    if not math.isnan(qx):
        put(a, row, qx, qy, qz)
    return False


@njit
def _look(
    keys: Wholes, runs: npt.NDArray[np.int32], level: int, earth: bool, far: float, px: float, py: float, pz: float,
    qx: float, qy: float, qz: float, cells: npt.NDArray[np.int32],
) -> int:  # fmt: skip
    """The cells around where a client was and is: once, if these are near each other, as they mostly are."""
    if math.isnan(px):
        return 0 if math.isnan(qx) else around(keys, runs, qx, qy, qz, far, level, earth, cells, 0)
    if math.isnan(qx):
        return around(keys, runs, px, py, pz, far, level, earth, cells, 0)
    step = math.sqrt((px - qx) * (px - qx) + (py - qy) * (py - qy) + (pz - qz) * (pz - qz))
    if step <= far:
        return around(keys, runs, px, py, pz, far + step * (1 + 1e-9), level, earth, cells, 0)
    n = around(keys, runs, px, py, pz, far, level, earth, cells, 0)
    return around(keys, runs, qx, qy, qz, far, level, earth, cells, n)
