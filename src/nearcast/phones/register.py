"""What is known of each client that comes by MQTT, and has to be known again after a crash: its devices, and the
waypoints that it shared. It is in a bucket of the NATS server, which is on disk before it answers.

A gateway that forgets a client deletes its entry there. We follow that, also after we were away: with the entry goes
the client's cursor, and what waits for it, or from it, in the server's MQTT.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Self
from urllib.parse import unquote

import msgspec
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.errors import NearcastError
from nearcast.gateway.link import Link
from nearcast.gateway.outbox import key_of
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import CURSORS, PHONES
from nearcast.log.topics import subject_of
from nearcast.log.watching import watching

__all__ = ["CURSOR", "MESSAGES", "STREAM", "Device", "Forgotten", "Mark", "Phone", "Register"]

CURSOR = "phones."
"""What the keys of their cursors begin with: by other doors a client has another one, and no client has this one."""
STREAM, MESSAGES = "$MQTT_msgs", "$MQTT.msgs."
"""Where the server keeps messages of QoS 1, and what it puts before their subjects."""
DEVICES = 20
"""Of one client; of more, those that came last."""
AGAIN = 1.0
"""Seconds before a bucket that was away is followed again."""
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

    def join(self, known: Self) -> None:
        """It was known all the while: what is new is added to that."""
        new, self.devices = self.devices, known.devices
        for name, device in new.items():
            self.note(name, device.tid, is_here=device.is_here)
        self.waypoints = {**known.waypoints, **self.waypoints}
        self.since, self.unsettled = known.since, max(known.unsettled, self.unsettled)

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
        async with watching(self._link.log, PHONES) as entries:
            async for entry in entries.held():
                if entry.operation is not None:
                    self.phones.pop(_client_of(entry.key), None)
                    await self._clear(entry)
                elif (phone := _read(entry)) is not None:
                    self.phones[phone.client] = phone
        return self

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
                        await _find(bucket, phone)
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
        async with watching(self._link.log, PHONES, meta_only=True) as entries:
            async for entry in entries.changes():
                if entry.operation is not None:
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
        log = self._link.log
        await log.purge_key(CURSORS, f"{CURSOR}{key_of(client)}")
        await log.purge(STREAM, f"{MESSAGES}{subject_of(client)}.>", last)
        await log.purge_key(PHONES, entry.key, entry.revision)

    async def _last_message(self) -> int:
        with explained(self._link.url, STREAM):
            try:
                return (await self._link.log.client.jetstream(timeout=PATIENCE).stream_info(STREAM)).state.last_seq
            except stream_errors.NotFoundError:
                return 0

    async def _bucket(self) -> KeyValue:
        log = self._link.log
        if self._opened is None or self._opened[0] is not log:
            self._opened = log, await log.bucket(PHONES)
        return self._opened[1]


async def _find(bucket: KeyValue, phone: Phone) -> None:
    """What is on disk, if it is not what was thought. Nobody else writes there, but an answer may have been lost; and
    one that was not known to be there must not be forgotten for what is new."""
    try:
        found = await bucket.get(key_of(phone.client))
    except stream_errors.KeyNotFoundError as error:
        if phone.revision:
            raise Forgotten(f"{phone.client!r} was forgotten") from None
        phone.revision = (error.entry.revision or 0) if error.entry is not None else 0
        return
    known = None if phone.revision else _read(found)
    if known is not None:
        phone.join(known)
    phone.revision = found.revision or 0


def _read(entry: KeyValue.Entry) -> Phone | None:
    try:
        phone = _phone.decode(entry.value or b"")
    except (msgspec.DecodeError, UnicodeError) as error:
        logger.warning("what was known of a phone cannot be read: %s", error)
        return None
    phone.revision = entry.revision or 0
    return phone


def _client_of(key: str) -> str:
    """`key_of`, read back."""
    return unquote(key.replace("=", "%"), errors="surrogatepass")
