"""Who gets which row: packets for every share that sees it.

Spark puts a key into the partition that its hash says, and consecutive keys fall unevenly. So each share gets a key
that is known to fall into a partition of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nearcast.match.share import Plan, name_hashes
from nearcast.stream.decode import Bad
from nearcast.stream.packets import pack, packet

__all__ = ["BAD", "BADS", "SEEN", "Router", "partition_of", "share_keys"]

BAD = -1
"""The key of rows that cannot be read."""
SEEN = -2
"""The key of a note of how many rows there were, from when to when."""
BADS = pa.schema([("content", pa.string()), ("reason", pa.string())])
OPTIONAL = ("altitude", "floor", "accuracy", "place")
SAMPLE = 1000
"""Rows that show whether names repeat."""
_MASK = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Router:
    plan: Plan
    keys: tuple[int, ...]
    """Of the shares: shards first, then slices."""

    def packets(self, batch: pa.RecordBatch, place: tuple[str, int, int]) -> Iterator[pa.RecordBatch]:
        """A packet for each share that sees some of the rows. Rows without a client are for everyone."""
        shards, batch = self.plan.shards, _slim(batch)
        if not len(batch):
            return
        for number, rows in self._by_shard(batch) if shards else ():
            yield self._packet(self.keys[number], place, batch.take(rows) if len(rows) < len(batch) else batch)
        for key in self.keys[shards:]:
            yield self._packet(key, place, batch)

    def bad(self, rows: list[Bad], place: tuple[str, int, int]) -> Iterator[pa.RecordBatch]:
        if rows:
            batch = pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in zip(*rows, strict=True)], schema=BADS
            )
            yield packet(BAD, place, len(rows), (None, None), pack(batch))

    def notes(self, batch: pa.RecordBatch | None, rows: int) -> Iterator[pa.RecordBatch]:
        """What every share has to know about a batch of which it may see little: how many rows, from when to when."""
        for key in self.keys:
            yield packet(key, ("", 0, 0), rows, (None, None) if batch is None else _span(batch), b"")

    @staticmethod
    def seen(batch: pa.RecordBatch, rows: int, place: tuple[str, int, int]) -> pa.RecordBatch:
        return packet(SEEN, place, rows, _span(batch), b"")

    def _by_shard(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.Array]]:
        """The rows of each shard: those of its own clients, and those that all see."""
        shards, client = self.plan.shards, batch["client"]
        is_coded = pa.types.is_dictionary(client.type)
        texts = client.dictionary if is_coded else client
        home = np.append(name_hashes(texts) % shards, shards)
        home[:-1][self._is_station(texts)] = shards
        home[:-1][texts.is_null().to_numpy(zero_copy_only=False)] = shards
        falls = home[client.indices.fill_null(-1).to_numpy()] if is_coded else home[:-1]
        seen_by_all = np.flatnonzero(falls == shards)
        order = np.argsort(falls.astype(np.uint16), kind="stable")
        cuts = np.searchsorted(falls[order], np.arange(shards + 1))
        for number in range(shards):
            rows = order[cuts[number] : cuts[number + 1]]
            if len(seen_by_all):
                rows = np.sort(np.append(rows, seen_by_all))
            if len(rows):
                yield number, pa.array(rows)

    def _is_station(self, texts: pa.Array) -> npt.NDArray[np.bool_]:
        if not self.plan.stations:
            return np.zeros(len(texts), np.bool_)
        known = pa.array(sorted(self.plan.stations), pa.string())
        found: npt.NDArray[np.bool_] = pc.is_in(texts, value_set=known).to_numpy(zero_copy_only=False)
        return found

    @staticmethod
    def _packet(key: int, place: tuple[str, int, int], batch: pa.RecordBatch) -> pa.RecordBatch:
        return packet(key, place, len(batch), _span(batch), pack(batch))


def _slim(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without columns that say nothing, and with few names written once each."""
    said = [name for name in batch.schema.names if name not in OPTIONAL or batch[name].null_count < len(batch)]
    batch, client = batch.select(said), batch["client"]
    some = client.slice(0, SAMPLE)
    if not pa.types.is_dictionary(client.type) and 4 * len(some.unique()) < len(some):
        at = batch.schema.get_field_index("client")
        batch = batch.set_column(at, "client", client.dictionary_encode())
    return batch


def _span(batch: pa.RecordBatch) -> tuple[int | None, int | None]:
    times = pc.min_max(batch["time"].view(pa.int64()))
    return times["min"].as_py(), times["max"].as_py()


def share_keys(shares: int, partitions: int) -> tuple[int, ...]:
    """A key for each share, such that share i falls into partition i of so many, and begins anew after the last."""
    keys: list[int] = []
    for number in range(shares):
        key = number
        while partition_of(key, partitions) != number % partitions or key in keys:
            key += shares
        keys.append(key)
    return tuple(keys)


def partition_of(key: int, partitions: int) -> int:
    """Where Spark puts a 64-bit key: its Murmur3 hash with the seed 42, modulo the number of partitions."""
    h = 42
    for half in (key & _MASK, key >> 32 & _MASK):
        k = half * 0xCC9E2D51 & _MASK
        k = (k << 15 | k >> 17) & _MASK
        h ^= k * 0x1B873593 & _MASK
        h = (h << 13 | h >> 19) & _MASK
        h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 8
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ h >> shift) * factor & _MASK
    return (h - 2**32 if h >= 2**31 else h) % partitions
