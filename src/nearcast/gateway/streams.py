"""Events as they happen: server-sent events, and WebSocket, which also takes acks and positions.

Both are plain ASGI: a socket costs a task or two, a feed, and nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, MutableMapping
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect

from nearcast.errors import GatewayError, NearcastError
from nearcast.gateway.call import Call, Gateway
from nearcast.gateway.commit import Placed
from nearcast.gateway.delivery import Feed
from nearcast.gateway.events import Event
from nearcast.gateway.formats import Lines
from nearcast.gateway.grants import Action
from nearcast.gateway.identity import Identity
from nearcast.log.ending import end

__all__ = ["AT_ONCE", "EVENT_HEADERS", "Sender", "Talk", "is_heard", "send_events", "start_after"]

Message = MutableMapping[str, Any]
Sender = Callable[[Message], Awaitable[None]]
Receiver = Callable[[], Awaitable[Message]]

AT_ONCE = "nearcast.at_once"
"""The extension of a server whose ``write`` need not be awaited: it takes bytes, if it can, and says whether it did."""
CURSOR = 2.0
"""Seconds between two writes of a cursor."""
PIECE = 2**16
"""Bytes of events in one write, or a little more."""
PENDING = 64
"""Moves of a socket that may wait for the log before more are read."""
AGAIN, NO_MORE = 1012, 1008
"""What a socket is closed with: the service starts again; or, it was against a rule."""
_encoder = msgspec.json.Encoder()
EVENT_HEADERS = {"content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no"}
_HEADERS = [(name.encode(), value.encode()) for name, value in EVENT_HEADERS.items()]


async def start_after(gateway: Gateway, client: str, named: str | None) -> int | None:
    """Where a client goes on: after what it names, or where its cursor is; None if that is not of this stream."""
    if named is None or named == "":
        return await gateway.cursors.read(client)
    return gateway.hub.seal.open(named)


def is_heard(call: Call) -> bool:
    """Whether what is sent counts as heard. A second screen says ``cursor=off``, and leaves the cursor to the first."""
    given = call.query.get("cursor")
    if given not in (None, "off"):
        raise GatewayError(422, f"{given!r:.40} is no way to treat a cursor; say off, or nothing", "cursor")
    return given is None


# ---- server-sent events --------------------------------------------------------------------------------


async def send_events(call: Call, receive: Receiver, send: Sender) -> None:
    """Until the client goes. Whoever comes back says by itself where it was, as the header of the protocol; the address
    says only where it began."""
    gateway, client = call.gateway, call.client
    named = call.request.headers.get("last-event-id") or call.query.get("after")
    after, keeps_cursor = await start_after(gateway, client, named), is_heard(call)
    with gateway.listen(call.who, client, after) as feed:
        gone = asyncio.ensure_future(_until_gone(receive, feed))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await _send(send, b": nearcast\n\n")
            await _pass_on(call, feed, send, keeps_cursor=keeps_cursor)
            if not gone.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()


async def _pass_on(call: Call, feed: Feed, send: Sender, *, keeps_cursor: bool) -> None:
    """The cursor follows a little behind, since nobody says what has arrived, and events do not wait for it."""
    gateway, who, heartbeat = call.gateway, call.who, call.gateway.settings.heartbeat
    sent, written, due = feed.last, feed.last, time.monotonic() + CURSOR
    beat = time.monotonic() + heartbeat
    writing: asyncio.Task[None] | None = None
    write: Callable[[bytes], bool] = call.request.scope["extensions"][AT_ONCE]["write"]

    def is_noting() -> bool:
        """Whether the cursor is to follow, and we look at that in time."""
        return keeps_cursor and feed.last > written

    def write_at_once(event: Event) -> bool:
        has_time = not keeps_cursor or (is_noting() and time.monotonic() < due)
        return has_time and gateway.identities.holds(who) and write(event.frame)

    feed.write_at_once = write_at_once
    try:
        while not feed.is_closed:
            until = min(beat, due) if is_noting() else beat
            events = await feed.take(max(0.0, until - time.monotonic()))
            if not gateway.identities.holds(who):
                break
            now = time.monotonic()
            if events:
                for piece in _pieces(events):
                    await _send(send, piece)
            elif now >= beat and not feed.is_closed:
                await _send(send, b"id: %b\n\n" % feed.cursor.encode())
            if events or now >= beat:
                beat = now + heartbeat
            if keeps_cursor and now >= due:
                if sent > written and (writing is None or writing.done()):
                    writing, written = asyncio.create_task(_remember(gateway, feed.client, sent)), sent
                sent, due = feed.reached, now + CURSOR
    finally:
        if writing is not None:
            await writing


def _pieces(events: list[Event]) -> Iterator[bytes]:
    """Their frames, several in a write, but not so many that a slow reader has much of them waiting here."""
    frames: list[bytes] = []
    size = 0
    for event in events:
        frames.append(event.frame)
        size += len(frames[-1])
        if size >= PIECE:
            yield b"".join(frames)
            frames, size = [], 0
    if frames:
        yield b"".join(frames)


async def _remember(gateway: Gateway, client: str, sequence: int) -> None:
    with suppress(NearcastError):
        await gateway.cursors.write(client, sequence)


async def _send(send: Sender, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _until_gone(receive: Receiver, feed: Feed) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    feed.close()


# ---- WebSocket -----------------------------------------------------------------------------------------


class _In(msgspec.Struct, forbid_unknown_fields=True):
    """What a client says: how far it has heard, or where it is. An answer has the ``ref`` of what it answers."""

    ack: str | None = None
    move: msgspec.Raw = msgspec.Raw(b"")
    ref: int | str | None = None


_in = msgspec.json.Decoder(_In)


class Talk:
    """A WebSocket of a client."""

    def __init__(
        self, gateway: Gateway, who: Identity, client: str, feed: Feed, send: Sender, *, keeps_cursor: bool = True
    ) -> None:
        self._gateway, self._who, self._client, self._feed, self._send = gateway, who, client, feed, send
        self._keeps_cursor = keeps_cursor
        self._acked = self._kept = feed.last
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        """Answers that are awaited, and writes of the cursor."""

    async def run(self, receive: Receiver) -> None:
        """Until either side goes."""
        sending = asyncio.create_task(self._events())
        try:
            with suppress(ClientDisconnect):
                await self._hear(receive)
        finally:
            await self._write()
            self._feed.close()
            await end(sending, *self._tasks)

    async def _events(self) -> None:
        """Whatever ends it, the client is told, and comes back, unless its token does not hold any more."""
        try:
            while self._may_stay():
                events = await self._feed.take(self._gateway.settings.heartbeat)
                for event in events:
                    if not self._may_stay():
                        break
                    await self._send({"type": "websocket.send", "text": event.text})
                if not events and self._may_stay():
                    await self._say({"at": self._feed.cursor})
        finally:
            code = AGAIN if self._gateway.identities.holds(self._who) else NO_MORE
            with suppress(Exception):  # it may have gone already
                await self._send({"type": "websocket.close", "code": code})

    def _may_stay(self) -> bool:
        return not self._feed.is_closed and self._gateway.identities.holds(self._who)

    async def _say(self, value: Any) -> None:
        """A socket may be closed while something of it is still to be answered, and the server raises then."""
        try:
            await self._send({"type": "websocket.send", "text": _encoder.encode(value).decode()})
        except (RuntimeError, OSError):
            raise ClientDisconnect from None

    async def _hear(self, receive: Receiver) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            said = message.get("text")
            ref = None
            await self._wait(len(said) if said is not None else len(message["bytes"]))
            if not self._may_stay():
                return
            try:
                heard = _in.decode(said if said is not None else message["bytes"])
                ref = heard.ref
                if heard.ack is not None:
                    self._heard(self._gateway.hub.seal.known(heard.ack, "ack"))
                if move := bytes(heard.move):
                    await self._move(move, ref)
            except GatewayError as error:
                await self._refuse(error, ref)
            except (msgspec.DecodeError, ValueError, RecursionError) as error:
                await self._refuse(GatewayError(400, f"not understood: {error}"), ref)

    async def _wait(self, size: int) -> None:
        """One who says too much is read more slowly."""
        while True:
            try:
                self._gateway.count_request(self._who, size)
            except GatewayError as error:
                await asyncio.sleep(error.retry_after or 1)
            else:
                return

    async def _refuse(self, error: GatewayError, ref: int | str | None) -> None:
        named = {"field": error.field} if error.field else {}
        await self._say({"error": error.reason, "status": error.status, **named, "ref": ref})

    async def _move(self, body: bytes, ref: int | str | None) -> None:
        gateway = self._gateway
        self._who.must(Action.MOVE)
        read = gateway.positions(self._who, body, self._client)
        while len(self._tasks) >= PENDING:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        self._start(self._answer(read, gateway.enqueue(self._who, read), ref))

    async def _answer(self, read: Lines, placing: asyncio.Future[Placed], ref: int | str | None) -> None:
        with suppress(ClientDisconnect):
            try:
                taken = await self._gateway.taken(self._who, read, placing)
            except GatewayError as error:
                await self._refuse(error, ref)
            else:
                await self._say({**msgspec.to_builtins(taken), "ref": ref})

    def _heard(self, sequence: int) -> None:
        """The cursor is written soon, and once for many acks. Nobody has heard what was never sent."""
        self._acked = max(self._acked, min(sequence, self._feed.reached))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(CURSOR, lambda: self._start(self._write()))

    def _start(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(self) -> None:
        """The cursor; where all that was sent has been heard, also past what was for others."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        reached = self._feed.reached if self._acked >= self._feed.last else self._acked
        if self._keeps_cursor and reached > self._kept:
            with suppress(NearcastError):
                await self._gateway.cursors.write(self._client, reached)
                self._kept = reached
