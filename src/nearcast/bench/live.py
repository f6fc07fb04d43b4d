"""How fast the live broker tells, how much it takes, whom it holds and how soon it is back, beside the bare chain.

Two brokers and a gateway run as ``nearcast serve`` runs them; what is acknowledged is on disk. The bare chain is NATS
without nearcast, with the same settings, through the same server, in the same run: see `chain`. Whoever sends and hears
runs on the same machine, in this process, and is as cheap as can be.

A latency is from the call that sends a fix to the event that is received. There are 2,000 fixes a second of as many
walkers among 10,000 regions. Every half a second one more walker crosses a square that 100 watch, so an update tells
nobody, one, or a hundred. More than half of the events are then of those who watch the square, so ``-one`` and
``-many`` say how it is for either. ``latency`` sends ten fixes a request, as fleets do, ``latency-single`` one; to the
chain a request is a message.

What a case took is by the clock on the wall: it is shared among processes.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import uvloop

from nearcast.bench import Case, Result
from nearcast.bench.chain import chain, hearer, message, relay
from nearcast.bench.load import Answer, Poster, listener, open_files, poster
from nearcast.bench.stage import DESK, HOST, Size, Stage, hall, staged

__all__ = ["CASES", "RARE"]

T = TypeVar("T")
Send = Callable[[int], Coroutine[Any, Any, None]]
"""Sends something that is of a moment, in microseconds."""
RATE = 2000
"""Fixes a second."""
VISITS = 2
"""Of them a second, by the one who crosses the square."""
FIX = 90
"""Bytes of a fix, about."""
POSTERS = 32
PATIENCE = 120.0
SPARE = 500
"""Files that a process needs for other things than subscribers."""
LEAST = 0.1
"""Kilobytes that count as something: a few may fit into what a process had before."""
CONNECTING = 100
"""Connections that are made at the same time."""


# ---- latency ---------------------------------------------------------------------------------------------


def _latency(ops: int, name: str, quick: bool, *, lazy: bool = False) -> Iterator[Result]:
    """Fixes at a steady rate, ``ops`` of them in a request."""
    rate, seconds = (200, 1.0) if quick else (RATE, 20.0)
    stage = _stage(quick, lazy)
    one, many = _run(_told(stage, rate, ops, seconds))
    bare = _run(_relayed(stage, rate, ops, seconds))
    for part, times in (("", one + many), ("-one", one), ("-many", many)):
        for p in (50, 99) if times else ():
            value, baseline = (float(np.percentile(some, p)) / 1e3 for some in (times, bare))
            yield Result(f"{name}{part}-p{p}", value, "ms", baseline)


async def _told(stage: Stage, rate: int, ops: int, seconds: float) -> tuple[list[int], list[int]]:
    """Microseconds from sending to hearing: of each event that tells one, and of each that tells many."""
    steps, one, many = stage.steps, _Taken(), _Taken()
    async with _hearing(stage, many, one), _posters(stage, POSTERS) as posters:

        def send(number: int, at: int) -> Awaitable[Answer]:
            is_visit = number % (rate // ops // VISITS) == 0
            return posters[number % POSTERS].post(steps.visit(at) if is_visit else steps.some(ops, at))

        await _at_a_rate(rate / ops, min(seconds / 4, 3.0), send)
        one.begin()
        many.begin()
        await _at_a_rate(rate / ops, seconds, send)
        await one.settled()
    return one.times, many.times


async def _relayed(stage: Stage, rate: int, ops: int, seconds: float) -> list[int]:
    """The same of the bare chain."""
    taken = _Taken()
    async with chain(stage.nats.url, taken.one) as bare:

        def send(_number: int, at: int) -> Awaitable[None]:
            return asyncio.ensure_future(bare.publish(message(1, at, ops * FIX)))

        await _at_a_rate(rate / ops, 0.5, send)
        taken.begin()
        await _at_a_rate(rate / ops, seconds / 2, send)
        await taken.settled()
    return taken.times


class _Taken:
    """How long it took to hear of each fix that was sent after the beginning."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self._since = 0

    def begin(self) -> None:
        self._since = time.time_ns() // 1000
        self.times.clear()

    def one(self, came: int, sent: int) -> None:
        if sent >= self._since:
            self.times.append(came - sent)

    def some(self, came: int, sent: list[int]) -> None:
        for one in sent:
            self.one(came, one)

    async def settled(self) -> None:
        """Wait until nothing more comes."""
        before = -1
        while before != len(self.times):
            before = len(self.times)
            await asyncio.sleep(0.5)


async def _at_a_rate(rate: float, seconds: float, send: Callable[[int, int], Awaitable[Any]]) -> None:
    """Send so many a second, whether or not the answers keep up; one that failed raises in the end."""
    loop, sent = asyncio.get_running_loop(), []
    began = loop.time()
    for number in range(int(rate * seconds)):
        if (wait := began + number / rate - loop.time()) > 0:
            await asyncio.sleep(wait)
        sent.append(send(number, time.time_ns() // 1000))
    await asyncio.gather(*sent)


# ---- saturation ------------------------------------------------------------------------------------------


def _saturation(ops: int, posters: int, name: str, quick: bool, *, lazy: bool = False) -> Iterator[Result]:
    """As many fixes as are acknowledged and applied, ``ops`` of them in a request."""
    ops, seconds = (min(ops, 20), 0.5) if quick else (ops, 10.0)
    stage = _stage(quick, lazy)
    value = _run(_saturated(stage, ops, posters, seconds))
    yield Result(name, value, "updates/s", _run(_relayed_most(stage, ops, posters, seconds)))


async def _saturated(stage: Stage, ops: int, posters: int, seconds: float) -> float:
    """The clock stops when the broker has applied the last packet that was acknowledged."""
    steps = stage.steps
    async with _hearing(stage, _Taken()), _posters(stage, posters) as connected:

        async def posting(one: Poster, until: float) -> tuple[int, int]:
            count = sequence = 0
            while time.monotonic() < until:
                answer = await one.post(steps.some(ops, time.time_ns() // 1000))
                count, sequence = count + answer.accepted, max(sequence, answer.sequence)
            return count, sequence

        began = time.monotonic()
        done = await asyncio.gather(*(posting(one, began + seconds) for one in connected))
        await stage.applied(max(sequence for _, sequence in done))
        return sum(count for count, _ in done) / (time.monotonic() - began)


async def _relayed_most(stage: Stage, ops: int, posters: int, seconds: float) -> float:
    taken = _Taken()
    async with chain(stage.nats.url, taken.one) as bare:

        async def posting(until: float) -> int:
            count = 0
            while time.monotonic() < until:
                await bare.publish(message(1, time.time_ns() // 1000, ops * FIX))
                count += 1
            return count

        began = time.monotonic()
        count = sum(await asyncio.gather(*(posting(began + seconds / 2) for _ in range(posters))))
        while len(taken.times) < count:
            await asyncio.sleep(0.01)
        return count * ops / (time.monotonic() - began)


# ---- subscribers -----------------------------------------------------------------------------------------


def _subscribers(quick: bool) -> Iterator[Result]:
    """Many who are connected, what each costs the gateway, and how long it takes to tell all of them one thing.

    Of the bare chain: as many connections to the server itself, what each costs that, and the same.
    """
    stage = _stage(quick)
    wanted = 50 if quick else 10_000
    count = min(wanted, open_files() - SPARE)
    names = hall(stage, count)
    held, memory, reached = _run(_held(stage, names))
    bare_memory, bare_reached = _run(_held_bare(stage, count))
    yield Result("subscribers", held, "subscribers", wanted)
    yield Result("subscribers-memory", memory, "KB", bare_memory)
    yield Result("subscribers-reached", reached, "ms", bare_reached)


async def _held(stage: Stage, names: list[str]) -> tuple[int, float, float]:
    steps, taken = stage.steps, _Taken()
    before, after = _memory(stage.gateway), await asyncio.to_thread(stage.told)
    connecting = _few_at_a_time(listener(stage.url, stage.token, name, after, taken.some) for name in names)
    async with _closing(await connecting) as listeners:

        async def reached() -> float:
            taken.begin()
            async with _posters(stage, 1) as (mover,):
                await mover.post(steps.visit(time.time_ns() // 1000, HOST))
                await _until(lambda: len(taken.times) >= len(listeners))
            return max(taken.times) / 1e3

        await reached()  # by then all of them are past what was before
        each = (_memory(stage.gateway) - before) / len(listeners)
        return len(listeners), max(each, LEAST), min([await reached() for _ in range(3)])


async def _held_bare(stage: Stage, count: int) -> tuple[float, float]:
    url, taken, nobody = stage.nats.url, _Taken(), _Taken()
    async with chain(url, nobody.one) as bare:
        before = _memory(stage.nats.pid)
        hearers = await _few_at_a_time(hearer(url, number, taken.one) for number in range(count))
        each, times = (_memory(stage.nats.pid) - before) / count, []
        async with _closing(hearers):
            for _ in range(3):
                taken.begin()
                await bare.publish(message(count, time.time_ns() // 1000, 10))
                await _until(lambda: len(taken.times) >= count)
                times.append(max(taken.times) / 1e3)
    return max(each, LEAST), min(times)


def _memory(pid: int) -> float:
    """Kilobytes that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return float(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


# ---- failover --------------------------------------------------------------------------------------------


def _failover(quick: bool) -> Iterator[Result]:
    """Seconds from the death of the broker that tells until someone hears of what was sent after it.

    Of the bare chain: the same with its process in the middle, which is at once started again.
    """
    stage = _stage(quick)
    rounds = 1 if quick else 5
    ours, bare = [], []
    for round_ in range(rounds):
        if round_:
            stage.mend()
        ours.append(_run(_taken_over(stage)))
        bare.append(_run(_begun_again(stage)))
    yield Result("failover", float(np.median(ours)), "s", float(np.median(bare)))


async def _taken_over(stage: Stage) -> float:
    telling, steps = stage.teller, stage.steps
    async with _posters(stage, 1) as (mover,), _hearing(stage, taken := _Taken()):

        async def send(at: int) -> None:
            await mover.post(steps.visit(at))

        return await _until_heard(send, lambda: os.kill(telling, signal.SIGKILL), taken)


async def _begun_again(stage: Stage) -> float:
    taken, again = _Taken(), ExitStack()
    async with chain(stage.nats.url, taken.one) as bare:

        def die() -> None:
            bare.relay.kill()
            again.enter_context(relay(stage.nats.url))

        with again:
            return await _until_heard(lambda at: bare.publish(message(1, at)), die, taken)


async def _until_heard(
    send: Callable[[int], Coroutine[Any, Any, None]], die: Callable[[], None], taken: _Taken
) -> float:
    """Send all the while, and give the seconds from a death until something is heard that was sent after it."""
    await send(time.time_ns() // 1000)
    await _until(lambda: bool(taken.times))
    die()
    taken.begin()
    began, sent = time.monotonic(), []
    while not taken.times:
        sent.append(asyncio.ensure_future(send(time.time_ns() // 1000)))
        await asyncio.sleep(0.02)
    took = time.monotonic() - began
    await asyncio.gather(*sent)
    return took


# ---- relaxed sync ------------------------------------------------------------------------------------------


def _lazy(quick: bool) -> Iterator[Result]:
    """All of the above that waits for the disk, with a server that syncs every two minutes."""
    yield from _latency(10, "lazy-latency", quick, lazy=True)
    yield from _latency(1, "lazy-latency-single", quick, lazy=True)
    yield from _saturation(1, 64, "lazy-saturation-single", quick, lazy=True)
    yield from _saturation(1000, 8, "lazy-saturation-batched", quick, lazy=True)


# ---- shared ----------------------------------------------------------------------------------------------


@cache
def _stage(quick: bool, lazy: bool = False) -> Stage:
    """What is measured, for all cases, until this process ends."""
    open_files()
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(staged(Size(20, 100, 5) if quick else Size(), lazy=lazy))


def _run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@asynccontextmanager
async def _hearing(stage: Stage, taken: _Taken, desk: _Taken | None = None) -> AsyncIterator[None]:
    """The desk and those who watch the square are connected; what the desk hears may be counted apart."""
    after = await asyncio.to_thread(stage.told)
    heard = {DESK: desk or taken, **dict.fromkeys(stage.watchers, taken)}
    connecting = _few_at_a_time(listener(stage.url, stage.token, name, after, by.some) for name, by in heard.items())
    async with _closing(await connecting):
        yield


@asynccontextmanager
async def _posters(stage: Stage, count: int) -> AsyncIterator[list[Poster]]:
    async with _closing([await poster(stage.url, stage.token) for _ in range(count)]) as made:
        yield made


class _Closes(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=_Closes)


@asynccontextmanager
async def _closing(made: list[C]) -> AsyncIterator[list[C]]:
    try:
        yield made
    finally:
        for one in made:
            one.close()


async def _few_at_a_time(works: Iterable[Awaitable[T]]) -> list[T]:
    room = asyncio.Semaphore(CONNECTING)

    async def one(work: Awaitable[T]) -> T:
        async with room:
            return await work

    return await asyncio.gather(*(one(work) for work in works))


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.005)


CASES: dict[str, Case] = {
    "latency": partial(_latency, 10, "latency"),
    "latency-single": partial(_latency, 1, "latency-single"),
    "saturation-single": partial(_saturation, 1, 64, "saturation-single"),
    "saturation-batched": partial(_saturation, 1000, 8, "saturation-batched"),
    "subscribers": _subscribers,
    "failover": _failover,
    "lazy": _lazy,
}
RARE = {"lazy"}
"""Only if it is asked for: it is for those who think of giving up some safety."""
