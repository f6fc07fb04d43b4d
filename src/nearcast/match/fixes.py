"""Fixes as the columns of a batch: checked all at once, and brought to the form that a kernel takes runs in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nearcast.errors import ModelError, OpError
from nearcast.match.clients import Clients
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.moment import LIMIT
from nearcast.model.place import Place
from nearcast.model.schema import TIME
from nearcast.model.shape import FARTHEST, Point

__all__ = ["Fixes"]

Bools = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Faults = Iterator[tuple[Bools, str]]
"""Rows, and what is wrong with them."""

_NUMBERS = ("x", "y", "altitude", "floor", "accuracy")
X, Y, ACCURACY = 0, 1, 4


class Fixes:
    """The fixes of a batch, by its rows. Rows that are no fixes, or bad ones, have any values."""

    row: Wholes
    """Whose. Known once they are entered."""
    path: Wholes
    """The codes of places, or -1."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._n = len(batch)
        self._client, self._names = _distinct(batch, "client")
        self._place, self._paths = _distinct(batch, "place", needed=False)
        time = _column(batch, "time", TIME)
        self._untimed = _missing(time)
        self.time = _numpy(time.view(pa.int64()), 0).copy()  # compiled loops know only what may be written to
        self.position = np.empty((self._n, len(_NUMBERS)))
        self._unknown: list[Bools | bool] = []
        for i, name in enumerate(_NUMBERS):
            column = _column(batch, name, pa.float64(), needed=i in (X, Y))
            self._unknown.append(_missing(column))
            self.position[:, i] = np.nan if column.null_count == self._n else _numpy(column, np.nan)

    @property
    def located(self) -> Bools:
        """The rows that say where someone is."""
        located: Bools = ~(self._rows(self._unknown[X]) & self._rows(self._unknown[Y]) & (self._place < 0))
        return located

    # ---- what is wrong ---------------------------------------------------------------------------

    def faults(self) -> Faults:
        """What no position may have, wherever it is."""
        nameless = np.flatnonzero(pc.equal(self._names, ""))
        yield (
            (self._client < 0) | (np.isin(self._client, nameless) if len(nameless) else False),
            "the client is missing",
        )
        yield self._rows(self._untimed), "the time is missing"
        yield (self.time < -LIMIT) | (self.time > LIMIT), "the time does not fit in 64 bits"
        for i, name in enumerate(_NUMBERS):
            unknown = self._unknown[i]
            if unknown is not True:
                infinite = ~np.isfinite(self.position[:, i])
                yield infinite & ~unknown if unknown is not False else infinite, f"{name} is not a finite number"
        yield from self._coordinate_faults()
        if self._unknown[ACCURACY] is not True:
            yield self.position[:, ACCURACY] < 0, "accuracy is negative; it is a radius in metres"
        for code, path in enumerate(self._paths.to_pylist()):
            if reason := _path_fault(path):
                yield self._place == code, reason

    def _coordinate_faults(self) -> Faults:
        no_x, no_y = self._unknown[X], self._unknown[Y]
        if no_x is not False or no_y is not False:
            yield self._rows(no_x) != self._rows(no_y), "a coordinate needs both x and y"
            yield ~self.located, "a fix needs x and y, or a place"
        yield self._beyond(FARTHEST, FARTHEST), "the coordinate is too far away"

    def off_earth(self) -> Bools:
        """Where the coordinates are not a longitude and a latitude."""
        return self._beyond(180, 90)

    def point(self, i: int) -> Point | None:
        x, y = self.position[i, :2]
        return None if np.isnan(x) else Point(float(x), float(y))

    def _beyond(self, x: float, y: float) -> Bools:
        """What is missing is not beyond anything."""
        far: Bools = np.abs(self.position[:, X]) > x
        far |= np.abs(self.position[:, Y]) > y
        return far

    def _rows(self, mask: Bools | bool) -> Bools:
        return np.full(self._n, mask) if isinstance(mask, bool) else mask

    # ---- into a kernel -----------------------------------------------------------------------------

    def enter(self, clients: Clients) -> None:
        """Find the rows of their clients, made where they are new, and the codes of their places."""
        self.row = _mapped(self._client, clients.rows_of(self._names))
        self.path = _mapped(self._place, clients.paths.codes_of(self._paths))
        self._clients = clients

    def move(self, i: int) -> ops.Move:
        heights = (None if np.isnan(number) else float(number) for number in self.position[i, 2:])
        place = None if self.path[i] < 0 else self._clients.paths.text(int(self.path[i]))
        name = self._clients.names.text(int(self.row[i]))
        return ops.Move(int(self.time[i]), name, Position(self.point(i), place, *heights))


def _column(batch: pa.RecordBatch, name: str, kind: pa.DataType, *, needed: bool = True) -> pa.Array:
    at = batch.schema.get_field_index(name)
    if at < 0:
        if needed:
            raise OpError("the column is missing", name)
        return pa.nulls(len(batch), kind)
    column = batch.column(at)
    try:
        return column if column.type == kind else column.cast(kind)
    except pa.ArrowException:
        raise OpError(f"the column has {column.type}, and not {kind}", name) from None


def _distinct(batch: pa.RecordBatch, name: str, *, needed: bool = True) -> tuple[npt.NDArray[Any], pa.StringArray]:
    """A column of text as codes, -1 where it is null, and what they stand for."""
    at = batch.schema.get_field_index(name)
    column = batch.column(at) if at >= 0 else None
    if column is None or not pa.types.is_dictionary(column.type):
        column = _column(batch, name, pa.string(), needed=needed).dictionary_encode()
    codes, texts = _numpy(column.indices, -1), column.dictionary.cast(pa.string())
    if len(texts) > len(batch):  # the batch is a part of something larger
        used = np.unique(codes[codes >= 0])
        renamed = np.full(len(texts) + 1, -1, np.int64)
        renamed[used] = np.arange(len(used))
        codes, texts = renamed[codes], texts.take(pa.array(used))
    if texts.null_count:
        codes = np.where(np.isin(codes, np.flatnonzero(texts.is_null())), -1, codes)
    return codes, texts.fill_null("")


def _mapped(codes: npt.NDArray[Any], known: Wholes) -> Wholes:
    """The kernel's own codes instead of the batch's; -1 where there is nothing."""
    found: Wholes = np.append(known, -1)[codes]
    return found


def _path_fault(path: str) -> str:
    try:
        Place(path)
    except ModelError as error:
        return str(error)
    return ""


def _numpy(column: pa.Array, missing: float) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = (column.fill_null(missing) if column.null_count else column).to_numpy()
    return values


def _missing(column: pa.Array) -> Bools | bool:
    if column.null_count in (0, len(column)):
        return bool(column.null_count)
    found: Bools = column.is_null().to_numpy(zero_copy_only=False)
    return found
