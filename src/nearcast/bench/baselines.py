"""The plain ways to do what the kernel does, which it is measured beside.

They reckon on a plane, in metres, and only count what turned: no ids, no notifications, no exact geodesics.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import shapely

from nearcast.bench.workloads import Batch, Discs
from nearcast.model.layer import Layer
from nearcast.model.shape import Box, Polygon

__all__ = ["Crowd", "GridOfDiscs", "TreeOfDiscs", "TreeOfPolygons"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
CELL = 1000.0


class GridOfDiscs:
    """Cells of a kilometre, the discs of each in a list, all moves at once in NumPy."""

    def __init__(self, discs: Discs, side: float) -> None:
        self.discs = discs
        self.across = int(side / CELL) + 4
        west, east = self._index(discs.x - discs.radius), self._index(discs.x + discs.radius)
        south, north = self._index(discs.y - discs.radius), self._index(discs.y + discs.radius)
        high = north - south + 1
        count = (east - west + 1) * high
        disc, k = _repeated(count)
        key = (west[disc] + k // high[disc]) * self.across + south[disc] + k % high[disc]
        order = np.argsort(key, kind="stable")
        self.disc = disc[order]
        self.start = np.searchsorted(key[order], np.arange(self.across**2 + 1))

    def turned(self, batch: Batch) -> int:
        """How many discs the moves entered or left."""
        entered = self._inside(batch.x, batch.y, batch.old_x, batch.old_y)
        return entered + self._inside(batch.old_x, batch.old_y, batch.x, batch.y)

    def _inside(self, x: Reals, y: Reals, other_x: Reals, other_y: Reals) -> int:
        """How many discs hold the first points and not the others."""
        cell = self._index(x) * self.across + self._index(y)
        point, k = _repeated(self.start[cell + 1] - self.start[cell])
        disc = self.disc[self.start[cell][point] + k]
        inside = self._holds(disc, x[point], y[point]) & ~self._holds(disc, other_x[point], other_y[point])
        return int(np.count_nonzero(inside))

    def _holds(self, disc: Wholes, x: Reals, y: Reals) -> Flags:
        d = self.discs
        held: Flags = (d.x[disc] - x) ** 2 + (d.y[disc] - y) ** 2 <= d.radius[disc] ** 2
        return held

    def _index(self, metres: Reals) -> Wholes:
        return np.floor(metres / CELL).astype(np.int64).clip(-1, self.across - 2) + 1


class TreeOfDiscs:
    """Shapely's tree of the discs' boxes, and the distances to those that it finds."""

    def __init__(self, discs: Discs) -> None:
        self.discs = discs
        x, y, radius = discs.x, discs.y, discs.radius
        self.tree = shapely.STRtree(shapely.box(x - radius, y - radius, x + radius, y + radius))

    def turned(self, batch: Batch) -> int:
        return _differences(self._held(batch.x, batch.y), self._held(batch.old_x, batch.old_y))

    def at(self, x: float, y: float, old_x: float, old_y: float) -> int:
        """The same for one move, as one would write it."""
        return len(set(self._around(x, y)) ^ set(self._around(old_x, old_y)))

    def _around(self, x: float, y: float) -> list[int]:
        d, found = self.discs, self.tree.query(shapely.Point(x, y))
        inside = (d.x[found] - x) ** 2 + (d.y[found] - y) ** 2 <= d.radius[found] ** 2
        listed: list[int] = found[inside].tolist()
        return listed

    def _held(self, x: Reals, y: Reals) -> Wholes:
        point, disc = self.tree.query(shapely.points(x, y))
        d = self.discs
        inside = (d.x[disc] - x[point]) ** 2 + (d.y[disc] - y[point]) ** 2 <= d.radius[disc] ** 2
        pair: Wholes = point[inside] * len(d.x) + disc[inside]
        return pair


class TreeOfPolygons:
    """Shapely's tree of prepared polygons, asked which of them a point intersects."""

    def __init__(self, layers: list[Layer]) -> None:
        shapes = [r.geometry.shape for layer in layers for r in layer.regions]
        self.areas = [shape.planar for shape in shapes if isinstance(shape, (Box, Polygon))]
        shapely.prepare(self.areas)
        self.tree = shapely.STRtree(self.areas)

    def turned(self, batch: Batch) -> int:
        return _differences(self._held(batch.x, batch.y), self._held(batch.old_x, batch.old_y))

    def _held(self, x: Reals, y: Reals) -> Wholes:
        at = np.flatnonzero(~np.isnan(x))
        point, area = self.tree.query(shapely.points(x[at], y[at]), predicate="intersects")
        pair: Wholes = at[point] * len(self.areas) + area
        return pair


class Crowd:
    """Where everyone is; pairs and nearest are found anew after each batch, by what is on a plane."""

    def __init__(self, start: Batch, side: float) -> None:
        self.x, self.y, self.side = start.x.copy(), start.y.copy(), side
        self.known = np.zeros(0, np.int64)

    def pairs_turned(self, batch: Batch, metres: float) -> int:
        self._move(batch)
        before, self.known = self.known, pairs_within(self.x, self.y, metres, self.side)
        return _differences(before, self.known)

    def nearest_turned(self, batch: Batch, who: Wholes, k: int) -> int:
        self._move(batch)
        near = [np.argpartition((self.x - self.x[i]) ** 2 + (self.y - self.y[i]) ** 2, k + 1)[: k + 1] for i in who]
        before, self.known = self.known, (np.array(near) + np.arange(len(who))[:, None] * len(self.x)).ravel()
        return _differences(before, self.known)

    def _move(self, batch: Batch) -> None:
        self.x[batch.rows], self.y[batch.rows] = batch.x, batch.y


def pairs_within(x: Reals, y: Reals, metres: float, side: float) -> Wholes:
    """All pairs of points within a distance, as numbers: cells of that width, each joined with half its neighbours."""
    across, n = int(side / metres) + 4, len(x)
    cell = (np.floor(x / metres).astype(np.int64) + 1) * across + np.floor(y / metres).astype(np.int64) + 1
    order = np.argsort(cell, kind="stable")
    cell, x, y = cell[order], x[order], y[order]
    found = []
    for dx, dy in ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1)):
        beside = cell + dx * across + dy
        start, end = np.searchsorted(cell, beside), np.searchsorted(cell, beside, "right")
        if (dx, dy) == (0, 0):
            start = np.arange(n) + 1
        one, k = _repeated(end - start)
        other = start[one] + k
        near = (x[one] - x[other]) ** 2 + (y[one] - y[other]) ** 2 <= metres**2
        a, b = order[one[near]], order[other[near]]
        found.append(np.minimum(a, b) * n + np.maximum(a, b))
    return np.concatenate(found)


def _differences(before: Wholes, after: Wholes) -> int:
    return len(np.setxor1d(before, after, assume_unique=True))


def _repeated(count: Wholes) -> tuple[Wholes, Wholes]:
    """Each index as often as its count, and how many times it came before."""
    index = np.repeat(np.arange(len(count)), count)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
