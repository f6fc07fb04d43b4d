"""Brokers and servers that are killed while the log grows. For longer: KILLS=50 OPS=20000."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from nats.errors import Error as NatsError

from nearcast.errors import LogError
from nearcast.language.oplog import decode_op
from nearcast.log.client import Log
from nearcast.log.connection import connection
from nearcast.log.packet import Packet
from nearcast.log.reading import Entry, fetch
from nearcast.log.server import NatsServer
from nearcast.log.subjects import OPS_STREAM
from nearcast.testing import run
from tests.broker.heard import Heard, ask, everything, expected, told
from tests.broker.test_service import city, packed_lines

KILLS = int(os.environ.get("KILLS", "3"))
OPS = int(os.environ.get("OPS", "1000"))
OPTIONS = ["--no-ticks", "--lease", "1", "--snapshot-seconds", "0.5"]
FAILOVER = 3.0
"""Seconds, with a lease of 2."""


class Brokers:
    """Two processes, each started again when it was killed."""

    def __init__(self, url: str, folder: Path, *options: str) -> None:
        self.url, self.folder, self.options = url, folder, options
        self.running = {name: self._start(name) for name in ("one", "two")}

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "nearcast.broker", "--nats", self.url, "--name", name, *self.options]
        with (self.folder / f"{name}.log").open("ab") as said:
            return subprocess.Popen(command, stderr=said)

    def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        self.running[name].send_signal(how)
        self.running[name].wait()

    def mend(self) -> None:
        for name, process in self.running.items():
            if process.poll() is not None:
                self.running[name] = self._start(name)

    def end(self) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            assert process.wait(20) in (0, -signal.SIGTERM, -signal.SIGKILL)


async def active(url: str, seconds: float = 60) -> str:
    """Who tells, as soon as someone does."""
    async with asyncio.timeout(seconds):
        while True:
            with suppress(LogError, NatsError, OSError):
                async with connection(url) as client:
                    while True:
                        with suppress(NatsError):
                            return str((await ask(client, "health"))["broker"])
                        await asyncio.sleep(0.02)
            await asyncio.sleep(0.05)


async def write(url: str, packets: list[Packet], rate: float) -> None:
    """Append all, again and again where no answer came: then an op may be in the log twice, which is no harm."""
    waiting = list(reversed(packets))
    while waiting:
        with suppress(LogError):
            async with Log(url) as log:
                while waiting:
                    await log.append(waiting[-1])
                    waiting.pop()
                    await asyncio.sleep(1 / rate)
        await asyncio.sleep(0.05)


async def lines_of(url: str) -> list[str]:
    """The log as it came to be."""
    async with connection(url) as client:
        last = (await client.jetstream().stream_info(OPS_STREAM)).state.last_seq
        entries: list[Entry] = []
        while len(entries) < last:
            entries += await fetch(client, OPS_STREAM, len(entries) + 1, last)
    return [line for entry in entries for line in entry.payload.decode().split("\n")]


async def all_told(url: str, seconds: float = 90) -> list[Heard]:
    """What was told, once all of the log is."""
    async with asyncio.timeout(seconds):
        while True:
            with suppress(LogError, NatsError, OSError):
                async with connection(url) as client:
                    last = (await client.jetstream().stream_info(OPS_STREAM)).state.last_seq
                    await ask(client, "applied", after=last)
                    health = await ask(client, "health")
                    if health.get("sequence") == last and not health["unwritten"]:
                        return await everything(url)
            await asyncio.sleep(0.05)


def by_client(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for client, id_ in pairs:
        found[client].append(id_)
    return found


async def test_everything_is_told_once_whatever_is_killed(tmp_path: Path) -> None:
    chance = random.Random(os.environ.get("SEED", "1"))
    server = NatsServer(tmp_path / "nats")
    server.start()
    url, port = server.url, urlsplit(server.url).port
    assert port is not None
    async with Log(url) as log:
        await log.create(live=True)
    brokers = Brokers(url, tmp_path, *OPTIONS, "--safe", "1", "--keep", "100000000")
    try:
        packets = packed_lines(city(OPS), 4)
        writing = asyncio.create_task(write(url, packets, rate=200))
        for _ in range(KILLS):
            victim = chance.choice(["teller", "teller", "silent", "server"])
            teller = await active(url)
            await asyncio.sleep(chance.random())
            if victim == "server":
                server.kill()
                await asyncio.sleep(chance.random() / 2)
                server = NatsServer(tmp_path / "nats", port=port)
                server.start()
            else:
                brokers.kill(teller if victim == "teller" else {"one": "two", "two": "one"}[teller])
                await asyncio.sleep(chance.random())
                brokers.mend()
        await writing
        heard = await all_told(url)
        lines = await lines_of(url)
    finally:
        brokers.end()
        server.stop()
    wanted = expected(run(map(decode_op, lines)))
    assert len(set(told(heard))) == len(heard), "something was told twice"
    assert by_client(told(heard)) == by_client(wanted)
    assert told(heard) == wanted
    for name in ("one", "two"):
        assert "Traceback" not in (tmp_path / f"{name}.log").read_text(encoding="utf-8")


async def test_a_silent_one_takes_over_in_time(server: NatsServer, tmp_path: Path) -> None:
    async with Log(server.url) as log:
        await log.create(live=True)
        for packet in packed_lines(city(100)):
            await log.append(packet)
        brokers = Brokers(server.url, tmp_path, "--no-ticks")
        try:
            teller = await active(server.url)
            await until_both_follow(tmp_path)
            brokers.kill(teller)
            killed = time.monotonic()
            other = await active(server.url)
            took = time.monotonic() - killed
            assert other != teller
            assert took < FAILOVER
            brokers.kill(other, signal.SIGTERM)
            assert brokers.running[other].returncode == 0
        finally:
            brokers.end()


async def until_both_follow(folder: Path) -> None:
    """A silent broker says when it has read its way to the end of the log."""
    async with asyncio.timeout(60):
        while not all("follows" in (folder / f"{name}.log").read_text(encoding="utf-8") for name in ("one", "two")):
            await asyncio.sleep(0.05)


def test_what_is_wrong_is_said_in_one_line() -> None:
    command = [sys.executable, "-m", "nearcast.broker", "--nats", "nats://127.0.0.1:1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: no NATS server answers at nats://127.0.0.1:1")
    assert ended.stderr.count("\n") == 1
