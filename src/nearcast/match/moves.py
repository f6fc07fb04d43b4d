"""A run of fixes as columns: which are new, where each client came from, and what time each takes effect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearcast.match.clients import ClientColumns
from nearcast.match.compiled import njit
from nearcast.match.globe import in_space

__all__ = ["Moves", "X", "Y", "take_moves"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Moves:
    """Fixes that were applied, in order. A missing coordinate or height is not a number."""

    op: Wholes
    """Which op of the run it was."""
    row: Wholes
    """Whose."""
    time: Wholes
    """The fix's own time."""
    now: Wholes
    """When it took effect."""
    was: Wholes
    """The client's clock before."""
    there: Reals
    """Where the client was: x, y, the point in space (3), altitude, floor."""
    here: Reals
    """Where it is."""

    def __len__(self) -> int:
        return len(self.row)

    def clocks(self, columns: ClientColumns, rows: Wholes, at: Wholes) -> Wholes:
        """What the clocks of some clients showed right after the moves ``at``."""
        clocks = columns.clock[rows]
        if len(self) == 1:
            return clocks
        ran = np.zeros(columns.capacity, np.bool_)
        ran[self.row] = True
        of = np.flatnonzero(ran[rows])  # the others' clocks stood still
        if len(of):
            order = np.argsort(self.row, kind="stable")
            mover, n = self.row[order], len(self)
            last = np.searchsorted(mover * n + order, rows[of] * n + at[of], side="right") - 1
            found = order[np.maximum(last, 0)]
            first = order[np.searchsorted(mover, rows[of])]
            moved = (last >= 0) & (self.row[found] == rows[of])
            clocks[of] = np.where(moved, self.now[found], self.was[first])
        return clocks


X, Y, SPACE, ALTITUDE, FLOOR = 0, 1, 2, 5, 6
"""Columns of ``there`` and ``here``."""


def take_moves(
    columns: ClientColumns, row: Wholes, time: Wholes, position: Reals, place: Wholes, everyone: int, earth: bool
) -> Moves:
    """Apply a run of fixes to the columns. ``position``: x, y, altitude, floor, accuracy; ``place``: codes of paths.

    A fix that is not newer than its client's last is stale, and is not among the moves.
    """
    n = len(row)
    op, who, when, now, was = (np.empty(n, np.int64) for _ in range(5))
    there, here = np.empty((n, 7)), np.empty((n, 7))
    c = columns
    k = _take(
        row, time, position, place, everyone, earth, c.here, c.clock, c.last, c.seen, c.fixed, c.before, c.before_x,
        c.before_y, c.x, c.y, c.altitude, c.floor, c.accuracy, c.place, c.px, c.py, c.pz, op, who, when, now, was,
        there, here,
    )  # fmt: skip
    return Moves(op[:k], who[:k], when[:k], now[:k], was[:k], there[:k], here[:k])


@njit
def _take(
    row: Wholes, time: Wholes, position: Reals, place: Wholes, everyone: int, earth: bool,
    exists: npt.NDArray[np.bool_], clock: Wholes, last: Wholes, seen: Wholes, fixed: Wholes, before: Wholes,
    before_x: Reals, before_y: Reals, x: Reals, y: Reals, altitude: Reals, floor: Reals, accuracy: Reals,
    path: Wholes, px: Reals, py: Reals, pz: Reals, op: Wholes, who: Wholes, when: Wholes, now: Wholes, was: Wholes,
    there: Reals, here: Reals,
) -> int:  # fmt: skip
    n = 0
    for i in range(len(row)):
        r, t = row[i], time[i]
        if t <= last[r]:
            continue
        there[n, 0], there[n, 1], there[n, 5], there[n, 6] = x[r], y[r], altitude[r], floor[r]
        there[n, 2], there[n, 3], there[n, 4] = px[r], py[r], pz[r]
        before[r], before_x[r], before_y[r] = fixed[r], x[r], y[r]
        x[r], y[r], altitude[r], floor[r] = position[i, 0], position[i, 1], position[i, 2], position[i, 3]
        accuracy[r], path[r] = position[i, 4], place[i]
        if earth:
            px[r], py[r], pz[r] = in_space(x[r], y[r])
        else:
            px[r], py[r], pz[r] = x[r], y[r], 0.0 * x[r]
        here[n, 0], here[n, 1], here[n, 5], here[n, 6] = x[r], y[r], altitude[r], floor[r]
        here[n, 2], here[n, 3], here[n, 4] = px[r], py[r], pz[r]
        effective = max(t, everyone, clock[r])
        was[n] = clock[r]
        exists[r], clock[r], last[r], seen[r], fixed[r] = True, effective, t, effective, t
        op[n], who[n], when[n], now[n] = i, r, t, effective
        n += 1
    return n
