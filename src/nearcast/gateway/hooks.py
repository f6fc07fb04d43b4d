"""Who wants events sent where: the webhooks of each client, in a bucket that gateways write and the process follows.

A client's webhooks are one record, which is changed by compare-and-set, so that none of two changes is lost and nobody
has more than he may. Secrets are in it, since signing needs them; they are in no answer, log or metric.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.errors import GatewayError
from nearcast.gateway.grants import GRANTS, Action, Role
from nearcast.gateway.link import Link
from nearcast.gateway.outbox import key_of, lazy_bucket
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import HOOK_CURSORS, HOOKS

__all__ = [
    "MOST",
    "Hook",
    "HookCursor",
    "Hooks",
    "Record",
    "Secret",
    "cursors_of",
    "hooks_of",
    "is_held",
    "new_hook",
    "new_secret",
    "read_record",
]

T = TypeVar("T")
MOST = 20
"""Webhooks of one client."""
ROTATING = 24 * 3600.0
"""Seconds for which a secret is still used after another has taken its place."""
BYTES = 32
"""Of a secret; the specification wants 24 to 64."""
TRIES = 20
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_encoder = msgspec.json.Encoder()


class Secret(msgspec.Struct, omit_defaults=True):
    """What events are signed with. It does not show itself."""

    value: str
    until: float | None = None
    """When it ends, in seconds since 1970; None for the one that is in use."""

    def __repr__(self) -> str:
        return "Secret(…)"


class Hook(msgspec.Struct, omit_defaults=True):
    """A webhook."""

    id: str
    """What its client calls it."""
    number: str
    """Never given twice, so that what is kept of one that was removed is not taken for that of another."""
    url: str
    after: int
    """Where in the stream of notifications it began."""
    secrets: list[Secret]
    """The one in use comes first."""
    created: float
    by: str = ""
    """Whose token made it, or last changed it."""
    batch: int | None = None
    """How many events a request holds at the most; None is a request an event."""
    paused: str | None = None
    """Why; None if it is not."""
    resumed: float = 0.0
    """When it was last told to go on: what went wrong before does not count any more."""
    retry: int = 0
    """Dead letters up to this one are to be tried again."""


class Record(msgspec.Struct):
    """All webhooks of a client."""

    client: str
    hooks: dict[str, Hook]


class HookCursor(msgspec.Struct, omit_defaults=True):
    """How far a webhook is. Only the process that delivers writes it."""

    sequence: int
    """All up to here was delivered, or is a dead letter."""
    until: int = 0
    """The end of the batch that is on its way, so that it comes again as it was."""
    attempts: int = 0
    """At what comes next, which all failed."""
    refusals: int = 0
    """Of these, those that said that the event is not wanted."""
    since: float = 0.0
    """When the first of them was."""
    reason: str = ""
    """Why the last of them failed."""
    retried: int = 0
    """The last such wish that was done with."""


_record, _cursor = msgspec.json.Decoder(Record), msgspec.json.Decoder(HookCursor)


def read_record(payload: bytes) -> Record:
    return _record.decode(payload)


async def hooks_of(log: Log) -> KeyValue:
    """The bucket of webhooks, which is made if there is none."""
    return await log.bucket(HOOKS)


async def cursors_of(log: Log) -> KeyValue:
    """The bucket of their cursors, which do not wait for the disk: there is one an event."""
    jetstream = log.client.jetstream(timeout=PATIENCE)
    try:
        return await jetstream.key_value(HOOK_CURSORS)
    except stream_errors.BucketNotFoundError:
        await jetstream.add_stream(lazy_bucket(HOOK_CURSORS))
        return await jetstream.key_value(HOOK_CURSORS)


class Hooks:
    """The webhooks of all clients."""

    def __init__(self, link: Link, most: int = MOST) -> None:
        self._link, self._most = link, most

    async def of(self, client: str) -> dict[str, Hook]:
        log = self._link.log
        with explained(log.url, HOOKS):
            return (await _read(await hooks_of(log), client))[0]

    async def find(self, client: str, id_: str) -> Hook:
        return _found(await self.of(client), id_)

    async def cursor(self, hook: Hook) -> HookCursor:
        log = self._link.log
        with explained(log.url, HOOK_CURSORS):
            try:
                found = await (await cursors_of(log)).get(hook.number)
            except stream_errors.KeyNotFoundError:
                return HookCursor(hook.after)
        return _cursor.decode(found.value or b"")

    # ---- changes ---------------------------------------------------------------------------------

    async def put(self, client: str, id_: str, wanted: Hook) -> tuple[Hook, bool]:
        """Make a webhook, or change where it goes; whether it is new. One that is there keeps its secret and place, and
        is then by whoever changed it."""
        if not _ID.fullmatch(id_):
            raise GatewayError(422, "a webhook's id has 1 to 64 letters, digits, - and _", "id")

        def change(known: dict[str, Hook]) -> tuple[Hook, bool]:
            there = known.get(id_)
            if there is None and len(known) >= self._most:
                raise GatewayError(409, f"a client has at most {self._most} webhooks; remove one first")
            if there is not None:
                made = msgspec.structs.replace(there, url=wanted.url, batch=wanted.batch, by=wanted.by)
            else:
                made = wanted
            known[id_] = made
            return made, there is None

        return await self._change(client, change)

    async def pause(self, client: str, id_: str, reason: str, number: str | None = None) -> Hook:
        """Stop delivery; what is told meanwhile waits in the stream. With a number only if it is still that one."""

        def change(known: dict[str, Hook]) -> Hook:
            hook = _found(known, id_)
            if number in (None, hook.number):
                hook.paused = reason
            return hook

        return await self._change(client, change)

    async def resume(self, client: str, id_: str) -> Hook:
        def change(known: dict[str, Hook]) -> Hook:
            hook = _found(known, id_)
            hook.paused, hook.resumed = None, time.time()
            return hook

        return await self._change(client, change)

    async def rotate(self, client: str, id_: str) -> Hook:
        """A new secret. The one before it is used beside it for a day."""
        new = new_secret()

        def change(known: dict[str, Hook]) -> Hook:
            hook = _found(known, id_)
            hook.secrets = [new, Secret(hook.secrets[0].value, time.time() + ROTATING)]
            return hook

        return await self._change(client, change)

    async def retry(self, client: str, id_: str, last: int) -> Hook:
        """Have dead letters tried again, up to the last one that is there. Each wish is a new one, also of the same."""

        def change(known: dict[str, Hook]) -> Hook:
            hook = _found(known, id_)
            hook.retry = max(hook.retry + 1, last)
            return hook

        return await self._change(client, change)

    async def remove(self, client: str, id_: str) -> Hook:
        def change(known: dict[str, Hook]) -> Hook:
            hook = _found(known, id_)
            del known[id_]
            return hook

        return await self._change(client, change)

    async def forget(self, client: str) -> bool:
        """All of a client's; whether there were any."""
        if not await self.of(client):
            return False
        await self._change(client, lambda known: known.clear())
        return True

    async def _change(self, client: str, by: Callable[[dict[str, Hook]], T]) -> T:
        log = self._link.log
        with explained(log.url, HOOKS):
            bucket = await hooks_of(log)
            for _ in range(TRIES):
                known, revision = await _read(bucket, client)
                result = by(known)
                try:
                    await bucket.update(key_of(client), _encoder.encode(Record(client, known)), last=revision)
                except stream_errors.KeyWrongLastSequenceError:
                    await asyncio.sleep(0.01)
                    continue
                return result
        raise GatewayError(409, "others change the same webhooks; try again", retry_after=1)


async def _read(bucket: KeyValue, client: str) -> tuple[dict[str, Hook], int]:
    try:
        found = await bucket.get(key_of(client))
    except stream_errors.KeyNotFoundError as error:
        # Of one that was deleted the error says what revision that was.
        return {}, (error.entry.revision or 0) if error.entry is not None else 0
    return read_record(found.value or b"").hooks, found.revision or 0


def _found(known: dict[str, Hook], id_: str) -> Hook:
    if id_ not in known:
        raise GatewayError(404, f"there is no webhook {id_!r:.80}", "id")
    return known[id_]


def is_held(client: str, hook: Hook, roles: Iterable[Role]) -> bool:
    """Whether nothing is sent, as none of the roles that whoever made a client's webhook has now allows it."""
    wanted = {Action.HOOK} if hook.by == client else {Action.HOOK, Action.ACT_FOR}
    return not any(wanted <= GRANTS[role] for role in roles)


def new_hook(id_: str, url: str, after: int, by: str, batch: int | None) -> Hook:
    return Hook(id_, secrets.token_hex(8), url, after, [new_secret()], time.time(), by, batch)


def new_secret() -> Secret:
    return Secret("whsec_" + b64encode(secrets.token_bytes(BYTES)).decode())
