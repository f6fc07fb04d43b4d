"""Whoever speaks with a gateway while it is measured: as cheap as can be, since they share the machine with it.

Connections are plain protocols of the loop: requests are bytes that are ready, answers are read by httptools, and of an
event only the time is looked at that its fix was sent at.
"""

from __future__ import annotations

import asyncio
import re
import resource
import time
from collections import deque
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httptools
import msgspec

__all__ = ["Answer", "Listener", "Poster", "listener", "open_files", "poster"]

_SENT = re.compile(rb'"kind":"fix","entity":"[^"]*","number":(\d+)')
"""Where a notification says when the fix was sent that caused it, in microseconds."""


class Answer(msgspec.Struct):
    """What a gateway answers to positions."""

    accepted: int
    sequence: int
    refused: int = 0


_answer = msgspec.json.Decoder(Answer)
Heard = Callable[[int, list[int]], None]
"""When something came, and when the fixes of what came were sent; both in microseconds."""


class Poster(asyncio.Protocol):
    """A connection that posts positions. A request need not wait for the answer to the one before."""

    def __init__(self, url: str, token: str) -> None:
        self._head = (
            f"POST /v1/positions HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        ).encode()
        self._parser = httptools.HttpResponseParser(self)
        self._body = b""
        self._waiting: deque[asyncio.Future[Answer]] = deque()
        self._transport: asyncio.Transport | None = None

    def post(self, body: bytes) -> asyncio.Future[Answer]:
        """Send positions; the answer is awaited by whoever wants it."""
        assert self._transport is not None
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._transport.write(b"%b%d\r\n\r\n%b" % (self._head, len(body), body))
        return waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_exception(exc or ConnectionError("the gateway hung up"))

    def on_message_begin(self) -> None:
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        waiting = self._waiting.popleft()
        if self._parser.get_status_code() == 202:
            waiting.set_result(_answer.decode(self._body))
        else:
            waiting.set_exception(RuntimeError(self._body.decode()))


class Listener(asyncio.Protocol):
    """A connection that is told events, as server-sent events."""

    def __init__(self, url: str, token: str, client: str, after: str, heard: Heard) -> None:
        self._request = (
            f"GET /v1/events?client={quote(client, safe='')}&after={after} HTTP/1.1\r\n"
            f"Host: {urlsplit(url).netloc}\r\nAuthorization: Bearer {token}\r\n\r\n"
        ).encode()
        self._parser = httptools.HttpResponseParser(self)
        self._heard, self._rest = heard, b""
        self._came = 0
        self._transport: asyncio.Transport | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the gateway has begun to answer."""

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._came = time.time_ns() // 1000
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(exc or ConnectionError("the gateway hung up"))

    def on_body(self, body: bytes) -> None:
        if not self.opened.done():
            if self._parser.get_status_code() == 200:
                self.opened.set_result(None)
            else:
                self.opened.set_exception(RuntimeError(body.decode()))
        whole, end, self._rest = (self._rest + body).rpartition(b"\n\n")
        if end and (sent := _SENT.findall(whole)):
            self._heard(self._came, [int(at) for at in sent])


async def poster(url: str, token: str) -> Poster:
    made: Any = await asyncio.get_running_loop().create_connection(lambda: Poster(url, token), *_address(url))
    return cast(Poster, made[1])


async def listener(url: str, token: str, client: str, after: str, heard: Heard) -> Listener:
    """A connection for a client, to hear what comes after a cursor, that the gateway has begun to answer."""
    made: Any = await asyncio.get_running_loop().create_connection(
        lambda: Listener(url, token, client, after, heard), *_address(url)
    )
    found = cast(Listener, made[1])
    await found.opened
    return found


def _address(url: str) -> tuple[str, int]:
    at = urlsplit(url)
    return at.hostname or "", at.port or 80


def open_files() -> int:
    """How many files this process may have open, which is as many as the system lets it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most
