"""A share's kernel between micro-batches: its state in Spark's store, and the kernel itself where it last ran.

The store has the *ground* (definitions), the *statements*, the *course* (time, counts, pairs that remember), each as it
is now, and for the clients a list of *deltas*: the rows that a batch changed. Each part but the course has a nonce, so
the nonces say what a state is made of. A worker keeps the kernels it ran with the nonces that they stand for. If that
is where the store stands, it goes on; if it is a beginning of it, it takes the deltas that are missing; else it builds
the kernel anew. What the store says is true, whatever a worker remembers: a batch that failed left a nonce that is
not there.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from nearcast.match.columns import NO_TIME
from nearcast.match.kernel import Kernel
from nearcast.match.state import client_table, enter_clients, heed, restore, snapshot
from nearcast.model.schema import NOTIFICATIONS
from nearcast.stream.job import Job, definitions_of
from nearcast.stream.packets import pack, unpack
from nearcast.stream.shard import Shard

__all__ = ["OUT", "Keeper", "Matcher"]

OUT = "share long, told binary, dead string, counts string"
"""What a share gives a batch: notifications as Arrow, rows that were not applied, and counts."""
MANY = 24
"""Deltas, after which the clients are written out as a whole."""
GROUND, STATEMENTS, COURSE = -1, -2, -3
"""The keys of parts. Deltas have the numbers from 0."""
TABLES = {
    GROUND: ("definitions", "regions"),
    STATEMENTS: ("publications", "subscriptions", "particulars"),
    COURSE: ("system", "counts", "versions", "pairs", "held", "histories", "dues"),
}
BADLY = "!"
"""The origin of packets of rows that could not be read."""

Wholes = npt.NDArray[np.int64]
Parts = Callable[[int], bytes]


@dataclass(frozen=True)
class Head:
    """What a state is made of, by nonces."""

    ground: str = ""
    statements: str = ""
    deltas: tuple[str, ...] = ()
    was: tuple[str, ...] = ()
    """What the deltas were before they were written as one."""

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Head:
        found = json.loads(text)
        return cls(found["ground"], found["statements"], tuple(found["deltas"]), tuple(found["was"]))

    def is_on(self, other: Head) -> bool:
        """Whether both have the same ground and statements."""
        return bool(self.ground) and (self.ground, self.statements) == (other.ground, other.statements)


class Keeper:
    """The kernel of a share, and what it stands for. While a batch is applied, it stands for nothing."""

    def __init__(self, job: Job, number: int) -> None:
        self.job = job
        self.shard = Shard(job, job.plan.shares[number])
        self.head: Head | None = None

    @property
    def kernel(self) -> Kernel:
        return self.shard.kernel

    # ---- from the store --------------------------------------------------------------------------

    def catch_up(self, head: Head, parts: Parts) -> None:
        """Become what the store has."""
        mine = self.head or Head()
        if mine.is_on(head) and mine.deltas in (head.deltas, head.was):
            return
        known = len(mine.deltas)
        if mine.is_on(head) and mine.deltas == head.deltas[:known] and self.kernel.keeps_nothing:
            for number in range(known, len(head.deltas)):
                self._enter(_table(parts(number)))
            heed(self.kernel, _tables(parts(COURSE)))
        else:
            self._rebuild(head, parts)

    def _rebuild(self, head: Head, parts: Parts) -> None:
        tables = {name: table for part in TABLES for name, table in _tables(parts(part)).items()}
        clients = _latest([_table(parts(number)) for number in range(len(head.deltas))])
        tables["clients"] = clients.drop_columns(["since"])
        self.shard = Shard(self.job, self.shard.share, restore(tables, self.shard.share))
        self._reopen(clients)

    def _enter(self, clients: pa.Table) -> None:
        enter_clients(self.kernel.clients, clients.drop_columns(["since"]))
        self._reopen(clients)

    def _reopen(self, clients: pa.Table) -> None:
        """What everyone publishes is not stored, only since when."""
        if self.job.opens is None:
            return
        names, since = clients["name"].to_pylist(), clients["since"].to_numpy()
        known = self.kernel.world.publications
        new = [i for i in np.flatnonzero(since != NO_TIME).tolist() if (names[i], self.job.opens) not in known]
        if new:
            self.kernel.reopen(self.job.opens, [names[i] for i in new], since[new])

    # ---- to the store ----------------------------------------------------------------------------

    def changes(self, head: Head, rows: Wholes, applied: Counter[str]) -> tuple[Head, dict[int, bytes]]:
        """What the store has to know after a batch that touched some clients and applied some kinds of ops."""
        nonce, parts = secrets.token_hex(8), {COURSE: self._tables(COURSE)}
        if not head.ground or applied.keys() - _ON_THE_GROUND:
            parts[GROUND], head = self._tables(GROUND), replace(head, ground=nonce)
        ended = self.kernel.may_end and applied.keys() - {"Move"}
        if not head.statements or ended or not self.kernel.keeps_nothing or applied.keys() - _LEAVING_STATEMENTS:
            parts[STATEMENTS], head = self._tables(STATEMENTS), replace(head, statements=nonce)
        if len(head.deltas) < MANY:
            parts[len(head.deltas)] = _bytes(self._clients(rows))
            return replace(head, deltas=(*head.deltas, nonce), was=()), parts
        parts[0] = _bytes(self._clients(np.arange(len(self.kernel.clients.names))))
        return replace(head, deltas=(nonce,), was=(*head.deltas, nonce)), parts

    def _tables(self, part: int) -> bytes:
        tables = snapshot(self.kernel, self.job.opens, TABLES[part])
        return _joined({name: _bytes(table) for name, table in tables.items()})

    def _clients(self, rows: Wholes) -> pa.Table:
        table, since = client_table(self.kernel.clients).take(pa.array(rows)), np.full(len(rows), NO_TIME, np.int64)
        if self.job.opens is not None:
            known, names = self.kernel.world.publications, self.kernel.clients.names
            for i, row in enumerate(rows.tolist()):
                p = known.get((names.text(row), self.job.opens))
                since[i] = NO_TIME if p is None else p.version[0]
        return table.append_column("since", pa.array(since))


_ON_THE_GROUND = {"Move", "Emit", "Tick", "Publish", "Retract", "Subscribe", "Unsubscribe", "SetClient", "Forget",
                  "stale", "forgotten"}  # fmt: skip
"""What changes no definition."""
_LEAVING_STATEMENTS = _ON_THE_GROUND - {"Publish", "Retract", "Subscribe", "Unsubscribe", "SetClient", "Forget"}


class Matcher(StatefulProcessor):
    """What Spark runs for each share and micro-batch."""

    def __init__(self, job: Job, keys: Sequence[int], is_log: bool) -> None:
        self.job, self.keys, self.is_log = job, tuple(keys), is_log

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", "text string")
        self._parts = handle.getMapState("parts", "number long", "data binary")

    def handleInputRows(  # noqa: N802 (Spark's name)
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803 (Spark's signature)
    ) -> Iterator[pd.DataFrame]:
        keeper = _keeper(self.job, self.keys.index(int(key[0])))
        found = self._head.get()
        is_new, head = found is None, Head() if found is None else Head.read(found[0])
        if is_new:
            keeper = _keeper(self.job, self.keys.index(int(key[0])), anew=True)
        else:
            keeper.catch_up(head, self._part)
        keeper.head = None
        batches, dead = _read(rows)
        shard, before = keeper.shard, Counter(keeper.kernel.counts)
        shard.counts, shard.refused = Counter(), []
        told = [shard.begin(definitions_of(self.job))] if is_new else []
        told += shard.take_log(batches) if self.is_log else shard.take_fixes(batches)
        applied = keeper.kernel.counts - before
        whose = None if is_new or not batches else _named(keeper.kernel, batches) if self.is_log else shard.moved
        made, parts = keeper.changes(head, _touched(keeper.kernel, whose, applied), applied)
        for part in range(1, len(head.deltas)) if made.was else ():
            self._parts.removeKey((part,))
        for part, data in parts.items():
            self._parts.updateValue((part,), (data,))
        self._head.update((made.text,))
        keeper.head = made
        counts = {**shard.counts, "bad": len(dead), "refused": len(shard.refused)}
        if shard.share.counts_rows:
            counts |= {"rows": sum(map(len, batches)) + len(dead), "stale": applied["stale"]}
        yield pd.DataFrame(
            {
                "share": [self.keys.index(int(key[0]))],
                "told": [_bytes(pa.Table.from_batches(told, NOTIFICATIONS))],
                "dead": [json.dumps([*dead, *shard.refused])],
                "counts": [json.dumps(counts)],
            }
        )

    def _part(self, number: int) -> bytes:
        found = self._parts.getValue((number,))
        assert found is not None
        return bytes(found[0])

    def close(self) -> None:
        pass


_KEEPERS: dict[tuple[str, int], Keeper] = {}
"""Of this worker, by job and share."""


def _keeper(job: Job, number: int, anew: bool = False) -> Keeper:
    key = (f"{job}", number)
    for other in [other for other in _KEEPERS if other[0] != key[0]]:
        del _KEEPERS[other]  # of a job that ran here before
    if anew or key not in _KEEPERS:
        _KEEPERS[key] = Keeper(job, number)
    return _KEEPERS[key]


def _read(rows: Iterator[pd.DataFrame]) -> tuple[list[pa.RecordBatch], list[tuple[str, str]]]:
    """The batches of a share in the order of the log, and what could not be read."""
    packets = [packet for frame in rows for packet in frame.itertuples(index=False)]
    packets.sort(key=lambda p: (p.origin, p.start, p.number))
    dead = [
        (row["content"], row["reason"])
        for p in packets
        if p.origin == BADLY
        for batch in unpack([p.payload])
        for row in batch.to_pylist()
    ]
    return unpack(p.payload for p in packets if p.origin != BADLY), dead


def _touched(kernel: Kernel, rows: Wholes | None, applied: Counter[str]) -> Wholes:
    """The rows of the clients that a batch may have changed: of all, or of those it names. What ends, or is let go, may
    be anyone's."""
    system = applied.keys() - {"Move", "stale", "Emit", "Publish", "Retract", "Subscribe", "Unsubscribe", "SetClient"}
    is_touched = np.zeros(len(kernel.clients.names), np.bool_)
    if rows is None or (system and (kernel.may_end or kernel.clients.held or "Forget" in applied)):
        is_touched[:] = True
    else:
        is_touched[rows] = True
    return np.flatnonzero(is_touched)


def _named(kernel: Kernel, batches: Sequence[pa.RecordBatch]) -> Wholes:
    names = [b["client"].dictionary if pa.types.is_dictionary(b["client"].type) else b["client"] for b in batches]
    return np.concatenate([kernel.clients.rows_of(column.drop_null()) for column in names])


# ---- bytes ---------------------------------------------------------------------------------------------


_SMALL = pa.ipc.IpcWriteOptions(compression="lz4")
"""Most columns of most clients say nothing."""


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_SMALL) as writer:
        writer.write_table(table.unify_dictionaries())
    made: bytes = sink.getvalue().to_pybytes()
    return made


def _table(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()


def _joined(parts: Mapping[str, bytes]) -> bytes:
    """Several tables in one value."""
    return pack(pa.RecordBatch.from_pydict({"name": list(parts), "data": pa.array(parts.values(), pa.binary())}))


def _tables(data: bytes) -> dict[str, pa.Table]:
    (batch,) = unpack([data])
    return {name: _table(part) for name, part in zip(batch["name"].to_pylist(), batch["data"].to_pylist(), strict=True)}


def _latest(deltas: Sequence[pa.Table]) -> pa.Table:
    """The last that is known of each client."""
    table = pa.concat_tables(deltas).unify_dictionaries()
    codes = table["name"].combine_chunks().dictionary_encode().indices.to_numpy()
    _, last = np.unique(codes[::-1], return_index=True)
    return table.take(pa.array(np.sort(len(codes) - 1 - last)))
