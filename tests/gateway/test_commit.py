"""Group commit: what is acknowledged is in the log, in the order in which each client said it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import httpx
import pytest

from nearcast.errors import GatewayError
from nearcast.gateway.commit import Committer, Placed
from nearcast.gateway.identity import add_token
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import Metrics
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.serve import free_port
from tests.gateway.running import PATIENCE, gateway

SAID = 200
"""Fixes that are acknowledged before a gateway is killed. Without a broker none waits for one to apply so many."""


async def lines_of(url: str) -> list[list[str]]:
    """The lines of each packet of the log."""
    async with Log(url) as log:
        first, last = await log.first_sequence(), await log.last_sequence()
        return [entry.payload.decode().split("\n") async for entry in log.read(first, last)]


async def test_ops_that_come_at_once_share_packets_and_keep_their_order(server: NatsServer) -> None:
    async with Link(server.url) as link:
        committer = Committer(link, Metrics())

        async def say(client: int) -> list[Placed]:
            return [await committer.commit([f'"{client} {number}"'.encode()]) for number in range(50)]

        placed = await asyncio.gather(*(say(client) for client in range(40)))
    packets = await lines_of(server.url)
    assert len(packets) < 1000, "2,000 ops, in fewer packets"
    found: dict[int, list[int]] = defaultdict(list)
    for packet in packets:
        for line in packet:
            client, number = map(int, json.loads(line).split())
            found[client].append(number)
    assert all(found[client] == list(range(50)) for client in range(40))
    for client, places in enumerate(placed):
        for number, place in enumerate(places):
            assert packets[place.sequence - 1][place.index] == f'"{client} {number}"'


async def test_a_large_body_goes_into_several_packets(server: NatsServer) -> None:
    async with Link(server.url) as link:
        committer = Committer(link, Metrics())
        lines = [f'"{number:0100}"'.encode() for number in range(25_000)]
        last = await committer.commit(lines)
    packets = await lines_of(server.url)
    assert [line.encode() for packet in packets for line in packet] == lines
    assert packets[last.sequence - 1][last.index].encode() == lines[-1]
    assert max(len(packet) for packet in packets) <= 10_000


async def test_an_op_that_fits_nowhere(server: NatsServer) -> None:
    async with Link(server.url) as link:
        with pytest.raises(GatewayError, match="too large; the log takes") as raised:
            await Committer(link, Metrics()).commit([b"x" * 2**20])
        assert raised.value.status == 413


async def test_a_full_queue_refuses(server: NatsServer) -> None:
    async with Link(server.url) as link:
        committer = Committer(link, Metrics(), waiting=1000)
        first = committer.enqueue([b"x" * 900])
        with pytest.raises(GatewayError, match="more ops wait") as raised:
            committer.enqueue([b"x" * 200])
        assert (raised.value.status, raised.value.retry_after) == (503, 1)
        await first
        await committer.commit([b"x" * 200])


async def test_no_server_no_answer(server: NatsServer) -> None:
    """Whoever waits is told at once, and all is well again when the server is."""
    async with gateway(server.url) as door:
        client, port = await door.client("ann"), int(server.url.rpartition(":")[2])
        fix = {"lon": 1, "lat": 2}
        assert (await client.post("/v1/positions", json=fix)).status_code == 202
        server.kill()
        response = await client.post("/v1/positions", json=fix)
        assert response.status_code == 503
        assert "Retry-After" in response.headers
        assert (await client.get("/v1/health")).status_code == 503
        with NatsServer(server.folder, port=port):
            for _ in range(500):
                if (await client.post("/v1/positions", json=fix)).status_code == 202:
                    break
                await asyncio.sleep(0.02)
            assert (await client.post("/v1/positions", json=fix)).status_code == 202


async def test_a_gateway_that_is_to_stop_ends_its_streams(server: NatsServer, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    token, port = add_token(tokens, "ann"), free_port("127.0.0.1")
    with subprocess.Popen(gateway_command(server.url, port, tokens), stderr=subprocess.PIPE) as process:
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as client:
            await listening(client, f"http://127.0.0.1:{port}")
            async with client.stream("GET", f"http://127.0.0.1:{port}/v1/events") as stream:
                lines = stream.aiter_lines()
                await anext(lines)
                process.terminate()
                async with asyncio.timeout(3):
                    assert [line async for line in lines if line] == []
        _, said = process.communicate(timeout=10)
        assert (process.returncode, said) == (0, b"")


async def listening(client: httpx.AsyncClient, url: str) -> None:
    """Wait until a gateway listens."""
    async with asyncio.timeout(20):
        while True:
            try:
                await client.get(f"{url}/v1/openapi.json")
            except httpx.ConnectError:
                await asyncio.sleep(0.02)
            else:
                return


def gateway_command(url: str, port: int, tokens: Path) -> list[str]:
    options = ["--nats", url, "--port", str(port), "--tokens", str(tokens)]
    return [sys.executable, "-m", "nearcast.gateway", *options]


async def test_what_a_killed_gateway_acknowledged_is_in_the_log(server: NatsServer, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    token, port = add_token(tokens, "ann"), free_port("127.0.0.1")
    acknowledged: list[int] = []
    with subprocess.Popen(gateway_command(server.url, port, tokens)) as process:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=PATIENCE) as client:

            async def say(number: int) -> None:
                while True:
                    number += 8
                    if len(acknowledged) >= SAID and process.poll() is None:
                        process.send_signal(signal.SIGKILL)
                    response = await client.post("/v1/positions", json={"lon": 1, "lat": 2, "time": number})
                    if response.status_code == 202:
                        acknowledged.append(number)

            await listening(client, "")
            ended = await asyncio.gather(*(say(n) for n in range(8)), return_exceptions=True)
            process.kill()
            assert all(isinstance(error, httpx.HTTPError) for error in ended)
    there = {json.loads(line)["time"] for packet in await lines_of(server.url) for line in packet}
    assert len(acknowledged) >= SAID
    assert set(acknowledged) <= there
