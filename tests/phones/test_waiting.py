"""Messages that wait to be taken, without a server."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nearcast.phones import reading as reading_module
from nearcast.phones.reading import Reading
from nearcast.phones.session import Message

NOBODY = cast(Any, None)


def message(number: int, qos: int) -> Message:
    return Message("owntracks/ann/phone", b"{}", number, qos, 1)


@pytest.mark.parametrize("is_held", [False, True])
async def test_what_nobody_waits_for_is_not_kept_without_bound(monkeypatch: pytest.MonkeyPatch, is_held: bool) -> None:
    """QoS 1 is acknowledged, so all of it is taken; the server sends no more than it may."""
    monkeypatch.setattr(reading_module, "WAITING", 10)
    reading = Reading(NOBODY, NOBODY, NOBODY, ahead=0, placed=0, end=NOBODY)
    if is_held:
        reading.hold(60)
    for number in range(1, 9):
        reading.take(message(0, 0))
        reading.take(message(number, 1))
    waiting = reading._held if is_held else [reading._queue.get_nowait() for _ in range(reading._queue.qsize())]
    assert waiting is not None
    found = [cast(Any, came).message.qos for came in waiting]
    assert found == [0, 1] * 5 + [1] * 3
    assert reading.counts == {"too many": 3}
