"""Rows as they were found, to fixes as the kernel takes them. What cannot be read keeps its content, and says why.

The columns are ``client, time, lon, lat`` and, where there are, ``alt, floor, place, accuracy``; further columns are
attributes. A time is a timestamp, epoch seconds, or ISO 8601 text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nearcast.errors import ModelError, OpError, PipelineError, suggestion
from nearcast.match.fixes import Fixes
from nearcast.model.constraint import is_finite
from nearcast.model.moment import parse_time
from nearcast.model.region import check_said
from nearcast.model.schema import MOVES, TIME

__all__ = ["Bad", "FixDecoder", "fix_columns"]

Bad = tuple[str, str]
"""The content of a row that cannot be read, and why."""
NAMES = {"client": "client", "time": "time", "lon": "x", "lat": "y", "alt": "altitude", "floor": "floor",
         "accuracy": "accuracy", "place": "place"}  # fmt: skip
"""The columns of a file, and of `schema.MOVES`."""
NEEDED = ("client", "time")
CORRUPT = "_corrupt_record"
"""Where Spark puts a line that has not as many values as the header."""
ORIGINAL = "_original_record"
"""Where the text of a row is, if it says more than its columns."""
_MOST = 1_000_000_000_000


def fix_columns(found: Sequence[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """Which column of a file is which, by our names. Wrong or missing ones are an error that says what there is."""
    for name, theirs in renamed.items():
        if name not in NAMES:
            raise PipelineError(f"--columns: {name!r} is none of {', '.join(NAMES)}")
        if theirs not in found:
            raise PipelineError(f"--columns: there is no column {theirs!r}; there is {', '.join(found)}")
    columns = {name: renamed.get(name, name) for name in NAMES if renamed.get(name, name) in found}
    for name in (*NEEDED, *(("lon", "lat") if "place" not in columns else ())):
        if name not in columns:
            hint = suggestion(name, found) or f"there is {', '.join(found)}; say which with --columns {name}=..."
            raise PipelineError(f"the fixes have no column {name!r}: {hint}")
    return columns


@dataclass(frozen=True, slots=True)
class FixDecoder:
    columns: Mapping[str, str]
    """Our names, and those of the file."""
    attributes: tuple[tuple[str, type | None], ...] = ()
    """Further columns that are asked for, and whether as text."""
    earth: bool = True

    def on(self, earth: bool) -> FixDecoder:
        """The same for coordinates on the earth, or on a plane."""
        return replace(self, earth=earth)

    def __call__(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[Bad]]:
        """The fixes of a batch, and the rows that are none."""
        faults = _corrupt(batch)
        arrays = [self._column(batch, name, faults) for name in NAMES]
        by_name = dict(zip(NAMES.values(), arrays, strict=True))
        moves = pa.RecordBatch.from_arrays([by_name[f.name] for f in MOVES], names=MOVES.names)
        fixes = Fixes(moves.set_column(0, "client", _named_or_not(moves["client"])))
        for rows, reason in (*fixes.faults(), (self._off(fixes), "the coordinate is not on the earth")):
            for row in np.flatnonzero(rows).tolist() if np.any(rows) else ():
                faults.setdefault(row, reason)
        if self.attributes:
            said = _attributes(batch, self.attributes, faults)
            moves = moves.append_column("attributes", said)
        if not faults:
            return moves, []
        good = np.ones(len(batch), np.bool_)
        good[list(faults)] = False
        bad = [(_content(batch, row), faults[row]) for row in sorted(faults)]
        return moves.filter(pa.array(good)), bad

    def _off(self, fixes: Fixes) -> npt.NDArray[np.bool_]:
        return fixes.off_earth() if self.earth else np.zeros(len(fixes.time), np.bool_)

    def _column(self, batch: pa.RecordBatch, name: str, faults: dict[int, str]) -> pa.Array:
        theirs = self.columns.get(name)
        kind = MOVES.field(NAMES[name]).type
        if theirs is None:
            return pa.nulls(len(batch), kind)
        column = batch.column(batch.schema.get_field_index(theirs))
        if kind == pa.string():
            return column.cast(pa.string())
        if kind == TIME:
            return _read(column, _times, _time, pa.int64(), faults, name).cast(TIME)
        return _read(column, _numbers, float, pa.float64(), faults, name)


def _named_or_not(client: pa.StringArray) -> pa.DictionaryArray:
    """As much of a column of names as has to be checked: whether there is one."""
    lengths = pc.binary_length(client).fill_null(0)
    codes = pc.if_else(pc.greater(lengths, 0), pa.scalar(0, pa.int8()), pa.scalar(1, pa.int8()))
    return pa.DictionaryArray.from_arrays(codes, pa.array(["someone", ""]))


def _read(
    column: pa.Array,
    fast: Callable[[pa.Array], pa.Array],
    slow: Callable[[Any], Any],
    kind: pa.DataType,
    faults: dict[int, str],
    name: str,
) -> pa.Array:
    """All at once if all can be read, else one by one, and those that cannot be read are noted."""
    if pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), None, column)
    try:
        return fast(column)
    except (pa.ArrowException, ModelError):
        pass
    values: list[Any] = []
    for row, value in enumerate(column.to_pylist()):
        try:
            values.append(None if value is None else slow(value))
        except (ValueError, TypeError, ModelError):
            values.append(None)
            faults.setdefault(row, f"{name}: {value!r:.60} is not a {'time' if name == 'time' else 'number'}")
    return pa.array(values, kind)


def _numbers(column: pa.Array) -> pa.Array:
    return column.cast(pa.float64())


def _times(column: pa.Array) -> pa.Array:
    """Microseconds of a column of timestamps, of epoch seconds, or of text that is all of one or all of the other."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            return _micros(column)
        return column.cast(pa.timestamp("us", kind.tz)).view(pa.int64())
    if pa.types.is_string(kind):
        try:
            return _seconds(column.cast(pa.float64()))
        except pa.ArrowException:
            return _iso(column)
    return _seconds(column)


def _micros(column: pa.Array) -> pa.Array:
    """Of nanoseconds, the one that is not later."""
    nanos = column.view(pa.int64()).fill_null(0).to_numpy()
    return pa.array(nanos // 1000, mask=column.is_null().to_numpy(zero_copy_only=False))


def _iso(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.timestamp("us", "UTC")).view(pa.int64())
    except pa.ArrowException:
        return column.cast(pa.timestamp("us")).view(pa.int64())


def _seconds(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        if column.null_count < len(column) and pc.max(pc.abs_checked(column)).as_py() > _MOST:
            raise ModelError("some times are no seconds")
        return pc.multiply(column.cast(pa.int64()), 1_000_000)
    if not pa.types.is_floating(column.type):
        raise ModelError(f"a time is no {column.type}")
    seconds = column.cast(pa.float64())
    if column.null_count < len(column) and not pc.all(pc.less(pc.abs(seconds), _MOST)).as_py():
        raise ModelError("some times are no seconds")
    return pc.round(pc.multiply(seconds, 1e6)).cast(pa.int64())


def _time(value: Any) -> int:
    if isinstance(value, str):
        try:
            return parse_time(float(value))
        except ValueError:
            return parse_time(value)
    return parse_time(float(value))


def _attributes(
    batch: pa.RecordBatch, asked: Sequence[tuple[str, type | None]], faults: dict[int, str]
) -> pa.Array:  # fmt: skip
    """What the rows say further, as JSON text; what comes as text is a number or a truth where it looks like one."""
    columns = [(name, kind, batch.column(batch.schema.get_field_index(name)).to_pylist()) for name, kind in asked]
    rows = []
    for row in range(len(batch)):
        said = {name: _scalar(values[row], kind) for name, kind, values in columns if not _is_missing(values[row])}
        for name, value in said.items():
            if not isinstance(value, str) and not is_finite(value):
                faults.setdefault(row, f"{name} is not a finite number")
        try:
            check_said(said)
        except OpError as error:
            faults.setdefault(row, str(error))
        rows.append(json.dumps(said))
    return pa.array(rows, pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value != value  # noqa: PLR0124  # what is not a number


def _scalar(value: Any, kind: type | None) -> Any:
    if kind is str:
        return str(value)
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read if isinstance(read, (bool, int, float)) and is_finite(read) else value
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, (bool, int, float)) else str(value)


def _corrupt(batch: pa.RecordBatch) -> dict[int, str]:
    """The rows that had no columns to begin with."""
    at = batch.schema.get_field_index(CORRUPT)
    if at < 0 or batch.column(at).null_count == len(batch):
        return {}
    found = batch.column(at).is_valid().to_numpy(zero_copy_only=False)
    return dict.fromkeys(np.flatnonzero(found).tolist(), "the line cannot be read as the others are")


def _content(batch: pa.RecordBatch, row: int) -> str:
    """The row as it was found."""
    found = {name: batch.column(i)[row].as_py() for i, name in enumerate(batch.schema.names)}
    for name in (CORRUPT, ORIGINAL):
        if found.get(name) is not None:
            return str(found[name])
    return json.dumps({name: value for name, value in found.items() if value is not None}, default=str)
