"""A quarter of an hour of a city, played to a live broker in seconds: cabs, a desk that watches, and changes of mind.

Everything goes through a gateway, by several clients and an operator at once. Fixes keep their order and their places;
their times are now, and closer together.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from nearcast.client import Client
from nearcast.errors import GatewayError
from nearcast.model.geojson import layer_to_geojson
from tests.match.traces import Row, cab_rows, places

__all__ = ["Scene", "real", "synthetic"]

CABS = 16
TURN = 0.2
"""Seconds between two rounds of fixes."""
SECONDS = 900
WEST, SOUTH = -122.45, 37.74
"""A corner of San Francisco."""
CLOSE = "RELATION close WHERE &location WITHIN 300 m OF #location"
ASKED = {
    ("desk", "zones"): "SELECT WHERE &location IN LAYER zones",
    ("desk", "calm"): "SELECT WHERE &location IN LAYER zones DWELL 1500 ms HYSTERESIS 30 m",
    ("desk", "crossed"): "SELECT WHERE &location CROSSES BOX(-122.43 37.77, -122.41 37.79) COOLDOWN 3 s",
    ("watch", "close"): "SELECT FROM RELATION close",
    ("watch", "met"): "SELECT FROM RELATION close DWELL 1 s",
    ("scout", "nearest"): "SELECT NEAREST 3",
    ("scout", "choice"): "SELECT nearof(2) WHERE &location WITHIN 2 km OF #location",
    ("ann", "near"): "SELECT WHERE &location WITHIN 4 km OF #location WITH UPDATES",
    ("ann", "prices"): "SELECT FROM gas WHERE &location WITHIN 20 km OF #location ON @ < 70",
    ("ann", "fuel"): "SELECT FROM gas WHERE &location WITHIN 20 km OF #location AND #fuel < 20",
    ("bob", "where"): "SELECT FROM LAYER zones WHERE #location IN &location",
    ("bob", "while"): "SELECT WHERE &location WITHIN 3 km OF #location WHILE #is_on_duty = true",
}


def real() -> tuple[list[Row], dict[str, Any]]:
    """Cabs of San Francisco and its neighbourhoods."""
    rows = cab_rows("2008-05-23T18:00:00-07:00", SECONDS, CABS)
    return rows, layer_to_geojson(places("zones", "places_sf/sf_neighborhoods.geojson"))


def synthetic() -> tuple[list[Row], dict[str, Any]]:
    """Cabs that wander among squares, where there are no real ones."""
    dice, rows = random.Random(7), []
    at = {f"cab{i}": [dice.uniform(WEST, WEST + 0.06), dice.uniform(SOUTH, SOUTH + 0.06)] for i in range(CABS)}
    for second in range(0, SECONDS, 30):
        for name, place in at.items():
            at[name] = [value + dice.gauss(0, 0.002) for value in place]
            rows.append(Row(second + dice.randrange(30), name, *at[name]))
    return sorted(rows), {"type": "FeatureCollection", "features": [_square(i) for i in range(36)]}


def _square(number: int) -> dict[str, Any]:
    x, y = WEST + number % 6 * 0.01, SOUTH + number // 6 * 0.01
    ring = [[x, y], [x + 0.01, y], [x + 0.01, y + 0.01], [x, y + 0.01], [x, y]]
    geometry = {"type": "Polygon", "coordinates": [ring]}
    return {"type": "Feature", "id": f"square{number}", "geometry": geometry, "properties": {"number": number}}


class Scene:
    """The cast, each with a connection of its own."""

    def __init__(self, url: str, token: str, zones: dict[str, Any]) -> None:
        self.url, self._token, self._zones = url, token, zones
        self._stack = AsyncExitStack()
        self._led: set[str] = set()
        """Cabs that do not speak for themselves."""

    async def play(self, rows: Sequence[Row], seconds: float) -> None:
        """All of it, in about so many seconds."""
        async with self._stack:
            self.operator = await self._client(None)
            self.http = await self._stack.enter_async_context(
                httpx.AsyncClient(base_url=self.url, headers={"Authorization": f"Bearer {self._token}"}, timeout=20)
            )
            cabs = sorted({row.client for row in rows})
            self._led = set(cabs[::2])
            await self._open(cabs)
            third = len(rows) // 3
            await self._drive(rows[:third], seconds / 3)
            await asyncio.gather(self._drive(rows[third : 2 * third], seconds / 3), self._change(cabs))
            await self._drive(rows[2 * third :], seconds / 3)

    async def _client(self, name: str | None) -> Client:
        return await self._stack.enter_async_context(Client(self.url, self._token, client=name))

    async def _put(self, path: str, **body: Any) -> None:
        """A broker that has just begun, or has much to do, says to come back."""
        async with asyncio.timeout(300):
            while (answer := await self.http.put(f"/v1/{path}", **body)).status_code == 503:
                await asyncio.sleep(1)
        answer.raise_for_status()

    # ---- acts ------------------------------------------------------------------------------------

    async def _open(self, cabs: Sequence[str]) -> None:
        """Definitions, then everyone at once."""
        await self._put("layers/zones", json=self._zones)
        await self._put("relations/close", content=CLOSE)
        await self._put("spaces/gas", content="SPACE gas (brand text, price real)")
        who = dict.fromkeys(client for client, _ in ASKED)
        self.cast = {name: await self._client(name) for name in (*who, "shop", "guest", *cabs)}
        fuel = f"PUBLISH AT POINT({WEST + 0.02} {SOUTH + 0.04}) AS gas (price = 65) CONTENT 'cheap'"
        await asyncio.gather(
            self.cast["shop"].publish("fuel", fuel),
            self.cast["ann"].describe(fuel=50),
            *(self.cast[cab].publish("self", f'PUBLISH CONTENT {{"cab": "{cab}"}}') for cab in cabs),
            *(self.cast[client].subscribe(name, text) for (client, name), text in ASKED.items()),
        )
        await self._come("guest", lease=3)

    async def _come(self, name: str, lease: float) -> None:
        """Someone who says where he is once, and is gone when his time is over."""
        at = {"lon": WEST + 0.03, "lat": SOUTH + 0.03}
        (await self.http.patch("/v1/client", params={"client": name}, json={"lease": lease})).raise_for_status()
        await self.cast[name].publish("self", "PUBLISH")
        await self.cast[name].move(**at)

    async def _drive(self, rows: Sequence[Row], seconds: float) -> None:
        """Fixes at their turn: some by the cabs themselves, some in batches by an operator. Those who watch walk."""
        first, span, turns = rows[0].time, rows[-1].time - rows[0].time + 1, round(seconds / TURN)
        due: list[list[Row]] = [[] for _ in range(turns)]
        for row in rows:
            due[(row.time - first) * turns // span].append(row)
        began = time.time()
        for number, some in enumerate(due):
            await asyncio.sleep(max(0.0, began + number * TURN - time.time()))
            fixes: list[dict[str, Any]] = [
                {"client": row.client, "lon": row.x, "lat": row.y, "time": began + (row.time - first) * seconds / span}
                for row in some
            ]
            led = [fix for fix in fixes if fix["client"] in self._led]
            await asyncio.gather(
                *([self.operator.move_all(led)] if led else []),
                *(self.cast[fix["client"]].move(**fix) for fix in fixes if fix["client"] not in self._led),
                *(self._walk(name, number) for name in ("scout", "ann", "bob")),
            )

    async def _walk(self, name: str, number: int) -> None:
        dice = random.Random(f"{name} {number}")
        await self.cast[name].move(WEST + dice.random() * 0.06, SOUTH + dice.random() * 0.06)

    async def _change(self, cabs: Sequence[str]) -> None:
        """Everyone thinks again."""
        cast = self.cast
        await cast["ann"].describe(fuel=15)
        await asyncio.gather(*(cast["shop"].emit("fuel", price, litres=10) for price in (75, 69, 64.5)))
        await cast["shop"].publish("fuel", f"PUBLISH AT POINT({WEST + 0.03} {SOUTH + 0.03}) AS gas (price = 60)")
        await cast["desk"].subscribe("zones", "SELECT WHERE &location IN LAYER zones AND &owner != 'nobody'")
        features = self._zones["features"]
        await self._put("layers/zones", json={"type": "FeatureCollection", "features": features[len(features) // 4 :]})
        await cast["bob"].describe(is_on_duty=True)
        await cast["desk"].subscribe("late", "SELECT WHERE &location IN LAYER zones")
        await cast[cabs[0]].forget()
        await cast[cabs[1]].retract("self")
        await cast["watch"].unsubscribe("met")
        await self._refused()
        await cast["bob"].describe(is_on_duty=False)

    async def _refused(self) -> None:
        """What cannot be is in the log all the same."""
        for doing in (self.cast["ann"].unsubscribe("nothing"), self.cast["ann"].emit("nothing", 1)):
            with pytest.raises(GatewayError) as raised:
                await doing
            assert raised.value.status == 404
        wrong = {"op": "move", "time": time.time(), "client": "ann", "lon": 300, "lat": 1}
        answer = await self.http.post(
            "/v1/positions", content=json.dumps(wrong), headers={"content-type": "application/x-ndjson"}
        )
        assert answer.status_code in (202, 422)
