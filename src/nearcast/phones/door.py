"""The door for phones: it knows who comes, and passes what they say on to the NATS server, packet by packet.

The server speaks MQTT itself, checks what each may publish and hear, and keeps sessions. The door adds what it lacks:

- *Whose session.* The server knows a session by the id that a client gives itself, whoever that is, and hands it over
  to whoever comes with that id. Behind the door the id is one of the client's own.
- *Which token.* Any token of a client will do, and one that is revoked or has ended closes the connection.
- *How much.* Packets that are too large end a connection, and one that sends too many is read more slowly. A client has
  so many connections, and so many sessions that last, each with so many topics.
- *Nothing is retained.* A position that the server would hand to whoever asks next month is kept for nobody.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from nearcast.errors import GatewayError
from nearcast.gateway.access import mqtt_name, mqtt_password
from nearcast.gateway.grants import Action
from nearcast.gateway.identity import Identities, Identity
from nearcast.gateway.limits import Rates
from nearcast.phones.frames import (
    Code,
    Connect,
    FrameError,
    Kind,
    connack,
    filters_asked,
    filters_left,
    packet,
    read_connect,
)
from nearcast.phones.sessions import Sessions, Visit, session_name

__all__ = ["Door", "Few", "Limits", "Upstream"]

HASTE = 10.0
"""Seconds to say who one is."""
LOOK = 1.0
"""Seconds between two looks at whether those who are in may still be."""
NEWS = 1.2
"""Seconds until a token that was just made is known here. Whoever comes with an unknown one waits for as long."""
TOLD, TRIES = 0.5, 6
"""Seconds until it is known to the server, and how often that is waited for."""
CHUNK = 2**16
RETAIN = 0x01
COST = 200
"""Bytes that count as one more packet, so that many positions in one message are not counted as one."""
TURN = 32
"""Packets after which others have their turn; a large one counts as several."""
LINES, MINUTE = 60, 60.0
"""Lines that are logged in a minute."""
logger = logging.getLogger(__name__)


class Few(logging.Filter):
    """Strangers could fill a disk with what is said of them. Of many lines a few are kept, and then how many went."""

    def __init__(self, lines: int = LINES, seconds: float = MINUTE) -> None:
        super().__init__()
        self._most, self._seconds = lines, seconds
        self._until, self._count = -inf, 0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        if now >= self._until:
            left_out = max(self._count - self._most, 0)
            self._until, self._count = now + self._seconds, 0
            if left_out:
                record.msg, record.args = f"{record.getMessage()} (before it, {left_out:,} lines were left out)", ()
        self._count += 1
        return self._count <= self._most


logger.addFilter(Few())


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client may ask for. Operators have no rate."""

    packet: int = 2**18
    """Bytes of a packet."""
    rate: float = 100.0
    """Packets a second, of which a large one counts as several; at once, ten times that. Pings and answers of each
    connection count by themselves."""
    connections: int = 20
    sessions: int = 20
    """Sessions that last, also while nobody is there, for as long as the server keeps them."""
    topics: int = 100
    """Topics that one session subscribes to at a time."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where the NATS server speaks MQTT, and the password of our own processes there."""

    port: int
    secret: str
    host: str = "127.0.0.1"


class Door:
    """``async with await door.open(host, port)`` lets phones in."""

    def __init__(self, identities: Identities, upstream: Upstream, limits: Limits, sessions: Sessions) -> None:
        self._identities, self._upstream, self.limits, self._sessions = identities, upstream, limits, sessions
        self._rates = Rates(self.limits.rate)
        self._guests: dict[asyncio.Task[None], Identity] = {}
        self._count: Counter[str] = Counter()

    async def open(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> asyncio.Server:
        haste = None if tls is None else HASTE
        return await asyncio.start_server(self._meet, host, port, ssl=tls, backlog=1024, ssl_handshake_timeout=haste)

    async def watch(self) -> None:
        """Whoever may not be here any more goes."""
        while True:
            await asyncio.sleep(LOOK)
            for task, who in list(self._guests.items()):
                if not self._identities.holds(who):
                    task.cancel()

    def close(self) -> None:
        """Everyone goes."""
        for task in list(self._guests):
            task.cancel()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HASTE):
                came = await _arrival(reader, self.limits.packet)
            await self._admit(came, reader, writer)
        except FrameError as error:
            logger.info("one from %s: %s", _peer(writer), error)
            if error.code is not None:
                with suppress(OSError):
                    _write(writer, connack(error.code))
        except (OSError, EOFError, TimeoutError, ssl.SSLError):
            pass
        finally:
            await _shut(writer)

    async def _known(self, came: Connect) -> Identity:
        who = self._identities.identify(came.password)
        if who is None:
            await asyncio.sleep(NEWS)
            who = self._identities.identify(came.password)
        if who is None or who.client != came.user:
            raise FrameError(f"{came.user!r:.80} came with a token that is not its own", Code.BAD_PASSWORD)
        if not (who.may(Action.MOVE) or who.may(Action.LISTEN)):
            raise FrameError(f"{came.user!r:.80} has a token for something else", Code.NOT_ALLOWED)
        if self._count[who.client] >= self.limits.connections:
            raise FrameError(f"{came.user!r:.80} has {self.limits.connections} connections already", Code.NOT_ALLOWED)
        return who

    async def _admit(self, came: Connect, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        who = await self._known(came)
        await _wait(who, self._rates, 1 + len(came.will) // COST)  # it is published if the phone goes without a word
        came = _renamed(came, who, self._upstream.secret)
        visit = self._sessions.visit(who.client, came.client_id, is_clean=came.is_clean)
        task = asyncio.current_task()
        assert task is not None
        self._guests[task] = who
        self._count[who.client] += 1
        try:
            await self._pass_on(came, who, visit, reader, writer)
        except asyncio.CancelledError:
            logger.info("%r may not stay", who.client)
        finally:
            visit.leave()
            del self._guests[task]
            self._count[who.client] -= 1
            self._count += Counter()

    async def _pass_on(
        self, came: Connect, who: Identity, visit: Visit, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        up_reader, up_writer = await self._welcomed(came, writer)
        visit.welcome()
        ways = []
        try:
            ways = [
                asyncio.ensure_future(self._up(who, visit, reader, up_writer)),
                asyncio.ensure_future(_down(up_reader, writer)),
            ]
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in done:
                way.result()
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await _shut(up_writer)

    async def _welcomed(
        self, came: Connect, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the server, which has let the client in."""
        for left in reversed(range(TRIES)):
            try:
                up_reader, up_writer = await asyncio.open_connection(self._upstream.host, self._upstream.port)
            except OSError:
                raise FrameError("the NATS server is away", Code.AWAY) from None
            try:
                _write(up_writer, came.encoded())
                async with asyncio.timeout(HASTE):
                    said = await up_reader.readexactly(len(connack(Code.ACCEPTED)))
            except (OSError, EOFError, TimeoutError):
                await _shut(up_writer)
                raise FrameError("the NATS server does not answer", Code.AWAY) from None
            if said[-1] == Code.ACCEPTED:
                if not writer.is_closing():  # else whoever reads from it notices
                    writer.write(said)
                return up_reader, up_writer
            await _shut(up_writer)
            if left:
                await asyncio.sleep(TOLD)
        raise FrameError("the NATS server does not know this token", Code.NOT_ALLOWED)

    async def _up(self, who: Identity, visit: Visit, reader: asyncio.StreamReader, up: asyncio.StreamWriter) -> None:
        """From the phone to the server. That it ends without a word is for the server to see.

        What says something counts for the client, whichever of its connections it comes by. Pings and answers count for
        the connection, so that those of one phone do not wait for what another says.
        """
        own = Rates(self.limits.rate)
        since = 0
        while True:
            first, body = await _packet(reader, self.limits.packet)
            kind, rates = first >> 4, own
            match kind:
                case Kind.CONNECT:
                    raise FrameError("one who is in comes again")
                case Kind.PUBLISH:
                    first &= ~RETAIN
                    rates = self._rates
                case Kind.SUBSCRIBE | Kind.UNSUBSCRIBE:
                    self._note(visit, kind, body)
                    rates = self._rates
            await _wait(who, rates, 1 + len(body) // COST)
            _write(up, packet(first, body))
            await up.drain()
            since += 1 + len(body) // COST
            if since >= TURN:
                since = 0
                await asyncio.sleep(0)

    def _note(self, visit: Visit, kind: int, body: bytes) -> None:
        most = self.limits.topics
        if kind == Kind.UNSUBSCRIBE:
            visit.unsubscribe(filters_left(body, most))
        else:
            visit.subscribe(filters_asked(body, most), most)


async def _wait(who: Identity, rates: Rates, cost: int) -> None:
    """Until there is room for more. What is sent meanwhile waits with it. No packet costs more than there can be."""
    cost = min(cost, rates.at_once)
    while not who.is_operator:
        try:
            rates.take(who.client, cost)
        except GatewayError as error:
            if error.retry_after is None:
                raise FrameError(f"{who.client!r}: {error.reason}") from None
            await asyncio.sleep(error.retry_after)
        else:
            return


def _renamed(came: Connect, who: Identity, secret: str) -> Connect:
    """As the server is to know it. A session is the client's, whichever of its tokens it comes with."""
    session = session_name(who.client, came.client_id) if came.client_id else ""
    return came.known_as(session, mqtt_name(who.token), mqtt_password(secret, who.token))


async def _down(up: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await up.read(CHUNK):
        _write(writer, chunk)
        await writer.drain()


async def _arrival(reader: asyncio.StreamReader, most: int) -> Connect:
    _, body = await _packet(reader, most, Kind.CONNECT << 4)
    return read_connect(body)


async def _packet(reader: asyncio.StreamReader, most: int, wanted: int | None = None) -> tuple[int, bytes]:
    """The next packet: its first byte and what it holds."""
    first = (await reader.readexactly(1))[0]
    if wanted is not None and first != wanted:
        raise FrameError("this is not MQTT")
    length, shift = 0, 0
    while True:
        byte = (await reader.readexactly(1))[0]
        length |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
        shift += 7
        if shift > 21:
            raise FrameError("a length that has no end")
    if length > most:
        raise FrameError(f"a packet of {length:,} bytes; {most:,} is the most")
    return first, await reader.readexactly(length)


def _peer(writer: asyncio.StreamWriter) -> str:
    return str((writer.get_extra_info("peername") or ("?",))[0])


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    """One that has gone raises as it does elsewhere: uvloop has an error of its own for it, a `RuntimeError`."""
    if writer.is_closing():
        raise ConnectionResetError
    writer.write(data)


async def _shut(writer: asyncio.StreamWriter) -> None:
    """What was written goes out, if someone takes it."""
    with suppress(OSError, ssl.SSLError, TimeoutError, asyncio.CancelledError):
        writer.close()
        async with asyncio.timeout(1):
            await writer.wait_closed()
    writer.transport.abort()
