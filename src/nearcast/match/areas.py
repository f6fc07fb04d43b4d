"""Which areas have a point: a grid of cells of many sizes, each with the pieces of the areas that come into it.

An answer is sure or not. What is not sure, because the point is within a rounding error of an edge, at a pole or on
the antimeridian, must be asked of `Ground.covers`; sure answers are always the same as its answers. A point costs one
look into a hash table for every size of cells there is, and a comparison with the few edges near it for each area that
comes into its cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.cells import COUNT, FIRST, FREE, LEVEL, ROOM, X, Y, moved, new_keys, slot_of
from nearcast.match.compiled import njit
from nearcast.match.pieces import DOUBT, FINEST, LIMIT, TOP, Edges, Whole, bounds, cut, distinct, holds
from nearcast.model.shape import Box, Polygon
from nearcast.model.space import Metric

__all__ = ["AreaArrays", "AreaGrid", "areas_at"]

Area = Box | Polygon
Small = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]


class AreaArrays(NamedTuple):
    """A grid as compiled code sees it. Most arrays have room to spare; the header says how much of them is used."""

    header: Whole
    levels: Whole
    """The levels that have pieces, as many as the header says."""
    tally: Whole
    """For every level: how many pieces it has, and the most that one cell had."""
    spare: Whole
    """Where the first unused run of 2**i pieces is; its own first row says where the next is."""
    keys: Whole
    runs: Small
    """The hash table of cells, and where the pieces of each are: one after another, to be read fast."""
    pieces: Small
    """Rows (area, kind, start and end of what it keeps among the edges)."""
    hulls: npt.NDArray[np.uint8]
    """The bounding box of each piece's area, in 256ths of the cell, so that most others need not be looked at."""
    edges: Edges
    homes: Whole
    """The cells (x, y, level) of the areas' pieces."""
    areas: Whole
    """For every row: start and end of its homes, and of its edges."""


_ON_EARTH, _AREAS, _PIECES, _EDGES, _HOMES, _CELLS, _LEVELS, _LOST_EDGES, _LOST_HOMES = range(9)
_ROW, _KIND, _START, _END = range(4)

_NONE = -1
_SEAM, _POLES = TOP + 1, TOP + 2
"""Levels for what touches the antimeridian, in cell (0, 0), and the poles, in (0, -1) and (0, 1)."""
_NOTCH = 8
"""Bits of the position of a point in its cell that are compared with a hull."""
_SCALE = 2.0 ** (_NOTCH - FINEST)
_SHIFT = _NOTCH - FINEST
_SPARE = 1024
_NOTHING = 1e-250
"""Square units: an area so small may have been lost to rounding."""


# ---- looking up ----------------------------------------------------------------------------------


@njit
def areas_at(grid: AreaArrays, x: float, y: float, out_row: Small, out_sure: Bytes) -> int:
    """Write the rows of the areas that have a point (sure) or may have it (not sure), each once; gives how many.

    -1 if there is no room for them all, which cannot be with room for `AreaGrid.most`.
    """
    # Each array is taken out of the grid once, for every taking counts a reference.
    header, levels, keys, runs = grid.header, grid.levels, grid.keys, grid.runs
    pieces, hulls, edges = grid.pieces, grid.hulls, grid.edges
    at_rim = header[_ON_EARTH] != 0 and (abs(x) == 180.0 or abs(y) == 90.0)
    far = abs(x) >= LIMIT or abs(y) >= LIMIT
    faint = x != distinct(x) or y != distinct(y)
    x, y = distinct(x), distinct(y)
    fine_x, fine_y = _fine(x), _fine(y)
    found = 0
    for i in range(1 if at_rim else header[_LEVELS]):
        shift = levels[i] + _SHIFT
        if at_rim:
            slot = _rim_slot(keys, y)
        elif far and levels[i] != TOP:
            continue
        else:
            slot = slot_of(keys, levels[i], fine_x >> shift, fine_y >> shift)
        if keys[slot, LEVEL] == FREE:
            continue
        notch_x, notch_y = (fine_x >> (shift - _NOTCH)) & 255, (fine_y >> (shift - _NOTCH)) & 255
        first = runs[slot, FIRST]
        for at in range(first, first + runs[slot, COUNT]):
            if not (hulls[at, 0] <= notch_x <= hulls[at, 2] and hulls[at, 1] <= notch_y <= hulls[at, 3]):
                continue
            held = holds(pieces[at, _KIND], edges, pieces[at, _START], pieces[at, _END], x, y)
            if held != 0:
                if found == len(out_row):
                    return -1
                out_row[found] = pieces[at, _ROW]
                out_sure[found] = held == 1 and not faint
                found += 1
    return found


@njit
def _fine(x: float) -> int:
    """A coordinate as a whole number of the least that matters."""
    return math.floor(min(max(x, -LIMIT), LIMIT) * _SCALE)


@njit
def _rim_slot(keys: Whole, y: float) -> int:
    """The cell of a pole, if that is where a point of the rim is, or else of the antimeridian."""
    if abs(y) == 90.0:
        return slot_of(keys, _POLES, 0, 1 if y > 0 else -1)
    return slot_of(keys, _SEAM, 0, 0)


@njit
def _hits(grid: AreaArrays, xs: Floats, ys: Floats, most: int) -> tuple[Whole, Small, Bytes]:
    points = np.empty(len(xs) + most, np.int64)
    rows = np.empty(len(xs) + most, np.int32)
    sure = np.empty(len(xs) + most, np.int8)
    end = 0
    for i in range(len(xs)):
        if end + most > len(rows):
            points = np.concatenate((points, np.empty_like(points)))
            rows = np.concatenate((rows, np.empty_like(rows)))
            sure = np.concatenate((sure, np.empty_like(sure)))
        found = areas_at(grid, xs[i], ys[i], rows[end:], sure[end:])
        points[end : end + found] = i
        end += found
    return points[:end], rows[:end], sure[:end]


# ---- changing ------------------------------------------------------------------------------------


@njit
def _insert(
    grid: AreaArrays, rows: Whole, doubtful: Whole, ends: Whole, edges: Edges, done: int
) -> tuple[int, tuple[int, int, int]]:
    """Add areas from a position on; gives the position of the first without room, and the room that it needs."""
    for i in range(done, len(rows)):
        some = edges[ends[i - 1] if i else 0 : ends[i]]
        box = bounds(some)
        cells, kept = cut(some, doubtful[i] != 0)
        if grid.header[_ON_EARTH]:
            cells, kept = _with_rim(box, cells, kept)
        needs = (_pieces_needed(grid, cells), len(kept), len(cells))
        if not _has_room(grid, needs):
            return i, needs
        _store(grid, rows[i], box, cells, kept)
    return len(rows), (0, 0, 0)


@njit
def _with_rim(box: tuple[float, float, float, float], cells: Whole, kept: Edges) -> tuple[Whole, Edges]:
    """The same pieces with those at the rim of the map, where a point of the earth has more names than one."""
    west, south, east, north = box
    rim = np.empty((3, 6), np.int64)
    count = 0
    for level, y, touches in (
        (_SEAM, 0, west == -180.0 or east == 180.0),
        (_POLES, -1, south == -90.0),
        (_POLES, 1, north == 90.0),
    ):
        if touches:
            rim[count] = np.array([level, 0, y, DOUBT, len(kept), len(kept) + 1])
            count += 1
    if count == 0:
        return cells, kept
    belt = np.array([[-180.0, south, 180.0, north]])
    return np.concatenate((cells, rim[:count])), np.concatenate((kept, belt))


@njit
def _pieces_needed(grid: AreaArrays, cells: Whole) -> int:
    """How many rows of pieces are taken if the cells with no room left move elsewhere."""
    needed = 0
    for i in range(len(cells)):
        slot = slot_of(grid.keys, cells[i, 0], cells[i, 1], cells[i, 2])
        if grid.runs[slot, COUNT] == grid.runs[slot, ROOM]:
            needed += max(1, 2 * grid.runs[slot, ROOM])
    return needed


@njit
def _has_room(grid: AreaArrays, needs: tuple[int, int, int]) -> bool:
    header = grid.header
    pieces, kept, cells = needs
    return bool(
        header[_PIECES] + pieces <= len(grid.pieces)
        and header[_EDGES] + kept <= len(grid.edges)
        and header[_HOMES] + cells <= len(grid.homes)
        and 2 * (header[_CELLS] + cells) <= len(grid.keys)
    )


@njit
def _store(grid: AreaArrays, row: int, box: tuple[float, float, float, float], cells: Whole, kept: Edges) -> None:
    header, area = grid.header, grid.areas[row]
    home, edge = header[_HOMES], header[_EDGES]
    area[0], area[1], area[2], area[3] = home, home + len(cells), edge, edge + len(kept)
    grid.edges[edge : edge + len(kept)] = kept
    for i in range(len(cells)):
        level, x, y = cells[i, 0], cells[i, 1], cells[i, 2]
        key = grid.homes[home + i]
        key[X], key[Y], key[LEVEL] = x, y, level
        at = _appended(grid, key)
        made = grid.pieces[at]
        made[_ROW], made[_KIND], made[_START], made[_END] = row, cells[i, 3], edge + cells[i, 4], edge + cells[i, 5]
        hull = grid.hulls[at]
        hull[0], hull[1], hull[2], hull[3] = 0, 0, 255, 255
        if level < TOP:
            hull[0], hull[1] = _notch(box[0], level, x), _notch(box[1], level, y)
            hull[2], hull[3] = _notch(box[2], level, x), _notch(box[3], level, y)
    header[_HOMES] += len(cells)
    header[_EDGES] += len(kept)
    header[_AREAS] += 1


@njit
def _notch(coordinate: float, level: int, index: int) -> int:
    """Where in a cell a coordinate is, or the end of the cell that is nearest to it."""
    notch = (_fine(coordinate) >> (level - FINEST)) - (index << _NOTCH)
    return min(max(notch, 0), 255)


@njit
def _appended(grid: AreaArrays, key: Whole) -> int:
    """Where the next piece of a cell goes, behind those it has; all are moved if there is no room behind them."""
    slot = slot_of(grid.keys, key[LEVEL], key[X], key[Y])
    run = grid.runs[slot]
    if grid.keys[slot, LEVEL] == FREE:
        grid.keys[slot] = key
        grid.header[_CELLS] += 1
    if run[COUNT] == run[ROOM]:
        old, count, room = run[FIRST], run[COUNT], run[ROOM]
        run[ROOM] = max(1, 2 * room)
        run[FIRST] = _taken(grid, run[ROOM])
        for i in range(count):
            grid.pieces[run[FIRST] + i] = grid.pieces[old + i]
            grid.hulls[run[FIRST] + i] = grid.hulls[old + i]
        _give_back(grid, old, room)
    run[COUNT] += 1
    counts = grid.tally[key[LEVEL] - FINEST]
    counts[0] += 1
    counts[1] = max(counts[1], run[COUNT])
    if counts[0] == 1:
        _list_levels(grid)
    return int(run[FIRST] + run[COUNT] - 1)


@njit
def _order(room: int) -> int:
    order = 0
    while 1 << order < room:
        order += 1
    return order


@njit
def _taken(grid: AreaArrays, room: int) -> int:
    """A run of pieces that nobody has."""
    order = _order(room)
    first = grid.spare[order]
    if first == _NONE:
        first = grid.header[_PIECES]
        grid.header[_PIECES] += room
    else:
        grid.spare[order] = grid.pieces[first, _ROW]
    return int(first)


@njit
def _give_back(grid: AreaArrays, first: int, room: int) -> None:
    if room > 0:
        order = _order(room)
        grid.pieces[first, _ROW] = grid.spare[order]
        grid.spare[order] = first


@njit
def _drop(grid: AreaArrays, row: int, key: Whole) -> None:
    """Take an area's piece out of a cell; the last one takes its place."""
    slot = slot_of(grid.keys, key[LEVEL], key[X], key[Y])
    run = grid.runs[slot]
    last = run[FIRST] + run[COUNT] - 1
    at = run[FIRST]
    while grid.pieces[at, _ROW] != row:
        at += 1
    grid.pieces[at] = grid.pieces[last]
    grid.hulls[at] = grid.hulls[last]
    run[COUNT] -= 1
    if run[COUNT] == 0:
        _give_back(grid, run[FIRST], run[ROOM])
        run[ROOM] = 0
    counts = grid.tally[key[LEVEL] - FINEST]
    counts[0] -= 1
    if counts[0] == 0:
        counts[1] = 0
        _list_levels(grid)


@njit
def _list_levels(grid: AreaArrays) -> None:
    count = 0
    for level in range(FINEST, TOP + 1):
        if grid.tally[level - FINEST, 0] > 0:
            grid.levels[count] = level
            count += 1
    grid.header[_LEVELS] = count


@njit
def _remove(grid: AreaArrays, row: int) -> None:
    header, area = grid.header, grid.areas[row]
    for home in range(area[0], area[1]):
        _drop(grid, row, grid.homes[home])
    header[_LOST_HOMES] += area[1] - area[0]
    header[_LOST_EDGES] += area[3] - area[2]
    header[_AREAS] -= 1
    area[:] = _NONE


@njit
def _close_ranks(grid: AreaArrays, edges: Edges, homes: Whole) -> None:
    """Copy what is not lost of the edges and homes to other arrays, and say where it is now."""
    edge, home = 0, 0
    for row in range(len(grid.areas)):
        first_home, last_home, first, last = grid.areas[row]
        if first_home == _NONE:
            continue
        homes[home : home + last_home - first_home] = grid.homes[first_home:last_home]
        edges[edge : edge + last - first] = grid.edges[first:last]
        for i in range(first_home, last_home):
            run = grid.runs[slot_of(grid.keys, grid.homes[i, LEVEL], grid.homes[i, X], grid.homes[i, Y])]
            at = run[FIRST]
            while grid.pieces[at, _ROW] != row:
                at += 1
            grid.pieces[at, _START] += edge - first
            grid.pieces[at, _END] += edge - first
        area = grid.areas[row]
        area[0], area[1] = home, home + last_home - first_home
        area[2], area[3] = edge, edge + last - first
        home, edge = area[1], area[3]
    header = grid.header
    header[_EDGES], header[_HOMES], header[_LOST_EDGES], header[_LOST_HOMES] = edge, home, 0, 0


class AreaGrid:
    """Areas by rows that the caller chooses, small whole numbers. Adding or removing one leaves the others alone."""

    def __init__(self, metric: Metric) -> None:
        header = np.zeros(9, np.int64)
        header[_ON_EARTH] = metric is Metric.EARTH
        self.arrays = AreaArrays(
            header=header,
            levels=np.zeros(_POLES - FINEST + 1, np.int64),
            tally=np.zeros((_POLES - FINEST + 1, 2), np.int64),
            spare=np.full(32, _NONE, np.int64),
            keys=new_keys(_SPARE),
            runs=np.zeros((_SPARE, 3), np.int32),
            pieces=np.zeros((_SPARE, 4), np.int32),
            hulls=np.zeros((_SPARE, 4), np.uint8),
            edges=np.zeros((_SPARE, 4), np.float64),
            homes=np.zeros((_SPARE, 3), np.int64),
            areas=np.full((_SPARE, 4), _NONE, np.int64),
        )

    def __len__(self) -> int:
        return int(self.arrays.header[_AREAS])

    def __contains__(self, row: int) -> bool:
        return 0 <= row < len(self.arrays.areas) and bool(self.arrays.areas[row, 0] != _NONE)

    @property
    def most(self) -> int:
        """No point is in, or in doubt about, more areas than this."""
        crowds = self.arrays.tally[:, 1]
        inner, rim = crowds[: _SEAM - FINEST], crowds[_SEAM - FINEST :]
        return int(min(len(self), max(inner.sum(), rim.max())))

    def insert(self, row: int, area: Area) -> None:
        self.insert_many([(row, area)])

    def insert_many(self, areas: Iterable[tuple[int, Area]]) -> None:
        """Add areas at free rows; many at once take far less time than one after the other."""
        given = dict(areas)
        for row in given:
            if row < 0 or row in self:
                raise ValueError(f"row {row} cannot be given to another area")
        if not given:
            return
        self._reserve("areas", max(given) + 1, _NONE)
        rows = np.array(list(given), np.int64)
        doubtful = np.array([_has_no_area(area) for area in given.values()], np.int64)
        edges = [area.edges for area in given.values()]
        ends = np.cumsum([len(some) for some in edges], dtype=np.int64)
        together = np.concatenate(edges)
        done, needs = _insert(self.arrays, rows, doubtful, ends, together, 0)
        while done < len(rows):
            self._make_room(needs)
            done, needs = _insert(self.arrays, rows, doubtful, ends, together, done)

    def remove(self, row: int) -> None:
        if row not in self:
            raise KeyError(row)
        _remove(self.arrays, row)
        header = self.arrays.header
        if 2 * header[_LOST_HOMES] > len(self.arrays.homes) or 2 * header[_LOST_EDGES] > len(self.arrays.edges):
            edges, homes = np.zeros_like(self.arrays.edges), np.zeros_like(self.arrays.homes)
            _close_ranks(self.arrays, edges, homes)
            self.arrays = self.arrays._replace(edges=edges, homes=homes)

    def hits(self, xs: Floats, ys: Floats) -> tuple[Whole, Small, Bytes]:
        """For many points: the position of the point, the row of an area, and whether that it has the point is sure."""
        return _hits(self.arrays, np.ascontiguousarray(xs, np.float64), np.ascontiguousarray(ys, np.float64), self.most)

    def tables(self) -> dict[str, npt.NDArray[np.generic]]:
        """All there is, to be saved."""
        return dict(self.arrays._asdict())

    @classmethod
    def restore(cls, tables: Mapping[str, npt.NDArray[np.generic]]) -> AreaGrid:
        """A grid from what `tables` gave; it shares nothing with it."""
        made = cls.__new__(cls)
        made.arrays = AreaArrays(**{name: np.array(tables[name], order="C") for name in AreaArrays._fields})
        return made

    def _make_room(self, needs: tuple[int, int, int]) -> None:
        """Let there be twice the room that one more area needs for its pieces, edges and cells, where there is none."""
        used = self.arrays.header
        pieces, edges, cells = needs
        for name, needed in (
            ("pieces", used[_PIECES] + pieces),
            ("hulls", used[_PIECES] + pieces),
            ("edges", used[_EDGES] + edges),
            ("homes", used[_HOMES] + cells),
        ):
            self._reserve(name, int(needed), 0)
        if 2 * (used[_CELLS] + cells) > len(self.arrays.keys):
            keys = new_keys(1 << int(4 * (used[_CELLS] + cells)).bit_length())
            runs = np.zeros((len(keys), 3), np.int32)
            used[_CELLS] = moved(self.arrays.keys, self.arrays.runs, keys, runs)
            self.arrays = self.arrays._replace(keys=keys, runs=runs)

    def _reserve(self, name: str, needed: int, fill: int) -> None:
        held = getattr(self.arrays, name)
        if needed > len(held):
            more = np.full((2 * needed - len(held), held.shape[1]), fill, held.dtype)
            self.arrays = self.arrays._replace(**{name: np.concatenate((held, more))})


def _has_no_area(area: Area) -> bool:
    """Whether a box is a line or a point; then it has no inside, and rounding alone decides what is on it."""
    if isinstance(area, Polygon):
        return False
    return any((ring[1][0] - ring[0][0]) * (ring[2][1] - ring[1][1]) < _NOTHING for (ring,) in area.rings())
