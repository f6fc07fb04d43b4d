"""Every cell of the table of grants, tried at every door: what is granted is done, and all else is refused alike."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from nearcast.gateway import identity
from nearcast.gateway.call import Settings
from nearcast.gateway.grants import DOORS, GRANTS, Action, Door, Role, permissions_table
from nearcast.gateway.identity import TokenFile, add_token, revoke
from nearcast.gateway.routes import ROUTES, Way
from tests.gateway.running import Live, fresh, gateway
from tools.permissions import PAGE, with_table

NAMED = {"id": "mine", "name": "thing", "subscription": "mine"}
HERE = {"lon": -97.74, "lat": 30.27}
TEXTS = {
    "publications": "PUBLISH",
    "subscriptions": "SELECT WHERE &location WITHIN 1 km OF #location",
    "spaces": "SPACE thing (price real)",
    "places": "PLACE thing AT DISC(-97.74 30.27, 5 m)",
    "relations": "RELATION thing WHERE &location WITHIN 5 m OF #location",
    "query": "SELECT WHERE &location WITHIN 1 km OF #location",
}
BODIES: dict[str, Any] = {
    "positions": HERE,
    "readings": {"publication": "mine", "value": 3},
    "client": {"attributes": {"fuel": 3}},
    "cursor": {"cursor": "0"},
    "layers": {"type": "FeatureCollection", "features": []},
    "tokens": {"client": "someone"},
    "webhooks": {"url": "https://example.org/hook"},
}


def request_of(way: Way) -> dict[str, Any]:
    """A request that is good in itself."""
    path = way.path.replace(":path", "")
    for name, value in NAMED.items():
        path = path.replace(f"{{{name}}}", value)
    kind = path.split("/")[2]
    said: dict[str, Any] = {"method": way.method, "url": path}
    if way.method in {"PUT", "POST", "PATCH"} and kind in TEXTS:
        said["content"] = TEXTS[kind]
    elif way.method in {"PUT", "POST", "PATCH"} and kind in BODIES:
        said["json"] = BODIES[kind]
    if kind == "inside":
        said["params"] = {"place": "thing"}
    return said


def tokens_of(path: Path) -> dict[Role, str]:
    return {role: add_token(path, fresh(role), role) for role in Role}


def test_the_page_shows_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert permissions_table() in page, "run tools/permissions.py"
    assert with_table(page) == page


def test_every_action_is_behind_some_door() -> None:
    behind = {way.action for way in ROUTES}
    assert behind | {Action.APPEND, Action.ACT_FOR} == {action for action in Action if Door.HTTP in DOORS[action]}
    assert {action for action in Action if Door.SOCKET in DOORS[action]} == {Action.MOVE, Action.LISTEN, Action.ACT_FOR}


async def test_every_route_for_every_role(live: Live, tmp_path: Path) -> None:
    """What is granted may still be wrong in another way, such as a webhook that there is not; it is not forbidden."""
    tokens = tokens_of(tmp_path / "tokens.json")
    tried = 0
    async with gateway(live.url, identities=TokenFile(tmp_path / "tokens.json")) as door:
        for role in Role:
            client = await door.bearer(tokens[role])
            for way in ROUTES:
                answer = await client.request(**request_of(way))
                may = way.action in GRANTS[role]
                assert (answer.status_code == 403) != may, (role, way.name, answer.status_code, answer.text)
                assert answer.status_code not in {401, 500}, (role, way.name, answer.text)
                if not may:
                    assert f"'s token may not {way.action}" in answer.json()["detail"]
                tried += 1
    assert tried == len(Role) * len(ROUTES)


async def test_every_route_without_a_token_or_with_a_bad_one(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    gone, over = add_token(path, "gone", Role.OPERATOR), add_token(path, "over", Role.OPERATOR, seconds=0.0)
    assert revoke(path, client="gone") == 1
    async with (
        gateway(live.url, identities=TokenFile(path)) as door,
        httpx.AsyncClient(base_url=door.url) as nobody,
    ):
        for bad in (None, "x", gone, over):
            headers = {} if bad is None else {"Authorization": f"Bearer {bad}"}
            for way in ROUTES:
                answer = await nobody.request(**request_of(way), headers=headers)
                assert answer.status_code == 401, (headers, way.name)
                assert bad in {None, "x"} or bad not in answer.text


async def test_nobody_but_an_operator_acts_for_another(live: Live, tmp_path: Path) -> None:
    """And whether there is such a client makes no difference to what is said."""
    tokens, known = tokens_of(tmp_path / "tokens.json"), fresh("known")
    async with gateway(live.url, identities=TokenFile(tmp_path / "tokens.json")) as door:
        boss = await door.bearer(tokens[Role.OPERATOR])
        assert (await boss.post("/v1/positions", json=HERE, params={"client": known})).status_code == 202
        for role in set(Role) - {Role.OPERATOR}:
            client = await door.bearer(tokens[role])
            for way in ROUTES:
                if way.action not in GRANTS[role] or way.name in WHOSE_DOES_NOT_MATTER:
                    continue
                said = request_of(way)
                answers = [
                    await client.request(**{**said, "params": {**said.get("params", {}), "client": other}})
                    for other in (known, "nobody-at-all")
                ]
                assert [answer.status_code for answer in answers] == [403, 403], (role, way.name)
                assert answers[0].text == answers[1].text, way.name
        for body in ({**HERE, "client": known}, [HERE, {**HERE, "client": known}]):
            client = await door.bearer(tokens[Role.CLIENT])
            answer = await client.post("/v1/positions", json=body)
            assert answer.status_code == 403 or answer.json()["refused"] == 1


WHOSE_DOES_NOT_MATTER = {"GET /v1/places", "GET /v1/layers", "GET /v1/layers/{name}"}
"""What is the same for everyone."""


async def test_lines_of_a_log_are_for_operators(live: Live, tmp_path: Path) -> None:
    tokens = tokens_of(tmp_path / "tokens.json")
    async with gateway(live.url, identities=TokenFile(tmp_path / "tokens.json")) as door:
        for role in Role:
            client = await door.bearer(tokens[role])
            answer = await client.post("/v1/positions", content="", headers={"Content-Type": "application/x-ndjson"})
            assert (answer.status_code == 403) != (Action.APPEND in GRANTS[role]), (role, answer.text)


async def test_streams_for_every_role(live: Live, tmp_path: Path) -> None:
    tokens = tokens_of(tmp_path / "tokens.json")
    async with gateway(live.url, identities=TokenFile(tmp_path / "tokens.json")) as door:
        for role in Role:
            hears, moves = Action.LISTEN in GRANTS[role], Action.MOVE in GRANTS[role]
            client = await door.bearer(tokens[role])
            async with client.stream("GET", "/v1/events") as stream:
                assert stream.status_code == (200 if hears else 403), role
            at = f"ws{door.url.removeprefix('http')}/v1/ws"
            headers = {"Authorization": f"Bearer {tokens[role]}"}
            async with client.stream("GET", "/v1/events", params={"client": "bob"}) as stream:
                assert stream.status_code == (200 if Action.ACT_FOR in GRANTS[role] else 403), role
            if Action.ACT_FOR in GRANTS[role]:
                async with connect(f"{at}?client=bob", additional_headers=headers):
                    pass
            else:
                with pytest.raises(InvalidStatus, match="403"):
                    await connect(f"{at}?client=bob", additional_headers=headers)
            if not hears:
                with pytest.raises(InvalidStatus, match="403"):
                    await connect(at, additional_headers=headers)
                continue
            async with connect(at, additional_headers=headers) as socket:
                await socket.send(json.dumps({"move": HERE, "ref": 1}))
                answer = json.loads(await socket.recv())
                assert ("accepted" in answer) == moves, (role, answer)
                await socket.send(json.dumps({"move": {**HERE, "client": "bob"}}))
                answer = json.loads(await socket.recv())
                assert ("accepted" in answer) == (Action.ACT_FOR in GRANTS[role]), (role, answer)


async def _all(socket: ClientConnection) -> None:
    async for _ in socket:
        pass


async def test_a_stream_ends_when_its_token_does(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "LOOK_AGAIN", 0.05)
    path = tmp_path / "tokens.json"
    ann, brief = add_token(path, fresh("ann")), add_token(path, fresh("brief"), seconds=1.0)
    settings = Settings(heartbeat=0.1)
    async with gateway(live.url, settings, identities=TokenFile(path)) as door:
        at = f"ws{door.url.removeprefix('http')}/v1/ws"
        async with (
            connect(at, additional_headers={"Authorization": f"Bearer {ann}"}) as socket,
            (await door.bearer(brief)).stream("GET", "/v1/events") as events,
            asyncio.timeout(10),
        ):
            async for _ in events.aiter_lines():
                pass
            revoke(path, id_=next(id_ for id_, e in TokenFile(path).entries().items() if e.client.startswith("ann")))
            with pytest.raises(ConnectionClosedError, match="1008"):
                await _all(socket)


async def test_tokens_are_made_and_revoked_over_http(live: Live, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    boss = add_token(path, "boss", Role.OPERATOR)
    async with gateway(live.url, identities=TokenFile(path)) as door:
        operator = await door.bearer(boss)
        made = await operator.post("/v1/tokens", json={"client": fresh("ann"), "role": "device", "seconds": 60})
        assert made.status_code == 201
        device = await door.bearer(made.json()["token"])
        await asyncio.sleep(identity.LOOK_AGAIN)
        assert (await device.post("/v1/positions", json=HERE)).status_code == 202
        known = (await operator.get("/v1/tokens")).json()["tokens"]
        assert [(token["role"], bool(token["expires"])) for token in known] == [("operator", False), ("device", True)]
        assert made.json()["token"] not in (await operator.get("/v1/tokens")).text
        assert (await operator.delete(f"/v1/tokens/{known[1]['id']}")).status_code == 200
        assert (await device.post("/v1/positions", json=HERE)).status_code == 401
        assert (await operator.delete(f"/v1/tokens/{known[1]['id']}")).status_code == 404
        for wrong in ({"client": ""}, {"client": "a", "role": "king"}, {"client": "a", "seconds": -1}, {}):
            assert (await operator.post("/v1/tokens", json=wrong)).status_code == 422
