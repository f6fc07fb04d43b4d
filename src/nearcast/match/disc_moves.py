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
from nearcast.match.discs import CUBED, DiscArrays, anchor, exact_side, find_cell, slack_of
from nearcast.match.globe import FLAT, IN, LOWEST, OUT, UNSURE, cell_key, cell_of, face_of, face_point

__all__ = ["disc_moves"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.int8]
Place = tuple[float, float, float]

_AT_ONCE = 64
"""Discs of a cell that are compared before the next step."""
_SAME, _NEW, _OLD = 0, 1, 2
"""The cell that is looked into: of both ends of a move, or only of where the client is, or was."""


@njit
def disc_moves(
    order: Wholes, start: int, there: Reals, here: Reals, discs: DiscArrays, earth: bool, tall: bool, move: Wholes,
    region: Wholes, was: Flags, now: Flags,
) -> tuple[int, int]:  # fmt: skip
    """Look at moves from ``start`` on, until the outputs are full; gives how far it got, and how much it wrote.

    The positions are in the order of looking, and ``order`` says which move each is of. Written is what turned, and
    what may have: the move, the disc, on which side the client was and is. If there are ``tall`` regions, that is
    also what the client stayed in while its height changed.
    """
    # Each array is taken out of the index once, for every taking counts a reference.
    keys, starts, counts, rooms = discs.key, discs.start, discs.counts, discs.room
    whole, real = discs.whole, discs.real
    xs, ys, radii, wide = discs.x, discs.y, discs.radius, discs.wide
    levels, mask, near = _levels_of(discs), np.empty(_AT_ONCE, np.bool_), np.empty(_AT_ONCE, np.int64)
    n = 0
    lowest = levels[0] if len(levels) else LOWEST
    for i in range(start, len(order)):
        m, before = order[i], n
        p, q = (here[i, 2], here[i, 3], here[i, 4]), (there[i, 2], there[i, 3], there[i, 4])
        is_here, was_there = not np.isnan(p[0]), not np.isnan(q[0])
        face = old_face = FLAT
        if earth:
            face, old_face = face_of(*p), face_of(*q)
        u, v = face_point(face, *p)
        old_u, old_v = face_point(old_face, *q)
        rises = tall and (_differ(here[i, 5], there[i, 5]) or _differ(here[i, 6], there[i, 6]))
        length = math.sqrt(_squared(p, q)) * (1 + 1e-9) if is_here and was_there and not rises else math.inf
        fine, old_fine = (cell_of(u, lowest), cell_of(v, lowest)), (cell_of(old_u, lowest), cell_of(old_v, lowest))
        for level in levels:
            key = old_key = -1
            if is_here:
                ix, iy = _cell(u, v, fine, lowest, level, earth)
                key = cell_key(face, level, ix, iy)
            if was_there:
                old_ix, old_iy = _cell(old_u, old_v, old_fine, lowest, level, earth)
                old_key = cell_key(old_face, level, old_ix, old_iy)
            at = find_cell(keys, key) if is_here else -1
            if at >= 0:
                if n + counts[at] > len(move):
                    return i, before
                n = _look(
                    real, whole, xs, ys, radii, earth, starts[at], counts[at], rooms[at], anchor(face, level, ix, iy),
                    p, q, length, slack_of(level, face), _SAME if key == old_key else _NEW, rises, mask, near, m, move,
                    region, was, now, n,
                )  # fmt: skip
            at = find_cell(keys, old_key) if was_there and key != old_key else -1
            if at >= 0:
                if n + counts[at] > len(move):
                    return i, before
                n = _look(
                    real, whole, xs, ys, radii, earth, starts[at], counts[at], rooms[at],
                    anchor(old_face, level, old_ix, old_iy), p, q, length, slack_of(level, old_face), _OLD, False,
                    mask, near, m, move, region, was, now, n,
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


@inlined
def _look(
    real: npt.NDArray[np.float32], whole: npt.NDArray[np.int32], xs: Reals, ys: Reals, radii: Reals, earth: bool,
    start: int, count: int, room: int, origin: Place, p: Place, q: Place, length: float, slack: float, cell: int,
    rises: bool, mask: npt.NDArray[np.bool_], near: Wholes, m: int, move: Wholes, region: Wholes, was: Flags,
    now: Flags, n: int,
) -> int:  # fmt: skip
    """Add what turned among the discs of a cell. What is in the cells of both ends is found where the client is."""
    a, b = (q, p) if cell == _OLD else (p, q)
    a = (a[0] - origin[0], a[1] - origin[1], a[2] - origin[2])
    b = (b[0] - origin[0], b[1] - origin[1], b[2] - origin[2])
    first, size = np.uint64(5 * start), np.uint64(1 << room)
    for done in range(0, count, _AT_ONCE):
        found = _near(
            real, first + np.uint64(done), size, min(count - done, _AT_ONCE), a, length + 2 * slack, mask, near
        )
        for k in range(found):
            slot = first + np.uint64(done + near[k])
            disc = (real[slot], real[slot + size], real[slot + size + size])
            radius = float(real[slot + size + size + size])
            new, old = _side(_squared(a, disc), radius, slack), OUT
            if new == OUT and cell != _SAME:
                continue
            if not np.isnan(b[0]):
                old = _side(_squared(b, disc), radius, slack)
            if cell == _OLD:
                new, old = old, new
            if new == old and new != UNSURE and not rises:
                continue
            row = whole[slot + size + size + size + size]
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
    real: npt.NDArray[np.float32], first: np.uint64, size: np.uint64, count: int, a: Place, margin: float,
    mask: npt.NDArray[np.bool_], near: Wholes,
) -> int:  # fmt: skip
    """Which of some discs have a circle within a margin of a point; gives how many.

    Numbers of 32 bits, no branch, and no index that could be negative, so that the processor takes 16 discs at a time.
    """
    x, y, z = np.float32(a[0]), np.float32(a[1]), np.float32(a[2])
    m, cubed = np.float32(margin), np.float32(CUBED)
    for i in range(count):
        at = first + np.uint64(i)
        dx, dy, dz = x - real[at], y - real[at + size], z - real[at + size + size]
        radius = real[at + size + size + size]
        squared, outer = dx * dx + dy * dy + dz * dz, radius + m
        inner = radius - radius * radius * radius * cubed - m
        mask[i] = (squared <= outer * outer) & ((inner <= np.float32(0)) | (squared >= inner * inner))
    found = 0
    for i in range(count):
        near[found] = i
        found += mask[i]
    return found


@njit
def _cell(u: float, v: float, fine: tuple[int, int], lowest: int, level: int, earth: bool) -> tuple[int, int]:
    """The cell of a level. On the earth it is known from that of a lower one; on a plane that may be clipped."""
    if earth:
        return fine[0] >> (level - lowest), fine[1] >> (level - lowest)
    return cell_of(u, level), cell_of(v, level)


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
def _side(squared: float, radius: float, margin: float) -> int:
    """On which side of a disc everything within a margin of a point is; unsure if it may be on both."""
    outer = radius + margin
    if squared > outer * outer:
        return OUT
    inner = radius - radius * radius * radius * CUBED - margin
    return IN if inner > 0 and squared <= inner * inner else UNSURE
