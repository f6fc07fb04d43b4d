"""A client that is forgotten is forgotten here, too: on disk, in memory, and in what is still on its way. Server,
broker, gateway and MQTT clients are real ones."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from nats.js import errors as stream_errors
from paho.mqtt.publish import single

from nearcast.gateway.link import Link
from nearcast.gateway.outbox import key_of
from nearcast.log.client import Log
from nearcast.log.ending import end
from nearcast.log.subjects import CURSORS, PHONES
from nearcast.log.users import password_of
from nearcast.phones.register import CURSOR, STREAM, Forgotten, Phone, Register
from tests.gateway.running import gateway
from tests.phones.running import Handset, Stage, fresh, location, until
from tests.phones.test_waypoints import AT_HOME, AWAY, HOME, at_home, has, is_at, is_written, subscriptions


async def kept(stage: Stage, client: str) -> list[str]:
    """What the server has on disk of a client's phones: buckets, and messages that wait."""
    found = []
    async with Log(stage.server.url) as log:
        jetstream = log.client.jetstream()
        subjects = {
            f"KV_{PHONES}": f"$KV.{PHONES}.{key_of(client)}",
            f"KV_{CURSORS}": f"$KV.{CURSORS}.{CURSOR}{key_of(client)}",
            STREAM: f"$MQTT.msgs.owntracks.{client}.>",
        }
        for stream, subject in subjects.items():
            try:
                info = await jetstream.stream_info(stream, subjects_filter=subject)
            except stream_errors.NotFoundError:
                continue
            found += list(info.state.subjects or {})
    return found


async def is_gone(stage: Stage, client: str) -> bool:
    return not await kept(stage, client)


async def forget(stage: Stage, client: str) -> None:
    async with gateway(stage.server.url) as door:
        assert (await (await door.client(client)).delete("/v1/client")).status_code == 200


async def test_whoever_is_forgotten_is_nowhere_and_begins_anew(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port, name="sleeps", clean=False) as sleeper:
            assert await sleeper.answer() == 0
            await sleeper.listen(f"owntracks/{ann}/+/event")
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            await until("three kinds", lambda: _kinds(stage, ann, 3))
            await forget(stage, ann)
            await until("nothing is kept", lambda: is_gone(stage, ann))
            assert ann not in phones.register.phones
            await handset.sent(location(*AWAY, batt=50))
            await until("she is back", lambda: ann in phones.register.phones)
            await until("as she is", lambda: _is(stage, ann, battery=50, device="phone", connected=True))
            assert phones.register.phones[ann].waypoints == {}
            assert await subscriptions(stage, ann) == set()
            await handset.sent(HOME, about="waypoint")
            await handset.sent(location(*AT_HOME))
            assert (await handset.told())["event"] == "enter"
            await until("at home again", lambda: is_at(stage, ann, "Home"))
    async with stage.phones() as again:
        assert list(again.register.phones[ann].waypoints) == ["Home"]


async def _kinds(stage: Stage, client: str, count: int) -> bool:
    return len(await kept(stage, client)) == count


async def _is(stage: Stage, client: str, **wanted: Any) -> bool:
    found = (await stage.ask("client", client=client))["attributes"]
    return bool(found == wanted)


async def test_an_operators_lines_forget_as_well(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones, gateway(stage.server.url) as door:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
        line = json.dumps({"op": "client", "time": time.time(), "client": ann, "forget": True})
        headers = {"content-type": "application/x-ndjson"}
        answer = await (await door.client("operator")).post("/v1/positions", content=line, headers=headers)
        assert answer.status_code == 202
        await until("nothing is kept", lambda: is_gone(stage, ann))


async def test_a_cursor_of_phones_is_no_clients(stage: Stage) -> None:
    """A client whose name begins as their cursors did would have said what others have heard."""
    ann = fresh("ann")
    other, token = f"phones:{ann}", stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port, name="phone", clean=False) as handset:
            await at_home(stage, handset, HOME)
    await stage.say({"op": "move", "client": ann, "lon": AWAY[0], "lat": AWAY[1], "time": time.time() + 1})
    await until("it is written", lambda: is_written(stage))
    async with gateway(stage.server.url) as door:
        client = await door.client(other)
        at = (await client.get("/v1/notifications")).json()["at"]
        assert (await client.put("/v1/cursor", json={"cursor": at})).status_code == 200
        async with stage.phones() as phones:
            with Handset(ann, token, phones.port, name="phone", clean=False) as handset:
                assert (await handset.told())["event"] == "leave"
                await forget(stage, ann)
                await until("nothing is kept", lambda: is_gone(stage, ann))
        seal = await door.seal()
        assert seal.known((await client.get("/v1/cursor")).json()["cursor"]) == seal.known(at) > 0


async def test_one_who_is_forgotten_while_the_process_is_away(stage: Stage) -> None:
    """Neither what was known of it comes back, nor what it had said before and nobody has taken yet."""
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
    share(stage, ann, {**HOME, "desc": "House"})
    await forget(stage, ann)
    async with stage.phones() as phones:
        assert ann not in phones.register.phones
        assert await is_gone(stage, ann)
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            await handset.sent(location(*AWAY))
            await until("she is back", lambda: ann in phones.register.phones)
            await asyncio.sleep(0.5)
            assert await subscriptions(stage, ann) == set()
            assert phones.register.phones[ann].waypoints == {}


def share(stage: Stage, client: str, waypoint: dict[str, Any]) -> None:
    """As the door would have passed it on, just before it died."""
    login = {"username": "nearcast", "password": password_of(stage.server.folder) or ""}
    topic = f"owntracks/{client}/phone/waypoint"
    single(topic, json.dumps(waypoint), 1, hostname="127.0.0.1", port=stage.mqtt, auth=login)  # type: ignore[arg-type]


async def test_what_is_on_its_way_brings_nothing_back(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            phones.reading.hold(60)
            await handset.sent({**HOME, "desc": "House"}, about="waypoint")
            await forget(stage, ann)
            await until("nothing is kept", lambda: is_gone(stage, ann))
            phones.reading._release()
            await until("it was not taken", lambda: phones.reading.counts["forgotten"])
            assert await subscriptions(stage, ann) == set()
            assert ann not in phones.register.phones


async def test_what_is_written_while_a_client_is_forgotten_is_taken_back(stage: Stage) -> None:
    """A waypoint that comes into the log after that, and before it is known here."""
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            await at_home(stage, handset, HOME)
            await stage.say({"op": "client", "client": ann, "forget": True})
            await handset.sent({**HOME, "desc": "House"}, about="waypoint")
            await until("it is there", lambda: has(stage, ann, "House"))
            await forget_key(stage, ann)
            await until("it goes", lambda: has(stage, ann))


async def forget_key(stage: Stage, client: str) -> None:
    async with Log(stage.server.url) as log:
        await (await log.client.jetstream().key_value(PHONES)).delete(key_of(client))


async def test_what_is_known_of_one_who_was_forgotten_is_not_written_again(stage: Stage) -> None:
    ann = fresh("ann")
    async with Link(stage.server.url) as link:
        register = await Register(link).load()
        phone = Phone(ann, 0, {}, {})
        await register.save(phone)
        phone.note("phone", "", is_here=True)
        await register.save(phone)
        for _ in range(2):
            await forget_key(stage, ann)
            with pytest.raises(Forgotten):
                await register.save(phone)
            phone = Phone(ann, 0, {}, {})
            await register.save(phone)
        lost = Phone(ann, 0, {}, {}, revision=1)
        await register.save(lost)
        assert lost.revision > phone.revision, "an answer that was lost is no harm"
        await forget_key(stage, ann)
        await register.load()
        assert await is_gone(stage, ann)
        with pytest.raises(Forgotten):
            await register.save(lost)


async def test_ids_of_any_kind_are_forgotten(stage: Stage) -> None:
    ann = f"{fresh('acme')}/bus 7~=ü.x"
    async with Link(stage.server.url) as link:
        register = await Register(link).load()
        gone: list[str] = []

        async def forget(client: str) -> None:
            gone.append(client)

        following = asyncio.create_task(register.follow(forget))
        try:
            await register.save(Phone(ann, 0, {}, {}))
            await forget_key(stage, ann)
            await until("it is known", lambda: ann in gone)
        finally:
            await end(following)
        assert ann not in register.phones
