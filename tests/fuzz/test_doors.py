"""Strangers at every door: whatever they send, nobody crashes, hangs, grows, or lets a normal client wait.

A run sends a few hundred cases to each door; DOOR_CASES says how many, and `make soak` says 100,000.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from nearcast.gateway.routes import ROUTES
from nearcast.gateway.seal import BEGINNING
from tests.fuzz.hostile import Hostile
from tests.fuzz.house import CASES, House
from tests.fuzz.test_fuzz import STATEMENTS
from tests.fuzz.wire import Answer, Line, connect_packet, request, upgrade
from tests.seeds import FIRST_SEED

WARM = min(CASES, 4000)
AT_ONCE = 8
STATEMENT = b'{"text": "SELECT WHERE &location WITHIN 1 km OF #location"}'
POSITION = b'{"lon": 1.5, "lat": 2.5, "time": 1700000000, "attributes": {"a": 1, "b": "c"}}'
BODIES = {
    "POST /v1/positions": POSITION,
    "PUT /v1/publications/{id}": b'{"text": "PUBLISH CONTENT [1] TAGS a"}',
    "PUT /v1/subscriptions/{id}": STATEMENT,
    "POST /v1/readings": b'{"publication": "p", "value": 1.5, "values": {"a": 2}, "time": null}',
    "PATCH /v1/client": b'{"attributes": {"a": 1, "b": null}, "lease": 60, "lateness": 1.5}',
    "POST /v1/query": STATEMENT,
    "PUT /v1/cursor": b'{"cursor": "0"}',
    "PUT /v1/webhooks/{id}": b'{"url": "https://192.0.2.1/x", "batch": 2, "after": 0}',
    "POST /v1/tokens": b'{"client": "ann", "role": "client", "seconds": 60}',
    "PUT /v1/spaces/{name}": b'{"text": "SPACE s"}',
    "PUT /v1/places/{name}": b'{"text": "PLACE p AT DISC(1 2, 3 m)"}',
    "PUT /v1/relations/{name}": b'{"text": "RELATION r"}',
    "PUT /v1/layers/{name}": b'{"type": "FeatureCollection", "features": [{"type": "Feature", "id": "a", '
    b'"properties": {}, "geometry": {"type": "Point", "coordinates": [1, 2]}}]}',
}
"""What each route takes."""
MOVE = b'{"move": {"lon": 1.5, "lat": 2.5}, "ref": 1, "ack": "0"}'
FIX = b'{"_type": "location", "lon": 1.5, "lat": 2.5, "tst": 1700000000, "tid": "an", "acc": 10}'

Door = Callable[[House, Hostile, int], Awaitable[Counter[str]]]
"""Sends so many cases, and counts what came of them."""


def besiege(house: House, door: Door) -> None:
    """Send a first part to have all warm, then the rest, with a normal client beside it."""

    def send(seed: int, cases: int) -> Counter[str]:
        return asyncio.run(_all(house, door, seed, cases))

    house.withstands(door.__name__, lambda: send(FIRST_SEED, WARM), lambda: send(FIRST_SEED + 1, CASES))


async def _all(house: House, door: Door, seed: int, cases: int) -> Counter[str]:
    """Several at once."""
    share = -(-cases // AT_ONCE)
    strangers = [Hostile(seed * AT_ONCE + number, STATEMENTS) for number in range(AT_ONCE)]
    parts = await asyncio.gather(*(door(house, hostile, share) for hostile in strangers))
    return sum(parts, Counter[str]())


def token_of(house: House, hostile: Hostile) -> dict[str, str]:
    """Of a stranger, or of an operator who has gone mad."""
    name = hostile.any_of(house.clients[1:])
    return house.boss if hostile.random.random() < 0.3 else house.bearer(name)


# ---- HTTP ----------------------------------------------------------------------------------------------


def test_every_route_that_takes_a_body_is_tried() -> None:
    assert {way.name for way in ROUTES if way.takes is not None} == BODIES.keys()


async def bodies(house: House, hostile: Hostile, cases: int) -> Counter[str]:
    came: Counter[str] = Counter()
    for _ in range(cases):
        name = hostile.any_of(list(BODIES))
        method, _, path = name.partition(" ")
        path = path.replace("{id}", "x").replace("{name}", "x")
        sent = hostile.request(method, path, token_of(house, hostile), BODIES[name])
        await _asked(house, sent, came)
    return came


async def _asked(house: House, sent: bytes, came: Counter[str]) -> Answer | None:
    """A connection each, since what is wrong with one request may be the next one's beginning."""
    async with Line(house.url) as line:
        try:
            answer = await _answered(line, sent)
        except TimeoutError:
            raise AssertionError(f"no answer to {sent[:2000]!r}") from None
    if answer is not None:
        try:
            answer.check()
        except AssertionError as error:
            raise AssertionError(f"{sent[:2000]!r} gives {error}") from None
    came[str(answer.status) if answer else "hung up"] += 1
    return answer


async def _answered(line: Line, sent: bytes) -> Answer | None:
    """What was cut off is waited for, so whoever sends it hangs up."""
    asking = asyncio.ensure_future(line.ask(sent))
    done, _ = await asyncio.wait([asking], timeout=0.3)
    if not done and _is_unfinished(sent):
        line.writer.write_eof()
        line.writer.transport.abort()
    return await asking


def _is_unfinished(sent: bytes) -> bool:
    """Whether more was said to come; also if what was sent can be read as that."""
    head, end, body = sent.partition(b"\r\n\r\n")
    said = [
        line.partition(b":")[2].strip() for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    ]
    return (
        not end
        or b"transfer-encoding" in head.lower()
        or b"upgrade" in head.lower()
        or not said
        or not said[0].isdigit()
        or int(said[0]) > len(body)
        or b"/v1/events" in head
    )


def test_bodies_paths_headers_and_queries(house: House) -> None:
    besiege(house, bodies)


async def statements(house: House, hostile: Hostile, cases: int) -> Counter[str]:
    came: Counter[str] = Counter()
    for _ in range(cases):
        text = hostile.statement()
        method, path = hostile.any_of((
            ("PUT", "/v1/subscriptions/x"), ("PUT", "/v1/publications/x"), ("POST", "/v1/query"),
            ("PUT", f"/v1/subscriptions/{hostile.random.randrange(20)}"),
        ))  # fmt: skip
        headers = {**token_of(house, hostile), "Content-Type": "text/plain"}
        await _asked(house, request(method, path, headers, text.encode("utf-8", "surrogatepass")), came)
    return came


def test_statements(house: House) -> None:
    besiege(house, statements)


# ---- streams -------------------------------------------------------------------------------------------


async def sockets(house: House, hostile: Hostile, cases: int) -> Counter[str]:
    came: Counter[str] = Counter()
    while came.total() < cases:
        async with Line(house.url) as line:
            answer = await line.ask(upgrade("/v1/ws", token_of(house, hostile)))
            assert answer is not None
            assert answer.status == 101, answer
            is_reading = hostile.random.random() < 0.9
            reading = asyncio.ensure_future(line.is_hung_up(3600) if is_reading else asyncio.Event().wait())
            try:
                for _ in range(hostile.any_of((1, 10, 60)) if is_reading else 3000):
                    async with asyncio.timeout(1 if not is_reading else 60):
                        await line.send(hostile.frame(MOVE))
                    came["read" if is_reading else "not read"] += 1
                    if line.reader.at_eof():
                        break
            except OSError:
                came["hung up"] += 1
            except TimeoutError:
                assert not is_reading, "a socket takes no more, though its answers are read"
                came["let wait"] += 1
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
    return came


def test_sockets(house: House) -> None:
    besiege(house, sockets)


async def events(house: House, hostile: Hostile, cases: int) -> Counter[str]:
    came: Counter[str] = Counter()
    while came.total() < cases:
        async with AsyncExitStack() as stack:
            for _ in range(min(50, cases - came.total())):
                came[await _listening(await stack.enter_async_context(Line(house.url)), house, hostile)] += 1
    return came


async def _listening(line: Line, house: House, hostile: Hostile) -> str:
    """One who wants events, with a strange idea of where it was. Some never read what comes."""
    query = f"?{hostile.query_name()}={hostile.word()}" if hostile.random.random() < 0.3 else ""
    last = hostile.word() if hostile.random.random() < 0.3 else hostile.any_of((BEGINNING, *house.cursors))
    sent = request("GET", f"/v1/events{query}", {**token_of(house, hostile), "Last-Event-ID": last})
    await line.send(sent)
    if hostile.random.random() < 0.2:
        return "not read"
    answer = await line.answer()
    if answer is not None:
        answer.check()
    return str(answer.status) if answer else "hung up"


def test_events(house: House) -> None:
    besiege(house, events)


# ---- MQTT ----------------------------------------------------------------------------------------------


async def mqtt(house: House, hostile: Hostile, cases: int) -> Counter[str]:
    came: Counter[str] = Counter()
    while came.total() < cases:
        client = hostile.any_of(house.clients[1:])
        valid = connect_packet(client, house.tokens[client], hostile.any_of(("", "a", "b")))
        async with Line(house.url, house.mqtt) as line:
            if hostile.random.random() < 0.7:
                came["not let in"] += 1
                await _at_the_door(line, hostile.arrival(valid))
            else:
                await _inside(line, hostile, client, valid, came)
    return came


async def _at_the_door(line: Line, sent: bytes) -> None:
    try:
        await line.send(sent)
        line.writer.write_eof()
        await line.is_hung_up()
    except OSError:
        pass


async def _inside(line: Line, hostile: Hostile, client: str, valid: bytes, came: Counter[str]) -> None:
    try:
        await line.send(valid)
        async with asyncio.timeout(30):
            said = await line.reader.readexactly(4)
        came[f"answered {said[-1]}"] += 1
        reading = asyncio.ensure_future(line.is_hung_up(3600))
        try:
            for _ in range(hostile.any_of((1, 5, 20))):
                if reading.done():
                    break
                await line.send(hostile.packet(client, FIX))
                came["packets"] += 1
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    except (OSError, EOFError):
        came["hung up"] += 1


def test_mqtt(house: House) -> None:
    besiege(house, mqtt)


def test_who_is_normal_is_still_served(house: House) -> None:
    """After all of it: a statement, a fix, and what is told of it."""
    with httpx.Client(base_url=house.url, headers=house.bearer("normal"), timeout=20) as client:
        assert client.put("/v1/publications/me", content="PUBLISH").status_code == 200
        text = "SELECT WHERE &owner = 'normal' AND &location WITHIN 1 km OF POINT(7 8)"
        assert client.put("/v1/subscriptions/s", content=text).status_code in {200, 422}
        assert client.post("/v1/positions", json={"lon": 7, "lat": 8}).status_code == 202
        assert client.get("/v1/notifications").status_code == 200
        assert client.get("/v1/health").json()["status"] == "ok"


SETTLING = Path("/proc/self").exists()
"""Memory and files are looked up there."""
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SETTLING, reason="there is no /proc to look at processes")]
