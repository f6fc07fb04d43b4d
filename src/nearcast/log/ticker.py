"""Time in the log. Timers fire by the ticks in it, so a stream, a replay and a backtest fire the same ones.

One writer is enough, and a lease says which. One that was paused until another took over may still add a tick, which
does no harm: a tick that is not later than the last says nothing new.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from nearcast.errors import LogError
from nearcast.language.oplog import encode_op
from nearcast.log.client import Log
from nearcast.log.lease import SECONDS, Lease
from nearcast.log.packet import encode_lines
from nearcast.model import op as ops

__all__ = ["Ticker"]

EVERY = 0.25
"""Seconds between ticks while nothing waits for one: how late a timer may fire."""
SOON = 0.1
"""Seconds between ticks while something does."""
RESTS = 20
"""So many times as long as it took to find out whether something waits, it is not asked again."""


def _now() -> int:
    return time.time_ns() // 1000


class Ticker:
    """Writes ticks while it holds the lease, and waits for it while another does."""

    def __init__(
        self,
        log: Log,
        holder: str,
        *,
        is_due: Callable[[int, int], bool] = lambda *_: False,
        clock: Callable[[], int] = _now,
        every: float = EVERY,
        lease: float = SECONDS,
    ) -> None:
        """``holder`` tells people who ticks; ``clock`` gives microseconds; ``lease`` is in seconds, as ``every``.
        ``is_due`` says whether something waits for a tick now: something that the last one, whose sequence it is given,
        did not do."""
        self._log, self._is_due, self._clock, self._every = log, is_due, clock, every
        self._lease = Lease(log, "ticker", holder, lease)
        self._last: int | None = None

    async def run(self) -> None:
        """Tick until cancelled. A `LogError` ends it, for whoever runs it to begin again."""
        pause = SOON
        try:
            while True:
                tick, until = await self.step(), time.monotonic() + self._every
                is_due = False
                while not is_due and (left := until - time.monotonic()) > 0:
                    await asyncio.sleep(min(pause, left))
                    began = time.monotonic()
                    is_due = tick is not None and self._is_due(tick, self._clock())
                    pause = max(SOON, RESTS * (time.monotonic() - began))
        finally:
            with suppress(LogError):
                await self._lease.give_up()

    async def step(self) -> int | None:
        """One tick, if it is this one's to write: its sequence in the log, or nothing. Its time is never earlier."""
        if not await self._lease.hold():
            return None
        now = self._clock()
        self._last = now if self._last is None else max(now, self._last)
        return await self._log.append(encode_lines([encode_op(ops.Tick(self._last))]))
