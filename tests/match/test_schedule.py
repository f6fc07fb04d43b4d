"""Schedules against a plain scan of the wall clock, minute by minute, over changes of the offset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from nearcast.match.schedule import holds, next_turn
from nearcast.model.condition import During
from nearcast.model.moment import MICROS, parse_time

MINUTE = 60 * MICROS
DAILY = tuple(range(7))

SCHEDULES = [
    (DAILY, "02:00", "03:00"), (DAILY, "02:30", "02:31"), (DAILY, "01:30", "03:30"), (DAILY, "00:00", "24:00"),
    (DAILY, "23:30", "00:30"), (DAILY, "00:00", "00:00"), (DAILY, "12:00", "12:00"), ((6,), "00:00", "24:00"),
    ((5,), "22:00", "06:00"), ((6,), "01:59", "02:01"), ((0, 2, 4), "09:00", "17:00"), ((6,), "02:30", "02:30"),
]  # fmt: skip

# Where and when the clocks change: forward and back, by an hour, by half an hour, at midnight, by a whole day.
CHANGES = [
    ("Europe/Paris", "2026-03-29"), ("Europe/Paris", "2026-10-25"), ("America/New_York", "2026-03-08"),
    ("America/New_York", "2026-11-01"), ("Australia/Lord_Howe", "2026-04-05"), ("Australia/Lord_Howe", "2026-10-04"),
    ("America/Sao_Paulo", "2018-11-04"), ("America/Sao_Paulo", "2018-02-18"), ("Asia/Kathmandu", "1986-01-01"),
    ("Pacific/Apia", "2011-12-30"), ("Africa/Casablanca", "2026-02-15"), ("UTC", "2026-02-28"),
]  # fmt: skip


def minute_of(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)


def during(days: tuple[int, ...], start: str, end: str, zone: str) -> During:
    return During(days, minute_of(start), minute_of(end), zone)


def shows(schedule: During, moment: int) -> bool:
    """What the wall clock says, from the definition: from start to end, on the days on which it starts."""
    local = datetime.fromtimestamp(moment // MICROS, UTC).astimezone(ZoneInfo(schedule.zone))
    clock = local.hour * 60 + local.minute
    length = (schedule.end - schedule.start) % 1440 or 1440
    return any(
        (local.date() - timedelta(days=back)).weekday() in schedule.days
        and schedule.start <= clock + 1440 * back < schedule.start + length
        for back in (0, 1)
    )


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_the_next_turn_is_the_first_minute_that_differs(
    zone: str, day: str, schedule: tuple[tuple[int, ...], str, str]
) -> None:
    asked = during(*schedule, zone)
    first = parse_time(day) - 36 * 60 * MINUTE
    minutes = [first + i * MINUTE for i in range(72 * 60)]
    answers = [shows(asked, moment) for moment in minutes]
    assert [holds(asked, moment) for moment in minutes] == answers
    turns = [b for b, was, now in zip(minutes[1:], answers, answers[1:], strict=False) if was != now]
    for moment in (*minutes[::97], *(turn - 1 for turn in turns), *turns):
        expected = next((turn for turn in turns if turn > moment), None)
        found = next_turn(asked, moment)
        if expected is not None:
            assert found == expected
        else:
            assert found is None or found > minutes[-1]


def test_a_skipped_day_puts_off_a_weekly_schedule_by_a_week() -> None:
    """In Samoa, Friday the 30th of December 2011 never was."""
    asked = during((4,), "08:00", "10:00", "Pacific/Apia")
    assert next_turn(asked, parse_time("2011-12-23T12:00:00-10:00")) == parse_time("2012-01-06T08:00:00+14:00")


def test_a_schedule_that_is_always_or_never_so_does_not_turn() -> None:
    assert next_turn(during(DAILY, "00:00", "24:00", "Europe/Paris"), 0) is None
    assert next_turn(during(DAILY, "07:00", "07:00", "Europe/Paris"), 0) is None
    assert next_turn(during((), "07:00", "08:00", "Europe/Paris"), 0) is None


def test_the_boundaries_are_exact_to_the_microsecond() -> None:
    asked = during(DAILY, "08:00", "17:00", "UTC")
    start, end = parse_time("2026-01-05T08:00:00Z"), parse_time("2026-01-05T17:00:00Z")
    assert [holds(asked, t) for t in (start - 1, start, end - 1, end)] == [False, True, True, False]
    assert next_turn(asked, start - 1) == start
    assert next_turn(asked, start) == end


def test_the_ends_of_the_calendar_are_no_error() -> None:
    asked = during(DAILY, "08:00", "17:00", "Asia/Tokyo")
    for moment in (parse_time("0001-01-01"), parse_time("9999-12-31T23:59:59Z"), 2**62, -(2**62)):
        holds(asked, moment)
        found = next_turn(asked, moment)
        assert found is None or found > moment
