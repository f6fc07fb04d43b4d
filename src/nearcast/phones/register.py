"""What is known of each client that comes by MQTT, and has to be known again after a crash: its devices, and the
waypoints that it shared. It is in a bucket of the NATS server, which is on disk before it answers.
"""

from __future__ import annotations

import logging
from typing import Self

import msgspec
from nats.js import api
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.gateway.link import Link
from nearcast.gateway.outbox import key_of
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import PHONES

__all__ = ["Device", "Mark", "Phone", "Register"]

DEVICES = 20
"""Of one client; of more, those that came last."""
logger = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


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


class Phone(msgspec.Struct):
    """A client, whatever number of phones it has."""

    client: str
    since: int
    """The last of all notifications when it came for the first time."""
    devices: dict[str, Device] = {}
    waypoints: dict[str, Mark] = {}

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
        self.phones: dict[str, Phone] = {}

    async def load(self) -> Self:
        with explained(self._link.url, PHONES):
            bucket = await self._bucket()
            watcher = await bucket.watchall(ignore_deletes=True)
            try:
                async for entry in watcher:
                    if entry is None:  # it has said all that there was
                        break
                    self._read(entry.value or b"")
            finally:
                await watcher.stop()  # type: ignore[no-untyped-call]
        return self

    def _read(self, value: bytes) -> None:
        try:
            phone = _phone.decode(value)
        except (msgspec.DecodeError, UnicodeError) as error:
            logger.warning("what was known of a phone cannot be read: %s", error)
        else:
            self.phones[phone.client] = phone

    async def save(self, phone: Phone) -> None:
        """On disk when it returns."""
        with explained(self._link.url, PHONES):
            await (await self._bucket()).put(key_of(phone.client), _encoder.encode(phone))
        self.phones[phone.client] = phone

    async def _bucket(self) -> KeyValue:
        log = self._link.log
        if self._opened is None or self._opened[0] is not log:
            jetstream = log.client.jetstream(timeout=PATIENCE)
            try:
                bucket = await jetstream.key_value(PHONES)
            except stream_errors.BucketNotFoundError:
                bucket = await jetstream.create_key_value(
                    api.KeyValueConfig(PHONES, history=1, storage=api.StorageType.FILE)
                )
            self._opened = log, bucket
        return self._opened[1]
