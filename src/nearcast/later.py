"""When to come back, as ``Retry-After`` says it: to a client of the gateway, and to whoever sends to endpoints."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

__all__ = ["seconds_until"]


def seconds_until(retry_after: str | None, now: float) -> float | None:
    """Of a header that has seconds, or a date as HTTP writes it; what is neither says nothing."""
    text = (retry_after or "").strip()
    if text.isdecimal() and text.isascii():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
