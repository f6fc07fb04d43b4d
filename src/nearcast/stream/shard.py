"""One kernel of a job at work: it takes the rows of its share in order, and gives what they told.

Rows of a log are in order already. Fixes of files have none, so they are put in order: by time, then by client; of
several of one client at one time the least counts, by its position and then by its attributes, and the others are
duplicates.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nearcast.errors import NearcastError
from nearcast.feed import apply_batch, notification_batch
from nearcast.language.oplog import decode_op
from nearcast.match.columns import grown
from nearcast.match.kernel import Kernel
from nearcast.match.share import Share
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.notification import Notification
from nearcast.model.shape import Point
from nearcast.model.statement import Publication
from nearcast.stream.job import Job

__all__ = ["Refused", "Shard"]

Wholes = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Refused = tuple[str, str]
"""A line or a fix, and why it was not applied."""

RUN = 100_000
"""Fixes that are applied at once, so that what they told does not pile up."""
NUMBERS = ("x", "y", "altitude", "floor", "accuracy")


class Shard:
    def __init__(self, job: Job, share: Share, kernel: Kernel | None = None) -> None:
        self.job, self.share = job, share
        self.kernel = kernel or Kernel(job.lateness, share)
        self.counts: Counter[str] = Counter()
        self.refused: list[Refused] = []
        self.moved: Wholes = np.zeros(0, np.int64)
        """The rows of the clients whose fixes were taken last, each as often as it moved."""
        self._published = np.zeros(0, np.bool_)
        """By the client's row: what a job opens is there."""

    def begin(self, definitions: Sequence[ops.Op]) -> pa.RecordBatch:
        """Take what the job begins with. What is wrong with it was found when the job was made."""
        return self._counted([n for op in definitions if self._sees(op) for n in self.kernel.apply(op)])

    def tick(self, time: int) -> pa.RecordBatch:
        return self._counted(self.kernel.apply(ops.Tick(time)))

    def _counted(self, told: Sequence[Notification]) -> pa.RecordBatch:
        batch = notification_batch(told)
        self._count(batch)
        return batch

    def _sees(self, op: ops.Op) -> bool:
        return self.share.sees(op.client if isinstance(op, ops.ClientOp) else None)

    # ---- a log -----------------------------------------------------------------------------------

    def take_log(self, batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of `schema.OPS`, in their order."""
        for batch in batches:
            told, refused = apply_batch(self.kernel, batch, on_error="skip")
            self._count(told)
            for row, reason in zip(refused["row"].to_pylist(), refused["reason"].to_pylist(), strict=True):
                self._refuse(batch, row, reason)
            yield told

    def _refuse(self, batch: pa.RecordBatch, row: int, reason: str) -> None:
        """Every share that sees an op refuses it alike; the one that it is at home with says so."""
        client, line = batch["client"][row].as_py(), batch["line"][row].as_py()
        if self._reports(client if line is None else _client_of(line)):
            self.refused.append((line or str(batch.slice(row, 1).to_pylist()[0]), reason))

    def _reports(self, client: str | None) -> bool:
        if not self.share.is_shard and self.share.plan.shards:
            return False
        return self.share.number == 0 if client is None else self.share.has(client)

    # ---- fixes of files --------------------------------------------------------------------------

    def take_fixes(self, batches: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of `schema.MOVES`, in any order; all that there are."""
        if not batches:
            return
        fixes = _Fixes(self.kernel, batches)
        self.moved = fixes.row
        order, duplicates = fixes.order()
        self.counts["duplicates"] += sum(self._reports(fixes.name(i)) for i in duplicates)
        for start in range(0, len(order), RUN):
            for told in self._apply(fixes, order[start : start + RUN]):
                self._count(told)
                yield told

    def _apply(self, fixes: _Fixes, rows: Wholes) -> Iterator[pa.RecordBatch]:
        kernel, codes = self.kernel, fixes.row[rows]
        new = self._unpublished(codes)
        plain = kernel.is_compiled and bool(kernel.clients.columns.plain[codes].all())
        if plain and fixes.attributes is None:
            if len(new):
                assert self.job.opens is not None
                kernel.introduce(self.job.opens, [fixes.name(i) for i in rows[new]], fixes.time[rows[new]])
            told = kernel.run(codes, fixes.time[rows], fixes.position[rows], fixes.place[rows])
            yield told.arrow()
            return
        first, each = set(new.tolist()), []
        for i, at in enumerate(rows.tolist()):
            name, time = fixes.name(at), int(fixes.time[at])
            if i in first:
                each += kernel.apply(ops.Publish(time, self._publication(name)))
            if changed := fixes.changed(at, kernel):
                each += kernel.apply(ops.SetClient(time, name, changed))
            each += kernel.apply(ops.Move(time, name, fixes.at(at)))
        yield notification_batch(each)

    def _publication(self, name: str) -> Publication:
        assert self.job.opens is not None
        return Publication(self.job.opens, name)

    def _unpublished(self, codes: Wholes) -> Wholes:
        """Where a client appears for the first time that has nothing published yet, if the job opens them."""
        if self.job.opens is None:
            return np.zeros(0, np.int64)
        self._published = grown(self._published, self.kernel.clients.columns.capacity)
        maybe = np.flatnonzero(~self._published[codes])
        _, first = np.unique(codes[maybe], return_index=True)
        names, known = self.kernel.clients.names, self.kernel.world.publications
        self._published[codes[maybe]] = True
        new = [i for i in maybe[first].tolist() if (names.text(int(codes[i])), self.job.opens) not in known]
        return np.sort(np.array(new, np.int64))

    def _count(self, told: pa.RecordBatch) -> None:
        self.counts["notifications"] += len(told)

    @property
    def stale(self) -> int:
        """The fixes that were too late, where each is counted once: a slice sees all, so the first has the count."""
        return self.kernel.counts["stale"] if self.share.counts_rows else 0


class _Fixes:
    """The fixes of a share as columns, with the kernel's own codes for names."""

    def __init__(self, kernel: Kernel, batches: Sequence[pa.RecordBatch]) -> None:
        self._kernel = kernel
        self.row = _codes(kernel.clients.rows_of, [b["client"] for b in batches])
        self.time: Wholes = np.concatenate([b["time"].view(pa.int64()).to_numpy() for b in batches])
        self.position: Reals = np.full((len(self.row), len(NUMBERS)), np.nan)
        for column, name in enumerate(NUMBERS):
            if any(b.schema.get_field_index(name) >= 0 for b in batches):
                np.concatenate([_reals(b, name) for b in batches], out=self.position[:, column])
        paths = [_column(b, "place", pa.string()) for b in batches]
        self.place = _codes(kernel.clients.paths.codes_of, paths)
        said = [b.schema.get_field_index("attributes") >= 0 for b in batches]
        self.attributes = [v for b in batches for v in b["attributes"].to_pylist()] if any(said) else None

    def order(self) -> tuple[Wholes, Wholes]:
        """The rows that count, in order, and those that are duplicates."""
        names = self._kernel.clients.names.order[self.row]
        keys = [*(self.position[:, i] for i in range(4, -1, -1)), names, self.time]
        order = _by_time(self.time, names)
        same = (self.row[order[1:]] == self.row[order[:-1]]) & (self.time[order[1:]] == self.time[order[:-1]])
        if not same.any():
            return order, order[:0]
        paths = self._kernel.clients.paths.order[self.place]
        least = [self._attribute_ranks(), np.where(self.place < 0, np.iinfo(np.int64).min, paths)]
        order = np.lexsort([*least, *keys])
        again = np.append(
            False, (self.row[order[1:]] == self.row[order[:-1]]) & (self.time[order[1:]] == self.time[order[:-1]])
        )
        return order[~again], order[again]

    def _attribute_ranks(self) -> Wholes:
        if self.attributes is None:
            return np.zeros(len(self.row), np.int64)
        ranks: Wholes = np.unique(np.array(self.attributes), return_inverse=True)[1]
        return ranks

    def name(self, at: int) -> str:
        return self._kernel.clients.names.text(int(self.row[at]))

    def at(self, row: int) -> Position:
        x, y, *heights = (None if np.isnan(v) else float(v) for v in self.position[row])
        point = None if x is None or y is None else Point(x, y)
        place = None if self.place[row] < 0 else self._kernel.clients.paths.text(int(self.place[row]))
        return Position(point, place, *heights)

    def changed(self, row: int, kernel: Kernel) -> dict[str, bool | int | float | str]:
        """The attributes that the fix came with, as far as they are new."""
        said = json.loads(self.attributes[row]) if self.attributes is not None else {}
        known = kernel.clients.attributes.get(int(self.row[row]), {})
        return {name: value for name, value in said.items() if not _same(known.get(name), value)}


def _by_time(time: Wholes, names: Wholes) -> Wholes:
    """An order by time, and then by name. Files are nearly in the order of time, and few fixes have the same."""
    order: Wholes = np.argsort(time, kind="stable")
    alike = time[order[1:]] == time[order[:-1]]
    tied = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
    some = order[tied]
    order[tied] = some[np.lexsort((names[some], time[some]))]
    return order


def _same(a: object, b: object) -> bool:
    """Truth is not 1."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def _codes(coded: Callable[[pa.StringArray | pa.ChunkedArray], Wholes], columns: Sequence[pa.Array]) -> Wholes:
    """The kernel's codes of names in columns; -1 where there is none. If all are texts, they are looked up at once."""
    if all(pa.types.is_string(column.type) and not column.null_count for column in columns):
        return coded(pa.chunked_array(columns, pa.string()))
    return np.concatenate([_codes_of(coded, column) for column in columns])


def _codes_of(coded: Callable[[pa.StringArray | pa.ChunkedArray], Wholes], column: pa.Array) -> Wholes:
    if column.null_count == len(column):
        return np.full(len(column), -1, np.int64)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    known = np.append(coded(column.dictionary), -1)
    return np.asarray(known[column.indices.fill_null(-1).to_numpy()], np.int64)


def _column(batch: pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    """A column, which is left out of a packet where it says nothing."""
    at = batch.schema.get_field_index(name)
    return pa.nulls(len(batch), kind) if at < 0 else batch.column(at)


def _reals(batch: pa.RecordBatch, name: str) -> Reals:
    column = _column(batch, name, pa.float64())
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    values: Reals = column.fill_null(np.nan).to_numpy()
    return values


def _client_of(line: str) -> str | None:
    try:
        op = decode_op(line)
    except NearcastError:
        return None
    return op.client if isinstance(op, ops.ClientOp) else None
