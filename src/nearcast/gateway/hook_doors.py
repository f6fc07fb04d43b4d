"""What the routes of webhooks do. A client has its own; a secret is shown when it is made, and never again.

What is delivered, and how it goes, is another process' affair (`nearcast.webhooks`), which is asked over NATS.
"""

from __future__ import annotations

import asyncio

import msgspec
from nats import errors as client_errors
from starlette.responses import Response

from nearcast.errors import GatewayError
from nearcast.gateway.call import Call, answer
from nearcast.gateway.grants import Action
from nearcast.gateway.hooks import Hook, new_hook
from nearcast.gateway.letters import Letter, Letters
from nearcast.gateway.targets import check_target
from nearcast.log.subjects import hook_subject
from nearcast.model.moment import MICROS, time_text

__all__ = [
    "DeadLetters",
    "Target",
    "Tested",
    "Webhook",
    "Webhooks",
    "delete_webhook",
    "get_dead",
    "get_hook_metrics",
    "get_webhook",
    "get_webhooks",
    "pause_webhook",
    "put_webhook",
    "resume_webhook",
    "retry_dead",
    "rotate_secret",
    "try_webhook",
]

BATCH = 100
"""Events of one request, at the most."""
LISTED = 100
"""Dead letters of one answer, at the most."""
PATIENCE = 20.0
"""Seconds for an endpoint to be tried."""


class Target(msgspec.Struct, forbid_unknown_fields=True):
    """Where events are sent; at most how many in a request, as a list (unless told one, without a list); and after
    which of them it begins (unless told with those from now on)."""

    url: str
    batch: int | None = None
    after: int | None = None


class Webhook(msgspec.Struct, omit_defaults=True):
    """A webhook as its client sees it. ``sequence`` is of the last event that is done with."""

    id: str
    url: str
    state: str
    created: str
    sequence: int
    batch: int | None = None
    reason: str = ""
    attempts: int = 0
    since: str = ""
    dead: int = 0
    secret: str = ""


class Webhooks(msgspec.Struct):
    """All of a client's."""

    webhooks: list[Webhook]


class _Dead(Letter):
    """A dead letter, and its place among them."""

    sequence: int = 0


class DeadLetters(msgspec.Struct):
    """In order; ``next`` is the sequence to go on after."""

    letters: list[_Dead]
    next: int | None = None


class Tested(msgspec.Struct, omit_defaults=True):
    """What became of a test: ``delivered``, ``refused``, ``away`` or ``gone``, and why."""

    outcome: str
    reason: str = ""


def _client(call: Call) -> str:
    """Whose webhooks they are."""
    call.who.must(Action.HOOK)
    return call.client


async def _shown(call: Call, hook: Hook, secret: str = "") -> Webhook:
    cursor = await call.gateway.hooks.cursor(hook)
    is_failing = cursor.attempts > 0 and cursor.since >= hook.resumed
    return Webhook(
        hook.id,
        hook.url,
        "paused" if hook.paused is not None else "failing" if is_failing else "active",
        _text(hook.created),
        cursor.sequence,
        hook.batch,
        hook.paused if hook.paused is not None else cursor.reason if is_failing else "",
        cursor.attempts if is_failing else 0,
        _text(cursor.since) if is_failing else "",
        await (await _letters(call)).count(hook.number),
        secret,
    )


async def _letters(call: Call) -> Letters:
    letters = Letters(call.gateway.link.log)
    await letters.create()
    return letters


def _text(moment: float) -> str:
    return time_text(round(moment * MICROS))


# ---- webhooks ------------------------------------------------------------------------------------------


async def put_webhook(call: Call) -> Response:
    """Its secret is in the answer if it is new."""
    client, gateway = _client(call), call.gateway
    gateway.count(call.who, 1)
    wanted: Target = await call.decoded(Target)
    if wanted.batch is not None and not 1 <= wanted.batch <= BATCH:
        raise GatewayError(422, f"a request holds 1 to {BATCH} events, not {wanted.batch}", "batch")
    await check_target(wanted.url, private=gateway.settings.private)
    last = (await gateway.hub.outbox.extent()).last
    after = last if wanted.after is None else wanted.after
    if not 0 <= after <= last:
        raise GatewayError(422, f"events go from 0 to {last}, so none comes after {after}", "after")
    id_ = call.named("id")
    hook, is_new = await gateway.hooks.put(client, id_, new_hook(id_, wanted.url, after, call.who.client, wanted.batch))
    return answer(await _shown(call, hook, hook.secrets[0].value if is_new else ""))


async def get_webhook(call: Call) -> Response:
    return answer(await _shown(call, await call.gateway.hooks.find(_client(call), call.named("id"))))


async def get_webhooks(call: Call) -> Response:
    found = await call.gateway.hooks.of(_client(call))
    return answer(Webhooks(await asyncio.gather(*(_shown(call, hook) for _, hook in sorted(found.items())))))


async def delete_webhook(call: Call) -> Response:
    hook = await call.gateway.hooks.remove(_client(call), call.named("id"))
    return answer(Webhook(hook.id, hook.url, "removed", _text(hook.created), hook.after))


async def pause_webhook(call: Call) -> Response:
    hook = await call.gateway.hooks.pause(_client(call), call.named("id"), f"paused by {call.who.client}")
    return answer(await _shown(call, hook))


async def resume_webhook(call: Call) -> Response:
    return answer(await _shown(call, await call.gateway.hooks.resume(_client(call), call.named("id"))))


async def rotate_secret(call: Call) -> Response:
    """The new secret is in the answer; the old one is used beside it for a day."""
    call.gateway.count(call.who, 1)
    hook = await call.gateway.hooks.rotate(_client(call), call.named("id"))
    return answer(await _shown(call, hook, hook.secrets[0].value))


# ---- dead letters --------------------------------------------------------------------------------------


async def get_dead(call: Call) -> Response:
    hook = await call.gateway.hooks.find(_client(call), call.named("id"))
    after, most = call.number("after", 0), call.number("limit", LISTED, 1, LISTED)
    found = await (await _letters(call)).read(hook.number, after, most)
    letters = [_Dead(**msgspec.structs.asdict(letter), sequence=sequence) for sequence, letter in found.letters]
    return answer(DeadLetters(letters, None if found.is_last else letters[-1].sequence))


async def retry_dead(call: Call) -> Response:
    """All that are there; how it went is seen by whether they are still there."""
    client, gateway = _client(call), call.gateway
    gateway.count(call.who, 1)
    hook = await gateway.hooks.find(client, call.named("id"))
    letters = await _letters(call)
    hook = await gateway.hooks.retry(client, hook.id, await letters.last(hook.number))
    return answer(await _shown(call, hook), 202)


# ---- the process that delivers -------------------------------------------------------------------------


class _Answer(msgspec.Struct):
    outcome: str = ""
    reason: str = ""
    error: str = ""
    status: int = 0


async def try_webhook(call: Call) -> Response:
    """Send something to try the endpoint with, once."""
    client = _client(call)
    call.gateway.count(call.who, 1)
    hook = await call.gateway.hooks.find(client, call.named("id"))
    said = msgspec.json.decode(await _asked(call, "test", msgspec.json.encode(hook.number)), type=_Answer)
    if said.error:
        raise GatewayError(said.status, said.error, retry_after=1)
    return answer(Tested(said.outcome, said.reason))


async def get_hook_metrics(call: Call) -> Response:
    """Of the process that delivers, whichever gateway is asked."""
    call.who.must(Action.MEASURE)
    return Response(await _asked(call, "metrics", b""), media_type="text/plain; version=1.0.0; charset=utf-8")


async def _asked(call: Call, question: str, payload: bytes) -> bytes:
    try:
        request = call.gateway.link.log.client.request(hook_subject(question), payload, timeout=PATIENCE)
        return (await request).data
    except (client_errors.Error, OSError):
        raise GatewayError(503, "no process is there that delivers to webhooks; try again", retry_after=2) from None
