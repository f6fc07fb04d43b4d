"""From what phones say to ops of the log. A message is acknowledged when what it says is in the log, and not before.

Messages are taken in the order in which they came, many at a time. One that cannot be understood is counted, and that
is all. One that comes twice, or late, is a fix that is not newer than the last, which changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from nearcast.errors import GatewayError, LogError, NearcastError
from nearcast.gateway.ask import Broker
from nearcast.gateway.commit import Committer, Placed
from nearcast.gateway.formats import op_line, when
from nearcast.log.subjects import out_subject
from nearcast.log.topics import Topic, read_topic
from nearcast.model.moment import MICROS
from nearcast.phones.marking import Marking
from nearcast.phones.messages import ABOUTS, OWN, Heard, NotUnderstood, Scalar, understand
from nearcast.phones.register import Forgotten, Phone, Register
from nearcast.phones.session import Message

__all__ = ["Reading"]

AT_ONCE = 500
"""Messages that are taken together."""
WAITING = 10_000
"""Messages that wait to be taken; while there are as many, those of QoS 0 are not. The server bounds the others."""
AGAIN = 0.5
"""Seconds before what could not be written is tried again."""
REMEMBERED = 100_000
"""Clients of whom is remembered what they last said of themselves."""
LONGEST = 256
"""Characters of the name of a device: it is kept with each of the client's waypoints."""
SPOKEN = 60.0
"""Seconds between two words on what was not understood."""
logger = logging.getLogger(__name__)


def _topic(message: Message) -> Topic:
    topic = read_topic(message.topic)
    if topic is None or topic.about not in ABOUTS:
        raise NotUnderstood("topic", "no client, no device, or something else")
    if len(topic.device) > LONGEST:
        raise NotUnderstood("topic", f"the name of a device has at most {LONGEST} characters")
    try:
        out_subject(topic.client)
    except LogError as error:
        raise NotUnderstood("topic", str(error)) from None
    return topic


class _Timed(msgspec.Struct):
    tst: float
    type: str = msgspec.field(name="_type")


class _Came(NamedTuple):
    """A message, its number among all that came, and when it came, in seconds since 1970."""

    message: Message
    number: int
    at: float


def _timed(message: Message) -> _Timed:
    try:
        return msgspec.json.decode(message.payload, type=_Timed)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _Timed(-math.inf, "")


def _in_order(held: list[_Came]) -> list[_Came]:
    """By their times; what says none comes first.

    That a device was lost says nothing of when. It comes after what the device had said by then, and after what is
    older than the news, since a server may send that late. Who says something newer is back.
    """
    latest: dict[tuple[str, ...], float] = {}
    moments: dict[int, float] = {}
    for came in held:
        said, device = _timed(came.message), (read_topic(came.message.topic) or ())[:2]
        moment = said.tst if said.type in ("location", "transition") else -math.inf
        latest[device] = max(moment, latest.get(device, -math.inf))
        # An app says whole seconds.
        moments[came.number] = max(math.floor(came.at), latest[device]) if said.type == "lwt" else moment
    return sorted(held, key=lambda came: moments[came.number])


class _Gone(NamedTuple):
    """A client that was forgotten."""

    client: str


class _Last:
    """What each said last: where it was, when, and what it said of itself."""

    __slots__ = ("at", "attributes", "time")

    def __init__(self) -> None:
        self.at: tuple[float, float, float] | None = None
        self.time = float("-inf")
        self.attributes: dict[str, Scalar | None] = {}


class Reading:
    def __init__(
        self,
        register: Register,
        committer: Committer,
        broker: Broker,
        *,
        ahead: float,
        placed: int,
        end: Callable[[], Awaitable[int]],
    ) -> None:
        """``placed`` is a packet after all that the register knows; ``end`` says which notification was the last."""
        self._register, self._committer = register, committer
        self._ahead, self._end = round(ahead * MICROS), end
        self.marking = Marking(broker, self._ahead, placed, self.commit, self._save, self._count)
        self._begin: Callable[[str], None] | None = None
        self._settle: Callable[[str], None] | None = None
        self._queue: asyncio.Queue[_Came | _Gone] = asyncio.Queue()
        self._held: list[_Came] | None = None
        """What is held back, if something is."""
        self._number = 0
        """Of the message that came last."""
        self._void: dict[str, int] = {}
        """Of clients that were forgotten, the last message that came before."""
        self._timer: asyncio.TimerHandle | None = None
        self._open: set[tuple[int, int]] = set()
        """Messages that came and are not acknowledged yet."""
        self._last: OrderedDict[str, _Last] = OrderedDict()
        self.counts: Counter[str] = Counter()
        """Messages by what became of them: ``taken``, or why they were not."""
        self._spoken = time.monotonic()

    def take(self, message: Message) -> None:
        if message.qos:
            if message.key in self._open:
                return  # sent once more, since it was not acknowledged: it will be
            self._open.add(message.key)
        elif self._queue.qsize() + len(self._held or ()) >= WAITING:
            self._count("too many", f"{message.topic!r:.80}: {WAITING:,} wait already")
            return
        self._number += 1
        came = _Came(message, self._number, time.time())
        if self._held is None:
            self._queue.put_nowait(came)
        else:
            self._held.append(came)

    def hold(self, seconds: float) -> None:
        """Hold back what comes for so long. Then take it `_in_order`.

        A server sends what was not acknowledged once more, but after a while, and what is newer before that.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._held = self._held or []
        self._timer = asyncio.get_running_loop().call_later(seconds, self._release)

    def _release(self) -> None:
        held, self._held = self._held or [], None
        for came in _in_order(held):
            self._queue.put_nowait(came)

    def forget(self, client: str) -> None:
        """What is known of a client here goes, and of what it has said nothing is taken any more."""
        self._void[client] = self._number
        self._last.pop(client, None)
        self._queue.put_nowait(_Gone(client))

    def where(self, client: str) -> tuple[float, float, float] | None:
        """Where a client is, as far as it was heard of."""
        return self._last[client].at if client in self._last else None

    async def run(
        self, ack: Callable[[Message], None], begin: Callable[[str], None], settle: Callable[[str], None]
    ) -> None:
        """``ack`` is called with each message that has been taken, ``begin`` with each client that is new, ``settle``
        with each whose waypoint went."""
        self._begin, self._settle = begin, settle
        while True:
            batch = [await self._queue.get()]
            while len(batch) < AT_ONCE and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            lines: list[bytes] = []
            for one in batch:
                if isinstance(one, _Came):
                    lines += await self._lines(one, lines)
                else:
                    await self._write(lines)
                    await self._clear(one.client)
            await self._write(lines)
            for one in batch:
                if isinstance(one, _Came):
                    self._open.discard(one.message.key)
                    ack(one.message)
            if self._queue.empty() and self._held is None:
                self._void.clear()

    async def say(self, client: str, attributes: Mapping[str, Scalar | None]) -> None:
        """Write what is new of what is known of a client."""
        lines = self._said(client, attributes)
        if lines:
            await self.commit(lines)

    async def commit(self, lines: list[bytes]) -> Placed:
        """Until it is in the log. What is written twice for want of an answer changes nothing the second time."""
        while True:
            try:
                return await self._committer.commit(lines)
            except GatewayError as error:
                if error.status != 503:
                    raise
                logger.warning("%s", error)
            await asyncio.sleep(AGAIN)

    async def _write(self, lines: list[bytes]) -> None:
        """None are left."""
        if lines:
            await self.commit(lines)
            lines.clear()

    async def _clear(self, client: str) -> None:
        try:
            await self.marking.clear(client, self._register.phones.get(client))
        except (NearcastError, TimeoutError) as error:
            logger.warning("%r is forgotten later: %s", client, error)
            asyncio.get_running_loop().call_later(AGAIN, self._queue.put_nowait, _Gone(client))

    # ---- one message -----------------------------------------------------------------------------

    async def _lines(self, came: _Came, before: list[bytes]) -> list[bytes]:
        """What a message adds to the log. Waypoints are written by themselves, after what came before."""
        now, message = time.time_ns() // 1000, came.message
        try:
            topic = _topic(message)
            self._check(topic.client, came.number)
            heard = understand(topic, message.payload, now, self._ahead)
            phone = await self._phone(topic, heard)
            if heard.waypoints or heard.are_all:
                await self._write(before)
                if await self.marking.mark(phone, topic.device, heard) and self._settle is not None:
                    self._settle(topic.client)
                lines = []
            else:
                lines = [*self._changed(topic, heard, phone), *heard.fixes.lines]
        except NotUnderstood as error:
            if error.kind != OWN:
                self._count(error.kind, f"{message.topic!r:.80}: {error}")
            return []
        except NearcastError as error:
            self._count("refused", f"{message.topic!r:.80}: {error}")
            return []
        except Forgotten:
            self._count("forgotten", f"{message.topic!r:.80}: the client was forgotten after it was sent")
            return []
        except Exception:  # one that we did not foresee must not come again and again
            self._count("unforeseen", f"{message.topic!r:.80}")
            logger.exception("a message was not taken")
            return []
        self.counts["taken"] += 1
        self.counts["faults"] += len(heard.fixes.faults)
        return lines

    def _check(self, client: str, number: int) -> None:
        """What came before its client was forgotten is not taken."""
        if number <= self._void.get(client, 0):
            raise Forgotten

    def _count(self, kind: str, reason: str) -> None:
        self.counts[kind] += 1
        now = time.monotonic()
        if now > self._spoken + SPOKEN or self.counts[kind] == 1:
            self._spoken = now
            logger.info("not taken (%d so far as %s), the last: %.300s", self.counts[kind], kind, reason)

    async def _phone(self, topic: Topic, heard: Heard) -> Phone:
        """Known, and on disk, before anything that it says can have a consequence that it is to hear of."""
        phone, is_new = self._register.phones.get(topic.client), False
        if phone is None:
            phone, is_new = Phone(topic.client, await self._until(self._end), {}, {}), True
        if phone.note(topic.device, heard.tid, is_here=not heard.is_gone) or is_new:
            await self._save(phone)
        if is_new and self._begin is not None:
            self._begin(topic.client)
        return phone

    async def _save(self, phone: Phone) -> None:
        await self._until(lambda: self._register.save(phone))

    async def _until(self, doing: Callable[[], Awaitable[Any]]) -> Any:
        while True:
            try:
                return await doing()
            except NearcastError as error:
                logger.warning("%s", error)
            await asyncio.sleep(AGAIN)

    # ---- what a phone says of itself -------------------------------------------------------------

    def _changed(self, topic: Topic, heard: Heard, phone: Phone) -> list[bytes]:
        """An op for what is new of it. A fix that comes late says nothing new."""
        last = self._last_of(topic.client)
        if heard.is_gone:
            return self._said(topic.client, {"connected": phone.is_here})
        if heard.time is not None:
            if heard.time < last.time:
                return []
            last.time = heard.time
        if heard.at is not None:
            last.at = heard.at
        return self._said(topic.client, {**heard.attributes, "device": topic.device, "connected": True})

    def _said(self, client: str, attributes: Mapping[str, Scalar | None]) -> list[bytes]:
        last = self._last_of(client).attributes
        news = {name: value for name, value in attributes.items() if name not in last or last[name] != value}
        if not news:
            return []
        last.update(news)
        now = when(None, time.time_ns() // 1000, self._ahead)
        return [op_line({"op": "client", "time": now, "client": client, "attributes": news})]

    def _last_of(self, client: str) -> _Last:
        last = self._last.pop(client, None) or _Last()
        self._last[client] = last
        while len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        return last
