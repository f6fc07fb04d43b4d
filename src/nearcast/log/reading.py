"""Reading a stream by its sequences, and finding out that it is not what it was.

A range is read through a pull consumer that is kept in memory, and only as long as someone reads, so a reader that is
killed leaves nothing behind. One request brings many messages into one callback, which costs a third of asking the
client to fetch them, and less than direct gets, whose messages come with six headers each.
"""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import api

from nearcast.errors import LogError
from nearcast.log.connection import PATIENCE
from nearcast.log.packet import format_of

__all__ = ["Entry", "Extent", "check_end", "check_range", "extent_of", "fetch", "stamp_of"]

MESSAGES = 20_000
"""The most that one request brings."""
BYTES = 16 * 2**20
"""The same; or two of the largest messages, if those are larger."""
_NANOS = 10**9
_ACK = "$JS.ACK."


class Entry(NamedTuple):
    """A message of the log."""

    sequence: int
    format: str
    payload: bytes


class Extent(NamedTuple):
    """How far a stream goes. One that is empty ends before it begins."""

    created: str
    """When; a stream of the same name that was made later is another."""
    first: int
    last: int


async def extent_of(client: Client, stream: str) -> Extent:
    """From where to where the stream goes now."""
    info = await client.jetstream(timeout=PATIENCE).stream_info(stream)
    assert info.created is not None
    return Extent(info.created.isoformat(), max(info.state.first_seq, 1), info.state.last_seq)


async def stamp_of(client: Client, stream: str, sequence: int) -> str:
    """When the message with this sequence was stored: the same sequence with another stamp is another message."""
    message = await client.jetstream(timeout=PATIENCE).get_msg(stream, seq=sequence)
    return str(message.time)


def check_range(stream: str, extent: Extent, first: int, last: int) -> None:
    """Whether all of a range can still be there."""
    if first > last:
        return
    if extent.first > first:
        raise LogError(
            f"stream {stream!r} was truncated: it begins at {extent.first}, and {first} is wanted; "
            "start from a snapshot that is newer than what was cut"
        )
    check_end(stream, extent, last)


def check_end(stream: str, extent: Extent, last: int) -> None:
    """Whether what has been there can still be there."""
    if extent.last < last:
        raise LogError(
            f"stream {stream!r} lost its tail: it ends at {extent.last}, and {last} had been there; "
            "what was told of the lost ops cannot be taken back"
        )


async def fetch(client: Client, stream: str, first: int, last: int) -> list[Entry]:
    """The messages of a range, without a gap: all of them, or as many as one request brings, but at least one."""
    jetstream = client.jetstream(timeout=PATIENCE)
    consumer = await jetstream.add_consumer(
        stream,
        ack_policy=api.AckPolicy.NONE,
        deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
        opt_start_seq=first,
        inactive_threshold=PATIENCE,
        mem_storage=True,
        num_replicas=1,
    )
    taking = _Taking(stream, first, min(last, first + MESSAGES - 1))
    inbox = client.new_inbox()
    listening = await client.subscribe(inbox, cb=taking.take, pending_msgs_limit=0, pending_bytes_limit=0)
    request = {
        "batch": taking.last - first + 1,
        "max_bytes": max(BYTES, 2 * client.max_payload),
        "expires": PATIENCE * _NANOS,
    }
    await client.publish(
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer.name}", json.dumps(request).encode(), reply=inbox
    )
    await taking.ended()
    await listening.unsubscribe()
    await jetstream.delete_consumer(stream, consumer.name)
    return taking.entries()


class _Taking:
    """The answer to one request, as it comes in."""

    def __init__(self, stream: str, first: int, last: int) -> None:
        self.stream, self.first, self.last = stream, first, last
        self._taken: list[Entry] = []
        self._end = asyncio.Event()

    async def take(self, message: Msg) -> None:
        """Whatever is not a message of the stream says that there are no more to come."""
        if not message.reply.startswith(_ACK):
            self._end.set()
            return
        parts = message.reply.split(".")
        # A server that names its domain puts that and its account before the name of the stream.
        sequence = int(parts[5 if len(parts) == 9 else 7])
        self._taken.append(Entry(sequence, format_of(message.headers), message.data))
        if sequence >= self.last:
            self._end.set()

    async def ended(self) -> None:
        """Waits for as long as something comes in."""
        before = -1
        while len(self._taken) > before:
            before = len(self._taken)
            try:
                await asyncio.wait_for(self._end.wait(), PATIENCE + 1)
            except TimeoutError:
                continue
            return

    def entries(self) -> list[Entry]:
        for sequence, entry in enumerate(self._taken, self.first):
            if entry.sequence != sequence:
                raise LogError(f"stream {self.stream!r} has a gap: after {sequence - 1} comes {entry.sequence}")
        if not self._taken:
            raise LogError(f"stream {self.stream!r} gave nothing at {self.first}; {self.last} was the last wanted")
        return self._taken
