"""One request of one client, and everything that is needed to answer it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from nearcast.errors import GatewayError, LanguageError, OpError
from nearcast.gateway.ask import Broker
from nearcast.gateway.bodies import Statement, Taken, Written
from nearcast.gateway.commit import Committer, Placed
from nearcast.gateway.delivery import Feed, Hub
from nearcast.gateway.formats import MOST as MOST_POSITIONS
from nearcast.gateway.formats import Fault, Lines, faulty, op_line, read_positions, when
from nearcast.gateway.hooks import MOST, Hooks
from nearcast.gateway.identity import Identities, Identity
from nearcast.gateway.layers import Layers
from nearcast.gateway.limits import Held, InHand, Rates
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import Metrics
from nearcast.gateway.outbox import Cursors
from nearcast.gateway.resolving import Lookups
from nearcast.model.moment import MICROS
from nearcast.model.repair import brief, repairs

__all__ = ["Call", "Gateway", "Settings", "answer", "written"]

REMEMBERED = 10_000
"""Those who wrote of late, at most."""
FAULTS = 100
"""The most that one answer lists."""
BODY = 4 * 2**20
"""Bytes of a body of one who is no operator. As many positions as may be sent at once fit."""
BRIEF = 512
"""Bytes that a statement may have to count as one op;"""
WRITTEN = 16
"""of a longer one so many more count as another, since reading it takes as long as several fixes."""
BYTES = 4096
"""Bytes of a body that count as another request: to read it takes time, whatever is in it. So many of a layer that is
read count as another op."""
QUESTIONS = 4
"""Of one client that a broker is asked at once; others wait."""
REQUESTS, BODIES = 200, 4 * BODY
"""Requests of a client that are in hand at once, and bytes of their bodies and answers."""
HASTE, SLOWEST = 20.0, 2**15
"""Seconds for a body to come, and the bytes of a larger one that come in each further second, at least."""
LOOK = 1.0
"""Seconds between two looks at whether those who listen may still."""
LETTERS = 3
"""Pages of dead letters that are read at the same time, by the connection that also writes. A server hangs up on one
that has 64 MiB on its way, and a layer may take half of that."""
JSON = "application/json"
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a gateway allows."""

    ahead: float = 300.0
    """Seconds that a fix may be ahead of the gateway's clock."""
    body: int = 32 * 2**20
    """Bytes of a body; of one who is no operator, at most 4 MiB."""
    rate: float = 1000.0
    """Ops a second of one client; an operator's are not counted."""
    heartbeat: float = 15.0
    """Seconds after which a quiet stream of events says that it is there."""
    queue: int = 1000
    """Events that wait for one socket before it is left to the stream on disk."""
    statements: int = 1000
    """Publications of one client, and as many subscriptions; an operator's own are not counted."""
    text: int = 2**14
    """Bytes of a client's statement. A polygon of some hundred corners fits."""
    cost: int = 50_000
    """Conditions that a client's statement may have a broker ask at once, about: it takes half a second."""
    weight: int = 10_000
    """Conditions that all statements of a client may have it ask whenever anyone does something."""
    streams: int = 100
    """Streams of events that one client may have open here."""
    webhooks: int = MOST
    """Webhooks of one client."""
    private: bool = False
    """Whether webhooks may lead to loopback and private addresses."""
    tiles: str | None = None
    """Where the map's tiles come from; without them it has a graticule."""
    tiles_credit: str = ""
    """Whom the map names for its tiles."""


class _Weight(msgspec.Struct):
    """What a client has already, by ids."""

    publications: list[str]
    subscriptions: list[str]


@dataclass(slots=True)
class Gateway:
    """Everything that a door needs."""

    settings: Settings
    identities: Identities
    metrics: Metrics
    link: Link
    committer: Committer
    broker: Broker
    hub: Hub
    cursors: Cursors
    layers: Layers
    rates: Rates
    hooks: Hooks
    requests: Rates
    """Requests and messages, whatever is in them; ``rates`` counts ops."""
    lookups: Lookups
    wrote: dict[str, int] = field(default_factory=dict)
    """The last packet of each of those who wrote of late, so that they read what they wrote."""
    _guests: WeakKeyDictionary[Feed, Identity] = field(default_factory=WeakKeyDictionary)
    """Who listens."""
    in_hand: InHand = field(default_factory=lambda: InHand(REQUESTS, BODIES))
    reading_letters: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LETTERS))
    _asking: WeakValueDictionary[str, asyncio.Semaphore] = field(default_factory=WeakValueDictionary)
    """Of clients that ask a broker something."""
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Of clients that have a statement written."""
    _changing: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Statements that are being written, by client and id."""

    def count(self, who: Identity, ops: int) -> None:
        """Against what a client may do in a second."""
        if not who.is_operator:
            self.rates.take(who.client, ops)

    def count_request(self, who: Identity, size: int = 0) -> None:
        """What is refused costs time as well. Of a message, with its bytes, before it is read."""
        if not who.is_operator:
            self.requests.take(who.client, min(1 + size // BYTES, self.requests.at_once))

    def count_body(self, who: Identity, size: int) -> None:
        """Before it is read."""
        if not who.is_operator:
            self.requests.take(who.client, min(size // BYTES, self.requests.at_once))

    def count_bytes(self, who: Identity, size: int) -> None:
        """Of what is read for someone, before it is, as ops."""
        self.count(who, min(1 + size // BYTES, self.rates.at_once))

    def owe_bytes(self, who: Identity, size: int) -> None:
        """Of what was read for someone, as ops."""
        if not who.is_operator:
            self.rates.owe(who.client, size // BYTES)

    @contextmanager
    def holding(self, who: Identity) -> Iterator[Held | None]:
        """Answer a request within, unless too many of the same client are in hand."""
        if who.is_operator:
            yield None
            return
        with self.in_hand.request(who.client) as held:
            yield held

    def most(self, who: Identity) -> int:
        """Positions of a body."""
        return MOST_POSITIONS if who.is_operator else min(MOST_POSITIONS, self.rates.at_once)

    def positions(self, who: Identity, body: bytes, named: str | None) -> Lines:
        """What a body of positions comes to. They count before they are looked at."""
        now, ahead = time.time_ns() // 1000, round(self.settings.ahead * MICROS)
        return read_positions(body, who, now, ahead, named, self.most(who), lambda ops: self.count(who, ops))

    def listen(self, who: Identity, client: str, after: int | None) -> Feed:
        """What is told to a client after a place, unless too many hear that already."""
        if not who.is_operator and self.hub.listeners(client) >= self.settings.streams:
            most = self.settings.streams
            raise GatewayError(429, f"a client has at most {most:,} streams at a time; close one", retry_after=1)
        self.count(who, 1)
        feed = self.hub.listen(client, after)
        self._guests[feed] = who
        return feed

    async def watch(self) -> None:
        """Streams of those whose tokens do not hold any more are closed, also if there is nothing to send."""
        while True:
            await asyncio.sleep(LOOK)
            for feed, who in list(self._guests.items()):
                if not self.identities.holds(who):
                    feed.close()

    def moment(self, given: str | float | None = None) -> str | float:
        return when(given, time.time_ns() // 1000, round(self.settings.ahead * MICROS))

    def enqueue(self, who: Identity, read: Lines) -> asyncio.Future[Placed]:
        """Put what was read in line at once."""
        self.metrics.refused.inc(len(read.faults))
        if not read.lines:
            raise _refusal(read.faults)
        return self.committer.enqueue(read.lines, who.client)

    async def taken(self, who: Identity, read: Lines, placing: asyncio.Future[Placed] | None = None) -> Taken:
        """What was read, when it is on disk. Says what could not be taken."""
        placed = await (placing or self.enqueue(who, read))
        if len(self.wrote) >= REMEMBERED:
            self.wrote.clear()
        self.wrote[who.client] = placed.sequence
        return Taken(read.count, placed.sequence, len(read.faults), read.faults[:FAULTS], brief(read.warnings))

    async def ask(self, who: Identity, what: str, **asked: Any) -> bytes:
        """A question to the broker, which has applied by then what the same one wrote here. What it takes the broker is
        counted when that is known."""
        after = self.wrote.get(who.client)
        if who.is_operator:
            return await self.broker.ask(what, **asked, after=after)
        self.count(who, 1)
        async with self._asking.setdefault(who.client, asyncio.Semaphore(QUESTIONS)):
            return await self.broker.ask(what, charge=self.rates.charging(who.client), **asked, after=after)

    def changing(self, client: str, id_: str) -> asyncio.Lock:
        """Whoever has it finds a statement as it was when it is written, as far as it is written here."""
        return self._changing.setdefault((client, id_), asyncio.Lock())

    @asynccontextmanager
    async def admitted(self, who: Identity, client: str, kind: str, id_: str, text: str) -> AsyncIterator[None]:
        """Write a statement within. One that is more than a client may have is refused before it is in the log; of
        several that come at once, each is weighed when the last is applied."""
        if who.is_operator:
            yield
            return
        async with self._turns.setdefault(client, asyncio.Lock()):
            most: dict[str, Any] = {"cost": self.settings.cost, "weight": self.settings.weight}
            after = self.wrote.get(who.client)
            charge = self.rates.charging(who.client)
            weighed = await self.broker.ask(
                "weigh", charge=charge, client=client, id=id_, text=text, after=after, **most
            )
            found = msgspec.json.decode(weighed, type=_Weight)
            known = found.publications if kind == "publish" else found.subscriptions
            if id_ not in known and len(known) >= self.settings.statements:
                raise GatewayError(
                    403, f"a client has at most {self.settings.statements:,} of them; remove one first", "id"
                )
            yield

    def check_text(self, who: Identity, text: str) -> None:
        """Before it is read: whoever writes long ones may write fewer, also of those that mean nothing."""
        self._check_size(who, len(text.encode("utf-8", "replace")), "a statement", "text")

    def check_reading(self, who: Identity, line: bytes) -> None:
        """Everyone who hears a reading hears all of it, and a thousand subscriptions may."""
        self._check_size(who, len(line), "a reading", "values")

    def _check_size(self, who: Identity, size: int, what: str, field: str) -> None:
        if who.is_operator:
            return
        if size > self.settings.text:
            raise GatewayError(413, f"{what} has at most {self.settings.text:,} bytes", field)
        self.count(who, min(max(0, size - BRIEF) // WRITTEN, self.rates.at_once))

    def cost(self, who: Identity) -> int | None:
        """What a question may cost."""
        return None if who.is_operator else self.settings.cost

    async def write(
        self, who: Identity, op: dict[str, Any], status: int = 422, statement: Mapping[str, str] | None = None
    ) -> Written:
        """Append an op, wait until it is applied, and raise if it cannot be read or was refused. If it is a statement,
        ``statement`` says how the broker knows it: its ``subscription`` or ``publication`` with the ``client``, or its
        ``relation``."""
        self.count(who, 1)
        with repairs() as repaired:
            line = written(op)
        placed = await self.committer.commit([line], who.client)
        unknown = await self.broker.check(placed, status, statement)
        return Written(placed.sequence, brief(repaired) + unknown)


def _refusal(faults: list[Fault]) -> GatewayError:
    """Of a body in which nothing could be taken: the first reason, and which position it is of."""
    if not faults:
        return GatewayError(422, "there is nothing in it")
    first = faults[0]
    where = f"[{first.index}].{first.field}".rstrip(".") if len(faults) > 1 else first.field
    return GatewayError(422, first.reason, where)


def written(op: dict[str, Any]) -> bytes:
    try:
        return op_line(op)
    except OpError as error:
        raise GatewayError(403 if error.field == "client" else 422, error.reason, error.field) from None
    except LanguageError as error:
        raise GatewayError(422, str(error), "text") from None


class Call:
    """One request, of one client."""

    def __init__(self, gateway: Gateway, request: Request, who: Identity, held: Held | None = None) -> None:
        self.gateway, self.request, self.who, self._held = gateway, request, who, held

    @property
    def query(self) -> QueryParams:
        return self.request.query_params

    @property
    def client(self) -> str:
        """Whom it is for: an operator may name another by ``?client=``."""
        return self.who.acting_for(self.query.get("client"))

    def named(self, field: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[field])

    def expect(self, size: int) -> None:
        """That an answer will be so large, which is refused if too much is in hand."""
        self.gateway.count_bytes(self.who, size)
        if self._held is not None:
            self._held.expect(size)

    def number(self, field: str, default: int, least: int = 0, most: int = 2**63) -> int:
        try:
            value = int(self.query.get(field, default))
        except ValueError:
            raise GatewayError(422, f"{self.query[field]!r:.40} is not a whole number", field) from None
        if not least <= value <= most:
            raise GatewayError(422, f"{value} is not from {least} to {most}", field)
        return value

    async def body(self) -> bytes:
        """All of the body, unless it is too large, or too slow."""
        most = self.gateway.settings.body
        if not self.who.is_operator:
            most = min(most, BODY)
        refusal = GatewayError(413, f"a body has at most {most:,} bytes")
        said = self.request.headers.get("content-length", "0")
        if said.isdigit() and int(said) > most:
            raise refusal
        pieces, size, began = [], 0, asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(began + HASTE) as patience:
                async for piece in self.request.stream():
                    size += len(piece)
                    if size > most:
                        raise refusal
                    if self._held is not None:
                        self._held.add(len(piece))
                    pieces.append(piece)
                    patience.reschedule(began + HASTE + size / SLOWEST)
        except TimeoutError:
            raise GatewayError(408, f"the body did not come within {HASTE:g} s, or too slowly") from None
        self.gateway.count_body(self.who, size)
        return b"".join(pieces)

    async def decoded(self, kind: Any) -> Any:
        """The body as JSON of a kind. What is wrong with it is said with the field."""
        try:
            return msgspec.json.decode(await self.body(), type=kind)
        except msgspec.ValidationError as error:
            raise GatewayError(422, *faulty(error)) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise GatewayError(400, f"not JSON: {error}") from None

    async def text(self) -> str:
        """A statement, as text or as ``{"text": …}``."""
        body = await self.body()
        if body.lstrip()[:1] == b"{" or self.request.headers.get("content-type", "").startswith(JSON):
            try:
                return msgspec.json.decode(body, type=Statement).text
            except msgspec.ValidationError as error:
                raise GatewayError(422, str(error), "text") from None
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                raise GatewayError(400, f"not JSON: {error}") from None
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise GatewayError(400, f"not UTF-8: {error.reason} at byte {error.start}") from None


def answer(value: Any, status: int = 200) -> Response:
    return Response(value if isinstance(value, bytes) else _encoder.encode(value), status, media_type=JSON)
