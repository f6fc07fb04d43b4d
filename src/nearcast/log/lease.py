"""A lease: the right to do what only one process may do, for as long as it keeps saying that it lives."""

from __future__ import annotations

import time
from contextlib import suppress

from nats.js import JetStreamContext, api
from nats.js.errors import BucketNotFoundError, KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue

from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import LEASES

__all__ = ["Lease"]

SECONDS = 2.0
"""How long a right outlives whoever holds it."""


class Lease:
    """A key that the server removes unless it is written again in time, by whoever wrote it last.

    All leases last as long as the shortest that anyone asked for. They are kept in memory: a server that restarts has
    forgotten who held what, and whoever asks first gets it.
    """

    def __init__(self, log: Log, name: str, holder: str, seconds: float = SECONDS) -> None:
        self._log, self._name, self._holder = log, name, holder.encode()
        self._seconds = seconds
        self._bucket: KeyValue | None = None
        self._revision = 0
        """Of what this holder wrote last; 0 if it holds nothing."""

    async def hold(self) -> bool:
        """Take it, or keep it. True says that nobody else had it when this was asked, nor for some time after.

        An answer that took longer than a lease lasts is not taken for a yes.
        """
        asked = time.monotonic()
        with explained(self._log.url, LEASES):
            bucket = await self._open()
            try:
                if self._revision:
                    self._revision = await bucket.update(self._name, self._holder, last=self._revision)
                else:
                    self._revision = await bucket.create(self._name, self._holder)
            except (KeyWrongLastSequenceError, KeyNotFoundError):
                self._revision = 0
        return self._revision > 0 and time.monotonic() < asked + self._seconds

    @property
    def seconds(self) -> float:
        """How long it lasts; known exactly once it was asked for."""
        return self._seconds

    def reopen(self, log: Log) -> None:
        """Go on over another connection, with what is held."""
        self._log, self._bucket = log, None

    async def give_up(self) -> None:
        """Let the next have it at once, if it is still held."""
        revision, self._revision = self._revision, 0
        if revision:
            with explained(self._log.url, LEASES), suppress(KeyWrongLastSequenceError):
                await (await self._open()).delete(self._name, last=revision)

    async def _open(self) -> KeyValue:
        if self._bucket is None:
            jetstream = self._log.client.jetstream(timeout=PATIENCE)
            try:
                bucket = await jetstream.key_value(LEASES)
            except BucketNotFoundError:
                config = api.KeyValueConfig(LEASES, ttl=self._seconds, storage=api.StorageType.MEMORY)
                bucket = await jetstream.create_key_value(config)
            self._seconds = await self._agreed(jetstream, bucket)
            self._bucket = bucket
        return self._bucket

    async def _agreed(self, jetstream: JetStreamContext, bucket: KeyValue) -> float:
        """How long leases last; less from now on, if this one is for less."""
        status = await bucket.status()
        lasting = status.ttl or self._seconds
        if lasting > self._seconds:
            # Ids cannot be remembered for longer than what they are of.
            await jetstream.update_stream(
                status.stream_info.config, max_age=self._seconds, duplicate_window=self._seconds
            )
        return min(lasting, self._seconds)
