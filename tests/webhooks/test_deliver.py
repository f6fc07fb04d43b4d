"""What is told arrives, signed, in order, whatever the endpoint does."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, suppress

import pytest
from click.testing import CliRunner

from nearcast.bench.endpoints import Asked, Endpoint, nowhere
from nearcast.cli import cli
from nearcast.client import Client
from nearcast.errors import GatewayError
from nearcast.gateway.call import Settings
from nearcast.gateway.hooks import Hooks
from nearcast.gateway.link import Link
from nearcast.log.server import NatsServer
from tests.gateway.running import fresh, gateway, hear
from tests.webhooks.running import (
    PATIENCE,
    QUICK,
    answers,
    came,
    delivering,
    event_of,
    heard,
    ids,
    ids_of,
    scene,
    status,
    tried,
    until,
    until_true,
    verify,
)


@pytest.fixture(scope="module", autouse=True)
def process(shared: NatsServer) -> Iterator[None]:
    with delivering(shared.url, *QUICK, "--attempts", "4"):
        yield


async def test_an_event_is_the_one_that_other_doors_give(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint() as endpoint, at.door.socket(at.name) as socket:
        hook = await at.add(endpoint.url)
        [id_] = await at.tell()
        [asked] = await came(endpoint, 1)
        [event] = await hear(socket, 1)
        assert event_of(asked) == event
        assert event["id"] == id_
        assert asked.headers["content-type"].startswith("application/cloudevents+json")
        assert asked.headers["webhook-id"].endswith(f"_{id_}")
        assert verify(asked.headers, asked.body, hook["secret"])
        assert not verify(asked.headers, asked.body + b" ", hook["secret"])
        assert not verify({**asked.headers, "webhook-id": "other"}, asked.body, hook["secret"])
        assert not verify(asked.headers, asked.body, "whsec_" + "A" * 43 + "=")


async def test_events_come_in_order_one_at_a_time(shared: NatsServer) -> None:
    under_way = most = 0

    async def answer(_asked: Asked) -> bytes:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.002)
        under_way -= 1
        return status(204)

    async with scene(shared) as at, Endpoint(answer) as endpoint:
        await at.add(endpoint.url)
        told = await at.tell(300)
        await came(endpoint, 300)
        assert ids(endpoint) == told
        assert most == 1
        assert endpoint.connections == 1


@pytest.mark.parametrize(("before", "after"), [(5, None), (None, 5), (5, 2)])
async def test_another_batch_while_it_fails_loses_nothing(
    shared: NatsServer, before: int | None, after: int | None
) -> None:
    """Whoever repairs an endpoint may forget to say how many events it takes. Those that wait are sent as it is now."""
    is_well = False

    async def answer(_asked: Asked) -> bytes | None:
        return status(204) if is_well else status(503, Retry_After="1")

    async with scene(shared) as at, Endpoint(answer) as endpoint:
        await at.add(endpoint.url, batch=before)
        told = await at.tell(7)
        await until(lambda: len(endpoint.asked) >= 2)
        await at.add(endpoint.url, batch=after)
        is_well = True
        endpoint.asked.clear()
        await until(lambda: set(told) <= set(ids(endpoint)))
        assert list(dict.fromkeys(ids(endpoint))) == told
        assert await at.dead() == []
        assert max(len(ids_of(asked)) for asked in endpoint.asked[1:]) <= (after or 1)


async def test_batches(shared: NatsServer) -> None:
    holding = asyncio.Event()

    async def answer(_asked: Asked) -> bytes:
        await holding.wait()
        return status(200)

    async with scene(shared) as at, Endpoint(answer) as endpoint:
        hook = await at.add(endpoint.url, batch=10)
        told = await at.tell()
        await came(endpoint, 1)
        told += await at.tell(25)
        await asyncio.sleep(1.5)  # what the stream has is with whoever delivers a little later
        holding.set()
        await until(lambda: len(ids(endpoint)) == len(told))
        assert ids(endpoint) == told
        assert [len(json.loads(asked.body)) for asked in endpoint.asked] == [1, 10, 10, 5]
        for asked in endpoint.asked:
            assert asked.headers["content-type"].startswith("application/cloudevents-batch+json")
            assert verify(asked.headers, asked.body, hook["secret"])
        assert len({asked.headers["webhook-id"] for asked in endpoint.asked}) == 4


async def test_it_begins_where_it_is_told_to(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint() as now, Endpoint() as before:
        [first, second] = await at.tell(2)
        await at.add(now.url, "now")
        await at.add(before.url, "before", after="0")
        [third] = await at.tell()
        await came(before, 3)
        await came(now, 1)
        assert (ids(before), ids(now)) == ([first, second, third], [third])


async def test_what_was_heard_before_it_was_on_disk_was_told_before(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint() as endpoint, at.door.socket(at.name) as socket:
        sequence = await at.told.tell(at.name)
        await hear(socket, 1)
        await at.told.say_ahead(at.name, sequence + 1, 1)
        await hear(socket, 1)
        adding = asyncio.create_task(at.add(endpoint.url))
        await asyncio.sleep(0.2)
        await at.tell()
        await adding
        told = await at.tell(2)
        await came(endpoint, 2)
        assert ids(endpoint) == told


async def test_what_fails_is_tried_again_with_the_same_key_before_what_follows(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint(answers(status(503), None, status(500))) as endpoint:
        hook = await at.add(endpoint.url)
        told = await at.tell(3)
        await came(endpoint, 6)
        assert ids(endpoint) == [told[0]] * 4 + told[1:]
        first = endpoint.asked[:4]
        assert len({asked.headers["webhook-id"] for asked in first}) == 1
        assert len({asked.body for asked in first}) == 1
        assert all(verify(asked.headers, asked.body, hook["secret"]) for asked in endpoint.asked)
        assert first[2].came - first[1].came > 0.9, "one that does not answer is waited for"


async def test_retry_after(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint(answers(status(429, Retry_After="1"))) as endpoint:
        await at.add(endpoint.url)
        await at.tell()
        one, two = await came(endpoint, 2)
        assert 1.0 <= two.came - one.came < 3


async def test_what_is_given_up_is_a_dead_letter_and_the_rest_goes_on(shared: NatsServer) -> None:
    bad: set[str] = set()

    async def answer(asked: Asked) -> bytes:
        return status(422 if event_of(asked)["id"] in bad else 200)

    async with scene(shared) as at, Endpoint(answer) as endpoint:
        await at.add(endpoint.url)
        told = await at.tell(1)
        await came(endpoint, 1)
        bad.add(f"id-{int(told[0].removeprefix('id-')) + 1}")
        told += await at.tell(3)
        await until(lambda: ids(endpoint)[-1] == told[-1])
        assert ids(endpoint) == [told[0], *[told[1]] * 4, told[2], told[3]]
        [letter] = await at.dead()
        assert letter["event"]["id"] == told[1]
        assert letter["key"] == endpoint.asked[1].headers["webhook-id"]
        assert (letter["reason"], letter["attempts"]) == ("answered 422", 4)
        assert (await at.see())["dead"] == 1
        # Refused again it stays, with what was said last; taken, it goes.
        await at.do("dead/retry")
        await until(lambda: len(endpoint.asked) == 8)
        await until_true(lambda: _attempts(at, 5))
        bad.clear()
        await at.do("dead/retry")
        await until(lambda: len(endpoint.asked) == 9)
        assert endpoint.asked[-1].headers["webhook-id"] == letter["key"]
        await until_true(lambda: _nobody(at))


async def _attempts(at: object, count: int) -> bool:
    return [letter["attempts"] for letter in await at.dead()] == [count]  # type: ignore[attr-defined]


async def _nobody(at: object) -> bool:
    return not await at.dead()  # type: ignore[attr-defined]


async def test_dead_letters_stay_if_nobody_is_there_to_retry_them(shared: NatsServer) -> None:
    async with scene(shared) as at, AsyncExitStack() as stack:
        await at.add(nowhere(stack.enter_context(ExitStack())))
        told = await at.tell(3)

        async def all_dead() -> bool:
            return len(await at.dead()) == 3

        await until_true(all_dead)
        letters = await at.dead()
        assert [letter["event"]["id"] for letter in letters] == told
        assert {letter["reason"] for letter in letters} == {"cannot be reached (connection refused)"}
        await at.do("dead/retry")
        link = await stack.enter_async_context(Link(shared.url))

        async def tried() -> bool:
            hook = await Hooks(link).find(at.name, "hook")
            return (await Hooks(link).cursor(hook)).retried == hook.retry > 0

        await until_true(tried)
        assert await at.dead() == letters, "as they were, in order"
        async with Endpoint() as endpoint:
            await at.add(endpoint.url)
            await at.do("dead/retry")
            await came(endpoint, 3)
            assert ids(endpoint) == told


async def test_an_endpoint_that_is_gone_is_left_alone(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint(answers(status(410))) as endpoint:
        await at.add(endpoint.url)
        told = await at.tell(2)

        async def paused() -> bool:
            return bool((await at.see())["state"] == "paused")

        await until_true(paused)
        assert (await at.see())["reason"] == "the endpoint answered 410: gone"
        assert await at.dead() == []
        assert len(endpoint.asked) == 1
        await at.do("resume")
        await came(endpoint, 3)
        assert ids(endpoint) == [told[0], *told]


async def test_pause_and_resume(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint() as endpoint:
        await at.add(endpoint.url)
        told = await at.tell(2)
        await came(endpoint, 2)
        said = await at.do("pause")
        assert (said["state"], said["reason"]) == ("paused", f"paused by {at.name}")
        await heard(at)
        told += await at.tell(150)
        await asyncio.sleep(0.3)
        assert len(endpoint.asked) == 2
        assert (await at.do("resume"))["state"] == "active"
        await came(endpoint, 152)
        assert ids(endpoint) == told


async def test_a_pause_in_the_midst_of_it(shared: NatsServer) -> None:
    """What had been read and not been sent is not lost."""
    first, second = asyncio.Event(), asyncio.Event()

    async def answer(asked: Asked) -> bytes:
        is_first = any(asked is one for one in (*endpoint.asked[:1], *other.asked[:1]))
        await (first if is_first else second).wait()
        return status(200)

    async with scene(shared) as at, Endpoint(answer) as endpoint, Endpoint(answer) as other:
        await at.add(endpoint.url)
        await at.add(other.url, "batched", batch=3)
        told = await at.tell(1)
        await came(endpoint, 1)
        await came(other, 1)
        told += await at.tell(20)
        first.set()
        await came(endpoint, 2)
        await came(other, 2)
        await at.do("pause")
        await at.do("pause", "batched")
        await heard(at)
        second.set()
        await asyncio.sleep(0.3)
        assert (len(endpoint.asked), len(other.asked)) == (2, 2)
        await at.do("resume")
        await at.do("resume", "batched")
        await until(lambda: len(ids(endpoint)) == len(ids(other)) == 21)
        assert ids(endpoint) == ids(other) == told


async def test_a_change_of_mind_is_heard_while_one_waits(shared: NatsServer) -> None:
    """One that waits for an endpoint that asked for an hour goes to another at once."""
    hour = answers(*[status(503, Retry_After="3000")] * 9)
    async with scene(shared) as at, Endpoint(hour) as busy, Endpoint() as other:
        await at.add(busy.url)
        told = await at.tell(5)
        await came(busy, 1)

        async def failing() -> bool:
            return bool((await at.see())["state"] == "failing")

        await until_true(failing)
        seen = await at.see()
        assert (seen["attempts"], seen["reason"]) == (1, "answered 503")
        changed = await at.add(other.url)
        assert "secret" not in changed
        await came(other, 5)
        assert ids(other) == told


async def test_rotation(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint() as endpoint:
        old = (await at.add(endpoint.url))["secret"]
        new = (await at.do("rotate"))["secret"]
        assert new != old
        assert new.startswith("whsec_")
        await heard(at)
        await at.tell()
        [asked] = await came(endpoint, 1)
        assert verify(asked.headers, asked.body, old)
        assert verify(asked.headers, asked.body, new)
        newest = (await at.do("rotate"))["secret"]
        await heard(at)
        await at.tell()
        _, asked = await came(endpoint, 2)
        assert [verify(asked.headers, asked.body, secret) for secret in (old, new, newest)] == [False, True, True]


async def test_one_that_is_removed_hears_no_more(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint(answers(*[status(503)] * 2)) as endpoint, Endpoint() as other:
        await at.add(endpoint.url)
        await at.add(other.url, "other")
        await at.tell()
        await came(other, 1)
        (await at.http.delete("/v1/webhooks/hook")).raise_for_status()
        assert (await at.http.get("/v1/webhooks/hook")).status_code == 404
        await heard(at)
        before = len(endpoint.asked)
        told = await at.tell(2)
        await came(other, 3)
        await asyncio.sleep(0.2)
        assert len(endpoint.asked) == before
        # Another of the same name knows nothing of it.
        await at.add(endpoint.url)
        await at.tell()
        await until(lambda: len(endpoint.asked) == before + 1)
        assert ids(endpoint)[-1] not in told


async def test_a_test(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint(answers(status(200), status(404))) as endpoint:
        hook = await at.add(endpoint.url)
        tested = await until_true(lambda: tried(at))
        assert tested == {"outcome": "delivered"}
        [asked] = await came(endpoint, 1)
        assert event_of(asked)["type"] == "nearcast.test"
        assert verify(asked.headers, asked.body, hook["secret"])
        again = await at.http.post("/v1/webhooks/hook/test")
        assert (again.status_code, again.headers["retry-after"]) == (429, "1")
        await asyncio.sleep(1)
        assert await at.do("test") == {"outcome": "refused", "reason": "answered 404"}
        assert await at.dead() == []


async def test_what_an_endpoint_may_not_do(shared: NatsServer) -> None:
    """It cannot send anyone elsewhere, talk for ever, or talk too much."""

    async def forever(_asked: Asked) -> bytes:
        return b"HTTP/1.1 200 OK\r\nX-More: to come"

    async def drip(_asked: Asked) -> bytes:
        return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"

    async def long(_asked: Asked) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 10**6

    async def nonsense(_asked: Asked) -> bytes:
        return b"220 smtp.example.com ESMTP\r\n"

    async with (
        scene(shared) as at,
        Endpoint() as elsewhere,
        Endpoint(answers(*[status(307, Location=elsewhere.url)] * 9)) as redirects,
        Endpoint(forever) as begins,
        Endpoint(drip) as drips,
        Endpoint(long) as talks,
        Endpoint(nonsense) as speaks_other,
    ):
        all_ = {"redirects": redirects, "begins": begins, "drips": drips, "talks": talks, "other": speaks_other}
        for name, endpoint in all_.items():
            await at.add(endpoint.url, name)
        await at.tell()

        async def given_up() -> bool:
            return bool(await at.dead("redirects")) and bool(await at.dead("other"))

        await until_true(given_up)
        [letter] = await at.dead("redirects")
        assert letter["reason"] == "answered 307; redirects are not followed"
        [letter] = await at.dead("other")
        assert letter["reason"] == "the answer is not HTTP"
        assert elsewhere.asked == []
        await until(lambda: len(begins.asked) >= 2)
        assert begins.asked[1].came - begins.asked[0].came > 0.9
        assert len(drips.asked) == len(talks.asked) == 1, "what follows a status does not matter"


async def test_metrics(shared: NatsServer) -> None:
    async with scene(shared) as at, Endpoint() as endpoint:
        hook = await at.add(endpoint.url)
        await at.tell()
        await came(endpoint, 1)
        operator = await at.door.client("operator")
        text = (await operator.get("/v1/metrics/webhooks")).raise_for_status().text
        assert 'nearcast_webhook_requests_total{outcome="delivered"}' in text
        assert 'nearcast_webhooks{state="active"}' in text
        for name in ("nearcast_webhook_delay_seconds_count", "nearcast_webhook_lag_seconds", "webhook_dead_total"):
            assert name in text
        for hidden in (hook["secret"], at.name, endpoint.url):
            assert hidden not in text
        assert (await at.http.get("/v1/metrics/webhooks")).status_code == 403


async def test_the_client_for_programs(shared: NatsServer) -> None:
    name = fresh("program")
    async with (
        scene(shared) as at,
        Endpoint(answers(*[status(400)] * 4)) as endpoint,
        Client(at.door.url, f"token-{name}") as me,
    ):
        made = await me.add_webhook("a", endpoint.url, batch=5, after="0")
        assert made["secret"].startswith("whsec_")
        assert "secret" not in await me.add_webhook("a", endpoint.url)
        assert [(hook["id"], hook["state"]) for hook in await me.webhooks()] == [("a", "active")]
        await at.told.tell(name)

        async def dead() -> list[str]:
            return [letter["reason"] async for letter in me.dead_letters("a")]

        assert await until_true(dead) == ["answered 400"]
        assert (await me.webhook("a"))["dead"] == 1
        assert (await me.pause_webhook("a"))["state"] == "paused"
        assert (await me.resume_webhook("a"))["state"] == "active"
        assert (await me.rotate_webhook("a")).startswith("whsec_")
        assert (await me.test_webhook("a"))["outcome"] == "delivered"
        await me.retry_dead_letters("a")
        await came(endpoint, 6)
        await me.remove_webhook("a")
        assert await me.webhooks() == []
        with pytest.raises(GatewayError, match="there is no webhook 'a'"):
            await me.webhook("a")


def test_the_shell(shared: NatsServer) -> None:
    """What the page about webhooks does not show."""

    async def serving(use: Callable[[str], None]) -> None:
        async with gateway(shared.url, Settings(private=True)) as door:
            await asyncio.to_thread(use, door.url)

    def use(url: str) -> None:
        where = ["--url", url, "--token", f"token-{fresh('shell')}"]
        said = [
            CliRunner().invoke(cli, ["webhook", *words, *where], catch_exceptions=False).output
            for words in (["add", "a", "http://127.0.0.1:1/"], ["add", "a", "http://127.0.0.1:2/"], ["rotate", "a"],
                          ["resume", "a"], ["list", "--json"])
        ]  # fmt: skip
        assert said[0].startswith("whsec_")
        assert said[1] == "changed a\n"
        assert said[2].startswith("whsec_")
        assert said[2] != said[0]
        assert said[3] == "resumed a\n"
        assert [hook["url"] for hook in json.loads(said[4])] == ["http://127.0.0.1:2/"]

        def object_of(*words: str) -> dict[str, object]:
            done = CliRunner().invoke(cli, ["webhook", *words, *where, "--json"], catch_exceptions=False)
            found = json.loads(done.output)
            assert isinstance(found, dict)
            return {**found, "exit": done.exit_code}

        rotated = object_of("rotate", "a")
        assert (rotated["id"], str(rotated["secret"])[:6]) == ("a", "whsec_")
        tested: dict[str, object] = {}
        end = time.monotonic() + PATIENCE
        while not tested and time.monotonic() < end:  # a process hears of a new webhook a moment later
            with suppress(GatewayError):
                tested = object_of("test", "a")
        assert (tested["outcome"], tested["exit"]) == ("away", 1)
        removed = object_of("remove", "a")
        assert (removed["id"], removed["state"], removed["exit"]) == ("a", "removed", 0)

    asyncio.run(serving(use))


async def test_each_that_is_listed_counts(shared: NatsServer) -> None:
    async with scene(shared, Settings(private=True, rate=10)) as at:
        for number in range(15):
            made = await at.http.put(f"/v1/webhooks/{number}", json={"url": "http://127.0.0.1:1/"})
            assert made.status_code == 200
        codes = [(await at.http.get("/v1/webhooks")).status_code for _ in range(20)]
        assert (codes[0], set(codes)) == (200, {200, 429}), "each is 15 ops, of 100 at once"


async def test_each_has_its_own(shared: NatsServer) -> None:
    async with scene(shared, Settings(private=True, webhooks=3)) as at, Endpoint() as endpoint:
        made = [await at.add(endpoint.url, name) for name in ("a", "b", "c")]
        refused = await at.http.put("/v1/webhooks/d", json={"url": endpoint.url})
        assert (refused.status_code, refused.json()["detail"]) == (
            409,
            "a client has at most 3 webhooks; remove one first",
        )
        assert len({hook["secret"] for hook in made}) == 3
        listed = (await at.http.get("/v1/webhooks")).json()["webhooks"]
        assert [hook["id"] for hook in listed] == ["a", "b", "c"]
        assert not any("secret" in text for text in ((await at.http.get("/v1/webhooks")).text, str(await at.see("a"))))
        bob, operator = await at.door.client(fresh("bob")), await at.door.client("operator")
        assert (await bob.get("/v1/webhooks")).json() == {"webhooks": []}
        for method, path in (
            ("GET", "a"), ("DELETE", "a"), ("POST", "a/pause"), ("POST", "a/resume"), ("POST", "a/rotate"),
            ("GET", "a/dead"), ("POST", "a/dead/retry"), ("POST", "a/test"),
        ):  # fmt: skip
            theirs = await bob.request(method, f"/v1/webhooks/{path}")
            nobodys = await bob.request(method, f"/v1/webhooks/{path.replace('a', 'zz', 1)}")
            assert theirs.status_code == nobodys.status_code == 404
            assert (await bob.request(method, f"/v1/webhooks/{path}?client={at.name}")).status_code == 403
        acting = await operator.post(f"/v1/webhooks/a/pause?client={at.name}")
        assert acting.json()["reason"] == "paused by operator"
        assert (await at.see("a"))["state"] == "paused"


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({"url": "ftp://example.com/"}, "url", "a webhook goes to http://host"),
        ({"url": "http:///x"}, "url", "a webhook goes to http://host"),
        ({"url": "http://u:p@example.com/"}, "url", "leave the password out"),
        ({"url": "http://exa mple.com/"}, "url", "no spaces"),
        ({"url": "http://example.com:99999/"}, "url", "not a URL"),
        ({"url": "http://[::1/"}, "url", "not a URL"),
        ({"url": "http://example.com/" + "x" * 3000}, "url", "at most 2,048"),
        ({"url": "http://example.com/#x"}, "url", "after #"),
        ({"url": "http://169.254.169.254/"}, "url", "may be called"),
        ({"url": "http://127.0.0.1/", "batch": 0}, "batch", "1 to 100"),
        ({"url": "http://127.0.0.1/", "batch": 101}, "batch", "1 to 100"),
        ({"url": "http://127.0.0.1/", "after": "7"}, "after", "is not a cursor"),
        ({"url": "http://127.0.0.1/", "secret": "x"}, "secret", "secret"),
        ({}, "", "url"),
    ],
)
async def test_what_cannot_be_one(shared: NatsServer, body: dict[str, object], field: str, reason: str) -> None:
    async with scene(shared) as at:
        answer = await at.http.put("/v1/webhooks/hook", json=body)
        said = answer.json()
        assert answer.status_code == 422
        assert said.get("field", "") == field
        assert reason in said["detail"]
        answer = await at.http.put("/v1/webhooks/a.b", json={"url": "http://127.0.0.1/"})
        assert (answer.status_code, answer.json()["field"]) == (422, "id")
