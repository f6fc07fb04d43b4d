"""Subscriptions and open publications by row, for compiled loops: their names, and whose they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nearcast.match.columns import Columns, grown
from nearcast.match.names import Names

__all__ = ["Publications", "Register", "Subscriptions"]

Wholes = npt.NDArray[np.int64]
StatementKey = tuple[str, str]


class Register(Columns):
    """Rows of statements. A row that is given back is used again."""

    FIELDS: ClassVar = {"name": (np.int64, -1), "owner": (np.int64, -1)}

    name: Wholes
    """The code of its id."""
    owner: Wholes
    """The client's row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[StatementKey, int] = {}
        self._free: list[int] = []
        self._next = 0

    def enter(self, key: StatementKey, name: int, owner: int) -> int:
        """The row of a statement, made if it is new."""
        row = self.rows.get(key)
        if row is None:
            row = self._free.pop() if self._free else self._next
            self._next = max(self._next, row + 1)
            self.reserve(self._next)
            self.rows[key] = row
            self.name[row], self.owner[row] = name, owner
        return row

    def leave(self, key: StatementKey) -> int:
        row = self.rows.pop(key)
        self._free.append(row)
        return row


class Subscriptions(Register):
    FIELDS: ClassVar = {**Register.FIELDS, "hears": (np.bool_, False), "plain": (np.bool_, False)}

    hears: npt.NDArray[np.bool_]
    """It hears readings, and so no enters and leaves."""
    plain: npt.NDArray[np.bool_]
    """It says nothing of itself that its client does not."""


class Publications(Register):
    """Publications that go where their client goes: a list for each client."""

    FIELDS: ClassVar = {
        **Register.FIELDS, "next": (np.int64, -1), "content": (np.int64, 0), "guarded": (np.bool_, False),
        "tells_apart": (np.bool_, False),
    }  # fmt: skip

    next: Wholes
    """The next publication of the same client, or -1."""
    content: Wholes
    guarded: npt.NDArray[np.bool_]
    """Not everyone is let in."""
    tells_apart: npt.NDArray[np.bool_]
    """It may let in one subscription of a client, and not another that is like it."""

    def __init__(self) -> None:
        super().__init__()
        self.first = np.full(16, -1, np.int64)
        """By the client's row, its first publication, or -1."""
        self.watchers: list[Callable[[int], None]] = []
        """They are told the client's row after one of its publications was opened or closed."""
        self._contents = Names()
        self._contents.code("")

    def open(self, key: StatementKey, name: int, owner: int, content: str, *, guarded: bool = False) -> int:
        known = key in self.rows
        row = self.enter(key, name, owner)
        self.content[row], self.guarded[row] = self._contents.code(content), guarded
        if not known:
            self.first = grown(self.first, owner + 1, -1)
            self.next[row], self.first[owner] = self.first[owner], row
            self._tell(owner)
        return row

    def open_all(self, keys: list[StatementKey], name: int, owners: Wholes) -> None:
        """Open a publication without content for each of several clients that have none by that name."""
        rows = np.arange(self._next, self._next + len(keys))
        self._next += len(keys)
        self.reserve(self._next)
        self.rows.update(zip(keys, rows.tolist(), strict=True))
        self.name[rows], self.owner[rows], self.content[rows], self.guarded[rows] = name, owners, 0, False
        self.first = grown(self.first, int(owners.max()) + 1, -1)
        self.next[rows], self.first[owners] = self.first[owners], rows
        for owner in owners.tolist() if self.watchers else ():
            self._tell(owner)

    def close(self, key: StatementKey) -> None:
        row = self.leave(key)
        owner = self.owner[row]
        if self.first[owner] == row:
            self.first[owner] = self.next[row]
        else:
            before = self.first[owner]
            while self.next[before] != row:
                before = self.next[before]
            self.next[before] = self.next[row]
        self._tell(owner)

    def _tell(self, owner: int) -> None:
        for watcher in self.watchers:
            watcher(owner)

    def of(self, owner: int) -> list[int]:
        """The rows of a client's publications."""
        found, row = [], int(self.first[owner]) if owner < len(self.first) else -1
        while row >= 0:
            found.append(row)
            row = int(self.next[row])
        return found

    def content_text(self, row: int) -> str:
        """The content of a row; empty for what is no publication."""
        return self._contents.text(int(self.content[row])) if row >= 0 else ""

    def content_array(self, rows: Wholes) -> pa.Array:
        """The contents by row; empty for what is no publication."""
        codes = np.where(rows < 0, 0, self.content[rows])
        return self._contents.array.take(pa.array(codes))
