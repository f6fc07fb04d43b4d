"""Fixes against the regions of a layer: which boundaries each fix crossed.

Whether a client is in a region depends on its position alone, so nothing is remembered: a fix is looked up where
the client was and where it is, and the difference is what happened. A fix that stays within its cells, as nearly
all do, asks both at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.areas import AreaArrays, areas_at
from nearcast.match.compiled import njit
from nearcast.match.disc_moves import disc_moves
from nearcast.match.globe import IN, OUT, UNSURE, cell_of, face_of, face_point
from nearcast.match.moves import Moves
from nearcast.match.regions import NO_HEIGHTS, Heights, Sites, fits

__all__ = ["Crossings", "by_cell", "crossings", "inside"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.int8]
Turned = tuple[Wholes, Wholes, Flags, Flags]
"""The move, the region, and on which side the client was and is."""

_MANY = 20_000
"""Regions that no longer fit into the processor's cache."""
_COARSE = 11
"""The level of the cells in whose order such regions are visited: about 2 km."""


class Crossings(NamedTuple):
    move: Wholes
    region: Wholes
    entered: npt.NDArray[np.bool_]
    """Or left."""


def crossings(regions: Sites, moves: Moves) -> Crossings:
    """Which regions the moves entered or left, exactly; in the order of the moves."""
    move, region, was, now = _emitted(regions, moves.there, moves.here)
    for state, position in ((was, moves.there), (now, moves.here)):
        unsure = np.flatnonzero(state == UNSURE)
        at = move[unsure]
        state[unsure] = regions.resolve(region[unsure], position[at, 0], position[at, 1])
    turned = np.flatnonzero(was != now)
    return Crossings(move[turned], region[turned], now[turned] == IN)


def inside(regions: Sites, here: Reals, any_height: bool = False) -> tuple[Wholes, Wholes]:
    """Which regions hold each of many positions: the index of the position, and the region's row."""
    nowhere = np.full_like(here, np.nan)
    move, region, _, now = _emitted(regions, nowhere, here, any_height)
    unsure = np.flatnonzero(now == UNSURE)
    at = move[unsure]
    now[unsure] = regions.resolve(region[unsure], here[at, 0], here[at, 1])
    held = now == IN
    return move[held], region[held]


def _emitted(regions: Sites, there: Reals, here: Reals, any_height: bool = False) -> Turned:
    """What may have turned."""
    parts: list[Turned] = []
    order = by_cell(here) if len(here) > 1000 and _is_far(regions) else np.arange(len(here))
    if len(regions.discs):
        parts += _among_discs(regions, order, there, here, regions.is_tall and not any_height)
    if len(regions.areas):
        parts += _among_areas(regions, order, there, here)
    if not parts:
        return _NOTHING
    move, region, was, now = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    n = _at_height(NO_HEIGHTS if any_height else regions.heights, there, here, move, region, was, now)
    return move[:n], region[:n], was[:n], now[:n]


_NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.int8))


def _among_discs(regions: Sites, order: Wholes, there: Reals, here: Reals, tall: bool) -> Iterator[Turned]:
    done, room = 0, len(order) + 64
    while done < len(order):
        out, last = _empty(room), done
        done, n = disc_moves(order, done, there, here, regions.discs.arrays, regions.earth, tall, *out)
        yield _first(out, n)
        room = 4 * room if done == last else room


def _among_areas(regions: Sites, order: Wholes, there: Reals, here: Reals) -> Iterator[Turned]:
    done, room, most = 0, 2 * len(order) + 64, regions.areas.most
    buffers = np.empty(most, np.int32), np.empty(most, np.int8), np.empty(most, np.int32), np.empty(most, np.int8)
    while done < len(order):
        out, last = _empty(room), done
        done, n = _area_moves(order, done, there, here, regions.areas.arrays, *buffers, *out)
        yield _first(out, n)
        room = 4 * room if done == last else room


def _empty(room: int) -> Turned:
    return np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int8), np.empty(room, np.int8)


def _first(out: Turned, n: int) -> Turned:
    move, region, was, now = out
    return move[:n], region[:n], was[:n], now[:n]


def _is_far(regions: Sites) -> bool:
    """Whether it pays to visit all moves in a cell together, as what is looked at will have to be fetched."""
    return len(regions.areas) > _MANY or (len(regions.discs) > _MANY and regions.discs.is_crowded)


def by_cell(here: Reals) -> Wholes:
    """An order in which those that are in a cell come together, and mostly also those in cells beside each other."""
    keys = np.empty(len(here), np.uint16)
    _cell_keys(here, keys)
    return np.argsort(keys, kind="stable")


@njit
def _cell_keys(here: Reals, keys: npt.NDArray[np.uint16]) -> None:
    """The last bits of where a cell is: those that share them by chance do no harm."""
    for i in range(len(keys)):
        px, py, pz = here[i, 2], here[i, 3], here[i, 4]
        keys[i] = 0
        if not np.isnan(px):
            u, v = face_point(face_of(px, py, pz), px, py, pz)
            keys[i] = (cell_of(u, _COARSE) & 255) << 8 | (cell_of(v, _COARSE) & 255)


@njit
def _at_height(
    heights: Heights, there: Reals, here: Reals, move: Wholes, region: Wholes, was: Flags, now: Flags
) -> int:
    """Take out what is not at the region's height, and what did not turn after all; gives how many are left."""
    n, asked = 0, heights.asked
    for k in range(len(move)):
        m, r = move[k], region[k]
        if r < len(asked) and (asked[r, 0] or asked[r, 1]):
            if not fits(heights, r, there[m, 5], there[m, 6]):
                was[k] = OUT
            if not fits(heights, r, here[m, 5], here[m, 6]):
                now[k] = OUT
        if was[k] != now[k] or now[k] == UNSURE:
            move[n], region[n], was[n], now[n] = m, r, was[k], now[k]
            n += 1
    return n


@njit
def _area_moves(
    order: Wholes, start: int, there: Reals, here: Reals, areas: AreaArrays, new_row: npt.NDArray[np.int32],
    new_sure: Flags, old_row: npt.NDArray[np.int32], old_sure: Flags, move: Wholes, region: Wholes, was: Flags,
    now: Flags,
) -> tuple[int, int]:  # fmt: skip
    """What `disc_moves` does, among boxes and polygons."""
    n = 0
    for i in range(start, len(order)):
        m, news, olds = order[i], 0, 0
        if not np.isnan(here[m, 0]):
            news = areas_at(areas, here[m, 0], here[m, 1], new_row, new_sure)
        if not np.isnan(there[m, 0]):
            olds = areas_at(areas, there[m, 0], there[m, 1], old_row, old_sure)
        if n + news + olds > len(move):
            return i, n
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
    return len(order), n
