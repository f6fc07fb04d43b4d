"""All of it together: the door, what phones say, and what they are told. One process serves all phones of a system."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from nats.js import errors as stream_errors

from nearcast.errors import LogError
from nearcast.gateway.ask import Broker
from nearcast.gateway.commit import Committer
from nearcast.gateway.delivery import Hub
from nearcast.gateway.identity import Identities
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import Metrics
from nearcast.gateway.outbox import Cursors
from nearcast.gateway.pace import Pace
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.ending import end
from nearcast.log.server import MQTT_AGAIN
from nearcast.log.topics import ROOT
from nearcast.phones.door import Door, Limits, Upstream
from nearcast.phones.messages import ABOUTS
from nearcast.phones.reading import Reading
from nearcast.phones.register import CURSOR, MESSAGES, STREAM, Register
from nearcast.phones.session import Session
from nearcast.phones.sessions import Sessions
from nearcast.phones.telling import Telling, Tools

__all__ = ["Phones", "Settings", "run_phones"]

NAME = "nearcast-phones"
"""The session's name. What was not taken waits for it."""
CONSUMERS = 256
"""Of a stream the server lists so many at a time."""
TOPICS = [f"{ROOT}/+/+" + (f"/{about}" if about else "") for about in ABOUTS]


@dataclass(frozen=True, slots=True)
class Settings:
    nats: str
    """The NATS server, with the name and the password of our own processes."""
    upstream: int
    """The port of this machine where it speaks MQTT."""
    host: str = "127.0.0.1"
    port: int = 1883
    """0 is any that is free."""
    cert: Path | None = None
    key: Path | None = None
    ahead: float = 300.0
    """Seconds that a fix may be ahead of our clock."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Phones:
    """What runs."""

    reading: Reading
    register: Register
    door: Door
    port: int


@asynccontextmanager
async def run_phones(settings: Settings, identities: Identities) -> AsyncIterator[Phones]:
    """Phones are let in when what they say is heard: what nobody waits for the server would not keep."""
    login = _login(settings.nats)
    tls = _tls(settings)
    metrics, link = Metrics(), Link(settings.nats)
    broker = Broker(link)
    pace = Pace(broker.pace)
    committer = Committer(link, metrics, pace)
    link.lost = committer.lost
    async with link, Hub(settings.nats, broker, metrics) as hub:
        register = await Register(link).load()

        async def last_told() -> int:
            return (await hub.outbox.extent()).last

        placed = await link.log.last_sequence()
        reading = Reading(register, committer, broker, ahead=settings.ahead, placed=placed, end=last_told)

        async def before() -> None:
            if await _unacked(link):
                reading.hold(MQTT_AGAIN + 1)

        address = ("127.0.0.1", settings.upstream)
        async with Session(address, login, NAME, TOPICS, reading.take, before) as session:
            say, let_go = reading.say, reading.marking.let_go
            tools = Tools(register, hub, Cursors(link, CURSOR), session, broker, reading.where, say, let_go)
            telling = Telling(tools)

            async def forget(client: str) -> None:
                reading.forget(client)
                await telling.forget(client)

            for client in register.phones:
                telling.begin(client)
            sessions = await Sessions(settings.limits.sessions).load(link)
            door = Door(identities, Upstream(settings.upstream, login[1]), settings.limits, sessions)
            opened = await door.open(settings.host, settings.port, tls)
            tasks = [
                asyncio.create_task(work)
                for work in (
                    reading.run(session.ack, telling.begin, telling.settle),
                    register.follow(forget),
                    door.watch(),
                    pace.run(),
                )
            ]
            try:
                with _ending_with(tasks):
                    yield Phones(reading, register, door, opened.sockets[0].getsockname()[1])
            finally:
                opened.close()
                door.close()
                await end(*tasks)
                await telling.close()
                await committer.close()


@contextmanager
def _ending_with(tasks: list[asyncio.Task[None]]) -> Iterator[None]:
    """What was not foreseen in one of them ends what is inside, so that all of it can be started again."""
    inside, errors = asyncio.current_task(), list[BaseException]()

    def ended(task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and inside is not None:
            errors.append(error)
            inside.cancel()

    for task in tasks:
        task.add_done_callback(ended)
    try:
        yield
    except asyncio.CancelledError:
        if errors:
            raise errors[0] from None
        raise


async def _unacked(link: Link) -> int:
    """Messages that the server has sent, and that nobody said to have taken."""
    wanted = {MESSAGES + topic.replace("/", ".").replace("+", "*") for topic in TOPICS}
    count = offset = 0
    with explained(link.url, STREAM):
        jetstream = link.log.client.jetstream(timeout=PATIENCE)
        while True:
            try:
                page = await jetstream.consumers_info(STREAM, offset=offset)
            except stream_errors.NotFoundError:
                return 0
            count += sum(found.num_ack_pending or 0 for found in page if found.config.filter_subject in wanted)
            offset += len(page)
            if len(page) < CONSUMERS:
                return count


def _login(url: str) -> tuple[str, str]:
    parts = urlsplit(url.partition(",")[0])
    if not parts.username or not parts.password:
        raise LogError("phones need the name and the password of the NATS server that `nearcast serve --mqtt` runs")
    return unquote(parts.username), unquote(parts.password)


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if settings.cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(settings.cert, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise LogError(f"{settings.cert} and {settings.key} are not a certificate and its key: {error}") from None
    return context
