"""Requests to the broker that tells: JSON both ways, answered between two packets.

Whoever wrote reads what it wrote: a request may name a packet that must be applied first.

Nothing is applied and no lease renewed while an answer is found, so each has an end, they take turns, and between two
that look at much the broker has as long for the log as the first took.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from typing import Any, Protocol

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg

from nearcast.broker.answers import (
    Asked,
    clients_of,
    explained_to,
    found_by,
    layer_of,
    layers_of,
    oneself,
    places_of,
    state_of,
    statements_of,
    staying,
    warnings_of,
)
from nearcast.broker.applying import Refusal
from nearcast.broker.following import Follower
from nearcast.broker.recovery import State
from nearcast.broker.weighing import Most
from nearcast.broker.writer import Writer
from nearcast.errors import NearcastError, OpError
from nearcast.log.client import Log
from nearcast.log.connection import explained
from nearcast.log.subjects import ASK_SUBJECTS, TOOK
from nearcast.match.kernel import Kernel

__all__ = ["answering"]

PATIENCE = 10.0
"""Seconds that an answer waits for a packet."""
IN_HAND = 1000
"""Requests that wait for a packet, or for their turn. More are turned away."""
LONGEST = 0.5
"""Seconds that an answer may take. A lease is renewed as often, and runs out after four times as long."""
LOOKS = ("clients", "explain", "query", "state", "staying")
"""Questions that look at as much as there is. They are asked in one line, the others in another; what became of an op,
and how the broker is, is answered at once."""
AT_ONCE = ("applied", "health", "pace")
SHORT = 0.001
"""Seconds for which a loop that has nothing else to do need not be left alone."""

_asked, encode = msgspec.json.Decoder(Asked), msgspec.json.encode
Answer = dict[str, Any]
_BUSY: Answer = {"error": "too much is being asked; try again", "kind": "Busy"}
_SILENT: Answer = {"error": "this broker is silent now; ask the one that tells", "kind": "Silent"}


class Answerer(Protocol):
    """What is asked of a broker."""

    name: str
    counts: Counter[str]
    state: State | None
    writer: Writer | None
    follower: Follower | None
    apply_seconds: deque[float]

    @property
    def op_seconds(self) -> float:
        """How long an op took lately."""

    async def until(self, sequence: int) -> None:
        """Wait until a packet is applied."""

    def refused(self, sequence: int) -> list[Refusal] | None:
        """The ops of a packet that were refused; None if that is not known."""


class _Line:
    """Those who wait for their turn, in the order in which they came."""

    def __init__(self) -> None:
        self._turn, self._rests_until = asyncio.Lock(), 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One at a time; the next has its turn after as long as the last one took."""
        async with self._turn:
            rest = self._rests_until - time.monotonic()
            await asyncio.sleep(rest if rest > SHORT else 0)
            began = time.monotonic()
            try:
                yield
            finally:
                now = time.monotonic()
                self._rests_until = now + (now - began)


@contextmanager
def _ending(kernel: Kernel) -> Iterator[None]:
    """Have what is found out within end after a while."""
    before, until = kernel.world.pace, time.monotonic() + LONGEST

    def pace() -> None:
        if time.monotonic() > until:
            raise OpError("this takes too long to find out; ask about less, or about what is near")

    kernel.world.pace = pace
    try:
        yield
    finally:
        kernel.world.pace = before


async def answering(broker: Answerer, log: Log) -> None:
    """Answer until cancelled. Who waits for an answer then is told to ask again."""
    works: dict[asyncio.Task[None], Msg] = {}
    lines = (_Line(), _Line())

    async def take(message: Msg) -> None:
        work = asyncio.create_task(_reply(broker, log.client, message, lines, busy=len(works) >= IN_HAND))
        works[work] = message
        work.add_done_callback(works.pop)

    with explained(log.url, ASK_SUBJECTS):
        listening = await log.client.subscribe(ASK_SUBJECTS, cb=take)
        try:
            await asyncio.Event().wait()
        finally:
            unanswered = dict(works)
            for work in unanswered:
                work.cancel()
            if not log.client.is_closed:
                await listening.unsubscribe()
                for message in unanswered.values():
                    if message.reply:
                        await log.client.publish(message.reply, encode(_SILENT))


async def _reply(broker: Answerer, client: Client, message: Msg, lines: tuple[_Line, _Line], *, busy: bool) -> None:
    data, took = (encode(_BUSY), 0.0) if busy else await _answer(broker, message, lines)
    if len(data) > client.max_payload:
        data = encode(_error("the answer is too large; ask for less", "TooLarge"))
    if message.reply and not client.is_closed:
        await client.publish(message.reply, data, headers={TOOK: str(round(1e6 * took))})


async def _answer(broker: Answerer, message: Msg, lines: tuple[_Line, _Line]) -> tuple[bytes, float]:
    """An answer as JSON, and how many seconds of the processor it took to find it."""
    question = message.subject.rpartition(".")[2]
    try:
        asked = _asked.decode(message.data or b"{}")
        if question not in _ANSWERS:
            raise OpError(f"nobody answers {question!r}; ask {', '.join(_ANSWERS)}")
        if asked.after is not None:
            async with asyncio.timeout(PATIENCE):
                await broker.until(asked.after)
    except msgspec.DecodeError as error:
        return encode(_error(f"not a request: {error}", "OpError")), 0.0
    except TimeoutError:
        return encode(_error(f"packet {asked.after} has not been applied", "Timeout")), 0.0
    except NearcastError as error:
        return encode(_error(str(error), type(error).__name__)), 0.0
    if question in AT_ONCE:
        return _found(broker, question, asked)
    try:
        async with asyncio.timeout(PATIENCE), lines[question in LOOKS].turn():
            return _found(broker, question, asked)
    except TimeoutError:
        return encode(_BUSY), 0.0


def _found(broker: Answerer, question: str, asked: Asked) -> tuple[bytes, float]:
    began = time.thread_time()
    try:
        with _ending(_known(broker).kernel):
            answer = _ANSWERS[question](broker, asked)
    except NearcastError as error:
        answer = _error(str(error), type(error).__name__)
    return encode(answer), time.thread_time() - began


def _error(text: str, kind: str) -> Answer:
    return {"error": text, "kind": kind}


def _known(broker: Answerer) -> State:
    assert broker.state is not None
    return broker.state


def _applied(broker: Answerer, asked: Asked) -> Answer:
    if asked.after is None:
        raise OpError("is missing", "after")
    refused = broker.refused(asked.after)
    if refused is None:
        return _error(f"what packet {asked.after} came to is not known any more", "Forgotten")
    said = warnings_of(_known(broker).kernel, asked)
    return {"refused": [asdict(refusal) for refusal in refused], "warnings": said}


def _state(broker: Answerer, asked: Asked) -> Answer:
    state = _known(broker)
    told = state_of(state.kernel, asked, state.sequence)
    return {"notifications": told, "sequence": broker.writer.sequence if broker.writer else 0}


def _query(broker: Answerer, asked: Asked) -> Answer:
    state = _known(broker)
    return found_by(state.kernel, state.scales, asked, state.sequence)


def _weigh(broker: Answerer, asked: Asked) -> Answer:
    return {**_known(broker).scales.weigh(asked.client, asked.id, asked.text, Most(asked.cost, asked.weight))}


def _health(broker: Answerer, asked: Asked) -> Answer:  # noqa: ARG001 (nothing need be said)
    state, kernel = _known(broker), _known(broker).kernel
    taken = sorted(broker.apply_seconds)
    return {
        "broker": broker.name,
        "sequence": state.sequence,
        "lag": broker.follower.pending if broker.follower else 0,
        "told": broker.writer.acknowledged if broker.writer else 0,
        "kept": {"messages": len(state.outbox), "bytes": state.outbox.size},
        "unwritten": broker.writer.sequence - broker.writer.acknowledged if broker.writer else 0,
        "clients": len(kernel.world.clients),
        "publications": len(kernel.world.publications),
        "subscriptions": len(kernel.subscriptions),
        "regions": sum(len(layer.regions) for layer in kernel.world.layers.values()),
        "counts": {**broker.counts, "stale": kernel.counts["stale"]},
        "apply_ms": {
            "p50": 1000 * statistics.median(taken) if taken else 0.0,
            "p99": 1000 * taken[int(0.99 * (len(taken) - 1))] if taken else 0.0,
        },
    }


def _pace(broker: Answerer, asked: Asked) -> Answer:  # noqa: ARG001 (nothing need be said)
    pending = broker.follower.pending if broker.follower else 0
    return {"sequence": _known(broker).sequence, "pending": pending, "op_seconds": broker.op_seconds}


_ANSWERS: dict[str, Callable[[Answerer, Asked], Answer]] = {
    "applied": _applied,
    "client": lambda broker, asked: oneself(_known(broker).kernel, asked),
    "clients": lambda broker, asked: clients_of(_known(broker).kernel, asked),
    "explain": lambda broker, asked: explained_to(_known(broker).kernel, asked),
    "health": _health,
    "layer": lambda broker, asked: layer_of(_known(broker).kernel, asked),
    "layers": lambda broker, _: layers_of(_known(broker).kernel),
    "pace": _pace,
    "places": lambda broker, _: places_of(_known(broker).kernel),
    "query": _query,
    "state": _state,
    "weigh": _weigh,
    "statements": lambda broker, asked: dict(statements_of(_known(broker).kernel, asked)),
    "staying": lambda broker, asked: staying(_known(broker).kernel, asked),
}
