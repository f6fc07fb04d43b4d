"""What is taken, and may not be what was meant, is said to whoever sent it: in answers, by the client, in the shell."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest

from nearcast.client import Client
from nearcast.errors import NearcastWarning
from nearcast.model.repair import LISTED
from tests.gateway.running import Live, fresh, gateway

BOW = "POLYGON((0 0, 1 1, 1 0, 0 1, 0 0))"
NOBODY = f"SELECT WHERE &owner = 'nobody' AND &location IN {BOW}"
PLACE = ", so nobody is in it but who says so"
CROSSES = "polygon was repaired: Self-intersection[0.5 0.5]"


def feature(id_: str, *corners: tuple[float, float]) -> dict[str, Any]:
    geometry = {"type": "Polygon", "coordinates": [corners]}
    return {"type": "Feature", "id": id_, "properties": {}, "geometry": geometry}


def collection(*features: dict[str, Any]) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": features}


def line(**op: Any) -> str:
    return json.dumps({"time": 1, **op})


BOW_TIE = feature("bow", (0, 0), (1, 1), (1, 0), (0, 1), (0, 0))
SQUARE = feature("square", (0, 0), (1, 0), (1, 1), (0, 1), (0, 0))


async def test_statements(live: Live) -> None:
    async with gateway(live.url) as door:
        ann, boss, zones, hall = await door.client(fresh("ann")), await door.client("operator"), fresh("z"), fresh("p")
        no_hall = f"there is no place '{hall}' yet{PLACE}"
        await boss.put(f"/v1/layers/{zones}", json=collection(SQUARE))
        for path, text, warnings in (
            ("subscriptions/fine", f"SELECT WHERE &location IN LAYER '{zones}'", None),
            ("subscriptions/bow", f"SELECT WHERE &location IN {BOW}", [CROSSES]),
            (
                "subscriptions/in",
                f"SELECT WHERE &location IN PLACE '{hall}'",
                [f"there is no place '{hall}' yet{PLACE}"],
            ),
            (
                "publications/me",
                f"PUBLISH TO NOT &location IN PLACE '{hall}'",
                [f"there is no place '{hall}' yet{PLACE}"],
            ),
            ("publications/me", f"PUBLISH AT {BOW}", [CROSSES]),
        ):
            for client, of in ((ann, {}), (boss, {"client": fresh("bo")})):
                answer = await client.put(f"/v1/{path}", content=text, params=of)
                assert answer.status_code == 200, answer.text
                assert answer.json().get("warnings") == warnings, text
        typo = zones[:-1] + "x"
        answer = await ann.put("/v1/subscriptions/typo", content=f"SELECT FROM LAYER '{typo}'")
        assert answer.json()["warnings"][0].startswith(f"there is no layer '{typo}' yet")
        relation = f"RELATION '{zones}' WHERE &location IN PLACE '{hall}'"
        answer = await boss.put(f"/v1/relations/{zones}", content=relation)
        assert answer.json()["warnings"] == [no_hall]
        await boss.delete(f"/v1/relations/{zones}")
        answer = await boss.put(f"/v1/places/{hall}", content=f"PLACE '{hall}' AT {BOW}")
        assert answer.json()["warnings"] == [CROSSES]
        answer = await ann.put("/v1/subscriptions/in", content=f"SELECT WHERE &location IN PLACE '{hall}'")
        assert "warnings" not in answer.json()
        await boss.delete(f"/v1/places/{hall}")


async def test_questions(live: Live) -> None:
    async with gateway(live.url) as door:
        ann = await door.client(fresh("ann"))
        for method, path, content, warnings in (
            ("POST", "query", NOBODY, [CROSSES]),
            ("POST", "query", "SELECT FROM LAYER 'nowhere at all'", ["there is no layer 'nowhere at all' yet"]),
            ("GET", "inside?place=attic%20x", None, [f"there is no place 'attic x' yet{PLACE}"]),
            ("GET", "nearest?layer=none%20of%20it&lon=1&lat=2", None, ["there is no layer 'none of it' yet"]),
        ):
            answer = await ann.request(method, f"/v1/{path}", content=content)
            assert answer.status_code == 200, answer.text
            assert answer.json() == {"notifications": [], "warnings": warnings}
        await ann.put("/v1/subscriptions/near", content="SELECT NEAREST 1")
        answer = (await ann.get("/v1/explain/naer")).json()
        assert answer["warnings"] == ["there is no subscription 'naer' yet; did you mean 'near'?"]
        assert "warnings" not in (await ann.get("/v1/explain/near")).json()


async def test_layers_and_lines(live: Live) -> None:
    async with gateway(live.url) as door:
        boss, name = await door.client("operator"), fresh("z")
        uploaded = (await boss.put(f"/v1/layers/{name}", json=collection(SQUARE, BOW_TIE))).json()
        said = "region 'bow' was repaired: Self-intersection[0.5 0.5]"
        assert (uploaded["regions"], uploaded["warnings"]) == (2, [said])
        assert (await boss.put(f"/v1/layers/{name}", json=collection(SQUARE, BOW_TIE))).json() == uploaded
        many = collection(*({**BOW_TIE, "id": f"bow {number}"} for number in range(LISTED + 20)))
        warnings = (await boss.put(f"/v1/layers/{name}", json=many)).json()["warnings"]
        assert (len(warnings), warnings[-1]) == (LISTED + 1, "and 20 more")
        lines = [
            line(op="layer", name=name, features=[SQUARE]),
            line(op="layer", name=name, features=[BOW_TIE]),
            line(op="subscribe", client=fresh("ann"), id="s", text=f"SELECT WHERE &location IN {BOW}"),
        ]
        headers = {"Content-Type": "application/x-ndjson"}
        taken = (await boss.post("/v1/positions", content="\n".join(lines), headers=headers)).json()
        assert (taken["accepted"], taken["warnings"]) == (3, [f"[1]: {said}", f"[2]: {CROSSES}"])


async def test_everyone_is_told_of_their_own(live: Live) -> None:
    async with gateway(live.url) as door:
        boss, name = await door.client("operator"), fresh("z")

        async def upload(number: int) -> None:
            bows = ({**BOW_TIE, "id": f"{number}-{one}"} for one in range(50))
            answer = await boss.put(f"/v1/layers/{name}-{number}", json=collection(*bows if number % 2 else [SQUARE]))
            named = [f"region '{number}-{one}' was repaired: Self-intersection[0.5 0.5]" for one in range(50)]
            assert answer.json().get("warnings", []) == (named if number % 2 else [])

        await asyncio.gather(*map(upload, range(12)))


async def test_the_client_warns(live: Live) -> None:
    ann = fresh("ann")
    async with gateway(live.url) as door, Client(door.url, f"token-{ann}") as me:
        with pytest.warns(NearcastWarning, match="there is no layer 'nowhere at all' yet") as warned:
            await me.subscribe("s", "SELECT WHERE &location IN LAYER 'nowhere at all'")
        assert [one.filename for one in warned] == [__file__]
        with pytest.warns(NearcastWarning, match="Self-intersection"):
            await me.publish("p", f"PUBLISH AT {BOW}")
        assert (await me.query(f"SELECT WHERE &location IN {BOW}"))["warnings"] == [CROSSES]


async def test_the_shell_says_so(live: Live) -> None:
    async with gateway(live.url) as door:
        for verb, out in ((["subscribe", "s"], "subscribed s\n"), (["query"], "")):
            words = [*verb, NOBODY, "--url", door.url, "--token", f"token-{fresh('ann')}"]
            done = await asyncio.to_thread(
                subprocess.run, [sys.executable, "-m", "nearcast.cli", *words], capture_output=True, text=True
            )
            assert (done.stdout, done.stderr) == (out, f"warning: {CROSSES}\n")
