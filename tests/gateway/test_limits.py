"""How much a client may have, and what a statement may cost the others."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from websockets.exceptions import InvalidStatus

from nearcast.broker.weighing import FOUND, Most, Scales
from nearcast.errors import OpError
from nearcast.gateway import server
from nearcast.gateway.call import Settings
from nearcast.language.parse import parse_publication, parse_subscription
from nearcast.match.kernel import Kernel
from nearcast.model import op as ops
from nearcast.model.statement import Publication
from tests.fuzz.wire import Line, request
from tests.gateway.running import Live, fresh, gateway

TAKEN_OR_REFUSED = {200, 400, 403, 413, 422, 429}
NEAR = "SELECT WHERE &location WITHIN 1 km OF #location"


def crowd(count: int) -> Kernel:
    kernel = Kernel()
    for number in range(count):
        kernel.apply(ops.Publish(0, Publication("me", f"c{number}")))
    return kernel


def test_what_an_index_finds_costs_the_same_however_many_there_are() -> None:
    few, many = Scales(crowd(FOUND)), Scales(crowd(4 * FOUND))
    for text in (NEAR, "SELECT WHERE &owner = 'ann' AND &price < 3", "SELECT NEAREST 5", "SELECT FROM RELATION feud"):
        assert few.cost(parse_subscription(text)) == many.cost(parse_subscription(text)), text
    for text in (
        "SELECT",
        "SELECT WHERE &price < 3",
        "SELECT WHERE NOT &location IN DISC(0 0, 5 m)",
        "SELECT NEAREST 5 WHERE &price < 3",
    ):
        assert 4 * few.cost(parse_subscription(text)) == many.cost(parse_subscription(text)), text
    around = parse_subscription("SELECT WHERE ANY shop WITHIN 5 m OF #location")
    assert many.cost(around) > FOUND * 4 * FOUND


@pytest.mark.parametrize(
    "text",
    [
        "SELECT NEAREST 1 WHERE &a < 3",
        "SELECT nearof(2) WHERE &a < 3",
        "SELECT WHERE ANY location WITHIN 3 m OF &location",
        "SELECT WHERE NOW - ENTERED(&location WITHIN 3 m OF ANY location) > 3 s",
        "PUBLISH TO #location WITHIN 5 m OF ANY location",
    ],
)
def test_where_each_depends_on_the_others_all_of_them_count(text: str) -> None:
    """An op of anyone has all pairs of it asked, so a client has few of these."""
    kernel = crowd(64)
    for number in range(64):
        kernel.apply(ops.Subscribe(0, replace(parse_subscription(NEAR), owner="someone", id=str(number))))
    scales, taken = Scales(kernel), 0
    while (reason := refusal(scales, text, Most(10**9, 10_000), str(taken))) is None:
        kernel.apply(owned(text, str(taken)))
        taken += 1
    assert "too much together" in reason
    assert 1 <= taken <= 10_000 // 64


def owned(text: str, id_: str) -> ops.Op:
    if text.startswith("PUBLISH"):
        return ops.Publish(1, replace(parse_publication(text), owner="ann", id=id_))
    return ops.Subscribe(1, replace(parse_subscription(text), owner="ann", id=id_))


TEXTS = ["SELECT", "SELECT WHERE ANY shop WITHIN 5 m OF #location", "PUBLISH TO #location WITHIN 5 m OF ANY location"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("count", [600, 1023, 1024])
def test_a_refusal_does_not_tell_that_one_more_is_published(text: str, count: int) -> None:
    """Whatever is asked for, and however much may be: one that is hidden counts, too. One who has so much published by
    itself that it makes a difference finds out once, and not again."""
    kernel = crowd(count)
    scales = Scales(kernel)
    kernel.apply(ops.Publish(0, Publication("own", "ann")))
    refusal(scales, text, Most(1))
    kernel.apply(ops.Retract(1, "ann", "own"))
    before = [refusal(scales, text, Most(cost)) for cost in COSTS]
    kernel.apply(ops.Publish(2, Publication("hidden", "bob")))
    assert [refusal(scales, text, Most(cost)) for cost in COSTS] == before
    assert refusal(scales, text, Most(100)) is not None
    assert refusal(scales, text, Most(2**23)) is None


COSTS = (*range(600, 3000), 361_000, 2**21)


def refusal(scales: Scales, text: str, most: Most, id_: str = "x") -> str | None:
    try:
        scales.weigh("ann", id_, text, most)
    except OpError as error:
        return str(error)
    return None


async def test_what_looks_at_everything_is_refused_with_a_reason(live: Live) -> None:
    async with gateway(live.url, Settings(cost=5)) as door:
        ann, bob, boss = await door.client(fresh("ann")), await door.client(fresh("bob")), await door.client("operator")
        for number in range(6):
            assert (await bob.put(f"/v1/publications/p{number}", content="PUBLISH")).status_code == 200
        for refused in (
            await ann.put("/v1/subscriptions/all", content="SELECT WHERE &price < 3"),
            await ann.post("/v1/query", content="SELECT WHERE &price < 3"),
        ):
            assert refused.status_code == 422
            assert "this would look at too much at once" in refused.json()["detail"]
            assert "ask about what is near" in refused.json()["detail"]
        assert (await ann.get("/v1/subscriptions")).json() == {"subscriptions": []}
        assert (await boss.post("/v1/query", content="SELECT WHERE &price < 3")).status_code == 200
        for number in range(6):
            await bob.delete(f"/v1/publications/p{number}")


async def test_what_is_sent_at_once_is_weighed_one_after_another(live: Live) -> None:
    async with gateway(live.url, Settings(weight=14, statements=3)) as door:
        ann = await door.client(fresh("ann"))
        for text in (NEAR, f"{NEAR} AND &price < 3 AND &price > 1"):
            answers = await asyncio.gather(*(ann.put(f"/v1/subscriptions/{n}", content=text) for n in range(20)))
            taken = (await ann.get("/v1/subscriptions")).json()["subscriptions"]
            assert len(taken) == sum(answer.status_code == 200 for answer in answers) == (3 if text == NEAR else 2)
            for one in taken:
                await ann.delete(f"/v1/subscriptions/{one['id']}")


async def test_a_client_has_so_many_statements(live: Live) -> None:
    async with gateway(live.url, Settings(statements=2)) as door:
        ann = await door.client(fresh("ann"))
        for kind, text in (("publications", "PUBLISH"), ("subscriptions", NEAR)):
            for number, status in ((1, 200), (2, 200), (3, 403), (2, 200)):
                answer = await ann.put(f"/v1/{kind}/{number}", content=text)
                assert answer.status_code == status, answer.text
            assert (await ann.delete(f"/v1/{kind}/1")).status_code == 200
            assert (await ann.put(f"/v1/{kind}/3", content=text)).status_code == 200


async def test_all_that_a_client_has_weighs_so_much(live: Live) -> None:
    """What it replaces does not count, nor what others have; what it removes makes room; an operator is not counted."""
    async with gateway(live.url, Settings(weight=14)) as door:
        ann, bob, boss = await door.client(fresh("ann")), await door.client(fresh("bob")), await door.client("operator")
        three = "SELECT WHERE &owner = 'x' AND &price < 3"
        for path, text, status in (
            ("subscriptions/1", three, 200),
            ("publications/p", "PUBLISH TO #owner = 'x' OR #owner = 'y'", 200),
            ("subscriptions/1", three, 200),
            ("subscriptions/2", three, 200),
            ("subscriptions/3", "SELECT WHERE &owner = 'x'", 422),
            ("publications/q", "PUBLISH TO #owner = 'x'", 422),
            ("publications/p", "PUBLISH", 200),
            ("subscriptions/3", "SELECT WHERE &owner = 'x'", 200),
        ):
            answer = await ann.put(f"/v1/{path}", content=text)
            assert answer.status_code == status, (path, answer.text)
            if status == 422:
                assert "too much together" in answer.json()["detail"]
        for other in (bob, boss):
            assert (await other.put("/v1/subscriptions/1", content=three)).status_code == 200
        assert (
            await boss.put("/v1/subscriptions/2", content=f"{three} AND ({' OR '.join(['&a = 1'] * 20)})")
        ).status_code == 200
        for who, ids in ((ann, "123"), (bob, "1"), (boss, "12")):
            for id_ in ids:
                assert (await who.delete(f"/v1/subscriptions/{id_}")).status_code == 200


async def test_whom_a_publisher_lets_in_must_not_take_a_look_at_everything(live: Live) -> None:
    around = "PUBLISH TO #location WITHIN 5 m OF ANY location"
    async with gateway(live.url, Settings(cost=5)) as door:
        ann, bob, boss = await door.client(fresh("ann")), await door.client(fresh("bob")), await door.client("operator")
        for number in range(3):
            assert (await bob.put(f"/v1/publications/{number}", content="PUBLISH")).status_code == 200
            assert (await boss.put(f"/v1/subscriptions/{number}", content=NEAR)).status_code == 200
        refused = await ann.put("/v1/publications/p", content=around)
        assert refused.status_code == 422
        assert "do without ANY in TO" in refused.json()["detail"]
        assert (await boss.put("/v1/publications/p", content=around)).status_code == 200
        assert (await boss.delete("/v1/publications/p")).status_code == 200
        for number in range(3):
            await bob.delete(f"/v1/publications/{number}")
            await boss.delete(f"/v1/subscriptions/{number}")


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


async def test_what_means_nothing_counts_as_well(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.gateway.app.REQUESTS", 10.0)
    async with gateway(live.url, Settings(rate=10)) as door:
        ann, bob, boss = [await door.client(name) for name in (fresh("ann"), fresh("bob"), "operator")]
        for client, last in ((ann, 429), (boss, 400)):
            statuses = [(await client.post("/v1/positions", content=b"[")).status_code for _ in range(130)]
            assert (statuses[0], statuses[-1]) == (400, last)
        long = "SELECT WHERE " + "(" * 1500
        assert [(await bob.post("/v1/query", content=long)).status_code for _ in range(3)] == [422, 429, 429]


async def test_what_was_never_told_cannot_have_been_heard(live: Live) -> None:
    async with gateway(live.url) as door:
        name = fresh("ann")
        ann = await door.client(name)
        for sequence in (10**30, -1):
            refused = await ann.put("/v1/cursor", json={"sequence": sequence})
            assert (refused.status_code, refused.json()["field"]) == (422, "sequence")
        async with door.socket(name) as socket:
            await socket.send('{"ack": 1000000000}')
        assert (await ann.get("/v1/cursor")).json()["sequence"] < 10**9


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
