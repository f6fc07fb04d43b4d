"""Clients as columns. The row of a client is the code of its name, and stays when the client is forgotten.

What every client has is a column; what few have (attributes, a lease, fixes held back) is kept beside, by row. A
`Row` is one client as the rest of the engine knows it: it reads and writes the columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, MutableMapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nearcast.match.columns import NO_TIME, Columns
from nearcast.match.globe import in_space
from nearcast.match.names import Names
from nearcast.match.world import Client
from nearcast.model.constraint import Scalar
from nearcast.model.fix import Fix, Position
from nearcast.model.moment import NEVER, Moment
from nearcast.model.shape import Point

__all__ = ["ClientColumns", "Clients", "Times"]

NAN = math.nan
Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


class ClientColumns(Columns):
    """The columns, by row. A coordinate or height that is missing is not a number; a time that never was, `NO_TIME`."""

    FIELDS: ClassVar = {
        "here": (np.bool_, False), "plain": (np.bool_, True),
        "clock": (np.int64, NO_TIME), "last": (np.int64, NO_TIME), "seen": (np.int64, NO_TIME),
        "fixed": (np.int64, NO_TIME), "x": (np.float64, NAN), "y": (np.float64, NAN),
        "altitude": (np.float64, NAN), "floor": (np.float64, NAN), "accuracy": (np.float64, NAN),
        "place": (np.int64, -1),
        "before": (np.int64, NO_TIME), "before_x": (np.float64, NAN), "before_y": (np.float64, NAN),
        "px": (np.float64, NAN), "py": (np.float64, NAN), "pz": (np.float64, NAN),
    }  # fmt: skip

    here: npt.NDArray[np.bool_]
    """It exists: it did something, and was not forgotten since."""
    plain: npt.NDArray[np.bool_]
    """It has no lease and no lateness window, so its fixes need nothing but to be applied."""
    clock: Wholes
    last: Wholes
    """The time of its last fix, even if it was forgotten since."""
    seen: Wholes
    fixed: Wholes
    """The time of its present fix."""
    x: Reals
    y: Reals
    altitude: Reals
    floor: Reals
    accuracy: Reals
    place: Wholes
    """The code of the path that the fix names, or -1."""
    before: Wholes
    """The time of the fix before, and its coordinates."""
    before_x: Reals
    before_y: Reals
    px: Reals
    """The position in space, as `globe` has it."""
    py: Reals
    pz: Reals


class Row(Client):
    """One client: a `Client` whose fix and times are columns."""

    __slots__ = ("_clients", "row")

    def __init__(self, clients: Clients, row: int) -> None:
        self._clients = clients
        self.row = row

    @property
    def fix(self) -> Fix | None:
        c, row = self._clients.columns, self.row
        if c.fixed[row] == NO_TIME:
            return None
        point = None if np.isnan(c.x[row]) else Point(float(c.x[row]), float(c.y[row]))
        heights = (_number(c.altitude[row]), _number(c.floor[row]), _number(c.accuracy[row]))
        place = None if c.place[row] < 0 else self._clients.paths.text(int(c.place[row]))
        return Fix(Position(point, place, *heights), int(c.fixed[row]))

    @fix.setter
    def fix(self, fix: Fix | None) -> None:
        self._clients.place(self.row, fix)

    @property
    def previous(self) -> Fix | None:
        """Of the fix before, only the coordinates are known; nothing else is asked of it."""
        c, row = self._clients.columns, self.row
        if c.before[row] == NO_TIME or np.isnan(c.before_x[row]):
            return None
        return Fix(Position(Point(float(c.before_x[row]), float(c.before_y[row]))), int(c.before[row]))

    @previous.setter
    def previous(self, fix: Fix | None) -> None:
        c, row, point = self._clients.columns, self.row, fix.position.point if fix else None
        c.before[row] = fix.time if fix else NO_TIME
        c.before_x[row], c.before_y[row] = (point.x, point.y) if point else (NAN, NAN)

    @property
    def seen(self) -> Moment:
        return _moment(self._clients.columns.seen[self.row])

    @seen.setter
    def seen(self, moment: Moment) -> None:
        self._clients.columns.seen[self.row] = moment if moment != NEVER else NO_TIME

    @property
    def attributes(self) -> dict[str, Scalar]:
        return self._clients.attributes.setdefault(self.row, {})

    @attributes.setter
    def attributes(self, attributes: dict[str, Scalar]) -> None:
        self._clients.attributes[self.row] = attributes

    @property
    def lease(self) -> int | None:
        return self._clients.leases.get(self.row)

    @lease.setter
    def lease(self, lease: int | None) -> None:
        self._clients.set_odd(self._clients.leases, self.row, lease)

    @property
    def lateness(self) -> int | None:
        return self._clients.windows.get(self.row)

    @lateness.setter
    def lateness(self, window: int | None) -> None:
        self._clients.set_odd(self._clients.windows, self.row, window)

    @property
    def held(self) -> list[Fix]:
        return self._clients.held.setdefault(self.row, [])

    @held.setter
    def held(self, held: list[Fix]) -> None:
        """Nothing is kept of nothing: a tick looks at every client that has an entry."""
        if held:
            self._clients.held[self.row] = held
        else:
            self._clients.held.pop(self.row, None)

    @property
    def newest(self) -> Moment:
        return self._clients.newest.get(self.row, NEVER)

    @newest.setter
    def newest(self, moment: Moment) -> None:
        self._clients.newest[self.row] = moment


class Clients(MutableMapping[str, Client]):
    """All clients, by name, as the world knows them."""

    def __init__(self, lateness: int) -> None:
        self.names = Names()
        self.columns = ClientColumns()
        self.earth = True
        self.everyone_late = lateness > 0
        """Whether fixes are held back unless a client says otherwise."""
        self.columns.plain[:] = not self.everyone_late
        self.attributes: dict[int, dict[str, Scalar]] = {}
        self.paths = Names()
        """Of places that fixes name."""
        self.leases: dict[int, int] = {}
        self.windows: dict[int, int] = {}
        self.held: dict[int, list[Fix]] = {}
        self.newest: dict[int, Moment] = {}
        self._alive = 0

    def row(self, name: str) -> int:
        """The row of a name, whether or not there is such a client."""
        row = self.names.code(name)
        self._reserve(row + 1)
        return row

    def rows(self, names: list[str]) -> Wholes:
        rows = self.names.codes(names)
        self._reserve(len(self.names))
        return rows

    def rows_of(self, names: pa.StringArray | pa.ChunkedArray) -> Wholes:
        """The rows of a column of names."""
        rows = self.names.codes_of(names)
        self._reserve(len(self.names))
        return rows

    def _reserve(self, size: int) -> None:
        """Make room for so many rows. Fixes of clients that are not known yet are held back if everyone's are."""
        known = self.columns.capacity
        self.columns.reserve(size)
        self.columns.plain[known:] = not self.everyone_late

    def __getitem__(self, name: str) -> Client:
        row = self.names.find(name)
        if row < 0 or not self.columns.here[row]:
            raise KeyError(name)
        return Row(self, row)

    def __setitem__(self, name: str, client: Client) -> None:
        made = self._enter(name)
        for field in ("attributes", "fix", "previous", "seen", "lease", "lateness", "held", "newest"):
            setattr(made, field, getattr(client, field))

    def setdefault(self, name: str, client: Client | None = None) -> Client:
        if name not in self:
            self[name] = client or Client()
        return self[name]

    def __contains__(self, name: object) -> bool:
        row = self.names.find(name) if isinstance(name, str) else -1
        return row >= 0 and bool(self.columns.here[row])

    def __delitem__(self, name: str) -> None:
        """Forget it. Its clock and the time of its last fix stay, since what it sent before may come again."""
        row = self.names.find(name)
        if row < 0 or not self.columns.here[row]:
            raise KeyError(name)
        c = self.columns
        c.here[row], c.seen[row], c.fixed[row], c.before[row] = False, NO_TIME, NO_TIME, NO_TIME
        self.place(row, None)
        for kept in (self.attributes, self.leases, self.windows, self.held, self.newest):
            kept.pop(row, None)
        c.plain[row] = not self.everyone_late

    def pop(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        row = self[name]
        gone = Client(held=list(row.held))
        del self[name]
        return gone

    def __iter__(self) -> Iterator[str]:
        n = len(self.names)
        return iter([self.names.text(int(row)) for row in np.flatnonzero(self.columns.here[:n])])

    def __len__(self) -> int:
        return int(np.count_nonzero(self.columns.here[: len(self.names)]))

    def within(self, west: float, south: float, east: float, north: float) -> list[str]:
        """Those whose coordinates are in a box."""
        x, y = self.columns.x, self.columns.y
        rows = np.flatnonzero((x >= west) & (x <= east) & (y >= south) & (y <= north))
        return [self.names.text(row) for row in rows.tolist()]

    def place(self, row: int, fix: Fix | None) -> None:
        """Put a client where its fix says."""
        c, position = self.columns, fix.position if fix else None
        point = position.point if position else None
        c.fixed[row] = fix.time if fix else NO_TIME
        c.x[row], c.y[row] = (point.x, point.y) if point else (NAN, NAN)
        c.px[row], c.py[row], c.pz[row] = space_point(point, self.earth)
        for name in ("altitude", "floor", "accuracy"):
            value = getattr(position, name) if position else None
            getattr(c, name)[row] = NAN if value is None else value
        c.place[row] = self.path_code(position.place if position else None)

    def path_code(self, path: str | None) -> int:
        return -1 if path is None else self.paths.code(path)

    def set_odd(self, kept: dict[int, int], row: int, value: int | None) -> None:
        """Note a lease or a lateness window; a client with one is not plain."""
        if value is None:
            kept.pop(row, None)
        else:
            kept[row] = value
        window = self.windows.get(row)
        late = self.everyone_late if window is None else window > 0
        self.columns.plain[row] = row not in self.leases and not late and not self.held.get(row)

    def _enter(self, name: str) -> Row:
        row = self.row(name)
        self.columns.here[row] = True
        made = Row(self, row)
        self.set_odd(self.windows, row, None)
        return made


class Times(MutableMapping[str, int]):
    """A column of times, by the client's name."""

    def __init__(self, clients: Clients, column: str) -> None:
        self._clients = clients
        self._column = column

    def __getitem__(self, name: str) -> int:
        row = self._clients.names.find(name)
        time = getattr(self._clients.columns, self._column)[row] if row >= 0 else NO_TIME
        if time == NO_TIME:
            raise KeyError(name)
        return int(time)

    def __setitem__(self, name: str, time: int) -> None:
        row = self._clients.row(name)
        getattr(self._clients.columns, self._column)[row] = time

    def __delitem__(self, name: str) -> None:
        self[name] = NO_TIME

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._clients.names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def space_point(point: Point | None, earth: bool) -> tuple[float, float, float]:
    if point is None:
        return NAN, NAN, NAN
    return in_space(point.x, point.y) if earth else (point.x, point.y, 0.0)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _moment(time: int) -> Moment:
    return NEVER if time == NO_TIME else int(time)
