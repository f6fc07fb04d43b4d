"""Who of a crowd is nearest, exactly as the definition ranks: by geodesic distance, then by names.

Chords rank nearly everyone. Only where the last that is in and the first that is out are closer to each other than a
chord can tell does the definition's own measure decide, and it is asked for them alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import njit
from nearcast.match.crowd import COUNT, CrowdArrays, finest_cell, within
from nearcast.match.globe import FAR, SLACK, TIGHTEST

__all__ = ["ASK", "Open", "longest", "published", "rank", "shortest"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

ASK = -1
"""Distances are missing."""
_SURE = 2 * TIGHTEST * math.sin(FAR / (2 * TIGHTEST))
"""Metres. A longer chord does not bound the geodesic."""


class Open(NamedTuple):
    """Publications, by row, and what they are ranked by."""

    first: Wholes
    next: Wholes
    name: Wholes
    owner: Wholes
    texts: Wholes
    clients: Wholes


@njit
def longest(chord: float, earth: bool) -> float:
    """How long the way along a chord is at most."""
    if not earth:
        return chord * (1 + 1e-12) + 1e-150
    if chord >= _SURE:
        return math.inf
    return 2 * TIGHTEST * math.asin(chord / (2 * TIGHTEST)) + SLACK


@njit
def shortest(chord: float, earth: bool) -> float:
    """How long it is at least."""
    if not earth:
        return min(chord * (1 - 1e-12) - 1e-150, 1e150)  # the square of more than that is too large for a float
    return chord - SLACK


@njit
def published(first: Wholes, following: Wholes, client: int) -> int:
    """How many open publications a client has."""
    n = 0
    if client < len(first):
        p = first[client]
        while p >= 0:
            n += 1
            p = following[p]
    return n


@njit
def rank(
    who: int, k: int, guess: float, earth: bool, crowd: CrowdArrays, open_: Open, known: Wholes, known_pair: Wholes,
    known_away: Reals, row: Wholes, chord: Reals, away: Reals, chosen: Wholes,
) -> int:  # fmt: skip
    """The k nearest publications of others, for a client; gives how many there are.

    ``guess`` is how far one may have to look. ``known[0]`` distances between two clients have been measured by the
    definition. If others are needed it gives `ASK`: those of ``row[known[1]:known[2]]`` from ``known[3]``.
    """
    first, following, spot = open_.first, open_.next, crowd.spot
    n = _candidates(
        who, k, guess, spot, crowd.table, crowd.links, crowd.dense, crowd.where, crowd.meta, earth, first, following,
        chord, row,
    )  # fmt: skip
    _sort(chord, row, n)
    units, last, more = 0, 0, 0
    while last < n:
        more = published(first, following, row[last])
        if units + more >= k:
            break
        units += more
        last += 1
    start = end = n
    if last < n:
        start = end = last + 1
        beyond = last if units + more > k else last + 1
        least = shortest(chord[beyond], earth) if beyond < n else math.inf
        most = longest(chord[last], earth)
        if beyond < n and not most < least:
            while start > 0 and longest(chord[start - 1], earth) >= least:
                start -= 1
            while end < n and shortest(chord[end], earth) <= most:
                end += 1
    taken = 0
    for i in range(start):
        p = first[row[i]]
        while p >= 0:
            chosen[taken] = p
            taken += 1
            p = following[p]
    if start < end:
        if not _measured(who, spot, known, known_pair, known_away, row, start, end, away):
            known[1], known[2], known[3] = start, end, who
            return ASK
        taken = _best(k, taken, first, following, open_.name, open_.texts, open_.clients, row, start, end, away, chosen)
    return taken


@njit
def _candidates(
    who: int, k: int, guess: float, spot: Reals, table: Wholes, links: Wholes, dense: Wholes, where: Wholes,
    meta: Wholes, earth: bool, first: Wholes, following: Wholes, chord: Reals, row: Wholes,
) -> int:  # fmt: skip
    """All that may be among the nearest: look further until there are enough, or no more."""
    px, py, pz = spot[who, 2], spot[who, 3], spot[who, 4]
    if np.isnan(px):
        return 0
    everyone = meta[COUNT] - (1 if where[who] >= 0 else 0)
    reach = max(guess, 0.25 * finest_cell(meta)) if everyone > 2 * k + 8 else math.inf
    tries = 0
    while True:
        n = within(
            spot, table, links, dense, meta, earth, px, py, pz, longest(reach, earth) + 2 * SLACK, who, chord, row
        )
        units = 0
        for i in range(n):
            if chord[i] <= reach:
                units += published(first, following, row[i])
        if units >= k or n == everyone:
            return n
        tries += 1
        reach *= 2.0 if tries < 4 else 8.0 if tries < 20 else math.inf


@njit
def _sort(chord: Reals, row: Wholes, n: int) -> None:
    if n > 64:
        order = np.argsort(chord[:n])
        chord[:n], row[:n] = chord[:n][order], row[:n][order]
        return
    for i in range(1, n):
        d, r, j = chord[i], row[i], i
        while j > 0 and chord[j - 1] > d:
            chord[j], row[j] = chord[j - 1], row[j - 1]
            j -= 1
        chord[j], row[j] = d, r


@njit
def _measured(
    who: int, spot: Reals, known: Wholes, known_pair: Wholes, known_away: Reals, row: Wholes, start: int, end: int,
    away: Reals,
) -> bool:  # fmt: skip
    """Look up the distances of those that chords cannot tell apart; at one and the same place all are the same."""
    same = True
    for i in range(start + 1, end):
        same = same and spot[row[i], 0] == spot[row[start], 0] and spot[row[i], 1] == spot[row[start], 1]
    for i in range(start, end):
        found = same
        away[i] = 0.0
        for j in range(known[0]):
            if known_pair[j, 0] == who and known_pair[j, 1] == row[i]:
                found, away[i] = True, known_away[j]
        if not found:
            return False
    return True


@njit
def _best(
    k: int, taken: int, first: Wholes, following: Wholes, name: Wholes, text_order: Wholes, client_order: Wholes,
    row: Wholes, start: int, end: int, away: Reals, chosen: Wholes,
) -> int:  # fmt: skip
    """Fill the places that are left with the best of some clients' publications."""
    sure = taken
    best = np.empty(k - sure)
    owners = np.empty(k - sure, np.int64)
    for i in range(start, end):
        p = first[row[i]]
        while p >= 0:
            at = taken
            while at > sure:
                q, d = chosen[at - 1], best[at - 1 - sure]
                if d < away[i]:
                    break
                if d == away[i]:
                    if name[q] != name[p]:
                        if text_order[name[q]] < text_order[name[p]]:
                            break
                    elif client_order[owners[at - 1 - sure]] < client_order[row[i]]:
                        break
                at -= 1
            if at < k:
                for j in range(min(taken, k - 1), at, -1):
                    chosen[j], best[j - sure], owners[j - sure] = (
                        chosen[j - 1],
                        best[j - 1 - sure],
                        owners[j - 1 - sure],
                    )
                chosen[at], best[at - sure], owners[at - sure] = p, away[i], row[i]
                taken = min(taken + 1, k)
            p = following[p]
    return taken
