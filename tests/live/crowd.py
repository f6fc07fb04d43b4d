"""A crowd that loads a live broker through its gateway, remembers what was acknowledged, and what it was told.

Hundreds of walkers, moved by an operator in batches from several connections at once, and a few who move themselves,
listen, and change what they ask for. Whatever is refused for the moment is tried again, with the same times.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import httpx

from nearcast.client import Client, Event
from nearcast.errors import GatewayError

__all__ = ["LISTENERS", "Crowd", "Op", "long_pauses", "longest_pause", "zones"]

Op = tuple[str, int]
"""Who moved, and when, in microseconds: there are no two."""
WEST, SOUTH, SIDE = 13.3, 52.4, 0.1
STEP = 0.0008
WALKERS, DRIVERS = 400, 4
PERSONS = [f"person{i}" for i in range(5)]
DESK = "desk"
LISTENERS = [DESK, *PERSONS]
TURN = 0.1
"""Seconds between two batches of a driver."""
LONG = 3.0
"""Seconds without an event."""
NEAR = "SELECT WHERE &location WITHIN {} m OF #location"


def zones() -> dict[str, Any]:
    """Discs on a grid."""
    spots = [(WEST + SIDE * i / 10, SOUTH + SIDE * j / 10) for i in range(10) for j in range(10)]
    return {"type": "FeatureCollection", "features": [_disc(number, spot) for number, spot in enumerate(spots)]}


def _disc(number: int, spot: tuple[float, float]) -> dict[str, Any]:
    geometry = {"type": "Point", "coordinates": spot}
    return {"type": "Feature", "id": f"zone{number}", "geometry": geometry, "properties": {"radius": 150}}


@dataclass
class Crowd:
    """Everyone, with a gateway's URL and an operator's token."""

    url: str
    token: str
    rate: float
    """Fixes a second."""
    seed: int = 1
    sent: dict[str, list[Op]] = field(default_factory=dict)
    """What was acknowledged, by who sent it, in that order."""
    events: dict[str, list[Event]] = field(default_factory=lambda: {name: [] for name in LISTENERS})
    acked_at: list[float] = field(default_factory=list)
    """When something was acknowledged, and"""
    told_at: list[float] = field(default_factory=list)
    """when the desk was told something, by the monotonic clock."""
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ops(self) -> int:
        return sum(map(len, self.sent.values()))

    # ---- what they do ----------------------------------------------------------------------------

    async def enter(self) -> None:
        """Make everyone known."""
        publish = '{{"op":"publish","time":0,"client":"walker{}","id":"self","text":"PUBLISH"}}'
        lines = "\n".join(map(publish.format, range(WALKERS)))
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30) as http:
            (await http.put("/v1/layers/zones", json=zones())).raise_for_status()
            as_lines = {"content-type": "application/x-ndjson"}
            (await http.post("/v1/positions", content=lines, headers=as_lines)).raise_for_status()
        async with Client(self.url, self.token, client=DESK) as desk:
            await desk.subscribe("zones", "SELECT WHERE &location IN LAYER zones")
        for name in PERSONS:
            async with Client(self.url, self.token, client=name) as person:
                await person.subscribe("near", NEAR.format(400))

    async def listen(self, name: str) -> None:
        """For ever."""
        async with Client(self.url, self.token, client=name) as me, aclosing(me.events("0")) as events:
            async for event in events:
                self.events[name].append(event)
                if name == DESK:
                    self.told_at.append(time.monotonic())

    async def load(self) -> None:
        """Until `stop`."""
        works = [
            *(self._drive(number) for number in range(DRIVERS)),
            *(self._stroll(name) for name in PERSONS),
            self._change_minds(),
        ]
        await asyncio.gather(*works)

    def stop(self) -> None:
        self._stopped.set()

    async def _drive(self, number: int) -> None:
        """Batches by the clock: what was late is in the next."""
        fixes = self._walks([f"walker{i}" for i in range(number, WALKERS, DRIVERS)], number)
        acknowledged = self.sent.setdefault(f"driver{number}", [])
        began, done = time.monotonic(), 0
        async with Client(self.url, self.token) as me:
            while not self._stopped.is_set():
                await asyncio.sleep(TURN * random.uniform(0.5, 1.5))
                due = min(int((time.monotonic() - began) * self.rate / DRIVERS) - done, 5000)
                batch = [next(fixes) for _ in range(due)]
                if batch:
                    await self._until_taken(lambda batch=batch: me.move_all(batch))
                    acknowledged += [(fix["client"], _micros(fix)) for fix in batch]
                    self.acked_at.append(time.monotonic())
                    done += due

    async def _stroll(self, name: str) -> None:
        walk = self._walks([name], name)
        acknowledged = self.sent.setdefault(name, [])
        async with Client(self.url, self.token, client=name) as me:
            while not self._stopped.is_set():
                await asyncio.sleep(TURN)
                fix = next(walk)
                await self._until_taken(lambda fix=fix: me.move(**fix))
                acknowledged.append((name, _micros(fix)))

    async def _change_minds(self) -> None:
        """Someone asks for more, or for less, every now and then."""
        dice = random.Random(self.seed)
        while not self._stopped.is_set():
            await asyncio.sleep(1)
            async with Client(self.url, self.token, client=dice.choice(PERSONS)) as me:
                text = NEAR.format(dice.choice((300, 400, 500)))
                await self._until_taken(lambda me=me, text=text: me.subscribe("near", text))

    def _walks(self, names: list[str], seed: object) -> Iterator[dict[str, Any]]:
        """Fixes of now, in turn, no two of one at the same time."""
        dice = random.Random(f"{self.seed} {seed}")
        at = {name: [WEST + dice.random() * SIDE, SOUTH + dice.random() * SIDE] for name in names}
        last = dict.fromkeys(names, 0)
        while True:
            for name in names:
                at[name] = [
                    min(max(value + dice.gauss(0, STEP), low), low + SIDE)
                    for value, low in zip(at[name], (WEST, SOUTH), strict=True)
                ]
                last[name] = max(last[name] + 1, time.time_ns() // 1000)
                yield {"client": name, "lon": at[name][0], "lat": at[name][1], "time": last[name] / 10**6}

    async def _until_taken(self, doing: Any) -> None:
        """Try again for as long as it takes: a client may give up sooner than a broker is back."""
        while True:
            try:
                await doing()
            except GatewayError as error:
                if error.status not in (429, 503):
                    raise
            else:
                return


def long_pauses(moments: list[float]) -> list[tuple[float, float]]:
    """Those of which one wants to know what was killed before."""
    return [(a, b) for a, b in pairwise(moments) if b - a > LONG]


def longest_pause(moments: list[float]) -> float:
    return max((b - a for a, b in pairwise(moments)), default=0.0)


def _micros(fix: dict[str, Any]) -> int:
    moment: float = fix["time"]
    return round(moment * 10**6)
