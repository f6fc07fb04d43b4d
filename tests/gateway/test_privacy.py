"""What a publisher does not let one know is not there for that one, by any way of asking."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import Any

import httpx
import pytest

from nearcast.gateway.ask import Broker
from nearcast.gateway.outbox import read_page
from nearcast.log.client import Log
from nearcast.log.subjects import OUT_STREAM, out_subject
from nearcast.model.moment import MICROS, parse_time
from tests.gateway.running import PATIENCE, Live, fresh, gateway, hear, seal_of

HERE = {"lon": -97.74, "lat": 30.27}
NEAR = "SELECT WHERE &location WITHIN 50 km OF #location"
EVERYTHING = (
    ("GET", "/v1/clients", None),
    ("GET", "/v1/staying", None),
    ("GET", "/v1/nearest?k=5", None),
    ("GET", "/v1/inside?place=town", None),
    ("POST", "/v1/query", NEAR),
    ("POST", "/v1/query", "SELECT WHERE &owner = 'WHO'"),
    ("POST", "/v1/query", "SELECT NEAREST 3"),
    ("POST", "/v1/query", "SELECT WHERE ANY location WITHIN 1 km OF #location"),
    ("GET", "/v1/explain/near", None),
    ("GET", "/v1/explain/near?publisher=WHO", None),
    ("GET", "/v1/notifications", None),
    ("GET", "/v1/subscriptions", None),
    ("GET", "/v1/publications", None),
    ("GET", "/v1/layers", None),
    ("GET", "/v1/places", None),
    ("GET", "/v1/client", None),
)
"""All that a client can ask."""
CHANGING = re.compile(r'"(id|time|at)":"[^"]*"|"number":\d+')
"""What is another with each question, whatever is asked."""


async def answers(client: httpx.AsyncClient, about: str) -> list[tuple[int, str]]:
    found = []
    for method, path, text in EVERYTHING:
        body = text.replace("WHO", about) if text else None
        answer = await client.request(method, path.replace("WHO", about), content=body)
        found.append((answer.status_code, CHANGING.sub("", answer.text)))
    return found


async def told_of_others(client: httpx.AsyncClient) -> None:
    """Wait until a client was told of whom other tests left near it."""
    near = (await client.post("/v1/query", content=NEAR)).json()["notifications"]
    async with asyncio.timeout(PATIENCE):
        while len((await client.get("/v1/notifications")).json()["events"]) < len(near):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "published",
    [
        "PUBLISH TO #owner = 'someone else'",
        "PUBLISH PAUSED",
        "PUBLISH AT POINT(-97.74 30.27) CONTENT 'secret' TO NOT ALWAYS",
        "PUBLISH TO NOT &location IN DISC(-97.74 30.27, 5 km)",
        "PUBLISH TO #location WITHIN 10 m OF &location PRECISION 1 km",
        "PUBLISH EXPIRES AT '2020-01-01T00:00:00Z'",
    ],
)
async def test_who_is_hidden_and_who_is_not_there_look_alike(live: Live, published: str) -> None:
    """Questions about a client that hides, and about one that there is not, have the same answers."""
    hidden, absent, bob = fresh("hidden"), fresh("absent"), fresh("bob")
    async with gateway(live.url) as door:
        her, him = await door.client(hidden), await door.client(bob)
        assert (await him.put("/v1/subscriptions/near", content=NEAR)).status_code == 200
        assert (await him.post("/v1/positions", json={"lon": -97.70, "lat": 30.27})).status_code == 202
        await told_of_others(him)
        before = await answers(him, absent)
        put = await her.put("/v1/publications/me", content=published)
        assert put.status_code == 200, put.text
        for step in range(3):
            moved = await her.post("/v1/positions", json={**HERE, "lat": HERE["lat"] + step / 1e4})
            assert moved.status_code == 202
        assert (await her.get("/v1/client")).status_code == 200, "all that she wrote is applied"
        for about in (hidden, absent):
            for (method, path, text), was, now in zip(EVERYTHING, before, await answers(him, about), strict=True):
                assert now == was, (method, path, text)
                assert hidden not in now[1]
        for path in ("/v1/metrics", "/v1/tokens", "/v1/metrics/webhooks"):
            answer = await him.get(path)
            assert answer.status_code == 403
            assert hidden not in answer.text


async def test_a_lower_precision_at_every_door(live: Live) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    exact = {"lon": -97.741234, "lat": 30.271234}
    async with gateway(live.url) as door:
        her, him = await door.client(ann), await door.client(bob)
        assert (await her.put("/v1/publications/me", content="PUBLISH PRECISION 5 km")).status_code == 200
        assert (await him.put("/v1/subscriptions/s", content=f"SELECT WHERE &owner = '{ann}'")).status_code == 200
        assert (await him.put("/v1/subscriptions/near", content=f"{NEAR} WITH UPDATES")).status_code == 200
        assert (await him.post("/v1/positions", json={"lon": -97.70, "lat": 30.27})).status_code == 202
        async with door.socket(bob, after="0") as socket:
            assert (await her.post("/v1/positions", json=exact)).status_code == 202
            heard = await hear(socket, 2)
        said = json.dumps(heard) + "".join(text for _, text in await answers(him, ann))
        assert ann in said
        assert "97.7412" not in said
        assert "30.2712" not in said
        assert (await her.get("/v1/publications/me")).json()["text"] == "PUBLISH PRECISION 5000 m"


async def test_pause_and_resume(live: Live) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    text = f"PUBLISH TO #owner = '{bob}' CONTENT \"hi\""
    async with gateway(live.url) as door:
        her, him = await door.client(ann), await door.client(bob)
        await her.put("/v1/publications/a%2Fb", content=text)
        await her.post("/v1/positions", json=HERE)
        await her.get("/v1/client")  # which waits for it to be applied

        async def seen() -> list[Any]:
            found = (await him.post("/v1/query", content=f"SELECT WHERE &owner = '{ann}'")).json()
            return [n["content"] for n in found["notifications"]]

        assert await seen() == ["hi"]
        assert (await her.post("/v1/pause/a%2Fb")).status_code == 200
        assert await seen() == []
        assert (await her.get("/v1/publications/a%2Fb")).json()["text"] == f"{text} PAUSED"
        assert (await her.post("/v1/resume/a%2Fb")).status_code == 200
        assert await seen() == ["hi"]
        assert (await her.post("/v1/pause/other")).status_code == 404
        assert (await him.post("/v1/pause/a%2Fb")).status_code == 404, "it is not his"


async def test_what_is_paused_ends_when_it_would_have(live: Live) -> None:
    async with gateway(live.url) as door:
        ann = await door.client(fresh("ann"))
        before = time.time()
        assert (await ann.put("/v1/publications/p", content="PUBLISH EXPIRES 30 s")).status_code == 200
        after = time.time()
        ends = set()
        for what, word in (("pause", " PAUSED"), ("resume", ""), ("resume", ""), ("pause", " PAUSED")):
            assert (await ann.post(f"/v1/{what}/p")).status_code == 200
            text = (await ann.get("/v1/publications/p")).json()["text"]
            said = re.fullmatch(rf"PUBLISH{word} EXPIRES AT '(.*)'", text)
            assert said is not None, text
            ends.add(parse_time(said[1]) / MICROS)
        (end,) = ends
        assert before + 29.99 <= end <= after + 30.01


@pytest.mark.parametrize(("change", "left"), [("DELETE", None), ("PUT", 'PUBLISH CONTENT "new"')])
async def test_what_is_changed_while_it_is_paused_stays_changed(
    live: Live, monkeypatch: pytest.MonkeyPatch, change: str, left: str | None
) -> None:
    """A pause reads and writes. What comes between the two must not be undone."""
    changing: list[asyncio.Task[httpx.Response]] = []
    ask = Broker.ask

    async def slowly(self: Broker, what: str, **asked: Any) -> bytes:
        found = await ask(self, what, **asked)
        if what == "statements" and not changing:
            changing.append(asyncio.create_task(ann.request(change, "/v1/publications/p", content=left)))
            await asyncio.wait(changing, timeout=0.5)
        return found

    async with gateway(live.url) as door:
        ann = await door.client(fresh("ann"))
        assert (await ann.put("/v1/publications/p", content="PUBLISH")).status_code == 200
        monkeypatch.setattr(Broker, "ask", slowly)
        assert (await ann.post("/v1/pause/p")).status_code == 200
        assert (await changing[0]).status_code == 200
        found = [statement["text"] for statement in (await ann.get("/v1/publications")).json()["publications"]]
        assert found == ([] if left is None else [left])


async def test_an_id_does_not_say_why(live: Live) -> None:
    """Whoever knows how ids are made could try what may have been the cause: the one who hides went, or paused."""
    ann, bob = fresh("ann"), fresh("bob")
    async with gateway(live.url) as door, door.socket(ann) as socket:
        hers, his = await door.client(ann), await door.client(bob)
        for client in (hers, his):
            assert (await client.post("/v1/positions", json=HERE)).status_code == 202
        assert (await hers.put("/v1/subscriptions/near", content=f"{NEAR} AND &owner = '{bob}'")).status_code == 200
        for text in ("PUBLISH", "PUBLISH PAUSED"):
            assert (await his.put("/v1/publications/me", content=text)).status_code == 200
        enter, leave = await hear(socket, 2)
        listed = (await hers.get("/v1/notifications")).json()["events"]
    made = [json.loads(said)["id"] for said in await stored(live.url, out_subject(ann))]
    seal = await seal_of(live.url)
    assert (enter["type"], leave["type"]) == ("nearcast.enter", "nearcast.leave")
    assert leave["data"]["cause"]["kind"] == "hidden"
    for events in ([enter, leave], listed):
        assert [event["id"] for event in events] == [made[0], seal.notification(made[1], "hidden")]
        assert [event["data"]["id"] for event in events] == [event["id"] for event in events]
        assert made[1] not in json.dumps(events)


async def stored(url: str, subject: str) -> list[bytes]:
    """What was told to a client, as it is in the stream."""
    async with Log(url) as log:
        return [told.payload for told in (await read_page(log, OUT_STREAM, subject, 0, 100)).told]
