"""Time: int64 microseconds since 1970 UTC. "Never" is minus infinity, so that it is before everything."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from nearcast.errors import ModelError

__all__ = ["FOREVER", "LIMIT", "MICROS", "NEVER", "Moment", "micros", "parse_time", "time_text"]

Moment = int | float
"""A time in microseconds. Only ``NEVER`` and ``FOREVER`` are floats."""

NEVER = -math.inf
FOREVER = math.inf
MICROS = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIMIT = 2**62
_FRACTION = re.compile(r"([.,]\d{6})\d+")
_BEYOND = re.compile(r"(-?)(\d{11,13})\.(\d{6})")
"""How `time_text` writes what no calendar reaches."""
_LAST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def micros(seconds: float) -> int:
    """Seconds to whole microseconds."""
    if not abs(seconds) * MICROS <= LIMIT:  # nor is what is not a number
        raise ModelError(f"{seconds!r:.20} s is not a time that fits in 64 bits")
    return round(seconds * MICROS)


def parse_time(value: str | float) -> int:
    """ISO 8601 text (UTC unless it names an offset) or epoch seconds, to microseconds."""
    if not isinstance(value, str):
        return micros(value)
    beyond = _BEYOND.fullmatch(value)
    if beyond and abs(moment := int("".join(beyond.groups()))) <= LIMIT:
        return moment
    try:
        parsed = datetime.fromisoformat(_FRACTION.sub(r"\1", value.strip()))
        if parsed.tzinfo is None:
            parsed = parsed.replace(tzinfo=UTC)
        return (parsed - EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        raise ModelError(f"{value!r} is not a time; write 2026-01-31T08:00:00Z or epoch seconds") from None


def time_text(moment: int) -> str:
    """ISO 8601 in UTC; epoch seconds where the calendar ends."""
    if not _FIRST <= moment <= _LAST:
        whole, rest = divmod(abs(moment), MICROS)
        return f"{'-' if moment < 0 else ''}{whole}.{rest:06d}"
    text = (EPOCH + timedelta(microseconds=moment)).isoformat()
    return text.replace("+00:00", "Z")
