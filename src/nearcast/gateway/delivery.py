"""Who is connected, and what each has yet to hear.

The gateway has one consumer for the whole stream of notifications, hears what brokers say ahead of it, and hands each
message to whoever is connected for its client. A *feed* is one socket's part. It is either live, with a bounded queue
that the hub fills, or behind, and then reads its client's messages from the stream on disk.

To go from behind to live without loss, repeat or disorder, a feed first lets the hub fill its queue, then finds out
which message of its client is the last one, and reads up to that from disk. Whatever comes later is in the queue; what
is in both is known by its sequence. A queue that is full is emptied, and the feed is behind again: a slow client costs
the others nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

import msgspec
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import api

from nearcast.errors import GatewayError, LogError
from nearcast.gateway.ask import Broker, State
from nearcast.gateway.events import Event, Told, events_of, gap_event, merge_readings
from nearcast.gateway.limits import Rates
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import FeedMetrics
from nearcast.gateway.outbox import Outbox, places_of, stored_of
from nearcast.gateway.seal import Seal
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.ending import end
from nearcast.log.reading import extent_of
from nearcast.log.subjects import AHEAD_SUBJECT, OUT_STREAM, out_subject
from nearcast.log.telling import Ahead
from nearcast.model.moment import time_text

__all__ = ["Feed", "Hub"]

QUEUE = 1000
"""Events that wait for one socket."""
PAGE = 1000
"""Messages that are read from disk at a time,"""
PAGE_BYTES = 2**17
"""and bytes of them: they are kept until the socket has taken them."""
BEAT = 5.0
"""Seconds after which a server says that there is nothing to say. Three such silences mean that it has gone."""
RETOLD = 10.0
"""Seconds for a broker to tell again what a crash of the server took."""
SOME = 16
"""Notifications of those said ahead that are handed over before the first of them are sent."""
STORED = 1.0
"""Seconds to wait for what was heard before it was on disk, where one can do without."""
SOON = 0.005
"""Seconds to wait before the disk is asked again for what was said ahead."""
AGAIN = 0.5
"""Seconds to wait before what did not work is tried again."""
logger = logging.getLogger(__name__)
_ahead = msgspec.json.Decoder(Ahead)


class Hub:
    """One consumer of all that is told. ``with hub.listen(client, after) as feed`` is a socket's part of it."""

    def __init__(
        self,
        url: str,
        broker: Broker,
        metrics: FeedMetrics,
        queue: int = QUEUE,
        *,
        page: int = PAGE,
        page_bytes: int = PAGE_BYTES,
        room: int | None = None,
        merges: bool = True,
    ) -> None:
        """``page`` is how many messages a feed reads from disk at a time, and ``page_bytes`` how many bytes of them;
        ``queue`` and ``room`` are for those that wait. With ``merges`` a feed that is too slow is told the latest
        reading of a pair only."""
        self._link = Link(url, self._follow)
        self.outbox = Outbox(self._link)
        self.broker, self.metrics, self.queue = broker, metrics, queue
        self.page, self.page_bytes, self.room, self.merges = page, page_bytes, room, merges
        self.position = 0
        """The last sequence that was seen. All that is not later has been handed over, or is on disk."""
        self.stored = 0
        """The last sequence that is known to be on disk; what is said ahead may not be yet."""
        self._feeds: dict[str, set[Feed]] = {}
        self._listening: list[Subscription] = []
        self._delivered = 0
        self._heard = time.monotonic()
        self._is_broken = False
        """Something was left out, and what follows is not taken."""
        self._created = ""
        self._seal: Seal | None = None
        self._watch: asyncio.Task[None] | None = None
        self.rates: Rates | None = None
        """What clients may ask for, where they are bounded."""
        self._mending: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Of clients that are told how things stand."""

    async def __aenter__(self) -> Self:
        await self._link.__aenter__()
        self._watch = asyncio.create_task(self._keep(), name="nearcast hub")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            await end(self._watch)
        self.end()
        await self._link.__aexit__(kind, error, trace)

    @property
    def seal(self) -> Seal:
        """By which places in the stream are shown to others."""
        if self._seal is None:
            raise GatewayError(503, "the server has not been there yet", retry_after=1)
        return self._seal

    def listen(self, client: str, after: int | None) -> Feed:
        """What is told to a client after a sequence. Close it when nobody listens any more.

        Whoever names a place that is not of this stream is told how things stand.
        """
        feed = Feed(self, client, after or 0)
        feed.is_lost = after is None
        self._feeds.setdefault(feed.subject, set()).add(feed)
        self.metrics.connected.inc()
        return feed

    def listeners(self, client: str) -> int:
        """How many listen for a client."""
        return len(self._feeds.get(out_subject(client), ()))

    async def until_stored(self, sequence: int, patience: float) -> bool:
        """Of what was said ahead, wait until the disk has it; says whether it does in that many seconds."""
        until = time.monotonic() + patience
        while self.stored < sequence:
            self.stored = max(self.stored, (await self.outbox.extent()).last)
            if self.stored < sequence:
                if time.monotonic() > until:
                    return False
                await asyncio.sleep(SOON)
        return True

    async def on_disk(self) -> int:
        """How far the stream that was heard is on disk. What was said ahead is waited for, but not for long."""
        told = self.position
        return told if await self.until_stored(told, STORED) else self.stored

    async def present(self, client: str) -> State:
        """What matches now for a client. That is asked for one feed of a client at a time, and counts as a question. If
        it is too much to be said at once, or takes too long to find out, it is left out."""
        async with self._mending.setdefault(client, asyncio.Lock()):
            if self.rates is not None:
                self.rates.take(client, 1)
            try:
                return await self.broker.state(client, None if self.rates is None else self.rates.charging(client))
            except GatewayError as error:
                if error.status != 422:
                    raise
                logger.warning("the present state of %r is not told after a gap: %s", client, error)
                return State(0)

    def end(self) -> None:
        """Nobody is to wait for more."""
        for feed in [feed for feeds in self._feeds.values() for feed in feeds]:
            feed.close()

    def forget(self, feed: Feed) -> None:
        feeds = self._feeds.get(feed.subject, set())
        if feed in feeds:
            feeds.discard(feed)
            self.metrics.connected.dec()
        if not feeds:
            self._feeds.pop(feed.subject, None)

    # ---- the consumer ----------------------------------------------------------------------------

    async def _follow(self, log: Log) -> None:
        """Hear all that comes after what has been heard; from now on, at first."""
        with explained(log.url, OUT_STREAM):
            extent = await extent_of(log.client, OUT_STREAM)
            self._seal = await Seal.of(log)
            # A tail that a crash of the server took is told again, so a stream that ends too early is waited for.
            self.stored = extent.last
            if extent.created != self._created:
                self.position = extent.last
                self._all_behind(is_new=bool(self._created))
                self._created = extent.created
            elif extent.first > self.position + 1:
                self.position = extent.first - 1
                self._all_behind(is_new=False)
            self._delivered, self._heard, self._is_broken = 0, time.monotonic(), False
            inbox = log.client.new_inbox()
            self._listening = [
                await log.client.subscribe(subject, cb=take, pending_msgs_limit=0, pending_bytes_limit=0)
                for subject, take in ((inbox, self._take), (AHEAD_SUBJECT, self._take_ahead))
            ]
            await log.client.jetstream(timeout=PATIENCE).add_consumer(
                OUT_STREAM,
                deliver_subject=inbox,
                deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=self.position + 1,
                ack_policy=api.AckPolicy.NONE,
                idle_heartbeat=BEAT,
                flow_control=True,
                mem_storage=True,
                num_replicas=1,
                inactive_threshold=3 * BEAT,
            )

    async def _keep(self) -> None:
        """A server that went silent, or left something out, is followed anew."""
        while True:
            await asyncio.sleep(AGAIN)
            if self._link.is_open and (self._is_broken or time.monotonic() > self._heard + 3 * BEAT):
                await self._follow_again()

    async def _follow_again(self) -> None:
        listening, self._listening = self._listening, []
        with suppress(LogError, GatewayError):
            for subscription in listening:
                await subscription.unsubscribe()
            await self._follow(self._link.log)

    async def _take(self, message: Msg) -> None:
        self._heard = time.monotonic()
        sequence, delivered = places_of(message)
        if not sequence:
            if message.reply:  # the server waits to know that this much was heard
                await message.respond(b"")
            return
        if delivered != self._delivered + 1:
            self._is_broken = True
            return
        self._delivered, self.stored = delivered, max(self.stored, sequence)
        if sequence > self.position:
            self._hand_over(message.subject, Told(sequence, message.data, stored_of(message)))

    async def _take_ahead(self, message: Msg) -> None:
        """What the stream will have next. If something before it is still on its way, the stream has this in time."""
        try:
            ahead = _ahead.decode(message.data)
        except (msgspec.DecodeError, UnicodeError):
            logger.warning("%s has something else than notifications", AHEAD_SUBJECT)
            return
        if ahead.first <= self.position + 1:
            now = time.time()
            for sequence, (subject, payload) in enumerate(ahead.told, ahead.first):
                if sequence == self.position + 1:
                    self._hand_over(subject, Told(sequence, bytes(payload), now))
                    if sequence % SOME == 0:
                        await asyncio.sleep(0)

    def _hand_over(self, subject: str, told: Told) -> None:
        self.position = told.sequence
        feeds = self._feeds.get(subject)
        if feeds:
            for event in events_of([told], self.seal):
                for feed in feeds:
                    feed.offer(event)

    def _all_behind(self, *, is_new: bool) -> None:
        for feeds in self._feeds.values():
            for feed in feeds:
                feed.is_lost |= is_new
                feed.fall_behind()


class Feed:
    """What one socket has yet to hear."""

    def __init__(self, hub: Hub, client: str, after: int) -> None:
        self.client, self.subject = client, out_subject(client)
        self.last = after
        """The sequence that the socket has reached."""
        self.is_closed = False
        self.is_lost = False
        """The stream is another one, and what it reached there says nothing here."""
        self._hub = hub
        self._short: float | None = None
        """Since when the stream has been shorter than what was heard of it."""
        self._queue: deque[Event] = deque()
        self._size = 0
        """Bytes in the queue."""
        self._is_live = False
        self._is_current = False
        """All that was on disk when it became live has been handed out."""
        self._is_slow = False
        """It fell behind while it was connected; then readings are merged."""
        self.write_at_once: Callable[[Event], bool] | None = None
        """Writes an event for which nobody has to be woken, while all before it is written; says whether it did."""
        self._reading: asyncio.Task[object] | None = None
        """Whoever waits for the disk."""
        self._is_left = False
        """It was closed meanwhile."""
        self._waiting: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.is_closed = True
        self._wake()
        if self._reading is not None and not self._is_left:
            self._is_left = self._reading.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._hub.forget(self)

    @property
    def cursor(self) -> str:
        """How far the client is, as it may know that."""
        return self._hub.seal.now(self.reached)

    @property
    def reached(self) -> int:
        """How far the client is, also by what was not for it."""
        return max(self.last, self._hub.position) if self._is_current and not self._queue else self.last

    def offer(self, event: Event) -> None:
        """From the hub, in order. While the feed is behind, the disk has it."""
        if not self._is_live or event.sequence <= self.last:
            return
        if len(self._queue) >= self._hub.queue or (self._hub.room is not None and self._size > self._hub.room):
            self._hub.metrics.behind.inc()
            self._is_slow = self._hub.merges
            self.fall_behind()
            return
        if self._is_idle and self.write_at_once is not None and self.write_at_once(event):
            self.last = event.sequence
            self._counted([event])
            return
        self._queue.append(event)
        self._size += len(event.body)
        self._wake()

    @property
    def _is_idle(self) -> bool:
        """All that there was is written, and whoever writes waits for more."""
        return not self._queue and self._waiting is not None and not self._waiting.done()

    def fall_behind(self) -> None:
        """Leave it to the disk. Whoever waits for more is woken."""
        self._is_live = self._is_current = False
        self._empty()
        self._wake()

    def rewind(self, sequence: int) -> None:
        """Have all that comes after a sequence once more, from disk; until then nothing is kept here."""
        self.fall_behind()
        self.last = sequence

    def _empty(self) -> None:
        self._queue.clear()
        self._size = 0

    async def take(self, patience: float) -> list[Event]:
        """The next events, or none if there are none for that many seconds, or the feed is closed."""
        if not self._is_live and not self.is_closed:
            try:
                events = await self._from_disk()
                self._is_current = self._is_live
            except (LogError, GatewayError) as error:
                if not isinstance(error, GatewayError) or error.status != 429:  # of which there may be many
                    logger.warning("%s", error)
                self.fall_behind()
                await asyncio.sleep(min(AGAIN, patience))
                return []
            if events:
                return self._counted(events)
        if not self._queue and self._is_live and not self.is_closed:
            await self._news(patience)
        events = [event for event in self._queue if event.sequence > self.last]
        self._empty()
        if events:
            self.last = events[-1].sequence
        return self._counted(events)

    async def _news(self, patience: float) -> None:
        """Wait until there is something, or for that long.

        One timer serves many waits, and looks when it rings whether it is time: to set one for each was half of what it
        took to take an event.
        """
        loop = asyncio.get_running_loop()
        self._due = loop.time() + patience
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_at(self._due, self._ring)
        self._waiting = loop.create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _ring(self) -> None:
        loop = asyncio.get_running_loop()
        is_early = self._waiting is not None and loop.time() < self._due
        self._timer = loop.call_at(self._due, self._ring) if is_early else None
        if not is_early:
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _counted(self, events: list[Event]) -> list[Event]:
        self._hub.metrics.sent.inc(len(events))
        return events

    # ---- from disk -------------------------------------------------------------------------------

    async def _from_disk(self) -> list[Event]:
        """Whoever goes meanwhile waits for nothing, and nobody waits for what he would have been told."""
        this = self._reading = asyncio.current_task()
        assert this is not None
        before = this.cancelling()
        try:
            return await self._catch_up()
        except asyncio.CancelledError:
            if not self._is_left or this.cancelling() > before + 1:
                raise
            self.fall_behind()
            return []
        finally:
            self._reading = None
            if self._is_left:
                this.uncancel()

    async def _catch_up(self) -> list[Event]:
        """A page from disk, or nothing if there is nothing on it; then the feed is live."""
        self._empty()
        self._is_live = True
        outbox, hub = self._hub.outbox, self._hub
        told_before = hub.position  # of what comes from now on, the queue has what the disk may not have yet
        if not await hub.until_stored(told_before, RETOLD):
            raise LogError(f"{OUT_STREAM} ends at {hub.stored}, and {told_before} was told")
        last = await outbox.last_of(self.subject)
        told = []
        if last > self.last:
            told = (await outbox.page(self.subject, self.last, hub.page, size=hub.page_bytes)).told
        extent, cut = await asyncio.gather(outbox.extent(), outbox.cut_of(self.subject))
        # Looked at after the page was read: had something gone before that, the stream would now begin later.
        first = max(extent.first, cut if cut <= extent.last else 0)  # else it was of another stream
        if self.is_lost or first > self.last + 1 or self._is_too_short(extent.last):
            return await self._mend(first)
        if not told:
            if last > self.last:
                raise LogError(f"{OUT_STREAM} has {last} for {self.client!r}, and did not say what that is")
            self._is_slow = False
            return []
        if told[-1].sequence < last:
            self.fall_behind()
        kept = merge_readings(told) if self._is_slow else told
        self._hub.metrics.merged.inc(len(told) - len(kept))
        self.last = told[-1].sequence
        return events_of(kept, hub.seal)

    def _is_too_short(self, last: int) -> bool:
        """What a crash of the server took is told again, under the same sequences. What is not was never there."""
        if last >= self.last:
            self._short = None
            return False
        now = time.monotonic()
        self._short = self._short or now
        if now < self._short + RETOLD:
            raise LogError(f"{OUT_STREAM} ends at {last}, and {self.client!r} has heard up to {self.last}")
        return True

    async def _mend(self, first: int) -> list[Event]:
        """Something that was missed may be gone: say so, and how things stand. Only the last event says how far one is,
        so whoever does not hear all of them is told again."""
        self.fall_behind()
        state = await self._hub.present(self.client)
        self._hub.metrics.gaps.inc()
        self.is_lost, self._short = False, None
        after, self.last = self.last, max(state.sequence, first - 1)
        *places, last = [*([after] * len(state.notifications)), self.last]
        seal, now = self._hub.seal, time_text(time.time_ns() // 1000)
        gap = gap_event(places[0] if places else last, now, seal)
        told = zip([*places[1:], last], state.notifications, strict=False)
        return [gap, *events_of((Told(place, bytes(notification)) for place, notification in told), seal, seal.now)]
