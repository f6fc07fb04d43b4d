"""Events reach whoever is connected: all of them, once, in order, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import AsyncExitStack
from typing import Any

import httpx
import nats
import pytest
from nats.aio.msg import Msg
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from websockets.exceptions import ConnectionClosedError

from nearcast.gateway.call import Settings
from nearcast.gateway.events import Event
from nearcast.gateway.identity import Identity
from nearcast.gateway.outbox import Outbox, Page
from nearcast.gateway.seal import BEGINNING, LENGTH, Seal
from nearcast.gateway.server import _write_at_once
from nearcast.gateway.streams import PIECE, _pieces
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.log.subjects import TOOK, ask_subject
from tests.fuzz.wire import Line, request
from tests.gateway.running import PATIENCE, Door, Names, Teller, fresh, gateway, hear, ids, listen, notification, teller

QUICK = Settings(heartbeat=0.2)


async def places(door: Door, events: list[dict[str, Any]]) -> list[int | None]:
    """Where events are in the stream."""
    seal = await door.seal()
    return [seal.open(event["cursor"]) for event in events]


def counted(metrics: str, name: str) -> float:
    found = re.search(rf"^nearcast_{name}_total ([\d.e+]+)$", metrics, re.MULTILINE)
    assert found
    return float(found[1])


async def test_an_event_is_a_cloud_event(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told, door.socket("ann") as socket:
        sequence = await told.tell("ann")
        [event] = await hear(socket, 1)
        data = event.pop("data")
        assert event == {
            "specversion": "1.0",
            "id": "id-1",
            "source": "/nearcast",
            "type": "nearcast.enter",
            "subject": "s",
            "time": "2026-01-01T00:00:00Z",
            "datacontenttype": "application/json",
            "cursor": (await door.seal()).event(sequence),
        }
        assert data == notification(1)


async def test_what_is_said_ahead_is_heard_once(server: NatsServer) -> None:
    """Before the stream has it, and not again when it does; what would leave a gap waits for the stream."""
    async with gateway(server.url) as door, teller(server.url) as told, door.socket("ann") as socket:
        await told.tell("ann")
        assert ids(await hear(socket, 1)) == ["id-1"]
        await told.say_ahead("ann", 2, 40)
        assert ids(await hear(socket, 40)) == [f"id-{number}" for number in range(2, 42)]
        await told.say_ahead("ann", 1, 50)
        assert ids(await hear(socket, 9)) == [f"id-{number}" for number in range(42, 51)]
        await told.say_ahead("ann", 52, 3)
        for _ in range(2, 55):
            await told.tell("ann")
        assert ids(await hear(socket, 4)) == [f"id-{number}" for number in range(51, 55)]


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_list_has_what_was_heard_ahead(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch, is_told: bool
) -> None:
    """It waits for the disk. Whoever goes on after its ``at`` misses nothing, also where that took too long."""
    monkeypatch.setattr("nearcast.gateway.delivery.STORED", PATIENCE if is_told else 0.05)
    async with gateway(server.url) as door, teller(server.url) as told, door.socket("ann") as socket:
        ann = await door.client("ann")
        await told.tell("ann")
        await hear(socket, 1)
        await told.say_ahead("ann", 2, 3)
        await hear(socket, 3)
        asked = asyncio.create_task(ann.get("/v1/notifications"))
        if not is_told:
            await asked
        await asyncio.sleep(0.2)
        for _ in range(3):
            await told.tell("ann")
        listed = (await asked).json()
        assert ids(listed["events"]) == ["id-1", "id-2", "id-3", "id-4"][: 4 if is_told else 1]
        await told.tell("ann")
        heard = [event["id"] for _, event in await listen(ann, 1 if is_told else 4, after=listed["at"])]
        assert [*ids(listed["events"]), *heard] == [f"id-{number}" for number in range(1, 6)]


@pytest.mark.parametrize("is_paused", [False, True])
async def test_what_is_written_at_once_is_in_order(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch, is_paused: bool
) -> None:
    """Nobody is woken for an event that a socket takes at once; now and then one does not."""
    written: list[bool] = []

    def write(cycle: RequestResponseCycle, body: bytes) -> bool:
        written.append(not (is_paused and len(written) % 5 == 3) and _write_at_once(cycle, body))
        return written[-1]

    monkeypatch.setattr("nearcast.gateway.server._write_at_once", write)
    async with gateway(server.url) as door, teller(server.url) as told:
        hearing, first = asyncio.create_task(listen(await door.client("ann"), 300)), 1
        async with door.socket("ann") as socket:
            while not written:  # what comes before one listens is read from the disk
                await told.tell("ann")
                await hear(socket, 1)  # what is said ahead must not come before it
                await asyncio.sleep(0.05)
                first += 1
        for number in range(first, 301, 20):
            await told.say_ahead("ann", number, 20)
            await asyncio.sleep(0)
        assert [event["id"] for _, event in await hearing] == [f"id-{number}" for number in range(1, 301)]
    assert written.count(True) > 20
    assert (False in written) == is_paused


async def test_each_hears_its_own(server: NatsServer) -> None:
    odd = "a.n n/ñ*"
    async with (
        gateway(server.url) as door,
        teller(server.url) as told,
        door.socket("ann") as one,
        door.socket("ann") as two,
        door.socket(odd) as three,
    ):
        for name in ("ann", odd, "bob", "ann"):
            await told.tell(name)
        assert ids(await hear(one, 2)) == ids(await hear(two, 2)) == ["id-1", "id-4"]
        assert ids(await hear(three, 1)) == ["id-2"]


async def test_what_was_missed_comes_first(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told:
        sequences = [await told.tell("ann") for _ in range(5)]
        async with door.socket("ann", after=(await door.seal()).event(sequences[1])) as socket:
            assert ids(await hear(socket, 3)) == ["id-3", "id-4", "id-5"]
            await told.tell("ann")
            assert ids(await hear(socket, 1)) == ["id-6"]


async def test_server_sent_events_resume_by_their_id(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told:
        client = await door.client("ann")
        for _ in range(6):
            await told.tell("ann")
        first = await listen(client, 2)
        assert [event["id"] for _, event in first] == ["id-1", "id-2"]
        assert [place for place, _ in first] == [event["cursor"] for _, event in first]
        then = await listen(client, 2, after=first[-1][0])
        last = await listen(client, 2, after=first[-1][0], last=then[-1][0])
        assert [event["id"] for _, event in then + last] == ["id-3", "id-4", "id-5", "id-6"]


async def test_a_quiet_stream_says_that_it_is_there_and_how_far_it_is(server: NatsServer) -> None:
    async with gateway(server.url, QUICK) as door, teller(server.url) as told:
        async with door.socket("ann") as socket:
            sequence, seal = await told.tell("bob"), await door.seal()
            async with asyncio.timeout(5):
                while seal.open(json.loads(await socket.recv())["at"]) != sequence:
                    pass
        client = await door.client("ann")
        async with client.stream("GET", "/v1/events", params={"after": "0"}) as stream:
            async with asyncio.timeout(5):
                async for line in stream.aiter_lines():
                    if line.startswith("id: ") and seal.open(line.removeprefix("id: ")) == sequence:
                        break


async def test_catching_up_while_more_is_told_loses_and_repeats_nothing(server: NatsServer) -> None:
    """Readers come at any moment of a stream that never pauses, and each hears all of it from where it began."""
    count = 3000

    async def tell(told: Teller) -> None:
        for number in range(count):
            await told.tell("ann" if number % 3 else "bob")

    async def read(door: Door, delay: float) -> None:
        await asyncio.sleep(delay)
        async with door.socket("ann", after=BEGINNING) as socket:
            heard = await hear(socket, sum(1 for s in range(1, count + 1) if (s - 1) % 3))
        assert await places(door, heard) == [s for s in range(1, count + 1) if (s - 1) % 3]

    async with gateway(server.url) as door, teller(server.url) as told:
        writing = asyncio.create_task(tell(told))
        await asyncio.gather(*(read(door, delay=0.05 * n) for n in range(12)))
        await writing


async def test_a_slow_client_goes_back_to_the_disk(server: NatsServer) -> None:
    """Its queue is full again and again; all enters arrive, and of readings at least the latest."""
    async with gateway(server.url, Settings(queue=10)) as door, teller(server.url) as told:
        operator = await door.client("operator")
        socket = await door.socket("ann", after=BEGINNING)
        for _ in range(40):
            await asyncio.gather(
                *(told.tell("ann", "reading" if n % 2 else "enter", "y" if n % 4 == 1 else "x") for n in range(50))
            )
        await told.tell("ann", "leave", "end")
        heard: list[dict[str, Any]] = []
        while not heard or heard[-1]["type"] != "nearcast.leave":
            heard += await hear(socket, 1)
        await socket.close()
        metrics = (await operator.get("/v1/metrics")).text
        assert counted(metrics, "readings_merged") == 2001 - len(heard) > 0
        enters = [event for event in heard if event["type"] == "nearcast.enter"]
        assert len(enters) == 1000
        found = [place or 0 for place in await places(door, heard)]
        assert found == sorted(set(found))
        latest = {event["data"]["publication"]: event["id"] for event in heard if event["type"] == "nearcast.reading"}
        assert set(latest) == {"x", "y"}
        assert counted(metrics, "fell_behind") > 0


async def test_a_client_that_reads_nothing_slows_nobody(server: NatsServer) -> None:
    async with gateway(server.url, Settings(queue=50)) as door, teller(server.url) as told:
        stuck = await door.socket("ann", after=BEGINNING)
        stuck.transport.pause_reading()
        async with door.socket("bob", after=BEGINNING) as socket:
            big = "x" * 20_000
            for _ in range(30):
                await asyncio.gather(*(told.tell("ann", about=big) for _ in range(20)))
                await told.tell("bob")
                assert len(await hear(socket, 1)) == 1
        stuck.transport.resume_reading()
        heard = await hear(stuck, 600)
        found = [place or 0 for place in await places(door, heard)]
        assert found == sorted(set(found))
        await stuck.close()


async def test_so_many_bytes_wait_for_a_socket(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few events they are."""
    monkeypatch.setattr("nearcast.gateway.app.ROOM", 100_000)
    async with gateway(server.url) as door, teller(server.url) as told:
        operator, socket = await door.client("operator"), await door.socket("ann")
        await told.tell("ann")
        assert len(await hear(socket, 1)) == 1  # what comes now is not left to the disk
        socket.transport.pause_reading()
        for _ in range(20):
            await asyncio.gather(*(told.tell("ann", about="x" * 50_000) for _ in range(20)))
        assert counted((await operator.get("/v1/metrics")).text, "fell_behind") > 0
        socket.transport.resume_reading()
        assert sorted(ids(await hear(socket, 400))) == sorted(f"id-{number}" for number in range(2, 402))
        await socket.close()


async def test_many_with_much_to_catch_up_do_not_end_the_connection(
    server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A server hangs up on whoever has too much on its way; all would ask again then, and it would never end."""
    async with gateway(server.url) as door, teller(server.url) as told, AsyncExitStack() as stack:
        name, count = fresh("ann"), 100
        for _ in range(count):
            await told.tell(name, about="x" * 100_000)
        sockets = [await stack.enter_async_context(door.socket(name, BEGINNING)) for _ in range(15)]
        heard = await asyncio.gather(*(hear(socket, count) for socket in sockets))
        for events in heard:
            assert ids(events) == [f"id-{number}" for number in range(1, count + 1)]
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == []


async def test_whoever_goes_while_the_disk_is_read_is_not_waited_for(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()

    async def page(*_: object, **__: object) -> Page:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(Outbox, "page", page)
    async with gateway(server.url) as door, teller(server.url) as told:
        name = fresh("ann")
        await told.tell(name)
        before = len(asyncio.all_tasks())
        async with Line(door.url) as line:
            await line.send(request("GET", "/v1/events?after=0", {"Authorization": f"Bearer token-{name}"}))
            await asyncio.wait_for(asked.wait(), 5)
            assert len(asyncio.all_tasks()) > before
        async with asyncio.timeout(5):
            while len(asyncio.all_tasks()) > before:
                await asyncio.sleep(0.01)


async def test_a_gap_is_marked_and_the_present_state_follows(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told:
        sequences = [await told.tell("ann") for _ in range(10)]
        await told.cut(sequences[6])
        told.state = {
            "sequence": sequences[8],
            "notifications": [notification(100, "snapshot"), notification(101, "snapshot")],
        }
        await told.answer()
        async with door.socket("ann", after=(await door.seal()).event(2)) as socket:
            gap, *rest = await hear(socket, 4)
        assert gap["type"] == "nearcast.gap"
        assert gap["data"] == {"kind": "gap"}
        assert [event["type"] for event in rest] == ["nearcast.snapshot"] * 2 + ["nearcast.enter"]
        assert await places(door, [gap, *rest]) == [2, 2, sequences[8], sequences[9]]
        async with door.socket("ann", after=(await door.seal()).event(sequences[6])) as socket:
            assert ids(await hear(socket, 3)) == ["id-8", "id-9", "id-10"]


async def test_a_gap_is_said_also_if_the_present_state_cannot_be(server: NatsServer) -> None:
    """It may be too much at once. What comes after is told all the same."""
    async with gateway(server.url) as door, teller(server.url) as told:
        for _ in range(4):
            await told.tell("ann")
        await told.cut(3)
        told.state = {"error": "the answer is too large; ask for less", "kind": "TooLarge"}
        await told.answer()
        async with door.socket("ann", after=(await door.seal()).event(1)) as socket:
            gap, *rest = await hear(socket, 3)
            assert gap["type"] == "nearcast.gap"
            assert ids(rest) == ["id-3", "id-4"]
            await told.tell("ann")
            assert ids(await hear(socket, 1)) == ["id-5"]


async def test_gaps_cannot_keep_a_broker_busy(server: NatsServer) -> None:
    """A cursor may be made up, and a gap asks a broker much. So that is done once at a time, and counts."""
    async with gateway(server.url, Settings(rate=10)) as door, teller(server.url) as told:
        await told.tell("bob")
        client = await nats.connect(server.url)
        asked: list[float] = []
        all_there = asyncio.Event()  # whoever comes when so much is owed is not let in

        async def state(message: Msg) -> None:
            asked.append(time.monotonic())
            await all_there.wait()
            said = json.dumps({"sequence": 1, "notifications": []}).encode()
            await client.publish(message.reply, said, headers={TOOK: "50000"})

        await client.subscribe(ask_subject("state"), cb=state)
        await client.flush()
        async with AsyncExitStack() as stack:
            sockets = [await stack.enter_async_context(door.socket("ann", after="A" * LENGTH)) for _ in range(20)]
            all_there.set()
            assert [event["type"] for event in await hear(sockets[0], 1)] == ["nearcast.gap"]
            await asyncio.sleep(1)
            assert 1 <= len(asked) < 5, "500 ops are owed after the first, which take 50 s"
        await client.close()


def test_what_waits_is_written_in_pieces() -> None:
    events = [Event(number, b"x" * 1000, cursor=str(number)) for number in range(200)]
    pieces = list(_pieces(events))
    assert b"".join(pieces) == b"".join(event.frame for event in events)
    assert max(map(len, pieces)) < PIECE + 1100
    assert len(pieces) < 6


async def reached(door: Door, client: httpx.AsyncClient, event: dict[str, Any]) -> None:
    """Wait until a client's cursor is at an event: it is written soon after the ack, or when the socket closes."""
    seal = await door.seal()
    async with asyncio.timeout(10):
        while await cursor_of(client, seal) != seal.open(event["cursor"]):
            await asyncio.sleep(0.02)


async def cursor_of(client: httpx.AsyncClient, seal: Seal) -> int | None:
    return seal.open((await client.get("/v1/cursor")).json()["cursor"])


async def test_a_cursor_remembers_what_was_acked(server: NatsServer) -> None:
    async with gateway(server.url) as door, gateway(server.url) as other, teller(server.url) as told:
        for _ in range(4):
            await told.tell("ann")
        async with door.socket("ann") as socket:
            heard = await hear(socket, 4)
            await socket.send(json.dumps({"ack": heard[1]["cursor"]}))
        client, seal = await door.client("ann"), await door.seal()
        await reached(door, client, heard[1])
        async with other.socket("ann") as socket:
            assert ids(await hear(socket, 2)) == ["id-3", "id-4"]
            await socket.send(json.dumps({"ack": heard[3]["cursor"]}))
        await reached(door, client, heard[3])
        said = (await client.put("/v1/cursor", json={"cursor": heard[0]["cursor"]})).json()
        assert seal.open(said["cursor"]) == seal.open(heard[3]["cursor"]), "it goes forward"
        await told.tell("ann")
        async with door.socket("ann") as socket:
            assert ids(await hear(socket, 1)) == ["id-5"]


async def test_whoever_goes_soon_after_an_event_is_not_told_it_again(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody acks a server-sent event; the cursor follows soon, however quiet the stream is after it."""
    monkeypatch.setattr("nearcast.gateway.streams.CURSOR", 0.1)
    async with gateway(server.url) as door, teller(server.url) as told:
        client, seal = await door.client("ann"), await door.seal()
        for _ in range(3):
            await told.tell("ann")
            async with asyncio.timeout(10), client.stream("GET", "/v1/events") as stream:
                lines = stream.aiter_lines()
                while not (line := await anext(lines)).startswith("id: "):
                    pass
                place = seal.known(line.removeprefix("id: "))
                while await cursor_of(client, seal) != place:
                    await asyncio.sleep(0.02)


async def test_a_head_opens_no_stream(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told:
        client = await door.client("ann")
        await told.tell("ann")
        for _ in range(200):
            answered = await client.head("/v1/events")
            assert (answered.status_code, answered.headers["content-type"]) == (200, "text/event-stream")
        assert (await client.head("/v1/events", headers={"Authorization": "Bearer x"})).status_code == 401
        assert [event["id"] for _, event in await listen(client, 1)] == ["id-1"]


class Fickle(Names):
    """Ann's token is taken away."""

    is_over = False

    def holds(self, who: Identity) -> bool:
        return not (self.is_over and who.client == "ann")


async def test_a_token_that_is_taken_away_ends_what_is_open(server: NatsServer) -> None:
    """At once, and not when there is something to tell next: no move is taken, and no event comes."""
    known = Fickle()
    async with gateway(server.url, identities=known) as door, teller(server.url) as told:
        client = await door.client("ann")
        async with client.stream("GET", "/v1/events") as stream, door.socket("ann") as socket:
            lines = stream.aiter_lines()
            await anext(lines)
            await told.tell("ann")
            await hear(socket, 1)
            known.is_over = True
            await socket.send(json.dumps({"move": {"lon": 1, "lat": 2}, "ref": 1}))
            with pytest.raises(ConnectionClosedError, match="1008"):
                await asyncio.wait_for(hear(socket, 1), 5)
            async with asyncio.timeout(5):
                assert "id-2" not in "".join([line async for line in lines])
        async with Log(server.url) as log:
            assert await log.last_sequence() == 0


async def test_one_who_reads_slowly_does_not_stay_for_that(server: NatsServer) -> None:
    """Many events are on their way when the token is taken away; those that were not sent are not."""
    known = Fickle()
    async with gateway(server.url, identities=known) as door, teller(server.url) as told:
        for _ in range(300):
            await told.tell("ann", about="x" * 20_000)
        async with door.socket("ann", after=BEGINNING) as socket:
            await hear(socket, 1)
            socket.transport.pause_reading()
            known.is_over = True
            await asyncio.sleep(1.5)
            socket.transport.resume_reading()
            with pytest.raises(ConnectionClosedError, match="1008"):
                await hear(socket, 300)


async def test_a_server_that_restarts_costs_nothing(server: NatsServer) -> None:
    async with gateway(server.url, QUICK) as door, teller(server.url) as told, door.socket("ann") as socket:
        await told.tell("ann")
        assert ids(await hear(socket, 1)) == ["id-1"]
        port = int(server.url.rpartition(":")[2])
        server.stop()
        with NatsServer(server.folder, port=port) as again:
            async with teller(again.url) as told_again:
                for _ in range(3):
                    await told_again.tell("ann", about="later")
                heard = await hear(socket, 3)
        assert [event["data"]["publication"] for event in heard] == ["later"] * 3


@pytest.mark.parametrize("after", ["x", "-1", "1", "1.5", "9" * 30, "é" * 32, "A" * 31 + "="])
async def test_not_a_cursor(server: NatsServer, after: str) -> None:
    async with gateway(server.url) as door:
        response = await (await door.client("ann")).get("/v1/events", params={"after": after})
        assert response.status_code == 422
        assert response.json()["field"] == "after"


async def test_history_in_pages(server: NatsServer) -> None:
    async with gateway(server.url) as door, teller(server.url) as told:
        for _ in range(5):
            await told.tell("ann")
            await told.tell("bob")
        client = await door.client("ann")
        first = (await client.get("/v1/notifications", params={"limit": 3})).json()
        then = (await client.get("/v1/notifications", params={"limit": 3, "after": first["next"]})).json()
        assert ids(first["events"] + then["events"]) == ["id-1", "id-3", "id-5", "id-7", "id-9"]
        assert then["next"] is None
        since = {"since": "2020-01-01T00:00:00Z", "limit": "1"}
        assert ids((await client.get("/v1/notifications", params=since)).json()["events"]) == ["id-1"]
        assert (await client.get("/v1/notifications", params={"since": "2100-01-01T00:00:00Z"})).json()["events"] == []
        for wrong in ({"limit": "5000"}, {"limit": "x"}, {"since": "then"}):
            assert (await client.get("/v1/notifications", params=wrong)).status_code == 422
