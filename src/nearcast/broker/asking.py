"""Requests to the broker that tells: JSON both ways, answered between two packets.

Whoever wrote reads what it wrote: a request may name a packet that must be applied first.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter, deque
from collections.abc import Callable
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
)
from nearcast.broker.applying import Refusal
from nearcast.broker.following import Follower
from nearcast.broker.recovery import State
from nearcast.broker.weighing import Most
from nearcast.broker.writer import Writer
from nearcast.errors import NearcastError, OpError
from nearcast.log.client import Log
from nearcast.log.connection import explained
from nearcast.log.subjects import ASK_SUBJECTS

__all__ = ["answering"]

PATIENCE = 10.0
"""Seconds that an answer waits for a packet."""
IN_HAND = 1000
"""Requests that wait for a packet. More are turned away."""

_asked = msgspec.json.Decoder(Asked)
Answer = dict[str, Any]


class Answerer(Protocol):
    """What is asked of a broker."""

    name: str
    counts: Counter[str]
    state: State | None
    writer: Writer | None
    follower: Follower | None
    apply_seconds: deque[float]

    async def until(self, sequence: int) -> None:
        """Wait until a packet is applied."""

    def refused(self, sequence: int) -> list[Refusal] | None:
        """The ops of a packet that were refused; None if that is not known."""


async def answering(broker: Answerer, log: Log) -> None:
    """Answer until cancelled."""
    works: set[asyncio.Task[None]] = set()

    async def take(message: Msg) -> None:
        work = asyncio.create_task(_reply(broker, log.client, message, busy=len(works) >= IN_HAND))
        works.add(work)
        work.add_done_callback(works.discard)

    with explained(log.url, ASK_SUBJECTS):
        listening = await log.client.subscribe(ASK_SUBJECTS, cb=take)
        try:
            await asyncio.Event().wait()
        finally:
            for work in works:
                work.cancel()
            if not log.client.is_closed:
                await listening.unsubscribe()


async def _reply(broker: Answerer, client: Client, message: Msg, *, busy: bool) -> None:
    answer = _error("too much is being asked; try again", "Busy") if busy else await _answer(broker, message)
    data = msgspec.json.encode(answer)
    if len(data) > client.max_payload:
        data = msgspec.json.encode(_error("the answer is too large; ask for less", "TooLarge"))
    if message.reply and not client.is_closed:
        await client.publish(message.reply, data)


async def _answer(broker: Answerer, message: Msg) -> Answer:
    question = message.subject.rpartition(".")[2]
    try:
        asked = _asked.decode(message.data or b"{}")
        if question not in _ANSWERS:
            raise OpError(f"nobody answers {question!r}; ask {', '.join(_ANSWERS)}")
        if asked.after is not None:
            async with asyncio.timeout(PATIENCE):
                await broker.until(asked.after)
        return _ANSWERS[question](broker, asked)
    except msgspec.DecodeError as error:
        return _error(f"not a request: {error}", "OpError")
    except TimeoutError:
        return _error(f"packet {asked.after} has not been applied", "Timeout")
    except NearcastError as error:
        return _error(str(error), type(error).__name__)


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
    return {"refused": [asdict(refusal) for refusal in refused]}


def _state(broker: Answerer, asked: Asked) -> Answer:
    state = _known(broker)
    told = state_of(state.kernel, asked, state.sequence)
    return {"notifications": told, "sequence": broker.writer.sequence if broker.writer else 0}


def _query(broker: Answerer, asked: Asked) -> Answer:
    state = _known(broker)
    return {"notifications": found_by(state.kernel, state.scales, asked, state.sequence)}


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


_ANSWERS: dict[str, Callable[[Answerer, Asked], Answer]] = {
    "applied": _applied,
    "client": lambda broker, asked: oneself(_known(broker).kernel, asked),
    "clients": lambda broker, asked: clients_of(_known(broker).kernel, asked),
    "explain": lambda broker, asked: explained_to(_known(broker).kernel, asked),
    "health": _health,
    "layer": lambda broker, asked: layer_of(_known(broker).kernel, asked),
    "layers": lambda broker, _: layers_of(_known(broker).kernel),
    "places": lambda broker, _: places_of(_known(broker).kernel),
    "query": _query,
    "state": _state,
    "weigh": _weigh,
    "statements": lambda broker, asked: dict(statements_of(_known(broker).kernel, asked)),
    "staying": lambda broker, asked: staying(_known(broker).kernel, asked),
}
