"""Notifications on their way into the stream that clients hear: where each belongs, and what a server answers.

Each message says which batch told it, and which of that batch it is. So the stream's own tail says what has been told,
however long ago that was, and whoever goes on skips as much. What is written names the sequence that it must follow: of
two writers at once, one fails.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from nats.aio.client import Client
from nats.js import errors as stream_errors

from nearcast.errors import LogError
from nearcast.log.connection import PATIENCE
from nearcast.log.reading import extent_of
from nearcast.log.subjects import BATCH, ORDINAL

__all__ = [
    "HEADERS",
    "NOWHERE",
    "Ahead",
    "Overtaken",
    "Place",
    "Tail",
    "Told",
    "check_ack",
    "check_same",
    "check_size",
    "headers_of",
    "tail_of",
]

Told = tuple[str, str, bytes]
"""A notification's id, its subscriber, and its JSON."""

HEADERS = 512
"""The most that the headers of a message take."""
_OVERTAKEN = {10071, 10201}
"""Errors of a server: the stream does not end where it was said to, or has an id that is about to be written."""


class Place(NamedTuple):
    """Where a message is in what was told: its batch, and which of the batch it is."""

    batch: int
    ordinal: int


NOWHERE = Place(-1, -1)
"""Before all that is ever told."""


class Tail(NamedTuple):
    """How a stream ends."""

    sequence: int
    place: Place
    id: str


class Ahead(msgspec.Struct, array_like=True):
    """What a broker is about to write into the stream: the sequence of the first, and of each the subject and the
    message. Sequences follow from the log as ids do, so whoever hears of them early hears the same as from the disk."""

    first: int
    told: list[tuple[str, msgspec.Raw]]


class Overtaken(LogError):
    """Another writer has added to the stream: look where it ends now, or leave it to the other."""


async def tail_of(client: Client, stream: str) -> Tail:
    """How the stream ends now."""
    extent = await extent_of(client, stream)
    if extent.last == 0:
        return Tail(0, NOWHERE, "")
    try:
        last = await client.jetstream(timeout=PATIENCE).get_msg(stream, seq=extent.last)
    except stream_errors.NotFoundError:
        raise LogError(
            f"the last message of stream {stream!r}, {extent.last}, was removed, so what has been told is not "
            "known; keep at least the last one when you purge, or delete the stream to tell everything again"
        ) from None
    headers = last.headers or {}
    try:
        place = Place(int(headers[BATCH]), int(headers[ORDINAL]))
    except (KeyError, ValueError):
        raise LogError(
            f"something else writes to stream {stream!r}: message {extent.last} has no {BATCH} and {ORDINAL}"
        ) from None
    return Tail(extent.last, place, headers.get("Nats-Msg-Id", ""))


def check_same(stream: str, tail: Tail, id_: str) -> None:
    """The last that was told must be what is now told at that place, or this is another batch of that number."""
    if id_ != tail.id:
        raise LogError(
            f"batch {tail.place.batch} has {tail.id} at {tail.place.ordinal} in stream {stream!r}, and now "
            f"{id_}; that is of another pipeline, or in another order"
        )


def headers_of(id_: str, place: Place) -> dict[str, str]:
    """What each message says of itself."""
    return {"Nats-Msg-Id": id_, BATCH: str(place.batch), ORDINAL: str(place.ordinal)}


def check_size(client: Client, id_: str, payload: bytes) -> None:
    """Whether a server takes it; it hangs up on whoever sends more."""
    if len(payload) + HEADERS > client.max_payload:
        raise LogError(
            f"notification {id_} of {len(payload):,} bytes is too large: the server takes "
            f"{client.max_payload:,}, headers included; raise its max_payload"
        )


def check_ack(answer: bytes, expected: int, where: str) -> None:
    """Whether a message, or the last one of several, was taken where it was meant to be. Else it raises `LogError`."""
    ack = _ack.decode(answer)
    if ack.error is None and ack.seq == expected and not ack.duplicate:
        return
    if ack.error is None:
        raise Overtaken(f"{where}: the messages end at {ack.seq}, where {expected} was expected")
    if ack.error.err_code in _OVERTAKEN:
        raise Overtaken(f"{where}: another writer was faster ({ack.error.description}); let only one run")
    raise LogError(f"{where}: not taken: {ack.error.description}")


class _Fault(msgspec.Struct):
    description: str = ""
    err_code: int = 0


class _Ack(msgspec.Struct):
    """What a server answers to a message, or to the last one of an atomic batch."""

    seq: int = 0
    duplicate: bool = False
    error: _Fault | None = None


_ack = msgspec.json.Decoder(_Ack)
