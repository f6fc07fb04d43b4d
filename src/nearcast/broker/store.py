"""What brokers leave for each other at the server: snapshots, a list of them, and how far has been told.

A snapshot is the tables of a kernel in one object, named for its hash, with the sequence of the last packet in it. The
list is written whole, and only over what its writer has read. How far was told is marked now and then: the stream of
notifications cannot say by itself that packets after its last message told nothing.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

import msgspec
import pyarrow as pa
from nats.js import JetStreamContext, api
from nats.js.errors import BucketNotFoundError, KeyNotFoundError, KeyWrongLastSequenceError, NotFoundError
from nats.js.errors import Error as StreamError
from nats.js.kv import KeyValue
from nats.js.object_store import ObjectStore

from nearcast.errors import SnapshotError
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import BROKER, SNAPSHOTS
from nearcast.log.telling import HEADERS
from nearcast.match.kernel import Kernel
from nearcast.match.state import restore, snapshot

__all__ = ["Mark", "Record", "Store", "packed", "unpacked"]

_LIST, _TOLD = "snapshots", "told"
_OBJECTS = f"OBJ_{SNAPSHOTS}"
_CHUNK = 128 * 2**10
"""Bytes of a message that is a part of a snapshot; fewer if the server takes fewer."""
_SPEED = 10 * 2**20
"""Bytes a second that a server gives at least."""
T = TypeVar("T")


class Mark(msgspec.Struct, frozen=True):
    """How far was told: all that the packets up to ``sequence`` told is in the stream up to ``out``."""

    log: str
    """When the streams were made; others of the same names are not meant."""
    stream: str
    sequence: int
    out: int


class Record(msgspec.Struct, frozen=True):
    """A snapshot that there is."""

    log: str
    """When the log was made that it is of."""
    sequence: int
    """The last packet that is in it."""
    object: str
    """Its name, which is its hash."""
    size: int
    first: int
    """Where it begins in the stream of its bucket; all before the oldest that is listed is of no use."""
    time: float
    """When it was written, in seconds since 1970."""
    told: Mark | None = None
    """How far was told then."""


_records, _mark = msgspec.json.Decoder(list[Record]), msgspec.json.Decoder(Mark)


class Store:
    """The buckets, opened, and made if they are missing."""

    def __init__(self, log: Log, jetstream: JetStreamContext, notes: KeyValue, objects: ObjectStore) -> None:
        self._log, self._jetstream, self._notes, self._objects = log, jetstream, notes, objects

    @classmethod
    async def open(cls, log: Log) -> Store:
        jetstream = log.client.jetstream(timeout=PATIENCE)
        with explained(log.url, BROKER):
            notes = await log.bucket(BROKER)
            try:
                objects = await jetstream.object_store(SNAPSHOTS)
            except (BucketNotFoundError, NotFoundError):
                objects = await jetstream.create_object_store(SNAPSHOTS)
        return cls(log, jetstream, notes, objects)

    # ---- how far was told ------------------------------------------------------------------------

    async def told(self) -> Mark | None:
        """The latest mark."""
        return await self._read(_TOLD, _mark.decode, None)

    async def mark(self, mark: Mark) -> None:
        with explained(self._log.url, BROKER):
            await self._notes.put(_TOLD, msgspec.json.encode(mark))

    # ---- snapshots -------------------------------------------------------------------------------

    async def records(self) -> list[Record]:
        """The snapshots of whatever log, the oldest first."""
        return await self._read(_LIST, _records.decode, [])

    async def change(self, changed: Callable[[list[Record]], list[Record]]) -> list[Record]:
        """Write the list anew, until nobody else has written it meanwhile. Gives it as it is then."""
        with explained(self._log.url, BROKER):
            while True:
                try:
                    entry = await self._notes.get(_LIST)
                    before, revision = _records.decode(entry.value or b"[]"), entry.revision or 0
                except KeyNotFoundError:
                    before, revision = [], 0
                after = sorted(changed(before), key=lambda record: record.sequence)
                try:
                    await self._notes.update(_LIST, msgspec.json.encode(after), last=revision)
                except KeyWrongLastSequenceError:
                    continue
                return after

    async def save(self, data: bytes) -> tuple[str, int]:
        """Write a snapshot, and give its name, and where it begins."""
        name = sha256(data).hexdigest()
        with explained(self._log.url, SNAPSHOTS):
            first = (await self._jetstream.stream_info(_OBJECTS)).state.last_seq + 1
            part = min(_CHUNK, self._log.client.max_payload - HEADERS)
            meta = api.ObjectMeta(name=name, options=api.ObjectMetaOptions(max_chunk_size=part))
            await self._objects.put(name, data, meta)
        return name, first

    async def load(self, record: Record) -> Kernel:
        """The kernel of a snapshot. One that is missing or damaged raises `SnapshotError`."""
        read = io.BytesIO()
        try:
            async with asyncio.timeout(PATIENCE + record.size / _SPEED):
                await self._objects.get(record.object, writeinto=read)
        except (StreamError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
            raise SnapshotError(f"the snapshot cannot be read: {reason}", record.object) from None
        data = read.getvalue()
        if sha256(data).hexdigest() != record.object:
            raise SnapshotError("the snapshot is damaged", record.object)
        return unpacked(data, record.object)

    async def drop_before(self, first: int) -> None:
        """Remove the snapshots that begin before, and what is left of any that was not written to its end."""
        with explained(self._log.url, SNAPSHOTS):
            await self._jetstream.purge_stream(_OBJECTS, seq=first)

    async def _read(self, key: str, decode: Callable[[bytes], T], missing: T) -> T:
        with explained(self._log.url, BROKER):
            try:
                return decode((await self._notes.get(key)).value or b"null")
            except KeyNotFoundError:
                return missing
            except msgspec.DecodeError:
                return missing


# ---- a kernel as bytes -----------------------------------------------------------------------------------


def packed(kernel: Kernel) -> bytes:
    """The tables of a kernel, each an Arrow file, in an Arrow file of them all."""
    tables = snapshot(kernel)
    held = pa.table({"name": list(tables), "data": pa.array(map(_file, tables.values()), pa.large_binary())})
    return _file(held)


def unpacked(data: bytes, name: str) -> Kernel:
    """The kernel that `packed` wrote."""
    try:
        held = pa.ipc.open_file(data).read_all()
        parts = zip(held["name"].to_pylist(), held["data"], strict=True)
        tables = {part: pa.ipc.open_file(content.as_buffer()).read_all() for part, content in parts}
    except (pa.ArrowException, LookupError) as error:
        raise SnapshotError(f"the snapshot is not one: {error}", name) from None
    return restore(tables)


def _file(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data
