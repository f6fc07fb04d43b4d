"""A client library that says that it has given all of a bucket before it gives anything, as it may."""

from __future__ import annotations

from typing import Any

import pytest
from nats.js.kv import KeyValue


def hasty(monkeypatch: pytest.MonkeyPatch, bucket: str) -> None:
    """From now on it is, of one bucket."""
    watchall = KeyValue.watchall

    async def saying_so_first(self: KeyValue, **options: Any) -> KeyValue.KeyWatcher:
        watcher = await watchall(self, **options)
        if self._name == bucket:
            watcher._updates._queue.appendleft(None)  # type: ignore[attr-defined]
        return watcher

    monkeypatch.setattr(KeyValue, "watchall", saying_so_first)
