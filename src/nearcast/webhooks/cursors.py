"""How far each webhook is: with the NATS server after each request, and on disk a moment later. Whoever writes names
what he wrote before, so of two processes that both think they deliver, one finds out and stops."""

from __future__ import annotations

import msgspec
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.errors import LogError
from nearcast.gateway.hooks import Hook, HookCursor, cursors_of
from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import HOOK_CURSORS

__all__ = ["HookCursors", "Overtaken", "Place"]

_encoder, _cursor = msgspec.json.Encoder(), msgspec.json.Decoder(HookCursor)


class Overtaken(LogError):
    """Another process delivers."""


class Place:
    """The cursor of one webhook, as its only writer has it."""

    def __init__(self, log: Log, bucket: KeyValue, number: str, cursor: HookCursor, revision: int) -> None:
        self._log, self._bucket, self._number, self._revision = log, bucket, number, revision
        self.cursor = cursor

    async def write(self) -> None:
        with explained(self._log.url, HOOK_CURSORS):
            try:
                self._revision = await self._bucket.update(
                    self._number, _encoder.encode(self.cursor), last=self._revision, validate_keys=False
                )
            except stream_errors.KeyWrongLastSequenceError:
                raise Overtaken("another process delivers to webhooks") from None


class HookCursors:
    """The cursors of all webhooks."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._bucket: KeyValue | None = None

    async def place(self, hook: Hook) -> Place:
        """Where a webhook is, to go on from there."""
        with explained(self._log.url, HOOK_CURSORS):
            bucket = await self._open()
            try:
                found = await bucket.get(hook.number)
            except stream_errors.KeyNotFoundError as error:
                revision = (error.entry.revision or 0) if error.entry is not None else 0
            else:
                return Place(self._log, bucket, hook.number, _cursor.decode(found.value or b""), found.revision or 0)
        place = Place(self._log, bucket, hook.number, HookCursor(hook.after), revision)
        # Whoever has a place that was never written could write it after the webhook was removed.
        await place.write()
        return place

    async def numbers(self) -> list[str]:
        """Of webhooks of which something is kept, be it only that it was removed."""
        with explained(self._log.url, HOOK_CURSORS):
            await self._open()
            streams = self._log.client.jetstream(timeout=PATIENCE)
            found = (await streams.stream_info(f"KV_{HOOK_CURSORS}", f"$KV.{HOOK_CURSORS}.>")).state.subjects or {}
        return [subject.rpartition(".")[2] for subject in found]

    async def remove(self, number: str) -> None:
        """Nothing stays of it: the number is never given again. First it is marked as removed, which comes after what
        is still on its way to be written, and of what comes later the server knows that it is too late."""
        with explained(self._log.url, HOOK_CURSORS):
            await (await self._open()).purge(number)
        await self._log.purge_key(HOOK_CURSORS, number)

    async def _open(self) -> KeyValue:
        if self._bucket is None:
            self._bucket = await cursors_of(self._log)
        return self._bucket
