"""How far subscriptions reach around their owners, for those that no lane takes: who may match what is at a point."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from nearcast.match.clients import Clients
from nearcast.match.columns import Columns
from nearcast.match.globe import band
from nearcast.match.world import StatementKey

__all__ = ["Circles"]


class Circles(Columns):
    FIELDS: ClassVar = {"owner": (np.int64, -1), "reach": (np.float64, np.nan)}

    owner: npt.NDArray[np.int64]
    reach: npt.NDArray[np.float64]
    """The longest chord within reach."""

    def __init__(self, clients: Clients) -> None:
        super().__init__()
        self._clients = clients
        self._names: list[StatementKey] = []
        self._rows: dict[StatementKey, int] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def put(self, name: StatementKey, reach: float) -> None:
        row = self._rows.setdefault(name, len(self._names))
        if row == len(self._names):
            self._names.append(name)
            self.reserve(row + 1)
        self.owner[row] = self._clients.row(name[0])
        self.reach[row] = band(reach, self._clients.earth)[1] * (1 + 1e-9)

    def drop(self, name: StatementKey) -> None:
        """The last row takes the place of the one that goes."""
        row = self._rows.pop(name, None)
        if row is None:
            return
        last = self._names.pop()
        if last != name:
            end = len(self._names)
            self._names[row], self._rows[last] = last, row
            self.owner[row], self.reach[row] = self.owner[end], self.reach[end]

    def around(self, px: float, py: float, pz: float) -> list[StatementKey]:
        """Those whose owner may be within reach of a point in space."""
        n, c = len(self._names), self._clients.columns
        owner = self.owner[:n]
        squared = (c.px[owner] - px) ** 2 + (c.py[owner] - py) ** 2 + (c.pz[owner] - pz) ** 2
        return [self._names[row] for row in np.flatnonzero(squared <= self.reach[:n] ** 2)]
