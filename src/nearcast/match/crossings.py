"""Fixes against the regions of a layer: which boundaries each fix crossed.

Whether a client is in a region depends on its position alone, so nothing is remembered: a fix is looked up where
the client was and where it is, and the difference is what happened. A fix that stays within its cells, as nearly
all do, asks both at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.areas import AreaArrays, areas_at
from nearcast.match.compiled import njit
from nearcast.match.discs import DiscArrays, anchor, exact_side, find_cell, side_of, slack_of
from nearcast.match.globe import FLAT, IN, LOWEST, OUT, UNSURE, cell_key, cell_of, face_of, face_point
from nearcast.match.moves import Moves
from nearcast.match.regions import NO_HEIGHTS, Heights, Regions, fits

__all__ = ["Crossings", "crossings", "inside"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.int8]

_MANY = 20_000
"""From so many regions on, a batch is visited in the order of cells: they no longer fit into the processor's cache."""


class Crossings(NamedTuple):
    move: Wholes
    region: Wholes
    entered: npt.NDArray[np.bool_]
    """Or left."""


def crossings(regions: Regions, moves: Moves) -> Crossings:
    """Which regions the moves entered or left, exactly; in the order of the moves."""
    visit = _by_cell(moves) if len(regions) > _MANY and len(moves) > 1000 else np.arange(len(moves))
    move, region, was, now = _emitted(regions, visit, moves.there, moves.here)
    for state, position in ((was, moves.there), (now, moves.here)):
        unsure = np.flatnonzero(state == UNSURE)
        at = move[unsure]
        state[unsure] = regions.resolve(region[unsure], position[at, 0], position[at, 1])
    turned = np.flatnonzero(was != now)
    return Crossings(move[turned], region[turned], now[turned] == IN)


def inside(regions: Regions, here: Reals, any_height: bool = False) -> tuple[Wholes, Wholes]:
    """Which regions hold each of many positions: the index of the position, and the region's row."""
    nowhere = np.full_like(here, np.nan)
    move, region, _, now = _emitted(regions, np.arange(len(here)), nowhere, here, any_height)
    unsure = np.flatnonzero(now == UNSURE)
    at = move[unsure]
    now[unsure] = regions.resolve(region[unsure], here[at, 0], here[at, 1])
    held = now == IN
    return move[held], region[held]


def _emitted(
    regions: Regions, visit: Wholes, there: Reals, here: Reals, any_height: bool = False
) -> tuple[Wholes, Wholes, Flags, Flags]:
    """What may have turned: the move, the region, and on which side it was and is."""
    parts = []
    done, room = 0, 4 * len(visit) + 64
    earth, heights = regions.earth, NO_HEIGHTS if any_height else regions.heights
    buffers = np.empty(64, np.int32), np.empty(64, np.int8), np.empty(64, np.int32), np.empty(64, np.int8)
    while done < len(visit):
        move, region = np.empty(room, np.int64), np.empty(room, np.int64)
        was, now = np.empty(room, np.int8), np.empty(room, np.int8)
        last = done
        done, n, needed = _run(
            visit, done, there, here, regions.discs.arrays, regions.areas.arrays, heights, earth,
            *buffers, move, region, was, now,
        )  # fmt: skip
        parts.append((move[:n], region[:n], was[:n], now[:n]))
        if needed > len(buffers[0]):
            buffers = tuple(np.empty(2 * needed, b.dtype) for b in buffers)  # type: ignore[assignment]
        elif done == last:
            room *= 4
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True)) if parts else _NOTHING  # type: ignore[return-value]


_NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.int8))


def _by_cell(moves: Moves) -> Wholes:
    """An order in which neighbours come together."""
    keys = np.empty(len(moves), np.int64)
    _cell_keys(moves.here, keys)
    return np.argsort(keys)


@njit
def _cell_keys(here: Reals, keys: Wholes) -> None:
    for i in range(len(keys)):
        px, py, pz = here[i, 2], here[i, 3], here[i, 4]
        if np.isnan(px):
            keys[i] = 0
            continue
        face = face_of(px, py, pz)
        u, v = face_point(face, px, py, pz)
        keys[i] = cell_key(face, 11, cell_of(u, 11), cell_of(v, 11))


@njit
def _run(
    visit: Wholes, start: int, there: Reals, here: Reals, discs: DiscArrays, areas: AreaArrays, heights: Heights,
    earth: bool, new_row: npt.NDArray[np.int32], new_sure: Flags, old_row: npt.NDArray[np.int32], old_sure: Flags,
    move: Wholes, region: Wholes, was: Flags, now: Flags,
) -> tuple[int, int, int]:  # fmt: skip
    """Visit moves from ``start`` on, until the outputs are full. Gives how far it got, how much it wrote, and the size
    of the buffers for areas if they were too small."""
    n = 0
    for i in range(start, len(visit)):
        m = visit[i]
        before = n
        n = _discs_run(discs, earth, m, there, here, move, region, was, now, n)
        if n >= 0:
            n, needed = _areas_run(
                areas, m, there, here, new_row, new_sure, old_row, old_sure, move, region, was, now, n
            )
            if needed > 0:
                return i, before, needed
        if n < 0:
            return i, before, 0
        n = _at_height(heights, there, here, move, region, was, now, before, n)
    return len(visit), n, 0


@njit
def _at_height(
    heights: Heights, there: Reals, here: Reals, move: Wholes, region: Wholes, was: Flags, now: Flags, start: int,
    end: int,
) -> int:  # fmt: skip
    """Take out of a move's events what is not at the region's height, and what did not turn after all."""
    n = start
    for k in range(start, end):
        m, r = move[k], region[k]
        if len(heights.asked) and (heights.asked[r, 0] or heights.asked[r, 1]):
            if not fits(heights, r, there[m, 5], there[m, 6]):
                was[k] = OUT
            if not fits(heights, r, here[m, 5], here[m, 6]):
                now[k] = OUT
        if was[k] != now[k] or now[k] == UNSURE:
            move[n], region[n], was[n], now[n] = m, r, was[k], now[k]
            n += 1
    return n


@njit
def _discs_run(
    a: DiscArrays, earth: bool, m: int, there: Reals, here: Reals, move: Wholes, region: Wholes, was: Flags, now: Flags,
    n: int,
) -> int:  # fmt: skip
    """Add what one move may have turned among the discs; -1 if there is no room for it."""
    px, py, pz = here[m, 2], here[m, 3], here[m, 4]
    qx, qy, qz = there[m, 2], there[m, 3], there[m, 4]
    is_here, was_there = not np.isnan(px), not np.isnan(qx)
    face = old_face = FLAT
    if earth:
        face = face_of(px, py, pz) if is_here else 0
        old_face = face_of(qx, qy, qz) if was_there else 0
    u, v = face_point(face, px, py, pz)
    old_u, old_v = face_point(old_face, qx, qy, qz)
    for k in range(len(a.levels)):
        if a.levels[k] == 0:
            continue
        level = k + LOWEST
        key = old_key = -1
        if is_here:
            ix, iy = cell_of(u, level), cell_of(v, level)
            key = cell_key(face, level, ix, iy)
        if was_there:
            old_ix, old_iy = cell_of(old_u, level), cell_of(old_v, level)
            old_key = cell_key(old_face, level, old_ix, old_iy)
        if key >= 0:
            at = find_cell(a, key)
            if at >= 0:
                if n + a.counts[at] > len(move):
                    return -1
                n = _cell_run(
                    a, at, face, level, ix, iy, m, px, py, pz, qx, qy, qz, key == old_key, move, region, was, now, n
                )
        if old_key >= 0 and old_key != key:
            at = find_cell(a, old_key)
            if at >= 0:
                if n + a.counts[at] > len(move):
                    return -1
                n = _cell_left(
                    a, at, old_face, level, old_ix, old_iy, m, px, py, pz, qx, qy, qz, move, region, was, now, n
                )
    if n + len(a.wide) > len(move):
        return -1
    for row in a.wide:
        old = exact_side(a, row, qx, qy, qz) if was_there else OUT
        new = exact_side(a, row, px, py, pz) if is_here else OUT
        if old != new or new == UNSURE:
            move[n], region[n], was[n], now[n] = m, row, old, new
            n += 1
    return n


@njit
def _cell_run(
    a: DiscArrays, at: int, face: int, level: int, ix: int, iy: int, m: int, px: float, py: float, pz: float,
    qx: float, qy: float, qz: float, same: bool, move: Wholes, region: Wholes, was: Flags, now: Flags, n: int,
) -> int:  # fmt: skip
    """The discs of the cell where the client is: those it entered and, if it was in the same cell, those it left."""
    ax, ay, az = anchor(face, level, ix, iy)
    slack = slack_of(level, face)
    dx, dy, dz = px - ax, py - ay, pz - az
    ex, ey, ez = qx - ax, qy - ay, qz - az
    had = not np.isnan(qx)
    for slot in range(a.start[at], a.start[at] + a.counts[at]):
        new = side_of(a, slot, dx, dy, dz, slack)
        if new == OUT and not same:
            continue
        old = side_of(a, slot, ex, ey, ez, slack) if had else OUT
        if old == new and new != UNSURE:
            continue
        row = a.whole[slot, 4]
        if new == UNSURE:
            new = exact_side(a, row, px, py, pz)
        if old == UNSURE:
            old = exact_side(a, row, qx, qy, qz)
        if (old != new or new == UNSURE) and (same or new != OUT):
            move[n], region[n], was[n], now[n] = m, row, old, new
            n += 1
    return n


@njit
def _cell_left(
    a: DiscArrays, at: int, face: int, level: int, ix: int, iy: int, m: int, px: float, py: float, pz: float,
    qx: float, qy: float, qz: float, move: Wholes, region: Wholes, was: Flags, now: Flags, n: int,
) -> int:  # fmt: skip
    """The discs of the cell where the client was and is no more: those it left. Any other is found where it is."""
    ax, ay, az = anchor(face, level, ix, iy)
    slack = slack_of(level, face)
    ex, ey, ez = qx - ax, qy - ay, qz - az
    for slot in range(a.start[at], a.start[at] + a.counts[at]):
        old = side_of(a, slot, ex, ey, ez, slack)
        if old == OUT:
            continue
        row = a.whole[slot, 4]
        if old == UNSURE:
            old = exact_side(a, row, qx, qy, qz)
        new = exact_side(a, row, px, py, pz) if not np.isnan(px) else OUT
        if old != OUT and new == OUT:
            move[n], region[n], was[n], now[n] = m, row, old, new
            n += 1
    return n


@njit
def _areas_run(
    areas: AreaArrays, m: int, there: Reals, here: Reals, new_row: npt.NDArray[np.int32], new_sure: Flags,
    old_row: npt.NDArray[np.int32], old_sure: Flags, move: Wholes, region: Wholes, was: Flags, now: Flags, n: int,
) -> tuple[int, int]:  # fmt: skip
    """The same among boxes and polygons."""
    news = olds = 0
    if not np.isnan(here[m, 0]):
        news = areas_at(areas, here[m, 0], here[m, 1], new_row, new_sure)
    if not np.isnan(there[m, 0]):
        olds = areas_at(areas, there[m, 0], there[m, 1], old_row, old_sure)
    if news < 0 or olds < 0:
        return n, 2 * len(new_row)
    if n + news + olds > len(move):
        return -1, 0
    for k in range(news):
        old = OUT
        for j in range(olds):
            if old_row[j] == new_row[k]:
                old = IN if old_sure[j] else UNSURE
                old_row[j] = -1
        move[n], region[n], was[n], now[n] = m, new_row[k], old, IN if new_sure[k] else UNSURE
        n += 1
    for j in range(olds):
        if old_row[j] >= 0:
            move[n], region[n], was[n], now[n] = m, old_row[j], IN if old_sure[j] else UNSURE, OUT
            n += 1
    return n, 0
