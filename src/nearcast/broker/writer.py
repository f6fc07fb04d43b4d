"""What is told, into the stream of notifications: many on their way at once, and none of them twice.

It is also said *ahead* of the stream, all that a packet told in one message, since a server takes 3 ms for a hundred of
them and readers would wait for the last. Nobody depends on it: what is missed there is in the stream.

Each message names the sequence that it must follow, so none is taken after one that was not. A writer that is overtaken
finds out by the first answer, and nothing that it sent since is taken either. Waiting for each answer would allow
5,000 messages a second; this way a server takes 50,000.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable

import msgspec
from nats.aio.msg import Msg

from nearcast.broker.fairness import Fairness
from nearcast.broker.outbox import Item
from nearcast.broker.recovery import Stuck
from nearcast.errors import LogError
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import AHEAD_SUBJECT, OUT_STREAM
from nearcast.log.telling import HEADERS, Ahead, Tail, check_ack, check_same, headers_of

__all__ = ["Writer"]

IN_FLIGHT = 4096
"""Messages of which it is not known yet that they are there."""
ANSWERED = 64
"""Of so many, one asks for an answer, and so does the last: what is taken says that all before it was."""
WAITING = 20_000
"""Messages that wait to be sent, before whoever makes them is made to wait."""
LATER = 0.005
"""Seconds that whoever hears what was said ahead has the machine, before it is written as well;"""
MANY = 1000
"""unless so much waits."""
AHEAD = 2**17
"""Bytes of what is said ahead in one message, about."""
_NOBODY = b'{"error": {"description": "there is no such stream any more"}}'
"""What an empty answer means."""
_encode = msgspec.json.Encoder().encode


class Writer:
    """Goes on where a stream ends. It is for one connection, and for as long as nobody else writes."""

    def __init__(self, log: Log, tail: Tail, fairness: Fairness | None = None) -> None:
        self._log, self._tail, self._fairness = log, tail, fairness
        self.sequence = tail.sequence
        """Of the last message that will be there when all that was given is written."""
        self.acknowledged = tail.sequence
        """Of the last message that is known to be there."""
        self._sent = tail.sequence
        self._waiting: deque[Item] = deque()
        self._said = tail.sequence
        """Of the last message that was said ahead,"""
        self._unsaid: list[Item] = []
        """and those that are to be."""
        self._more, self._room, self._news = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._fault: LogError | None = None
        self._heard = 0.0
        self._ended = False

    def give(self, items: Iterable[Item]) -> None:
        """Have what comes after the end of the stream written; what is there already is passed over."""
        for item in items:
            if item.place == self._tail.place:
                self._check(item)
            elif item.place > self._tail.place:
                fitting = self._fitting(item)
                self._waiting.append(fitting)
                self._unsaid.append(fitting)
                self.sequence += 1
        if self._waiting:
            self._more.set()
        if self._unsaid:
            self._news.set()

    def _check(self, item: Item) -> None:
        try:
            check_same(OUT_STREAM, self._tail, item.id)
        except LogError as error:
            raise Stuck(str(error)) from None

    async def room(self) -> None:
        """Wait until there is not too much to write."""
        while len(self._waiting) > WAITING and not self._ended:
            self._room.clear()
            await self._room.wait()

    async def run(self) -> None:
        """Write until cancelled. Raises `Overtaken`, or another `LogError`, at the first that is not taken."""
        client = self._log.client
        inbox = client.new_inbox()
        with explained(self._log.url, OUT_STREAM):
            answers = await client.subscribe(f"{inbox}.*", cb=self._hear, pending_msgs_limit=0, pending_bytes_limit=0)
            try:
                await self._pump(inbox)
            finally:
                self._ended = True
                self._room.set()
                if not client.is_closed:
                    await answers.unsubscribe()

    async def _pump(self, inbox: str) -> None:
        while True:
            if self._fault is not None:
                raise self._fault
            if self._waiting and self._sent - self.acknowledged < IN_FLIGHT:
                await self._send(self._waiting.popleft(), inbox)
                continue
            self._more.clear()
            self._room.set()
            await self._until_more()
            if len(self._waiting) < MANY:
                await asyncio.sleep(LATER)

    async def _until_more(self) -> None:
        """Wait for something to write, or for an answer that lets more be written, or says that all is over."""
        if self._sent == self.acknowledged:
            await self._more.wait()
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await self._more.wait()
        except TimeoutError:
            if self._sent > self.acknowledged and time.monotonic() > self._heard + PATIENCE:
                raise LogError(f"stream {OUT_STREAM!r}: no answer to message {self.acknowledged + 1}") from None

    async def _send(self, item: Item, inbox: str) -> None:
        if self._sent == self.acknowledged:
            self._heard = time.monotonic()
        headers = headers_of(item.id, item.place)
        headers["Nats-Expected-Last-Sequence"] = str(self._sent)
        self._sent += 1
        reply = f"{inbox}.{self._sent}" if not self._waiting or self._sent % ANSWERED == 0 else ""
        await self._log.client.publish(item.subject, item.payload, reply=reply, headers=headers)
        if self._fairness is not None:
            await self._fairness.note(item.subject, len(item.payload))

    async def say_ahead(self) -> None:
        """Say what is given as soon as it is there, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self._say()

    async def _say(self) -> None:
        items, self._unsaid = self._unsaid, []
        some: list[tuple[str, msgspec.Raw]] = []
        size = 0
        for item in items:
            some.append((item.subject, msgspec.Raw(item.payload)))
            size += len(item.payload)
            if size > AHEAD or item is items[-1]:
                data = _encode(Ahead(self._said + 1, some))
                self._said += len(some)
                if len(data) <= self._log.client.max_payload:
                    await self._log.client.publish(AHEAD_SUBJECT, data)
                some, size = [], 0

    def _fitting(self, item: Item) -> Item:
        """As much of a notification as the server takes: one that is too large says so, and what it is about."""
        if len(item.payload) + HEADERS <= self._log.client.max_payload:
            return item
        return item._replace(payload=self._cut(item.payload))

    def _cut(self, payload: bytes) -> bytes:
        said = msgspec.json.decode(payload)
        short = {**said, "content": None, "why": {}, "cut": True}
        short.pop("values", None)
        data = msgspec.json.encode(short)
        if len(data) + HEADERS <= self._log.client.max_payload:
            return data
        return msgspec.json.encode({"id": said["id"], "time": said["time"], "kind": said["kind"], "cut": True})

    async def _hear(self, answer: Msg) -> None:
        sequence = int(answer.subject.rpartition(".")[2])
        self._heard = time.monotonic()
        try:
            check_ack(answer.data or _NOBODY, sequence, f"stream {OUT_STREAM!r}")
        except LogError as error:
            self._fault = self._fault or error
        else:
            self.acknowledged = max(self.acknowledged, sequence)
        if self._fault or self._waiting or self._sent == self.acknowledged:
            self._more.set()
