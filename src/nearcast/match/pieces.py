"""An area cut into pieces, one a cell of a grid, so that a point is compared with the few edges near it.

All of this happens in the plane of the coordinates, where edges are straight. The cells of a level are squares of
2**level units. An area is cut as a quadtree: a cell that many edges pass is split until few do. A piece knows the
edges that come into its cell and on which side of the boundary one reference point lies; a point of the cell is on
that side if the way between the two crosses the boundary an even number of times. The way goes level, then upright,
so that nearly all edges are ruled out by comparisons alone, which are exact. What needs arithmetic is compared with
the greatest possible rounding error, and a point that is closer to an edge than this is left in doubt.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import njit

__all__ = [
    "DOUBT", "FINEST", "INSIDE", "LIMIT", "OUTSIDE", "TOP", "WHOLE",
    "Edges", "Whole", "bounds", "cut", "distinct", "holds",
]  # fmt: skip

Edges = npt.NDArray[np.float64]
"""A row (x1, y1, x2, y2) each."""
Whole = npt.NDArray[np.int64]
_Work = tuple[Whole, Edges, int, int]
"""Cells and what they keep, both with room for more, the number of cells and the end of what is kept."""

FINEST = -20
TOP = 35
LIMIT = 2.0**34
"""Cells lie within this distance of the axes. What reaches further is kept whole, in the four cells of the top."""

WHOLE, INSIDE, OUTSIDE, DOUBT = 0, 1, 2, 3
"""Kinds of pieces: the whole cell is inside; its reference is inside, or outside; no point of a box can be decided.

A piece in doubt has that box, (west, south, east, north), in place of its edges.
"""

_SPLIT = -1
"""What a cell has for a kind once others have taken its place."""

_SAME, _OTHER, _ON, _UNCLEAR = 0, 1, 2, 3
"""How a point compares with a reference: on the same side, on the other, on the boundary, too close to it to say."""

_ROUNDING = (3.0 + 16.0 * 2.0**-53) * 2.0**-53
"""The error of an orientation relative to the sum of its products (Shewchuk 1997, the filter called A)."""
_UNDERFLOW = 1e-290
"""Products smaller than this may have lost bits, which the relative bound does not know."""

_FAINT = 1e-100
"""Nearer to 0 than this, but not 0, the exact definition itself loses products to underflow; elsewhere it does not."""

_STRIDE = 2
"""A cell is split into 2**stride by 2**stride, so that there are fewer levels to look at."""
_FEW = 6
"""A cell with so many edges is not split."""
_LEAST_PIECES = 64
"""An area is cut into so many pieces, and one an edge, at most."""
_DEPTH = 16
"""How many levels an area may span: a corner where many edges meet never has few."""
_TRIES = 8
_ACROSS, _ALONG = 0.7548776662466927, 0.5698402909980532
"""Steps that spread reference points evenly, and far from the round numbers that corners like."""


@njit
def _turn(ax: float, ay: float, bx: float, by: float, x: float, y: float) -> int:
    """Whether a point is left (1) or right (-1) of the line from a to b; 0 if it is too close to say."""
    left = (ax - x) * (by - y)
    right = (ay - y) * (bx - x)
    turn = left - right
    error = _ROUNDING * (abs(left) + abs(right)) + _UNDERFLOW
    return 1 if turn > error else -1 if turn < -error else 0


@njit
def _compare(edges: Edges, start: int, end: int, x: float, y: float) -> int:
    """How a point compares with a reference that is not on the boundary, by the edges near the two.

    An edge counts if it has one end above the level way and the other not, or one end east of the upright way and the
    other not: a corner on the way is thus counted once, by comparison. It is as if the way were a little higher, so
    where it bends it is above a level edge, however round the numbers.
    """
    odd = False
    rx, ry = edges[start, 0], edges[start, 1]
    for i in range(start + 1, end):
        ax, ay, bx, by = edges[i, 0], edges[i, 1], edges[i, 2], edges[i, 3]
        west, east = min(ax, bx), max(ax, bx)
        south, north = min(ay, by), max(ay, by)
        is_level = south == north
        bend = 0
        if south <= y <= north:
            here = 0
            if west <= x <= east:
                here = _turn(ax, ay, bx, by, x, y)
                if here == 0:
                    corner = (x == ax and y == ay) or (x == bx and y == by)
                    return _ON if west == east or is_level or corner else _UNCLEAR
            if west <= rx <= east and not is_level:
                bend = _turn(ax, ay, bx, by, rx, y)
                if bend == 0:
                    return _UNCLEAR
            if (ay > y) != (by > y):
                rising = 1 if by > ay else -1
                from_here = -1 if x < west else 1 if x > east else -rising * here
                from_bend = -1 if rx < west else 1 if rx > east else -rising * bend
                odd ^= from_here != from_bend
        if (ax > rx) != (bx > rx):
            eastward = 1 if bx > ax else -1
            from_bend = -1 if y < south else 1 if y > north or is_level else eastward * bend
            from_reference = -1 if ry < south else 1 if ry > north else eastward * _turn(ax, ay, bx, by, rx, ry)
            if from_reference == 0:
                return _UNCLEAR
            odd ^= from_bend != from_reference
    return _OTHER if odd else _SAME


@njit
def holds(kind: int, edges: Edges, start: int, end: int, x: float, y: float) -> int:
    """Whether a piece has a point of its cell: 1, 0, or -1 if only the exact definition can say."""
    if kind == WHOLE:
        return 1
    if kind == DOUBT:
        west, south, east, north = edges[start, 0], edges[start, 1], edges[start, 2], edges[start, 3]
        return -1 if west <= x <= east and south <= y <= north else 0
    compared = _compare(edges, start, end, x, y)
    if compared == _UNCLEAR:
        return -1
    if compared == _ON:
        return 1
    return 1 if (kind == INSIDE) == (compared == _SAME) else 0


@njit
def _meets(edges: Edges, i: int, west: float, south: float, size: float) -> bool:
    """Whether an edge may come into a closed cell; false only if it surely does not."""
    ax, ay, bx, by = edges[i, 0], edges[i, 1], edges[i, 2], edges[i, 3]
    east, north = west + size, south + size
    if max(ax, bx) < west or min(ax, bx) > east or max(ay, by) < south or min(ay, by) > north:
        return False
    turn = _turn(ax, ay, bx, by, west, south)
    return (
        turn == 0
        or turn != _turn(ax, ay, bx, by, east, south)
        or turn != _turn(ax, ay, bx, by, west, north)
        or turn != _turn(ax, ay, bx, by, east, north)
    )


@njit
def _int_room(rows: Whole, needed: int) -> Whole:
    if needed <= len(rows):
        return rows
    made = np.empty((2 * needed, rows.shape[1]), np.int64)
    made[: len(rows)] = rows
    return made


@njit
def _float_room(rows: Edges, needed: int) -> Edges:
    if needed <= len(rows):
        return rows
    made = np.empty((2 * needed, rows.shape[1]), np.float64)
    made[: len(rows)] = rows
    return made


@njit
def bounds(edges: Edges) -> tuple[float, float, float, float]:
    """The westmost, southmost, eastmost and northmost of closed rings, without what is faint."""
    west, south, east, north = math.inf, math.inf, -math.inf, -math.inf
    for i in range(len(edges)):
        west, east = min(west, edges[i, 0]), max(east, edges[i, 0])
        south, north = min(south, edges[i, 1]), max(north, edges[i, 1])
    return distinct(west), distinct(south), distinct(east), distinct(north)


@njit
def distinct(coordinate: float) -> float:
    """The same coordinate, or 0 if it is faint."""
    return 0.0 if abs(coordinate) < _FAINT else coordinate


@njit
def _is_faint(edges: Edges) -> bool:
    faint = False
    for i in range(len(edges)):
        faint |= edges[i, 0] != distinct(edges[i, 0]) or edges[i, 1] != distinct(edges[i, 1])
    return faint


@njit
def _first_level(west: float, south: float, east: float, north: float) -> tuple[int, int]:
    """The level of the cells to begin with, at most a few, and the finest that they may be split to."""
    size = math.frexp(max(east - west, north - south))[1]
    # Finer cells than this, so far out, would have corners that are no longer numbers of their own.
    far = math.frexp(max(-west, east, -south, north))[1] - 40
    finest = _round_up(max(FINEST, far, size - _DEPTH))
    return max(_round_up(size - 1), finest), finest


@njit
def _round_up(level: int) -> int:
    """The next level that is used."""
    return -(-level // _STRIDE) * _STRIDE


@njit
def cut(edges: Edges, doubtful: bool) -> tuple[Whole, Edges]:
    """The pieces of an area, rows (level, x, y, kind, start, end), and what they keep, one after another.

    A piece keeps its reference, as a row (x, y, 0, 0), and then its edges. Every point of the area is in the cell of
    exactly one piece. A doubtful area is only its bounding box; one with faint corners is in doubt for all points that
    are level with it, as the definition is.
    """
    west, south, east, north = bounds(edges)
    if _is_faint(edges):
        return _in_quarters(np.array([TOP, 0, 0, DOUBT, 0, 1])), np.array([[-math.inf, south, math.inf, north]])
    if doubtful:
        kept = np.array([[west, south, east, north]])
    else:
        outside = np.array([[west - abs(west) - 1.0, south, 0.0, 0.0]])
        kept = np.concatenate((outside, edges))
    whole = np.array([TOP, 0, 0, DOUBT if doubtful else OUTSIDE, 0, len(kept)])
    if max(-west, east, -south, north) >= LIMIT:
        return _in_quarters(whole), kept
    level, finest = _first_level(west, south, east, north)
    size = math.ldexp(1.0, level)
    columns = (math.floor(west / size), math.floor(east / size))
    rows = (math.floor(south / size), math.floor(north / size))
    work = _spread((np.empty((32, 6), np.int64), kept, 0, len(kept)), whole, level, columns, rows)
    cells, _, count, _ = work
    alive, at = count, 0
    while at < count:
        many = cells[at, 5] - cells[at, 4] - 1
        if many > _FEW and cells[at, 0] > finest and alive + 4**_STRIDE <= _LEAST_PIECES + len(edges):
            parent = cells[at].copy()
            cells[at, 3] = _SPLIT
            work = _spread(work, parent, parent[0] - _STRIDE, _split(parent[1]), _split(parent[2]))
            alive += work[2] - count - 1
            cells, _, count, _ = work
        at += 1
    return _packed(work)


@njit
def _in_quarters(whole: Whole) -> Whole:
    """The whole of an area in each of the four cells of the top, which have no end."""
    cells = np.empty((4, 6), np.int64)
    for i in range(4):
        cells[i] = whole
        cells[i, 1], cells[i, 2] = i // 2 - 1, i % 2 - 1
    return cells


@njit
def _split(index: int) -> tuple[int, int]:
    """The first and the last of the smaller cells along a side of a cell."""
    return index << _STRIDE, ((index + 1) << _STRIDE) - 1


@njit
def _spread(work: _Work, parent: Whole, level: int, columns: tuple[int, int], rows: tuple[int, int]) -> _Work:
    """Add the pieces of a range of cells, given one whose edges are all that come into them."""
    cells, kept, count, end = work
    for x in range(columns[0], columns[1] + 1):
        for y in range(rows[0], rows[1] + 1):
            cells = _int_room(cells, count + 1)
            kept = _float_room(kept, end + parent[5] - parent[4] + 1)
            cells[count, 0], cells[count, 1], cells[count, 2] = level, x, y
            end = _fill(cells[count], kept, end, parent)
            if cells[count, 3] != OUTSIDE or cells[count, 4] != cells[count, 5]:
                count += 1
    return cells, kept, count, end


@njit
def _fill(cell: Whole, kept: Edges, begin: int, parent: Whole) -> int:
    """Make the piece of one cell from one around it; gives the new end of what is kept. Without edges, it has none."""
    cell[3], cell[4], cell[5] = parent[3], parent[4], parent[5]
    if parent[3] == DOUBT:
        return begin
    size = math.ldexp(1.0, cell[0])
    west, south = cell[1] * size, cell[2] * size
    end = _gather(kept, begin + 1, parent[4] + 1, parent[5], west, south, size)
    cell[4], cell[5] = begin, end if end > begin + 1 else begin
    for attempt in range(_TRIES):
        rx = (cell[1] + (0.5 + (attempt + 1) * _ACROSS) % 1.0) * size
        ry = (cell[2] + (0.5 + (attempt + 1) * _ALONG) % 1.0) * size
        compared = _compare(kept, parent[4], parent[5], rx, ry)
        if compared in (_SAME, _OTHER):
            kept[begin, 0], kept[begin, 1], kept[begin, 2], kept[begin, 3] = rx, ry, 0.0, 0.0
            cell[3] = parent[3] if compared == _SAME else INSIDE + OUTSIDE - parent[3]
            if cell[3] == INSIDE and cell[5] == begin:
                cell[3] = WHOLE
            return int(cell[5])
    kept[begin, 0], kept[begin, 1], kept[begin, 2], kept[begin, 3] = west, south, west + size, south + size
    cell[3], cell[5] = DOUBT, begin + 1
    return begin + 1


@njit
def _gather(kept: Edges, begin: int, start: int, end: int, west: float, south: float, size: float) -> int:
    """Copy the edges that come into a cell; gives the end of the copies."""
    for i in range(start, end):
        if _meets(kept, i, west, south, size):
            for k in range(4):
                kept[begin, k] = kept[i, k]
            begin += 1
    return begin


@njit
def _packed(work: _Work) -> tuple[Whole, Edges]:
    """Only what was not split."""
    cells, kept, count, _ = work
    cells = cells[np.flatnonzero(cells[:count, 3] != _SPLIT)]
    packed = np.empty((np.sum(cells[:, 5] - cells[:, 4]), 4), np.float64)
    end = 0
    for i in range(len(cells)):
        begin, start = end, cells[i, 4]
        end += cells[i, 5] - start
        for j in range(begin, end):
            for k in range(4):
                packed[j, k] = kept[start + j - begin, k]
        cells[i, 4], cells[i, 5] = begin, end
    return cells, packed
