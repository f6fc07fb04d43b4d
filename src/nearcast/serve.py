"""Everything at once: a NATS server, brokers and a gateway, each a process of its own, started again when one dies.

They end with this process, even if it is killed.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from nearcast.errors import LogError
from nearcast.gateway.identity import Role, add_token
from nearcast.log.server import NatsServer, die_with_parent

__all__ = ["Plan", "free_port", "serve"]

LOOK = 0.05
"""Seconds between two looks at the children."""
SOON, LATE = 0.1, 5.0
"""Seconds before one that died is started again: at first, and at most."""
WELL = 10.0
"""Seconds after which one that is still there counts as well."""
STOP = 10.0
"""Seconds for a child to stop by itself."""
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


@dataclass
class _Child:
    """A process that is kept running."""

    name: str
    command: Sequence[str]
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
                stdin=subprocess.DEVNULL,
                preexec_fn=die_with_parent(),  # noqa: PLW1509 (it calls what is already loaded, and nothing else)
                start_new_session=True,
            )

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def ended(self) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(plan: Plan, say: Callable[[str], None], ready: Callable[[str, str | None], None]) -> None:
    """Run until a signal says to stop. ``say`` hears what happens, ``ready`` once the URL and a token, if one was made.

    Start it from the main thread: children end with the thread that started them.
    """
    asyncio.run(_serve(plan, say, ready))


async def _serve(plan: Plan, say: Callable[[str], None], ready: Callable[[str, str | None], None]) -> None:
    plan, stop = replace(plan, port=plan.port or free_port(plan.host)), asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    tokens, token = _tokens(plan)
    server = _Server(plan) if plan.nats is None else None
    children: list[_Child] = []
    try:
        nats = plan.nats or (server.start() if server else "")
        children = _children(plan, nats, tokens)
        url = f"http://{plan.host}:{plan.port}"
        is_ready = False
        while not stop.is_set():
            if server is not None:
                server.keep(say)
            for child in children:
                child.keep(say)
            if not is_ready and await _is_well(url):
                is_ready = True
                ready(url, token)
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


def _tokens(plan: Plan) -> tuple[Path, str | None]:
    """The file of tokens; one with an operator is made if none was named and there is none yet."""
    if plan.tokens is not None:
        return plan.tokens, None
    path = plan.data / "tokens.json"
    return path, None if path.exists() else add_token(path, "operator", Role.OPERATOR)


def _children(plan: Plan, nats: str, tokens: Path) -> list[_Child]:
    python = [sys.executable, "-m"]
    broker = [*python, "nearcast.broker", "--nats", nats, "--keep", str(plan.keep)]
    gateway = [*python, "nearcast.gateway", "--nats", nats, "--tokens", str(tokens)]
    gateway += ["--host", plan.host, "--port", str(plan.port)]
    brokers = [_Child(f"broker {number}", broker) for number in range(1, plan.brokers + 1)]
    return [*brokers, _Child("gateway", gateway)]


def free_port(host: str) -> int:
    """Known beforehand, so that a gateway that is started again is where it was."""
    with socket.create_server((host, 0)) as found:
        return int(found.getsockname()[1])


async def _is_well(url: str) -> bool:
    try:
        async with httpx.AsyncClient(timeout=1) as client:
            return (await client.get(f"{url}/v1/health")).is_success
    except httpx.HTTPError:
        return False


class _Server:
    """A NATS server of our own, which keeps its address when it is started again."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._server = self._made(0)
        self._port = 0
        self._due = 0.0

    def _made(self, port: int) -> NatsServer:
        return NatsServer(self._plan.data / "nats", port=port, lazy=self._plan.lazy, max_payload=LARGEST)

    def start(self) -> str:
        self._server.start()
        self._port = urlsplit(self._server.url).port or 0
        return self._server.url

    def keep(self, say: Callable[[str], None]) -> None:
        if self._server.is_running or time.monotonic() < self._due:
            return
        say("the NATS server ended; it starts again")
        self._server.stop()
        self._server, self._due = self._made(self._port), time.monotonic() + SOON
        try:
            self._server.start()
        except LogError as error:
            say(str(error))

    def stop(self) -> None:
        self._server.stop()
