"""One request to an endpoint: signed by whoever calls, to an address that may be called, and never for long.

A connection is made only to an address that was looked at; a name that leads elsewhere by then does not matter, since
the address is what is called. Redirects are not followed, there is no proxy, and of an answer little more than the
status is read.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from nearcast.gateway.resolving import Resolver
from nearcast.gateway.targets import NOWHERE, Nowhere, is_allowed
from nearcast.webhooks.answers import Connector
from nearcast.webhooks.policy import Kind, Outcome, outcome_of

__all__ = ["Sender"]

ANSWER = 16 * 2**10
"""Bytes of an answer that are read, so that its connection can be used again."""
CONNECT = 5.0
"""Seconds for a connection, TLS not included."""
IDLE = 60.0
"""Seconds for which a connection is kept that nobody uses."""
AGENT = "nearcast"


class Sender:
    """``async with Sender(...) as sender``: connections to all endpoints, none of which waits for another."""

    def __init__(self, *, private: bool, timeout: float, resolver: Resolver | None = None) -> None:
        self._private, self._timeout = private, timeout
        self._resolver = resolver or Resolver(private=private)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = Connector(
            limit=0,
            resolver=_Names(self._resolver),
            use_dns_cache=False,
            ssl=ssl.create_default_context(),
            keepalive_timeout=IDLE,
            socket_factory=self._socket,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=min(CONNECT, self._timeout)),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            headers={"User-Agent": AGENT},
            skip_auto_headers=("Accept", "Accept-Encoding"),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
        self._resolver.close()

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Outcome:
        """What became of it. An endpoint that has just let go of a connection it had kept is asked once more."""
        outcome, is_stale = await self._posted(url, headers, body)
        if is_stale:
            outcome, _ = await self._posted(url, headers, body)
        return outcome

    async def _posted(self, url: str, headers: dict[str, str], body: bytes) -> tuple[Outcome, bool]:
        assert self._session is not None
        try:
            async with self._session.post(
                URL(url, encoded=True), data=body, headers=headers, allow_redirects=False
            ) as answer:
                await answer.content.read(ANSWER)
                return outcome_of(answer.status, answer.headers.get("Retry-After"), time.time()), False
        except aiohttp.ServerDisconnectedError:
            return Outcome(Kind.AWAY, "hung up without an answer"), True
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Outcome(Kind.AWAY, _reason(error, self._timeout)), False

    def _socket(self, info: Any) -> socket.socket:
        """The last look, at the address that is about to be called, however it was found."""
        family, kind, protocol, _, address = info
        if not is_allowed(str(address[0]), private=self._private):
            raise Nowhere
        return socket.socket(family, kind, protocol)


class _Names(AbstractResolver):
    """What the client asks for addresses."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=found.address,
                port=port,
                family=found.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for found in await self._resolver.resolve(host)
            if family in (socket.AF_UNSPEC, found.family)
        ]

    async def close(self) -> None:
        """The resolver is closed by whoever made it."""


def _reason(error: Exception, timeout: float) -> str:
    """In words of ours: what an endpoint or a library says may hold what is nobody's business."""
    match error:
        case asyncio.TimeoutError():
            return f"no answer within {timeout:g} s"
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return "its certificate is not valid, or it does not speak TLS"
        case aiohttp.ClientConnectorError(os_error=Nowhere()):
            return NOWHERE
        case aiohttp.ClientConnectorError():
            return f"cannot be reached ({_words(error.os_error)})"
        case aiohttp.ClientOSError() | OSError():
            return f"the connection broke ({_words(error)})"
        case aiohttp.ClientPayloadError() | aiohttp.ClientResponseError():
            return "the answer is not HTTP"
    return f"cannot be called ({type(error).__name__})"


def _words(error: OSError) -> str:
    """By its number: a text may name addresses."""
    return os.strerror(error.errno).lower() if error.errno else type(error).__name__
