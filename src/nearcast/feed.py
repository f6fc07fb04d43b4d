"""Ops as Arrow batches in, notifications as Arrow batches out.

A row is a fix, given by its columns, or a line of the op log. Fixes that follow each other are applied as one run where
the kernel can, and one by one where it cannot. What is told is the same, in the order of the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, overload

import numpy as np
import pyarrow as pa

from nearcast.errors import NearcastError, RowError
from nearcast.language.oplog import decode_op, json_text
from nearcast.match.fixes import Bools, Fixes
from nearcast.match.kernel import Kernel
from nearcast.model import op as ops
from nearcast.model import schema
from nearcast.model.notification import Cause, Kind, Notification, Reason
from nearcast.model.space import Metric

__all__ = ["apply_batch", "notification_batch", "notifications_of", "stretches"]


@overload
def apply_batch(
    kernel: Kernel, batch: pa.RecordBatch, *, evidence: bool = False, on_error: Literal["raise"] = "raise"
) -> pa.RecordBatch: ...


@overload
def apply_batch(
    kernel: Kernel, batch: pa.RecordBatch, *, evidence: bool = False, on_error: Literal["skip"]
) -> tuple[pa.RecordBatch, pa.RecordBatch]: ...


def apply_batch(
    kernel: Kernel, batch: pa.RecordBatch, *, evidence: bool = False, on_error: Literal["raise", "skip"] = "raise"
) -> pa.RecordBatch | tuple[pa.RecordBatch, pa.RecordBatch]:
    """Apply a batch of `schema.MOVES` or `schema.OPS`, and give what it told, as `schema.NOTIFICATIONS`.

    ``why`` is null where fixes were applied as a run, which finds out no more than it must. With ``evidence`` they are
    applied one by one, and it is always there. Of a line, its own client and time count, not those of its row.

    A row that cannot be read raises `RowError`, and nothing of the batch is applied. So does one that is refused for
    the state that it meets, but then the rows before it are applied, and the error has what they told. With
    ``on_error="skip"`` such rows are left out, and come back with their reasons, as `schema.REFUSED`.
    """
    feed = _Feed(kernel, batch, evidence=evidence, skips=on_error == "skip")
    feed.check()
    told = feed.apply()
    if on_error == "raise":
        return told
    refused = {"row": sorted(feed.refused), "reason": [feed.refused[row] for row in sorted(feed.refused)]}
    return told, pa.RecordBatch.from_pydict(refused, schema=schema.REFUSED)


class _Feed:
    """One batch on its way into a kernel."""

    def __init__(self, kernel: Kernel, batch: pa.RecordBatch, *, evidence: bool, skips: bool) -> None:
        self.kernel, self.size, self.evidence, self.skips = kernel, len(batch), evidence, skips
        self.fixes = Fixes(batch)
        self.refused: dict[int, str] = {}
        """Rows, with the reasons."""
        self.lines, self.is_line = self._read_lines(batch)
        self._changes_ground = any(map(_defines_location, self.lines.values()))
        self._told: list[pa.RecordBatch] = []
        self._waiting: list[Notification] = []

    def _read_lines(self, batch: pa.RecordBatch) -> tuple[dict[int, ops.Op], Bools]:
        at = batch.schema.get_field_index("line")
        read: dict[int, ops.Op] = {}
        if at < 0 or batch.column(at).null_count == len(batch):
            return read, np.zeros(len(batch), np.bool_)
        is_line = batch.column(at).is_valid().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(is_line).tolist():
            try:
                read[row] = decode_op(batch.column(at)[row].as_py())
            except NearcastError as error:
                self.refused[row] = str(error)
        return read, is_line

    def check(self) -> None:
        """Find the rows that cannot be read."""
        some_lines = self.is_line.any()
        if some_lines:
            self._refuse(self.is_line & self.fixes.located, "a row is a fix or a line, not both")
        for rows, reason in self.fixes.faults():
            self._refuse(rows & ~self.is_line if some_lines else rows, reason)
        if not self._changes_ground:
            self._refuse(self._off_the_ground() & ~self.is_line, "the coordinate is not on the earth")
        if self.refused and not self.skips:
            raise RowError(self.refused[min(self.refused)], min(self.refused))

    def _refuse(self, rows: Bools, reason: str) -> None:
        for row in np.flatnonzero(rows).tolist() if rows.any() else ():
            self.refused.setdefault(row, reason)

    def _off_the_ground(self) -> Bools:
        on_earth = self.kernel.world.metric is Metric.EARTH
        return self.fixes.off_earth() if on_earth else np.zeros(self.size, np.bool_)

    # ---- apply -----------------------------------------------------------------------------------

    def apply(self) -> pa.RecordBatch:
        self.fixes.enter(self.kernel.clients)
        for start, stop in _between(sorted(self.lines.keys() | self.refused.keys()), self.size):
            self._take_fixes(start, stop)
            if stop in self.lines and stop not in self.refused:
                self._take(stop, self.lines[stop])
        return self._all_told()

    def _take_fixes(self, start: int, stop: int) -> None:
        """Fixes between two other rows, in runs as long as may be."""
        runs = self._can_run(start, stop)
        for a, b in stretches(runs):
            if runs[a]:
                self._run(start + a, start + b)
            else:
                for row in range(start + a, start + b):
                    self._take(row, self.fixes.move(row))

    def _can_run(self, start: int, stop: int) -> Bools:
        """Which of these the kernel takes as columns. It need refuse none of them."""
        if self.evidence or (self._changes_ground and self._off_the_ground()[start:stop].any()):
            return np.zeros(stop - start, np.bool_)
        return self.kernel.can_run(self.fixes.row[start:stop])

    def _run(self, start: int, stop: int) -> None:
        f, part = self.fixes, slice(start, stop)
        told = self.kernel.run(f.row[part], f.time[part], f.position[part], f.path[part])
        if len(told):
            self._flush()
            self._told.append(told.arrow())

    def _take(self, row: int, op: ops.Op) -> None:
        try:
            self._waiting += self.kernel.apply(op)
        except NearcastError as error:
            if not self.skips:
                raise RowError(str(error), row, self._all_told()) from error
            self.refused[row] = str(error)

    def _flush(self) -> None:
        if self._waiting:
            self._told.append(notification_batch(self._waiting))
            self._waiting = []

    def _all_told(self) -> pa.RecordBatch:
        self._flush()
        if len(self._told) == 1:
            return self._told[0]
        table = pa.Table.from_batches(self._told, schema.NOTIFICATIONS).combine_chunks()
        return next(iter(table.to_batches()), notification_batch([]))


def notification_batch(told: Sequence[Notification]) -> pa.RecordBatch:
    """Notifications with the columns of `schema.NOTIFICATIONS`."""
    columns = {name: [getattr(n, name) for n in told] for name in schema.NOTIFICATIONS.names}
    causes = [[getattr(cause, field.name) for cause in columns["cause"]] for field in schema.CAUSE]
    for name in ("kind", "reason"):
        columns[name] = [str(word) for word in columns[name]]
    for name in ("values", "why"):
        columns[name] = [json_text(found) if found else None for found in columns[name]]
    arrays = {
        f.name: pa.array(columns[f.name], f.type) for f in schema.NOTIFICATIONS if f.name not in ("cause", "time")
    }
    arrays["time"] = pa.array(columns["time"], pa.int64()).view(schema.TIME)
    arrays["cause"] = pa.StructArray.from_arrays(
        [pa.array(values, field.type) for values, field in zip(causes, schema.CAUSE, strict=True)],
        fields=list(schema.CAUSE),
    )
    return pa.RecordBatch.from_arrays([arrays[f.name] for f in schema.NOTIFICATIONS], schema=schema.NOTIFICATIONS)


def notifications_of(batch: pa.RecordBatch) -> list[Notification]:
    """The notifications that have these columns."""
    rows = batch.set_column(1, "time", batch["time"].view(pa.int64())).to_pylist()
    return [
        Notification(
            **row
            | {
                "kind": Kind(row["kind"]),
                "reason": Reason(row["reason"]),
                "cause": Cause(**row["cause"]),
                "content": row["content"] or "",
                "values": json.loads(row["values"] or "{}"),
                "why": json.loads(row["why"] or "{}"),
            }
        )
        for row in rows
    ]


def _between(rows: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """What lies before each row, and after the last."""
    start = 0
    for row in rows:
        yield start, row
        start = row + 1
    yield start, size


def stretches(runs: Bools) -> Iterator[tuple[int, int]]:
    """Where one answer begins and ends."""
    if len(runs):
        turns = np.flatnonzero(runs[1:] != runs[:-1]) + 1
        yield from pairwise([0, *turns.tolist(), len(runs)])


def _defines_location(op: ops.Op) -> bool:
    return isinstance(op, ops.DefineSpace) and op.space.name == "location"
