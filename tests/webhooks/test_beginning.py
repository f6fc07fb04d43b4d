"""Whoever begins to deliver knows all webhooks before it takes anything for what is left of one that was removed."""

from __future__ import annotations

import msgspec
import pytest

from nearcast.bench.endpoints import Asked, Endpoint
from nearcast.gateway.hooks import Hook, HookCursor, cursors_of
from nearcast.gateway.letters import Letter, Letters
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.log.subjects import HOOK_CURSORS, HOOKS
from nearcast.webhooks.cursors import HookCursors, Overtaken
from tests.log.hasty import hasty
from tests.webhooks.running import came, event_of, ids, scene, serving, status, until, until_true


def hook(number: str) -> Hook:
    return Hook("gone", number, "", 5, [], 0.0)


async def keep(log: Log, number: str) -> None:
    """What a webhook leaves that was removed while nobody was there."""
    place = await HookCursors(log).place(hook(number))
    place.cursor = HookCursor(7)
    await place.write()
    await Letters(log).add(number, Letter("k", "", 1, "", "", msgspec.Raw(b"{}")))


async def messages(log: Log) -> int:
    """In the bucket of cursors, marks of what was deleted among them."""
    return (await log.client.jetstream().stream_info(f"KV_{HOOK_CURSORS}")).state.messages


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


@pytest.mark.parametrize("is_written", [False, True])
async def test_a_cursor_that_was_removed_does_not_come_back(server: NatsServer, is_written: bool) -> None:
    """Whoever had it before is too late, also one who never wrote. Not even a mark stays that it was there."""
    async with Log(server.url) as log:
        cursors = HookCursors(log)
        other, place = await cursors.place(hook("other")), await cursors.place(hook("gone"))
        assert place.cursor == HookCursor(5)
        if is_written:
            place.cursor = HookCursor(7)
            await place.write()
        await cursors.remove("gone")
        assert await messages(log) == 1
        with pytest.raises(Overtaken):
            await place.write()
        await other.write()
        assert (await messages(log), await cursors.numbers()) == (1, ["other"])
        await cursors.remove("never")
        assert await messages(log) == 1


async def test_of_webhooks_that_are_removed_nothing_stays(server: NatsServer) -> None:
    """Neither a mark of one that was removed by a process that did not come to the end of it."""
    async with scene(server) as at, Endpoint() as endpoint, Log(server.url) as log:
        await (await cursors_of(log)).purge("half-removed")
        async with serving(server.url):
            for count in range(1, 4):
                await at.add(endpoint.url)
                await at.tell(1)
                await came(endpoint, count)
                (await at.http.delete("/v1/webhooks/hook")).raise_for_status()

            async def is_empty() -> bool:
                return await messages(log) == 0

            await until_true(is_empty)
