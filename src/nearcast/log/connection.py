"""A connection to NATS, and what goes wrong with one, said in words that help."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from nats import errors as client_errors
from nats.aio.client import Client
from nats.js import errors as stream_errors

from nearcast.errors import LogError

__all__ = ["CERT", "connection", "explained", "trusting"]

CERT = "NEARCAST_NATS_CERT"
"""What names the certificate of a server of one's own, which is then trusted as it is."""

PATIENCE = 5
"""Seconds for a server to answer."""
WATCHED = 0.2
"""Seconds between two looks at whether a connection is over."""


@asynccontextmanager
async def connection(url: str, lost: Callable[[], None] = lambda: None) -> AsyncIterator[Client]:
    """A connection that fails when it is lost: one that mends itself could write what its caller has given up.

    ``lost`` is called when it is over, once or twice, for whoever would otherwise wait for an answer that cannot come.
    """
    client, faults = Client(), _Faults()

    async def closed() -> None:
        lost()

    try:
        await client.connect(
            url.split(","),
            name="nearcast",
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=1,
            connect_timeout=PATIENCE,
            error_cb=faults.note,
            closed_cb=closed,
            **_tls(),
        )
    except (OSError, ValueError, client_errors.Error) as error:
        reason = faults.last or error
        with suppress(AssertionError):  # that is how it says that it never began
            await client.close()
        if "authorization" in str(reason).lower():
            raise LogError(
                f"the NATS server at {_shown(url)} does not let us in; name a user and a password, as in "
                "nats://user:password@host:4222, or in NEARCAST_NATS"
            ) from error
        raise LogError(f"no NATS server answers at {_shown(url)} ({_words(reason)}); is it running?") from error
    watching = asyncio.create_task(_watch(client, lost))
    try:
        yield client
    finally:
        watching.cancel()
        await client.close()


async def _watch(client: Client, lost: Callable[[], None]) -> None:
    """The client does not always say that it is over: on uvloop it fails if it still had something to send, and whoever
    counts on being told would wait for ever."""
    while not client.is_closed:
        await asyncio.sleep(WATCHED)
    lost()


@contextmanager
def explained(url: str, stream: str) -> Iterator[None]:
    """What the client raises inside becomes a `LogError` that names the stream and the server."""
    where = f"stream {stream!r} at {_shown(url)}"
    try:
        yield
    except (stream_errors.NotFoundError, stream_errors.NoStreamResponseError) as error:
        raise LogError(f"there is no {where}; create it with Log.create") from error
    except stream_errors.APIError as error:
        raise LogError(f"{where}: {error.description or 'the server runs without JetStream'}") from error
    except (OSError, client_errors.Error) as error:
        raise LogError(f"{where}: no answer ({_words(error)})") from error


class _Faults:
    """What went wrong, for whoever waits for an answer; the client would only log it."""

    last: Exception | None = None

    async def note(self, fault: Exception) -> None:
        self.last = fault


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _shown(url: str) -> str:
    """Without the passwords that may be in it."""
    pieces = (piece.rpartition("://") for piece in url.split(","))
    return ",".join(f"{scheme}{mark}{rest.rpartition('@')[2]}" for scheme, mark, rest in pieces)


def _tls() -> dict[str, Any]:
    """A server of one's own is reached as 127.0.0.1, which is not what its certificate is for."""
    cert = os.environ.get(CERT)
    return {"tls": trusting(Path(cert))} if cert else {}


def trusting(cert: Path) -> ssl.SSLContext:
    """Takes the server that shows the first certificate of a file, whatever its name, and no other."""
    end = "-----END CERTIFICATE-----"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    try:
        context.load_verify_locations(cadata=cert.read_text(encoding="ascii").partition(end)[0] + end)
    except (OSError, ValueError, ssl.SSLError) as error:
        raise LogError(f"{cert} is not a certificate: {error}") from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
