"""What the tests of phones run: a locked NATS server with a broker, the door in front of it, and stock MQTT clients."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import queue
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import nats
from nats.aio.client import Client
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from nearcast.gateway.access import Access
from nearcast.gateway.grants import Role
from nearcast.gateway.identity import TokenFile, add_token
from nearcast.language.oplog import decode_op
from nearcast.log.client import Log
from nearcast.log.export import lines_of
from nearcast.log.server import NatsServer
from nearcast.log.subjects import ask_subject
from nearcast.log.users import password_of
from nearcast.model.op import Op
from nearcast.phones.door import Limits
from nearcast.phones.service import Phones, Settings, run_phones
from nearcast.serve import free_port

PATIENCE = 20.0
_numbers = itertools.count(1)


def fresh(name: str) -> str:
    """A client that no other test knows."""
    return f"{name}-{next(_numbers)}"


class Stage:
    """A locked NATS server that speaks MQTT, a broker, and a file of tokens."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tokens = folder, folder / "tokens.json"
        self.mqtt = free_port("127.0.0.1")
        self.server = NatsServer(folder / "nats", mqtt=self.mqtt, users=())
        self._broker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.server.start()
        env = {**os.environ, "NEARCAST_NATS": self.server.url}
        self._broker = subprocess.Popen([sys.executable, "-m", "nearcast.broker", "--keep", str(10**9)], env=env)
        asyncio.run(self._answers())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._broker is not None
        self._broker.terminate()
        self._broker.wait(PATIENCE)
        self.server.stop()

    async def _answers(self) -> None:
        client = await nats.connect(self.server.url)
        until = time.monotonic() + 120
        while True:
            try:
                await client.request(ask_subject("health"), b"{}", timeout=1)
                break
            except nats.errors.Error:
                assert time.monotonic() < until, "the broker does not answer"
                await asyncio.sleep(0.1)
        await client.close()

    def token(self, client: str, role: Role = Role.CLIENT) -> str:
        """A token that the server knows of, as when `serve` has seen the file."""
        made = add_token(self.tokens, client, role)
        self.admit()
        return made

    def admit(self) -> None:
        self.server.admit(Access(self.tokens, password_of(self.server.folder) or "").users)

    @asynccontextmanager
    async def phones(self, limits: Limits | None = None, **more: Any) -> AsyncIterator[Phones]:
        settings = Settings(self.server.url, self.mqtt, port=0, limits=limits or Limits(), **more)
        async with run_phones(settings, TokenFile(self.tokens)) as running:
            yield running

    async def ops(self, client: str) -> list[Op]:
        """What is in the log of a client."""
        found = []
        async with Log(self.server.url) as log:
            async for entry in log.read(await log.first_sequence(), await log.last_sequence()):
                found += [decode_op(line) for line in lines_of(entry)]
        return [op for op in found if getattr(op, "client", None) == client]

    async def ask(self, what: str, **asked: Any) -> Any:
        client = await nats.connect(self.server.url)
        try:
            return json.loads((await client.request(ask_subject(what), json.dumps(asked).encode(), timeout=10)).data)
        finally:
            await client.close()

    async def say(self, *ops: dict[str, Any]) -> None:
        """Ops, as a gateway would write them, applied."""
        from nearcast.log.packet import LINES, Packet  # noqa: PLC0415

        async with Log(self.server.url) as log:
            await log.create(live=True)
            lines = [json.dumps({"time": time.time(), **op}).encode() for op in ops]
            sequence = await log.append(Packet(LINES, b"\n".join(lines)))
        refused = (await self.ask("applied", after=sequence))["refused"]
        assert not refused, refused


class Handset:
    """A stock MQTT client, as an app or a program has one."""

    def __init__(
        self, user: str, token: str, port: int, *, name: str = "", clean: bool = True, tls: ssl.SSLContext | None = None
    ) -> None:
        self.user, self._port = user, port
        self.codes: queue.Queue[int] = queue.Queue()
        """Answers to connecting."""
        self.granted: queue.Queue[list[int]] = queue.Queue()
        self.came: queue.Queue[mqtt.MQTTMessage] = queue.Queue()
        self.acked: queue.Queue[int] = queue.Queue()
        self.lost: queue.Queue[str] = queue.Queue()
        self.client = mqtt.Client(
            CallbackAPIVersion.VERSION2, client_id=name, clean_session=clean, reconnect_on_failure=not clean
        )
        self.client.username_pw_set(user, token)
        if tls is not None:
            self.client.tls_set_context(tls)
        self.client.on_connect = lambda _c, _d, _f, code, _p: self.codes.put(code.value)
        self.client.on_subscribe = lambda _c, _d, _m, codes, _p: self.granted.put([code.value for code in codes])
        self.client.on_message = lambda _c, _d, message: self.came.put(message)
        self.client.on_publish = lambda _c, _d, mid, _code, _p: self.acked.put(mid)
        self.client.on_disconnect = lambda _c, _d, _f, code, _p: self.lost.put(str(code))

    def __enter__(self) -> Self:
        self.client.reconnect_delay_set(1, 1)
        self.client.connect_async("127.0.0.1", self._port, keepalive=10)
        self.client.loop_start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    async def answer(self) -> int:
        """What the server says to one who comes."""
        return int(await taken(self.codes))

    async def listen(self, *topics: str, qos: int = 1) -> list[int]:
        """The codes that it grants."""
        self.client.subscribe([(topic, qos) for topic in topics])
        return list(await taken(self.granted))

    def send(self, said: object, device: str = "phone", about: str = "", qos: int = 1, user: str = "") -> int:
        topic = "/".join(("owntracks", user or self.user, device, *([about] if about else ())))
        payload = said if isinstance(said, bytes) else json.dumps(said).encode()
        return self.client.publish(topic, payload, qos=qos).mid

    async def sent(self, said: object, device: str = "phone", about: str = "", user: str = "") -> None:
        """With QoS 1, until the server has it."""
        mid = self.send(said, device, about, user=user)
        while await taken(self.acked) != mid:
            pass

    async def told(self) -> dict[str, Any]:
        """The next transition of ours."""
        while True:
            message = await taken(self.came)
            said = json.loads(message.payload)
            if said.get("source") == "nearcast":
                return dict(said)

    def rest(self) -> list[mqtt.MQTTMessage]:
        """What came and was not looked at."""
        found = []
        while not self.came.empty():
            found.append(self.came.get())
        return found


async def native(url: str, user: str, password: str, **more: Any) -> Client:
    """One who comes by NATS itself. What is refused raises."""
    client = Client()

    async def note(_fault: Exception) -> None:
        pass

    options = {"allow_reconnect": False, "max_reconnect_attempts": 1, "error_cb": note, **more}
    try:
        await client.connect(url, user=user, password=password, **options)
    except nats.errors.Error:
        await client.close()
        raise
    return client


async def taken(of: queue.Queue[Any]) -> Any:
    until = time.monotonic() + PATIENCE
    while of.empty():
        assert time.monotonic() < until, "nothing came"
        await asyncio.sleep(0.005)
    return of.get()


async def until(what: str, is_so: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What it gives, once that is something."""
    end = time.monotonic() + patience
    while True:
        found = is_so()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < end, what
        await asyncio.sleep(0.02)


def location(lon: float, lat: float, tst: float | None = None, **more: Any) -> dict[str, Any]:
    return {"_type": "location", "lon": lon, "lat": lat, "tst": tst or round(time.time(), 3), "tid": "an", **more}
