"""The log as it grows: each packet handed over as soon as it is there, in order, none left out.

The server pushes; nobody asks. It also says every second that it is still there, so that silence is noticed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg
from nats.js import api

from nearcast.errors import LogError
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.packet import format_of
from nearcast.log.reading import Entry
from nearcast.log.subjects import OPS_STREAM

__all__ = ["Follower"]

HEARTBEAT = 1.0
"""Seconds after which a server without news says that it is there."""
SILENCE = 3.5
"""Seconds after which it is taken for lost."""
LATER = 0.05
"""Seconds that packets are left where nobody waits for what they tell, so that those who do have the machine."""
_ACK = "$JS.ACK."
_SAID = 2
"""Turns until what a packet told is on its way: in one it is said, in the next it is sent."""
_BREATH = 0.01
"""Seconds after which others get their turn, however much there is to read."""
_LONG = 0.1
"""Seconds of work after which they get more than a turn: time to ask the server something, as to keep a lease."""
_REST = 0.05
"""The part of the work that they get then, and the most of it in seconds."""


class Follower:
    """Reads the log from a sequence on, for as long as its connection holds."""

    def __init__(self, log: Log, first: int, is_urgent: Callable[[], bool] = lambda: True) -> None:
        """``is_urgent`` says whether anyone waits for what is handed over."""
        self._log, self._next, self._is_urgent = log, first, is_urgent
        self._arrived: deque[Msg] = deque()
        self._news = asyncio.Event()
        self._heard = time.monotonic()
        self.pending = 0
        """Packets that are in the log and were not handed over."""

    async def run(self, take: Callable[[Entry], Awaitable[None]]) -> None:
        """Hand over until cancelled. Raises `LogError` if the log is lost, or is not what it was."""
        client = self._log.client
        with explained(self._log.url, OPS_STREAM):
            inbox = client.new_inbox()
            listening = await client.subscribe(inbox, cb=self._note, pending_msgs_limit=0, pending_bytes_limit=0)
            await client.jetstream(timeout=PATIENCE).add_consumer(
                OPS_STREAM,
                deliver_subject=inbox,
                ack_policy=api.AckPolicy.NONE,
                deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=self._next,
                flow_control=True,
                idle_heartbeat=HEARTBEAT,
                mem_storage=True,
                num_replicas=1,
            )
            try:
                await self._hand_over(take)
            finally:
                if not client.is_closed:
                    await listening.unsubscribe()

    async def watch(self) -> None:
        """Raises `LogError` when the server has been silent for too long."""
        while True:
            slept = time.monotonic()
            await asyncio.sleep(HEARTBEAT)
            if time.monotonic() > slept + 2 * HEARTBEAT:
                self._heard = time.monotonic()  # it was this process that had no time, and what came is yet to be read
            if not self._arrived and time.monotonic() > self._heard + SILENCE:
                raise LogError(f"stream {OPS_STREAM!r}: nothing was heard for {SILENCE:g} s")

    async def _note(self, message: Msg) -> None:
        self._heard = time.monotonic()
        self._arrived.append(message)
        self._news.set()

    async def _hand_over(self, take: Callable[[Entry], Awaitable[None]]) -> None:
        turn = time.monotonic()
        while True:
            while self._arrived:
                message = self._arrived.popleft()
                if message.reply.startswith(_ACK):
                    await take(self._entry(message))
                else:
                    await self._control(message)
                for _ in range(_SAID if self._arrived and self._is_urgent() else 0):
                    await asyncio.sleep(0)
                worked = time.monotonic() - turn
                if worked > _BREATH:
                    await asyncio.sleep(min(_REST, worked * _REST) if worked > _LONG else 0)
                    turn = time.monotonic()
            self._news.clear()
            await self._news.wait()
            if not self._is_urgent():
                await asyncio.sleep(LATER)
            turn = time.monotonic()

    def _entry(self, message: Msg) -> Entry:
        """The packet, which must be the next one."""
        parts = message.reply.split(".")
        # A server that names its domain puts that and its account before the name of the stream.
        sequence, pending = (parts[5], parts[8]) if len(parts) == 9 else (parts[7], parts[10])
        if int(sequence) != self._next:
            raise LogError(f"stream {OPS_STREAM!r} has a gap: {self._next} was expected, and {sequence} came")
        self._next += 1
        self.pending = int(pending) + len(self._arrived)
        return Entry(int(sequence), format_of(message.headers), message.data)

    async def _control(self, message: Msg) -> None:
        """The server asks whether all that it sent has been dealt with, or says that it waits for that answer."""
        stalled = (message.headers or {}).get("Nats-Consumer-Stalled", "")
        for reply in (message.reply, stalled):
            if reply:
                await self._log.client.publish(reply)
