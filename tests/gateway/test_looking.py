"""The doors that a map asks, and the files of the page itself."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from nearcast.errors import ModelError
from nearcast.gateway.call import Settings
from nearcast.gateway.page import check_tiles
from nearcast.log.server import NatsServer
from tests.gateway.running import Live, fresh, gateway, hear, ids, listen, teller

AUSTIN = {"lon": -97.74, "lat": 30.27}


async def test_who_one_is(live: Live) -> None:
    ann = fresh("ann")
    async with gateway(live.url) as door:
        client, operator = await door.client(ann), await door.client("operator")
        nobody = (await client.get("/v1/client")).json()
        assert nobody == {"client": ann, "role": "client", "metric": "earth", "attributes": {}}
        await client.patch("/v1/client", json={"attributes": {"fuel": 15}})
        await client.post("/v1/positions", json={**AUSTIN, "floor": 2, "time": "2026-01-01T08:00:00Z"})
        known = (await client.get("/v1/client")).json()
        at = {"time": "2026-01-01T08:00:00Z", **AUSTIN, "floor": 2.0}
        assert known == {**nobody, "attributes": {"fuel": 15}, **at}
        assert (await operator.get("/v1/client", params={"client": ann})).json() == {**known, "role": "operator"}
        assert (await client.get("/v1/client", params={"client": "bob"})).status_code == 403


async def test_layers_however_they_came(live: Live) -> None:
    uploaded, written = fresh("uploaded"), fresh("written")
    feature = {"type": "Feature", "id": "a", "properties": {"radius": 60}, "geometry": {"type": "Point"}}
    feature["geometry"] |= {"coordinates": [1.0, 2.0]}  # type: ignore[operator]
    features = {"type": "FeatureCollection", "features": [feature]}
    async with gateway(live.url) as door:
        operator, client = await door.client("operator"), await door.client(fresh("ann"))
        await operator.put(f"/v1/layers/{uploaded}", json=features)
        line = json.dumps({"op": "layer", "time": 1, "name": written, "features": features})
        headers = {"content-type": "application/x-ndjson"}
        assert (await operator.post("/v1/positions", content=line, headers=headers)).status_code == 202
        listed = (await operator.get("/v1/layers")).json()["layers"]
        assert {uploaded: 1, written: 1}.items() <= {layer["name"]: layer["regions"] for layer in listed}.items()
        for name in (uploaded, written):
            assert (await client.get(f"/v1/layers/{name}")).json()["features"] == [feature]
        missing = await client.get("/v1/layers/nothing")
        assert (missing.status_code, missing.json()["detail"]) == (404, "no layer 'nothing' was uploaded")


async def test_places_and_floors(live: Live) -> None:
    hall = fresh("hall")
    async with gateway(live.url) as door:
        operator, client = await door.client("operator"), await door.client(fresh("ann"))
        for path, rest in ((hall, ""), (f"{hall}/2", " LEVEL room AT BOX(0 0, 1 1) FLOOR 2")):
            assert (await operator.put(f"/v1/places/{path}", content=f"PLACE '{path}'{rest}")).status_code == 200
        found = {place["id"]: place for place in (await client.get("/v1/places")).json()["features"]}
        assert found[hall]["geometry"] is None
        room = found[f"{hall}/2"]
        assert room["properties"] == {"kind": "room", "name": "2", "floor": [2.0, 2.0]}
        assert room["geometry"]["type"] == "Polygon"


async def test_what_stays_is_seen_by_those_who_may(live: Live) -> None:
    shop, shy, ann, pal = (fresh(name) for name in ("shop", "shy", "ann", "pal"))
    async with gateway(live.url) as door:
        friend = await door.client(pal)
        await friend.patch("/v1/client", json={"attributes": {"kind": shy}})
        for name, text in (
            (shop, "PUBLISH AT DISC(5 5, 60 m)"),
            (shy, f"PUBLISH AT POINT(6 6) TO #kind = '{shy}'"),
            (ann, "PUBLISH AT POINT(7 7)"),
        ):
            assert (await (await door.client(name)).put("/v1/publications/p", content=text)).status_code == 200

        async def seen(name: str) -> dict[str, Any]:
            answer = (await (await door.client(name)).get("/v1/staying")).json()
            assert answer["type"] == "FeatureCollection"
            found = {one["properties"]["client"]: one for one in answer["features"]}
            return {client: found[client] for client in (shop, shy, ann) if client in found}

        assert set(await seen(pal)) == {shop, shy, ann}
        assert set(await seen(ann)) == {shop}, "nobody is told of oneself, or of what is not for one"
        found = (await seen(ann))[shop]
        assert found["geometry"] == {"type": "Point", "coordinates": [5.0, 5.0]}
        assert found["properties"] == {"radius": 60.0, "client": shop, "publication": "p"}


async def test_clients_in_a_box(live: Live) -> None:
    cabs = [fresh("cab") for _ in range(3)]
    async with gateway(live.url) as door:
        for number, cab in enumerate(cabs):
            driver = await door.client(cab)
            await driver.put("/v1/publications/me", content="PUBLISH")
            await driver.post("/v1/positions", json={"lon": 140 + number, "lat": -30})
        client = await door.client(fresh("ann"))
        found = (await client.get("/v1/clients", params={"box": "139.5,-31,141.5,-29"})).json()
        assert ([one["client"] for one in found["clients"]], found["more"]) == (cabs[:2], False)
        found = (await client.get("/v1/clients", params={"box": "139.5,-31,141.5,-29", "limit": "1"})).json()
        assert ([one["client"] for one in found["clients"]], found["more"]) == (cabs[:1], True)
        wrong = [("box", "1,2,3"), ("box", "a,b,c,d"), ("box", "1,2,3,nan"), ("limit", "0"), ("limit", "x")]
        for field, value in wrong:
            refused = await client.get("/v1/clients", params={field: value})
            assert (refused.status_code, refused.json()["field"]) == (422, field)


async def test_the_explanation_of_one_pair(live: Live) -> None:
    shops = [fresh("shop") for _ in range(3)]
    async with gateway(live.url) as door:
        client = await door.client(fresh("ann"))
        for shop in shops:
            await (await door.client(shop)).put("/v1/publications/fuel", content="PUBLISH AT POINT(60 60)")
        await client.put("/v1/subscriptions/near", content="SELECT WHERE &location WITHIN 1 km OF #location")
        found = (await client.get("/v1/explain/near", params={"publisher": shops[1]})).json()
        assert [one["publisher"] for one in found["explanations"]] == [shops[1]]
        found = (await client.get("/v1/explain/near", params={"publisher": "nobody"})).json()
        assert found == {"explanations": [], "more": False}


# ---- a second screen -----------------------------------------------------------------------------------


async def test_a_second_screen_leaves_the_cursor_alone(server: NatsServer) -> None:
    async with gateway(server.url, Settings(heartbeat=0.05)) as door, teller(server.url) as told:
        client = await door.client("ann")
        places = [await told.tell("ann") for _ in range(3)]
        seal = await door.seal()
        address = f"ws{door.url.removeprefix('http')}/v1/ws?after={seal.event(places[0])}&cursor=off"
        headers = {"Authorization": "Bearer token-ann"}
        async with connect(address, additional_headers=headers, compression=None) as screen:
            heard = await hear(screen, 2)
            await screen.send(json.dumps({"ack": heard[-1]["cursor"]}))
            await asyncio.sleep(0.1)
        async with client.stream("GET", "/v1/events", params={"after": heard[-1]["cursor"], "cursor": "off"}) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("id: "):
                    assert seal.open(line.removeprefix("id: ")) == places[2]
                    break
        assert ids(heard) == ["id-2", "id-3"]
        assert seal.open((await client.get("/v1/cursor")).json()["cursor"]) == 0
        assert [event["id"] for _, event in await listen(client, 3)] == ["id-1", "id-2", "id-3"]
        refused = await client.get("/v1/events", params={"cursor": "on"})
        assert (refused.status_code, refused.json()["field"]) == (422, "cursor")


async def test_from_history_to_events_without_a_gap(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told:
        client = await door.client("ann")
        seal, nothing = await door.seal(), (await client.get("/v1/notifications")).json()
        assert seal.open(nothing.pop("at")) == 0
        assert nothing == {"events": [], "next": None}
        for _ in range(3):
            await told.tell("ann")
            await told.tell("bob")
        while seal.known((page := (await client.get("/v1/notifications")).json())["at"]) < 6:
            await asyncio.sleep(0.01)
        await told.tell("ann")
        later = await listen(client, 1, after=page["at"])
        assert ids([*page["events"], later[0][1]]) == ["id-1", "id-3", "id-5", "id-7"]


# ---- the page ------------------------------------------------------------------------------------------


async def test_the_page_and_its_files(server: NatsServer) -> None:
    async with gateway(server.url) as door, httpx.AsyncClient(base_url=door.url) as browser:
        page = await browser.get("/map")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        policy = page.headers["content-security-policy"]
        for allowed in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"):
            assert f"{allowed};" in policy
        assert "connect-src 'self';" in policy
        assert "unsafe" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "<script>" not in page.text
        assert "style=" not in page.text
        for name in ("main.js", "style.css", "icon.svg", "vendor/leaflet/leaflet.css", "settings.json"):
            file = await browser.get(f"/map/{name}")
            assert file.status_code == 200, name
            again = await browser.get(f"/map/{name}", headers={"If-None-Match": file.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            plain = await browser.get(f"/map/{name}", headers={"Accept-Encoding": "identity"})
            assert (plain.content, plain.headers.get("content-encoding")) == (file.content, None)
        assert (await browser.get("/map/settings.json")).json()["tiles"] is None
        for path in ("/map/", "/map/index.html"):
            moved = await browser.get(path)
            assert (moved.status_code, moved.headers["location"]) == (308, "../map")
        for path in ("/map/nothing.js", "/map/../pyproject.toml", "/map/%2e%2e/cli.py", "/map/vendor", "/mapx"):
            assert (await browser.get(path)).status_code == 404
        assert (await browser.post("/map")).status_code == 405


async def test_tiles_are_allowed_from_where_they_come_and_nowhere_else(server: NatsServer) -> None:
    tiles = "https://{s}.tiles.example.org:8443/{z}/{x}/{y}{r}.png?key=1"
    settings = Settings(tiles=check_tiles(tiles), tiles_credit="© <b>them</b>")
    async with gateway(server.url, settings) as door, httpx.AsyncClient(base_url=door.url) as browser:
        policy = (await browser.get("/map")).headers["content-security-policy"]
        origins = " ".join(f"https://{name}.tiles.example.org:8443" for name in "abc")
        assert f"img-src 'self' data: {origins};" in policy
        assert (await browser.get("/map/settings.json")).json() == {
            "tiles": tiles,
            "credit": "© <b>them</b>",
            "subdomains": "abc",
        }


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("https://host/{z}/{x}.png", "has {z}, {x}, {y} in it"),
        ("https://host/{z}/{x}/{y}/{key}", "nothing is known to put in place of {key}"),
        ("ftp://host/{z}/{x}/{y}", "begins with https:// or http://"),
        ("//host/{z}/{x}/{y}", "begins with https:// or http://"),
        ("https://a b/{z}/{x}/{y}", "begins with https:// or http://"),
        ("https://host;script-src *'/{z}/{x}/{y}", "begins with https:// or http://"),
        ("https://me:secret@host/{z}/{x}/{y}", "begins with https:// or http://"),
    ],
)
def test_addresses_of_tiles_that_are_none(template: str, reason: str) -> None:
    with pytest.raises(ModelError) as raised:
        check_tiles(template)
    assert reason in str(raised.value)


@pytest.mark.parametrize("template", ["/tiles/{z}/{x}/{y}.png", "http://[::1]:90/{z}/{x}/{y}", "https://h/{z}/{x}/{y}"])
def test_addresses_of_tiles(template: str) -> None:
    assert check_tiles(template) == template
