"""What a statement may cost the others, and how that is weighed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from nearcast.broker.weighing import FOUND, MEASURED, Most, Scales
from nearcast.errors import OpError
from nearcast.gateway.call import Settings
from nearcast.gateway.limits import Rates
from nearcast.language.parse import parse_publication, parse_subscription
from nearcast.match.kernel import Kernel
from nearcast.model import op as ops
from nearcast.model.statement import Publication
from tests.gateway.running import Live, fresh, gateway

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


async def test_to_be_weighed_counts_as_long_as_it_takes(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    owed: list[str] = []
    known = Rates.charging

    def charging(rates: Rates, client: str) -> Callable[[int], None]:
        owed.append(client)
        return known(rates, client)

    monkeypatch.setattr(Rates, "charging", charging)
    ann = fresh("ann")
    async with gateway(live.url) as door:
        client = await door.client(ann)
        assert (await client.put("/v1/subscriptions/s", content=NEAR)).status_code == 200
    assert owed == [ann]


def test_what_has_to_be_measured_weighs_more() -> None:
    """To measure how far an outline is takes ten times as long as to compare."""
    scales = Scales(crowd(1000))
    outline = "POLYGON((10 10, 12 10, 12 12, 10 12, 10 10))"

    def cost(text: str) -> int:
        return scales.cost(parse_subscription(f"SELECT WHERE {text}"))

    plain = cost(f"NOT &location IN {outline}")
    assert cost("NOT &location WITHIN 1 m OF POINT(10 10)") == plain
    assert cost(f"NOT &location WITHIN 1 m OF {outline}") == plain + MEASURED * 1024
    assert cost(f"NOT &location IN {outline} HYSTERESIS 5 m") == plain + MEASURED * 1024


def test_regions_that_multiply() -> None:
    """600 of one space and 300 of another are 180,000 cases, each judged whenever anyone does something."""
    pairs = ", ".join([f"(a = {n})" for n in range(9)] + [f"location (x = {n}, y = 0)" for n in range(8)])
    for text in (f"PUBLISH AS {pairs}", f"SELECT AS {pairs}"):
        with pytest.raises(OpError, match="72 ways, and 64 are the most"):
            Kernel().apply(owned(text, "x"))
