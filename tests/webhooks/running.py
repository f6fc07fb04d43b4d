"""What the tests of webhooks run: processes that deliver, endpoints, and someone who checks what comes in."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from nearcast.bench.endpoints import Asked, Endpoint
from nearcast.gateway.call import Settings
from nearcast.log.server import NatsServer
from nearcast.webhooks.policy import Policy
from nearcast.webhooks.service import Service
from nearcast.webhooks.service import Settings as HookSettings
from tests.gateway.running import Door, Teller, fresh, gateway, teller

PATIENCE = 20.0
QUICK = ("--first-wait", "0.02", "--timeout", "4", "--lease", "0.8")
"""Attempts follow each other soon, and so do processes. An endpoint of a busy machine may take a while to answer."""


@contextmanager
def delivering(url: str, *options: str, private: bool = True, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that delivers to webhooks."""
    words = [sys.executable, "-m", "nearcast.webhooks", "--nats", url, *(["--private"] if private else []), *options]
    process = subprocess.Popen(words, env={**os.environ, **env})
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[None]:
    """The same in this process, where what it uses can be made to fail. It tries twice."""
    settings = HookSettings(private=True, timeout=4, policy=Policy(attempts=2, refusals=2, first=0.02))
    service = Service(url, "here", settings)
    running = asyncio.create_task(service.run())
    try:
        yield
    finally:
        service.end()
        await running


@dataclass
class Scene:
    """A gateway, and someone who tells clients things without a broker."""

    door: Door
    told: Teller
    name: str
    http: httpx.AsyncClient

    async def add(self, url: str, id_: str = "hook", **further: Any) -> dict[str, Any]:
        answer = await self.http.put(f"/v1/webhooks/{id_}", json={"url": url, **further})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def see(self, id_: str = "hook") -> dict[str, Any]:
        found: dict[str, Any] = (await self.http.get(f"/v1/webhooks/{id_}")).raise_for_status().json()
        return found

    async def dead(self, id_: str = "hook") -> list[dict[str, Any]]:
        answer = (await self.http.get(f"/v1/webhooks/{id_}/dead")).raise_for_status().json()
        found: list[dict[str, Any]] = answer["letters"]
        return found

    async def do(self, verb: str, id_: str = "hook") -> dict[str, Any]:
        found: dict[str, Any] = (await self.http.post(f"/v1/webhooks/{id_}/{verb}")).raise_for_status().json()
        return found

    async def tell(self, count: int = 1) -> list[str]:
        """The ids of what the client is told."""
        ids = []
        for _ in range(count):
            await self.told.tell(self.name)
            ids.append(self.told.last)
        return ids


@asynccontextmanager
async def scene(server: NatsServer, settings: Settings | None = None) -> AsyncIterator[Scene]:
    async with gateway(server.url, settings or Settings(private=True)) as door, teller(server.url) as told:
        name = fresh("ann")
        yield Scene(door, told, name, await door.client(name))


def server_tls(pem: Path) -> ssl.SSLContext:
    """What an endpoint speaks TLS with."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    return context


# ---- what comes in -------------------------------------------------------------------------------------


def status(code: int, **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {code} -\r\ncontent-length: 0\r\n{lines}\r\n".encode()


def answers(*said: bytes | None) -> Callable[[Asked], Awaitable[bytes | None]]:
    """The first answers; then all is well."""
    left = list(said)

    async def answer(_asked: Asked) -> bytes | None:
        return left.pop(0) if left else status(200)

    return answer


def event_of(asked: Asked) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(asked.body)
    return found


def ids(endpoint: Endpoint) -> list[str]:
    """Of the events that came, one by one or in lists."""
    return [id_ for asked in endpoint.asked for id_ in ids_of(asked)]


def ids_of(asked: Asked) -> list[str]:
    event = json.loads(asked.body)
    return [one["id"] for one in event] if isinstance(event, list) else [event["id"]]


async def heard(at: Scene) -> None:
    """The process that delivers knows of all that was changed so far: what comes later is known."""
    async with Endpoint() as mark:
        await at.add(mark.url, "mark")
        await until_true(lambda: tried(at, "mark"))
    (await at.http.delete("/v1/webhooks/mark")).raise_for_status()


async def tried(at: Scene, id_: str = "hook") -> dict[str, str] | None:
    """What came of it; nothing if the process has not heard of the webhook yet."""
    answer = await at.http.post(f"/v1/webhooks/{id_}/test")
    found: dict[str, str] = answer.json()
    return found if answer.status_code == 200 else None


async def until(is_so: Callable[[], Any], what: str = "it does not become so", patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.01)


async def until_true(is_so: Callable[[], Awaitable[Any]], what: str = "it does not become so") -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := await is_so()):
        assert time.monotonic() < end, what
        await asyncio.sleep(0.02)
    return found


async def came(endpoint: Endpoint, count: int) -> list[Asked]:
    await until(lambda: len(endpoint.asked) >= count, f"{count} requests were to come, not {len(endpoint.asked)}")
    return endpoint.asked


def verify(headers: Mapping[str, str], body: bytes, secret: str, now: float | None = None) -> bool:
    """Whether a request was signed with a secret, written from the specification alone."""
    stamp = headers["webhook-timestamp"]
    if abs((time.time() if now is None else now) - int(stamp)) > 300:
        return False
    key = base64.b64decode(secret.split("_", 1)[1])
    content = headers["webhook-id"].encode() + b"." + stamp.encode() + b"." + body
    wanted = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    given = [part.split(",", 1) for part in headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(value, wanted) for version, value in given)
