"""Endpoints for webhooks to be delivered to: real servers, each on a port of its own, and as cheap as can be.

Some take what comes, some take their time, and some are dead in one of the ways that there are: nobody listens, nobody
answers, or nobody even lets one in.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, cast

import httptools

__all__ = ["Answer", "Asked", "Endpoint", "hole", "nowhere"]

HOST = "127.0.0.1"


@dataclass(slots=True)
class Asked:
    """A request that came."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    came: float = 0.0
    """In seconds since 1970."""


Answer = Callable[[Asked], Awaitable[bytes | None]]
"""What to answer: a head of HTTP without a body, or nothing, ever."""
OK = b"HTTP/1.1 204 No Content\r\n\r\n"


async def take(_asked: Asked) -> bytes | None:
    return OK


class Endpoint:
    """``async with Endpoint(answer) as one``: listens at ``one.url`` and keeps what came in ``one.asked``."""

    def __init__(self, answer: Answer = take, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.connections = 0
        self._port, self._tls = port, tls
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Transport] = set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), HOST, self._port, ssl=self._tls)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for transport in list(self._open):
            transport.abort()

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://{HOST}:{self._port}/hook"

    @property
    def open(self) -> int:
        """Connections that are open now."""
        return len(self._open)

    def say(self, said: bytes) -> None:
        """What nobody asked for, on all of them."""
        for transport in self._open:
            transport.write(said)

    def opened(self, transport: asyncio.Transport) -> None:
        self.connections += 1
        self._open.add(transport)

    def closed(self, transport: asyncio.Transport) -> None:
        self._open.discard(transport)


class _Connection(asyncio.Protocol):
    """One connection of a sender, which sends one request at a time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._parser = httptools.HttpRequestParser(self)
        self._asked = Asked()
        self._transport: asyncio.Transport | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._endpoint.opened(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (as protocols have it)
        if self._transport is not None:
            self._endpoint.closed(self._transport)
        for task in self._tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._asked = Asked()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._asked.headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self._asked.body += body

    def on_message_complete(self) -> None:
        asked = self._asked
        asked.came = time.time()
        self._endpoint.asked.append(asked)
        if self._endpoint.answer is take and self._transport is not None:
            self._transport.write(OK)
            return
        task = asyncio.create_task(self._reply(asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, asked: Asked) -> None:
        said = await self._endpoint.answer(asked)
        if said is not None and self._transport is not None and not self._transport.is_closing():
            self._transport.write(said)


def nowhere(held: ExitStack) -> str:
    """A URL where nobody listens: its port is taken, so that nobody else begins to."""
    taken = held.enter_context(socket.socket())
    taken.bind((HOST, 0))
    return f"http://{HOST}:{taken.getsockname()[1]}/hook"


def hole(held: ExitStack) -> str:
    """A URL where connections are never made: its line of those who wait is full, and nobody lets them in."""
    listening = held.enter_context(socket.socket())
    listening.bind((HOST, 0))
    listening.listen(0)
    port = listening.getsockname()[1]
    for _ in range(3):
        waiting = held.enter_context(socket.socket())
        waiting.setblocking(False)
        waiting.connect_ex((HOST, port))
    return f"http://{HOST}:{port}/hook"
