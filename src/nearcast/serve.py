"""Everything at once: a NATS server, brokers and a gateway, each a process of its own, started again when one dies.

They end with this process, even if it is killed. They know the password of the NATS server by their environment, where
nobody else can see it.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from nearcast.errors import LogError
from nearcast.gateway.access import Access
from nearcast.gateway.grants import Role
from nearcast.gateway.identity import add_token
from nearcast.gateway.page import check_tiles
from nearcast.log.connection import CERT, trusting
from nearcast.log.server import NatsServer, die_with_parent
from nearcast.log.users import Listener, password_of

__all__ = ["Plan", "free_port", "serve"]

LOOK = 0.05
"""Seconds between two looks at the children."""
SOON, LATE = 0.1, 5.0
"""Seconds before one that died is started again: at first, and at most."""
WELL = 10.0
"""Seconds after which one that is still there counts as well."""
STOP = 10.0
"""Seconds for a child to stop by itself."""
TOKENS = 0.5
"""Seconds between two looks at who may connect to the NATS server,"""
AGAIN = 5.0
"""and before one that did not take it is told again."""
GATEWAY, PHONES = "gateway", "phones"
"""The children that others come to."""
LARGEST = 8 * 2**20
"""Bytes of a message, so that regions of any sensible size fit. Servers recommend no more."""


@dataclass(frozen=True)
class Plan:
    """What to run."""

    data: Path
    nats: str | None = None
    """A server that runs; None starts one."""
    brokers: int = 2
    host: str = "127.0.0.1"
    port: int = 8080
    """0 is any that is free."""
    tokens: Path | None = None
    keep: int = 0
    """Packets of the log that brokers do not cut off, for other readers of it."""
    lazy: bool = False
    ticks: bool = True
    """Whether brokers write ticks; if not, time passes as the log says."""
    mqtt: int | None = None
    """Where phones come in; nowhere if there is none, and 0 is any port that is free."""
    nats_port: int | None = None
    """Where others than our own processes reach the NATS server; else it listens on this machine only."""
    tls_cert: Path | None = None
    """What to show to those who come by HTTPS, MQTT and NATS,"""
    tls_key: Path | None = None
    """and the key of that; else it is in the same file."""
    private: bool = False
    """Whether webhooks may lead to loopback and private addresses."""
    tiles: str | None = None
    """Where the map's tiles come from,"""
    tiles_credit: str = ""
    """and whom it names for them."""


@dataclass
class _Child:
    """A process that is kept running."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    wait: float = SOON
    due: float = field(default_factory=time.monotonic)

    def keep(self, say: Callable[[str], None]) -> None:
        """Start it if it is not there, unless it died too often of late."""
        now = time.monotonic()
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                return
            self.process = None
            self.wait = SOON if now > self.started + WELL else min(LATE, self.wait * 2)
            self.due = now + self.wait
            say(f"{self.name} ended with {code}; it starts again in {self.wait:g} s")
        if now >= self.due:
            self.started = now
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.env},
                stdin=subprocess.DEVNULL,
                preexec_fn=die_with_parent(),  # noqa: PLW1509 (it calls what is already loaded, and nothing else)
                start_new_session=True,
            )

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def end(self) -> None:
        if self.process is not None and self.is_running:
            self.process.terminate()

    def ended(self) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(plan: Plan, say: Callable[[str], None], ready: Callable[[Mapping[str, str]], None]) -> None:
    """Run until a signal says to stop. ``say`` hears what happens, ``ready`` once where all of it is: the ``url``, a
    ``token`` if one was made, and where phones come in (``mqtt``).

    Start it from the main thread: children end with the thread that started them.
    """
    asyncio.run(_serve(plan, say, ready))


async def _serve(plan: Plan, say: Callable[[str], None], ready: Callable[[Mapping[str, str]], None]) -> None:
    plan, stop = _checked(plan, say), asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    tokens, token = _tokens(plan)
    server = _Server(plan, tokens) if plan.nats is None else None
    children: list[_Child] = []
    try:
        nats = plan.nats or (server.start() if server else "")
        children = _children(plan, nats, tokens, server.mqtt if server else None)
        is_ready = False
        while not stop.is_set():
            if server is not None:
                await server.keep(say)
            for child in children:
                child.keep(say)
            if not is_ready and await _is_well(plan, children):
                is_ready = True
                ready({**_where(plan), **({"token": token} if token else {})})
            try:
                await asyncio.wait_for(stop.wait(), LOOK)
            except TimeoutError:
                continue
    finally:
        for child in reversed(children):
            child.end()
        for child in reversed(children):
            child.ended()
        if server is not None:
            server.stop()


def _checked(plan: Plan, say: Callable[[str], None]) -> Plan:
    """With ports that are known, if it can be run."""
    if plan.nats is not None and (plan.mqtt is not None or plan.nats_port is not None):
        raise LogError("phones and others come in by the NATS server that is started here; leave out --nats")
    if plan.tls_key is not None and plan.tls_cert is None:
        raise LogError("a key needs its certificate; name that with --tls-cert")
    if plan.tls_cert is not None:
        key = plan.tls_key or plan.tls_cert
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(plan.tls_cert, key)
        except (OSError, ssl.SSLError) as error:
            raise LogError(f"{plan.tls_cert} and {key} are not a certificate and its key: {error}") from None
    elif not _is_near(plan.host):
        say(f"warning: {plan.host} is not this machine, so tokens can be read on their way; name a --tls-cert")
    return _with_ports(plan)


def _with_ports(plan: Plan) -> Plan:
    """Each can be listened on, and 0 is one that is free. A child that finds its port taken would begin again for ever,
    while whoever has it answers in its place."""
    with ExitStack() as held:  # all at a time, so that none is named or chosen twice
        port, mqtt, nats_port = (
            port if port is None else _held_port(plan.host, port, option, held)
            for port, option in ((plan.port, "--port"), (plan.mqtt, "--mqtt"), (plan.nats_port, "--nats-port"))
        )
    return replace(plan, port=port or 0, mqtt=mqtt, nats_port=nats_port)


def _held_port(host: str, port: int, option: str, held: ExitStack) -> int:
    """Listen at every address of a host, as a server there will; but not by a protocol that this machine has not."""
    refusals: list[OSError] = []
    addresses = _addresses(host)
    for family, address in addresses:
        try:
            listening = socket.create_server((address[0], port, *address[2:]), family=family)
        except OSError as error:
            refusals.append(error)
        else:
            port = held.enter_context(listening).getsockname()[1]
    serious = [error for error in refusals if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)]
    if serious:
        is_taken = serious[0].errno == errno.EADDRINUSE
        why = "is in use" if is_taken else f"cannot be listened on ({os.strerror(serious[0].errno or 0)})"
        raise LogError(f"port {port} of {host} {why}; name another with {option}")
    if len(refusals) == len(addresses):
        raise LogError(f"{host} is not an address of this machine; name another with --host")
    return port


def _addresses(host: str) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise LogError(f"{host} is not known here ({error.strerror}); name another with --host") from None
    return [(family, address) for family, *_, address in found]


def _is_near(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _where(plan: Plan) -> dict[str, str]:
    s = "s" if plan.tls_cert else ""
    host = Listener(plan.host).bracketed
    places = {"url": f"http{s}://{host}:{plan.port}"}
    if plan.mqtt is not None:
        places["mqtt"] = f"mqtt{s}://{host}:{plan.mqtt}"
    if plan.nats_port is not None:
        places["nats"] = f"{'tls' if s else 'nats'}://{host}:{plan.nats_port}"
    return places


def _tokens(plan: Plan) -> tuple[Path, str | None]:
    """The file of tokens; one with an operator is made if none was named and there is none yet."""
    if plan.tokens is not None:
        return plan.tokens, None
    path = plan.data / "tokens.json"
    return path, None if path.exists() else add_token(path, "operator", Role.OPERATOR)


def _children(plan: Plan, nats: str, tokens: Path, upstream: int | None) -> list[_Child]:
    python = [sys.executable, "-m"]
    broker = [*python, "nearcast.broker", "--keep", str(plan.keep), "--ticks" if plan.ticks else "--no-ticks"]
    tls = ["--tls-cert", str(plan.tls_cert)] if plan.tls_cert else []
    tls += ["--tls-key", str(plan.tls_key)] if plan.tls_key else []
    outside = ["--tokens", str(tokens), "--host", plan.host, *tls]
    gateway = [*python, "nearcast.gateway", *outside, "--port", str(plan.port)]
    phones = [*python, "nearcast.phones", *outside, "--port", str(plan.mqtt), "--upstream", str(upstream)]
    if plan.tiles is not None:
        gateway += ["--tiles", check_tiles(plan.tiles), "--tiles-credit", plan.tiles_credit]
    private = ["--private"] if plan.private else []
    gateway += private
    webhooks = [*python, "nearcast.webhooks", "--tokens", str(tokens), *private]
    env = {"NEARCAST_NATS": nats}
    if plan.tls_cert is not None and plan.nats_port is not None:
        env[CERT] = str(plan.tls_cert)
    commands = {f"broker {number}": broker for number in range(1, plan.brokers + 1)}
    commands |= {GATEWAY: gateway, "webhooks": webhooks}
    if plan.mqtt is not None:
        commands[PHONES] = phones
    return [_Child(name, command, env) for name, command in commands.items()]


def free_port(host: str) -> int:
    """Known beforehand, so that a gateway that is started again is where it was."""
    with socket.create_server((host, 0)) as found:
        return int(found.getsockname()[1])


async def _is_well(plan: Plan, children: Iterable[_Child]) -> bool:
    """Whether a broker answers through the gateway, which is ours, and phones can come in."""
    verify = trusting(plan.tls_cert) if plan.tls_cert else False
    try:
        async with httpx.AsyncClient(timeout=1, verify=verify) as client:
            if not (await client.get(f"{_where(plan)['url']}/v1/health")).is_success:
                return False
        if plan.mqtt is not None:
            with socket.create_connection((plan.host, plan.mqtt), 1):
                pass
    except (httpx.HTTPError, OSError):
        return False
    return all(child.is_running for child in children if child.name in (GATEWAY, PHONES))


class _Server:
    """A NATS server of our own, which keeps its address when it is started again, and knows who may connect."""

    def __init__(self, plan: Plan, tokens: Path) -> None:
        self._plan, self._folder = plan, plan.data / "nats"
        self._access = Access(tokens, password_of(self._folder, make=True) or "")
        self.mqtt = None if plan.mqtt is None else free_port("127.0.0.1")
        """Where it speaks MQTT with our own process."""
        self._port = plan.nats_port or 0
        self._server = self._made()
        self._due = self._look = 0.0
        self._is_told = True
        """Who may connect, as it stands."""

    def _made(self) -> NatsServer:
        plan, outside = self._plan, self._plan.nats_port is not None
        listener = (
            Listener(plan.host, self._port, plan.tls_cert, plan.tls_key) if outside else Listener(port=self._port)
        )
        return NatsServer(
            self._folder,
            lazy=plan.lazy,
            max_payload=LARGEST,
            listener=listener,
            mqtt=self.mqtt,
            users=self._access.users,
        )

    def start(self) -> str:
        self._server.start()
        self._port = urlsplit(self._server.url).port or 0
        return self._server.url

    async def keep(self, say: Callable[[str], None]) -> None:
        if self._server.is_running:
            await self._admit(say)
            return
        if time.monotonic() < self._due:
            return
        say("the NATS server ended; it starts again")
        self._server.stop()
        self._access.has_changed()
        self._server, self._due, self._is_told = self._made(), time.monotonic() + SOON, True
        try:
            self._server.start()
        except LogError as error:
            say(str(error))

    async def _admit(self, say: Callable[[str], None]) -> None:
        """Tell it who may connect, if others may than before."""
        now = time.monotonic()
        if now < self._look:
            return
        self._look = now + TOKENS
        self._is_told = not self._access.has_changed() and self._is_told
        if self._is_told:
            return
        try:
            await asyncio.to_thread(self._server.admit, self._access.users)
        except LogError as error:
            say(str(error))
            self._look = now + AGAIN
        else:
            self._is_told = True

    def stop(self) -> None:
        self._server.stop()
