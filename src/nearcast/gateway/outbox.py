"""The stream of notifications as one client sees it: its own messages, in pages, and the cursor that it left there."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import msgspec
from nats.aio.msg import Msg
from nats.js import api
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.errors import LogError
from nearcast.gateway.events import Told
from nearcast.gateway.link import Link
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.reading import Extent, extent_of
from nearcast.log.subjects import CURSORS, CUTS, OUT_STREAM, bucket_key, out_subject

__all__ = ["PAGE_BYTES", "Cursors", "Outbox", "Page", "key_of", "lazy_bucket", "places_of", "read_page", "stored_of"]

WRITING = 64
"""Cursors that are written at the same time."""
READING, PAGE_BYTES = 6, 2**20
"""Pages that are read at the same time, and bytes of one. A server hangs up on whoever has 64 MiB on its way."""
_NANOS = 10**9
_NO_MORE = "404"
"""What a server says when there are no more messages."""
_NO_ROOM = (("409", "Message Size Exceeds MaxBytes"), ("409", "Batch Completed"))
"""What it says when the next message has more bytes than are left of those that were asked for, or none are."""
_ACK = "$JS.ACK."
_encoder = msgspec.json.Encoder()


def lazy_bucket(name: str) -> api.StreamConfig:
    """A bucket as the client library makes one, but acknowledged before it is on disk."""
    return api.StreamConfig(
        f"KV_{name}",
        subjects=[f"$KV.{name}.>"],
        storage=api.StorageType.FILE,
        discard=api.DiscardPolicy.NEW,
        max_msgs_per_subject=1,
        allow_rollup_hdrs=True,
        allow_direct=True,
        deny_delete=True,
        num_replicas=1,
        persist_mode=api.PersistMode.ASYNC,
    )


class Page(NamedTuple):
    """Messages of a client, in order, and whether there were no more when it was read."""

    told: list[Told]
    is_last: bool


def places_of(message: Msg) -> tuple[int, int]:
    """The place of a message in its stream, and in what its consumer delivered; 0 if it is not of a stream."""
    if not message.reply.startswith(_ACK):
        return 0, 0
    parts = message.reply.split(".")
    # A server that names its domain puts that and its account before the name of the stream.
    first = 5 if len(parts) == 9 else 7
    return int(parts[first]), int(parts[first + 1])


def stored_of(message: Msg) -> float:
    """When a message of a stream was stored, in seconds since 1970."""
    parts = message.reply.split(".")
    return int(parts[7 if len(parts) == 9 else 9]) / _NANOS


class Outbox:
    """What has been told, on disk."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._reading = asyncio.Semaphore(READING)

    async def extent(self) -> Extent:
        log = self._link.log
        with explained(log.url, OUT_STREAM):
            return await extent_of(log.client, OUT_STREAM)

    async def last_of(self, subject: str) -> int:
        """The last message of a subject; 0 if there is none. The stream's leader is asked, who knows of all."""
        log = self._link.log
        with explained(log.url, OUT_STREAM):
            try:
                found = await log.client.jetstream(timeout=PATIENCE).get_last_msg(OUT_STREAM, subject)
            except stream_errors.NotFoundError:
                return 0
        return found.seq or 0

    async def cut_of(self, subject: str) -> int:
        """Before which sequence something of a subject may be gone, since it had too much; 0 if it never had."""
        log, key = self._link.log, f"$KV.{CUTS}.{bucket_key(subject)}"
        with explained(log.url, CUTS):
            try:
                found = await log.client.jetstream(timeout=PATIENCE).get_last_msg(f"KV_{CUTS}", key)
            except stream_errors.NotFoundError:
                return 0
        return int(found.data or 0)

    async def page(
        self, subject: str, after: int, most: int, since: str | None = None, *, size: int = PAGE_BYTES
    ) -> Page:
        """The messages of a subject after a sequence, or since a time (RFC 3339).

        Of more bytes than ``size`` there are no more than one.
        """
        async with self._reading:
            return await read_page(self._link.log, OUT_STREAM, subject, after, most, since, size=size)


async def read_page(
    log: Log, stream: str, subject: str, after: int, most: int, since: str | None = None, *, size: int | None = None
) -> Page:
    """The same of any stream, through a consumer that then goes."""
    with explained(log.url, stream):
        page = await _read(log, stream, subject, after, most, since, size)
        if size is not None and not page.told and not page.is_last:
            page = await _read(log, stream, subject, after, 1, since, None)
    return page


async def _read(
    log: Log, stream: str, subject: str, after: int, most: int, since: str | None, size: int | None
) -> Page:
    client = log.client
    start = (
        {"deliver_policy": "by_start_time", "opt_start_time": since}
        if since is not None
        else {"deliver_policy": "by_start_sequence", "opt_start_seq": after + 1}
    )
    name = client.new_inbox().rpartition(".")[2]
    config = {
        "name": name,
        "filter_subject": subject,
        "ack_policy": "none",
        "inactive_threshold": PATIENCE * _NANOS,
        "mem_storage": True,
        "num_replicas": 1,
        **start,
    }
    made = await client.request(
        f"$JS.API.CONSUMER.CREATE.{stream}.{name}.{subject}",
        _encoder.encode({"stream_name": stream, "config": config, "action": "create"}),
        timeout=PATIENCE,
    )
    if error := msgspec.json.decode(made.data).get("error"):
        raise stream_errors.APIError.from_error(error)
    taking = _Taking(most)
    inbox = client.new_inbox()
    listening = await client.subscribe(inbox, cb=taking.take, pending_msgs_limit=0, pending_bytes_limit=0)
    try:
        bound = {} if size is None else {"max_bytes": size}
        wanted = _encoder.encode({"batch": most, "no_wait": True, **bound})
        await client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{name}", wanted, reply=inbox)
        await asyncio.wait_for(taking.ended.wait(), PATIENCE)
    finally:
        await listening.unsubscribe()
        await client.publish(f"$JS.API.CONSUMER.DELETE.{stream}.{name}")
    if taking.trouble:
        raise LogError(f"{stream} could not be read to its end: the server said {taking.trouble}")
    return Page(taking.told, len(taking.told) < most and not taking.is_cut)


class _Taking:
    """A page as it comes in."""

    def __init__(self, most: int) -> None:
        self.told: list[Told] = []
        self.ended = asyncio.Event()
        self.is_cut = False
        """There are more, for which there was no room."""
        self.trouble = ""
        """Why it is not known whether there are more."""
        self._most = most

    async def take(self, message: Msg) -> None:
        """Whatever is not a message of the stream says why no more come."""
        sequence, _ = places_of(message)
        if sequence:
            self.told.append(Told(sequence, message.data, stored_of(message)))
        else:
            headers = message.headers or {}
            status = headers.get("Status", ""), headers.get("Description", "")
            self.is_cut = status in _NO_ROOM
            if not self.is_cut and status[0] != _NO_MORE:
                self.trouble = " ".join(status)
        if not sequence or len(self.told) >= self._most:
            self.ended.set()


class Cursors:
    """How far each client has heard, in a bucket that all gateways share. A cursor only goes forward.

    It is acknowledged before it is on disk, unlike the ops, with which it would else compete for the disk: 10,000 who
    hear one thing write as many cursors. A server that crashes may take the last of them with it, and clients that
    leave it to their cursor hear a little again.
    """

    def __init__(self, link: Link, under: str = "") -> None:
        """``under`` is what the keys begin with. One with a dot is no client's: no name makes a key that has one."""
        self._link, self._under = link, under
        self._writing = asyncio.Semaphore(WRITING)
        self._opened: tuple[Log, KeyValue] | None = None

    async def read(self, client: str) -> int:
        """0 if it never said."""
        with explained(self._link.url, CURSORS):
            return (await self._entry(await self._bucket(), client))[0]

    async def write(self, client: str, sequence: int, *, anyway: bool = False) -> None:
        """Remember how far a client is. With ``anyway`` it may also go back, as when the stream was made anew."""
        async with self._writing:
            await self._write(client, sequence, anyway=anyway)

    async def _write(self, client: str, sequence: int, *, anyway: bool) -> None:
        with explained(self._link.url, CURSORS):
            bucket = await self._bucket()
            for _ in range(5):
                known, revision = await self._entry(bucket, client)
                if sequence == known or (sequence < known and not anyway):
                    return
                try:
                    await bucket.update(self._key(client), str(sequence).encode(), last=revision)
                except stream_errors.KeyWrongLastSequenceError:
                    continue
                return

    async def _entry(self, bucket: KeyValue, client: str) -> tuple[int, int]:
        try:
            found = await bucket.get(self._key(client))
        except stream_errors.KeyNotFoundError:
            return 0, 0
        return int(found.value or 0), found.revision or 0

    def _key(self, client: str) -> str:
        return self._under + key_of(client)

    async def _bucket(self) -> KeyValue:
        log = self._link.log
        if self._opened is None or self._opened[0] is not log:
            jetstream = log.client.jetstream(timeout=PATIENCE)
            try:
                bucket = await jetstream.key_value(CURSORS)
            except stream_errors.BucketNotFoundError:
                await jetstream.add_stream(lazy_bucket(CURSORS))
                bucket = await jetstream.key_value(CURSORS)
            self._opened = log, bucket
        return self._opened[1]


def key_of(client: str) -> str:
    """What a client has in a bucket."""
    return bucket_key(out_subject(client))
