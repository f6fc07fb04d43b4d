"""How much each client may ask for: a bucket of tokens that fills as time passes, and what is in hand at once."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from nearcast.errors import GatewayError

__all__ = ["Held", "InHand", "Rates"]

MICROS_OF_OP = 100
"""A question counts as one op, and as one more for each so many microseconds that a broker took for it. So a client has
a tenth of a broker's time for questions, by what it may do in a second."""
KNOWN = 10_000
"""Clients whose buckets are kept before full ones, which say nothing, are let go."""


class Rates:
    """Ops a second for each client, and as many at once as in ``burst`` seconds."""

    def __init__(self, rate: float, burst: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._most, self._clock = rate, rate * burst, clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """What is left, and when that was."""

    @property
    def at_once(self) -> int:
        return int(self._most)

    def take(self, client: str, ops: int) -> None:
        """Count ops, or raise 429 if they are too many. Those that are refused are not counted."""
        if ops > self._most:
            raise GatewayError(413, f"{ops:,} ops at once are too many; {int(self._most):,} is the most")
        now = self._clock()
        left, since = self._buckets.get(client, (self._most, now))
        left = min(self._most, left + (now - since) * self.rate)
        if left < ops:
            wait = math.ceil((ops - left) / self.rate)
            raise GatewayError(429, f"more than {self.rate:g} ops a second; wait {wait} s", retry_after=wait)
        if len(self._buckets) >= KNOWN and client not in self._buckets:
            self._forget(now)
        self._buckets[client] = (left - ops, now)

    def owe(self, client: str, ops: int) -> None:
        """Count what is done already. Whoever has nothing left for it waits the longer for what is next."""
        if ops:
            now = self._clock()
            left, since = self._buckets.get(client, (self._most, now))
            self._buckets[client] = (min(self._most, left + (now - since) * self.rate) - ops, now)

    def charging(self, client: str) -> Callable[[int], None]:
        """Has a client owe the time that a broker took for it, in microseconds."""
        return lambda micros: self.owe(client, micros // MICROS_OF_OP)

    def _forget(self, now: float) -> None:
        full = [c for c, (left, since) in self._buckets.items() if left + (now - since) * self.rate >= self._most]
        for client in full:
            del self._buckets[client]


@dataclass(slots=True)
class Held:
    """One request that is in hand."""

    _of: InHand
    _client: str
    size: int = 0
    _expected: int = 0
    """Of them, bytes of the answer that were counted before it was made."""

    def add(self, size: int) -> None:
        """More bytes of its body or its answer, unless those of all of the client's are too many then."""
        self._of.sizes[self._client] += size
        self.size += size
        if self._of.sizes[self._client] > self._of.most_bytes:
            reason = f"at most {self._of.most_bytes:,} bytes of a client are in hand at once; send one after another"
            raise GatewayError(429, reason, retry_after=1)

    def expect(self, size: int) -> None:
        """The bytes of an answer, before it is made. However large it is, it may be in hand if nothing else is."""
        self._expected += size
        if self._of.sizes[self._client] > self.size:
            self.add(size)
        else:
            self._of.sizes[self._client] += size
            self.size += size

    def answer(self, size: int) -> None:
        """The bytes of an answer, when it is made."""
        if size > self._expected:
            self.add(size - self._expected)


class InHand:
    """Requests of each client that are not answered yet, and the bytes of their bodies and answers."""

    def __init__(self, requests: int, most_bytes: int) -> None:
        self.requests, self.most_bytes = requests, most_bytes
        self.counts: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()

    @contextmanager
    def request(self, client: str) -> Iterator[Held]:
        """Answer one within."""
        if self.counts[client] >= self.requests:
            raise GatewayError(429, f"a client has at most {self.requests:,} requests at a time", retry_after=1)
        self.counts[client] += 1
        held = Held(self, client)
        try:
            yield held
        finally:
            self.counts[client] -= 1
            self.sizes[client] -= held.size
            if not self.counts[client]:
                del self.counts[client], self.sizes[client]
