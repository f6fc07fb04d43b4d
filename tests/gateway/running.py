"""What the tests of the gateway run: brokers, gateways, and whoever speaks with them."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx
import nats
from nats.aio.client import Client as Nats
from nats.aio.msg import Msg
from websockets.asyncio.client import ClientConnection, connect

from nearcast.gateway.call import Settings
from nearcast.gateway.grants import Role
from nearcast.gateway.identity import Entry, Identities, Identity
from nearcast.gateway.seal import Seal
from nearcast.gateway.server import make_server
from nearcast.log.client import Log
from nearcast.log.subjects import AHEAD_SUBJECT, OUT_STREAM, ask_subject, out_subject

PATIENCE = 20.0
COMPILED = 120.0
"""Seconds until a broker answers that has to compile what is fast first."""
_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """A client that no other test knows."""
    return f"{name}-{next(_numbers)}"


class Names:
    """Tokens that say whose they are."""

    def identify(self, token: str) -> Identity | None:
        if token == "operator":
            return Identity("operator", Role.OPERATOR)
        return Identity(token.removeprefix("token-")) if token.startswith("token-") else None

    def holds(self, who: Identity) -> bool:
        return bool(who.client)

    def roles(self, client: str) -> set[Role]:
        return {Role.OPERATOR if client == "operator" else Role.CLIENT}

    def issue(self, client: str, role: Role, seconds: float | None) -> str:
        raise NotImplementedError

    def entries(self) -> dict[str, Entry]:
        return {}

    def revoke(self, id_: str) -> bool:
        return bool(id_) and False


class Live:
    """A broker, in a process of its own."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> Self:
        self._process = subprocess.Popen([sys.executable, "-m", "nearcast.broker", "--nats", self.url])
        asyncio.run(self._answers())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    async def _answers(self) -> None:
        client = await nats.connect(self.url)
        until = time.monotonic() + COMPILED
        while True:
            try:
                await client.request(ask_subject("health"), b"{}", timeout=1)
                break
            except nats.errors.Error:
                assert time.monotonic() < until, "the broker does not answer"
                await asyncio.sleep(0.1)
        await client.close()


@dataclass
class Door:
    """A gateway that runs in this loop."""

    url: str
    _stack: AsyncExitStack
    _nats: str

    async def client(self, name: str) -> httpx.AsyncClient:
        """Requests of a client, or of the operator."""
        return await self.bearer(name if name == "operator" else f"token-{name}")

    async def bearer(self, token: str) -> httpx.AsyncClient:
        made = httpx.AsyncClient(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)
        return await self._stack.enter_async_context(made)

    async def seal(self) -> Seal:
        """By which places in the stream are shown."""
        return await seal_of(self._nats)

    def socket(self, name: str, after: str | None = None) -> connect:
        query = "" if after is None else f"?after={after}"
        headers = {"Authorization": f"Bearer token-{name}"}
        return connect(f"ws{self.url.removeprefix('http')}/v1/ws{query}", additional_headers=headers, compression=None)


async def seal_of(url: str) -> Seal:
    async with Log(url) as log:
        return await Seal.of(log)


@asynccontextmanager
async def gateway(
    url: str, settings: Settings | None = None, port: int = 0, identities: Identities | None = None
) -> AsyncIterator[Door]:
    running = make_server(url, identities or Names(), settings, port=port)
    task = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0.005)
        if task.done():
            task.result()
            raise AssertionError("the gateway did not start")
    port = running.servers[0].sockets[0].getsockname()[1]
    try:
        async with AsyncExitStack() as stack:
            yield Door(f"http://127.0.0.1:{port}", stack, url)
    finally:
        running.should_exit = True
        await task


# ---- what is told, without a broker --------------------------------------------------------------------


def notification(number: int, kind: str = "enter", about: str = "x") -> dict[str, Any]:
    return {
        "id": f"id-{number}",
        "time": "2026-01-01T00:00:00Z",
        "kind": kind,
        "subscription": "s",
        "subscriber": "ann",
        "publisher": None,
        "publication": about,
        "region": None,
        "peer": None,
        "reason": "moved",
        "values": {"value": number},
    }


class Teller:
    """Writes notifications as a broker does, and answers for one what the tests say."""

    def __init__(self, client: Nats) -> None:
        self._client = client
        self._count = itertools.count(1)
        self.last = ""
        """The id of what was told last."""
        self.state: dict[str, Any] = {"sequence": 0, "notifications": []}
        self.refused: list[dict[str, Any]] = []
        """What is refused of every packet."""

    async def tell(self, name: str, kind: str = "enter", about: str = "x") -> int:
        """The next notification of a client; its id is numbered."""
        said = notification(next(self._count), kind, about)
        self.last, body = said["id"], json.dumps(said).encode()
        return (await self._client.jetstream().publish(out_subject(name), body)).seq

    async def say_ahead(self, name: str, first: int, count: int) -> None:
        """What will be told to a client, as the numbers in its ids have it, from a sequence on."""
        told = [[out_subject(name), notification(number)] for number in range(first, first + count)]
        await self._client.publish(AHEAD_SUBJECT, json.dumps([first, told]).encode())

    async def cut(self, first: int) -> None:
        """Have the stream begin with a sequence, as when there was no more room for what came before."""
        await self._client.jetstream().purge_stream(OUT_STREAM, seq=first)

    async def answer(self) -> None:
        async def state(message: Msg) -> None:
            await message.respond(json.dumps(self.state).encode())

        async def applied(message: Msg) -> None:
            await message.respond(json.dumps({"refused": self.refused}).encode())

        await self._client.subscribe(ask_subject("state"), cb=state)
        await self._client.subscribe(ask_subject("applied"), cb=applied)
        await self._client.flush()


@asynccontextmanager
async def teller(url: str) -> AsyncIterator[Teller]:
    client = await nats.connect(url)
    try:
        yield Teller(client)
    finally:
        await client.close()


# ---- hearing -------------------------------------------------------------------------------------------


async def hear(socket: ClientConnection, count: int) -> list[dict[str, Any]]:
    """That many events of a WebSocket; heartbeats and answers are passed over."""
    heard: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE) as patience:
        while len(heard) < count:
            message = json.loads(await socket.recv())
            if "specversion" in message:
                heard.append(message)
                patience.reschedule(asyncio.get_running_loop().time() + PATIENCE)
    return heard


async def listen(
    client: httpx.AsyncClient, count: int, after: str | None = None, last: str | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """That many server-sent events, with their ids."""
    heard: list[tuple[str, dict[str, Any]]] = []
    place = ""
    params = {} if after is None else {"after": after}
    headers = {} if last is None else {"Last-Event-ID": last}
    async with (
        asyncio.timeout(PATIENCE) as patience,
        client.stream("GET", "/v1/events", params=params, headers=headers) as stream,
    ):
        assert stream.status_code == 200, await stream.aread()
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "id":
                place = value
            if name == "data":
                heard.append((place, json.loads(value)))
                patience.reschedule(asyncio.get_running_loop().time() + PATIENCE)
                if len(heard) == count:
                    break
    return heard


def ids(events: list[dict[str, Any]]) -> list[str]:
    return [event["id"] for event in events]
