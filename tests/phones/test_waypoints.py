"""Which waypoint a client is in, whatever becomes of waypoints, and however they do: by phones, by other doors, while
the process is away. Server, broker, gateway and MQTT clients are real ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from nearcast.gateway.link import Link
from nearcast.gateway.outbox import Cursors, Outbox
from nearcast.log.client import Log
from nearcast.log.subjects import OUT_STREAM, out_subject
from nearcast.phones import messages, telling
from nearcast.phones.register import CURSOR
from tests.gateway.running import gateway
from tests.phones.running import Handset, Stage, fresh, location, until

HOME = {"_type": "waypoint", "desc": "Home", "lat": 30.27, "lon": -97.74, "rad": 100, "tst": 1700000000}
BLOCK = {**HOME, "desc": "Block", "rad": 2000, "tst": 1700000001}
AT_HOME, IN_BLOCK, AWAY = (-97.74, 30.27), (-97.735, 30.27), (-97.60, 30.0)


async def is_at(stage: Stage, client: str, name: str | None) -> bool:
    found = await stage.ask("client", client=client)
    return bool(found["attributes"].get("waypoint") == name)


async def is_written(stage: Stage) -> bool:
    """Whether all that was found is in the stream."""
    return not (await stage.ask("health"))["unwritten"]


async def subscriptions(stage: Stage, client: str) -> set[str]:
    return {one["id"] for one in (await stage.ask("statements", client=client))["subscriptions"]}


async def has(stage: Stage, client: str, *names: str) -> bool:
    return await subscriptions(stage, client) == {f"waypoint/{name}" for name in names}


async def at_home(stage: Stage, handset: Handset, *waypoints: dict[str, Any]) -> None:
    """A client that comes into each of them, told and said."""
    assert await handset.answer() == 0
    await handset.listen(f"owntracks/{handset.user}/+/event")
    await handset.sent(location(*AWAY))
    for waypoint in waypoints:
        await handset.sent(waypoint, about="waypoint")
    await handset.sent(location(*AT_HOME))
    told = [await handset.told() for _ in waypoints]
    assert {one["event"] for one in told} == {"enter"}
    names = {str(waypoint["desc"]) for waypoint in waypoints}
    assert {one["desc"] for one in told} == names
    await until("it is said", lambda: is_at(stage, handset.user, told[-1]["desc"]))
    await until("it is noted", lambda: is_noted(stage, handset.user))


async def is_noted(stage: Stage, client: str) -> bool:
    """Whether a process that begins again would tell nothing once more."""
    async with Link(stage.server.url) as link:
        return await Cursors(link, CURSOR).read(client) >= await Outbox(link).last_of(out_subject(client))


# ---- what is removed -----------------------------------------------------------------------------------


async def test_a_waypoint_that_is_removed_is_left(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            await handset.sent({**HOME, "rad": 0}, about="waypoint")
            await until("nowhere", lambda: is_at(stage, ann, None))


async def test_a_waypoint_that_is_renamed_has_one_name(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            await handset.sent({**HOME, "desc": "House"}, about="waypoint")
            assert (await handset.told())["desc"] == "House"
            await until("the new name", lambda: is_at(stage, ann, "House"))
            await handset.sent(location(*AWAY))
            assert (await handset.told())["event"] == "leave"
            await until("nowhere", lambda: is_at(stage, ann, None))
            await until("all is said", lambda: not phones.register.phones[ann].unsettled)


async def test_one_that_was_removed_and_not_said_is_said_by_the_next_process(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
        phone = phones.register.phones[ann]
        await stage.say({"op": "unsubscribe", "client": ann, "id": "waypoint/Home"})
        phone.waypoints, phone.unsettled = {}, 1
        await phones.register.save(phone)
    assert await is_at(stage, ann, "Home")
    async with stage.phones():
        await until("nowhere", lambda: is_at(stage, ann, None))


async def test_one_that_is_removed_by_another_door_is_left_and_let_go(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    monkeypatch.setattr(telling, "QUIET", 0.1)
    monkeypatch.setattr(telling, "LOOK", 0.2)
    async with stage.phones() as phones, gateway(stage.server.url) as door:
        web = await door.client(ann)
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME, BLOCK)
            assert (await web.delete("/v1/subscriptions/waypoint/Home")).status_code == 200
            await until("the other one", lambda: is_at(stage, ann, "Block"))
            assert list(phones.register.phones[ann].waypoints) == ["Block"]
    async with stage.phones() as again:
        assert list(again.register.phones[ann].waypoints) == ["Block"]


async def test_one_that_was_removed_by_another_door_is_shared_again(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones, gateway(stage.server.url) as door:
        web = await door.client(ann)
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            await handset.sent(HOME, about="waypoint")
            await asyncio.sleep(0.3)
            assert handset.rest() == [], "what is there already tells nothing again"
            assert (await web.delete("/v1/subscriptions/waypoint/Home")).status_code == 200
            await handset.sent(HOME, about="waypoint")
            await until("it is there", lambda: has(stage, ann, "Home"))
            assert (await handset.told())["event"] == "enter"


# ---- after a restart -----------------------------------------------------------------------------------


async def test_whoever_leaves_a_nested_waypoint_is_still_in_the_outer_one(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, BLOCK, HOME)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.listen(f"owntracks/{ann}/+/event")
            await handset.sent(location(*IN_BLOCK))
            told = await handset.told()
            assert (told["event"], told["desc"]) == ("leave", "Home")
            await until("in the outer one", lambda: is_at(stage, ann, "Block"))
            await handset.sent(location(*AT_HOME))
            assert (await handset.told())["event"] == "enter"
            await until("in both, in the inner one last", lambda: is_at(stage, ann, "Home"))
            await handset.sent(location(*AWAY))
            assert {(await handset.told())["event"] for _ in range(2)} == {"leave"}
            await until("nowhere", lambda: is_at(stage, ann, None))


# ---- what was not foreseen -----------------------------------------------------------------------------


async def test_a_gap_silences_nobody(stage: Stage) -> None:
    """What it missed is gone; it is told what it is in now, and goes on."""
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            await handset.sent(BLOCK, about="waypoint")
            assert (await handset.told())["desc"] == "Block"
            await until("said", lambda: is_at(stage, ann, "Block"))
    await stage.say({"op": "move", "client": ann, "lon": IN_BLOCK[0], "lat": IN_BLOCK[1]})
    await stage.say({"op": "subscribe", "client": ann, "id": "all", "text": "SELECT"})
    await until("it is written", lambda: is_written(stage))
    async with Log(stage.server.url) as log:
        await log.client.jetstream().purge_stream(OUT_STREAM)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port, name="phone", clean=False) as handset:
            assert await handset.answer() == 0
            await handset.listen(f"owntracks/{ann}/+/event")
            await handset.sent(location(*AWAY))
            await until("nowhere", lambda: is_at(stage, ann, None))
            await handset.sent(location(*AT_HOME))
            told = [await handset.told()]
            while told[-1]["event"] != "enter" or told[-1]["desc"] != "Home":
                told.append(await handset.told())
            assert [one["desc"] for one in told if one["event"] == "leave"] in (["Block"], [])
            await until("back", lambda: is_at(stage, ann, "Home"))


async def test_an_event_that_cannot_be_told_keeps_none_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    as_it_is = messages.transition

    def transition(told: Any, *rest: Any) -> bytes | None:
        if told["kind"] == "leave":
            raise ZeroDivisionError
        return as_it_is(told, *rest)

    monkeypatch.setattr(telling, "transition", transition)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            await handset.sent(location(*AWAY))
            await handset.sent(location(*AT_HOME))
            assert (await handset.told())["event"] == "enter"


async def test_what_was_not_foreseen_is_tried_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    faults = [ZeroDivisionError(), KeyError("subscription")]
    read = Cursors.read

    async def odd_read(self: Cursors, client: str) -> int:
        if faults and client.endswith(ann):
            raise faults.pop()
        return await read(self, client)

    monkeypatch.setattr(Cursors, "read", odd_read)
    monkeypatch.setattr(telling, "AGAIN", 0.05)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
    assert not faults
