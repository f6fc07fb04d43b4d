"""The process that delivers: it holds a lease, follows who wants what, and has a worker for each webhook.

Others wait for the lease, and take over when it runs out. Whoever holds it for a time, its *term*, has connections that
are made for that term and go with it, so nothing of a term outlives it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from nats.aio.msg import Msg
from nats.js.kv import KeyValue

from nearcast.errors import LogError, NearcastError
from nearcast.gateway.ask import Broker
from nearcast.gateway.delivery import Hub
from nearcast.gateway.hooks import Hook, Hooks, Record, read_record
from nearcast.gateway.letters import Letters
from nearcast.gateway.link import Link
from nearcast.log.client import Log
from nearcast.log.ending import end
from nearcast.log.lease import SECONDS, Lease
from nearcast.log.subjects import HOOKS, hook_subject
from nearcast.log.watching import Watch, watching
from nearcast.webhooks.cursors import HookCursors, Overtaken
from nearcast.webhooks.makers import Makers
from nearcast.webhooks.metrics import HookMetrics
from nearcast.webhooks.policy import Policy
from nearcast.webhooks.sending import Sender
from nearcast.webhooks.worker import DELIVERING, MOST_BYTES, MOST_EVENTS, STATES, Tools, Worker

__all__ = ["Service", "Settings"]

LEASE = "webhooks"
SOON, LATE = 0.1, 2.0
"""Seconds to wait before the log is tried again: at first, and at most."""
AGAIN = 1.0
"""Seconds before a worker that failed begins again."""
FINISH = 5.0
"""Seconds for requests that are on their way when the process is to end."""
LOOK = 0.05
"""Seconds between two looks at a lease that is about to be renewed."""
TOKENS = 1.0
"""Seconds between two looks at the file of tokens."""
TESTS = 1.0
"""Seconds between two tests of one webhook."""
QUEUE = MOST_EVENTS
"""Events that wait for one webhook in memory; the rest is on disk."""
logger = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Settings:
    """What an operator may set."""

    private: bool = False
    """Whether endpoints may be at loopback and private addresses."""
    timeout: float = 15.0
    """Seconds for an endpoint to answer."""
    lease: float = SECONDS
    tokens: Path | None = None
    """The file of tokens, which says whose webhooks are held."""
    policy: Policy = field(default_factory=Policy)


class Service:
    """``run`` delivers while it holds the lease, until it is asked to end."""

    def __init__(self, url: str, name: str, settings: Settings) -> None:
        self.name, self.metrics = name, HookMetrics()
        self._url, self._settings = url, settings
        self._ended = asyncio.Event()

    def end(self) -> None:
        self._ended.set()

    async def run(self) -> None:
        """A server that is not there at first is an error; one that goes away is waited for."""
        wait, was_there = SOON, False
        while not self._ended.is_set():
            try:
                async with Log(self._url) as log:
                    await log.create(live=True)
                    wait, was_there = SOON, True
                    await self._serve(log)
            except NearcastError as error:
                if not was_there:
                    raise
                logger.warning("%s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), wait)
            wait = min(LATE, wait * 2)

    async def _serve(self, log: Log) -> None:
        """Wait for the lease, and have a term. Returns when it is over, or the connection is."""
        lease = Lease(log, LEASE, self.name, self._settings.lease)
        ending, lost = asyncio.ensure_future(self._ended.wait()), asyncio.ensure_future(log.lost.wait())
        try:
            until = await self._await_lease(lease, lost)
            if until is None:
                return
            logger.info("%s delivers to webhooks", self.name)
            term = Term(self._url, log, self._settings, self.metrics, until)
            over = [ending, lost, asyncio.ensure_future(term.run(lease))]
            try:
                await asyncio.wait(over, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await term.close(well=ending.done())
                over[-1].cancel()
                with suppress(asyncio.CancelledError, NearcastError):
                    await over[-1]
        finally:
            ending.cancel()
            lost.cancel()
            with suppress(NearcastError):
                await lease.give_up()

    async def _await_lease(self, lease: Lease, lost: asyncio.Future[Any]) -> float | None:
        """Until when it is held; None if there is no more reason to wait."""
        while not (self._ended.is_set() or lost.done()):
            asked = time.monotonic()
            if await lease.hold():
                return asked + lease.seconds
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), lease.seconds / 4)
        return None


class Term:
    """One time with the lease."""

    def __init__(self, url: str, log: Log, settings: Settings, metrics: HookMetrics, until: float) -> None:
        self._log, self._settings, self._metrics, self._until = log, settings, metrics, until
        self._link = Link(url)
        asked, room = Broker(self._link), 2 * MOST_BYTES
        self._hub = Hub(url, asked, metrics, QUEUE, page=MOST_EVENTS, page_bytes=room, room=room, merges=False)
        self._hooks, self._cursors, self._letters = Hooks(self._link), HookCursors(log), Letters(log)
        self._is_listening = False
        self._stack = AsyncExitStack()
        self._tools: Tools | None = None
        self._workers: dict[str, tuple[Worker, asyncio.Task[None]]] = {}
        self._records: dict[str, Record] = {}
        """What each key of the bucket holds."""
        self._is_partial = False
        """Some could not be read, as of a later release, so there are webhooks that are not known here."""
        self._makers = Makers(settings.tokens)
        self._tested: dict[str, float] = {}
        self._over = asyncio.Event()
        self._cleaning: set[asyncio.Task[None]] = set()

    async def run(self, lease: Lease) -> None:
        """Deliver until the lease is lost."""
        keeping = asyncio.ensure_future(self._keep(lease))
        serving = asyncio.ensure_future(self._deliver())
        looking = asyncio.ensure_future(self._look_at_tokens())
        over = asyncio.ensure_future(self._over.wait())
        tasks = [keeping, serving, looking, over]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await end(*tasks)

    async def close(self, *, well: bool) -> None:
        """End all workers; if it is to end well, after the requests that are on their way."""
        tasks = [task for _, task in self._workers.values()]
        if well and tasks:
            for worker, _ in self._workers.values():
                worker.finish()
            await asyncio.wait(tasks, timeout=FINISH)
        await end(*tasks, *self._cleaning)
        await self._stack.aclose()

    async def _keep(self, lease: Lease) -> None:
        """Say that one lives, and note until when that holds."""
        while True:
            await asyncio.sleep(lease.seconds / 4)
            asked = time.monotonic()
            # One that ran out and that nobody took is taken again; that another had it meanwhile, the cursors tell.
            if not (await lease.hold() or await lease.hold()):
                logger.warning("the lease is lost; another may deliver now")
                return
            self._until = asked + lease.seconds

    async def _held(self) -> None:
        """A lease that ran out is waited for: it is renewed, or the term ends."""
        while time.monotonic() >= self._until:
            await asyncio.sleep(LOOK)

    # ---- who wants what --------------------------------------------------------------------------

    async def _deliver(self) -> None:
        sender = Sender(private=self._settings.private, timeout=self._settings.timeout)
        for part in (self._link, sender):
            await self._stack.enter_async_context(part)
        await self._letters.create()
        self._tools = Tools(
            self._hub,
            self._hooks,
            self._cursors,
            self._letters,
            sender,
            self._settings.policy,
            self._metrics,
            self._held,
        )
        for question, answer in (("test", self._test), ("metrics", self._measure)):
            await self._log.client.subscribe(hook_subject(question), cb=_answering(answer))
        async with watching(self._log, HOOKS) as records:
            await self._catch_up(records)
            await self._clean(records)
            async for entry in records.changes():
                await self._hear(entry)

    async def _catch_up(self, records: Watch) -> None:
        async for entry in records.held():
            await self._hear(entry)

    async def _hear(self, entry: KeyValue.Entry) -> None:
        if not self._is_listening:  # to all that is told: not before there is a webhook
            self._is_listening = True
            await self._stack.enter_async_context(self._hub)
        self._follow(entry)

    def _follow(self, entry: KeyValue.Entry) -> None:
        """Make what runs what a record says."""
        record = Record("", {})
        if entry.operation is None and entry.value:
            try:
                record = read_record(entry.value)
            except msgspec.DecodeError:
                logger.warning("record %s of webhooks cannot be read", entry.key)
                self._is_partial = True
                return
        before = self._records.pop(entry.key, Record("", {}))
        for number in _numbers(before) - _numbers(record):
            self._end(number)
        if record.hooks:
            self._records[entry.key] = record
        for hook in record.hooks.values():
            self._begin(record.client, hook)

    async def _look_at_tokens(self) -> None:
        while True:
            await asyncio.sleep(TOKENS)
            if self._makers.has_changed():
                for record in self._records.values():
                    for hook in record.hooks.values():
                        self._begin(record.client, hook)

    def _begin(self, client: str, hook: Hook) -> None:
        assert self._tools is not None
        is_held = not self._makers.may(client, hook)
        if hook.number in self._workers:
            there, _ = self._workers[hook.number]
            if (there.hook, there.is_held) != (hook, is_held):
                there.change(hook, is_held=is_held)
            return
        worker = Worker(self._tools, client, hook, is_held=is_held)
        self._workers[hook.number] = worker, asyncio.create_task(self._work(worker))

    def _end(self, number: str) -> None:
        """Of one that was removed nothing stays."""
        _, task = self._workers.pop(number)
        self._tested.pop(number, None)
        cleaning = asyncio.create_task(self._end_and_remove(number, task))
        self._cleaning.add(cleaning)
        cleaning.add_done_callback(self._cleaning.discard)

    async def _end_and_remove(self, number: str, task: asyncio.Task[None]) -> None:
        """One that still wrote would bring back what goes."""
        await end(task)
        await self._remove(number)

    async def _work(self, worker: Worker) -> None:
        """One webhook's trouble is not the others'; only that another process delivers ends them all."""
        while True:
            try:
                await worker.run()
            except Overtaken:
                if worker.hook.number in self._workers:  # of one that was removed the cursor goes
                    self._over.set()
                return
            except NearcastError as error:
                logger.warning("webhook %s: %s", worker.hook.number, error)
            except Exception:
                logger.exception("webhook %s: unforeseen", worker.hook.number)
            else:
                return
            await asyncio.sleep(AGAIN)

    async def _clean(self, records: Watch) -> None:
        """Without what is left of webhooks that were removed while nobody was there. A webhook is in a record before
        anything is kept of it, so all records are followed once more before what is kept is nobody's."""
        kept = {*await self._cursors.numbers(), *await self._letters.counts()}
        await self._catch_up(records)
        if self._is_partial:
            return
        for number in kept - set(self._workers):
            logger.info("webhook %s was removed: its cursor and its dead letters go", number)
            await self._remove(number)

    async def _remove(self, number: str) -> None:
        with suppress(LogError):
            await self._cursors.remove(number)
            await self._letters.purge(number)

    # ---- questions -------------------------------------------------------------------------------

    async def _test(self, payload: bytes) -> bytes:
        """Try an endpoint; not more often than once a second, as it may be someone else's."""
        number = msgspec.json.decode(payload, type=str)
        found = self._workers.get(number)
        if found is None:
            return _encoder.encode({"error": "it is not known yet; try again", "status": 503})
        now = time.monotonic()
        if now < self._tested.get(number, -TESTS) + TESTS:
            return _encoder.encode({"error": "one test a second is enough", "status": 429})
        self._tested[number] = now + self._settings.timeout
        outcome = await found[0].test()
        self._tested[number] = time.monotonic()
        return _encoder.encode({"outcome": outcome.kind, "reason": outcome.reason})

    async def _measure(self, _payload: bytes) -> bytes:
        """How things are, then all that was counted."""
        states = dict.fromkeys(STATES, 0)
        oldest = now = time.time()
        for worker, _ in self._workers.values():
            states[worker.state] += 1
            if worker.state in DELIVERING and worker.head is not None and worker.head.stored:
                oldest = min(oldest, worker.head.stored)
        for state, count in states.items():
            self._metrics.hooks.labels(state).set(count)
        self._metrics.lag.set(now - oldest)
        return self._metrics.text()


def _numbers(record: Record) -> set[str]:
    return {hook.number for hook in record.hooks.values()}


def _answering(answer: Callable[[bytes], Awaitable[bytes]]) -> Callable[[Msg], Awaitable[None]]:
    """Questions are answered beside each other."""
    under_way: set[asyncio.Task[None]] = set()

    async def reply(message: Msg) -> None:
        try:
            await message.respond(await answer(message.data))
        except (msgspec.DecodeError, NearcastError) as error:
            logger.warning("a question about webhooks: %s", error)

    async def hear(message: Msg) -> None:
        task = asyncio.create_task(reply(message))
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    return hear
