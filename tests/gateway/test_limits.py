"""How much a client may have, and may ask at once."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from nats.js.object_store import ObjectStore
from websockets.exceptions import InvalidStatus

from nearcast.errors import GatewayError
from nearcast.gateway import call, formats, outbox, server
from nearcast.gateway.ask import Broker
from nearcast.gateway.call import Settings
from nearcast.gateway.formats import Fault, Position
from nearcast.gateway.limits import InHand, Rates
from nearcast.gateway.outbox import Page
from nearcast.gateway.seal import Seal
from nearcast.log.server import NatsServer
from tests.fuzz.wire import CONTINUED, PING, TEXT, Line, frame, request, upgrade
from tests.gateway.running import Live, fresh, gateway, teller

TAKEN_OR_REFUSED = {200, 400, 403, 413, 422, 429}
NEAR = "SELECT WHERE &location WITHIN 1 km OF #location"


async def test_a_client_has_so_many_statements(live: Live) -> None:
    async with gateway(live.url, Settings(statements=2)) as door:
        ann = await door.client(fresh("ann"))
        for kind, text in (("publications", "PUBLISH"), ("subscriptions", NEAR)):
            for number, status in ((1, 200), (2, 200), (3, 403), (2, 200)):
                answer = await ann.put(f"/v1/{kind}/{number}", content=text)
                assert answer.status_code == status, answer.text
            assert (await ann.delete(f"/v1/{kind}/1")).status_code == 200
            assert (await ann.put(f"/v1/{kind}/3", content=text)).status_code == 200


async def test_a_client_has_so_many_streams(live: Live) -> None:
    """Of either kind, together; those that end make room, and an operator is not counted."""
    async with gateway(live.url, Settings(streams=2)) as door:
        name, other = fresh("ann"), fresh("bob")
        ann, boss = await door.client(name), await door.client("operator")
        async with door.socket(name), ann.stream("GET", "/v1/events") as second:
            assert second.status_code == 200
            refused = await ann.get("/v1/events")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert refused.json()["detail"] == "a client has at most 2 streams at a time; close one"
            with pytest.raises(InvalidStatus, match="429"):
                await door.socket(name).__aenter__()
            async with door.socket(other), boss.stream("GET", "/v1/events", params={"client": name}) as third:
                assert third.status_code == 200
        for _ in range(100):  # it takes a gateway a moment to see that one has gone
            with suppress(InvalidStatus):
                async with door.socket(name), door.socket(name):
                    break
            await asyncio.sleep(0.05)
        else:
            pytest.fail("those that ended still count")


async def test_statements_that_are_made_to_hurt(live: Live) -> None:
    """Each is refused or taken at once, and nobody else waits for it."""
    settings = Settings()
    deep = "(" * 5000 + "&a = 1" + ")" * 5000
    hostile = [
        f"SELECT WHERE {deep}",
        "SELECT WHERE " + "NOT " * 4000 + "&a = 1",
        "SELECT WHERE " + " AND ".join(f"(&a{i} = 1 OR &b{i} = 2)" for i in range(400)),
        "SELECT WHERE " + " OR ".join(f"(&a{i} = 1 AND &b{i} = 2)" for i in range(400)),
        "SELECT WHERE &a = '" + "(a+)+" * 2000 + "'",
        f"SELECT WHERE &location IN POLYGON(({', '.join(f'{i % 180} {i % 90}' for i in range(10**6))}))",
        "SELECT WHERE " + "ANY a WITHIN 1 m OF #location AND " * 300 + "&a = 1",
        "SELECT WHERE &a = " + "9" * 10_000,
        "SELECT WHERE &a < 1e999",
        "PUBLISH CONTENT " + "[" * 7000 + "]" * 7000,
        "\0" * 100,
        "SELECT WHERE `" + "x" * 10_000,
        "SELECT EXPIRES 999999999999999999999 d",
        "SELECT NEAREST 99999999999999999999",
    ]
    async with gateway(live.url, settings) as door:
        ann, bob = await door.client(fresh("ann")), await door.client(fresh("bob"))
        for text in hostile:
            began = time.monotonic()
            answer = await ann.put("/v1/subscriptions/x", content=text.encode())
            assert answer.status_code in TAKEN_OR_REFUSED, (text[:60], answer.status_code, answer.text[:200])
            asked = await ann.post("/v1/query", content=text.encode())
            assert asked.status_code in TAKEN_OR_REFUSED, (text[:60], asked.status_code, asked.text[:200])
            assert (await bob.get("/v1/subscriptions")).status_code == 200
            assert time.monotonic() < began + 5, text[:60]


async def test_a_million_of_what_is_no_position_is_refused_without_a_closer_look(live: Live) -> None:
    """To say what is wrong with each kept everyone waiting for seconds."""
    async with gateway(live.url, Settings(rate=100)) as door:
        for name, many in ((fresh("ann"), 1001), ("operator", 10**6)):
            client = await door.client(name)
            for item in (b"{}", b"1"):
                began = time.monotonic()
                refused = await client.post("/v1/positions", content=b"[" + b",".join([item] * many) + b"]")
                assert refused.status_code == 413, refused.text
                assert "positions at once are too many" in refused.json()["detail"]
                assert time.monotonic() < began + 3
        large = await (await door.client(fresh("bob"))).post("/v1/positions", content=b" " * (4 * 2**20 + 1))
        assert (large.status_code, large.json()["detail"]) == (413, "a body has at most 4,194,304 bytes")


@pytest.mark.parametrize("sent", [frame(b"x" * 125, PING), frame(b"", CONTINUED, fin=False)], ids=["pings", "parts"])
async def test_a_socket_that_sends_what_is_no_message_is_hung_up_on(live: Live, sent: bytes) -> None:
    """Pings are answered at once, and parts kept, so whoever reads nothing could fill the memory of a gateway."""
    async with gateway(live.url) as door:
        name = fresh("ann")
        async with Line(door.url) as line:
            answer = await line.ask(upgrade("/v1/ws", {"Authorization": f"Bearer token-{name}"}))
            assert answer is not None
            assert answer.status == 101
            await line.send(frame(b"{", TEXT, fin=False))
            with suppress(OSError):
                await line.send(sent * 1000)
            await line.is_hung_up(5)
        async with door.socket(name) as socket:
            for _ in range(50):
                await (await socket.ping())
            await socket.send('{"ack": "0", "ref": 1, "move": {"lon": 1, "lat": 1}}')
            assert json.loads(await socket.recv())["accepted"] == 1


@pytest.mark.parametrize("kind", ["publications", "subscriptions"])
async def test_an_id_has_an_end(live: Live, kind: str) -> None:
    async with gateway(live.url) as door:
        ann = await door.client(fresh("ann"))
        text = "PUBLISH" if kind == "publications" else NEAR
        assert (await ann.put(f"/v1/{kind}/{'é' * 256}", content=text)).status_code == 200
        refused = await ann.put(f"/v1/{kind}/{'é' * 257}", content=text)
        assert (refused.status_code, refused.json()["field"]) == (422, "id")
        assert (await ann.delete(f"/v1/{kind}/{'é' * 256}")).status_code == 200
        refused = await ann.delete(f"/v1/{kind}/{'é' * 257}")
        assert (refused.status_code, refused.json()["field"]) == (422, "id"), "and not in the log"


async def test_what_a_reading_or_a_fix_names_has_an_end(live: Live) -> None:
    async with gateway(live.url) as door:
        ann = await door.client(fresh("ann"))
        readings = [{"publication": "é" * size, "value": 1} for size in (256, 257)]
        statuses = [(await ann.post("/v1/readings", json=reading)).status_code for reading in readings]
        assert statuses == [404, 422]
        refused = await ann.post("/v1/readings", json=readings)
        assert (refused.status_code, refused.json()["field"]) == (422, "[1].publication")
        fixes = [{"place": "é" * size} for size in (4096, 4097)]
        taken = await ann.post("/v1/positions", json=fixes)
        assert (taken.status_code, [fault["field"] for fault in taken.json()["faults"]]) == (202, ["place"])


async def test_what_means_nothing_counts_as_well(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.gateway.app.REQUESTS", 10.0)
    async with gateway(live.url, Settings(rate=10)) as door:
        ann, bob, boss = [await door.client(name) for name in (fresh("ann"), fresh("bob"), "operator")]
        for client, statuses in ((ann, {400, 429}), (boss, {400})):
            found = {(await client.post("/v1/positions", content=b"[")).status_code for _ in range(300)}
            assert found == statuses
        long = "SELECT WHERE " + "(" * 2000
        assert [(await bob.post("/v1/query", content=long)).status_code for _ in range(3)] == [422, 429, 429]


async def test_what_was_never_told_cannot_have_been_heard(live: Live) -> None:
    async with gateway(live.url) as door:
        name = fresh("ann")
        ann = await door.client(name)
        stranger = Seal(b"of another system")
        for cursor in ("1", stranger.event(10**9), "x" * 32):
            refused = await ann.put("/v1/cursor", json={"cursor": cursor})
            assert (refused.status_code, refused.json()["field"]) == (422, "cursor")
        async with door.socket(name) as socket:
            await socket.send(json.dumps({"ack": stranger.event(10**9), "ref": 1}))
            assert json.loads(await socket.recv())["field"] == "ack"
        assert (await door.seal()).open((await ann.get("/v1/cursor")).json()["cursor"]) == 0


async def test_the_head_of_a_request_is_bounded(live: Live) -> None:
    """The parser keeps whatever comes, so anyone could fill the memory of a gateway, without a token."""
    async with gateway(live.url) as door:
        for sent in (
            b"GET /" + b"a" * 10**6,
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 10**5,
            b"GET / HTTP/1.1\r\nA: " + b"b" * 10**6,
            request("POST", "/v1/positions", {"Transfer-Encoding": "chunked"}) + b"0\r\n" + b"A: b\r\n" * 10**5,
        ):
            async with Line(door.url) as line:
                answer = await line.ask(sent)
                assert answer is None or answer.status in {400, 401}, answer
                await line.is_hung_up()


async def test_whoever_does_not_say_what_it_wants_is_let_go(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HASTE", 0.2)
    async with gateway(live.url) as door:
        for sent in (b"", b"GET /v1/health HTTP/1.1\r\n"):
            async with Line(door.url) as line:
                await line.send(sent)
                await line.is_hung_up(5)


# ---- what one client could exhaust ---------------------------------------------------------------------


async def test_a_client_says_so_much_of_itself(live: Live) -> None:
    """A region of 100,000 attributes took minutes to build, in every broker, whenever the client was judged."""
    async with gateway(live.url) as door:
        ann = await door.client(fresh("ann"))
        many = {f"a{number}": number for number in range(257)}
        for attributes, field in (
            (many, "attributes"),
            ({"a" * 257: 1}, "attributes"),
            ({"a": "a" * 4097}, "attributes[...]"),
        ):
            for refused in (
                await ann.patch("/v1/client", json={"attributes": attributes}),
                await ann.post("/v1/positions", json={"lon": 0, "lat": 0, "attributes": attributes}),
            ):
                assert (refused.status_code, refused.json()["field"]) == (422, field), refused.text
        refused = await ann.post("/v1/readings", json={"publication": "p", "values": many})
        assert (refused.status_code, refused.json()["field"]) == (422, "values")
        many.popitem()
        assert (await ann.patch("/v1/client", json={"attributes": many})).status_code == 200
        refused = await ann.patch("/v1/client", json={"attributes": {"b": 1}})
        assert (refused.status_code, "257 are too many" in refused.json()["detail"]) == (422, True)


async def test_a_question_counts_as_long_as_it_takes(live: Live) -> None:
    """Cheap ones count as one op; whoever asks for much waits the longer."""
    async with gateway(live.url, Settings(rate=10)) as door:
        ann, bob = await door.client(fresh("ann")), await door.client(fresh("bob"))
        for number in range(20):
            await (await door.client("operator")).put(f"/v1/publications/q{number}", content="PUBLISH")
        wide = "SELECT WHERE " + " OR ".join(f"&a{number} = 1" for number in range(25))
        statuses = [(await ann.post("/v1/query", content=wide)).status_code for _ in range(60)]
        assert statuses[0] == 200
        assert 429 in statuses
        assert [(await bob.get("/v1/client")).status_code for _ in range(20)] == [200] * 20


def test_what_is_done_already_is_owed() -> None:
    now = [0.0]
    rates = Rates(10, clock=lambda: now[0])
    rates.owe("ann", 150)
    with pytest.raises(GatewayError, match="wait 6 s"):
        rates.take("ann", 1)
    now[0] = 5.2
    rates.take("ann", 1)


def test_so_much_of_a_client_is_in_hand() -> None:
    in_hand = InHand(2, 10)
    with in_hand.request("ann") as first, in_hand.request("ann"), in_hand.request("bob"):
        first.add(8)
        with pytest.raises(GatewayError, match="at most 2 requests"), in_hand.request("ann"):
            pass
        with pytest.raises(GatewayError, match="at most 10 bytes"):
            first.add(3)
    assert not in_hand.counts
    with in_hand.request("ann") as first:
        first.expect(25)
        first.answer(25)
        with in_hand.request("ann") as second:
            with pytest.raises(GatewayError, match="at most 10 bytes"):
                second.expect(1)
            with pytest.raises(GatewayError, match="at most 10 bytes"):
                second.answer(2)
        with in_hand.request("bob") as other:
            other.answer(10)
    with in_hand.request("ann") as first:
        first.expect(5)
        with pytest.raises(GatewayError, match="at most 10 bytes"):
            first.answer(11)
    assert not in_hand.sizes


async def test_questions_of_a_client_wait_for_each_other(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, most, ask = 0, 0, Broker.ask

    async def slowly(self: Broker, what: str, **said: Any) -> bytes:
        nonlocal asked, most
        asked += 1
        most = max(most, asked)
        try:
            await asyncio.sleep(0.02)
            return await ask(self, what, **said)
        finally:
            asked -= 1

    monkeypatch.setattr(Broker, "ask", slowly)
    async with gateway(live.url) as door:
        ann = await door.client(fresh("ann"))
        answers = await asyncio.gather(*(ann.get("/v1/clients") for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        assert most == call.QUESTIONS


async def test_a_layer_counts_before_it_is_read(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that is larger than all that may be in hand can be read, by itself; and one after the other."""
    monkeypatch.setattr(call, "BODIES", 10_000)
    reading, most, get = 0, 0, ObjectStore.get

    async def slowly(self: ObjectStore, name: str, *how: Any, **more: Any) -> ObjectStore.ObjectResult:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        try:
            await asyncio.sleep(0.2)
            return await get(self, name, *how, **more)
        finally:
            reading -= 1

    name = fresh("zones")
    ring = [[math.cos(n * math.tau / 1000), math.sin(n * math.tau / 1000)] for n in range(1000)]
    disc = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    zone = {"type": "Feature", "id": "z", "properties": {}, "geometry": disc}
    async with gateway(live.url, Settings(rate=1)) as door:
        boss, ann, bob = [await door.client(name) for name in ("operator", fresh("ann"), fresh("bob"))]
        stored = await boss.put(f"/v1/layers/{name}", json={"type": "FeatureCollection", "features": [zone]})
        assert stored.status_code == 200, stored.text
        monkeypatch.setattr(ObjectStore, "get", slowly)
        answers = await asyncio.gather(*(client.get(f"/v1/layers/{name}") for client in (ann, ann, bob)))
        found = [answer for answer in answers if answer.status_code == 200]
        assert [answer.status_code for answer in answers].count(429) == 1
        assert answers[2] in found
        assert len(found[0].content) > 30_000
        assert most == 1
        again = await ann.get(f"/v1/layers/{name}")
        assert (again.status_code, "ops a second" in again.json()["detail"]) == (429, True), "it counts by its size"
        assert (await boss.get(f"/v1/layers/{name}")).status_code == 200


async def test_dead_letters_are_read_a_few_at_a_time(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, most, sizes, read = 0, 0, set(), outbox.read_page

    async def slowly(*what: Any, size: int) -> Page:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        sizes.add(size)
        try:
            await asyncio.sleep(0.05)
            return await read(*what, size=size)
        finally:
            reading -= 1

    monkeypatch.setattr("nearcast.gateway.letters.read_page", slowly)
    async with gateway(server.url, Settings(private=True)) as door:
        ann = await door.client("ann")
        made = await ann.put("/v1/webhooks/hook", json={"url": "http://127.0.0.1:9/"})
        assert made.status_code == 200, made.text
        answers = await asyncio.gather(*(ann.get("/v1/webhooks/hook/dead") for _ in range(10)))
        assert {answer.status_code for answer in answers} == {200}
    assert (most, sizes) == (call.LETTERS, {2**20})


async def test_a_body_has_to_come(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kept up to 4 MiB, for as long as its sender liked, and there could be any number of them."""
    monkeypatch.setattr(call, "HASTE", 2.0)
    monkeypatch.setattr(call, "REQUESTS", 2)
    async with gateway(live.url) as door:
        headers = {"Authorization": f"Bearer token-{fresh('ann')}", "Content-Length": "1000"}
        unfinished = request("POST", "/v1/positions", headers) + b"[" * 10
        async with Line(door.url) as line, Line(door.url) as second, Line(door.url) as third:
            await asyncio.gather(line.send(unfinished), second.send(unfinished))
            await asyncio.sleep(0.1)
            refused = await third.ask(unfinished)
            assert refused is not None
            assert (refused.status, b"at most 2 requests" in refused.body) == (429, True)
            late = await line.answer()
            assert late is not None
            assert (late.status, b"the body did not come" in late.body) == (408, True)


async def test_whatever_comes_after_an_answer_does_not_keep_the_line_open(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a token: a byte of a body that is refused already, or an empty line, kept a connection for ever."""
    monkeypatch.setattr(server, "HASTE", 0.5)
    async with gateway(live.url) as door:
        for sent, more in (
            (request("POST", "/v1/positions", {"Content-Length": "1000"}), b"x"),
            (request("GET", "/v1/openapi.json", {}), b"\r\n"),
        ):
            async with Line(door.url) as line:
                assert await line.ask(sent) is not None
                await line.send(more)
                await line.is_hung_up(5)
    monkeypatch.setattr(server, "HASTE", 2.0)
    async with gateway(live.url) as door, Line(door.url) as line:  # one that goes on asking is kept
        for _ in range(6):
            assert await line.ask(request("GET", "/v1/openapi.json", {})) is not None
            await asyncio.sleep(0.4)


async def test_how_it_is_is_asked_once_for_all(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ask = [], Broker._asked

    async def noted(self: Broker, what: str, *said: Any) -> bytes:
        asked.append(what)
        return await ask(self, what, *said)

    monkeypatch.setattr(Broker, "_asked", noted)
    monkeypatch.setattr("nearcast.gateway.ask.KNOWN", 60.0)
    async with gateway(live.url) as door:
        anyone = await door.bearer("nobody")
        answers = await asyncio.gather(*(anyone.get("/v1/health") for _ in range(50)))
        answers.append(await anyone.get("/v1/health"))
        assert {answer.status_code for answer in answers} == {200}
        assert asked == ["health"]


async def test_readings_are_counted_before_they_are_looked_at(live: Live) -> None:
    async with gateway(live.url, Settings(rate=100)) as door:
        ann = await door.client(fresh("ann"))
        began = time.monotonic()
        refused = await ann.post("/v1/readings", json=[{"publication": "p", "value": 1}] * 1001)
        assert (refused.status_code, "readings at once are too many" in refused.json()["detail"]) == (413, True)
        assert time.monotonic() < began + 3
        wrong = [{"publication": "p", "value": 1, "time": 10**12}] * 400
        statuses = [(await ann.post("/v1/readings", json=wrong)).status_code for _ in range(8)]
        assert (statuses[0], set(statuses)) == (422, {422, 429})


async def test_positions_that_are_none_count_as_well(live: Live) -> None:
    async with gateway(live.url, Settings(rate=100)) as door:
        ann = await door.client(fresh("ann"))
        statuses = [(await ann.post("/v1/positions", json=[{}] * 400)).status_code for _ in range(8)]
        assert (statuses[0], set(statuses)) == (422, {422, 429})


async def test_requests_that_nobody_waits_for_end_a_connection(live: Live) -> None:
    """A stranger may send one after another, and read no answer."""
    async with gateway(live.url) as door, Line(door.url) as line:
        with suppress(OSError):
            for _ in range(50):
                await line.send(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
        await line.is_hung_up()
    async with gateway(live.url) as door, Line(door.url) as line:
        await line.send(b"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * server.AHEAD)
        for _ in range(server.AHEAD):
            answer = await line.answer()
            assert answer is not None
            assert answer.status == 200


async def test_a_reading_is_no_larger_than_a_statement(live: Live) -> None:
    """Each subscription that hears it hears all of it."""
    async with gateway(live.url) as door:
        ann, boss, source = await door.client(fresh("ann")), await door.client("operator"), {"publication": "p"}
        await ann.put("/v1/publications/p", content="PUBLISH")
        large = {**source, "values": {f"value {number}": "x" * 1000 for number in range(20)}}
        assert (await ann.post("/v1/readings", json={**source, "value": "x" * 4000})).status_code == 200
        for body in (large, [source, large]):
            refused = await ann.post("/v1/readings", json=body)
            assert (refused.status_code, refused.json()["field"]) == (413, "values")
        await boss.put("/v1/publications/p", content="PUBLISH")
        assert (await boss.post("/v1/readings", json=large)).status_code == 200
    async with gateway(live.url, Settings(rate=100)) as door:
        ann = await door.client(fresh("ann"))
        await ann.put("/v1/publications/p", content="PUBLISH")
        codes = [(await ann.post("/v1/readings", json={**source, "value": "x" * 4000})).status_code for _ in range(12)]
        assert (codes[0], set(codes)) == (200, {200, 429}), "each counts as more than 200 ops, of 1,000 at once"


async def test_positions_count_before_they_are_looked_at(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    known = formats._others

    def others(data: list[Any]) -> Iterator[Position | Fault]:
        looked.append(len(data))
        return known(data)

    monkeypatch.setattr(formats, "_others", others)
    ann = fresh("ann")
    async with gateway(live.url, Settings(rate=10)) as door:
        client = await door.client(ann)
        codes = [(await client.post("/v1/positions", json=[{"_type": "x"}] * 100)).status_code for _ in range(4)]
        assert codes == [422, 429, 429, 429]
        assert looked == [100]


async def test_the_bytes_of_a_message_count(live: Live) -> None:
    """On a socket as in a body."""
    ann = fresh("ann")
    async with gateway(live.url, Settings(rate=100)) as door, door.socket(ann) as socket:
        began = time.monotonic()
        for number in range(5):
            await socket.send(json.dumps({"ref": number, "mvoe": "x" * 1_000_000}))
        for _ in range(5):
            assert json.loads(await socket.recv())["status"] == 400
        assert time.monotonic() - began > 1, "each is 245 requests, of 1,000 at once and 100 a second"


async def test_what_is_read_for_someone_counts(server: NatsServer) -> None:
    """By its bytes, once it is known how many those are."""
    async with gateway(server.url, Settings(rate=10)) as door, teller(server.url) as told:
        for _ in range(100):
            await told.tell("ann", about="x" * 10_000)
        ann = await door.client("ann")
        codes = [(await ann.get("/v1/notifications", params={"after": "0", "limit": 90})).status_code for _ in range(3)]
        assert codes == [200, 429, 429]
