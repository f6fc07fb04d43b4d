"""How much each client may ask for: a bucket of tokens that fills as time passes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from nearcast.errors import GatewayError

__all__ = ["Rates"]

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

    def _forget(self, now: float) -> None:
        full = [c for c, (left, since) in self._buckets.items() if left + (now - since) * self.rate >= self._most]
        for client in full:
            del self._buckets[client]
