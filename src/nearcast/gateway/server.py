"""The gateway as a server: uvicorn with what we measured to be fastest, and without what we do not need."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from nearcast.gateway.app import create_app
from nearcast.gateway.call import Settings
from nearcast.gateway.identity import Identities, TokenFile

__all__ = ["make_server", "run"]

FINISH = 5
"""Seconds for answers that are under way when the server is to stop."""


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
        http="httptools",
        ws="websockets-sansio",
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
    return _Server(config, app)


def run(
    url: str, tokens: Path, settings: Settings, host: str, port: int, tls: tuple[Path, Path] | None = None
) -> None:
    """Serve until a signal says to stop. A socket is an open file, so as many as the system allows may be open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    server = make_server(url, TokenFile(tokens), settings, host=host, port=port, tls=tls)
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve())
