"""Load the live broker for a long time, and see that it stays as it is. Run by `make soak-live`.

Two brokers, a gateway and a NATS server take 70 % of what they can, or as many fixes a second as are asked for. Now and
then it looks at the memory of each process, at how long events take, at how much of a processor it takes to tell them,
and at the size of the data. It fails if memory, latency or work keep growing once all is warm, if there is more data
than is meant to be kept, or if a process dies.

A machine that is shared with others is faster at one time than at another, and a system at 70 % of what it can take
feels that more than anyone. So it also looks all the while at how long the same small piece of work takes, and what
that explains of latency and work is not growth.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import uvloop

from nearcast.bench.load import Poster, listener, open_files, poster
from nearcast.bench.stage import DESK, Size, Stage, staged
from nearcast.broker.recovery import SAFE
from nearcast.broker.service import Settings
from nearcast.log.client import OUT_BYTES

SHARE = 0.7
"""Of what can be taken."""
BATCH, POSTERS = 500, 8
MEASURED = 90.0
SOON, BEHIND, LESS = 50.0, 1.0, 0.92
"""What can be taken: for so many seconds it is tried whether events still come within so many milliseconds in the end,
and all is done so soon after; if not, with less."""
LOOK, IDLE = 0.5, 0.2
"""Seconds between two looks at whether all is done, and the part of a core that is used even then."""
VISITS = 0.5
"""Seconds between two crossings of the square that a hundred watch."""
PENDING = 64
"""Requests without an answer, after which the next ones wait."""
WARM = 0.25
"""The part of the time in which everything may still grow."""
SAMPLES = 60
SHORTEST = 5.0
"""Samples at the most, and the least seconds between two."""
KEPT = SAFE + 5 * Settings.snapshot_seconds
"""Seconds of ops that may be kept: the oldest snapshot that is needed may be that old."""
OVERHEAD = 1.5
"""A server has more on disk than what is in it, until it has dropped whole files."""
SPARE = 128 * 2**20
"""Bytes for snapshots, layers and logs."""
LIMITS = {"memory": (0.15, 24.0), "p50": (0.5, 2.0), "p99": (1.0, 20.0), "work": (0.15, 0.02)}
"""How much more there may be in the end than when all was warm: a part of it, and an amount (MB, ms, cores) that is
noise."""
PACED = 0.5
"""Seconds between two looks at the pace of the machine."""
_PIECE = json.dumps([{"client": f"walker{i}", "lon": i / 7, "lat": i / 11} for i in range(200)])


@dataclass
class Sample:
    """How things were at a moment, and since the one before."""

    seconds: float
    memory: dict[str, float]
    """MB, by process."""
    p50: float
    p99: float
    """Milliseconds from sending a fix to hearing of it."""
    events: int
    rate: float
    """Fixes a second that were acknowledged."""
    data: float
    """MB on disk."""
    work: float
    """Cores that all processes kept busy."""
    pace: float
    """Milliseconds of a core that a small piece of work took, which is always the same."""


@dataclass
class Soak:
    """A run under way."""

    stage: Stage
    began: float = field(default_factory=time.monotonic)
    accepted: int = 0
    refused: int = 0
    times: list[int] = field(default_factory=list)
    """Microseconds that the events since the last sample took."""
    samples: list[Sample] = field(default_factory=list)
    paces: list[float] = field(default_factory=list)
    """Milliseconds that the same work took, since the last sample."""
    _before: tuple[float, int, float] = (0.0, 0, 0.0)

    def begin(self) -> None:
        self.began = time.monotonic()
        self._before = 0.0, self.accepted, sum(map(worked, processes(self.stage).values()))

    def heard(self, came: int, sent: list[int]) -> None:
        self.times += [came - at for at in sent]

    async def post(self, one: Poster, body: bytes) -> None:
        try:
            answer = await one.post(body)
        except RuntimeError:
            self.refused += 1
        else:
            self.accepted += answer.accepted

    def sample(self) -> Sample:
        now = time.monotonic() - self.began
        times, self.times = self.times, []
        p50, p99 = (np.percentile(times, (50, 99)) / 1e3).tolist() if times else (0.0, 0.0)
        paces, self.paces = self.paces, []
        known = processes(self.stage)
        since, accepted, busy = self._before
        self._before = now, self.accepted, sum(map(worked, known.values()))
        memory = {name: resident(pid) for name, pid in known.items()}
        rate, work = (self.accepted - accepted) / (now - since), (self._before[2] - busy) / (now - since)
        data, pace = size(self.stage.nats.folder) / 2**20, float(np.median(paces)) if paces else 0.0
        found = Sample(now, memory, p50, p99, len(times), rate, data, work, pace)
        self.samples.append(found)
        return found


# ---- load ------------------------------------------------------------------------------------------------


async def saturation(soak: Soak, say: Callable[[str], None]) -> float:
    """Fixes a second that come by the clock and that all keep up with, standby and listeners too."""
    rate = await burst(soak)
    while True:
        soak.times.clear()
        async with loaded(soak, rate) as loading:
            await asyncio.wait(loading, timeout=MEASURED, return_when=asyncio.FIRST_EXCEPTION)
        ended, took = time.monotonic(), soak.times[len(soak.times) // 2 :]
        behind, p50 = await idle(soak.stage) - ended, float(np.percentile(took, 50)) / 1e3
        say(f"{rate:,.0f} fixes a second for {MEASURED:.0f} s: p50 {p50:.0f} ms, and all is done {behind:.1f} s later")
        if behind <= BEHIND and p50 <= SOON:
            return rate
        rate *= LESS


async def burst(soak: Soak) -> float:
    """Fixes a second if each poster waits for an answer and for nothing else. Nobody can keep that up."""
    async with hearing(soak), posters(soak.stage) as connected:

        async def posting(one: Poster, until: float) -> int:
            count = 0
            while time.monotonic() < until:
                count += (await one.post(soak.stage.steps.some(BATCH, time.time_ns() // 1000))).accepted
            return count

        began = time.monotonic()
        done = await asyncio.gather(*(posting(one, began + MEASURED) for one in connected))
        return sum(done) / (await idle(soak.stage) - began)


async def idle(stage: Stage) -> float:
    """When nobody has anything left to do: also a standby has applied it, and all have heard of it."""
    busy, since = sum(map(worked, processes(stage).values())), time.monotonic()
    while True:
        await asyncio.sleep(LOOK)
        was, busy = busy, sum(map(worked, processes(stage).values()))
        if busy - was < IDLE * LOOK:
            return since
        since = time.monotonic()


async def run(soak: Soak, rate: float, seconds: float, say: Callable[[str], None]) -> None:
    every = max(SHORTEST, seconds / SAMPLES)
    async with loaded(soak, rate) as loading:
        say(header(list(processes(soak.stage))))
        soak.begin()
        while time.monotonic() < soak.began + seconds:
            await asyncio.wait(loading, timeout=every, return_when=asyncio.FIRST_EXCEPTION)
            for task in loading:
                if task.done():
                    task.result()
            say(row(await asyncio.to_thread(soak.sample)))


@asynccontextmanager
async def loaded(soak: Soak, rate: float) -> AsyncIterator[list[asyncio.Task[None]]]:
    """So many fixes a second, and some who hear of them."""
    async with hearing(soak), posters(soak.stage) as connected:
        loading = [asyncio.create_task(work) for work in (load(soak, connected, rate), visit(soak), paced(soak))]
        yield loading
        for task in loading:
            task.cancel()
        await asyncio.wait(loading)


async def load(soak: Soak, connected: list[Poster], rate: float) -> None:
    """Batches by the clock. If answers do not come, there are not more and more of them."""
    pending: set[asyncio.Task[None]] = set()
    due, number = time.monotonic(), 0
    try:
        while True:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            due = max(due + BATCH / rate, time.monotonic() - 1)
            body = soak.stage.steps.some(BATCH, time.time_ns() // 1000)
            pending.add(asyncio.create_task(soak.post(connected[number % POSTERS], body)))
            number += 1
            if len(pending) >= PENDING:
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            pending = {task for task in pending if not task.done()}
    finally:
        await asyncio.gather(*pending)


async def visit(soak: Soak) -> None:
    one = await poster(soak.stage.url, soak.stage.token)
    while True:
        await asyncio.gather(asyncio.sleep(VISITS), soak.post(one, soak.stage.steps.visit(time.time_ns() // 1000)))


async def paced(soak: Soak) -> None:
    """Look at how fast the machine is; it is the processor's time that counts, not how long one waits for it."""
    while True:
        await asyncio.sleep(PACED)
        began = time.thread_time()
        sorted(json.loads(_PIECE), key=lambda fix: -fix["lon"])
        soak.paces.append(1e3 * (time.thread_time() - began))


@asynccontextmanager
async def hearing(soak: Soak) -> AsyncIterator[None]:
    stage = soak.stage
    after = await asyncio.to_thread(stage.told)
    async with AsyncExitStack() as held:
        for name in (DESK, *stage.watchers):
            held.callback((await listener(stage.url, stage.token, name, after, soak.heard)).close)
        yield


@asynccontextmanager
async def posters(stage: Stage) -> AsyncIterator[list[Poster]]:
    async with AsyncExitStack() as held:
        made = [await poster(stage.url, stage.token) for _ in range(POSTERS)]
        for one in made:
            held.callback(one.close)
        yield made


# ---- looking ---------------------------------------------------------------------------------------------


def processes(stage: Stage) -> dict[str, int]:
    """What runs, by name."""
    found = {"nats": stage.nats.pid}
    kept = Path(f"/proc/{stage.process.pid}/task/{stage.process.pid}/children").read_text(encoding="ascii").split()
    for pid in sorted(map(int, kept)):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        name = next((word.partition(".")[2] for word in words if word.startswith("nearcast.")), "other")
        found[name if name not in found else f"{name} 2"] = pid
    return found


def worked(pid: int) -> float:
    """Seconds of a core that a process has had."""
    user, system = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> float:
    """MB that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def size(folder: Path) -> int:
    """Bytes of the files that are there; some may go while they are looked at."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:
            continue
    return total


# ---- judging ---------------------------------------------------------------------------------------------


def faults(samples: list[Sample], first: dict[str, int], last: dict[str, int], op: float) -> list[str]:
    """What is wrong. ``op`` is how many bytes of the log a fix takes."""
    found = [f"{name} is another process than in the beginning" for name in first if first[name] != last.get(name)]
    warm = [s for s in samples if s.seconds >= WARM * samples[-1].seconds]
    seconds, pace = [s.seconds for s in warm], [s.pace for s in warm]
    for name in first:
        found += growing(f"memory of {name}", seconds, [s.memory.get(name, 0.0) for s in warm], "memory", "MB")
    found += growing("latency p50", seconds, [s.p50 for s in warm], "p50", "ms", pace)
    found += growing("latency p99", seconds, [s.p99 for s in warm], "p99", "ms", pace)
    found += growing("work", seconds, [s.work for s in warm], "work", "cores", pace)
    most, allowed = max(s.data for s in samples), bound(samples, op) / 2**20
    if most > allowed:
        found.append(f"{most:.0f} MB of data, and {allowed:.0f} are to be kept")
    if not all(s.events for s in warm):
        found.append("there was a time without events")
    return found


def growing(
    what: str, seconds: list[float], values: list[float], limit: str, unit: str, pace: list[float] | None = None
) -> list[str]:
    """By a plane through the values, over time and over the pace of the machine if that is given: how much more there
    is in the end than in the beginning, at the best pace that the machine had."""
    part, noise = LIMITS[limit]
    since = np.array(seconds) - seconds[0]
    over = [np.ones_like(since), since, *([np.array(pace) - min(pace)] if pace else [])]
    if len(values) <= len(over):
        return []
    start, slope, *_ = np.linalg.lstsq(np.column_stack(over), np.array(values), rcond=None)[0]
    more = float(slope * since[-1])
    if more <= part * max(float(start), 0.0) + noise:
        return []
    return [f"{what} grows: from {start:.2f} to {start + more:.2f} {unit} in {since[-1]:.0f} s"]


def bound(samples: list[Sample], op: float) -> float:
    """Bytes that may be on disk: the ops since the oldest snapshot that is needed, the notifications, and the rest."""
    rate = max(s.rate for s in samples)
    return OVERHEAD * (rate * op * KEPT + OUT_BYTES) + SPARE


# ---- saying ----------------------------------------------------------------------------------------------


def header(names: list[str]) -> str:
    words = ("seconds", "fixes/s", "events", "p50 ms", "p99 ms", "work", "pace ms", "data MB", *names)
    return "".join(f"{word:>12}" for word in words)


def row(s: Sample) -> str:
    load = (f"{s.seconds:.0f}", f"{s.rate:,.0f}", f"{s.events:,}", f"{s.p50:.1f}", f"{s.p99:.1f}")
    machine = (f"{s.work:.2f}", f"{s.pace:.3f}", f"{s.data:.0f}", *(f"{value:.0f}" for value in s.memory.values()))
    return "".join(f"{word:>12}" for word in (*load, *machine))


def main(minutes: float, rate: float | None, out: Path) -> int:
    open_files()

    def say(text: str) -> None:
        print(text, flush=True)

    with staged(Size()) as stage, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        most = None if rate else runner.run(saturation(Soak(stage), say))
        wanted = rate or SHARE * (most or 0)
        say(f"{wanted:,.0f} fixes a second" + (f", {SHARE:.0%} of {most:,.0f}" if most else ""))
        soak, first = Soak(stage), processes(stage)
        runner.run(run(soak, wanted, 60 * minutes, say))
        found = faults(soak.samples, first, processes(stage), len(stage.steps.some(BATCH, 10**15)) / BATCH + 16)
    said = {"minutes": minutes, "saturation": most, "rate": wanted, "refused": soak.refused, "faults": found}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({**said, "samples": [asdict(s) for s in soak.samples]}, indent=2) + "\n")
    print(*(found or ["memory, latency and data stay as they are"]), f"written to {out}", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--rate", type=float, help="fixes a second; else 70 %% of what can be taken")
    parser.add_argument("--out", type=Path, default=Path("build/soak-live.json"))
    given = parser.parse_args()
    sys.exit(main(given.minutes, given.rate, given.out))
