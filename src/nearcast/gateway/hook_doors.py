"""What the routes of webhooks do. A client has its own; a secret is shown when it is made, and never again.

What is delivered, and how it goes, is another process' affair (`nearcast.webhooks`), which is asked over NATS.
"""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
from nats import errors as client_errors
from starlette.responses import Response

from nearcast.errors import GatewayError
from nearcast.gateway.call import Call, answer
from nearcast.gateway.delivery import Hub
from nearcast.gateway.hooks import Hook, is_held, new_hook
from nearcast.gateway.letters import Letter, Letters
from nearcast.gateway.seal import BEGINNING
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
    after: str | None = None


class Webhook(msgspec.Struct, omit_defaults=True):
    """A webhook as its client sees it. ``cursor`` is of the last event that is done with."""

    id: str
    url: str
    state: str
    created: str
    cursor: str
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

    cursor: str = ""


class DeadLetters(msgspec.Struct):
    """In order; ``next`` is the cursor to go on after."""

    letters: list[_Dead]
    next: str | None = None


class Tested(msgspec.Struct, omit_defaults=True):
    """What became of a test: ``delivered``, ``refused``, ``away`` or ``gone``, and why."""

    outcome: str
    reason: str = ""


async def _shown(call: Call, hook: Hook, secret: str = "") -> Webhook:
    cursor = await call.gateway.hooks.cursor(hook)
    is_failing = cursor.attempts > 0 and cursor.since >= hook.resumed
    state, reason = _state(call, hook, cursor.reason if is_failing else None)
    return Webhook(
        hook.id,
        hook.url,
        state,
        _text(hook.created),
        call.gateway.hub.seal.now(cursor.sequence),
        hook.batch,
        reason,
        cursor.attempts if is_failing else 0,
        _text(cursor.since) if is_failing else "",
        await (await _letters(call)).count(hook.number),
        secret,
    )


def _state(call: Call, hook: Hook, trouble: str | None) -> tuple[str, str]:
    """How a webhook is, and why. What was meant comes before what happened."""
    if hook.paused is not None:
        return "paused", hook.paused
    if is_held(call.client, hook, call.gateway.identities.roles(hook.by)):
        return "held", f"made by {hook.by}, whose tokens do not allow it any more; add it again to take it over"
    return ("active", "") if trouble is None else ("failing", trouble)


async def _letters(call: Call) -> Letters:
    letters = Letters(call.gateway.link.log)
    await letters.create()
    return letters


def _text(moment: float) -> str:
    return time_text(round(moment * MICROS))


# ---- webhooks ------------------------------------------------------------------------------------------


async def put_webhook(call: Call) -> Response:
    """Its secret is in the answer if it is new."""
    client, gateway = call.client, call.gateway
    gateway.count(call.who, 1)
    wanted: Target = await call.decoded(Target)
    if wanted.batch is not None and not 1 <= wanted.batch <= BATCH:
        raise GatewayError(422, f"a request holds 1 to {BATCH} events, not {wanted.batch}", "batch")
    find = partial(gateway.lookups.addresses, call.who.client)
    await check_target(wanted.url, find, private=gateway.settings.private)
    seal = gateway.hub.seal
    after = await _end(gateway.hub) if wanted.after is None else seal.known(wanted.after)
    id_ = call.named("id")
    hook, is_new = await gateway.hooks.put(client, id_, new_hook(id_, wanted.url, after, call.who.client, wanted.batch))
    return answer(await _shown(call, hook, hook.secrets[0].value if is_new else ""))


async def _end(hub: Hub) -> int:
    """What was told so far, also if the disk has it only now, or this gateway has not heard it yet."""
    return max(await hub.on_disk(), (await hub.outbox.extent()).last)


async def get_webhook(call: Call) -> Response:
    return answer(await _shown(call, await call.gateway.hooks.find(call.client, call.named("id"))))


async def get_webhooks(call: Call) -> Response:
    found = await call.gateway.hooks.of(call.client)
    call.gateway.count(call.who, len(found))
    return answer(Webhooks(await asyncio.gather(*(_shown(call, hook) for _, hook in sorted(found.items())))))


async def delete_webhook(call: Call) -> Response:
    hook = await call.gateway.hooks.remove(call.client, call.named("id"))
    return answer(Webhook(hook.id, hook.url, "removed", _text(hook.created), call.gateway.hub.seal.now(hook.after)))


async def pause_webhook(call: Call) -> Response:
    hook = await call.gateway.hooks.pause(call.client, call.named("id"), f"paused by {call.who.client}")
    return answer(await _shown(call, hook))


async def resume_webhook(call: Call) -> Response:
    return answer(await _shown(call, await call.gateway.hooks.resume(call.client, call.named("id"))))


async def rotate_secret(call: Call) -> Response:
    """The new secret is in the answer; the old one is used beside it for a day."""
    call.gateway.count(call.who, 1)
    hook = await call.gateway.hooks.rotate(call.client, call.named("id"))
    return answer(await _shown(call, hook, hook.secrets[0].value))


# ---- dead letters --------------------------------------------------------------------------------------


async def get_dead(call: Call) -> Response:
    hook = await call.gateway.hooks.find(call.client, call.named("id"))
    seal, most = call.gateway.hub.seal, call.number("limit", LISTED, 1, LISTED)
    after = seal.known(call.query.get("after", BEGINNING))
    async with call.gateway.reading_letters:
        found = await (await _letters(call)).read(hook.number, after, most)
    letters = [_Dead(**msgspec.structs.asdict(letter), cursor=seal.event(place)) for place, letter in found.letters]
    return answer(DeadLetters(letters, None if found.is_last else letters[-1].cursor))


async def retry_dead(call: Call) -> Response:
    """All that are there; how it went is seen by whether they are still there."""
    client, gateway = call.client, call.gateway
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
    call.gateway.count(call.who, 1)
    hook = await call.gateway.hooks.find(call.client, call.named("id"))
    said = msgspec.json.decode(await _asked(call, "test", msgspec.json.encode(hook.number)), type=_Answer)
    if said.error:
        raise GatewayError(said.status, said.error, retry_after=1)
    return answer(Tested(said.outcome, said.reason))


async def get_hook_metrics(call: Call) -> Response:
    """Of the process that delivers, whichever gateway is asked."""
    return Response(await _asked(call, "metrics", b""), media_type="text/plain; version=1.0.0; charset=utf-8")


async def _asked(call: Call, question: str, payload: bytes) -> bytes:
    try:
        request = call.gateway.link.log.client.request(hook_subject(question), payload, timeout=PATIENCE)
        return (await request).data
    except (client_errors.Error, OSError):
        raise GatewayError(503, "no process is there that delivers to webhooks; try again", retry_after=2) from None
