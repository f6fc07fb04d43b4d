"""Units that the language knows, and how a length or a duration is written back."""

from __future__ import annotations

from nearcast.errors import ModelError
from nearcast.model.moment import LIMIT

__all__ = ["DAYS", "bits_per_second", "duration_text", "length_text", "metres", "micros_of", "number_text"]

METRES = {"m": 1.0, "km": 1000.0, "ft": 0.3048, "yd": 0.9144, "mi": 1609.344, "nmi": 1852.0}
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
BITS = {"bps": 1.0, "kbps": 1e3, "mbps": 1e6}
SECOND = 1_000_000
MICROS = {
    "us": 1, "ms": 1000, "s": SECOND, "sec": SECOND, "second": SECOND, "min": 60 * SECOND, "minute": 60 * SECOND,
    "h": 3600 * SECOND, "hr": 3600 * SECOND, "hour": 3600 * SECOND, "d": 86400 * SECOND, "day": 86400 * SECOND,
    "week": 7 * 86400 * SECOND,
}  # fmt: skip
WRITTEN = (("d", 86400 * SECOND), ("h", 3600 * SECOND), ("min", 60 * SECOND), ("s", SECOND), ("ms", 1000), ("us", 1))


def metres(amount: float, unit: str) -> float:
    if amount < 0:
        raise ModelError(f"{number_text(amount)} {unit} is negative; a distance is not")
    return amount * METRES[unit]


def micros_of(amount: float, unit: str) -> int:
    word = unit.lower()
    total = amount * MICROS[word if word in MICROS else word.removesuffix("s")]
    if total > LIMIT:
        raise ModelError(f"{number_text(amount)} {unit} is too long a time")
    return round(total)


def bits_per_second(amount: float, unit: str) -> float:
    if amount <= 0:
        raise ModelError("bandwidth must be more than nothing")
    return amount * BITS[unit.lower()]


def duration_text(micros: int) -> str:
    """The largest unit that needs no fraction."""
    unit, size = next((unit, size) for unit, size in WRITTEN if micros % size == 0)
    return "0 s" if micros == 0 else f"{micros // size} {unit}"


def length_text(amount: float) -> str:
    return f"{number_text(amount)} m"


def number_text(number: float) -> str:
    """Digits that read back as the same number; whole floats lose their point, where only the value counts."""
    if float(number).is_integer() and abs(number) < 1e15:
        return str(int(number))
    return repr(number)
