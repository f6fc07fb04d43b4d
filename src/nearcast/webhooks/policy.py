"""What an answer means, and when to try again. Nothing here waits or reads a clock."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nearcast.gateway.hooks import HookCursor
from nearcast.later import seconds_until

__all__ = ["Kind", "Outcome", "Policy", "outcome_of"]

LATER = frozenset({408, 425, 429})
"""Of the statuses that say that the request is wrong, those that mean another time."""
GONE = 410


class Kind(StrEnum):
    """What became of a request."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    """The endpoint is there, and does not want this."""
    AWAY = "away"
    """It is not there, does not answer, or cannot take anything just now."""
    GONE = "gone"
    """It wants nothing any more."""


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: Kind
    reason: str = ""
    """For whoever owns the webhook; it holds nothing that the endpoint said but the status."""
    retry_after: float | None = None
    """Seconds for which the endpoint asked."""


def outcome_of(status: int, retry_after: str | None, now: float) -> Outcome:
    """What a status means. Only those of success count; redirects are not followed."""
    reason = f"answered {status}"
    if 200 <= status < 300:
        return Outcome(Kind.DELIVERED)
    if status == GONE:
        return Outcome(Kind.GONE, f"{reason}: gone")
    if 300 <= status < 400:
        return Outcome(Kind.REFUSED, f"{reason}; redirects are not followed")
    kind = Kind.REFUSED if 400 <= status < 500 and status not in LATER else Kind.AWAY
    return Outcome(kind, reason, seconds_until(retry_after, now))


@dataclass(frozen=True)
class Policy:
    """How often, and for how long."""

    attempts: int = 12
    """At an event whose endpoint is away; with the waits below about twenty minutes."""
    refusals: int = 5
    """At an event that the endpoint refuses, so that it does not hold up the others for long: about 15 s."""
    age: float = 3600.0
    """Seconds after which an event is given up in any case. An endpoint may ask for no more than this."""
    first: float = 1.0
    """Seconds to wait after the first attempt; then twice as long each time."""
    longest: float = 300.0

    def wait(self, trouble: HookCursor, outcome: Outcome, now: float, dice: float) -> float | None:
        """Seconds until the next attempt; None if there is none. The trouble counts the outcome already; ``dice`` is
        from 0 to 1, so that not all come back at once."""
        if trouble.attempts >= self.attempts or trouble.refusals >= self.refusals:
            return None
        wait = min(self.longest, self.first * 2 ** (trouble.attempts - 1)) * (0.5 + dice)
        wait = max(wait, min(outcome.retry_after or 0.0, self.age))
        return None if now + wait > trouble.since + self.age else wait
