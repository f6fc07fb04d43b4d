"""Every cell of the table of grants, tried by MQTT and by NATS: what is granted is done, and all else is refused.

`tests/gateway/test_permissions.py` does the same by HTTP and by WebSocket.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import nats.errors
import pytest

from nearcast.gateway.grants import DOORS, GRANTS, Action, Door, Role
from nearcast.model.op import Move, Subscribe
from nearcast.phones.service import Phones
from tests.phones.running import PATIENCE, Handset, Stage, fresh, location, native, taken

REFUSED = 0x80
BEHIND = {Door.MQTT, Door.NATS}
"""The doors of this file."""
BRIEF = 1.0
"""Seconds to see that nothing came of it."""
HOME = {"_type": "waypoint", "desc": "Home", "lat": 1, "lon": 2, "rad": 50, "tst": 1}


@dataclass(frozen=True)
class Try:
    """One who tries, and another who is not asked."""

    stage: Stage
    phones: Phones
    role: Role
    client: str
    token: str
    other: str

    async def wrote(self, kind: type, client: str, *, may: bool) -> bool:
        """Whether such an op of a client gets into the log. One that may not come is waited for briefly."""
        until = time.monotonic() + (PATIENCE if may else BRIEF)
        while time.monotonic() < until:
            if any(isinstance(op, kind) for op in await self.stage.ops(client)):
                return True
            await asyncio.sleep(0.05)
        return False

    async def said(self, kind: type, said: object, about: str = "", *, user: str = "", may: bool) -> bool:
        """Whether what is said by MQTT is written."""
        with Handset(self.client, self.token, self.phones.port) as handset:
            assert await handset.answer() == 0
            handset.send(said, about=about, user=user)
            return await self.wrote(kind, user or self.client, may=may)

    async def heard(self, client: str) -> bool:
        """Whether one hears by MQTT what is on the topics of a client."""
        with Handset(self.client, self.token, self.phones.port) as handset:
            assert await handset.answer() == 0
            if await handset.listen(f"owntracks/{client}/#") == [REFUSED]:
                return False
            with Handset("boss", self.stage.token("boss", Role.OPERATOR), self.phones.port) as boss:
                assert await boss.answer() == 0
                await boss.sent(location(1, 2), user=client)
            return bool((await taken(handset.came)).topic.startswith(f"owntracks/{client}/"))

    async def told(self, client: str) -> bool:
        """Whether one hears by NATS what a client is told."""
        faults: list[str] = []

        async def note(fault: Exception) -> None:
            faults.append(str(fault).lower())

        try:
            connection = await native(_address(self.stage), f"nats/{self.client}", self.token, error_cb=note)
        except nats.errors.Error:
            return False
        own = await connection.subscribe(f"nearcast.out.{client}")
        await connection.flush()
        near = "SELECT WHERE &location WITHIN 1 km OF #location"
        await self.stage.say(
            {"op": "publish", "client": f"{client}-beside", "id": "here", "text": "PUBLISH AT POINT(10 10)"},
            {"op": "subscribe", "client": client, "id": "near", "text": near},
            {"op": "move", "client": client, "lon": 10, "lat": 10},
        )
        try:
            return bool(json.loads((await own.next_msg(timeout=BRIEF if faults else PATIENCE)).data)["kind"] == "enter")
        except nats.errors.TimeoutError:
            assert "permissions violation" in faults[0]
            return False
        finally:
            await connection.close()

    # ---- by MQTT -------------------------------------------------------------------------------------

    async def move(self) -> bool:
        return await self.said(Move, location(1, 2), may=Action.MOVE in GRANTS[self.role])

    async def subscribe(self) -> bool:
        may, all_ = Action.SUBSCRIBE in GRANTS[self.role], {"_type": "waypoints", "waypoints": [HOME]}
        said = [await self.said(Subscribe, *one, may=may) for one in ((HOME, "waypoint"), (all_, "waypoints"))]
        assert said[0] == said[1]
        return said[0]

    async def listen(self) -> bool:
        return await self.heard(self.client)

    async def act_for(self) -> bool:
        moved = await self.said(Move, location(1, 2), user=self.other, may=Action.ACT_FOR in GRANTS[self.role])
        heard = await self.heard(self.other)
        assert moved == heard, "both, or neither"
        return moved

    # ---- by NATS -------------------------------------------------------------------------------------

    async def act_for_natively(self) -> bool:
        others, own = await self.told(self.other), await self.told(self.client)
        assert others == own, "all, or nothing"
        return others


TRIES: Mapping[tuple[Action, Door], Callable[[Try], Awaitable[bool]]] = {
    (Action.MOVE, Door.MQTT): Try.move,
    (Action.SUBSCRIBE, Door.MQTT): Try.subscribe,
    (Action.LISTEN, Door.MQTT): Try.listen,
    (Action.ACT_FOR, Door.MQTT): Try.act_for,
    (Action.ACT_FOR, Door.NATS): Try.act_for_natively,
}


def _address(stage: Stage) -> str:
    return f"nats://{stage.server.url.rpartition('@')[2]}"


def test_everything_that_can_be_done_there_is_tried() -> None:
    assert TRIES.keys() == {(action, door) for action in Action for door in DOORS[action] if door in BEHIND}


@pytest.mark.parametrize(("action", "door"), TRIES)
async def test_every_cell(stage: Stage, action: Action, door: Door) -> None:
    clients = {role: fresh(role) for role in Role}
    tokens = {role: stage.token(client, role) for role, client in clients.items()}
    async with stage.phones() as phones:
        for role, client in clients.items():
            who = Try(stage, phones, role, client, tokens[role], fresh("other"))
            assert await TRIES[action, door](who) == (action in GRANTS[role]), role


@pytest.mark.parametrize("role", [role for role in Role if Action.ACT_FOR in GRANTS[role]])
async def test_by_nats_nobody_says_anything(stage: Stage, role: Role) -> None:
    """Whatever has no column in the table is not for anyone, operators included."""
    client = fresh(role)
    faults: list[str] = []

    async def note(fault: Exception) -> None:
        faults.append(str(fault).lower())

    connection = await native(_address(stage), f"nats/{client}", stage.token(client, role), error_cb=note)
    shut = ["nearcast.ops", "nearcast.ahead", f"nearcast.out.{client}", "nearcast.ask.health", "$JS.API.INFO",
            f"owntracks.{client}.phone", "$MQTT.msgs.a", "$SYS.REQ.SERVER.PING", "$KV.nearcast.a"]  # fmt: skip
    for subject in shut:
        await connection.publish(subject, b"{}")
    await connection.flush()
    until = time.monotonic() + PATIENCE
    while len(faults) < len(shut) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    await connection.close()
    assert len(faults) == len(shut)
    assert all("permissions violation" in fault for fault in faults), faults
