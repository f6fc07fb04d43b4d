"""Whoever begins to deliver knows all webhooks before it takes anything for what is left of one that was removed."""

from __future__ import annotations

import msgspec
import pytest

from nearcast.bench.endpoints import Asked, Endpoint
from nearcast.gateway.hooks import Hook, HookCursor
from nearcast.gateway.letters import Letter, Letters
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.log.subjects import HOOKS
from nearcast.webhooks.cursors import HookCursors
from tests.log.hasty import hasty
from tests.webhooks.running import event_of, ids, scene, serving, status, until, until_true


async def keep(log: Log, number: str) -> None:
    """What a webhook leaves that was removed while nobody was there."""
    place = await HookCursors(log).place(Hook("gone", number, "", 0, [], 0.0))
    place.cursor = HookCursor(7)
    await place.write()
    await Letters(log).add(number, Letter("k", "", 1, "", "", msgspec.Raw(b"{}")))


async def kept(log: Log) -> set[str]:
    return {*await HookCursors(log).numbers(), *await Letters(log).counts()}


@pytest.mark.parametrize("is_hasty", [False, True])
async def test_only_what_is_left_of_removed_webhooks_goes(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_hasty: bool
) -> None:
    """Also if the client library says too soon that there are no more webhooks."""
    bad = "id-4"

    async def answer(asked: Asked) -> bytes:
        return status(422 if event_of(asked)["id"] == bad else 200)

    async with scene(server) as at, Endpoint(answer) as endpoint, Log(server.url) as log:
        await at.add(endpoint.url)
        async with serving(server.url):
            told = await at.tell(10)
            await until(lambda: ids(endpoint)[-1:] == told[-1:])
        [number] = await kept(log)
        [letter] = await at.dead()
        assert letter["event"]["id"] == bad
        await keep(log, "gone")
        endpoint.asked.clear()
        if is_hasty:
            hasty(monkeypatch, HOOKS)
        caplog.set_level("INFO", "nearcast.webhooks.service")
        async with serving(server.url):

            async def is_clean() -> bool:
                return await kept(log) == {number}

            await until_true(is_clean)
            later = await at.tell(1)
            await until(lambda: ids(endpoint)[-1:] == later)
        assert ids(endpoint) == later, "nothing comes again"
        assert await at.dead() == [letter]
        assert [record.args for record in caplog.records if "was removed" in record.message] == [("gone",)]
