"""What moves turn among the nearest: the compiled loops of `nearest`.

A loop that lacks something stops at the move it is at and says why; when it has been given, it does that move again.
What was done already is then found done, so nothing is told twice.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import njit
from nearcast.match.crowd import CrowdArrays, finest_cell, is_crowded, put
from nearcast.match.globe import SLACK
from nearcast.match.ranking import ASK, Open, longest, published, rank, shortest
from nearcast.match.reaches import EVERYWHERE, OVERFLOWN, ReachArrays, concerned, cover, uncover

__all__ = ["CROWDED", "DONE", "FULL", "Held", "Scratch", "again", "at", "run"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

DONE, FULL, CROWDED = 0, -2, -3
"""Why a loop stopped: at the end, for want of room for events or for cells, or to `ASK` for distances."""
_OTHER, _OWN, _ANEW = 0, 1, 2
MOVE, KIND, SUBSCRIPTION, PUBLICATION, REASON = range(5)
"""Columns of events: the kind is whether it entered, the reason whether it is that the thing moved."""


class Held(NamedTuple):
    """Subscriptions, by row."""

    k: Wholes
    start: Wholes
    """Where its nearest are in ``members``."""
    counts: Wholes
    """How many there are: less than k only if there are no more."""
    owner: Wholes
    next: Wholes
    """The next of the same owner, or -1."""
    first: Wholes
    """By client, its first subscription, or -1."""
    seen: Wholes
    members: Wholes
    """Publications."""


class Scratch(NamedTuple):
    """What loops write to, to be thrown away."""

    known: Wholes
    """How many distances are known, and which are asked for; then the last stamp."""
    pair: Wholes
    away: Reals
    row: Wholes
    chord: Reals
    measured: Reals
    chosen: Wholes
    mark: Wholes
    """By publication."""
    out: Wholes


@njit
def _guess(
    how: int, s: int, mover: int, had: bool, has: bool, earth: bool, k: Wholes, start: Wholes, counts: Wholes,
    owner: Wholes, members: Wholes, spot: Reals, meta: Wholes, ball: Reals, first: Wholes, following: Wholes,
    publisher: Wholes,
) -> float:  # fmt: skip
    """How far a subscription may have to look after a move; negative if its nearest are surely the same."""
    who, most, begin, old = owner[s], k[s], start[s], counts[s]
    px, py, pz = spot[who, 2], spot[who, 3], spot[who, 4]
    cells, far, mine = 2 * finest_cell(meta), 0.0, 0
    if how == _ANEW or np.isnan(px) or (how == _OWN and not had):
        return float(ball[s, 3]) if ball[s, 3] < EVERYWHERE else cells
    for j in range(begin, begin + old):
        other = publisher[members[j]]
        if other == mover:
            mine += 1
        else:
            far = max(far, _chord(spot, other, px, py, pz))
    if how == _OWN:
        if old < most:
            return -1.0  # there are no others
        return far if far < 2 * ball[s, 3] else float(ball[s, 3])
    now = _chord(spot, mover, px, py, pz) if has else math.inf
    if old == most and mine == 0:
        return far if shortest(now, earth) <= longest(far, earth) else -1.0
    all_mine = mine == published(first, following, mover)
    if old < most:
        return -1.0 if (all_mine if has else mine == 0) else cells
    if all_mine and mine < old and longest(now, earth) < shortest(far, earth):
        return -1.0  # before one that is before all others
    return max(far, now) if now < 2 * ball[s, 3] else max(1.2 * far, cells)


@njit
def _turn(
    how: int, i: int, s: int, mover: int, had: bool, has: bool, guess: float, earth: bool, held: Held,
    crowd: CrowdArrays, reaches: ReachArrays, open_: Open, x: Scratch, events: Wholes, n: int,
) -> int:  # fmt: skip
    """Bring one subscription up to date after a move; gives the number of events, or why it cannot."""
    who, most, begin, old = held.owner[s], held.k[s], held.start[s], held.counts[s]
    if n + old + most > len(events):
        return FULL
    spot, members, publisher = crowd.spot, held.members, open_.owner
    px, py, pz = spot[who, 2], spot[who, 3], spot[who, 4]
    new = 0
    if not np.isnan(px):
        new = rank(who, most, guess, earth, crowd, open_, x.known, x.pair, x.away, x.row, x.chord, x.measured, x.chosen)
        if new == ASK:
            return ASK
    n = _compare(how, i, s, mover, had, has, begin, old, new, members, publisher, x.known, x.chosen, x.mark, events, n)
    held.counts[s] = new
    ball, balls, used, links, levels, wide, where, meta = reaches
    if np.isnan(px):
        uncover(ball, balls, links, levels, wide, where, meta, s)
        return n
    far = 0.0
    for j in range(begin, begin + new):
        far = max(far, _chord(spot, publisher[members[j]], px, py, pz))
    reach = longest(far, earth) + 2 * SLACK if new == most else EVERYWHERE
    cover(ball, balls, used, links, levels, wide, where, meta, earth, s, px, py, pz, reach)
    return n


@njit
def _chord(spot: Reals, who: int, px: float, py: float, pz: float) -> float:
    x, y, z = spot[who, 2] - px, spot[who, 3] - py, spot[who, 4] - pz
    return math.sqrt(x * x + y * y + z * z)


@njit
def _compare(
    how: int, i: int, s: int, mover: int, had: bool, has: bool, begin: int, old: int, new: int, members: Wholes,
    publisher: Wholes, known: Wholes, chosen: Wholes, mark: Wholes, events: Wholes, n: int,
) -> int:  # fmt: skip
    """Put the new ones in the old ones' places, and note who entered and who left.

    One that could have been chosen before, or could be still, is told to have entered or left for another's sake.
    """
    known[4] += 2
    stamp = known[4]
    for j in range(begin, begin + old):
        mark[members[j]] = stamp
    for j in range(new):
        p = chosen[j]
        if mark[p] != stamp:
            events[n, MOVE], events[n, KIND], events[n, SUBSCRIPTION], events[n, PUBLICATION] = i, 1, s, p
            events[n, REASON] = not had and (how == _OWN or publisher[p] == mover)
            n += 1
        mark[p] = stamp + 1
    for j in range(begin, begin + old):
        p = members[j]
        if mark[p] == stamp:
            events[n, MOVE], events[n, KIND], events[n, SUBSCRIPTION], events[n, PUBLICATION] = i, 0, s, p
            events[n, REASON] = not has and (how == _OWN or publisher[p] == mover)
            n += 1
    for j in range(new):
        members[begin + j] = chosen[j]
    return n


@njit
def run(
    begin: int, until: int, mover: Wholes, there: Reals, here: Reals, earth: bool, held: Held, crowd: CrowdArrays,
    reaches: ReachArrays, open_: Open, scratch: Scratch, events: Wholes, n: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Follow the moves from ``begin`` to before ``until``. Gives how far it got, the events, and why it stopped."""
    k, start, counts, owner, next_, first_of, seen, members = held
    spot, table, used, links, dense, where, meta = crowd
    ball, balls, _, ball_links, levels, wide, _, ball_meta = reaches
    first, following, publisher = open_.first, open_.next, open_.owner
    known, out = scratch.known, scratch.out
    for i in range(begin, until):
        if i > begin:
            known[0] = 0  # distances hold as long as nobody moves
        r = mover[i]
        publishes = r < len(first) and first[r] >= 0
        own = first_of[r]
        if not publishes and own < 0:
            continue
        if is_crowded(table, used) or ball_meta[OVERFLOWN]:
            return i, n, CROWDED
        had, has = not np.isnan(there[i, 2]), not np.isnan(here[i, 2])
        for j in range(5):
            spot[r, j] = here[i, j]
        known[4] += 1
        stamp, m = known[4], 0
        if publishes:
            put(spot, table, used, links, dense, where, meta, earth, r, has)
            if had:
                m = concerned(
                    ball, balls, ball_links, levels, wide, ball_meta, earth, there[i, 2], there[i, 3], there[i, 4],
                    seen, stamp, out, m,
                )  # fmt: skip
            if has:
                m = concerned(
                    ball, balls, ball_links, levels, wide, ball_meta, earth, here[i, 2], here[i, 3], here[i, 4],
                    seen, stamp, out, m,
                )  # fmt: skip
        while own >= 0:
            if seen[own] != stamp:
                out[m] = own
                m += 1
            own = next_[own]
        for j in range(m):
            s = out[j]
            how = _OWN if owner[s] == r else _OTHER
            guess = _guess(
                how, s, r, had, has, earth, k, start, counts, owner, members, spot, meta, ball, first, following,
                publisher,
            )  # fmt: skip
            if guess < 0:
                continue
            found = _turn(how, i, s, r, had, has, guess, earth, held, crowd, reaches, open_, scratch, events, n)
            if found < 0:
                return i, n, found
            n = found
    return until, n, DONE


@njit
def again(
    begin: int, rows: Wholes, earth: bool, held: Held, crowd: CrowdArrays, reaches: ReachArrays, open_: Open,
    scratch: Scratch, events: Wholes,
) -> tuple[int, int]:  # fmt: skip
    """Bring subscriptions up to date after something else than a move."""
    for i in range(begin, len(rows)):
        if reaches.meta[OVERFLOWN]:
            return i, CROWDED
        guess = _guess(
            _ANEW, rows[i], -1, True, True, earth, held.k, held.start, held.counts, held.owner, held.members,
            crowd.spot, crowd.meta, reaches.ball, open_.first, open_.next, open_.owner,
        )  # fmt: skip
        found = _turn(_ANEW, 0, rows[i], -1, True, True, guess, earth, held, crowd, reaches, open_, scratch, events, 0)
        if found < 0:
            return i, found
    return len(rows), DONE


@njit
def at(px: float, py: float, pz: float, earth: bool, held: Held, reaches: ReachArrays, scratch: Scratch) -> int:
    """Whom a place concerns; gives how many are in ``out``."""
    scratch.known[4] += 1
    return concerned(
        reaches.ball, reaches.table, reaches.links, reaches.levels, reaches.wide, reaches.meta, earth, px, py, pz,
        held.seen, scratch.known[4], scratch.out, 0,
    )  # fmt: skip
