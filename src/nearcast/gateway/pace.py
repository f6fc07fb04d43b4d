"""How far the log may run ahead of a broker: whoever sends much waits, so that others need not.

A log takes ops faster than a broker applies them where many statements ask about each: that takes 10 µs, or 50 ms. What
is in the log is applied in its order, so whoever fills it keeps everyone waiting. So no more ops are sent than are
applied in about half a second, and whose are sent is decided by turns. How many that are follows from how long an op
took lately, and then is found out as TCP does it: twice as many while they are applied soon, half as many when they are
not. Where ops are dear, how long they take altogether counts as well: fixes of a client with a lateness window are held
back at once, and the next tick applies them all.

A log without a broker takes all that comes, and so does one whose broker is behind for another reason, as after it was
away.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable

import msgspec

from nearcast.errors import GatewayError

__all__ = ["Applying", "Pace"]

FIRST, MOST = 256, 65_536
"""Ops that may be ahead when nothing is known, or nobody is waited for, and at most."""
SOON, LATE = 0.25, 0.5
"""Seconds within which an op should be applied, and after which there are too many."""
DEAR, DEAREST = 0.005, 0.1
"""Seconds of an op from which on the work of all that are sent is added up, and up to which: a single one that took
long, such as a large layer, says little about those that come next."""
SHARE = 0.7
"""The part of its time that a broker is given to do then, so that a tick is done before the next one is due."""
LOOK, WAIT = 0.05, 0.005
"""Seconds between two looks, and while someone waits."""
UNUSED = 1.0
"""Seconds after which nothing is known but how long an op took."""
AWAY = 5.0
"""Seconds after which a broker that does not answer counts as away."""
FORGOTTEN = 30.0
"""Seconds after which an op is not waited for: the log may be another."""
OTHERS = 64
"""Packets in the log for which it is certain that the broker is behind with what others sent, or sent before. There may
be several times as many as are ahead from here, if there are more gateways."""


class Applying(msgspec.Struct):
    """How far a broker is."""

    sequence: int
    """The last packet that it applied."""
    pending: int
    """Packets that are in the log, and that it has yet to apply."""
    op_seconds: float = 0.0
    """How long an op took it lately."""

    @property
    def first(self) -> int:
        """As many ops as are applied soon, if they are like the latest."""
        return max(1, min(FIRST, int(SOON / self.op_seconds))) if self.op_seconds else FIRST


class Pace:
    """``begin`` says that ops are sent, ``place`` where they are, and ``room`` how many more may be."""

    def __init__(self, ask: Callable[[], Awaitable[Applying]], clock: Callable[[], float] = time.monotonic) -> None:
        self.opened: Callable[[], None] = lambda: None
        """Called when there may be room."""
        self.most = FIRST
        """Ops that may be ahead."""
        self._ask, self._clock = ask, clock
        self._ahead = 0
        self._op_seconds, self._busy_until = 0.0, 0.0
        """How long an op took lately, and until when the broker has to do with what was sent, if that is so."""
        self._placed: deque[tuple[int, int, float]] = deque()
        """Packets that are not known to be applied: where each is, its ops, and since when."""
        self._is_free = False
        """There is nobody to wait for, or it would be for others."""
        self._is_open = False
        """No more will come."""
        self._is_full = False
        """Someone waits."""
        self._answered = self._full = self._halved = clock()
        """When a broker answered, someone waited, and there were too many, for the last time."""
        self._news = asyncio.Event()

    @property
    def room(self) -> int:
        """How many ops may be sent now, in one packet: nobody hears of a broker while it applies that."""
        if self._is_free or self._is_open:
            return FIRST
        room = max(0, min(self.most - self._ahead, self._worth))
        if not room:
            self._is_full = True
            self._news.set()
        return room

    @property
    def _worth(self) -> int:
        """How many ops the broker would be busy with for a little while."""
        if self._op_seconds < DEAR:
            return MOST
        return math.ceil(max(0.0, SOON - max(0.0, self._busy_until - self._clock())) / self._op_seconds)

    def begin(self, ops: int) -> None:
        now = self._clock()
        if not self._ahead:
            self._answered = now
        self._ahead += ops
        self._busy_until = max(now, self._busy_until) + ops * self._op_seconds / SHARE

    def place(self, sequence: int, ops: int, since: float) -> None:
        """They are in the log; ``since`` is when they were sent."""
        self._placed.append((sequence, ops, since))
        self._news.set()

    def fail(self, ops: int) -> None:
        """They are not in the log, or nobody knows where."""
        self._ahead -= ops

    def open(self) -> None:
        """Let all through, from now on, as there is no more to come."""
        self._is_open = True

    async def run(self) -> None:
        """Look how far the broker is, while something is ahead of it, or someone waits."""
        while True:
            if not self._ahead and not self._is_full:
                self._news.clear()
            await self._news.wait()
            try:
                self.look(await self._ask())
            except GatewayError:
                self.miss()
            self.opened()
            await asyncio.sleep(WAIT if self._is_full else LOOK)

    def look(self, found: Applying) -> None:
        """A broker said how far it is."""
        self._answered = now = self._clock()
        self._op_seconds = min(found.op_seconds, DEAREST)
        applied, slowest = 0, 0.0
        while self._placed and self._placed[0][0] <= found.sequence:
            _, ops, since = self._placed.popleft()
            applied, slowest = applied + ops, max(slowest, now - since)
        self._ahead -= applied
        if self._placed:
            slowest = max(slowest, now - self._placed[0][2])
            if slowest > FORGOTTEN:
                self._let_go()
        was_full, self._is_full = self._is_full, False
        if was_full:
            self._full = now
        self._is_free = found.pending > 8 * len(self._placed) + OTHERS
        if self._is_free:
            return
        if slowest > LATE and now > self._halved + SOON:
            self.most, self._halved = max(1, self.most // 2), now
        elif was_full and slowest < SOON:
            self.most = min(MOST, self.most + applied)
        elif now > self._full + UNUSED:
            self.most = found.first

    def miss(self) -> None:
        """None answered. What one that is away has yet to apply is waited for by nobody."""
        if self._clock() > self._answered + AWAY:
            self._is_free, self._is_full = True, False
            self.most = FIRST
            self._let_go()

    def _let_go(self) -> None:
        self._ahead -= sum(ops for _, ops, _ in self._placed)
        self._placed.clear()
