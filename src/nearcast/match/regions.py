"""The regions of a layer as columns, with an index: which of them hold a point, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyproj

from nearcast.match.areas import AreaGrid
from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.discs import DiscGrid
from nearcast.match.names import Names
from nearcast.model.constraint import Interval
from nearcast.model.layer import LayerRegion
from nearcast.model.metric import Ground
from nearcast.model.shape import Box, Disc, Geometry, Point, Polygon
from nearcast.model.space import Metric

__all__ = ["NO_HEIGHTS", "Heights", "Regions", "Sites", "fits", "lengths"]

Reals = npt.NDArray[np.float64]
_WGS84 = pyproj.Geod(ellps="WGS84")


class Heights(NamedTuple):
    """Ranges of altitude and floor by row: least and greatest altitude, least and greatest floor; all closed."""

    asked: npt.NDArray[np.bool_]
    """Whether the altitude, and whether the floor, matters."""
    ranges: Reals


NO_HEIGHTS = Heights(np.zeros((0, 2), np.bool_), np.zeros((0, 4)))
"""Where heights do not matter."""


class Sites:
    """Shapes by row, with an index. The rows are the caller's."""

    def __init__(self, ground: Ground, earth: bool) -> None:
        self.ground, self.earth = ground, earth
        self.heights = NO_HEIGHTS
        self.discs = DiscGrid(earth)
        self.areas = AreaGrid(Metric.EARTH if earth else Metric.PLANAR)
        self.is_tall = False
        """Whether there is, or was, a shape whose height matters."""
        self._shapes: dict[int, Box | Polygon] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, rows: Sequence[int], geometries: Sequence[Geometry]) -> None:
        """Shapes for rows that have none."""
        self._size += len(rows)
        self._set_heights(rows, geometries)
        round_rows, round_values, areas = [], [], []
        for row, geometry in zip(rows, geometries, strict=True):
            shape = geometry.shape
            if isinstance(shape, (Point, Disc)):
                round_rows.append(row)
                round_values.append((shape.x, shape.y, shape.radius if isinstance(shape, Disc) else 0.0))
            else:
                areas.append((row, shape))
        self._shapes.update(areas)
        self.areas.insert_many(areas)
        if round_rows:
            self.discs.add(np.array(round_rows, np.int64), *np.array(round_values, np.float64).T)

    def put_discs(self, rows: npt.NDArray[np.int64], x: Reals, y: Reals, radius: Reals) -> None:
        """The same for discs of any height, as columns."""
        self._size += len(rows)
        self.heights.asked[rows[rows < len(self.heights.asked)]] = False
        self.discs.add(rows, x, y, radius)

    def take_out(self, rows: Sequence[int]) -> None:
        self._size -= len(rows)
        self.discs.remove(np.array([row for row in rows if row not in self._shapes], np.int64))
        for row in rows:
            if self._shapes.pop(row, None) is not None:
                self.areas.remove(row)

    def resolve(self, rows: npt.NDArray[np.int64], x: Reals, y: Reals) -> npt.NDArray[np.bool_]:
        """Whether each shape holds its point, by the definition: for those that the index is unsure of."""
        inside = np.zeros(len(rows), np.bool_)
        if not len(rows):
            return inside
        is_area = np.array([int(row) in self._shapes for row in rows])
        for i in np.flatnonzero(is_area):
            inside[i] = self.ground.covers(self._shapes[int(rows[i])], Point(float(x[i]), float(y[i])))
        rest = np.flatnonzero(~is_area)
        if len(rest):
            discs, at = self.discs.arrays, rows[rest]
            away = lengths(discs.x[at], discs.y[at], x[rest], y[rest], self.earth)
            inside[rest] = discs.radius[at] - away >= 0
        return inside

    def _set_heights(self, rows: Sequence[int], geometries: Sequence[Geometry]) -> None:
        """Note the heights that shapes ask for. Few do, so there are columns for them only once one does."""
        self.is_tall |= any(g.altitude or g.floor for g in geometries)
        if not self.is_tall:
            return
        asked, ranges = self.heights
        size = max(rows, default=-1) + 1
        self.heights = Heights(grown(asked, size, False), grown(ranges, size))
        for row, geometry in zip(rows, geometries, strict=True):
            for i, interval in enumerate((geometry.altitude, geometry.floor)):
                self.heights.asked[row, i] = interval is not None
                self.heights.ranges[row, 2 * i : 2 * i + 2] = _closed(interval) if interval else (-math.inf, math.inf)


class Regions(Sites):
    """The regions of a layer. A region's row is the code of its id, so it has the same row when it comes again."""

    def __init__(self, ground: Ground, earth: bool) -> None:
        super().__init__(ground, earth)
        self.ids = Names()
        self._here = np.zeros(16, np.bool_)
        self._held: dict[int, LayerRegion] = {}

    def add(self, regions: Sequence[LayerRegion]) -> None:
        """New regions; none of them is here yet."""
        rows = self._enter([r.id for r in regions]).tolist()
        self._held.update(zip(rows, regions, strict=True))
        self.put(rows, [r.geometry for r in regions])

    def add_discs(self, ids: Sequence[str], x: Reals, y: Reals, radius: Reals) -> None:
        """The same for discs of any height, as columns. A region is made of one when it is asked for."""
        self.put_discs(self._enter(ids), x, y, radius)

    def drop(self, ids: Iterable[str]) -> None:
        """Take out those of some ids that are here."""
        rows = [row for id_ in ids if (row := self.find(id_)) is not None]
        self._here[rows] = False
        for row in rows:
            self._held.pop(row, None)
        self.take_out(rows)

    def clear(self) -> None:
        self.drop([self.ids.text(row) for row in self.all_rows()])

    def find(self, id_: str) -> int | None:
        """The row of a region, if it is here."""
        row = self.ids.find(id_)
        return row if row >= 0 and self._here[row] else None

    def all_rows(self) -> list[int]:
        return np.flatnonzero(self._here).tolist()

    def part(self, ids: Iterable[str]) -> Regions:
        """Only those of some ids that are here, as a table of their own."""
        made = Regions(self.ground, self.earth)
        made.add([self.region(row) for id_ in ids if (row := self.find(id_)) is not None])
        return made

    def region(self, row: int) -> LayerRegion:
        found = self._held.get(row)
        if found is None:
            discs = self.discs.arrays
            disc = Disc(float(discs.x[row]), float(discs.y[row]), float(discs.radius[row]))
            found = self._held[row] = LayerRegion(self.ids.text(row), Geometry(disc))
        return found

    def _enter(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        rows = self.ids.codes(ids)
        self._here = grown(self._here, len(self.ids))
        self._here[rows] = True
        return rows


def lengths(x1: Reals, y1: Reals, x2: Reals, y2: Reals, earth: bool) -> Reals:
    """Distances as `Ground` measures them, many at once: the lesser point first."""
    if not earth:
        return np.array([math.hypot(a, b) for a, b in zip((x1 - x2).tolist(), (y1 - y2).tolist(), strict=True)])
    swap = (x1 > x2) | ((x1 == x2) & (y1 > y2))
    away = _WGS84.inv(np.where(swap, x2, x1), np.where(swap, y2, y1), np.where(swap, x1, x2), np.where(swap, y1, y2))[2]
    return np.asarray(away, np.float64)


def _closed(interval: Interval) -> tuple[float, float]:
    """The same numbers as a closed interval: what is open, or no float, ends at the next float inside."""
    low, high = -math.inf, math.inf
    if isinstance(interval.low, (int, float)):
        low = float(interval.low)
        if low < interval.low or not interval.low_closed:
            low = math.nextafter(low, math.inf)
    if isinstance(interval.high, (int, float)):
        high = float(interval.high)
        if high > interval.high or not interval.high_closed:
            high = math.nextafter(high, -math.inf)
    return low, high


@njit
def fits(heights: Heights, row: int, altitude: float, floor: float) -> bool:
    """Whether a position has the heights that a region asks for. What is missing does not fit."""
    asked, ranges = heights.asked, heights.ranges
    if asked[row, 0] and not ranges[row, 0] <= altitude <= ranges[row, 1]:
        return False
    return not (asked[row, 1] and not ranges[row, 2] <= floor <= ranges[row, 3])
