"""Notifications as CloudEvents 1.0 in structured JSON. Each is encoded once, whoever receives it."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from nearcast.gateway.seal import Seal

__all__ = ["Event", "Told", "events_of", "gap_event", "merge_readings", "trial_event"]

SOURCE = "/nearcast"
logger = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


class _Cause(msgspec.Struct, frozen=True):
    kind: str = ""


class _Head(msgspec.Struct):
    """As much of a notification as the envelope needs."""

    id: str
    time: str
    kind: str
    subscription: str
    cause: _Cause = _Cause()


class _About(msgspec.Struct):
    """What a notification is about."""

    kind: str
    subscription: str
    publication: str
    publisher: str | None = None
    region: str | None = None
    peer: str | None = None


class _Envelope(msgspec.Struct, omit_defaults=True):
    """The attributes of a CloudEvent. ``cursor`` is ours: where one is who has heard it."""

    specversion: str
    id: str
    source: str
    type: str
    subject: str
    time: str
    datacontenttype: str
    data: msgspec.Raw
    cursor: str = ""


_head, _about = msgspec.json.Decoder(_Head), msgspec.json.Decoder(_About)


class Event:
    """What a socket sends: a CloudEvent, and the place in the stream that a client has reached with it.

    ``sequence`` is that place as we know it, ``cursor`` as others do.
    """

    def __init__(self, sequence: int, body: bytes, id_: str = "", stored: float = 0.0, cursor: str = "") -> None:
        self.sequence, self.body, self.id, self.stored, self.cursor = sequence, body, id_, stored, cursor

    @property
    def frame(self) -> bytes:
        """As a server-sent event."""
        return b"id: %b\ndata: %b\n\n" % (self.cursor.encode(), self.body)

    @property
    def text(self) -> str:
        """As a message of a WebSocket."""
        return self.body.decode()


class Told(NamedTuple):
    """A message of the stream of notifications."""

    sequence: int
    payload: bytes
    stored: float = 0.0
    """When, in seconds since 1970; 0 if it never was."""


def events_of(told: Iterable[Told], seal: Seal, cursor_of: Callable[[int], str] | None = None) -> list[Event]:
    """Messages as events, with a cursor for the place of each, which is that of an event unless told otherwise. What is
    not a notification, as only another program can have written it, is left out."""
    cursor_of, events = cursor_of or seal.event, []
    for sequence, payload, stored in told:
        try:
            head = _head.decode(payload)
        except (msgspec.DecodeError, UnicodeError):
            logger.warning("message %d is not a notification", sequence)
        else:
            kind, (id_, data), cursor = f"nearcast.{head.kind}", _named(head, payload, seal), cursor_of(sequence)
            events.append(_event(sequence, kind, id_, head.subscription, head.time, data, cursor, stored))
    return events


def _named(head: _Head, payload: bytes, seal: Seal) -> tuple[str, bytes]:
    """The id of a notification, and the notification, as its receiver may know them."""
    shown = seal.notification(head.id, head.cause.kind)
    return shown, payload if shown == head.id else payload.replace(_encoder.encode(head.id), _encoder.encode(shown), 1)


def gap_event(sequence: int, time: str, seal: Seal) -> Event:
    """What was told before it is not all there any more. It says nothing else, by its id or its cursor either: both are
    other ones each time, or one could see by them whether anyone was told anything in between."""
    data, id_ = _encoder.encode({"kind": "gap"}), secrets.token_hex(16)
    return _event(sequence, "nearcast.gap", id_, "gap", time, data, seal.now(sequence))


def trial_event(id_: str, subject: str, time: str) -> Event:
    """Something to try a receiver with. It is not in the stream."""
    return _event(0, "nearcast.test", id_, subject, time, _encoder.encode({"kind": "test"}))


def _event(
    sequence: int, kind: str, id_: str, subject: str, time: str, data: bytes, cursor: str = "", stored: float = 0.0
) -> Event:
    envelope = _Envelope("1.0", id_, SOURCE, kind, subject, time, "application/json", msgspec.Raw(data), cursor)
    return Event(sequence, _encoder.encode(envelope), id_, stored, cursor)


def merge_readings(told: Iterable[Told]) -> list[Told]:
    """Without the readings of a pair that a later one follows. All else stays, in order."""
    kept: list[Told] = []
    seen: set[tuple[str | None, ...]] = set()
    for message in reversed(list(told)):
        try:
            about = _about.decode(message.payload)
        except (msgspec.DecodeError, UnicodeError):
            continue
        if about.kind == "reading":
            pair = (about.subscription, about.publication, about.publisher, about.region, about.peer)
            if pair in seen:
                continue
            seen.add(pair)
        kept.append(message)
    kept.reverse()
    return kept
