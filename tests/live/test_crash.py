"""Brokers, the gateway and the NATS server are killed under load, and started again as `nearcast serve` does.

What was acknowledged is in the log, and everyone hears everything once and in order. For long: KILLS=50.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from itertools import count
from pathlib import Path

import httpx

from nearcast.client import Client
from nearcast.feed import apply_batch
from nearcast.gateway.seal import Seal
from nearcast.log.export import export
from nearcast.log.packet import LINES, Packet, decode, plain_fixes
from nearcast.log.server import url_of
from nearcast.match.kernel import Kernel
from nearcast.model.moment import parse_time
from tests.gateway.running import seal_of
from tests.gateway.test_serve import children, served, until
from tests.live.crowd import LISTENERS, Crowd, Op, long_pauses, longest_pause, zones

KILLS = int(os.environ.get("KILLS", "4"))
RATE = float(os.environ.get("RATE", "2500"))
LEAST = 2000 if "KILLS" in os.environ else 500
"""Ops a second that are acknowledged, with all pauses counted in."""
FAILOVER = 3.0
EVERY = 5.0
"""Seconds between two kills, about."""
VICTIMS = ["telling broker", "silent broker", "gateway", "NATS server"]
KEEP = str(10**9)
logger = logging.getLogger(__name__)


class Set:
    """What `nearcast serve` runs."""

    def __init__(self, process: subprocess.Popen[str], at: dict[str, str]) -> None:
        self.process, self.url, self.token = process, at["url"], at["token"]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def teller(self, seconds: float = 240) -> int:
        """The process that tells, as soon as there is one."""
        async with asyncio.timeout(seconds), httpx.AsyncClient(timeout=5) as http:
            while True:
                try:
                    answer = await http.get(f"{self.url}/v1/health", headers=self.headers)
                    return int(answer.json()["details"]["broker"].rpartition("-")[2])
                except (httpx.HTTPError, KeyError, ValueError):
                    await asyncio.sleep(0.05)

    async def kill(self, victim: str) -> None:
        teller = await self.teller()
        there = children(self.process)
        silent = [pid for name, pid in there.items() if name.startswith("nearcast.broker") and pid != teller]
        pids = {
            "telling broker": [teller],
            "silent broker": silent,
            "gateway": [there[name] for name in there if name == "nearcast.gateway"],
            "NATS server": [there[name] for name in there if name == "nats-server"],
        }
        for pid in pids[victim]:
            os.kill(pid, signal.SIGKILL)


async def test_nothing_is_lost_or_told_twice_whatever_is_killed(tmp_path: Path) -> None:
    dice = random.Random(os.environ.get("SEED", "1"))
    with served(tmp_path, "--keep", KEEP) as (process, at):
        crowd, running = Crowd(at["url"], at["token"], RATE), Set(process, at)
        await crowd.enter()
        listening = [asyncio.create_task(crowd.listen(name)) for name in LISTENERS]
        loading, began = asyncio.create_task(crowd.load()), time.monotonic()
        killed = await killing(running, dice, loading)
        crowd.stop()
        await asyncio.wait_for(loading, 120)
        seconds = time.monotonic() - began
        await running.teller()
        log = tmp_path / "log.jsonl"
        exported = await export(url_of(tmp_path / "data" / "nats"), log)
        seal = await seal_of(url_of(tmp_path / "data" / "nats"))
        wanted = await asyncio.to_thread(told_of, log, seal)
        await until_heard(crowd, wanted)
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    said = report(crowd, killed, seconds, exported.ops)
    logger.info(said)
    for begin, end in long_pauses(crowd.told_at):
        logger.info("no events from %.1f s to %.1f s", begin, end)
    assert exported.first == 1
    assert_kept(crowd, log)
    for name in LISTENERS:
        heard = [event.id for event in crowd.events[name]]
        assert [event.kind for event in crowd.events[name] if event.kind == "gap"] == []
        assert [id_ for id_, times in Counter(heard).items() if times > 1] == [], f"{name} heard something twice"
        assert heard == wanted[name], f"{name} did not hear everything in its order"
        assert heard, name
    assert killed.total() == KILLS
    assert crowd.ops / seconds >= LEAST, said


async def test_the_standby_tells_within_three_seconds(tmp_path: Path) -> None:
    """Timed by a client: from the kill to what follows from a move that was made after it."""
    with served(tmp_path) as (process, at):
        running = Set(process, at)
        async with Client(at["url"], at["token"], client="ann") as ann:
            async with httpx.AsyncClient(base_url=at["url"], headers=running.headers) as http:
                square = zones()["features"][:1]
                await http.put("/v1/layers/square", json={"type": "FeatureCollection", "features": square})
            await ann.subscribe("here", "SELECT FROM LAYER square WHERE #location IN &location")
            await until("two brokers do not follow", lambda: said_by(tmp_path).count(" follows, from packet") >= 2)
            walking = asyncio.create_task(in_and_out(ann, *square[0]["geometry"]["coordinates"]))
            async with aclosing(ann.events("0")) as events, asyncio.timeout(60):
                for _ in range(20):  # both brokers are warm
                    await anext(events)
                await running.kill("telling broker")
                killed = time.time()
                async for event in events:
                    if event.data["cause"]["number"] > killed * 10**6:
                        took = time.time() - killed
                        break
            walking.cancel()
            await asyncio.wait([walking])
    logger.info("the other broker told after %.1f s", took)
    assert took < FAILOVER


def said_by(folder: Path) -> str:
    """What the processes of a set have said."""
    return (folder / "errors").read_text(encoding="utf-8")


async def in_and_out(ann: Client, lon: float, lat: float) -> None:
    for number in count():
        await ann.move(lon + number % 2, lat)
        await asyncio.sleep(0.05)


async def killing(running: Set, dice: random.Random, loading: asyncio.Task[None]) -> Counter[str]:
    """Each kind of process in turn, shuffled, at random moments."""
    killed: Counter[str] = Counter()
    order = [dice.sample(VICTIMS, len(VICTIMS)) for _ in range(KILLS // len(VICTIMS) + 1)]
    for victim in [victim for some in order for victim in some][:KILLS]:
        await asyncio.wait([loading], timeout=dice.uniform(0.5, 2 * EVERY - 0.5))
        if loading.done():
            loading.result()
        await running.kill(victim)
        logger.info("%.1f s: killed the %s", time.monotonic(), victim)
        killed[victim] += 1
    await asyncio.wait([loading], timeout=EVERY)
    return killed


def report(crowd: Crowd, killed: Counter[str], seconds: float, ops: int) -> str:
    kinds = ", ".join(f"{count} {name}" for name, count in killed.items())
    heard, rate = sum(map(len, crowd.events.values())), crowd.ops / seconds
    acks, events = longest_pause(crowd.acked_at), longest_pause(crowd.told_at)
    return (
        f"{killed.total()} kills ({kinds}) in {seconds:.0f} s; {crowd.ops} fixes acknowledged, {rate:.0f}/s; {ops} ops "
        f"in the log; {heard} events; longest pause {acks:.1f} s of acknowledgements, {events:.1f} s of events"
    )


async def until_heard(crowd: Crowd, wanted: dict[str, list[str]]) -> None:
    """Until everyone has heard as much as there is, and a little longer, in case that someone hears more."""
    async with asyncio.timeout(60):
        while any(len(crowd.events[name]) < len(wanted[name]) for name in LISTENERS):
            await asyncio.sleep(0.1)
    await asyncio.sleep(1)


# ---- what must be ------------------------------------------------------------------------------------------


def told_of(log: Path, seal: Seal) -> dict[str, list[str]]:
    """The ids of what a kernel tells each listener of a log, as they know them."""
    kernel, found = Kernel(), dict[str, list[str]]({name: [] for name in LISTENERS})
    for lines in chunks(log):
        told, _ = apply_batch(kernel, decode(LINES, lines), on_error="skip")
        for row in told.select(["subscriber", "id", "cause"]).to_pylist():
            if row["subscriber"] in found:
                found[row["subscriber"]].append(seal.notification(row["id"], row["cause"]["kind"]))
    return found


def chunks(log: Path) -> Iterator[bytes]:
    with log.open("rb") as file:
        while lines := file.readlines(2**20):
            yield b"".join(lines).rstrip(b"\n")


def assert_kept(crowd: Crowd, log: Path) -> None:
    """Every fix that was acknowledged is in the log, and those of one sender in the order in which it sent them."""
    place: dict[Op, int] = {}
    for lines in chunks(log):
        for line in lines.split(b"\n"):
            if (found := plain_fixes(Packet(LINES, line))) is not None:
                [fix] = found
                place.setdefault((fix.client, parse_time(fix.time)), len(place))
    for sender, fixes in crowd.sent.items():
        assert [fix for fix in fixes if fix not in place] == [], f"what {sender} sent was lost"
        places = [place[fix] for fix in fixes]
        assert places == sorted(places), f"what {sender} sent is in another order"
        assert fixes
