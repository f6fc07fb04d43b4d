"""The bare chain, which the live bench is measured beside: NATS alone, with nothing of nearcast in it.

A message is published into a stream that is on disk before it answers, a process of its own consumes it and publishes
as many messages as it says into a stream that answers at once, and a receiver hears those. Streams, consumers and the
server are set as for the log.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import api

from nearcast.log.connection import connection
from nearcast.log.server import die_with_parent

__all__ = ["Chain", "Hearer", "chain", "hearer", "message", "relay"]

IN, OUT = "bench-in", "bench-out"
BEAT = 1.0
Heard = Callable[[int, int], None]
"""When something came, and when it was sent; both in microseconds."""


def message(copies: int, at: int, size: int = 0) -> bytes:
    """What is published: how many are to hear of it, when that was, and what else there is to carry."""
    return b"%d %d %b" % (copies, at, b"." * size)


def _sent(data: bytes) -> int:
    return int(data.split(b" ", 2)[1])


class Chain:
    """The ends of the chain, in this process."""

    def __init__(self, client: Client, middle: subprocess.Popen[bytes]) -> None:
        self.relay = middle
        """The process in the middle."""
        self._streams = client.jetstream(timeout=30)

    async def publish(self, payload: bytes) -> None:
        """Returns when it is on disk."""
        await self._streams.publish("bench.in", payload, stream=IN)


@asynccontextmanager
async def chain(url: str, heard: Heard) -> AsyncIterator[Chain]:
    """The chain, with its process in the middle; ``heard`` is called for each message at its end."""
    async with connection(url) as client, connection(url) as hearing:
        await _make(client)
        with relay(url) as middle:
            assert middle.stdout is not None
            await asyncio.to_thread(middle.stdout.readline)
            await _consume(hearing, OUT, partial(_take, heard))
            yield Chain(client, middle)


async def _take(heard: Heard, received: Msg) -> None:
    if received.reply.startswith("$JS.ACK."):
        heard(time.time_ns() // 1000, _sent(received.data))
    elif received.reply:
        await received.respond(b"")


async def _make(client: Client) -> None:
    streams = client.jetstream(timeout=30)
    await streams.add_stream(api.StreamConfig(IN, subjects=["bench.in"], storage=api.StorageType.FILE))
    await streams.add_stream(
        api.StreamConfig(
            OUT, subjects=["bench.out.*"], storage=api.StorageType.FILE, persist_mode=api.PersistMode.ASYNC
        )
    )


async def _consume(client: Client, stream: str, take: Callable[[Msg], Awaitable[None]]) -> None:
    """Have all that is new in a stream pushed."""
    inbox = client.new_inbox()
    await client.subscribe(inbox, cb=take, pending_msgs_limit=0, pending_bytes_limit=0)
    await client.jetstream(timeout=30).add_consumer(
        stream,
        deliver_subject=inbox,
        deliver_policy=api.DeliverPolicy.NEW,
        ack_policy=api.AckPolicy.NONE,
        flow_control=True,
        idle_heartbeat=BEAT,
        mem_storage=True,
    )


# ---- the process in the middle ---------------------------------------------------------------------------


@contextmanager
def relay(url: str) -> Iterator[subprocess.Popen[bytes]]:
    """It is ready when it has written a line."""
    started = subprocess.Popen(
        [sys.executable, "-m", "nearcast.bench.chain", url],
        stdout=subprocess.PIPE,
        preexec_fn=die_with_parent(),  # noqa: PLW1509 (it calls what is already loaded, and nothing else)
    )
    with started:
        try:
            yield started
        finally:
            started.kill()


async def _relay(url: str) -> None:
    async with connection(url) as client:

        async def take(received: Msg) -> None:
            if not received.reply.startswith("$JS.ACK."):
                if received.reply:
                    await received.respond(b"")
                return
            said = received.data.split(b" ", 2)
            for number in range(int(said[0])):
                await client.publish(f"bench.out.{number}", b"%b %b %b" % (said[0], said[1], said[2][:500]))

        await _consume(client, IN, take)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


# ---- many who hear ---------------------------------------------------------------------------------------


class Hearer(asyncio.Protocol):
    """A connection to the server itself that hears one subject, as a bare client of NATS would."""

    def __init__(self, number: int, heard: Heard) -> None:
        self._number, self._heard = number, heard
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        listen = b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB bench.out.%d 1\r\nPING\r\n'
        self._transport.write(listen % self._number)

    def data_received(self, data: bytes) -> None:
        came = time.time_ns() // 1000
        *lines, self._rest = (self._rest + data).split(b"\r\n")
        for before, line in zip([b"", *lines], lines, strict=False):
            if before.startswith(b"MSG "):
                self._heard(came, _sent(line))
            elif line == b"PONG" and not self.opened.done():
                self.opened.set_result(None)
            elif line == b"PING" and self._transport is not None:
                self._transport.write(b"PONG\r\n")


async def hearer(url: str, number: int, heard: Heard) -> Hearer:
    at = urlsplit(url)
    made: Any = await asyncio.get_running_loop().create_connection(
        lambda: Hearer(number, heard), at.hostname or "", at.port or 4222
    )
    found = cast(Hearer, made[1])
    await found.opened
    return found


if __name__ == "__main__":
    asyncio.run(_relay(sys.argv[1]))
