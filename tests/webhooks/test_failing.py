"""What fails where events are delivered, and not at the endpoint."""

from __future__ import annotations

from typing import Any

import pytest

from nearcast.bench.endpoints import Endpoint
from nearcast.errors import LogError
from nearcast.gateway.hooks import Hook, Hooks
from nearcast.log.server import NatsServer
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
