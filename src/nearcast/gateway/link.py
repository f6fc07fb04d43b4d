"""A connection to NATS that is opened again whenever it is lost. While it is away, whoever needs it is told so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from nearcast.errors import GatewayError, LogError
from nearcast.log.client import Log
from nearcast.log.ending import end

__all__ = ["Link"]

SOON, LATE = 0.1, 2.0
"""Seconds to wait before the connection is tried again: at first, and at most."""
logger = logging.getLogger(__name__)


class Link:
    """``async with Link(url) as link`` returns when the log is open for the first time."""

    def __init__(self, url: str, opened: Callable[[Log], Awaitable[None]] | None = None) -> None:
        """``opened`` is awaited with each new connection before it is used."""
        self.url = url
        self.lost: Callable[[], None] | None = None
        """Called when a connection has gone."""
        self._opened = opened
        self._log: Log | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(ready), name="nearcast link")
        try:
            await ready
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            await end(self._task)
            self._task = None

    @property
    def log(self) -> Log:
        """The log, if it is there; else 503."""
        if self._log is None:
            raise GatewayError(503, "the log is away; try again", retry_after=1)
        return self._log

    @property
    def is_open(self) -> bool:
        return self._log is not None

    async def _run(self, ready: asyncio.Future[None]) -> None:
        wait = SOON
        while True:
            try:
                async with Log(self.url) as log:
                    await log.create(live=True)
                    if self._opened is not None:
                        await self._opened(log)
                    self._log, wait = log, SOON
                    if not ready.done():
                        ready.set_result(None)
                    await log.lost.wait()
            except LogError as error:
                if not ready.done():
                    ready.set_exception(error)
                    return
                logger.warning("%s", error)
            finally:
                was_open, self._log = self._log is not None, None
                if was_open and self.lost is not None:
                    self.lost()
            await asyncio.sleep(wait)
            wait = min(LATE, wait * 2)
