"""Nobody reaches what is inside by a webhook: real processes, real names, real sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nearcast.bench.endpoints import Asked, Endpoint
from nearcast.gateway.call import Settings
from nearcast.gateway.grants import Role
from nearcast.gateway.hooks import Hooks, new_hook
from nearcast.gateway.identity import TokenFile, add_token, revoke
from nearcast.gateway.letters import Letter, Letters
from nearcast.gateway.link import Link
from nearcast.gateway.resolving import Found, Resolver
from nearcast.log.server import NatsServer
from nearcast.webhooks.answers import HEAD as HEAD_BYTES
from nearcast.webhooks.policy import Kind
from nearcast.webhooks.sending import Sender
from tests.gateway.running import fresh, gateway, teller
from tests.webhooks.running import (
    QUICK,
    Scene,
    answers,
    came,
    delivering,
    ids,
    scene,
    server_tls,
    status,
    until,
    until_true,
)

NDJSON = {"content-type": "application/x-ndjson"}
REASON = "no address is known for this host that may be called"


async def test_it_is_refused_when_it_is_made(server: NatsServer) -> None:
    async with scene(server, Settings()) as at, Endpoint() as endpoint:
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"):
            answer = await at.http.put("/v1/webhooks/hook", json={"url": f"http://{host}:{endpoint.port}/"})
            assert (answer.status_code, answer.json()["detail"]) == (422, REASON)
        assert (await at.http.get("/v1/webhooks")).json() == {"webhooks": []}
        assert endpoint.connections == 0


async def test_names_that_nobody_answers_are_only_their_clients_trouble(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, silence = socket.getaddrinfo, threading.Event()

    def getaddrinfo(host: str | bytes | None, *further: Any, **named: Any) -> list[Any]:
        if "silent" in str(host):
            silence.wait(30)
        return known("8.8.8.8" if host == "well.example" else host, *further, **named)

    async with scene(server, Settings()) as at:
        eve = await at.door.client("eve")
        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        try:
            urls = [f"http://silent{number}.invalid/" for number in range(100)]
            answers = await asyncio.gather(*(eve.put("/v1/webhooks/hook", json={"url": url}) for url in urls))
            assert {(answer.status_code, answer.json()["detail"]) for answer in answers} == {(422, REASON)}
            await at.add("http://well.example/")
        finally:
            silence.set()


async def test_it_is_refused_at_each_connection(server: NatsServer) -> None:
    """Though the registry says otherwise, as it would if a name had led elsewhere when it was made."""
    async with scene(server) as at, Endpoint() as endpoint:
        urls = [f"http://{host}:{endpoint.port}/" for host in ("127.0.0.1", "localhost", "[::1]")]
        for number, url in enumerate(urls):
            await at.add(url, f"hook{number}")
        with delivering(server.url, *QUICK, "--attempts", "2", private=False):
            await at.tell()
            for number in range(len(urls)):

                async def dead(number: int = number) -> list[dict[str, object]]:
                    return await at.dead(f"hook{number}")

                [letter] = await until_true(dead)
                assert letter["reason"] == REASON
            tested = await at.do("test", "hook0")
            assert tested == {"outcome": "away", "reason": REASON}
        assert endpoint.connections == 0


async def test_an_address_is_looked_at_after_its_name(server: NatsServer) -> None:
    """A name whose answer is another one each time: what is called is what was looked at."""
    answers = [[Found(2, "127.0.0.1")], [Found(2, "8.8.8.8"), Found(2, "127.0.0.1")]]

    def lookup(_host: str) -> list[Found]:
        return answers[0]

    async with Endpoint() as endpoint:
        resolver = Resolver(private=False, lookup=lookup)
        async with Sender(private=False, timeout=1, resolver=resolver) as sender:
            outcome = await sender.post(f"http://rebinds.example:{endpoint.port}/", {}, b"x")
            assert (outcome.kind, outcome.reason) == (Kind.AWAY, REASON)
        # With a resolver that lets it through, the socket does not.
        resolver = Resolver(private=True, lookup=lookup)
        async with Sender(private=False, timeout=1, resolver=resolver) as sender:
            outcome = await sender.post(f"http://rebinds.example:{endpoint.port}/", {}, b"x")
            assert (outcome.kind, outcome.reason) == (Kind.AWAY, REASON)
            outcome = await sender.post(f"http://127.0.0.1:{endpoint.port}/", {}, b"x")
            assert (outcome.kind, outcome.reason) == (Kind.AWAY, REASON)
        assert endpoint.connections == 0
        async with Sender(private=True, timeout=1, resolver=Resolver(private=True, lookup=lookup)) as sender:
            outcome = await sender.post(f"http://rebinds.example:{endpoint.port}/", {}, b"x")
            assert outcome.kind is Kind.DELIVERED


HEAD = b"HTTP/1.1 200 OK\r\n"
HOSTILE = {
    "headers without end": HEAD + b"X-B: bbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n" * 100_000,
    "a header without end": HEAD + b"X: " + b"a" * 10**6,
    "many headers": HEAD + b"".join(b"X-%d: b\r\n" % number for number in range(50_000)) + b"\r\n",
    "another protocol": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "a wrong status": b"HTTP/1.1 99999 OK\r\n\r\n",
    "promises without an answer": b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
    "promises of some length": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_answers_that_are_made_to_hurt(name: str) -> None:
    async def answer(_asked: Asked) -> bytes:
        return HOSTILE[name]

    async with Endpoint(answer) as endpoint, Sender(private=True, timeout=1) as sender:
        for _ in range(2):
            assert (await sender.post(endpoint.url, {}, b"x")).kind is Kind.AWAY
        assert endpoint.connections == 2, "such a connection is not used again"


PROMISE = b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.parametrize("is_tls", [False, True])
async def test_promises_without_an_answer_have_an_end(pem: Path, monkeypatch: pytest.MonkeyPatch, is_tls: bool) -> None:
    """Not only when the time is up. An endpoint that answers may make as many, for each request anew."""
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    tls = server_tls(pem) if is_tls else None
    many = PROMISE * (HEAD_BYTES // len(PROMISE) - 2)
    said = [many + status(200)] * 3 + [many * 3 + status(200)]

    async with Endpoint(answers(*said), tls=tls) as endpoint, Sender(private=True, timeout=20) as sender:
        for _ in range(3):
            assert (await sender.post(endpoint.url, {}, b"x")).kind is Kind.DELIVERED
        assert endpoint.connections == 1
        outcome = await sender.post(endpoint.url, {}, b"x")
        assert (outcome.kind, outcome.reason) == (Kind.AWAY, "the answer is not HTTP")
        assert len(endpoint.asked) == 4, "it is not asked once more at once"


async def test_what_comes_after_an_answer_is_not_kept() -> None:
    """Neither what is sent at once, nor what comes while a connection waits to be used again."""
    large = b"HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n" + b"x" * 300_000
    async with Endpoint(answers(status(200) + PROMISE, large)) as endpoint, Sender(private=True, timeout=20) as sender:
        for _ in range(3):
            assert (await sender.post(endpoint.url, {}, b"x")).kind is Kind.DELIVERED
        assert endpoint.connections == 3
        await until(lambda: endpoint.open == 1)
        endpoint.say(PROMISE)
        await until(lambda: endpoint.open == 0, "it is closed at once")
        assert (await sender.post(endpoint.url, {}, b"x")).kind is Kind.DELIVERED


async def test_no_proxy_is_asked(server: NatsServer) -> None:
    """One of the environment would call for us what we may not."""
    async with scene(server) as at, Endpoint() as proxy, Endpoint() as endpoint:
        await at.add(endpoint.url)
        with delivering(server.url, http_proxy=proxy.url, HTTP_PROXY=proxy.url, ALL_PROXY=proxy.url):
            await at.tell()

            await came(endpoint, 1)
        assert proxy.connections == 0


async def test_secrets_are_in_no_answer_and_no_log(
    server: NatsServer, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with scene(server) as at, Endpoint() as endpoint:
        with delivering(server.url, *QUICK, "--attempts", "2"):
            secret = (await at.add(endpoint.url))["secret"]
            await at.add("http://127.0.0.1:1/private-path", "dead")
            await at.tell()

            async def dead() -> object:
                return await at.dead("dead")

            await until_true(dead)
            said = [
                (await at.http.request(method, f"/v1/webhooks{path}")).text
                for method, path in (
                    ("GET", ""), ("GET", "/hook"), ("GET", "/hook/dead"), ("POST", "/hook/pause"),
                    ("POST", "/hook/resume"), ("POST", "/hook/dead/retry"), ("POST", "/hook/test"), ("DELETE", "/hook"),
                )
            ]  # fmt: skip
            operator = await at.door.client("operator")
            said.append((await operator.get("/v1/metrics/webhooks")).text)
            said.append((await operator.get("/v1/metrics")).text)
    out, err = capfd.readouterr()
    assert "gives up" in err
    for text in (*said, out, err, caplog.text):
        assert secret not in text
        assert secret.removeprefix("whsec_") not in text
    assert "private-path" not in out + err


async def test_a_webhook_whose_maker_has_no_token_is_held(server: NatsServer, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    async with scene(server) as at, Endpoint() as endpoint, Endpoint() as theirs:
        add_token(tokens, at.name)
        add_token(tokens, "operator", Role.OPERATOR)
        await at.add(endpoint.url)
        operator = await at.door.client("operator")
        made = await operator.put(f"/v1/webhooks/other?client={at.name}", json={"url": theirs.url})
        made.raise_for_status()
        with delivering(server.url, *QUICK, "--tokens", str(tokens)):
            await at.tell()
            await came(endpoint, 1)
            revoke(tokens, client=at.name)
            add_token(tokens, at.name, Role.DEVICE)

            async def held() -> bool:
                return 'webhooks{state="held"} 1.0' in (await operator.get("/v1/metrics/webhooks")).text

            await until_true(held)
            told = await at.tell(2)
            await came(theirs, 3)
            await asyncio.sleep(0.3)
            assert len(endpoint.asked) == 1, "a token that is gone opens no door"
            add_token(tokens, at.name)
            await came(endpoint, 3)
            assert ids(endpoint)[1:] == told


async def test_one_record_that_cannot_be_read_is_not_the_others_trouble(server: NatsServer) -> None:
    async with scene(server) as at, Endpoint() as endpoint, Link(server.url) as link:
        await Hooks(link).put("bob", "hook", new_hook("hook", endpoint.url, 0, "bob", None))
        bucket = await link.log.client.jetstream().key_value("nearcast-webhooks")
        await bucket.put("bob", b"nonsense")
        await Letters(link.log).create()
        await Letters(link.log).add("of-bob", Letter("k", "", 1, "", "", msgspec.Raw(b"{}")))
        await at.add(endpoint.url)
        with delivering(server.url):
            await at.tell()
            await came(endpoint, 1)
        assert await Letters(link.log).counts() == {"of-bob": 1}, "what is not understood is not cleared away"
        await bucket.delete("bob")
        with delivering(server.url):
            await at.tell()
            await came(endpoint, 2)

            async def cleared() -> bool:
                return await Letters(link.log).counts() == {}

            await until_true(cleared)


async def test_one_whose_maker_has_no_token_is_shown_as_held_and_can_be_taken_over(
    server: NatsServer, tmp_path: Path
) -> None:
    tokens, name = tmp_path / "tokens.json", fresh("ann")
    ann, boss, chief = (
        add_token(tokens, who, role)
        for who, role in ((name, Role.CLIENT), ("boss", Role.OPERATOR), ("chief", Role.OPERATOR))
    )
    async with (
        gateway(server.url, Settings(private=True), identities=TokenFile(tokens)) as door,
        teller(server.url) as told,
        Endpoint() as endpoint,
    ):
        me, operator, other = await door.bearer(ann), await door.bearer(boss), await door.bearer(chief)
        scene_ = Scene(door, told, name, me)
        made = await operator.put(f"/v1/webhooks/hook?client={name}", json={"url": endpoint.url})
        assert made.raise_for_status().json()["state"] == "active"
        with delivering(server.url, *QUICK, "--tokens", str(tokens)):
            await scene_.tell()
            await came(endpoint, 1)
            revoke(tokens, client="boss")

            async def held() -> bool:
                return bool((await scene_.see())["state"] == "held")

            async def counted() -> bool:
                text = (await other.get("/v1/metrics/webhooks")).raise_for_status().text
                return 'webhooks{state="held"} 1.0' in text and 'webhooks{state="paused"} 0.0' in text

            await until_true(held)
            await until_true(counted)
            assert (await scene_.see())["reason"] == (
                "made by boss, whose tokens do not allow it any more; add it again to take it over"
            )
            [listed] = (await me.get("/v1/webhooks")).json()["webhooks"]
            assert listed["state"] == "held"
            assert (await scene_.do("pause"))["state"] == "paused", "what was meant comes first"
            assert (await scene_.do("resume"))["state"] == "held"
            waiting = await scene_.tell(2)
            taken = await scene_.add(endpoint.url)
            assert taken["state"] == "active"
            assert "secret" not in taken
            await came(endpoint, 3)
            assert ids(endpoint)[1:] == waiting


async def test_forgetting_takes_the_webhooks_along(server: NatsServer) -> None:
    async with scene(server) as at, Endpoint() as endpoint:
        await at.told.answer()
        operator, line = await at.door.client("operator"), {"op": "client", "client": at.name, "forget": True}
        with delivering(server.url):
            for _ in range(2):
                await at.add(endpoint.url)
                await at.do("pause")
                await at.tell(3)
                assert (await at.http.delete("/v1/client")).status_code == 200
                assert await none(at)
            await at.add(endpoint.url)
            await at.do("pause")
            lines = json.dumps({"time": time.time(), **line})
            (await operator.post("/v1/positions", content=lines, headers=NDJSON)).raise_for_status()
            assert await none(at)
            await asyncio.sleep(0.5)
        assert endpoint.connections == 0


async def none(at: Scene) -> bool:
    return bool((await at.http.get("/v1/webhooks")).json() == {"webhooks": []})


async def test_webhooks_stay_if_their_client_is_not_forgotten(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before it is; and if that is all that was done, trying again does the rest."""
    monkeypatch.setattr("nearcast.gateway.app.BROKER", 2.0)
    async with scene(server, Settings(private=True, rate=0.1)) as at:
        made = await at.add("http://127.0.0.1:1/")
        assert (await at.http.delete("/v1/client")).status_code == 429
        operator, mine = await at.door.client("operator"), {"client": at.name}
        assert (await operator.delete("/v1/client", params=mine)).status_code == 503, "no broker is there"
        line = json.dumps({"op": "client", "time": 1, "client": at.name, "forget": True})
        large = line.replace(",", "," + " " * 2**20, 1)
        assert (await operator.post("/v1/positions", content=large, headers=NDJSON)).status_code == 413
        assert (await at.see())["created"] == made["created"]
        await at.told.answer()
        at.told.refused = [{"index": 0, "kind": "client", "reason": "there is no client"}]
        assert (await operator.delete("/v1/client", params=mine)).status_code == 200
        assert await none(at)
        assert (await operator.delete("/v1/client", params=mine)).status_code == 404
