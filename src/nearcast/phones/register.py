"""What is known of each client that comes by MQTT, and has to be known again after a crash: its devices, and the
waypoints that it shared. It is in a bucket of the NATS server, which is on disk before it answers.

A gateway that forgets a client deletes its entry there. We follow that, also after we were away: with the entry goes
the client's cursor, and what waits for it, or from it, in the server's MQTT.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Self
from urllib.parse import unquote

import msgspec
from nats import errors as client_errors
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.errors import NearcastError
from nearcast.gateway.link import Link
from nearcast.gateway.outbox import key_of
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import CURSORS, PHONES
from nearcast.log.topics import subject_of

__all__ = ["CURSOR", "MESSAGES", "STREAM", "Device", "Forgotten", "Mark", "Phone", "Register"]

CURSOR = "phones:"
"""What the names of their cursors begin with: by other doors a client has another one."""
STREAM, MESSAGES = "$MQTT_msgs", "$MQTT.msgs."
"""Where the server keeps messages of QoS 1, and what it puts before their subjects."""
DEVICES = 20
"""Of one client; of more, those that came last."""
LOOK, AGAIN = 1.0, 1.0
"""Seconds after which a bucket that says nothing is looked at: it may be away; and before it is then followed again."""
logger = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


class Forgotten(Exception):
    """The client was forgotten while something of it was still on its way."""


class Device(msgspec.Struct, omit_defaults=True):
    tid: str = ""
    """The letters that an app shows for it."""
    is_here: bool = True
    """The server has not said that it lost it."""


class Mark(msgspec.Struct, omit_defaults=True):
    """A waypoint, as far as it has to be known again."""

    text: str
    """The subscription."""
    made: int
    device: str
    rid: str = ""
    radius: float = 0.0


class Phone(msgspec.Struct, omit_defaults=True):
    """A client, whatever number of phones it has."""

    client: str
    since: int
    """The last of all notifications when it came for the first time."""
    devices: dict[str, Device] = {}
    waypoints: dict[str, Mark] = {}
    unsettled: int = 0
    """The packet that removed a waypoint, until it has been said anew which one the client is in."""
    revision: int = 0
    """Of what is on disk; 0 if nothing is."""

    def note(self, device: str, tid: str, *, is_here: bool) -> bool:
        """That a device was heard of. Says whether that is news."""
        known = self.devices.get(device)
        now = Device(tid or (known.tid if known else ""), is_here)
        if known == now:
            return False
        if known is None and len(self.devices) >= DEVICES:
            del self.devices[next(iter(self.devices))]
        self.devices[device] = now
        return True

    @property
    def is_here(self) -> bool:
        return any(device.is_here for device in self.devices.values())


_phone = msgspec.json.Decoder(Phone)


class Register:
    """``await Register(link).load()`` knows all of them."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._opened: tuple[Log, KeyValue] | None = None
        self._saving = asyncio.Lock()
        """Each write names the one before it."""
        self.phones: dict[str, Phone] = {}

    async def load(self) -> Self:
        async with self._entries() as watcher:
            async for entry in watcher:
                if entry is None:  # it has said all that there was
                    break
                if entry.operation is None:
                    self._read(entry)
                else:
                    await self._clear(entry)
        return self

    def _read(self, entry: KeyValue.Entry) -> None:
        try:
            phone = _phone.decode(entry.value or b"")
        except (msgspec.DecodeError, UnicodeError) as error:
            logger.warning("what was known of a phone cannot be read: %s", error)
        else:
            phone.revision = entry.revision or 0
            self.phones[phone.client] = phone

    async def save(self, phone: Phone) -> None:
        """On disk when it returns. What is of a client that was forgotten meanwhile is not: `Forgotten`."""
        async with self._saving:
            with explained(self._link.url, PHONES):
                bucket = await self._bucket()
                while True:
                    content = _encoder.encode(msgspec.structs.replace(phone, revision=0))
                    try:
                        phone.revision = await bucket.update(key_of(phone.client), content, last=phone.revision)
                        break
                    except stream_errors.KeyWrongLastSequenceError:
                        phone.revision = await _revision(bucket, phone)
            self.phones[phone.client] = phone

    # ---- clients that are forgotten --------------------------------------------------------------

    async def follow(self, forget: Callable[[str], Awaitable[None]]) -> None:
        """Await ``forget`` with each client that was forgotten, and then let go of the rest of what is known of it."""
        while True:
            try:
                await self._follow(forget)
            except NearcastError as error:
                logger.warning("%s", error)
            await asyncio.sleep(AGAIN)

    async def _follow(self, forget: Callable[[str], Awaitable[None]]) -> None:
        log = self._link.log
        async with self._entries(meta_only=True) as watcher:
            while not log.lost.is_set():
                try:
                    entry = await watcher.updates(LOOK)  # type: ignore[no-untyped-call]
                except client_errors.TimeoutError:
                    continue
                if entry is not None and entry.operation is not None:
                    await self._forget(entry, forget)

    async def _forget(self, entry: KeyValue.Entry, forget: Callable[[str], Awaitable[None]]) -> None:
        client = _client_of(entry.key)
        last = await self._last_message()
        phone = self.phones.get(client)
        if phone is not None and phone.revision > (entry.revision or 0):
            return  # it has come again since
        # Nothing may come between the two: one that comes again has to be begun again.
        self.phones.pop(client, None)
        await forget(client)
        await self._clear(entry, last)

    async def _clear(self, entry: KeyValue.Entry, last: int | None = None) -> None:
        """Nothing of a client stays: how far it was told, what waits up to a message, and that it was deleted."""
        client = _client_of(entry.key)
        await self._purge(f"KV_{CURSORS}", f"$KV.{CURSORS}.{key_of(CURSOR + client)}")
        await self._purge(STREAM, f"{MESSAGES}{subject_of(client)}.>", last)
        await self._purge(f"KV_{PHONES}", f"$KV.{PHONES}.{entry.key}", entry.revision)

    async def _purge(self, stream: str, subject: str, last: int | None = None) -> None:
        with explained(self._link.url, stream):
            jetstream = self._link.log.client.jetstream(timeout=PATIENCE)
            try:
                await jetstream.purge_stream(stream, seq=None if last is None else last + 1, subject=subject)
            except stream_errors.NotFoundError:
                return

    async def _last_message(self) -> int:
        with explained(self._link.url, STREAM):
            try:
                return (await self._link.log.client.jetstream(timeout=PATIENCE).stream_info(STREAM)).state.last_seq
            except stream_errors.NotFoundError:
                return 0

    # ---- the bucket ------------------------------------------------------------------------------

    @asynccontextmanager
    async def _entries(self, *, meta_only: bool = False) -> AsyncIterator[KeyValue.KeyWatcher]:
        with explained(self._link.url, PHONES):
            watcher = await (await self._bucket()).watchall(meta_only=meta_only)
            try:
                yield watcher
            finally:
                await watcher.stop()  # type: ignore[no-untyped-call]

    async def _bucket(self) -> KeyValue:
        log = self._link.log
        if self._opened is None or self._opened[0] is not log:
            self._opened = log, await log.bucket(PHONES)
        return self._opened[1]


async def _revision(bucket: KeyValue, phone: Phone) -> int:
    """Of what is on disk, if it is not what was thought. Nobody else writes there, but an answer may have been lost."""
    try:
        return (await bucket.get(key_of(phone.client))).revision or 0
    except stream_errors.KeyNotFoundError as error:
        if phone.revision:
            raise Forgotten(f"{phone.client!r} was forgotten") from None
        return (error.entry.revision or 0) if error.entry is not None else 0


def _client_of(key: str) -> str:
    """`key_of`, read back."""
    return unquote(key.replace("=", "%"), errors="surrogatepass")
