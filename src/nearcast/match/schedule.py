"""Weekly schedules in a named time zone, and the exact instants at which they turn."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from nearcast.model.condition import During
from nearcast.model.moment import EPOCH, MICROS

__all__ = ["holds", "next_turn"]

_DAY = 86400 * MICROS
_AHEAD = 16
"""Days to look ahead: a week, another because a zone may skip a whole day (Samoa did), and one on either side."""


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _local(schedule: During, moment: int) -> datetime:
    return (EPOCH + timedelta(microseconds=moment)).astimezone(_zone(schedule.zone))


def holds(schedule: During, moment: int) -> bool:
    """Whether the wall clock of the zone shows a time within the schedule."""
    try:
        local = _local(schedule, moment)
    except OverflowError:
        return False
    minute = local.hour * 60 + local.minute
    today, yesterday = local.weekday() in schedule.days, (local.weekday() - 1) % 7 in schedule.days
    if schedule.start < schedule.end:
        return today and schedule.start <= minute < schedule.end
    return (today and minute >= schedule.start) or (yesterday and minute < schedule.end)


def next_turn(schedule: During, moment: int) -> int | None:
    """The first instant after ``moment`` at which the answer differs from now's; none if it never turns."""
    now = holds(schedule, moment)
    try:
        turns = sorted({t for t in _boundaries(schedule, moment) if t > moment})
    except OverflowError:
        return None
    return next((t for t in turns if holds(schedule, t) != now), None)


def _boundaries(schedule: During, moment: int) -> Iterator[int]:
    """Every instant at which the answer can turn: the schedule's own times, and changes of the zone's offset."""
    first = _local(schedule, moment).replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    for day in range(-1, _AHEAD):
        midnight = first + timedelta(days=day)
        for minute in (schedule.start, schedule.end, 0, 1440):
            for fold in (0, 1):
                yield _moment((midnight + timedelta(minutes=minute)).replace(fold=fold))
        start = moment + day * _DAY
        if _offset(schedule, start) != _offset(schedule, start + _DAY):
            yield _change(schedule, start, start + _DAY)


def _moment(local: datetime) -> int:
    return (local - EPOCH) // timedelta(microseconds=1)


def _offset(schedule: During, moment: int) -> timedelta | None:
    return _local(schedule, moment).utcoffset()


def _change(schedule: During, low: int, high: int) -> int:
    """The instant between two at which the offset changes."""
    before = _offset(schedule, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(schedule, middle) == before else (low, middle)
    return high
