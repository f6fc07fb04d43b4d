"""What fails where events are delivered, and not at the endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from nearcast.bench.endpoints import Endpoint
from nearcast.errors import LogError
from nearcast.gateway.hooks import Hook, Hooks
from nearcast.gateway.letters import Letters
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.webhooks.cursors import HookCursors, Overtaken
from nearcast.webhooks.worker import Worker
from tests.webhooks.running import answers, came, ids, scene, serving, status, until_true


async def test_a_pause_that_cannot_be_written_is_none(server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the webhook would wait for ever, and be shown as active."""
    pause, faults = Hooks.pause, [LogError("no answer")]

    async def failing_once(self: Hooks, *said: Any) -> Hook:
        if faults:
            raise faults.pop()
        return await pause(self, *said)

    monkeypatch.setattr(Hooks, "pause", failing_once)
    async with scene(server) as at, Endpoint(answers(status(410), status(410))) as endpoint, serving(server.url):
        await at.add(endpoint.url)
        told = await at.tell(2)

        async def paused() -> bool:
            return bool((await at.see())["state"] == "paused")

        await until_true(paused)
        assert faults == []
        await at.do("resume")
        await came(endpoint, 4)
        assert ids(endpoint) == [told[0]] * 3 + told[1:]


Run = Callable[[Worker], Awaitable[None]]


def deaf(run: Run) -> Run:
    """Misses that it is cancelled, as the NATS client may, once."""

    async def running(self: Worker) -> None:
        inside = asyncio.ensure_future(run(self))
        try:
            await asyncio.shield(inside)
        except asyncio.CancelledError:
            await inside

    return running


def late(run: Run) -> Run:
    """Was about to write what is gone."""

    async def running(self: Worker) -> None:
        try:
            await run(self)
        except asyncio.CancelledError:
            raise Overtaken("another process delivers to webhooks") from None

    return running


@pytest.mark.parametrize("kind", [deaf, late])
async def test_one_that_is_removed_ends_and_no_other_does(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: Callable[[Run], Run]
) -> None:
    caplog.set_level("INFO", "nearcast.webhooks.service")
    async with scene(server) as at, Endpoint() as endpoint, Endpoint() as other, Log(server.url) as log:
        await at.add(other.url, "other")
        async with serving(server.url):
            told = await at.tell(1)
            await came(other, 1)
            [number] = await HookCursors(log).numbers()
            monkeypatch.setattr(Worker, "run", kind(Worker.run))
            await at.add(endpoint.url)
            told += await at.tell(1)
            await came(endpoint, 1)
            (await at.http.delete("/v1/webhooks/hook")).raise_for_status()

            async def is_removed() -> bool:
                return await HookCursors(log).numbers() == [number]

            await until_true(is_removed)
            told += await at.tell(3)
            await came(other, 5)
            await asyncio.sleep(0.3)
            assert await is_removed()
        assert await Letters(log).counts() == {}
        assert (ids(endpoint), ids(other)) == (told[1:2], told)
    assert [record.args for record in caplog.records if "delivers" in record.message] == [("here",)]
