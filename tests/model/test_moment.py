from __future__ import annotations

import math

import pytest

from nearcast.errors import ModelError
from nearcast.model.moment import FOREVER, LIMIT, NEVER, micros, parse_time, time_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:00", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        (" 1970-01-01 00:00:01.5 ", 1_500_000),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2026-01-31T08:00:00.123456789Z", 1_769_846_400_123_456),
        ("0001-01-01", -62_135_596_800_000_000),
        (1.5, 1_500_000),
        (-1, -1_000_000),
        (0.0000005, 0),
        (1_769_846_400.123456, 1_769_846_400_123_456),
    ],
)
def test_times_are_microseconds_of_utc(text: str | float, expected: int) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize(
    "bad", ["", "yesterday", "2026-02-30", "25:00", "2026-01-01T24:30:00", math.nan, math.inf, 1e15, 10**400, -1e15]
)
def test_what_is_no_time_is_refused(bad: str | float) -> None:
    with pytest.raises(ModelError):
        parse_time(bad)


@pytest.mark.parametrize("moment", [0, -1, 1, 1_769_846_400_123_456, -62_135_596_800_000_000, LIMIT, -LIMIT])
def test_a_time_written_reads_back(moment: int) -> None:
    text = time_text(moment)
    if abs(moment) < LIMIT:
        assert parse_time(text) == moment
    else:
        assert float(text) == pytest.approx(moment / 1e6)


def test_times_are_written_in_utc() -> None:
    assert time_text(1_500_000) == "1970-01-01T00:00:01.500000Z"
    assert time_text(-1) == "1969-12-31T23:59:59.999999Z"


def test_never_is_before_everything_and_forever_after() -> None:
    assert NEVER < -LIMIT < LIMIT < FOREVER
    assert micros(LIMIT / 1e6) <= LIMIT
