"""When the stream of notifications is nearly full, whoever has most of it loses first.

The stream drops its oldest. Were that all, one client that is told much would take from everyone else what they have
yet to hear: with a long content and a thousand subscriptions, in a minute. So the broker that tells looks at the stream
after every so many bytes, and cuts the one that has most, until there is room, or nobody has more than an eighth. Where
a client was cut is noted before anything goes, so that it is told of a gap.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import nats.errors
from nats.js import JetStreamContext

from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE
from nearcast.log.subjects import CUTS, OUT_STREAM, OUT_SUBJECTS, bucket_key

__all__ = ["Fairness"]

LOOKS, LEAST = 32, 16
"""Looks while as much is written as the stream holds; and at least, since whoever writes waits for those."""
FULL, ENOUGH = 0.75, 0.65
"""Parts of a stream: from where on it is cut, and until where."""
PART = 1 / 8
"""The part that everyone may have in any case."""
logger = logging.getLogger(__name__)


class Fairness:
    """``note`` what is written, while ``run`` looks after it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._bytes: Counter[str] = Counter()
        self._count: Counter[str] = Counter()
        """What was written for each client, since we write, and how many messages that was."""
        self._unseen, self._every = 0, 0
        self._more, self._looked = asyncio.Event(), asyncio.Event()

    async def note(self, subject: str, size: int) -> None:
        self._bytes[subject] += size
        self._count[subject] += 1
        self._unseen += size
        if self._unseen > self._every:
            self._more.set()
            while self._unseen > self._every * LOOKS / LEAST > 0:
                self._looked.clear()
                await self._looked.wait()

    async def run(self) -> None:
        """Until cancelled. What does not work is tried at the next look: the stream takes what comes in any case."""
        while True:
            await self._more.wait()
            self._more.clear()
            self._unseen = 0
            try:
                await self._look()
            except (nats.errors.Error, OSError) as error:
                logger.warning("the stream of notifications was not looked after: %s", error)
            finally:
                self._looked.set()

    async def _look(self) -> None:
        streams = self._log.client.jetstream(timeout=PATIENCE)
        info = await streams.stream_info(OUT_STREAM)
        most = info.config.max_bytes or 0
        self._every = max(1, most // LOOKS)
        if most <= 0 or info.state.bytes < FULL * most:
            return
        counts = (await streams.stream_info(OUT_STREAM, subjects_filter=OUT_SUBJECTS)).state.subjects or {}
        mean = info.state.bytes / max(1, info.state.messages)
        sizes = {subject: count * self._mean(subject, mean) for subject, count in counts.items()}
        total = float(info.state.bytes)
        while total > ENOUGH * most and sizes:
            subject = max(sizes, key=lambda name: sizes[name])
            if sizes[subject] <= PART * most or not await self._cut(streams, subject, info.state.last_seq):
                break
            before, total = total, float((await streams.stream_info(OUT_STREAM)).state.bytes)
            sizes[subject] -= max(before - total, 0.0)
        self._bytes.clear()
        self._count.clear()

    def _mean(self, subject: str, otherwise: float) -> float:
        """Bytes of a message of a client, about."""
        return self._bytes[subject] / self._count[subject] if subject in self._count else otherwise

    async def _cut(self, streams: JetStreamContext, subject: str, last: int) -> bool:
        """Take the older half of what a client has; whether there was more than one message."""
        found = await streams.get_msg(OUT_STREAM, seq=1, subject=subject, next=True)
        first = found.seq or last
        at = (first + last + 1) // 2
        if at <= first:
            return False
        logger.info("%s has most of what is kept, and loses the older half", subject)
        await self._note_cut(subject, at)
        return await streams.purge_stream(OUT_STREAM, seq=at, subject=subject)

    async def _note_cut(self, subject: str, at: int) -> None:
        await (await self._log.bucket(CUTS)).put(bucket_key(subject), str(at).encode())
