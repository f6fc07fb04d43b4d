"""Moves against discs: the innermost loop of all, which decides nearly every move.

A move is short beside a disc. So one distance, from where the client is, mostly tells about both ends: whoever is
further from the circle than the move is long was on the same side before. Only near the circle is the other end
looked at, and only within millimetres of it the exact coordinates.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import inlined, njit
from nearcast.match.discs import (
    CUBED,
    DiscArrays,
    anchor_of,
    count_of,
    exact_side,
    find_cell,
    room_of,
    slack_of,
    slot_of,
)
from nearcast.match.globe import FLAT, IN, LOWEST, OUT, UNSURE, cell_key, cell_of, face_of, face_point

__all__ = ["disc_moves"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.int8]
Place = tuple[float, float, float]

_AT_ONCE = 64
"""Moves whose cells are looked for together, and discs of a cell that are compared together."""
_LARGE = 1 << 15
"""Cells; with fewer, all of the index is near the processor anyway."""
_AS_NEW = -2
"""In place of an old cell: it is the new one."""
_SAME, _NEW, _OLD = 0, 1, 2
"""The cell that is looked into: of both ends of a move, or only of where the client is, or was."""


@njit
def disc_moves(
    order: Wholes, start: int, there: Reals, here: Reals, discs: DiscArrays, earth: bool, tall: bool, move: Wholes,
    region: Wholes, was: Flags, now: Flags,
) -> tuple[int, int]:  # fmt: skip
    """Look at moves in an order, from ``start`` on, until there is no room; gives how far it got and how much it wrote.

    Written is what turned, and what may have: the move, the disc, on which side the client was and is. If there are
    ``tall`` regions, that is also what the client stayed in while its height changed.
    """
    # Each array is taken out of the index once, for every taking counts a reference.
    keys, runs, whole, short = discs.key, discs.run, discs.whole, discs.short
    xs, ys, radii, wide = discs.x, discs.y, discs.radius, discs.wide
    levels, mask, near = _levels_of(discs), np.empty(_AT_ONCE, np.bool_), np.empty(_AT_ONCE, np.int64)
    cells, ends = np.empty((_AT_ONCE, len(levels), 2), np.int64), np.empty((_AT_ONCE, 2, 3))
    n, spare = 0, np.zeros(1, np.int64)
    for first in range(start, len(order), _AT_ONCE):
        last = min(first + _AT_ONCE, len(order))
        _gather(order[first:last], there, here, ends)
        _cell_keys(levels, earth, ends[: last - first], cells)
        _find_cells(keys, runs, whole, cells[: last - first], spare)
        for i in range(first, last):
            m, before, k = order[i], n, i - first
            p, q = (ends[k, 0, 0], ends[k, 0, 1], ends[k, 0, 2]), (ends[k, 1, 0], ends[k, 1, 1], ends[k, 1, 2])
            is_here, was_there = not np.isnan(p[0]), not np.isnan(q[0])
            rises = tall and (_differ(here[m, 5], there[m, 5]) or _differ(here[m, 6], there[m, 6]))
            length = math.sqrt(_squared(p, q)) * (1 + 1e-9) if is_here and was_there and not rises else math.inf
            for j in range(len(levels)):
                at, old_at = cells[k, j, 0], cells[k, j, 1]
                if at >= 0:
                    if n + count_of(runs, at) > len(move):
                        return i, before
                    n = _look(
                        keys, runs, short, whole, xs, ys, radii, earth, at, p, q, length,
                        _SAME if old_at == _AS_NEW else _NEW, rises, mask, near, m, move, region, was, now, n,
                    )  # fmt: skip
                if old_at >= 0:
                    if n + count_of(runs, old_at) > len(move):
                        return i, before
                    n = _look(
                        keys, runs, short, whole, xs, ys, radii, earth, old_at, p, q, length, _OLD, False, mask, near,
                        m, move, region, was, now, n,
                    )  # fmt: skip
            if n + len(wide) > len(move):
                return i, before
            for row in wide:
                old = exact_side(xs[row], ys[row], radii[row], earth, q) if was_there else OUT
                new = exact_side(xs[row], ys[row], radii[row], earth, p) if is_here else OUT
                if old != new or new == UNSURE or rises:
                    move[n], region[n], was[n], now[n] = m, row, old, new
                    n += 1
    return len(order), n


@njit
def _gather(order: Wholes, there: Reals, here: Reals, ends: Reals) -> None:
    """Where clients are and were, in the order of looking."""
    for i in range(len(order)):
        m = order[i]
        for axis in range(3):
            ends[i, 0, axis], ends[i, 1, axis] = here[m, 2 + axis], there[m, 2 + axis]


@njit
def _cell_keys(levels: Wholes, earth: bool, ends: Reals, cells: Wholes) -> None:
    """The cells of some moves by level: of where the client is, and of where it was if that is another."""
    lowest = levels[0] if len(levels) else LOWEST
    for i in range(len(ends)):
        for end in range(2):
            x, y, z = ends[i, end, 0], ends[i, end, 1], ends[i, end, 2]
            is_there = not np.isnan(x)
            face = face_of(x, y, z) if earth else FLAT
            u, v = face_point(face, x, y, z)
            fine_x, fine_y = cell_of(u, lowest), cell_of(v, lowest)
            for j in range(len(levels)):
                level, up = levels[j], levels[j] - lowest
                # On the earth a cell is known from one of a lower level; on a plane that may be clipped.
                ix, iy = (fine_x >> up, fine_y >> up) if earth else (cell_of(u, level), cell_of(v, level))
                cells[i, j, end] = cell_key(face, level, ix, iy) if is_there else -1
        for j in range(len(levels)):
            if cells[i, j, 0] == cells[i, j, 1]:
                cells[i, j, 1] = _AS_NEW


@njit
def _find_cells(
    keys: Wholes, runs: npt.NDArray[np.int32], whole: npt.NDArray[np.int32], cells: Wholes, spare: Wholes
) -> None:
    """Where in the index cells are; -1 for those that are not.

    A large index is far from the processor. What will be asked of it is fetched first, without a question, so that the
    waiting is done for all cells at once. It has to be put somewhere, or else it would not be fetched.
    """
    fetched, all_cells, is_far = 0, cells.reshape(-1), len(keys) > _LARGE
    for i in range(len(all_cells) if is_far else 0):
        fetched ^= keys[slot_of(all_cells[i], len(keys)), 0]
    for i in range(len(all_cells)):
        if all_cells[i] != _AS_NEW:
            all_cells[i] = max(find_cell(keys, all_cells[i]), -1) if all_cells[i] >= 0 else -1
    for i in range(len(all_cells) if is_far else 0):
        at = all_cells[i]
        if at >= 0:
            start = 3 * runs[at, 2]
            for line in range(start, start + (3 << room_of(runs, at)), 16):
                fetched ^= whole[line]
    spare[0] = fetched


@inlined
def _look(
    keys: Wholes, runs: npt.NDArray[np.int32], short: npt.NDArray[np.int16], whole: npt.NDArray[np.int32], xs: Reals,
    ys: Reals, radii: Reals, earth: bool, at: int, p: Place, q: Place, length: float, cell: int, rises: bool,
    mask: npt.NDArray[np.bool_], near: Wholes, m: int, move: Wholes, region: Wholes, was: Flags, now: Flags, n: int,
) -> int:  # fmt: skip
    """Add what turned among the discs of a cell. What is in the cells of both ends is found where the client is."""
    origin, steps = anchor_of(keys[at, 0])
    slack, cubed = slack_of(steps), CUBED / (steps * steps)
    a, b = (q, p) if cell == _OLD else (p, q)
    a = ((a[0] - origin[0]) * steps, (a[1] - origin[1]) * steps, (a[2] - origin[2]) * steps)
    b = ((b[0] - origin[0]) * steps, (b[1] - origin[1]) * steps, (b[2] - origin[2]) * steps)
    room = 1 << room_of(runs, at)
    first, rows, count, size = (
        np.uint64(6 * runs[at, 2]),
        3 * runs[at, 2] + 2 * room,
        count_of(runs, at),
        np.uint64(room),
    )
    for done in range(0, count, _AT_ONCE):
        found = _near(
            short, first + np.uint64(done), size, min(count - done, _AT_ONCE), a, length * steps + 2 * slack, cubed,
            mask, near,
        )  # fmt: skip
        for k in range(found):
            slot = first + np.uint64(done + near[k])
            disc = (float(short[slot]), float(short[slot + size]), float(short[slot + size + size]))
            radius = float(short[slot + size + size + size])
            new, old = _side(_squared(a, disc), radius, slack, cubed), OUT
            if new == OUT and cell != _SAME:
                continue
            if not np.isnan(b[0]):
                old = _side(_squared(b, disc), radius, slack, cubed)
            if cell == _OLD:
                new, old = old, new
            if new == old and new != UNSURE and not rises:
                continue
            row = whole[rows + done + near[k]]
            if new == UNSURE:
                new = exact_side(xs[row], ys[row], radii[row], earth, p)
            if old == UNSURE:
                old = exact_side(xs[row], ys[row], radii[row], earth, q)
            if cell == _OLD:
                turned = old != OUT and new == OUT
            else:
                turned = (old != new or new == UNSURE or rises) and (new != OUT or cell == _SAME)
            if turned:
                move[n], region[n], was[n], now[n] = m, row, old, new
                n += 1
    return n


@inlined
def _near(
    short: npt.NDArray[np.int16], first: np.uint64, size: np.uint64, count: int, a: Place, margin: float,
    cubed: float, mask: npt.NDArray[np.bool_], near: Wholes,
) -> int:  # fmt: skip
    """Which of some discs have a circle within a margin of a point, all in steps; gives how many.

    Numbers of 32 bits, no branch, and no index that could be negative, so that the processor takes 16 discs at a time.
    """
    x, y, z = np.float32(a[0]), np.float32(a[1]), np.float32(a[2])
    m, c = np.float32(margin), np.float32(cubed)
    for i in range(count):
        at = first + np.uint64(i)
        dx = x - np.float32(short[at])
        dy = y - np.float32(short[at + size])
        dz = z - np.float32(short[at + size + size])
        radius = np.float32(short[at + size + size + size])
        squared, outer = dx * dx + dy * dy + dz * dz, radius + m
        inner = radius - radius * radius * radius * c - m
        mask[i] = (squared <= outer * outer) & ((inner <= np.float32(0)) | (squared >= inner * inner))
    found = 0
    for i in range(count):
        near[found] = i
        found += mask[i]
    return found


@njit
def _levels_of(discs: DiscArrays) -> Wholes:
    """The levels that have discs."""
    return np.flatnonzero(discs.levels).astype(np.int64) + LOWEST


@njit
def _squared(a: Place, b: Place) -> float:
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


@njit
def _differ(a: float, b: float) -> bool:
    return a != b and not (np.isnan(a) and np.isnan(b))


@njit
def _side(squared: float, radius: float, margin: float, cubed: float) -> int:
    """On which side of a disc everything within a margin of a point is; unsure if it may be on both."""
    outer = radius + margin
    if squared > outer * outer:
        return OUT
    inner = radius - radius * radius * radius * cubed - margin
    return IN if inner > 0 and squared <= inner * inner else UNSURE
