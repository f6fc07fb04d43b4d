"""Cells of a grid in a hash table: keys (level, x, y), open-addressed, in arrays that compiled code can share.

A cell that has become empty keeps its slot, for others may have gone past it to find theirs, until all are moved to
another table.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import njit

__all__ = ["COUNT", "FIRST", "FREE", "LEVEL", "ROOM", "X", "Y", "moved", "new_keys", "slot_of"]

X, Y, LEVEL = range(3)
"""Columns of the keys."""
FIRST, COUNT, ROOM = range(3)
"""Columns of the runs: where what the cell has begins, how much it is, and how much could be there."""
FREE = -128
"""The level of a slot that has no cell."""


def new_keys(slots: int) -> npt.NDArray[np.int64]:
    """A table without cells; the number of slots is a power of two."""
    keys = np.zeros((slots, 3), np.int64)
    keys[:, LEVEL] = FREE
    return keys


@njit
def slot_of(keys: npt.NDArray[np.int64], level: int, x: int, y: int) -> int:
    """Where a cell is in the table, or else the free slot where it would be put. One slot at least must be free."""
    mask = len(keys) - 1
    mixed = (x * 0x2545F4914F6CDD1D + y * 0x1B873593CC9E2D51 + level) * 0x1E3779B97F4A7C15
    slot = (mixed ^ (mixed >> 32)) & mask
    while True:
        found = keys[slot, LEVEL]
        if found == FREE or (found == level and keys[slot, X] == x and keys[slot, Y] == y):
            return slot
        slot = (slot + 1) & mask


@njit
def moved(
    keys: npt.NDArray[np.int64],
    runs: npt.NDArray[np.int32],
    new: npt.NDArray[np.int64],
    new_runs: npt.NDArray[np.int32],
) -> int:
    """Move the cells that have something to an empty table; gives their number."""
    count = 0
    for slot in range(len(keys)):
        if runs[slot, COUNT] > 0:
            to = slot_of(new, keys[slot, LEVEL], keys[slot, X], keys[slot, Y])
            new[to] = keys[slot]
            new_runs[to] = runs[slot]
            count += 1
    return count
