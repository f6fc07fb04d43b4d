"""One webhook: its events in order, one request at a time, whatever the endpoint does.

What comes first is tried until the endpoint takes it or it is given up and becomes a dead letter; only then comes the
next. How far it is and what went wrong is with the NATS server after each request, so whoever takes over goes on there:
what was on its way is sent again with the same key, and nothing else is. The server has it on disk a moment later, so
one that is killed may have forgotten the last of it, and that is sent again, too.

While an endpoint is in trouble no more than that one request is kept in memory; what waits behind it is in the stream.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import msgspec

from nearcast.gateway.delivery import Feed, Hub
from nearcast.gateway.events import Event, trial_event
from nearcast.gateway.hooks import Hook, HookCursor, Hooks
from nearcast.gateway.letters import Letter, Letters
from nearcast.model.moment import MICROS, time_text
from nearcast.webhooks.cursors import HookCursors, Place
from nearcast.webhooks.metrics import HookMetrics
from nearcast.webhooks.policy import Kind, Outcome, Policy
from nearcast.webhooks.signing import key_of, signed

__all__ = ["DELIVERING", "MOST_BYTES", "MOST_EVENTS", "STATES", "Post", "Tools", "Worker"]

ONE, SEVERAL = "application/cloudevents+json; charset=utf-8", "application/cloudevents-batch+json; charset=utf-8"
MOST_EVENTS = 100
"""Of one request."""
MOST_BYTES = 2**20
"""Of one request, unless a single event has more."""
QUIET = 15.0
"""Seconds after which one that was told nothing writes down how far the stream is, lest that be taken for a gap."""
DELIVERING = ("active", "failing")
STATES = (*DELIVERING, "paused", "held")
"""How a webhook may be."""
LETTERS = 50
"""Dead letters that are read at a time."""
logger = logging.getLogger(__name__)


class Post(Protocol):
    """What sends a request and says what became of it."""

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Outcome: ...


@dataclass(frozen=True)
class Tools:
    """What all workers use."""

    hub: Hub
    hooks: Hooks
    cursors: HookCursors
    letters: Letters
    sender: Post
    policy: Policy
    metrics: HookMetrics
    held: Callable[[], Awaitable[None]]
    """Returns while the lease is held; awaited before each request."""


class _Ending(Exception):
    """No more requests are to be begun."""


class Worker:
    """Delivers for one webhook until it is cancelled. ``change`` says that the webhook is not what it was."""

    def __init__(self, tools: Tools, client: str, hook: Hook, *, is_held: bool = False) -> None:
        self.client, self.hook, self.is_held = client, hook, is_held
        self.head: Event | None = None
        """What is on its way, or is waited for."""
        self._tools = tools
        self._changed = asyncio.Event()
        self._is_ending = False
        self._quiet = 0
        """How far the stream was when it was asked to end, if nothing was left to do."""
        self._feed: Feed | None = None
        self._place: Place | None = None
        self._waiting: deque[Event] = deque()
        """What was read and comes after that."""

    @property
    def state(self) -> str:
        """One of `STATES`, as its client is shown it."""
        if self.hook.paused is not None:
            return "paused"
        if self.is_held:
            return "held"
        return "failing" if self._place is not None and self._place.cursor.attempts > 0 else "active"

    def change(self, hook: Hook, *, is_held: bool) -> None:
        self.hook, self.is_held = hook, is_held
        self._changed.set()
        if self._feed is not None:
            self._feed.fall_behind()

    def finish(self) -> None:
        """Begin no more requests: ``run`` returns after the one that is on its way."""
        self._is_ending = True
        if self._feed is not None and self.head is None and not self._waiting:
            self._quiet = self._feed.reached
        self.change(self.hook, is_held=self.is_held)

    async def run(self) -> None:
        """A `LogError` ends it, for whoever runs it to begin again."""
        self.head = None
        self._waiting.clear()
        self._place = place = await self._tools.cursors.place(self.hook)
        with self._tools.hub.listen(self.client, place.cursor.sequence) as self._feed, suppress(_Ending):
            while True:
                await self._until_active()
                if self.hook.retry > place.cursor.retried:
                    await self._retry_letters()
                elif self._waiting:
                    await self._deliver(self._next())
                else:
                    self._waiting.extend(await self._feed.take(QUIET))
                    if not self._waiting:
                        await self._note_quiet(self._feed.reached)
        await self._note_quiet(self._quiet)

    # ---- events ----------------------------------------------------------------------------------

    def _next(self) -> list[Event]:
        """What the next request holds. A batch that was on its way when a process died is made again as it was."""
        waiting, until = self._waiting, self._cursor.until
        batch, size = [waiting.popleft()], 0
        if self.hook.batch is None:
            return batch
        is_again = until >= batch[0].sequence > self._cursor.sequence
        while waiting and len(batch) < (MOST_EVENTS if is_again else self.hook.batch):
            size += len(batch[-1].body)
            is_beyond = waiting[0].sequence > until if is_again else size + len(waiting[0].body) > MOST_BYTES
            if is_beyond:
                break
            batch.append(waiting.popleft())
        return batch

    async def _deliver(self, batch: list[Event]) -> None:
        """Until it is taken, given up, or the webhook is paused; then the feed goes back to where the cursor is. If
        there may be more or fewer in a request now, the next ones are made anew."""
        self.head, most = batch[0], self.hook.batch
        if most is not None and batch[-1].sequence > max(self._cursor.until, self._cursor.sequence):
            self._cursor.until = batch[-1].sequence
            await self._write()
        is_done = False
        while not is_done and not await self._until_active():
            if self.hook.batch != most:
                self._waiting.extendleft(reversed(batch))
                self.head, self._cursor.until = None, 0
                return
            outcome = await self._send(batch, is_list=most is not None)
            match outcome.kind:
                case Kind.DELIVERED:
                    await self._done(batch)
                    is_done = True
                case Kind.GONE:
                    await self._pause(outcome.reason)
                case _:
                    is_done = await self._fail(batch, outcome)

    async def _done(self, batch: list[Event]) -> None:
        now, metrics = time.time(), self._tools.metrics
        metrics.delivered.inc(len(batch))
        for event in batch:
            if event.stored:
                metrics.delay.observe(max(0.0, now - event.stored))
        await self._advance(batch)

    async def _advance(self, batch: list[Event]) -> None:
        cursor = self._cursor
        cursor.sequence = batch[-1].sequence
        cursor.until = 0
        self._settle()
        self.head = None
        await self._write()

    def _settle(self) -> None:
        """What went wrong is over."""
        cursor = self._cursor
        cursor.attempts, cursor.refusals, cursor.since, cursor.reason = 0, 0, 0.0, ""

    async def _fail(self, batch: list[Event], outcome: Outcome) -> bool:
        """Wait for the next attempt, or make dead letters of it and go on; whether it is given up."""
        cursor, now = self._cursor, time.time()
        cursor.attempts += 1
        cursor.refusals += outcome.kind is Kind.REFUSED
        cursor.since = cursor.since or now
        cursor.reason = outcome.reason
        wait = self._tools.policy.wait(cursor, outcome, now, random.random())
        if wait is None:
            logger.info("webhook %s gives up %d events: %s", self.hook.number, len(batch), outcome.reason)
            for event in batch:
                await self._bury(event, outcome.reason, now)
            await self._advance(batch)
            return True
        await self._write()
        self._lighten(batch)
        await self._sleep(wait)
        return False

    async def _bury(self, event: Event, reason: str, now: float) -> None:
        cursor = self._cursor
        key = key_of(self.hook.number, [event.id])
        letter = Letter(key, _text(now), cursor.attempts, _text(cursor.since), reason, msgspec.Raw(event.body))
        await self._tools.letters.add(self.hook.number, letter)
        self._tools.metrics.dead.inc()

    def _lighten(self, batch: list[Event]) -> None:
        """Leave to the stream what comes after; but not in the midst of a gap, whose events share a place."""
        last = batch[-1].sequence
        if not self._waiting or self._waiting[0].sequence > last > self._cursor.sequence:
            self._waiting.clear()
            if self._feed is not None:
                self._feed.rewind(last)

    async def _sleep(self, seconds: float) -> None:
        """Until it is time, or the webhook is another: where it leads now may work."""
        before, until = self.hook, time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._is_idle:
            if (self.hook.url, self.hook.resumed) != (before.url, before.resumed):
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                return

    # ---- requests --------------------------------------------------------------------------------

    async def _send(self, batch: Sequence[Event], key: str | None = None, *, is_list: bool) -> Outcome:
        """One request, with a list of events, or with the only one. It is not begun without the lease."""
        await self._tools.held()
        hook, began, metrics = self.hook, time.perf_counter(), self._tools.metrics
        body = b"[" + b",".join(event.body for event in batch) + b"]" if is_list else batch[0].body
        key = key or key_of(hook.number, [event.id for event in batch])
        headers = {
            "Content-Type": SEVERAL if is_list else ONE,
            **signed(key, time.time(), body, hook.secrets),
        }
        outcome = await self._tools.sender.post(hook.url, headers, body)
        metrics.requests.labels(outcome.kind).inc()
        metrics.request_seconds.labels(outcome.kind).observe(time.perf_counter() - began)
        return outcome

    async def test(self) -> Outcome:
        """Something to try an endpoint with, beside all else."""
        id_ = f"test-{random.getrandbits(64):016x}"
        trial = trial_event(id_, self.hook.id, _text(time.time()))
        return await self._send([trial], is_list=self.hook.batch is not None)

    # ---- pauses ----------------------------------------------------------------------------------

    @property
    def _is_idle(self) -> bool:
        """Nothing is to be sent now."""
        return self.hook.paused is not None or self.is_held or self._is_ending

    async def _until_active(self) -> bool:
        """Whether it was paused meanwhile. Then nothing was kept, and the feed begins again where the cursor is."""
        cursor, was_paused = self._cursor, self._is_idle
        if was_paused:
            self.head = None
            self._waiting.clear()
        while self._is_idle:
            if self._is_ending:
                raise _Ending
            if self._feed is not None:
                self._feed.rewind(cursor.sequence)
            self._changed.clear()
            await self._changed.wait()
        if cursor.attempts and cursor.since < self.hook.resumed:
            self._settle()
        return was_paused

    async def _pause(self, reason: str) -> None:
        """It does not wait before it is written that it does: nobody would know that it is to be resumed."""
        hook, why = self.hook, f"the endpoint {reason}"
        await self._tools.hooks.pause(self.client, hook.id, why, hook.number)
        logger.info("webhook %s is paused: %s", hook.number, reason)
        if self.hook == hook:  # and was not resumed since
            self.hook = msgspec.structs.replace(hook, paused=why)

    # ---- dead letters ----------------------------------------------------------------------------

    async def _retry_letters(self) -> None:
        """Each once, in order. One that is refused again comes last; an endpoint that is away ends it, and all that are
        left stay as they were."""
        wanted, after, is_away = self.hook.retry, 0, False
        while not is_away and not self._is_idle:
            listed = await self._tools.letters.read(self.hook.number, after, LETTERS)
            for after, letter in listed.letters:
                if after > wanted or is_away or self._is_idle:
                    break
                is_away = await self._retry(after, letter)
            if listed.is_last or after >= wanted:
                break
        if not self._is_idle:
            self._cursor.retried = wanted
            await self._write()

    async def _retry(self, sequence: int, letter: Letter) -> bool:
        """Whether the endpoint is away."""
        event = Event(0, bytes(letter.event))
        outcome = await self._send([event], letter.key, is_list=self.hook.batch is not None)
        letters, number = self._tools.letters, self.hook.number
        match outcome.kind:
            case Kind.DELIVERED:
                self._tools.metrics.retried.inc()
                await letters.remove(sequence)
            case Kind.GONE:
                await self._pause(outcome.reason)
            case Kind.REFUSED:
                letter.attempts += 1
                letter.time, letter.reason = _text(time.time()), outcome.reason
                await letters.add(number, letter)
                await letters.remove(sequence)
            case Kind.AWAY:
                return True
        return False

    # ---- the cursor ------------------------------------------------------------------------------

    @property
    def _cursor(self) -> HookCursor:
        assert self._place is not None
        return self._place.cursor

    async def _write(self) -> None:
        assert self._place is not None
        await self._place.write()

    async def _note_quiet(self, reached: int) -> None:
        """All up to there was for others."""
        if reached > self._cursor.sequence:
            self._cursor.sequence = reached
            await self._write()


def _text(moment: float) -> str:
    return time_text(round(moment * MICROS))
