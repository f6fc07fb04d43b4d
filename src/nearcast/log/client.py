"""The log as a program sees it: append packets of ops, and read them in their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from nats.aio.client import Client
from nats.errors import MaxPayloadError
from nats.js import JetStreamContext, api
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.errors import LogError
from nearcast.log.connection import PATIENCE, connection, explained
from nearcast.log.packet import Packet
from nearcast.log.reading import Entry, Extent, check_range, extent_of, fetch
from nearcast.log.subjects import OPS_STREAM, OPS_SUBJECT, OUT_STREAM, OUT_SUBJECTS

__all__ = ["OUT_BYTES", "Log"]

DUPLICATES = 10.0
"""Seconds for which a server remembers ids. The sink does not count on it, and every id takes memory."""

OUT_BYTES = 2**30
"""Notifications that are kept for clients that come back."""
IN_FLIGHT = 256
"""Packets that wait for an answer. More would wait no less, and some for longer than anyone has patience."""


class Log:
    """The streams of ops and of notifications, on a server that runs: ``async with Log(url) as log``.

    A connection that is lost stays lost, and every call says so: open another log.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.lost = asyncio.Event()
        """Set when the connection is over."""
        self._stack = AsyncExitStack()
        self._waiting = asyncio.Semaphore(IN_FLIGHT)
        self._client: Client | None = None

    async def __aenter__(self) -> Self:
        self._client = await self._stack.enter_async_context(connection(self.url, self.lost.set))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
        self._client = None

    # ---- streams ---------------------------------------------------------------------------------

    async def create(
        self, *, ops_bytes: int | None = None, out_bytes: int | None = None, replicas: int = 1, live: bool = False
    ) -> None:
        """Make the streams that are missing, and check those that are there.

        A log of ops that is full refuses what comes, since one that drops its beginning cannot be replayed.
        Notifications can be told again from the ops, so their stream drops the oldest. Neither is bounded unless told,
        but for notifications with ``live``, of which 1 GiB is kept.

        With ``live`` a broker tells, which tells again what a crash of the server lost. So notifications are
        acknowledged before they are on disk, unless they are replicated: 56,000 a second instead of 6,000, and in
        0.2 ms instead of 0.5. Such a stream takes no atomic batches.
        """
        common = {"storage": api.StorageType.FILE, "retention": api.RetentionPolicy.LIMITS, "num_replicas": replicas}
        await self._make(
            api.StreamConfig(
                OPS_STREAM,
                subjects=[OPS_SUBJECT],
                max_bytes=ops_bytes,
                discard=api.DiscardPolicy.NEW,
                deny_delete=True,
                allow_direct=True,
            ).evolve(**common)
        )
        await self._make(
            api.StreamConfig(
                OUT_STREAM,
                subjects=[OUT_SUBJECTS],
                max_bytes=OUT_BYTES if live and out_bytes is None else out_bytes,
                discard=api.DiscardPolicy.OLD,
                allow_direct=True,
                allow_atomic=not live,
                persist_mode=api.PersistMode.ASYNC if live and replicas == 1 else None,
                duplicate_window=DUPLICATES,
            ).evolve(**common)
        )

    async def _make(self, wanted: api.StreamConfig) -> None:
        assert wanted.name is not None
        with explained(self.url, wanted.name):
            try:
                there = (await self._streams().stream_info(wanted.name)).config
            except stream_errors.NotFoundError:
                there = await self._add(wanted)
        for name in ("subjects", "storage", "retention", "discard"):
            is_, should = (getattr(config, name) or None for config in (there, wanted))
            if is_ != should:
                raise LogError(f"stream {wanted.name!r} has {name} {is_!r} where nearcast needs {should!r}")

    async def _add(self, wanted: api.StreamConfig) -> api.StreamConfig:
        """The stream as it is then: someone else may have made it meanwhile, a little differently."""
        try:
            return (await self._streams().add_stream(wanted)).config
        except stream_errors.BadRequestError as error:
            if error.err_code != _TAKEN:
                raise
        return (await self._streams().stream_info(wanted.name or "")).config

    async def bucket(self, name: str) -> KeyValue:
        """What is kept by keys under a name, on disk; it is made if there is none."""
        try:
            return await self._streams().key_value(name)
        except stream_errors.BucketNotFoundError:
            return await self._streams().create_key_value(api.KeyValueConfig(name))

    async def purge(self, stream: str, subject: str, last: int | None = None) -> None:
        """Without what a stream has under a subject, up to a message if one is named. Where there is no stream there is
        nothing to do."""
        with explained(self.url, stream):
            try:
                await self._streams().purge_stream(stream, seq=None if last is None else last + 1, subject=subject)
            except stream_errors.NotFoundError:
                return

    async def purge_key(self, bucket: str, key: str, last: int | None = None) -> None:
        """Not even that it was deleted is kept of a key, which has never been there then."""
        await self.purge(f"KV_{bucket}", f"$KV.{bucket}.{key}", last)

    def _streams(self) -> JetStreamContext:
        return self.client.jetstream(timeout=PATIENCE)

    @property
    def client(self) -> Client:
        """The connection, for what else is kept at the server."""
        if self._client is None:
            raise LogError("the log is not open; use it as `async with Log(url) as log`")
        return self._client

    # ---- ops -------------------------------------------------------------------------------------

    async def append(self, packet: Packet) -> int:
        """Add ops to the log, and give the sequence they got. Then they are as safe as the server keeps them.

        A `LogError` for want of an answer leaves open whether they were added.
        """
        with explained(self.url, OPS_STREAM):
            try:
                self._check_size(packet)
                async with self._waiting:
                    ack = await self._streams().publish(
                        OPS_SUBJECT, packet.payload, stream=OPS_STREAM, headers=packet.headers
                    )
            except MaxPayloadError:
                raise self._too_large(packet) from None
        return ack.seq

    def _check_size(self, packet: Packet) -> None:
        """The server counts the headers too, and hangs up on whoever sends more."""
        headers = sum(len(name) + len(value) + 4 for name, value in packet.headers.items())
        if len(packet.payload) + headers + _ENVELOPE > self.client.max_payload:
            raise MaxPayloadError

    def _too_large(self, packet: Packet) -> LogError:
        return LogError(
            f"a packet of {len(packet.payload):,} bytes is too large: the server takes "
            f"{self.client.max_payload:,}, headers included; put fewer ops in a packet, "
            "or raise max_payload at the server"
        )

    async def read(self, first: int, last: int) -> AsyncIterator[Entry]:
        """The messages of ops from one sequence to another, both included. What is not there raises `LogError`."""
        check_range(OPS_STREAM, await self._extent(), first, last)
        while first <= last:
            with explained(self.url, OPS_STREAM):
                entries = await fetch(self.client, OPS_STREAM, first, last)
            for entry in entries:
                yield entry
            first += len(entries)

    async def first_sequence(self) -> int:
        """Where the log begins: 1, unless it was cut."""
        return (await self._extent()).first

    async def last_sequence(self) -> int:
        """Where the log ends: 0 if nothing was ever appended."""
        return (await self._extent()).last

    async def _extent(self) -> Extent:
        with explained(self.url, OPS_STREAM):
            return await extent_of(self.client, OPS_STREAM)


_TAKEN = 10058
"""Error of a server: there is a stream of that name, with another configuration."""
_ENVELOPE = len("NATS/1.0\r\n\r\nNats-Expected-Stream: \r\n") + len(OPS_STREAM)
"""Bytes of headers that every message has."""
