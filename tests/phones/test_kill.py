"""Whatever is killed: each fix that was acknowledged is in the log, each transition arrives, and one that arrives twice
has the same id. ``KILLS`` says how often; twice unless told.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from nearcast.model.op import Move
from tests.gateway.test_serve import children
from tests.phones.running import Handset, location, taken, until
from tests.phones.serving import Served, served

KILLS = int(os.environ.get("KILLS", "2"))
HOME = {"_type": "waypoint", "desc": "Home", "lat": 0, "lon": 0, "rad": 1000, "tst": 1}
VICTIMS = ("nearcast.phones", "nats-server", "nearcast.broker", "nearcast.phones", "nats-server")


@pytest.mark.slow
async def test_kill_anything_under_a_phone(tmp_path: Path) -> None:
    with served(tmp_path, "--keep", "1000000") as system:
        token = system.token("ann")
        with (
            Handset("ann", token, system.mqtt, name="sender", clean=False) as sender,
            Handset("ann", token, system.mqtt, name="hearer", clean=False) as hearer,
        ):
            assert await sender.answer() == await hearer.answer() == 0
            await hearer.listen("owntracks/ann/phone/event")
            await sender.sent(HOME, about="waypoint")
            await sender.sent(location(1, 0, time.time() - 1))
            sent, acked = await _walk(system, sender)
            told = await _told(hearer, len(sent))
        log = [op for op in await system.ops() if isinstance(op, Move) and op.client == "ann"]
    assert [event for _, event in told] == [event for _, _, event in sent], "each, in order"
    assert len({id_ for id_, _ in told}) == len(sent)
    times = {op.time for op in log}
    assert all(round(at * 1_000_000) in times for at, mid, _ in sent if mid in acked)
    assert len(acked) == len(sent)


async def _walk(system: Served, sender: Handset) -> tuple[list[tuple[float, int, str]], set[int]]:
    """In and out of a waypoint, one step after the other is acknowledged or half a second later, with kills between."""
    dice, sent, acked = random.Random(7), [], set[int]()
    for turn in range(KILLS * 5):
        at = round(time.time(), 3)
        inside = turn % 2 == 0
        mid = sender.send(location(0 if inside else 1, 0, at))
        sent.append((at, mid, "enter" if inside else "leave"))
        if turn % 5 == 2:
            await asyncio.sleep(dice.random() * 0.05)
            victim = VICTIMS[(turn // 5) % len(VICTIMS)]
            os.kill(children(system.process)[victim], signal.SIGKILL)
        end = time.monotonic() + 30
        while mid not in acked:
            assert time.monotonic() < end, "a fix is never acknowledged"
            acked.add(await taken(sender.acked))
        await asyncio.sleep(0.01)
    return sent, acked


async def _told(hearer: Handset, count: int) -> list[tuple[str, str]]:
    """The transitions by id, in the order in which they came first."""
    told: dict[str, str] = {}

    def is_all() -> bool:
        for message in hearer.rest():
            said = json.loads(message.payload)
            assert told.setdefault(said["id"], said["event"]) == said["event"]
        return len(told) >= count

    await until(f"{count} transitions", is_all, 60)
    return list(told.items())
