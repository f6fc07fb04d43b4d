from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import pytest
from nats.js import api

from nearcast.errors import LogError
from nearcast.log.client import Log
from nearcast.log.connection import connection
from nearcast.log.reading import Entry, fetch
from nearcast.log.server import NatsServer
from nearcast.log.subjects import OUT_STREAM, client_of_subject
from nearcast.log.telling import Told
from nearcast.stream import nats_sink
from nearcast.stream.nats_sink import NatsSink

ROOT = Path(__file__).parents[2]
BATCHES, SIZE = 8, 2_500

WRITER = """
import sys
from tests.stream.test_nats_sink import write_all
write_all(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
"""


def batch_of(number: int, size: int = SIZE) -> list[Told]:
    return [(f"n{number}-{i}", f"client {i % 7}", f'{{"batch":{number},"at":{i}}}'.encode()) for i in range(size)]


def write_all(url: str, fatal: int = -1, after: float = 0) -> None:
    """As a pipeline does that has no checkpoint yet; killed some seconds after a message, if one is fatal."""

    def told(number: int) -> Iterator[Told]:
        for at, one in enumerate(batch_of(number)):
            if number * SIZE + at == fatal:
                Timer(after, os.kill, (os.getpid(), signal.SIGKILL)).start()
            yield one

    for number in range(BATCHES):
        NatsSink(url).write(number, told(number))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "nats") as running:
        asyncio.run(create(running.url))
        yield running


async def create(url: str) -> None:
    """A stream that forgets ids at once, so that nothing here leans on a server's memory of them."""
    async with Log(url) as log:
        await log.create()
    async with connection(url) as client:
        config = (await client.jetstream().stream_info(OUT_STREAM)).config
        await client.jetstream().update_stream(config, duplicate_window=0.1)


async def entries(url: str) -> list[Entry]:
    found: list[Entry] = []
    async with connection(url) as client:
        last = (await client.jetstream().stream_info(OUT_STREAM)).state.last_seq
        while len(found) < last:
            found += await fetch(client, OUT_STREAM, len(found) + 1, last)
    return found


def payloads(server: NatsServer) -> list[bytes]:
    return [entry.payload for entry in asyncio.run(entries(server.url))]


def expected(*batches: list[Told]) -> list[bytes]:
    return [payload for batch in batches for _, _, payload in batch]


def test_messages_are_in_order_and_say_where_they_belong(server: NatsServer) -> None:
    told = batch_of(3, 5)
    assert NatsSink(server.url).write(3, iter(told)) == 5

    async def message(sequence: int) -> api.RawStreamMsg:
        async with connection(server.url) as client:
            return await client.jetstream().get_msg(OUT_STREAM, seq=sequence)

    assert payloads(server) == expected(told)
    third = asyncio.run(message(3))
    assert client_of_subject(third.subject or "") == "client 2"
    assert third.headers is not None
    assert (third.headers["Nats-Msg-Id"], third.headers["Nearcast-Batch"]) == ("n3-2", "3")
    assert third.headers["Nearcast-Ordinal"] == "2"


def test_what_is_there_is_not_written_again(server: NatsServer) -> None:
    sink = NatsSink(server.url)
    one, two = batch_of(1, 3000), batch_of(2, 10)
    assert sink.write(1, one) == 3000
    assert sink.write(1, one) == 0
    assert sink.write(2, []) == 0
    assert sink.write(2, two) == 10
    assert sink.write(1, one) == 0
    assert sink.write(2, two) == 0
    assert payloads(server) == expected(one, two)


def test_a_batch_that_was_cut_short_goes_on(server: NatsServer) -> None:
    told = batch_of(0, 3500)

    def breaks() -> Iterator[Told]:
        yield from told[:2200]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        NatsSink(server.url).write(0, breaks())
    assert payloads(server) == expected(told[:2000])
    assert NatsSink(server.url).write(0, told) == 1500
    assert payloads(server) == expected(told)


@pytest.mark.parametrize("number", [4, 5])
def test_of_two_writers_one_is_fenced_out(server: NatsServer, number: int) -> None:
    told, theirs = batch_of(4, 2000), batch_of(number, 2000)

    def overtaken() -> Iterator[Told]:
        yield from told[:1500]
        with ThreadPoolExecutor() as elsewhere:
            elsewhere.submit(NatsSink(server.url).write, number, theirs).result()
        yield from told[1500:]

    with pytest.raises(LogError, match=r"'nearcast-out', batch 4: another writer was faster .*; let only one run"):
        NatsSink(server.url).write(4, overtaken())
    assert payloads(server) == expected(told[:1000], theirs[1000:] if number == 4 else theirs)


def test_what_was_fenced_out_can_be_written_at_its_turn(server: NatsServer) -> None:
    one, two = batch_of(1, 3), batch_of(2, 3)

    def overtaken() -> Iterator[Told]:
        with ThreadPoolExecutor() as elsewhere:
            elsewhere.submit(NatsSink(server.url).write, 1, one).result()
        yield from two

    with pytest.raises(LogError, match="another writer was faster"):
        NatsSink(server.url).write(2, overtaken())
    assert NatsSink(server.url).write(2, two) == 3
    assert payloads(server) == expected(one, two)


def test_another_batch_of_that_number_is_an_error(server: NatsServer) -> None:
    told = batch_of(0, 10)
    NatsSink(server.url).write(0, told)
    for other in (told[::-1], told[:5]):
        with pytest.raises(
            LogError, match=r"batch 0 has n0-9 at 9 .*; that is of another pipeline, or in another order"
        ):
            NatsSink(server.url).write(0, other)


def test_a_stranger_in_the_stream_is_an_error(server: NatsServer) -> None:
    async def intrude() -> None:
        async with connection(server.url) as client:
            await client.jetstream().publish("nearcast.out.al", b"{}")

    asyncio.run(intrude())
    with pytest.raises(LogError, match="something else writes to stream 'nearcast-out': message 1"):
        NatsSink(server.url).write(0, batch_of(0, 1))


def test_a_tail_that_was_removed_is_an_error(server: NatsServer) -> None:
    async def purge() -> None:
        async with connection(server.url) as client:
            await client.jetstream().purge_stream(OUT_STREAM)

    NatsSink(server.url).write(0, batch_of(0, 3))
    asyncio.run(purge())
    with pytest.raises(LogError, match="the last message of stream 'nearcast-out', 3, was removed"):
        NatsSink(server.url).write(1, batch_of(1, 3))


def test_a_notification_that_is_too_large_is_an_error(server: NatsServer) -> None:
    with pytest.raises(LogError, match=r"notification big of 1,048,576 bytes is too large"):
        NatsSink(server.url).write(0, [("big", "al", b"x" * 2**20)])


def test_large_notifications_fit_into_several_batches(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nats_sink, "BYTES", 1000)
    told = [(f"n{i}", "al", bytes([65 + i]) * 400) for i in range(10)]
    assert NatsSink(server.url).write(0, told) == 10
    assert payloads(server) == expected(told)


def test_no_stream(tmp_path: Path) -> None:
    with NatsServer(tmp_path) as empty, pytest.raises(LogError, match="there is no stream 'nearcast-out'"):
        NatsSink(empty.url).write(0, batch_of(0, 1))


def test_a_writer_that_is_killed_again_and_again_writes_everything_once(server: NatsServer) -> None:
    chance = random.Random(0)
    wanted = expected(*(batch_of(number) for number in range(BATCHES)))
    for _ in range(4):
        there = len(payloads(server))
        point = [str(chance.randrange(there, min(there + SIZE, len(wanted)))), str(chance.random() / 20)]
        killed = subprocess.run([sys.executable, "-c", WRITER, server.url, *point], cwd=ROOT, check=False)
        assert killed.returncode == -signal.SIGKILL
        written = payloads(server)
        assert written == wanted[: len(written)]
        if len(written) == len(wanted):
            break
    write_all(server.url)
    assert payloads(server) == wanted


def test_a_server_that_is_killed_keeps_what_it_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = batch_of(0, 20_000)
    with NatsServer(tmp_path) as server:
        asyncio.run(create(server.url))
        strike = Timer(0.03, server.kill)

        def struck() -> Iterator[Told]:
            yield from told[:5000]
            monkeypatch.setattr(nats_sink, "PATIENCE", 1)
            strike.start()
            yield from told[5000:]

        with pytest.raises(LogError, match="'nearcast-out'"):
            NatsSink(server.url).write(0, struck())
        strike.join()
    with NatsServer(tmp_path) as server:
        there = payloads(server)
        assert there == expected(told)[: len(there)]
        assert len(there) >= 5000
        assert NatsSink(server.url).write(0, told) == len(told) - len(there)
        assert payloads(server) == expected(told)
