"""The gateway as a server: uvicorn with what we measured to be fastest, and without what we do not need."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import socket
from functools import partial
from pathlib import Path
from types import FrameType

import httptools
import uvicorn
from starlette.applications import Starlette
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from nearcast.gateway.app import create_app
from nearcast.gateway.call import Settings
from nearcast.gateway.identity import Identities, TokenFile
from nearcast.gateway.streams import AT_ONCE
from nearcast.log.memory import keep_little

__all__ = ["make_server", "run"]

FINISH = 5
"""Seconds for answers that are under way when the server is to stop."""
HEAD = 2**16
"""Bytes of a request before its body: its path, query and headers."""
HASTE = 20.0
"""Seconds for these to come."""
AHEAD = 32
"""Requests of a connection that wait for the answers to those before. uvicorn would take any number of them."""
PINGS = 100
"""Pings and parts of messages that a WebSocket may send in a second, about."""
NONSENSE = ("Invalid HTTP request", "Invalid UTF-8 sequence", "Unsupported upgrade request", "No supported WebSocket")
"""What uvicorn logs of those who do not speak HTTP or WebSocket. A stranger could fill a disk with it."""


class _Protocol(HttpToolsProtocol):
    """HTTP of strangers: they have so many seconds, and so many bytes, to say what they want.

    The parser itself keeps whatever comes, for ever. And whatever comes after an answer, a body that nobody waits for
    or an empty line, has uvicorn wait for ever, as if it were the next request. So these seconds also begin with the
    end of an answer.
    """

    _head, _headers, _in_head = 0, 0, True
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > HEAD and not self.transport.is_closing():
            self.send_400_response(f"A request has at most {HEAD:,} bytes before its body.")

    def on_message_begin(self) -> None:
        self._head, self._headers, self._in_head = 0, 0, True
        if self._timer is None:
            self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop()
        if len(self.pipeline) >= AHEAD:
            raise httptools.HttpParserError("too many requests before an answer is read")
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._timer is None and self.cycle.response_complete and not self.transport.is_closing():
            self._wait()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        cycle.scope["extensions"] = {AT_ONCE: {"write": partial(_write_at_once, cycle)}}
        super()._start_asgi_task(cycle, app)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Those behind a body, too."""
        self._headers += len(name) + len(value)
        if self._headers > HEAD:
            raise httptools.HttpParserError("too many headers")
        super().on_header(name, value)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HASTE, self._late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


class _Socket(WebSocketsSansIOProtocol):
    """WebSocket of strangers. Each message is waited for before the next is read, but not what is none: a ping is
    answered at once, whether or not the answers are read, and the parts of a message may be empty, and without end."""

    _count, _since = 0, 0.0

    def handle_ping(self) -> None:
        super().handle_ping()
        self._note()

    def handle_cont(self, event: Frame) -> None:
        super().handle_cont(event)
        self._note()

    def _note(self) -> None:
        now = self.loop.time()
        if now > self._since + 1:
            self._count, self._since = 0, now
        self._count += 1
        if self._count > PINGS:
            self.transport.abort()


def _write_at_once(cycle: RequestResponseCycle, body: bytes) -> bool:
    """Write a part of an answer, unless its socket has to be waited for, or has gone: then it is for whoever answers.

    If it need not be waited for, uvicorn's `send` is done at the first step.
    """
    if cycle.flow.write_paused or cycle.disconnected:
        return False
    sending = cycle.send({"type": "http.response.body", "body": body, "more_body": True})
    try:
        sending.send(None)
    except StopIteration:
        return True
    except (RuntimeError, OSError):
        return False
    raise AssertionError("a socket that takes more made somebody wait")


def _is_ours(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(NONSENSE)


class _Server(uvicorn.Server):
    """Streams of events have no end of their own, so they are ended before answers are waited for."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 (as signals are handled)
        """A gateway that was told to stop, and did, ends well: uvicorn would let the signal kill it afterwards."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in self.servers:
            listening.close()
        self._app.state.gateway.hub.end()
        await super().shutdown(sockets)


def make_server(
    url: str,
    identities: Identities,
    settings: Settings | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: tuple[Path, Path] | None = None,
) -> uvicorn.Server:
    """A server that is not started yet, of HTTPS with a certificate and its key. Paths are not logged, as a query may
    hold what is nobody's business."""
    app = create_app(url, identities, settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="auto",
        http=_Protocol,
        ws=_Socket,
        ws_max_size=2**20,
        ws_per_message_deflate=False,
        lifespan="on",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=FINISH,
        backlog=4096,
        ssl_certfile=tls[0] if tls else None,
        ssl_keyfile=tls[1] if tls else None,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_ours)
    return _Server(config, app)


def run(url: str, tokens: Path, settings: Settings, host: str, port: int, tls: tuple[Path, Path] | None = None) -> None:
    """Serve until a signal says to stop. A socket is an open file, so as many as the system allows may be open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    keep_little()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    server = make_server(url, TokenFile(tokens), settings, host=host, port=port, tls=tls)
    gc.freeze()  # what is loaded stays, and to look for garbage in it would take 20 ms each time
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve())
