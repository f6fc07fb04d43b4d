"""The client for programs, against a real gateway and a real broker."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest
from click.testing import CliRunner

import nearcast
from nearcast.bench.endpoints import Asked, Endpoint
from nearcast.cli import cli
from nearcast.client import Client, Event
from nearcast.errors import GatewayError
from nearcast.gateway.call import Settings
from nearcast.log.server import NatsServer
from tests.gateway.running import Door, Live, fresh, gateway, teller

NEAR = "SELECT WHERE &location WITHIN 1 km OF #location"
CANONICAL = "SELECT WHERE &location WITHIN 1000 m OF #location"


def client(door: Door, name: str) -> Client:
    return Client(door.url, f"token-{name}")


async def hear(me: Client, count: int, after: str | None = None) -> list[Event]:
    heard: list[Event] = []
    async with asyncio.timeout(20), aclosing(me.events(after)) as events:
        async for event in events:
            heard.append(event)
            if len(heard) == count:
                break
    return heard


async def test_it_is_public() -> None:
    assert nearcast.Client is Client
    with pytest.raises(AttributeError, match="has no attribute 'Clint'"):
        nearcast.Clint  # noqa: B018


async def test_all_that_a_client_says(live: Live) -> None:
    ann, shop = fresh("ann"), fresh("shop")
    async with gateway(live.url) as door, client(door, ann) as me, client(door, shop) as seller:
        await seller.publish("fuel", "PUBLISH AT POINT(-50 40) CONTENT 'cheap'")
        await seller.describe(brand="x")
        await me.subscribe("near", NEAR)
        assert await me.move(-50, 40, accuracy=5) > 0
        [event] = await hear(me, 1)
        assert (event.kind, event.data["publisher"], event.data["content"]) == ("enter", shop, "cheap")
        assert shop in {n["publisher"] for n in (await me.query(NEAR))["notifications"]}
        assert shop in {row["publisher"] for row in (await me.explain("near"))["explanations"]}
        assert "clients" in await me.clients()
        assert await me.subscriptions() == [{"id": "near", "text": CANONICAL}]
        assert [one["id"] for one in await seller.publications()] == ["fuel"]
        await me.subscribe("dark", f"SELECT WHERE &owner = '{shop}' ON @ < 10")
        await seller.emit("fuel", 5, colour="red")
        [reading] = await hear(me, 1)
        assert reading.data["values"] == {"value": 5, "colour": "red"}
        await seller.retract("fuel")
        assert [(e.kind, e.data["reason"]) for e in await hear(me, 1)] == [("leave", "retracted")]
        await me.unsubscribe("near")
        with pytest.raises(GatewayError, match="has no subscription 'near'") as raised:
            await me.unsubscribe("near")
        assert raised.value.status == 404
        await me.forget()


async def test_statements_from_the_shell(live: Live) -> None:
    name = fresh("shell")
    async with gateway(live.url) as door:

        async def run(*words: str) -> str:
            words = (*words, "--url", door.url, "--token", f"token-{name}")
            return (await asyncio.to_thread(CliRunner().invoke, cli, words, catch_exceptions=False)).output

        assert await run("statements") == ""
        await run("publish", "fuel", "PUBLISH AT POINT(-50 40)")
        await run("subscribe", "near", NEAR)
        assert (await run("statements")).splitlines() == [
            "publication   fuel  PUBLISH AT POINT(-50 40)",
            f"subscription  near  {CANONICAL}",
        ]
        assert json.loads(await run("statements", "--json")) == {
            "publications": [{"id": "fuel", "text": "PUBLISH AT POINT(-50 40)"}],
            "subscriptions": [{"id": "near", "text": CANONICAL}],
        }
        assert await run("retract", "fuel") == "retracted fuel\n"
        assert json.loads(await run("unsubscribe", "near", "--json"))["sequence"] > 0
        assert json.loads(await run("statements", "--json")) == {"publications": [], "subscriptions": []}
        with pytest.raises(GatewayError, match="has no subscription 'near'"):
            await run("unsubscribe", "near")


async def test_moves_at_once_share_requests_and_keep_their_order(server: NatsServer) -> None:
    async with gateway(server.url) as door, client(door, "ann") as me:
        moved = await asyncio.gather(*(me.move(1, 2, time=n) for n in range(500)))
        assert moved == sorted(moved)
        assert len(set(moved)) < 50
        operator = await door.client("operator")
        requests = (await operator.get("/v1/metrics")).text
        assert 'nearcast_requests_total{door="POST /v1/positions",status="202"} 500.0' not in requests
        assert await me.move_all({"lon": 1, "lat": 2, "time": n} for n in range(500, 12_000)) > moved[-1]


async def test_a_bad_move_raises_alone(server: NatsServer) -> None:
    async with gateway(server.url) as door, client(door, "ann") as me:
        good, bad, place = await asyncio.gather(
            me.move(1, 2), me.move(200, 2), me.move(place="hq/1"), return_exceptions=True
        )
        assert isinstance(good, int)
        assert isinstance(place, int)
        assert isinstance(bad, GatewayError)
        assert (bad.status, bad.field) == (422, "lon")
        with pytest.raises(GatewayError, match=r"\[1\]\.lat"):
            await me.move_all([{"lon": 1, "lat": 2}, {"lon": 1, "lat": 200}])


async def test_events_go_on_after_a_lost_connection(server: NatsServer) -> None:
    """Gateways come and go at the same address; each event is heard once."""
    async with teller(server.url) as told:
        async with gateway(server.url) as first:
            port = int(first.url.rpartition(":")[2])
            me = await client(first, "ann").__aenter__()
            events = me.events()
            await told.tell("ann")
            await told.tell("ann")
            heard = [(await anext(events)).id]
        for _ in range(3):
            await told.tell("ann")
            async with gateway(server.url, port=port):
                async with asyncio.timeout(20):
                    heard.append((await anext(events)).id)
        async with gateway(server.url, port=port):
            async with asyncio.timeout(20):
                heard.append((await anext(events)).id)
            await events.aclose()
            await me.__aexit__(None, None, None)
        assert heard == [f"id-{n}" for n in range(1, 6)]


async def test_one_can_leave_though_there_is_more(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told, client(door, "ann") as me:
        for _ in range(200):
            await told.tell("ann")
        began = time.monotonic()
        assert [e.id for e in await hear(me, 1)] == ["id-1"]
        assert time.monotonic() < began + 5


async def fail_at(door: Door, id_: str) -> None:
    async with client(door, "ann") as me:
        [event] = await hear(me, 1)
        assert event.id == id_
        raise ZeroDivisionError


async def test_what_was_heard_is_not_told_again(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told:
        for _ in range(5):
            await told.tell("ann")
        async with client(door, "ann") as me:
            assert [e.id for e in await hear(me, 2)] == ["id-1", "id-2"]
            assert [e.id for e in await hear(me, 1)] == ["id-3"]
        with pytest.raises(ZeroDivisionError):
            await fail_at(door, "id-4")
        async with client(door, "ann") as me:
            assert [e.id for e in await hear(me, 2)] == ["id-4", "id-5"], "what failed comes again"
            assert [e.id for e in await hear(me, 5, after="0")] == [f"id-{n}" for n in range(1, 6)]


async def test_what_is_not_granted_raises(server: NatsServer) -> None:
    async with gateway(server.url, Settings(rate=1)) as door:
        async with Client(door.url, "wrong") as me:
            for doing in (me.move(1, 2), me.subscribe("a", "SELECT"), anext(me.events())):
                with pytest.raises(GatewayError, match="this token is not known") as raised:
                    await doing
                assert raised.value.status == 401
        async with client(door, "ann") as me:
            with pytest.raises(GatewayError, match="line 1, column 1"):
                await me.subscribe("a", "nonsense")
    with pytest.raises(GatewayError, match="give a token"):
        Client("http://127.0.0.1:1")
    with pytest.raises(GatewayError, match="the client is not open"):
        await Client("http://127.0.0.1:1", "x").query("SELECT")


def said(code: int, body: str = "", **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {code} -\r\ncontent-length: {len(body)}\r\n{lines}\r\n{body}".encode()


@asynccontextmanager
async def proxied(*answers: bytes) -> AsyncIterator[tuple[Client, Endpoint]]:
    """A client, and what is between it and a gateway and answers for that."""
    left = list(answers)

    async def answer(_asked: Asked) -> bytes:
        return left.pop(0)

    async with Endpoint(answer) as proxy, Client(f"http://127.0.0.1:{proxy.port}", "x") as me:
        yield me, proxy


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_what_cannot_be_taken_just_then_is_tried_again(status: int) -> None:
    async with proxied(said(status, "<html>"), said(200, '{"sequence": 7}')) as (me, proxy):
        assert await me.subscribe("near", NEAR) == 7
        assert len(proxy.asked) == 2


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_what_may_have_been_done_is_not_done_twice(status: int) -> None:
    async with proxied(said(status)) as (me, proxy):
        with pytest.raises(GatewayError, match=f"the gateway answered {status}"):
            await me.emit("fuel", 5)
        assert len(proxy.asked) == 1


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2015 07:28:00 GMT", "1", "soon"])
async def test_a_proxy_may_say_when_to_come_back_in_its_own_way(header: str) -> None:
    async with proxied(said(503, Retry_After=header), said(200, '{"sequence": 7}')) as (me, proxy):
        assert await me.describe(colour="red") == 7
        waited = proxy.asked[1].came - proxy.asked[0].came
        assert (waited > 0.9) == (header == "1")


async def test_a_gateway_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.client.TRYING", 0.2)
    async with Client("http://127.0.0.1:1", "x") as me:
        with pytest.raises(GatewayError, match=r"http://127.0.0.1:1 does not answer") as raised:
            await me.move(1, 2)
        assert raised.value.status == 503
