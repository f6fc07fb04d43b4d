"""Notifications into the stream that clients hear, each once, whatever crashes.

A batch that was cut short is told again by whoever restarts it, so each message says which batch it is of, and which of
that batch. The stream's own tail then says what is there, however long ago it was written; a server remembers ids only
for a while. What is written is fenced by the sequence it must follow: of two writers at once, one fails.

Messages go in atomic batches. A server that syncs always then does so once a batch: 20,000 messages/s were measured
through this sink on a busy machine, and 860/s at best with each acknowledged by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec
from nats.aio.client import Client
from nats.js import errors as stream_errors
from nats.nuid import NUID

from nearcast.errors import LogError
from nearcast.log.connection import PATIENCE, connection, explained
from nearcast.log.reading import extent_of
from nearcast.log.subjects import BATCH, ORDINAL, OUT_STREAM, out_subject

__all__ = ["NatsSink"]

Told = tuple[str, str, bytes]
"""A notification's id, its subscriber, and its JSON."""

MESSAGES = 1000
"""The most that a server takes in one atomic batch."""
BYTES = 8 * 2**20
"""After so many, a batch is closed."""
_HEADERS = 512
"""The most that the headers of a message take."""
_OVERTAKEN = {10071, 10201}
"""Errors of a server: the stream does not end where it was said to, or has an id that is about to be written."""


class _Place(NamedTuple):
    """Where a message is in what was told: its batch, and which of the batch it is."""

    batch: int
    ordinal: int


class _Tail(NamedTuple):
    """How a stream ends."""

    sequence: int
    place: _Place
    id: str


@dataclass(frozen=True)
class NatsSink:
    """Writes batches of notifications, in the order of their numbers.

    Batches of one stream come from one pipeline: their numbers go up, and what a number told, it tells again, in the
    same order. A pipeline that counts from 0 again needs another stream, since what is older than the tail is left out.
    """

    url: str
    stream: str = OUT_STREAM

    def write(self, batch: int, told: Iterable[Told]) -> int:
        """Write what is not there yet, and give how many that were. When this returns, all of the batch is there.

        Raises `LogError` at the first that is not taken; then the stream has a beginning of the batch, and writing it
        again goes on from there.
        """
        return asyncio.run(self._write(batch, told))

    async def _write(self, batch: int, told: Iterable[Told]) -> int:
        with explained(self.url, self.stream):
            async with connection(self.url) as client:
                tail = await self._tail(client)
                if batch < tail.place.batch:
                    return 0
                waiting = iter(told)
                ordinal = self._skip(waiting, tail) if batch == tail.place.batch else 0
                return await _Writer(client, self.stream, batch, tail.sequence).write(waiting, ordinal)

    async def _tail(self, client: Client) -> _Tail:
        extent = await extent_of(client, self.stream)
        if extent.last == 0:
            return _Tail(0, _Place(-1, -1), "")
        try:
            last = await client.jetstream(timeout=PATIENCE).get_msg(self.stream, seq=extent.last)
        except stream_errors.NotFoundError:
            raise LogError(
                f"the last message of stream {self.stream!r}, {extent.last}, was removed, so what has been told is not "
                "known; keep at least the last one when you purge, or delete the stream to tell everything again"
            ) from None
        headers = last.headers or {}
        try:
            place = _Place(int(headers[BATCH]), int(headers[ORDINAL]))
        except (KeyError, ValueError):
            raise LogError(
                f"something else writes to stream {self.stream!r}: message {extent.last} has no {BATCH} and {ORDINAL}"
            ) from None
        return _Tail(extent.last, place, headers.get("Nats-Msg-Id", ""))

    def _skip(self, told: Iterator[Told], tail: _Tail) -> int:
        """Pass over what is there. The last of it must be the same message, or this is another batch of that number."""
        count = tail.place.ordinal + 1
        id_, _, _ = next(islice(told, tail.place.ordinal, count), ("nothing", "", b""))
        if id_ != tail.id:
            raise LogError(
                f"batch {tail.place.batch} has {tail.id} at {tail.place.ordinal} in stream {self.stream!r}, and now "
                f"{id_}; that is of another pipeline, or in another order"
            )
        return count


class _Writer:
    """One batch on its way to the end of a stream."""

    def __init__(self, client: Client, stream: str, batch: int, sequence: int) -> None:
        self._client, self._stream, self._batch = client, stream, batch
        self._sequence = sequence
        """Of the last message; nothing may come between."""
        self._ids = NUID()

    async def write(self, told: Iterator[Told], ordinal: int) -> int:
        first = ordinal
        for group in _groups(told):
            await self._commit(group, ordinal)
            ordinal += len(group)
        return ordinal - first

    async def _commit(self, group: list[Told], ordinal: int) -> None:
        """All of the group or none of it."""
        fence = {"Nats-Expected-Last-Sequence": str(self._sequence), "Nats-Expected-Stream": self._stream}
        name = self._ids.next().decode()
        for number, (id_, subscriber, payload) in enumerate(group, 1):
            headers = {
                "Nats-Batch-Id": name,
                "Nats-Batch-Sequence": str(number),
                "Nats-Msg-Id": id_,
                BATCH: str(self._batch),
                ORDINAL: str(ordinal + number - 1),
                **(fence if number == 1 else {}),
            }
            self._check_size(id_, payload)
            if number < len(group):
                await self._client.publish(out_subject(subscriber), payload, headers=headers)
            else:
                headers["Nats-Batch-Commit"] = "1"
                answer = await self._client.request(out_subject(subscriber), payload, PATIENCE, headers=headers)
                self._acknowledge(answer.data, len(group))

    def _check_size(self, id_: str, payload: bytes) -> None:
        if len(payload) + _HEADERS > self._client.max_payload:
            raise LogError(
                f"notification {id_} of {len(payload):,} bytes is too large: the server takes "
                f"{self._client.max_payload:,}, headers included; raise its max_payload"
            )

    def _acknowledge(self, answer: bytes, count: int) -> None:
        ack = msgspec.json.decode(answer, type=_Ack)
        expected = self._sequence + count
        if ack.error is None and ack.seq == expected:
            self._sequence = expected
            return
        where = f"stream {self._stream!r}, batch {self._batch}"
        if ack.error is None:
            raise LogError(f"{where}: the messages end at {ack.seq}, where {expected} was expected")
        if ack.error.err_code in _OVERTAKEN:
            raise LogError(f"{where}: another writer was faster ({ack.error.description}); let only one run")
        raise LogError(f"{where}: not taken: {ack.error.description}")


class _Fault(msgspec.Struct):
    description: str = ""
    err_code: int = 0


class _Ack(msgspec.Struct):
    """What a server answers to the last message of an atomic batch."""

    seq: int = 0
    error: _Fault | None = None


def _groups(told: Iterator[Told]) -> Iterator[list[Told]]:
    """What goes into one atomic batch."""
    group: list[Told] = []
    size = 0
    for one in told:
        group.append(one)
        size += len(one[2])
        if len(group) == MESSAGES or size >= BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
