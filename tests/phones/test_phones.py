"""What phones say becomes ops, and what they are told comes back. Server, broker and MQTT clients are real ones."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from nearcast.gateway.grants import Role
from nearcast.log.server import MQTT_AGAIN
from nearcast.log.topics import Topic
from nearcast.model.op import Move, SetClient
from nearcast.phones.messages import Heard
from nearcast.phones.messages import understand as as_it_is
from nearcast.phones.service import Phones
from tests.phones.running import Handset, Stage, fresh, location, until
from tests.phones.test_waypoints import is_noted

HOME = {"_type": "waypoint", "desc": "Home", "lat": 30.27, "lon": -97.74, "rad": 100, "tst": 1700000000, "rid": "r1"}
WORK = {"_type": "waypoint", "desc": "Work", "lat": 30.30, "lon": -97.70, "rad": 50, "tst": 1700000001}
AT_HOME, AWAY, AT_WORK = (-97.74, 30.27), (-97.60, 30.0), (-97.70, 30.30)


async def moves(stage: Stage, client: str) -> list[tuple[float, float]]:
    found = [op.position.point for op in await stage.ops(client) if isinstance(op, Move)]
    return [(point.x, point.y) for point in found if point]


async def attributes(stage: Stage, client: str) -> list[dict[str, Any]]:
    return [dict(op.attributes) for op in await stage.ops(client) if isinstance(op, SetClient)]


async def me(stage: Stage, client: str) -> dict[str, Any]:
    return dict((await stage.ask("client", client=client))["attributes"])


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_fixes_are_in_the_log_in_their_order(stage: Stage, qos: int) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            start = time.time() - 100
            for step in range(50):
                handset.send(location(step / 100, 1, start + step), qos=qos)
            await until("all of them", lambda: _has(stage, ann, 50))
    assert await moves(stage, ann) == [(step / 100, 1.0) for step in range(50)]


async def _has(stage: Stage, client: str, count: int) -> bool:
    return len(await moves(stage, client)) >= count


async def test_what_a_phone_is_like_is_said_once(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            start = int(time.time()) - 100
            for step, battery in enumerate((80, 80, 79, 79)):
                await handset.sent(location(step, 1, start + step, batt=battery, conn="m"))
            await handset.sent(location(9, 1, start - 50, batt=1, conn="o"), "tablet")
            await handset.sent(location(4, 1, start + 4, batt=79, conn="m"), "tablet")
            await until("all of them", lambda: _has(stage, ann, 6))
    assert await attributes(stage, ann) == [
        {"battery": 80, "connection": "mobile", "device": "phone", "connected": True},
        {"battery": 79},
        {"device": "tablet"},
    ]
    assert list(phones.register.phones[ann].devices) == ["phone", "tablet"]


async def test_one_that_is_lost_is_not_connected_until_it_is_heard_again(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    gone = {"_type": "lwt", "tst": int(time.time())}
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.sent(location(1, 1), "phone")
            await handset.sent(location(1, 2), "tablet")
            await until("there", lambda: _is_connected(stage, ann, True))
            await handset.sent(gone, "phone")
            await until("all three", lambda: phones.reading.counts["taken"] == 3)
            await asyncio.sleep(0.2)
            assert (await me(stage, ann))["connected"] is True, "the tablet still is"
            await handset.sent(gone, "tablet")
            await until("gone", lambda: _is_connected(stage, ann, False))
            await handset.sent(location(1, 3), "phone")
            await until("back", lambda: _is_connected(stage, ann, True))


def has_waypoints(phones: Phones, client: str) -> bool:
    known = phones.register.phones.get(client)
    return known is not None and bool(known.waypoints)


async def _is_connected(stage: Stage, client: str, wanted: bool) -> bool:
    return (await me(stage, client)).get("connected") is wanted


async def test_what_cannot_be_understood_is_counted_and_stops_nothing(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    junk: list[Any] = [
        b"\x00\xff", b"{", b"", b"[" * 50_000, {"_type": "steps"}, {"_type": "x"}, {"_type": "location"},
        location(500, 1), location(1, 1, time.time() + 9999), {"_type": "location", "lat": 1e300, "lon": 1, "tst": 1},
        {"lon": 1, "lat": 1, "client": "somebody"}, [1, "x", None], {"_type": "lwt", "tst": "x" * 1000},
    ]  # fmt: skip
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            for said in junk:
                handset.send(said)
            for said in (b"\xff", {"_type": "waypoint"}, HOME | {"rad": "far"}):
                handset.send(said, about="waypoint")
            handset.send(location(1, 1), "d" * 257)
            await handset.sent(location(1, 1))
            await until("it goes on", lambda: _has(stage, ann, 1))
            counts, devices = phones.reading.counts, phones.register.phones[ann].devices
    assert list(devices) == ["phone"]
    assert counts["taken"] == 2, "the fix and the will"
    assert counts["topic"] == 1
    assert counts["not JSON"] == 4
    assert counts["no position"] == 6
    assert counts["no waypoint"] == 2
    assert counts["unknown type"] == counts["steps"] == counts["empty"] == 1
    assert await moves(stage, ann) == [(1.0, 1.0)]


async def test_nothing_comes_again_and_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what can never be kept, nor what we did not foresee."""
    boss, ann = fresh("boss"), fresh("ann")
    token = stage.token(boss, Role.OPERATOR)

    def understand(topic: Topic, *rest: Any) -> Heard:
        if topic.device == "odd":
            raise ZeroDivisionError
        return as_it_is(topic, *rest)

    monkeypatch.setattr("nearcast.phones.reading.understand", understand)
    async with stage.phones() as phones:
        with Handset(boss, token, phones.port) as handset:
            assert await handset.answer() == 0
            handset.send(location(1, 1), user="x" * 2000)
            handset.send(location(1, 1), "odd", user=ann)
            await handset.sent(location(2, 2), user=ann)
            await until("it goes on", lambda: _has(stage, ann, 1))
            assert (phones.reading.counts["topic"], phones.reading.counts["unforeseen"]) == (1, 1)


async def test_a_message_that_comes_twice_is_stale(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    before = (await stage.ask("health"))["counts"].get("stale", 0)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            again = location(1, 1)
            for _ in range(3):
                await handset.sent(again)
            await until("three", lambda: _has(stage, ann, 3))
            await until("two are stale", lambda: _stale(stage, before + 2))


async def _stale(stage: Stage, count: int) -> bool:
    return bool((await stage.ask("health"))["counts"].get("stale", 0) >= count)


# ---- what they are told --------------------------------------------------------------------------------


async def test_enters_and_leaves_come_back_to_every_device(stage: Stage) -> None:
    ann, shop = fresh("ann"), fresh("shop")
    token = stage.token(ann)
    await stage.say(
        {"op": "publish", "client": shop, "id": "fuel", "text": "PUBLISH AT POINT(20 20)"},
        {"op": "subscribe", "client": ann, "id": "near", "text": "SELECT WHERE &location WITHIN 1 km OF #location"},
    )
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.listen(f"owntracks/{ann}/+/event")
            await handset.sent(location(20, 20, acc=7))
            enter = await handset.told()
            assert (enter["_type"], enter["event"], enter["desc"], enter["tid"]) == (
                "transition",
                "enter",
                "fuel",
                "an",
            )
            assert (enter["lon"], enter["lat"], enter["acc"]) == (20, 20, 7)
            assert (enter["subscription"], enter["publisher"]) == ("near", shop)
            assert abs(enter["tst"] - time.time()) < 10
            await handset.sent(location(21, 20), "tablet")
            both = [await handset.told(), await handset.told()]
            assert [leave["event"] for leave in both] == ["leave", "leave"]
            assert both[0]["id"] == both[1]["id"] != enter["id"]
            await asyncio.sleep(0.2)
            assert handset.rest() == []


async def test_waypoints_are_told_of_and_to_nobody_else(stage: Stage) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    token = stage.token(ann)
    await stage.say({"op": "subscribe", "client": bob, "id": "all", "text": "SELECT"})
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.listen(f"owntracks/{ann}/+/event")
            await handset.sent(location(*AWAY))
            await handset.sent(HOME, about="waypoint")
            await handset.sent(location(*AT_HOME))
            told = await handset.told()
            assert (told["event"], told["desc"], told["wtst"], told["rid"]) == ("enter", "Home", 1700000000, "r1")
            await until("she is at home", lambda: _is_at(stage, ann, "Home"))
            await handset.sent(location(*AWAY))
            assert (await handset.told())["event"] == "leave"
            await until("she is not", lambda: _is_at(stage, ann, None))
    assert not [one for one in await _state(stage, bob) if one["publisher"] in (ann, None)]
    listed = (await stage.ask("statements", client=ann))["subscriptions"]
    assert [one["id"] for one in listed] == ["waypoint/Home"]


async def _is_at(stage: Stage, client: str, name: str | None) -> bool:
    return (await me(stage, client)).get("waypoint") == name


async def test_those_whom_a_client_permits_hear_of_its_waypoints(stage: Stage) -> None:
    ann, bob, eve = fresh("ann"), fresh("bob"), fresh("eve")
    token = stage.token(ann)
    wanted = f"SELECT WHERE &owner = '{ann}' AND &waypoint = 'Home'"
    await stage.say(
        {"op": "publish", "client": ann, "id": "me", "text": f"PUBLISH TO #owner = '{bob}'"},
        {"op": "subscribe", "client": bob, "id": "ann", "text": wanted},
        {"op": "subscribe", "client": eve, "id": "ann", "text": wanted},
    )
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.sent(location(*AWAY))
            await handset.sent(HOME, about="waypoint")
            await handset.sent(location(*AT_HOME))
            found = await until("bob knows", lambda: _state(stage, bob))
            assert [one["publisher"] for one in found] == [ann]
            assert await _state(stage, eve) == []


async def _state(stage: Stage, client: str) -> list[dict[str, Any]]:
    return list((await stage.ask("state", client=client))["notifications"])


async def test_waypoints_change_and_go(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)

    async def listed() -> dict[str, str]:
        found = (await stage.ask("statements", client=ann))["subscriptions"]
        return {one["id"]: one["text"] for one in found}

    async def names(*wanted: str) -> bool:
        return set(await listed()) == {f"waypoint/{name}" for name in wanted}

    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.sent(HOME, about="waypoint")
            await until("one", lambda: names("Home"))
            await handset.sent({**HOME, "desc": "House"}, about="waypoint")
            await until("renamed", lambda: names("House"))
            await handset.sent({"_type": "waypoints", "waypoints": [HOME, WORK]}, about="waypoints")
            await until("two", lambda: names("Home", "Work"))
            await handset.sent({**WORK, "desc": "Gym", "tst": 5}, "tablet", "waypoint")
            await handset.sent({"_type": "waypoints", "waypoints": [{**WORK, "rad": 75}]}, about="waypoints")
            await until("all of this device, and of no other", lambda: names("Work", "Gym"))
            assert "75 m" in (await listed())["waypoint/Work"]
            await handset.sent({**WORK, "rad": 0}, about="waypoint")
            await until("one without a radius goes", lambda: names("Gym"))
            await handset.sent({**HOME, "tst": 0}, about="waypoint")
            await handset.sent({**WORK, "tst": 0}, about="waypoint")
            await until("without times, two are two", lambda: names("Gym", "Home", "Work"))
            await handset.sent({**WORK, "tst": 0, "rad": 0}, about="waypoint")
            await until("and known by their names", lambda: names("Gym", "Home"))


async def test_ids_that_a_topic_cannot_hold_are_escaped_in_it(stage: Stage) -> None:
    names = {f"{fresh('acme')}/bus 7": "%2Fbus%207", f"{fresh('ann')}.b@example.org": ".b@example.org",
             f"{fresh('fünf')} %": "%20%25"}  # fmt: skip
    tokens = {client: stage.token(client) for client in names}
    async with stage.phones() as phones:
        for client, end in names.items():
            token = tokens[client]
            level = client.split("/")[0].split(".")[0].split(" ")[0] + end
            with Handset(client, token, phones.port) as handset:
                assert await handset.answer() == 0
                assert await handset.listen(f"owntracks/{level}/#") == [1]
                await handset.sent({**HOME, "tst": 1}, about="waypoint", user=level)
                await handset.sent(location(*AT_HOME), user=level)
                assert (await handset.told())["desc"] == "Home"
            assert await moves(stage, client) == [AT_HOME]


async def test_plain_json_and_geojson_are_taken_too(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    feature = {"type": "Feature", "geometry": {"type": "Point", "coordinates": [3, 4]}, "properties": {"fuel": 15}}
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.sent({"lon": 1, "lat": 2})
            await handset.sent(feature)
            await handset.sent([{"lon": 5, "lat": 6}, {"lon": 7, "lat": 200}])
            await until("all three", lambda: _has(stage, ann, 3))
            assert phones.reading.counts["faults"] == 1
    assert await moves(stage, ann) == [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]

    async def has_fuel() -> bool:
        return (await me(stage, ann)).get("fuel") == 15

    await until("fuel", has_fuel)


# ---- what is missed ------------------------------------------------------------------------------------


async def test_a_session_that_comes_back_gets_what_it_missed(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port, name="phone", clean=False) as handset:
            assert await handset.answer() == 0
            await handset.listen(f"owntracks/{ann}/phone/event")
            await handset.sent(HOME, about="waypoint")
            await handset.sent(location(*AT_HOME))
            first = await handset.told()
        with Handset(ann, token, phones.port) as other:
            assert await other.answer() == 0
            for turn in range(4):
                await other.sent(location(*(AWAY if turn % 2 == 0 else AT_HOME)))
            await until("all four", lambda: _has(stage, ann, 5))
            await asyncio.sleep(0.3)
        with Handset(ann, token, phones.port, name="phone", clean=False) as handset:
            missed = [await handset.told() for _ in range(4)]
    assert [one["event"] for one in (first, *missed)] == ["enter", "leave", "enter", "leave", "enter"]
    assert len({one["id"] for one in (first, *missed)}) == 5


async def test_what_was_told_while_the_process_was_away_is_passed_on(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port, name="phone", clean=False) as handset:
            assert await handset.answer() == 0
            await handset.listen(f"owntracks/{ann}/phone/event")
            await handset.sent(HOME, about="waypoint")
            await handset.sent(location(*AWAY))
            await until("a waypoint", lambda: has_waypoints(phones, ann))
    now = time.time()
    for turn, (lon, lat) in enumerate((AT_HOME, AWAY, AT_HOME)):
        await stage.say({"op": "move", "client": ann, "lon": lon, "lat": lat, "time": now + turn})
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port, name="phone", clean=False) as handset:
            told = [await handset.told() for _ in range(3)]
            assert [one["event"] for one in told] == ["enter", "leave", "enter"]
            assert [one["desc"] for one in told] == ["Home"] * 3
            await asyncio.sleep(0.3)
            assert handset.rest() == []


async def test_a_process_that_begins_again_tells_nothing_of_what_is_as_it_was(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    here = {"_type": "waypoint", "lat": AT_HOME[1], "lon": AT_HOME[0], "rad": 500, "tst": 9, "desc": "Block"}
    for waypoint in (HOME, here):
        async with stage.phones() as phones:
            with Handset(ann, token, phones.port) as handset:
                assert await handset.answer() == 0
                await handset.listen(f"owntracks/{ann}/+/event")
                await handset.sent(location(*AT_HOME))
                await handset.sent(waypoint, about="waypoint")
                told = await handset.told()
                assert (told["event"], told["desc"]) == ("enter", waypoint["desc"])
                await until("it is noted", lambda: is_noted(stage, ann))
                assert handset.rest() == []


async def test_what_is_held_back_and_comes_again_is_taken_once(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        phones.reading.hold(MQTT_AGAIN + 1)
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            for step in range(3):
                await handset.sent(location(step, 1, time.time() - 10 + step))
            await until("all of it", lambda: moves(stage, ann))
        await asyncio.sleep(0.5)
    assert len(await moves(stage, ann)) == 3


async def test_devices_are_not_without_number(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            for number in range(30):
                handset.send(location(number, 1), f"d{number}")
            await handset.sent(location(50, 1), "last")
            await until("the last", lambda: "last" in phones.register.phones.get(ann, _NONE).devices)
            assert len(phones.register.phones[ann].devices) == 20
    async with stage.phones() as again:
        assert json.dumps(list(again.register.phones[ann].devices)).endswith('"last"]')


class _NONE:
    devices: tuple[str, ...] = ()
