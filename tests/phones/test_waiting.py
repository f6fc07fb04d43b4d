"""Messages that wait to be taken, without a server."""

from __future__ import annotations

import json
import time
from typing import Any, cast

import pytest

from nearcast.phones import reading as reading_module
from nearcast.phones.reading import Reading
from nearcast.phones.session import Message

NOBODY = cast(Any, None)


def taken(reading: Reading) -> list[Any]:
    return [reading._queue.get_nowait() for _ in range(reading._queue.qsize())]


def message(number: int, qos: int, said: object = None, device: str = "phone") -> Message:
    return Message(f"owntracks/ann/{device}", json.dumps(said).encode(), number, qos, 1)


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
    if is_held:
        reading._release()
    assert [came.message.qos for came in taken(reading)] == [0, 1] * 5 + [1] * 3
    assert reading.counts == {"too many": 3}


NOW = 1_700_000_000.7
Said = float | str
ORDERS: dict[str, tuple[list[Said], list[Said]]] = {
    "what the server sends late": (["lwt", 3.0, 1.0], [1.0, 3.0, "lwt"]),
    "what was said before": ([1.0, "lwt"], [1.0, "lwt"]),
    "what was said before, by a clock that is ahead": ([NOW + 60, "lwt"], [NOW + 60, "lwt"]),
    "one that is back": (["lwt", NOW + 2], ["lwt", NOW + 2]),
    "one that is back at once, in whole seconds": (["lwt", NOW - 0.7], ["lwt", NOW - 0.7]),
    "one that is back, and what is late": (["lwt", NOW + 2, 3.0, 1.0], [1.0, 3.0, "lwt", NOW + 2]),
    "one that goes again": (["lwt", NOW - 0.7, "lwt"], ["lwt", NOW - 0.7, "lwt"]),
    "what has no time": ([2.0, "waypoint", "lwt", 1.0], ["waypoint", 1.0, 2.0, "lwt"]),
}


@pytest.mark.parametrize("case", ORDERS)
async def test_what_was_held_back_is_taken_in_the_order_of_its_times(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """But that a phone was lost is no later than what it says when it is back."""
    came, wanted = ORDERS[case]
    monkeypatch.setattr(time, "time", lambda: NOW)
    reading = Reading(NOBODY, NOBODY, NOBODY, ahead=0, placed=0, end=NOBODY)
    reading.hold(60)
    reading.take(message(99, 1, {"_type": "location", "tst": NOW + 100}, "tablet"))
    for number, what in enumerate(came, 1):
        said = {"_type": what, "tst": 1} if isinstance(what, str) else {"_type": "location", "tst": what}
        reading.take(message(number, 1, said))
    reading._release()
    messages = [one.message for one in taken(reading)]
    found = [json.loads(one.payload) for one in messages if one.topic.endswith("phone")]
    assert [one["tst"] if one["_type"] == "location" else one["_type"] for one in found] == wanted
