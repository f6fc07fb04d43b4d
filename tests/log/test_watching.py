"""Whoever follows a bucket is given all that it holds, whatever the client library says of it."""

from __future__ import annotations

import asyncio

import pytest
from nats.js.kv import KeyValue

from nearcast.errors import LogError
from nearcast.log import watching as watching_module
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.log.watching import Watch, watching
from tests.log.hasty import hasty

NAME = "things"


def said(entry: KeyValue.Entry) -> tuple[str, bytes | None, str | None]:
    return entry.key, entry.value, entry.operation


async def all_of(watch: Watch) -> list[tuple[str, bytes | None, str | None]]:
    return [said(entry) async for entry in watch.held()]


@pytest.mark.parametrize("is_hasty", [False, True])
async def test_all_that_it_holds_and_then_what_changes(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch, is_hasty: bool
) -> None:
    if is_hasty:
        hasty(monkeypatch, NAME)
    async with Log(server.url) as log:
        bucket = await log.bucket(NAME)
        for number in range(300):
            await bucket.put(f"key{number}", b"%d" % number)
        await bucket.delete("key7")
        async with watching(log, NAME) as watch:
            held = await all_of(watch)
            assert held[-1] == ("key7", b"", "DEL")
            assert held[:-1] == [(f"key{number}", b"%d" % number, None) for number in range(300) if number != 7]
            assert await all_of(watch) == []
            await bucket.put("new", b"1")
            assert await all_of(watch) == [("new", b"1", None)]
            await bucket.put("new", b"2")
            async for entry in watch.changes():
                assert said(entry) == ("new", b"2", None)
                break


@pytest.mark.parametrize("is_hasty", [False, True])
async def test_one_that_holds_nothing(server: NatsServer, monkeypatch: pytest.MonkeyPatch, is_hasty: bool) -> None:
    if is_hasty:
        hasty(monkeypatch, NAME)
    async with Log(server.url) as log, watching(log, NAME) as watch:
        assert await all_of(watch) == []


async def test_what_is_removed_before_it_comes_is_not_waited_for(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching_module, "LOOK", 0.1)
    async with Log(server.url) as log:
        bucket = await log.bucket(NAME)
        await bucket.put("stays", b"1")
        async with watching(log, NAME) as watch:
            [entry] = [entry async for entry in watch.held()]
            # As if there had been another when that one was on its way.
            entry.delta = 1
            watch._last = 0
            watch._watcher._updates.put_nowait(entry)
            assert await all_of(watch) == [("stays", b"1", None)]


async def test_one_that_was_deleted_is_not_taken_for_empty(server: NatsServer) -> None:
    async with Log(server.url) as log, watching(log, NAME) as watch:
        await log.client.jetstream().delete_key_value(NAME)
        with pytest.raises(LogError, match="there is no stream 'things'"):
            await all_of(watch)


async def test_it_ends_with_the_connection(server: NatsServer) -> None:
    async with Log(server.url) as log, watching(log, NAME) as watch:
        server.stop()
        async with asyncio.timeout(10):
            assert [entry async for entry in watch.changes()] == []
