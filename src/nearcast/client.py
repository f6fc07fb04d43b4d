"""A client of the gateway, for programs: ``async with Client(url, token) as me``.

    await me.subscribe("near", "SELECT WHERE &location WITHIN 1 km OF #location")
    await me.move(-97.74, 30.27)
    async for event in me.events():
        print(event.kind, event.data["publisher"])

Moves that are made at the same time share a request, and keep their order. Events go on after a lost connection where
they were, without loss or repeat. What is not granted raises `GatewayError`. A statement that is
taken, and may not be what was meant, warns (`NearcastWarning`).
"""

from __future__ import annotations

import asyncio
import os
import random
import time
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from nearcast.errors import GatewayError, NearcastWarning
from nearcast.later import seconds_until

__all__ = ["Client", "Event"]

URL = "http://127.0.0.1:8080"
MOST = 5000
"""Moves in one request."""
SOON, LATE = 0.05, 2.0
"""Seconds before a lost connection is tried again: at first, and at most."""
TRYING = 15.0
"""Seconds for which a request is tried that the gateway cannot take just then, or does not hear."""
AGAIN = frozenset({429, 502, 503, 504})
"""What is answered to a request that cannot be taken just then. Only with 429 is it certain that it was not done."""
PATIENCE = 30.0
ACK = 0.2
"""Seconds between two acks, at least."""
GOODBYE = 0.5
"""Seconds for the gateway to say goodbye. It may have said much before that, which nobody takes any more."""
_encoder = msgspec.json.Encoder()
Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a client is told. ``data`` is the notification. ``cursor`` is where one is who has heard it."""

    cursor: str
    id: str
    kind: str
    """``enter``, ``leave``, ``snapshot``, ``reading``, ``update``, or ``gap``."""
    time: str
    data: Mapping[str, Any]


class _CloudEvent(msgspec.Struct):
    id: str = ""
    type: str = ""
    time: str = ""
    cursor: str = ""
    data: dict[str, Any] = {}
    at: str = ""


_event = msgspec.json.Decoder(_CloudEvent)


@dataclass(slots=True)
class _Waiting:
    """A move on its way, and whoever waits to know that it is on disk."""

    fix: dict[str, Any]
    done: asyncio.Future[int] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Client:
    """One client's connection. An operator may name another client to act for."""

    def __init__(self, url: str | None = None, token: str | None = None, *, client: str | None = None) -> None:
        """Without a URL or a token, those of ``NEARCAST_URL`` and ``NEARCAST_TOKEN``."""
        self.url = (url or os.environ.get("NEARCAST_URL") or URL).rstrip("/")
        token = token or os.environ.get("NEARCAST_TOKEN")
        if not token:
            raise GatewayError(401, "give a token, or set NEARCAST_TOKEN", "token")
        self._headers = {"Authorization": f"Bearer {token}"}
        self._for = {"client": client} if client else {}
        self._http: httpx.AsyncClient | None = None
        self._moves: list[_Waiting] = []
        self._mover: asyncio.Task[None] | None = None
        self._heard: str | None = None
        """The cursor of the last event that was handed out."""
        self._acked: str | None = None

    async def __aenter__(self) -> Self:
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers, params=self._for, timeout=PATIENCE)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Whoever leaves without an error has heard all that was handed out."""
        if self._mover is not None:
            await asyncio.wait([self._mover])
        if kind is None and self._heard != self._acked:
            with suppress(GatewayError):
                await self._ask("PUT", "/v1/cursor", json={"cursor": self._heard})
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    # ---- what one says ---------------------------------------------------------------------------

    async def move(self, lon: float | None = None, lat: float | None = None, **further: Any) -> int:
        """Say where one is; further: ``time``, ``alt``, ``floor``, ``accuracy``, ``place``, ``attributes``.

        Returns the sequence in the log once it is on disk there.
        """
        at = {} if lon is None and lat is None else {"lon": lon, "lat": lat}
        waiting = _Waiting({**at, **further})
        self._moves.append(waiting)
        if self._mover is None or self._mover.done():
            self._mover = asyncio.create_task(self._send_moves())
        return await waiting.done

    async def move_all(self, fixes: Iterable[Mapping[str, Any]]) -> int:
        """Many positions, each as `move` takes them by name, and for an operator with a ``client``. Those that are good
        are taken even if one is refused, which raises."""
        waiting, sequence = iter(fixes), 0
        while some := list(islice(waiting, MOST)):
            answer = await self._ask("POST", "/v1/positions", content=_encoder.encode(some))
            for fault in answer.get("faults", ()):
                raise GatewayError(422, fault["reason"], f"[{fault['index']}].{fault.get('field', '')}".rstrip("."))
            sequence = answer["sequence"]
        return sequence

    async def publish(self, id: str, text: str) -> int:  # noqa: A002 (the word of the op log)
        """Make something known, or change it, by a statement of the language."""
        return await self._put("publications", id, text)

    async def subscribe(self, id: str, text: str) -> int:  # noqa: A002
        """Ask to be told, or ask otherwise, by a statement of the language."""
        return await self._put("subscriptions", id, text)

    async def retract(self, id: str) -> int:  # noqa: A002
        """Take back what one published."""
        return int((await self._ask("DELETE", f"/v1/publications/{quote(id, safe='')}"))["sequence"])

    async def unsubscribe(self, id: str) -> int:  # noqa: A002
        """Ask no more."""
        return int((await self._ask("DELETE", f"/v1/subscriptions/{quote(id, safe='')}"))["sequence"])

    async def emit(self, publication: str, value: Scalar | None = None, **values: Scalar) -> int:
        """A reading of a source: ``value`` is ``@``, others are ``@name``."""
        said = {"publication": publication, "value": value, "values": values}
        return int((await self._ask("POST", "/v1/readings", is_safe=False, json=said))["sequence"])

    async def describe(self, **attributes: Scalar | None) -> int:
        """Say what one is like; None takes an attribute back."""
        return int((await self._ask("PATCH", "/v1/client", json={"attributes": attributes}))["sequence"])

    async def forget(self) -> None:
        """Be forgotten, with all that one published and asked."""
        await self._ask("DELETE", "/v1/client")

    # ---- what one asks ---------------------------------------------------------------------------

    async def publications(self) -> list[Any]:
        """All that one publishes: the ``id`` and the ``text`` of each."""
        found: list[Any] = (await self._ask("GET", "/v1/publications"))["publications"]
        return found

    async def subscriptions(self) -> list[Any]:
        """All that one asked to be told of: the ``id`` and the ``text`` of each."""
        found: list[Any] = (await self._ask("GET", "/v1/subscriptions"))["subscriptions"]
        return found

    async def query(self, text: str) -> Any:
        """What matches now, by the text of a subscription."""
        return await self._ask("POST", "/v1/query", json={"text": text})

    async def explain(self, subscription: str) -> Any:
        """Why one was told, or was not."""
        return await self._ask("GET", f"/v1/explain/{quote(subscription, safe='')}")

    async def clients(self) -> Any:
        """Where those are that one may see."""
        return await self._ask("GET", "/v1/clients")

    async def health(self) -> Any:
        """Whether the log and a broker answer; an operator is also told how they are."""
        return await self._ask("GET", "/v1/health")

    async def events(self, after: str | None = None) -> AsyncGenerator[Event, None]:
        """What one is told, in order and for ever: after a cursor, or where one was, or where one's own cursor is.
        ``"0"`` is before all that is kept.

        An event counts as heard when the next one is asked for, or when the client is left without an error.
        """
        if after is not None:
            self._heard = self._acked = after
        wait = SOON
        while True:
            try:
                async with await self._connected() as socket:
                    wait = SOON
                    async for event in self._received(socket):
                        yield event
            except (OSError, ConnectionClosed, InvalidHandshake, TimeoutError):
                await asyncio.sleep(wait * random.uniform(0.5, 1.5))
                wait = min(LATE, wait * 2)

    # ---- webhooks --------------------------------------------------------------------------------

    async def add_webhook(self, id_: str, url: str, *, batch: int | None = None, after: str | None = None) -> Any:
        """Have events sent to a URL: one a request, or up to ``batch`` as a list. The answer has the secret that they
        are signed with, if the webhook is new; it is not shown again."""
        given = {"batch": batch, "after": after}
        wanted = {"url": url, **{name: value for name, value in given.items() if value is not None}}
        return await self._ask("PUT", _hook(id_), json=wanted)

    async def webhooks(self) -> list[Any]:
        """All of one's own, and how each is."""
        found: list[Any] = (await self._ask("GET", "/v1/webhooks"))["webhooks"]
        return found

    async def webhook(self, id_: str) -> Any:
        return await self._ask("GET", _hook(id_))

    async def pause_webhook(self, id_: str) -> Any:
        """What one is told meanwhile waits, as long as notifications are kept."""
        return await self._ask("POST", f"{_hook(id_)}/pause")

    async def resume_webhook(self, id_: str) -> Any:
        return await self._ask("POST", f"{_hook(id_)}/resume")

    async def rotate_webhook(self, id_: str) -> str:
        """A new secret. The old one is used beside it for a day."""
        return str((await self._ask("POST", f"{_hook(id_)}/rotate", is_safe=False))["secret"])

    async def test_webhook(self, id_: str) -> Any:
        """Send something to try the endpoint with: what became of it, and why."""
        return await self._ask("POST", f"{_hook(id_)}/test", is_safe=False)

    async def dead_letters(self, id_: str) -> AsyncIterator[Any]:
        """What could not be delivered, in order, with the reasons."""
        after: str | None = "0"
        while after is not None:
            page = await self._ask("GET", f"{_hook(id_)}/dead", params={**self._for, "after": after})
            for letter in page["letters"]:
                yield letter
            after = page["next"]

    async def retry_dead_letters(self, id_: str) -> Any:
        """Each once more; those that are refused again stay."""
        return await self._ask("POST", f"{_hook(id_)}/dead/retry")

    async def remove_webhook(self, id_: str) -> Any:
        """What it was."""
        return await self._ask("DELETE", _hook(id_))

    # ---- the wires -------------------------------------------------------------------------------

    async def _connected(self) -> ClientConnection:
        place = {} if self._heard is None else {"after": self._heard}
        query = str(httpx.QueryParams({**self._for, **place}))
        url = "ws" + self.url.removeprefix("http") + "/v1/ws" + (f"?{query}" if query else "")
        try:
            return await connect(
                url, additional_headers=self._headers, max_size=None, compression=None, close_timeout=GOODBYE
            )
        except InvalidStatus as error:
            if error.response.status_code in (429, 500, 502, 503, 504):
                raise
            raise _refused(error.response.status_code, bytes(error.response.body or b"")) from None

    async def _received(self, socket: ClientConnection) -> AsyncIterator[Event]:
        clock = asyncio.get_running_loop().time
        due = clock()
        async for message in socket:
            found = _event.decode(message)
            if found.cursor:
                self._heard = found.cursor
                kind = found.type.removeprefix("nearcast.")
                yield Event(self._heard, found.id, kind, found.time, found.data)
            elif found.at:
                self._heard = found.at
            if clock() > due and self._heard != self._acked:
                await socket.send(f'{{"ack":"{self._heard}"}}')
                self._acked, due = self._heard, clock() + ACK

    async def _send_moves(self) -> None:
        while self._moves:
            some, self._moves = self._moves[:MOST], self._moves[MOST:]
            try:
                answer = await self._ask("POST", "/v1/positions", content=_encoder.encode([w.fix for w in some]))
                faults = {fault["index"]: fault for fault in answer.get("faults", ())}
                refused = [_fault(faults.get(index)) for index in range(len(some))]
            except GatewayError as error:
                answer, refused = {}, [error] * len(some)
            for waiting, refusal in zip(some, refused, strict=True):
                if waiting.done.done():
                    continue
                if refusal is None:
                    waiting.done.set_result(answer["sequence"])
                else:
                    waiting.done.set_exception(refusal)

    async def _put(self, what: str, id_: str, text: str) -> int:
        answer = await self._ask("PUT", f"/v1/{what}/{quote(id_, safe='')}", json={"text": text})
        for said in answer.get("warnings", ()):
            warnings.warn(said, NearcastWarning, stacklevel=3)
        return int(answer["sequence"])

    async def _ask(self, method: str, path: str, *, is_safe: bool = True, **body: Any) -> Any:
        """A request, tried again while the gateway is away, or says so, or a proxy does; but one that is not safe to do
        twice only if it was not done."""
        if self._http is None:
            raise GatewayError(503, "the client is not open; use it as `async with Client(url, token) as me`")
        wait, clock = SOON, asyncio.get_running_loop().time
        until = clock() + TRYING
        while True:
            try:
                response = await self._http.request(method, path, **body)
            except httpx.HTTPError as error:
                refusal = GatewayError(503, f"{self.url} does not answer ({str(error) or type(error).__name__})")
                is_undone = isinstance(error, httpx.ConnectError)
            else:
                if response.is_success:
                    return msgspec.json.decode(response.content)
                refusal = _refused(response.status_code, response.content, response.headers.get("retry-after"))
                is_undone = refusal.status == 429
            pause = max(wait * random.uniform(0.5, 1.5), refusal.retry_after or 0)
            if refusal.status not in AGAIN or not (is_safe or is_undone) or clock() + pause > until:
                raise refusal
            await asyncio.sleep(pause)
            wait = min(LATE, wait * 2)


def _hook(id_: str) -> str:
    return f"/v1/webhooks/{quote(id_, safe='')}"


def _refused(status: int, body: bytes, retry_after: str | None = None) -> GatewayError:
    try:
        said = msgspec.json.decode(body)
        reason, field_ = said["detail"], said.get("field", "")
    except (msgspec.DecodeError, KeyError, TypeError):
        reason, field_ = f"the gateway answered {status}", ""
    return GatewayError(status, reason, field_, retry_after=seconds_until(retry_after, time.time()))


def _fault(fault: Mapping[str, Any] | None) -> GatewayError | None:
    return None if fault is None else GatewayError(422, fault["reason"], fault.get("field", ""))
