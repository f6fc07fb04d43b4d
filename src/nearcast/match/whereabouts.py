"""Where publications are, as columns: with their client, or at a point of their own.

What is certainly farther away than a subscription reaches need not be judged. This is a plain scan of columns, made
for what no lane takes; it only has to leave out, never to decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from nearcast.match.clients import Clients, space_point
from nearcast.match.columns import Columns
from nearcast.match.globe import band
from nearcast.match.world import StatementKey
from nearcast.model.region import Region
from nearcast.model.shape import Point

__all__ = ["Whereabouts"]


class Whereabouts(Columns):
    FIELDS: ClassVar = {
        "client": (np.int64, -1), "px": (np.float64, np.nan), "py": (np.float64, np.nan), "pz": (np.float64, np.nan),
        "anywhere": (np.bool_, False),
    }  # fmt: skip

    client: npt.NDArray[np.int64]
    """Whose position it has, or -1."""
    px: npt.NDArray[np.float64]
    """Its own point in space."""
    py: npt.NDArray[np.float64]
    pz: npt.NDArray[np.float64]
    anywhere: npt.NDArray[np.bool_]
    """It is an area, a place, or several of them: only the definition knows where."""

    def __init__(self, clients: Clients) -> None:
        super().__init__()
        self._clients = clients
        self._rows: dict[StatementKey, int] = {}
        self._keys: list[StatementKey | None] = []
        self._free: list[int] = []

    def put(self, key: StatementKey, regions: Iterable[Region], *, paused: bool = False) -> None:
        """What is paused matches nothing, and is nowhere: not even that it is looked at may tell where it is."""
        row = self._rows.get(key)
        if row is None:
            row = self._free.pop() if self._free else len(self._keys)
            self._keys += [None] * (row + 1 - len(self._keys))
            self.reserve(row + 1)
            self._rows[key], self._keys[row] = row, key
        located = [r for r in regions if r.geometry or r.place]
        geometry = located[0].geometry if len(located) == 1 else None
        point = geometry.shape if geometry and isinstance(geometry.shape, Point) else None
        self.client[row] = self._clients.row(key[0]) if not located and not paused else -1
        self.px[row], self.py[row], self.pz[row] = space_point(None if paused else point, self._clients.earth)
        self.anywhere[row] = bool(located) and point is None and not paused

    def carry(self, keys: list[StatementKey], clients: npt.NDArray[np.int64]) -> None:
        """Several new ones that go where their clients go."""
        rows = np.arange(len(self._keys), len(self._keys) + len(keys))
        self.reserve(len(self._keys) + len(keys))
        self._rows.update(zip(keys, rows.tolist(), strict=True))
        self._keys += keys
        self.client[rows], self.px[rows], self.anywhere[rows] = clients, np.nan, False

    def drop(self, key: StatementKey) -> None:
        row = self._rows.pop(key, None)
        if row is not None:
            self._keys[row] = None
            self.client[row], self.px[row], self.anywhere[row] = -1, np.nan, False
            self._free.append(row)

    def point(self, key: StatementKey) -> tuple[float, float, float] | None:
        """Where a publication is in space; not numbers if it is nowhere, nothing if only the definition knows."""
        row = self._rows[key]
        if self.anywhere[row]:
            return None
        client, c = int(self.client[row]), self._clients.columns
        if client >= 0:
            return float(c.px[client]), float(c.py[client]), float(c.pz[client])
        return float(self.px[row]), float(self.py[row]), float(self.pz[row])

    def within(self, owner: str, reach: float, of: Iterable[StatementKey] | None = None) -> list[StatementKey]:
        """The publications, or some of them, that may be within a reach of where a client is."""
        rows = np.arange(len(self._keys)) if of is None else np.array([self._rows[key] for key in of], np.int64)
        row, c = self._clients.names.find(owner), self._clients.columns
        maybe = self.anywhere[rows]
        if row >= 0 and not np.isnan(c.px[row]):
            carried = self.client[rows]
            squared = np.zeros(len(rows))
            for own, theirs in ((self.px, c.px), (self.py, c.py), (self.pz, c.pz)):
                squared += (np.where(carried < 0, own[rows], theirs[carried]) - theirs[row]) ** 2
            maybe |= squared <= band(reach, self._clients.earth)[1] ** 2 * (1 + 1e-9)
        return [key for at in rows[maybe] if (key := self._keys[at]) is not None]
