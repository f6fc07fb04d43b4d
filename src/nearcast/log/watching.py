"""A bucket as one who follows it sees it: all that it holds, and then what changes.

The client library says with a None that it has given all, but may say so before it has given anything
(nats-io/nats.py#842). So that is passed over, and the server is asked whether there is more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from nats import errors as client_errors
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.log.client import Log
from nearcast.log.connection import PATIENCE, explained

__all__ = ["Watch", "watching"]

LOOK = 1.0
"""Seconds without an entry after which the server is asked: it may be away, or have removed what was to come."""
_NO_SUCH = 10037
"""Error of a server: there is no message from that sequence on."""


class Watch:
    """The entries of a bucket, those of keys that were deleted among them, in the order of their revisions."""

    def __init__(self, log: Log, name: str, watcher: KeyValue.KeyWatcher) -> None:
        self._log, self._name, self._watcher = log, name, watcher
        self._last = 0
        """The revision that was given last."""

    async def held(self) -> AsyncIterator[KeyValue.Entry]:
        """All that the bucket holds and that was not given yet. It ends when the server has no more."""
        while await self._has_more():
            while (entry := await self._next()) is not None:
                yield entry
                if not entry.delta:  # none is on its way
                    break

    async def changes(self) -> AsyncIterator[KeyValue.Entry]:
        """What comes, until the connection is lost."""
        while not self._log.lost.is_set():
            if (entry := await self._next()) is not None:
                yield entry

    async def _next(self) -> KeyValue.Entry | None:
        """None if there was nothing for a while, or if the client library thinks so."""
        try:
            entry: KeyValue.Entry | None = await self._watcher.updates(LOOK)  # type: ignore[no-untyped-call]
        except client_errors.TimeoutError:
            return None
        if entry is not None:
            self._last = entry.revision or 0
        return entry

    async def _has_more(self) -> bool:
        with explained(self._log.url, self._name):
            jetstream = self._log.client.jetstream(timeout=PATIENCE)
            try:
                await jetstream.get_msg(f"KV_{self._name}", self._last + 1, f"$KV.{self._name}.>", next=True)
            except stream_errors.NotFoundError as error:
                if error.err_code != _NO_SUCH:
                    raise
                return False
        return True


@asynccontextmanager
async def watching(log: Log, name: str, *, meta_only: bool = False) -> AsyncIterator[Watch]:
    """Follow a bucket, which is made if there is none."""
    with explained(log.url, name):
        watcher = await (await log.bucket(name)).watchall(meta_only=meta_only)
    try:
        yield Watch(log, name, watcher)
    finally:
        with suppress(client_errors.Error):  # with the connection it is over anyway
            await watcher.stop()  # type: ignore[no-untyped-call]
