"""The demonstration: buses of a city go through the live broker and onto the map, Spark reads the same log beside it,
and in the end both are asked what they told.

Time is that of the buses, so the log has its own ticks, and the broker writes none.
"""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nearcast.check import statement_ops
from nearcast.client import Client
from nearcast.errors import LogError, PipelineError
from nearcast.gateway.grants import Role
from nearcast.gateway.identity import add_token
from nearcast.gateway.seal import Seal
from nearcast.language.oplog import encode_op
from nearcast.language.parse import parse_publication
from nearcast.log.client import Log
from nearcast.log.ending import end
from nearcast.log.packet import encode_lines
from nearcast.log.server import NatsServer, die_with_parent
from nearcast.log.subjects import OUT_STREAM, OUT_SUBJECTS, out_subject
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.moment import MICROS, parse_time
from nearcast.model.shape import Point
from nearcast.model.statement import Publication
from nearcast.serve import LARGEST

__all__ = ["INTRODUCTION", "Agreement", "line", "op_log", "play"]

INTRODUCTION = """Forty minutes of buses in downtown Austin, live and on Spark.
  dispatcher  hears of every bus that stands at a stop for a minute or more
  rider       wants the 801 within 700 m, at most every ten minutes
  board       shows the nearest bus
"""
CAST = ("dispatcher", "rider", "board")
TICK = MICROS
DATA = Path(str(resources.files("nearcast") / "data"))
PATIENCE = 300.0
"""Seconds for Spark to read what is left of the log, and for the broker to tell it."""
Say = Callable[[str], None]
Hear = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was told live, and how much of it Spark told as well. ``extra`` is what only Spark told."""

    told: int
    same: int
    extra: int
    fixes: int

    @property
    def holds(self) -> bool:
        return self.told == self.same and not self.extra

    def __str__(self) -> str:
        more = f", and Spark told {self.extra} more" if self.extra else ""
        return f"live and Spark agree: {self.same} of {self.told}{more}"


def op_log() -> Iterator[ops.Op]:
    """The statements, then every bus and its fixes in order of time, with a tick every second."""
    rows = list(csv.DictReader((DATA / "austin_buses.csv").read_text(encoding="utf-8").splitlines()))
    start = parse_time(rows[0]["time"])
    yield from statement_ops((DATA / "austin.lacl").read_text(encoding="utf-8"), DATA, start)
    seen: set[str] = set()
    now, ticked = start, start
    for row in rows:
        now, client = parse_time(row["time"]), row["client"]
        while ticked + TICK <= now:
            ticked += TICK
            yield ops.Tick(ticked)
        if client not in seen:
            seen.add(client)
            bus = parse_publication(f"PUBLISH AS bus (route = '{row['route']}')")
            yield ops.Publish(now, Publication("self", client, bus.regions))
        yield ops.Move(now, client, Position(Point(float(row["lon"]), float(row["lat"]))))
    yield ops.Tick(now)


def line(n: dict[str, Any]) -> str:
    """A notification, for people."""
    where = f" at {n['region']}" if n["region"] else ""
    return f"{n['time'][11:19]}  {n['subscriber']:10}  {n['kind']:5}  {n['publisher']}{where}  ({n['reason']})"


# ---- what runs -----------------------------------------------------------------------------------------


def play(speed: float | None, say: Say, hear: Hear, stay: Callable[[], None] = lambda: None) -> Agreement:
    """Play the buses so many times as fast as they went, or as fast as can be; then wait for whoever wants to look on.

    ``say`` is told what happens, and ``hear`` hears each notification as it comes.
    """
    log = list(op_log())
    say("Starting a server, brokers, a gateway and Spark. The first time takes a minute or two, as code is compiled.")
    with TemporaryDirectory(prefix="nearcast-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with NatsServer(folder / "nats", max_payload=LARGEST) as nats, _served(folder, nats.url) as at:
            token = add_token(folder / "tokens.json", CAST[0], Role.CLIENT)
            say(f"\nThe map: {at['url']}/map#token={token}\n")
            with _spark(folder, nats.url) as spark:
                told = asyncio.run(_played(nats.url, at, log, speed, hear))
                say("\nSpark reads the rest of the log")
                _read_by(spark, len(log))
            fixes = sum(isinstance(op, ops.Move) for op in log)
            agreement = _compared(told, folder / "history", fixes, asyncio.run(_seal(nats.url)))
            say(str(agreement))
            stay()
    return agreement


@contextmanager
def _served(folder: Path, nats: str) -> Iterator[dict[str, str]]:
    words = [
        "serve",
        "--data",
        str(folder),
        "--port",
        "0",
        "--nats",
        nats,
        "--keep",
        str(10**9),
        "--no-ticks",
        "--json",
    ]
    with _child([*words, "--json"], folder / "serve.log") as process:
        yield json.loads(_line_of(process, folder / "serve.log"))


@contextmanager
def _spark(folder: Path, nats: str) -> Iterator[subprocess.Popen[str]]:
    """A job that writes history while the buses go."""
    words = ["stream", "--nats", nats, "--out", str(folder / "history"), "--json"]
    with _child(words, folder / "spark.log") as process:
        yield process


@contextmanager
def _child(words: Sequence[str], errors: Path) -> Iterator[subprocess.Popen[str]]:
    with errors.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "nearcast.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent(),  # noqa: PLW1509 (it calls what is already loaded, and nothing else)
        )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def _line_of(process: subprocess.Popen[str], errors: Path) -> str:
    """The next line that a child prints, or why there is none."""
    assert process.stdout is not None
    if said := process.stdout.readline():
        return said
    raise LogError(f"it did not start: {errors.read_text(encoding='utf-8').strip()[-300:]}")


def _read_by(spark: subprocess.Popen[str], count: int) -> None:
    """Wait until Spark has matched so many ops."""
    until, rows = time.monotonic() + PATIENCE, 0
    assert spark.stdout is not None
    while rows < count and (said := spark.stdout.readline()):
        rows += json.loads(said).get("rows", 0)
        if time.monotonic() > until:
            break
    if rows < count:
        raise PipelineError(f"Spark matched {rows} of {count} ops in time; it may want more memory or processors")


# ---- the buses -----------------------------------------------------------------------------------------


async def _played(
    nats: str, at: dict[str, str], log: Sequence[ops.Op], speed: float | None, hear: Hear
) -> dict[str, dict[str, Any]]:
    """Write the log, a second of it in a packet; gives all that the cast heard, by its id."""
    heard: dict[str, dict[str, Any]] = {}

    async def listen(name: str) -> None:
        async with Client(at["url"], at["token"], client=name) as me, aclosing(me.events("0")) as events:
            async for event in events:
                heard[event.id] = dict(event.data)
                hear(heard[event.id])

    listening = [asyncio.create_task(listen(name)) for name in CAST]
    try:
        last = await _written(nats, log, speed)
        async with Client(at["url"], at["token"]) as operator:
            await _told(nats, operator, last, heard)
    finally:
        await end(*listening)
    return heard


async def _written(nats: str, log: Sequence[ops.Op], speed: float | None) -> int:
    """The sequence of the last packet."""
    began, first, sequence = time.monotonic(), log[0].time, 0
    async with Log(nats) as written:
        await written.create(live=True)
        for second, some in groupby(log, lambda op: (op.time - first) // MICROS):
            if speed is not None:
                await asyncio.sleep(max(0.0, began + second / speed - time.monotonic()))
            sequence = await written.append(encode_lines(map(encode_op, some)))
    return sequence


async def _told(nats: str, operator: Client, last: int, heard: dict[str, dict[str, Any]]) -> None:
    """Wait until the broker has told all that a packet and those before it tell, and everyone has heard it."""
    until = time.monotonic() + PATIENCE
    async with Log(nats) as log:
        while time.monotonic() < until:
            details = (await operator.health()).get("details", {})
            if details.get("sequence", 0) >= last and not details["unwritten"] and len(heard) >= await _stored(log):
                return
            await asyncio.sleep(0.5)
    raise LogError(f"the broker did not apply the log within {PATIENCE:g} s")


async def _stored(log: Log) -> int:
    """How much there is for the cast to hear."""
    state = (await log.client.jetstream().stream_info(OUT_STREAM, subjects_filter=OUT_SUBJECTS)).state
    counts = state.subjects or {}
    return sum(counts.get(out_subject(name), 0) for name in CAST)


async def _seal(nats: str) -> Seal:
    async with Log(nats) as log:
        return await Seal.of(log)


def _compared(told: dict[str, dict[str, Any]], history: Path, fixes: int, seal: Seal) -> Agreement:
    """What was heard has the ids that are in the history, sealed where the cause is hidden."""
    from nearcast.stream.tables import read_notifications  # noqa: PLC0415  # Spark is heavy

    known = {seal.notification(n.id, n.cause.kind) for n in read_notifications(history)}
    return Agreement(len(told), len(told.keys() & known), len(known - told.keys()), fixes)
