"""Tasks that end, all of them: the NATS client's `asyncio.wait_for` may miss a cancellation (python/cpython#86296)."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["end"]

AGAIN = 0.1
"""Seconds before one that goes on is told once more."""


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel until they are done, however they end. Whoever is cancelled while it waits here leaves none behind."""
    cancelled: asyncio.CancelledError | None = None
    while waiting := [task for task in tasks if not task.done()]:
        for task in waiting:
            task.cancel()
        try:
            await asyncio.wait(waiting, timeout=AGAIN)
        except asyncio.CancelledError as error:
            cancelled = error
    for task in tasks:
        if not task.cancelled():
            task.exception()  # so that nobody complains of one that was not asked for
    if cancelled is not None:
        raise cancelled
