"""Things in cells, as lists through arrays: what moves in and out of cells all the time takes no room but its own.

A thing has a node for each cell that it is in. A cell is a slot of an open-addressed table; one that has become empty
keeps its slot until the table is made anew.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import njit

__all__ = ["CELL", "HEAD", "NEXT", "PREVIOUS", "attach", "detach", "find", "new_links", "new_table", "renewed"]

Wholes = npt.NDArray[np.int64]

KEY, HEAD = 0, 1
"""Columns of a table: the cell, or -1, and the first node in it, or -1."""
NEXT, PREVIOUS, CELL = 0, 1, 2
"""Columns of the nodes: the next and the previous in the cell, and the cell, or -1."""


def new_table(slots: int) -> Wholes:
    """A table without cells; the number of slots is a power of two."""
    return np.full((slots, 2), -1, np.int64)


def new_links(nodes: int) -> Wholes:
    return np.full((nodes, 3), -1, np.int64)


def renewed(table: Wholes, used: Wholes) -> Wholes:
    """A table with the cells that have something in them, and with room to spare."""
    live = int(np.count_nonzero(table[:, HEAD] >= 0))
    made = new_table(1 << max(10, (4 * live).bit_length()))
    used[0] = live
    _move(table, made)
    return made


@njit
def find(table: Wholes, key: int) -> int:
    """Where a cell is; if it is not there, the complement of where it would go."""
    mask = len(table) - 1
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    at = int(h >> np.uint64(33)) & mask
    while True:
        found = table[at, KEY]
        if found == key:
            return at
        if found == -1:
            return ~at
        at = (at + 1) & mask


@njit
def attach(table: Wholes, used: Wholes, links: Wholes, node: int, key: int) -> None:
    """Put a node that is nowhere into a cell. ``used[0]`` counts the slots that are taken."""
    at = find(table, key)
    if at < 0:
        at = ~at
        table[at, KEY], table[at, HEAD] = key, -1
        used[0] += 1
    head = table[at, HEAD]
    links[node, NEXT], links[node, PREVIOUS], links[node, CELL] = head, -1, key
    if head >= 0:
        links[head, PREVIOUS] = node
    table[at, HEAD] = node


@njit
def detach(table: Wholes, links: Wholes, node: int) -> None:
    after, before = links[node, NEXT], links[node, PREVIOUS]
    if before >= 0:
        links[before, NEXT] = after
    else:
        table[find(table, links[node, CELL]), HEAD] = after
    if after >= 0:
        links[after, PREVIOUS] = before
    links[node, CELL] = -1


@njit
def _move(table: Wholes, made: Wholes) -> None:
    for i in range(len(table)):
        if table[i, HEAD] >= 0:
            at = ~find(made, table[i, KEY])
            made[at, KEY], made[at, HEAD] = table[i, KEY], table[i, HEAD]
