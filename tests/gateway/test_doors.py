"""Every route, with a real broker behind it."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from nearcast.gateway.app import open_gateway
from nearcast.gateway.call import Settings
from nearcast.gateway.openapi import openapi
from nearcast.gateway.routes import ROUTES
from tests.fuzz.wire import CLOSE, Line, frame, upgrade
from tests.gateway.running import PATIENCE, Live, Names, fresh, gateway, hear, listen

AUSTIN = {"lon": -97.74, "lat": 30.27}
NEAR = "SELECT WHERE &location WITHIN 1 km OF #location"


async def test_from_a_move_to_an_event(live: Live) -> None:
    ann, shop = fresh("ann"), fresh("shop")
    async with gateway(live.url) as door:
        reader, seller = await door.client(ann), await door.client(shop)
        published = await seller.put("/v1/publications/fuel", content="PUBLISH AT POINT(-97.74 30.27) CONTENT 'cheap'")
        assert published.status_code == 200, published.text
        assert (await reader.put("/v1/subscriptions/near", json={"text": NEAR})).status_code == 200
        async with door.socket(ann) as socket:
            moved = await reader.post("/v1/positions", json=AUSTIN)
            assert moved.status_code == 202
            assert moved.json()["accepted"] == 1
            [event] = await hear(socket, 1)
            await socket.send(json.dumps({"move": {"lon": 0, "lat": 0}, "ref": 7}))
            [leave] = await hear(socket, 1)
        assert (event["type"], event["data"]["publisher"]) == ("nearcast.enter", shop)
        assert event["data"]["content"] == "cheap"
        assert leave["type"] == "nearcast.leave"
        heard = await listen(reader, 2, after="0")
        assert [e["id"] for _, e in heard] == [event["id"], leave["id"]]


async def test_what_a_socket_says_is_answered(live: Live) -> None:
    ann = fresh("ann")
    async with gateway(live.url) as door, door.socket(ann) as socket:
        for said, answer in (
            ({"move": AUSTIN, "ref": 1}, {"accepted": 1, "ref": 1}),
            ({"move": [AUSTIN, {"lon": 200, "lat": 0}], "ref": "b"}, {"accepted": 1, "refused": 1, "ref": "b"}),
            ({"move": {"lon": 200, "lat": 0}, "ref": 3}, {"status": 422, "field": "lon", "ref": 3}),
            ({"move": {**AUSTIN, "client": "bob"}}, {"status": 403, "field": "client"}),
            ({"mvoe": 1}, {"status": 400}),
            ({"ack": "x"}, {"status": 422, "field": "ack"}),
            ({"ack": 1}, {"status": 400}),
        ):
            await socket.send(json.dumps(said))
            found = json.loads(await socket.recv())
            assert answer.items() <= found.items(), found
        await socket.send(b"\xff\x00")
        assert json.loads(await socket.recv())["status"] == 400


async def test_what_is_said_on_the_way_out_is_taken(live: Live) -> None:
    """A move and a goodbye that come at once: nobody is left to be answered."""
    async with gateway(live.url) as door:
        for _ in range(20):
            ann = fresh("ann")
            async with Line(door.url) as line:
                assert await line.ask(upgrade("/v1/ws", {"Authorization": f"Bearer token-{ann}"})) is not None
                await line.send(frame(json.dumps({"move": AUSTIN}).encode()) + frame(b"\x03\xe8", CLOSE))
                await line.is_hung_up()
            reader = await door.client(ann)
            async with asyncio.timeout(PATIENCE):
                while "lon" not in (await reader.get("/v1/client")).json():
                    await asyncio.sleep(0.01)


async def test_statements_are_listed_and_removed(live: Live) -> None:
    async with gateway(live.url) as door:
        client = await door.client(fresh("ann"))
        for kind, text in (("subscriptions", "SELECT FRESH 2 min"), ("publications", 'PUBLISH CONTENT "x"')):
            assert (await client.get(f"/v1/{kind}")).json() == {kind: []}
            odd = f"/v1/{kind}/a%2Fb%20c"
            assert (await client.put(odd, content=text)).status_code == 200
            assert (await client.get(odd)).json() == {"id": "a/b c", "text": text}
            assert (await client.delete(odd)).status_code == 200
            assert (await client.put(f"/v1/{kind}/a", content=text)).status_code == 200
            assert (await client.get(f"/v1/{kind}/a")).json() == {"id": "a", "text": text}
            assert (await client.get(f"/v1/{kind}")).json() == {kind: [{"id": "a", "text": text}]}
            assert (await client.delete(f"/v1/{kind}/a")).status_code == 200
            for response in (await client.delete(f"/v1/{kind}/a"), await client.get(f"/v1/{kind}/a")):
                assert response.status_code == 404


@pytest.mark.parametrize(
    ("text", "status", "field", "reason"),
    [
        ("SELECT WHERE price < 70", 422, "text", "line 1, column 14: price belongs to nobody"),
        ("SUBSCRIBE a BY bob SELECT", 403, "client", "the statement says 'bob'"),
        ("SUBSCRIBE b SELECT", 422, "id", "the statement says 'b', the op says 'a'"),
        ("PUBLISH", 422, "text", "is a Publication, not a Subscription"),
        ("SELECT FROM nowhere", 422, "", "unknown space 'nowhere'"),
        ("", 422, "text", ""),
        ('{"text": 3}', 422, "text", "Expected `str`"),
        ('{"text"', 400, "", "not JSON"),
        (b"\xff", 400, "", "not UTF-8"),
    ],
)
async def test_statements_that_are_refused(live: Live, text: str | bytes, status: int, field: str, reason: str) -> None:
    async with gateway(live.url) as door:
        response = await (await door.client(fresh("ann"))).put("/v1/subscriptions/a", content=text)
        problem = response.json()
        assert (response.status_code, problem["status"], problem.get("field", "")) == (status, status, field), problem
        assert reason in problem["detail"]
        assert response.headers["content-type"] == "application/problem+json"


async def test_definitions_are_for_operators(live: Live) -> None:
    async with gateway(live.url) as door:
        operator, client = await door.client("operator"), await door.client(fresh("ann"))
        space, path, relation = (fresh(name).replace("-", "_") for name in ("gas", "hq", "feud"))
        for route, text in (
            (f"/v1/spaces/{space}", f"SPACE {space} (price real)"),
            (f"/v1/places/{path}/2/A", f"PLACE '{path}/2/A' LEVEL room AT BOX(0 0, 1 1) FLOOR 2"),
            (f"/v1/relations/{relation}", f"RELATION {relation} AMONG (a, b) WHERE &location WITHIN 1 km OF #location"),
        ):
            assert (await client.put(route, content=text)).status_code == 403
            assert (await operator.put(route + "x", content=text)).json()["field"] == "name"
            assert (await operator.put(route, content="nonsense")).status_code == 422
            assert (await operator.put(route, content=text)).status_code == 200
            assert (await client.delete(route)).status_code == 403
            assert (await operator.delete(route)).status_code == 200
            assert (await operator.delete(route)).status_code == 404


def square(number: int) -> dict[str, Any]:
    x, y = -90 + (number % 1000) * 0.01, 30 + (number // 1000) * 0.01
    ring = [[x, y], [x + 0.001, y], [x + 0.001, y + 0.001], [x, y + 0.001], [x, y]]
    return {
        "type": "Feature",
        "id": f"z{number}",
        "properties": {},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }


def collection(features: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": features}


async def test_a_layer_of_any_size(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is larger than a message goes in pieces; changing it tells only of what changed."""
    monkeypatch.setattr("nearcast.gateway.layers.BYTES", 4000)
    name, ann = fresh("zones"), fresh("ann")
    async with gateway(live.url) as door:
        operator, client = await door.client("operator"), await door.client(ann)
        squares = [square(n) for n in range(100)]
        put = await operator.put(f"/v1/layers/{name}", json=collection(squares))
        assert (put.status_code, put.json()["regions"]) == (200, 100), put.text
        again = await operator.put(f"/v1/layers/{name}", json=collection(squares))
        assert again.json() == put.json(), "the same changes nothing"
        assert len((await client.get(f"/v1/layers/{name}")).json()["features"]) == 100
        await client.put("/v1/subscriptions/in", content=f"SELECT WHERE #location IN LAYER '{name}'")
        await client.post("/v1/positions", json={"lon": -90 + 0.0005, "lat": 30.0005})
        assert [e["data"]["region"] for _, e in await listen(client, 1, after="0")] == ["z0"]
        assert (await operator.put(f"/v1/layers/{name}", json=collection(squares[:-1]))).status_code == 200
        assert (await operator.put(f"/v1/layers/{name}", json=collection(squares[1:]))).status_code == 200
        heard = await listen(client, 2, after="0")
        assert [(e["data"]["kind"], e["data"]["region"]) for _, e in heard] == [("enter", "z0"), ("leave", "z0")]
        assert (await client.put(f"/v1/layers/{name}", json=collection([]))).status_code == 403
        assert (await operator.delete(f"/v1/layers/{name}")).status_code == 200
        assert (await client.get(f"/v1/layers/{name}")).status_code == 404
        bad = {"type": "Feature", "id": "b", "geometry": {"type": "Point", "coordinates": [1]}}
        refused = await operator.put(f"/v1/layers/{name}", json=collection([bad]))
        assert refused.status_code == 422
        assert "feature 0 (b)" in refused.json()["detail"]


async def test_a_layer_that_changes_a_little_is_another(live: Live) -> None:
    """One and true are equal to Python, and not to a subscription. In another order it is the same layer."""
    async with gateway(live.url) as door:
        boss, name = await door.client("operator"), fresh("zones")

        async def upload(*kinds: tuple[str, bool | float]) -> int:
            point = {"type": "Point", "coordinates": [3, 4]}
            some = [{"type": "Feature", "id": id_, "properties": {"is": is_}, "geometry": point} for id_, is_ in kinds]
            answer = await boss.put(f"/v1/layers/{name}", json={"type": "FeatureCollection", "features": some})
            return int(answer.json()["sequence"])

        async def matching(is_: str) -> list[str]:
            text = f"SELECT FROM LAYER '{name}' WHERE &is = {is_}"
            found = (await boss.post("/v1/query", content=text)).json()["notifications"]
            return [one["region"] for one in found]

        first = await upload(("a", 1), ("b", 2))
        second = await upload(("a", True), ("b", 2))
        assert second > first
        assert (await matching("1"), await matching("TRUE")) == ([], ["a"])
        assert await upload(("b", 2), ("a", True)) == second
        assert await upload(("b", 2), ("a", 1)) > second
        assert (await matching("1"), await matching("TRUE")) == (["a"], [])


async def test_a_layer_that_others_write_is_not_taken_for_what_was_uploaded(live: Live) -> None:
    name, headers = fresh("zones"), {"content-type": "application/x-ndjson"}
    uploaded = collection([square(1)])
    async with gateway(live.url) as door, open_gateway(live.url, Names(), Settings()) as inside:
        operator = await door.client("operator")

        async def put() -> int:
            return int((await operator.put(f"/v1/layers/{name}", json=uploaded)).raise_for_status().json()["sequence"])

        async def write(moment: float) -> int:
            op = {"op": "layer", "time": moment, "name": name, "features": []}
            return (await operator.post("/v1/positions", content=json.dumps(op), headers=headers)).status_code

        first = await put()
        assert await write(time.time() + 3600) == 422
        assert await put() == first, "what is not written changes nothing"
        assert await write(time.time()) == 202
        second = await put()
        assert second > first
        async with inside.layers.disowned([name]):
            third = (await inside.layers.put(name, uploaded, time.time())).sequence
        assert await put() > third > second, "one that was uploaded meanwhile may not be there any more"
        assert (await operator.delete(f"/v1/layers/{name}")).status_code == 200
        assert (await operator.delete(f"/v1/layers/{name}")).status_code == 404


async def test_a_fleet_by_its_operator(live: Live) -> None:
    cabs = [fresh("cab") for _ in range(3)]
    async with gateway(live.url) as door:
        operator, client = await door.client("operator"), await door.client(cabs[0])
        lines = "\n".join(
            json.dumps(op)
            for cab in cabs
            for op in (
                {"op": "publish", "time": 1, "client": cab, "id": "me", "text": "PUBLISH"},
                {"op": "move", "time": 2, "client": cab, **AUSTIN},
            )
        )
        headers = {"content-type": "application/x-ndjson"}
        assert (await client.post("/v1/positions", content=lines, headers=headers)).status_code == 403
        sent = await operator.post("/v1/positions", content=lines, headers=headers)
        assert sent.json()["accepted"] == 6
        found = (await operator.post("/v1/query", params={"client": cabs[0]}, content=NEAR)).json()
        seen = {n["publisher"] for n in found["notifications"]}
        assert set(cabs[1:]) <= seen


async def test_questions_about_now(live: Live) -> None:
    ann, shops, hall = fresh("ann"), [fresh("shop") for _ in range(3)], fresh("hall")
    async with gateway(live.url) as door:
        operator, client = await door.client("operator"), await door.client(ann)
        await operator.put(f"/v1/places/{hall}", content=f"PLACE '{hall}' LEVEL building AT BOX(9.9 9.9, 10.1 10.1)")
        for number, shop in enumerate(shops):
            seller = await door.client(shop)
            await seller.patch("/v1/client", json={"attributes": {"price": number}})
            await seller.put("/v1/publications/me", content="PUBLISH")
            await seller.post("/v1/positions", json={"lon": 10, "lat": 10 + number * 0.001})
        await client.post("/v1/positions", json={"lon": 10, "lat": 10})

        async def who(path: str, **params: str) -> list[str]:
            response = await client.get(path, params=params)
            assert response.status_code == 200, response.text
            return [n["publisher"] for n in response.json()["notifications"]]

        assert await who("/v1/nearest", k="2") == shops[:2]
        assert await who("/v1/nearest", k="1", lon="10", lat="11") == shops[2:]
        assert await who("/v1/nearest", k="1", where="&price > 0") == shops[1:2]
        assert await who("/v1/inside", place=hall) == shops
        assert await who("/v1/inside", place=hall, where="&price = 1 OR &price = 2") == shops[1:]
        positions = (await client.get("/v1/clients")).json()
        assert {row["client"] for row in positions["clients"]} >= set(shops)
        await client.put("/v1/subscriptions/near", content="SELECT WHERE &location WITHIN 50 m OF #location")
        explained = (await client.get("/v1/explain/near")).json()
        assert {shops[0], shops[1]} <= {row["publisher"] for row in explained["explanations"]}
        for path, params in (
            ("/v1/nearest", {"k": "0"}),
            ("/v1/nearest", {"k": "x"}),
            ("/v1/nearest", {"lon": "1"}),
            ("/v1/nearest", {"where": "price < 3"}),
            ("/v1/inside", {}),
        ):
            assert (await client.get(path, params=params)).status_code == 422
        assert (await client.get("/v1/explain/nothing")).json()["explanations"] == []


async def test_readings(live: Live) -> None:
    ann, lamp = fresh("ann"), fresh("lamp")
    async with gateway(live.url) as door:
        reader, source = await door.client(ann), await door.client(lamp)
        assert (await source.post("/v1/readings", json={"publication": "lux", "value": 5})).status_code == 404
        await source.put("/v1/publications/lux", content="PUBLISH AT POINT(5 5)")
        await reader.put("/v1/subscriptions/dark", content=f"SELECT WHERE &owner = '{lamp}' ON @ < 10")
        assert (await source.post("/v1/readings", json={"publication": "lux", "value": 5})).status_code == 200
        both = [{"publication": "lux", "value": 50}, {"publication": "lux", "value": 7, "values": {"colour": "red"}}]
        assert (await source.post("/v1/readings", json=both)).status_code == 202
        heard = await listen(reader, 2, after="0")
        assert [e["data"]["values"]["value"] for _, e in heard] == [5, 7]
        assert (await source.post("/v1/readings", json={"publication": "lux"})).status_code == 422
        assert (await source.post("/v1/readings", json={"value": 1})).status_code == 422


async def test_being_forgotten(live: Live) -> None:
    async with gateway(live.url) as door:
        client = await door.client(fresh("ann"))
        assert (await client.patch("/v1/client", json={"attributes": {"a": 1}, "lease": 60})).status_code == 200
        assert (await client.patch("/v1/client", json={"lease": -1})).json()["field"] == "lease"
        assert (await client.patch("/v1/client", json={"nonsense": 1})).status_code == 422
        assert (await client.delete("/v1/client")).status_code == 200
        assert (await client.delete("/v1/client")).status_code == 404


async def test_who_may_come_in(live: Live) -> None:
    async with gateway(live.url) as door:
        client = await door.client(fresh("ann"))
        for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic token-ann"}):
            for way in ROUTES:
                path = (
                    way.path.replace("{name:path}", "x").replace("{id:path}", "x").replace("{subscription:path}", "x")
                )
                response = await client.request(way.method, path, headers=headers)
                assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer"), path
            assert (await client.get("/v1/events", headers=headers)).status_code == 401
        for path in ("/v1/cursor", "/v1/notifications", "/v1/events", "/v1/clients", "/v1/subscriptions"):
            assert (await client.get(path, params={"client": "bob"})).status_code == 403
        assert (await client.get("/v1/metrics")).status_code == 403
        assert (await client.get("/v1/nothing")).status_code == 404
        assert (await client.delete("/v1/positions")).status_code == 405


async def test_limits(live: Live) -> None:
    async with gateway(live.url, Settings(rate=2, body=2000)) as door:
        client, operator = await door.client(fresh("ann")), await door.client("operator")
        statuses = [(await client.post("/v1/positions", json=AUSTIN)).status_code for _ in range(20)]
        assert statuses == [202] * 20
        refused = await client.post("/v1/positions", json=[AUSTIN] * 20)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert (await operator.post("/v1/positions", json=[AUSTIN] * 30)).status_code == 202
        client = await door.client(fresh("bob"))
        assert (await client.post("/v1/positions", content=b" " * 2001)).status_code == 413

        async def pieces() -> Any:
            for _ in range(30):
                yield b" " * 100

        assert (await client.post("/v1/positions", content=pieces())).status_code == 413


async def test_health_metrics_and_description(live: Live) -> None:
    async with gateway(live.url) as door:
        operator, client = await door.client("operator"), await door.client(fresh("ann"))
        health = (await client.get("/v1/health", headers={"Authorization": ""})).json()
        assert health == {"status": "ok", "log": True, "broker": True}
        assert "details" in (await operator.get("/v1/health")).json()
        await client.post("/v1/positions", json=AUSTIN)
        metrics = (await operator.get("/v1/metrics")).text
        assert 'nearcast_requests_total{door="POST /v1/positions",status="202"} 1.0' in metrics
        assert "nearcast_ops_total 1.0" in metrics
        described = (await client.get("/v1/openapi.json")).json()
        assert described == json.loads(json.dumps(openapi()))
        assert described["openapi"] == "3.1.0"
        operations = [op for path in described["paths"].values() for op in path.values()]
        assert len(operations) == len(ROUTES) + 3
        names = [op["operationId"] for op in operations if "operationId" in op]
        assert len(names) == len(set(names))


async def test_two_gateways_are_one(live: Live) -> None:
    """What is told while a client is away reaches it at another gateway."""
    ann, shop = fresh("ann"), fresh("shop")
    async with gateway(live.url) as one, gateway(live.url) as two:
        client, seller = await one.client(ann), await two.client(shop)
        await seller.put("/v1/publications/fuel", content="PUBLISH AT POINT(20 20)")
        await client.put("/v1/subscriptions/near", content=NEAR)
        async with one.socket(ann) as socket:
            await client.post("/v1/positions", json={"lon": 20, "lat": 20})
            [first] = await hear(socket, 1)
            await socket.send(json.dumps({"ack": first["cursor"]}))
        await client.post("/v1/positions", json={"lon": 21, "lat": 20})
        await client.post("/v1/positions", json={"lon": 20, "lat": 20})
        async with two.socket(ann) as socket:
            heard = await hear(socket, 2)
        assert [event["data"]["kind"] for event in (first, *heard)] == ["enter", "leave", "enter"]


async def test_without_a_broker(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.gateway.app.BROKER", 0.3)
    async with gateway(server.url) as door:
        client = await door.client("ann")
        assert (await client.post("/v1/positions", json=AUSTIN)).status_code == 202
        response = await client.put("/v1/subscriptions/near", content=NEAR)
        assert response.status_code == 503
        assert "no broker is there" in response.json()["detail"], "what cannot be weighed is not written"
        response = await (await door.client("operator")).put("/v1/subscriptions/near", content=NEAR)
        assert response.status_code == 503
        assert "it is in the log as 2" in response.json()["detail"]
        assert (await client.post("/v1/query", content=NEAR)).status_code == 503
        assert (await client.get("/v1/health")).json()["broker"] is False
