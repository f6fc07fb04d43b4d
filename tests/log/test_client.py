from __future__ import annotations

import asyncio
from pathlib import Path

import nats
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.js import api

from nearcast.errors import LogError
from nearcast.log.client import Log
from nearcast.log.packet import ARROW, LINES, decode, encode_batch, encode_lines
from nearcast.log.reading import Entry
from nearcast.log.server import NatsServer
from nearcast.log.subjects import OPS_STREAM, OUT_STREAM, client_of_subject, out_subject


def tick(time: int) -> str:
    return f'{{"op":"tick","time":{time}}}'


async def filled(url: str, count: int) -> None:
    """A log of that many ticks, each in a packet of its own."""
    async with Log(url) as log:
        await log.create()
        await asyncio.gather(*(log.append(encode_lines([tick(n)])) for n in range(count)))


async def everything(log: Log) -> list[Entry]:
    return [entry async for entry in log.read(await log.first_sequence(), await log.last_sequence())]


async def test_packets_come_back_in_order_and_as_they_were(server: NatsServer) -> None:
    lines = encode_lines([tick(1), tick(2)])
    arrow = encode_batch(decode(*lines))
    async with Log(server.url) as log:
        await log.create()
        assert (await log.first_sequence(), await log.last_sequence()) == (1, 0)
        assert await everything(log) == []
        assert [await log.append(packet) for packet in (lines, arrow, lines)] == [1, 2, 3]
        assert await everything(log) == [
            Entry(1, LINES, lines.payload),
            Entry(2, ARROW, arrow.payload),
            Entry(3, *lines),
        ]
        assert [entry.sequence async for entry in log.read(2, 2)] == [2]


async def test_streams_are_made_once(server: NatsServer) -> None:
    async with Log(server.url) as log:
        await log.create()
        await log.append(encode_lines([tick(0)]))
        await log.create()
        assert await log.last_sequence() == 1


async def test_a_stream_of_another_kind_is_refused(server: NatsServer) -> None:
    client = await nats.connect(server.url)
    await client.jetstream().add_stream(name=OUT_STREAM, subjects=["elsewhere"], storage=api.StorageType.MEMORY)
    await client.close()
    async with Log(server.url) as log:
        with pytest.raises(LogError, match=r"'nearcast-out' has subjects \['elsewhere'\] where nearcast needs"):
            await log.create()


async def test_no_server() -> None:
    with pytest.raises(LogError, match=r"no NATS server answers at nats://127.0.0.1:1 .*is it running"):
        async with Log("nats://someone:secret@127.0.0.1:1"):
            pass


async def test_not_a_url() -> None:
    with pytest.raises(LogError, match="no NATS server answers"):
        async with Log("nats://["):
            pass


async def test_no_stream(server: NatsServer) -> None:
    async with Log(server.url) as log:
        for call in (log.append(encode_lines([tick(0)])), log.last_sequence()):
            with pytest.raises(LogError, match=r"there is no stream 'nearcast-ops' at nats://.*; create it"):
                await call


async def test_a_log_must_be_opened() -> None:
    with pytest.raises(LogError, match="the log is not open"):
        await Log("nats://127.0.0.1:1").last_sequence()


async def test_a_packet_that_is_too_large(tmp_path: Path) -> None:
    with NatsServer(tmp_path, max_payload=4096) as server:
        async with Log(server.url) as log:
            await log.create()
            for size in (4096, 5000):
                with pytest.raises(LogError, match=r"too large: the server takes 4,096, .*; put fewer ops in a packet"):
                    await log.append(encode_lines(["x" * size]))
            assert await log.append(encode_lines(["x" * 4000])) == 1


async def test_a_full_log_refuses(server: NatsServer) -> None:
    async with Log(server.url) as log:
        await log.create(ops_bytes=5000)
        for _ in range(4):
            await log.append(encode_lines(["x" * 1000]))
        with pytest.raises(LogError, match="maximum bytes exceeded"):
            await log.append(encode_lines(["x" * 1000]))
        assert await log.first_sequence() == 1


async def test_a_lost_server_is_an_error(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Log(server.url) as log:
        await log.create()
        monkeypatch.setattr("nearcast.log.client.PATIENCE", 1)
        server.kill()
        with pytest.raises(LogError, match=r"'nearcast-ops' at nats://.*: no answer"):
            await log.append(encode_lines([tick(0)]))


async def test_more_than_one_request_brings(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.log.reading.MESSAGES", 7)
    await filled(server.url, 30)
    async with Log(server.url) as log:
        assert [entry.sequence for entry in await everything(log)] == list(range(1, 31))


async def test_more_bytes_than_one_request_brings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearcast.log.reading.BYTES", 1)
    with NatsServer(tmp_path, max_payload=4096) as server:
        async with Log(server.url) as log:
            await log.create()
            for _ in range(20):
                await log.append(encode_lines(["x" * 4000]))
            assert [entry.sequence for entry in await everything(log)] == list(range(1, 21))


async def test_readers_leave_nothing_at_the_server(server: NatsServer) -> None:
    await filled(server.url, 3)
    async with Log(server.url) as log:
        await everything(log)
        assert (await log._streams().stream_info(OPS_STREAM)).state.consumer_count == 0


@pytest.mark.parametrize(("first", "last", "reason"), [(1, 5, "was truncated: it begins at 4"), (5, 9, "ends at 6")])
async def test_what_is_not_there_cannot_be_read(server: NatsServer, first: int, last: int, reason: str) -> None:
    await filled(server.url, 6)
    async with Log(server.url) as log:
        await log._streams().purge_stream(OPS_STREAM, seq=4)
        with pytest.raises(LogError, match=reason):
            [entry async for entry in log.read(first, last)]


async def test_no_acknowledged_op_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    acknowledged: list[int] = []

    async def write(log: Log, server: NatsServer) -> None:
        for number in range(10_000):
            acknowledged.append(await log.append(encode_lines([tick(number)])))
            if len(acknowledged) == 150:
                server.kill()

    with NatsServer(tmp_path) as server:
        async with Log(server.url) as log:
            await log.create()
            ended = await asyncio.gather(*(write(log, server) for _ in range(3)), return_exceptions=True)
            assert all(isinstance(error, LogError) for error in ended)
    with NatsServer(tmp_path) as server:
        async with Log(server.url) as log:
            there = [entry.sequence for entry in await everything(log)]
    assert len(acknowledged) >= 150
    assert set(acknowledged) <= set(there)
    assert there == list(range(1, len(there) + 1))


@given(st.text(min_size=1, max_size=80))
def test_any_id_makes_a_subject(client: str) -> None:
    subject = out_subject(client)
    assert client_of_subject(subject) == client
    assert subject.isascii()
    assert subject.count(".") == 2
    assert not set(subject) & set("*> \t\r\n")


def test_plain_ids_stay_readable() -> None:
    assert out_subject("cab-17_b") == "nearcast.out.cab-17_b"
    assert out_subject("a.b c") == "nearcast.out.a%2Eb%20c"


def test_ids_that_make_no_subject() -> None:
    for client in ("", "x" * 1025):
        with pytest.raises(LogError, match="a client needs an id"):
            out_subject(client)
    with pytest.raises(LogError, match="not a subject of notifications"):
        client_of_subject("nearcast.ops")
