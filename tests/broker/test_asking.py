from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from nats.errors import NoRespondersError

from nearcast.gateway.ask import Broker as Asker
from nearcast.gateway.link import Link
from nearcast.language.oplog import decode_op
from nearcast.log.client import Log
from nearcast.log.packet import encode_lines
from nearcast.log.server import NatsServer
from nearcast.log.subjects import TOOK, ask_subject
from nearcast.match.reference import Reference
from nearcast.match.verdict import Candidate, Judge, Verdict
from nearcast.match.world import Subscribed
from tests.broker.heard import QUIET, append, ask, everything, running, tells_up_to, until

NEAR = "SELECT WHERE &location WITHIN 1000 m OF #location"
SCENE: list[dict[str, Any]] = [
    {"op": "layer", "name": "z", "features": {"type": "FeatureCollection", "features": []}},
    {"op": "publish", "client": "bo", "id": "me", "text": 'PUBLISH CONTENT {"is": "bo"}'},
    {"op": "publish", "client": "shy", "id": "me", "text": "PUBLISH TO #kind = 'friend'"},
    {"op": "subscribe", "client": "al", "id": "s", "text": NEAR},
    {"op": "client", "client": "pal", "attributes": {"kind": "friend"}},
    *({"op": "move", "client": name, "lon": 0, "lat": 0} for name in ("al", "bo", "shy", "pal")),
]


PATIENT = replace(QUIET, lease=10)
"""A broker that keeps its lease though a busy machine lets it wait."""


def square(id_: str, west: float) -> dict[str, Any]:
    corners = [[west, 40], [west + 0.05, 40], [west + 0.05, 40.05], [west, 40.05], [west, 40]]
    geometry = {"type": "Polygon", "coordinates": [corners]}
    return {"type": "Feature", "id": id_, "properties": {}, "geometry": geometry}


def line(time: float = 1, **op: object) -> str:
    return json.dumps({"time": time, **op})


@dataclass
class Scene:
    log: Log
    last: int

    async def say(self, *lines: str) -> int:
        return await self.log.append(encode_lines(lines))

    async def ask(self, question: str, **asked: object) -> dict[str, Any]:
        return await ask(self.log.client, question, **asked)


@asynccontextmanager
async def scene(url: str) -> AsyncIterator[Scene]:
    async with Log(url) as log, running(url, settings=PATIENT) as broker:
        await log.create(live=True)
        last = await log.append(encode_lines([line(**op) for op in SCENE]))
        await tells_up_to(broker, last)
        yield Scene(log, last)


async def test_who_wrote_reads_what_it_wrote(server: NatsServer) -> None:
    async with scene(server.url) as at:
        for n in range(20):
            text = "PUBLISH" if n % 2 else f"PUBLISH EXPIRES {n + 1} s"
            last = await at.say(line(time=2, op="publish", client="al", id=f"p{n}", text=text))
            answer = await at.ask("statements", client="al", after=last)
            assert {"id": f"p{n}", "text": text} in answer["publications"]
        assert answer["subscriptions"] == [{"id": "s", "text": NEAR}]


async def test_a_statement_that_is_asked_for_says_when_it_ends(server: NatsServer) -> None:
    async with scene(server.url) as at:
        last = await at.say(
            line(time=60, op="publish", client="al", id="p", text="PUBLISH EXPIRES 2 h"),
            line(time=60, op="subscribe", client="al", id="p", text=f"{NEAR} EXPIRES 1 min"),
            line(time=60, op="publish", client="al", id="q", text="PUBLISH EXPIRES AT '2030-01-01'"),
            line(time=90, op="tick"),
        )

        async def asked_for(id_: str) -> dict[str, Any]:
            return await at.ask("statements", client="al", id=id_, after=last)

        assert await asked_for("p") == {
            "publications": [{"id": "p", "text": "PUBLISH EXPIRES AT '1970-01-01T02:01:00Z'"}],
            "subscriptions": [{"id": "p", "text": f"{NEAR} EXPIRES AT '1970-01-01T00:02:00Z'"}],
        }
        assert (await asked_for("q"))["publications"][0]["text"] == "PUBLISH EXPIRES AT '2030-01-01T00:00:00Z'"
        assert await asked_for("s") == {"publications": [], "subscriptions": [{"id": "s", "text": NEAR}]}
        assert await asked_for("nothing") == {"publications": [], "subscriptions": []}


async def test_what_was_refused_and_why(server: NatsServer) -> None:
    async with scene(server.url) as at:
        last = await at.say(
            line(op="retract", client="al", id="nothing"),
            line(time=2, op="move", client="al", lon=0, lat=0),
            line(op="subscribe", client="al", id="t", text="SELECT WHERE"),
            "{",
        )
        answer = await at.ask("applied", after=last)
        assert [(r["index"], r["kind"]) for r in answer["refused"]] == [(0, "retract"), (2, "subscribe"), (3, "")]
        assert answer["refused"][0]["reason"] == "client 'al' has no publication 'nothing'"
        assert await at.ask("applied", after=at.last) == {"refused": [], "warnings": []}
        assert (await at.ask("applied"))["kind"] == "OpError"
        assert (await at.ask("applied", after=0))["kind"] == "Forgotten"


async def test_the_state_and_where_it_goes_on(server: NatsServer) -> None:
    async with scene(server.url) as at:
        answer = await at.ask("state", client="al", after=at.last)
        (found,) = answer["notifications"]
        assert (found["kind"], found["publisher"], found["content"]) == ("snapshot", "bo", {"is": "bo"})
        assert answer["sequence"] == len(await everything(server.url))
        last = await at.say(line(time=5, op="move", client="bo", lon=1, lat=1))
        gone = await at.ask("state", client="al", after=last)
        assert gone["notifications"] == []
        assert gone["sequence"] == answer["sequence"] + 1


async def test_a_query_sees_what_its_client_may_see_and_changes_nothing(server: NatsServer) -> None:
    async with scene(server.url) as at:
        before = len(await everything(server.url))
        seen = {
            who: [n["publisher"] for n in (await at.ask("query", client=who, text=NEAR))["notifications"]]
            for who in ("al", "pal", "stranger")
        }
        assert seen == {"al": ["bo"], "pal": ["bo", "shy"], "stranger": []}
        assert (await at.ask("query", client="al", text="SELECT WHERE"))["kind"] == "LanguageError"
        assert (await at.ask("query", client="al", text="PUBLISH"))["kind"] == "OpError"
        assert (await at.ask("query", text=NEAR))["error"] == "client: is missing"
        assert (await at.ask("query", client="al", text="SELECT FROM nowhere"))["kind"] == "UnknownName"
        assert (await at.ask("health"))["clients"] == 4
        assert len(await everything(server.url)) == before


async def test_whom_a_client_may_see(server: NatsServer) -> None:
    async with scene(server.url) as at:
        (bo,) = (await at.ask("clients", client="al"))["clients"]
        assert bo == {"client": "bo", "publications": ["me"], "time": "1970-01-01T00:00:01Z", "lon": 0.0, "lat": 0.0}
        found = await at.ask("clients", client="pal")
        assert [one["client"] for one in found["clients"]] == ["bo", "shy"]
        assert (await at.ask("clients", client="pal", box=[1, 1, 2, 2]))["clients"] == []
        assert await at.ask("clients", client="pal", limit=1) == {"clients": [bo], "more": True}


async def test_an_explanation_says_nothing_of_what_is_hidden(server: NatsServer) -> None:
    async with scene(server.url) as at:
        (bo,) = (await at.ask("explain", client="al", subscription="s"))["explanations"]
        assert (bo["publisher"], bo["told"], bo["summary"]) == ("bo", True, "matches, and was told")
        assert [(c["clause"], c["holds"]) for c in bo["conditions"]] == [("WHERE", True)]
        hidden = await at.ask("explain", client="al", subscription="s", publisher="shy")
        assert hidden == await at.ask("explain", client="al", subscription="s", publisher="nobody")
        last = await at.say(line(time=5, op="move", client="bo", lon=1, lat=1))
        (bo,) = (await at.ask("explain", client="al", subscription="s", after=last))["explanations"]
        assert (bo["told"], bo["summary"]) == (False, "WHERE does not hold")


async def test_an_explanation_does_not_say_by_more_that_someone_hides(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a publication stands to each of many regions: none of its pairs is judged, so it takes no longer."""
    judged: list[str] = []
    judge = Judge.judge

    def counting(self: Judge, s: Subscribed, candidate: Candidate, now: int, **how: Any) -> Verdict:
        judged.append(candidate.key[1])
        return judge(self, s, candidate, now, **how)

    squares = [square(f"r{n}", n / 10) for n in range(300)]
    async with scene(server.url) as at:
        last = await at.say(
            line(time=2, op="layer", name="many", features={"type": "FeatureCollection", "features": squares}),
            line(time=2, op="publish", client="shy", id="other", text="PUBLISH TO #kind = 'friend'"),
            line(time=2, op="subscribe", client="al", id="in", text="SELECT WHERE &location IN LAYER many"),
            line(time=2, op="subscribe", client="pal", id="in", text="SELECT WHERE &location IN LAYER many"),
        )
        monkeypatch.setattr(Judge, "judge", counting)
        for hidden, absent in (
            ({"publisher": "shy"}, {"publisher": "nobody"}),
            ({"publication": "other"}, {"publication": "nothing"}),
            ({"publisher": "shy", "publication": "me"}, {"publisher": "shy", "publication": "nothing"}),
            ({"publisher": "shy", "region": "r7"}, {"publisher": "nobody", "region": "r7"}),
        ):
            for meant in (hidden, absent):
                answer = await at.ask("explain", client="al", subscription="in", after=last, **meant)
                assert answer == {"explanations": [], "more": False}, meant
        assert "shy" not in judged
        seen = await at.ask("explain", client="al", subscription="in", publisher="bo")
        assert ([one["region"] for one in seen["explanations"]][:2], seen["more"]) == (["r0", "r1"], True)
        seen = await at.ask("explain", client="al", subscription="in")
        assert ({one["publisher"] for one in seen["explanations"]}, seen["more"]) == ({"bo"}, True)
        seen = await at.ask("explain", client="pal", subscription="in", publication="other")
        assert (len(seen["explanations"]), seen["more"]) == (100, True), "one that may see it does"


async def test_health(server: NatsServer) -> None:
    async with scene(server.url) as at:
        await at.say("{")
        health = await at.ask("health", after=at.last + 1)
        counts = {name: health[name] for name in ("clients", "publications", "subscriptions", "regions", "lag")}
        assert counts == {"clients": 4, "publications": 2, "subscriptions": 1, "regions": 0, "lag": 0}
        assert (health["broker"], health["sequence"]) == ("one", at.last + 1)
        assert health["counts"] == {"packets": 2, "ops": 10, "told": 1, "refused": 1, "unreadable": 0, "stale": 0}


async def test_what_is_no_question(server: NatsServer) -> None:
    async with scene(server.url) as at:
        assert "nobody answers 'meaning'" in (await at.ask("meaning"))["error"]
        assert "not a request" in (await at.ask("state", client=3))["error"]


async def test_one_that_is_silent_does_not_answer(server: NatsServer) -> None:
    async with Log(server.url) as log, running(server.url, "one", PATIENT) as one:
        await until(lambda: one.writer)
        async with running(server.url, "two", PATIENT) as two:
            await until(lambda: two.state)
            await asyncio.sleep(0.3)
            assert [(await ask(log.client, "health"))["broker"] for _ in range(5)] == ["one"] * 5
            assert two.writer is None
    async with Log(server.url) as log:
        with pytest.raises(NoRespondersError):
            await ask(log.client, "health")


async def test_one_that_falls_silent_says_so_to_whoever_waits(server: NatsServer) -> None:
    async with Log(server.url) as log:
        async with running(server.url) as broker:
            last = await append(server.url, [encode_lines([line(op="tick")])])
            await tells_up_to(broker, last)
            asking = asyncio.create_task(ask(log.client, "statements", client="al", after=last + 1))
            await until(lambda: broker._waiting)
            assert not asking.done()
        assert (await asyncio.wait_for(asking, 10))["kind"] == "Silent"


async def test_a_gateway_asks_the_next_broker_when_one_falls_silent(server: NatsServer) -> None:
    async with Link(server.url) as link:
        async with running(server.url) as broker:
            last = await append(server.url, [encode_lines([line(op="tick")])])
            await tells_up_to(broker, last)
            asking = asyncio.create_task(Asker(link).ask("statements", client="al", after=last + 1))
            await until(lambda: broker._waiting)
        async with running(server.url, "two"):
            await append(server.url, [encode_lines([line(time=2, op="publish", client="al", id="p", text="PUBLISH")])])
            answer = json.loads(await asyncio.wait_for(asking, 10))
    assert answer["publications"] == [{"id": "p", "text": "PUBLISH"}]


def test_the_scene_is_as_it_seems() -> None:
    reference = Reference()
    told = [n for op in SCENE for n in reference.apply(decode_op(line(**op)))]
    assert [(n.subscriber, n.publisher) for n in told] == [("al", "bo")]


OUTLINE = "POLYGON((10 10, 12 10, 12 12, 10 12, 10 10))"
FAR = " AND ".join(f"NOT &location WITHIN {m} m OF {OUTLINE}" for m in range(1, 30))


async def test_a_question_has_an_end_and_the_broker_goes_on_meanwhile(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much each looks at, the lease is renewed, and what is written is applied between two of them."""
    monkeypatch.setattr("nearcast.broker.asking.LONGEST", 0.2)
    crowd = [line(op="publish", client=f"c{n}", id="me", text="PUBLISH") for n in range(1000)]
    moves = [line(op="move", client=f"c{n}", lon=n / 10, lat=0) for n in range(1000)]
    asked = json.dumps({"client": "al", "text": f"SELECT WHERE {FAR}"}).encode()
    async with Log(server.url) as log, running(server.url) as broker:
        await log.create(live=True)
        await tells_up_to(broker, await log.append(encode_lines([*crowd, *moves])))
        await ask(log.client, "query", client="al", text=NEAR)
        writer, began, applied = broker.writer, time.monotonic(), 0
        asking = [asyncio.create_task(log.client.request(ask_subject("query"), asked, 60)) for _ in range(8)]
        while not all(task.done() for task in asking):
            last = await log.append(encode_lines([line(op="tick", time=time.monotonic())]))
            await ask(log.client, "applied", after=last)
            applied += 1
        answers = [json.loads((await task).data) for task in asking]
        assert all("this takes too long to find out" in answer["error"] for answer in answers), answers
        assert time.monotonic() > began + 15 * 0.2, "the log has as long as the questions"
        assert applied > 3, "between two questions the log is applied"
        assert broker.writer is writer, "it lost the lease"


async def test_an_answer_says_how_long_it_took(server: NatsServer) -> None:
    async with scene(server.url) as at:
        asked = json.dumps({"client": "al", "text": NEAR}).encode()
        answer = await at.log.client.request(ask_subject("query"), asked, timeout=20)
        assert answer.headers is not None
        assert 0 < int(answer.headers[TOOK]) < 10**6


async def test_explaining_and_seeing_have_an_end_as_well(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with scene(server.url) as at:
        monkeypatch.setattr("nearcast.broker.asking.LONGEST", -1.0)
        for question in ("explain", "clients", "staying", "state", "query"):
            answer = await at.ask(question, client="al", subscription="s", text=NEAR)
            assert "too long" in answer["error"], question
        for question in ("health", "statements", "client", "layers", "places"):
            assert "error" not in await at.ask(question, client="al"), question
