"""A locked server: who may come in, and what each may say and hear. The server is a real one."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from nearcast.errors import LogError
from nearcast.log.client import Log
from nearcast.log.connection import connection
from nearcast.log.server import NatsServer, url_of
from nearcast.log.users import User, password_of, with_credentials

ANN = User("nats/ann", "secret of ann", (), ("nearcast.out.ann",), ("STANDARD",))
BOB = User("nats/bob", "secret of bob", ("hello.>",), ("nearcast.out.bob", "hello.>"), withheld=("hello.no",))


def bare(server: NatsServer) -> str:
    scheme, _, rest = server.url.rpartition("//")
    return f"{scheme}//{rest.rpartition('@')[2]}"


async def come(server: NatsServer, user: User, faults: list[str] | None = None, **more: Any) -> Client:
    async def note(fault: Exception) -> None:
        if faults is not None:
            faults.append(str(fault))

    client = Client()
    try:
        await client.connect(
            bare(server), user=user.name, password=user.password, allow_reconnect=False, max_reconnect_attempts=1,
            error_cb=note, **more,
        )  # fmt: skip
    except nats.errors.Error:
        await client.close()
        raise
    return client


async def test_nobody_comes_in_without_a_name(tmp_path: Path) -> None:
    with NatsServer(tmp_path, users=()) as server:
        async with Log(server.url) as log:
            await log.create()
            assert await log.last_sequence() == 0
        for url in (bare(server), with_credentials(bare(server), "wrong-password"), with_credentials(server.url, "x")):
            with pytest.raises(LogError, match="does not let us in; name a user and a password") as raised:
                async with connection(url):
                    pass
            assert "wrong-password" not in str(raised.value)
            assert "nearcast:" not in str(raised.value)
        assert url_of(server.folder) == server.url, "whoever can read the folder comes in"


async def test_the_password_is_for_its_owner_only_and_stays(tmp_path: Path) -> None:
    with NatsServer(tmp_path, users=()) as server:
        url, made = server.url, password_of(tmp_path)
        assert made
        for name in ("password", "nats-server.conf"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        assert made not in (tmp_path / "nats-server.log").read_text(encoding="utf-8")
        words = Path(f"/proc/{server.pid}/cmdline").read_text(encoding="utf-8")
        assert made not in words
    with NatsServer(tmp_path, users=()) as server:
        assert server.url.partition("@")[0] == url.partition("@")[0]


async def test_each_says_and_hears_its_own(tmp_path: Path) -> None:
    with NatsServer(tmp_path, users=(ANN, BOB)) as server:
        faults: list[str] = []
        async with connection(server.url) as own:
            ann = await come(server, ANN, faults)
            heard = await ann.subscribe("nearcast.out.ann")
            for subject in ("nearcast.out.bob", "nearcast.out.*", ">", "nearcast.ops", "$JS.>", "$SYS.>", "$KV.>"):
                await ann.subscribe(subject)
            await ann.flush()
            await own.publish("nearcast.out.bob", b"not for ann")
            await own.publish("nearcast.out.ann", b"for ann")
            await own.flush()
            assert (await heard.next_msg(timeout=5)).data == b"for ann"
            assert len([fault for fault in faults if "permissions violation" in fault.lower()]) == 7
            listening = await own.subscribe(">")
            await own.flush()
            for subject in ("nearcast.ops", "nearcast.out.ann", "$JS.API.INFO", "hello.x"):
                await ann.publish(subject, b"from ann")
            await ann.flush()
            bob = await come(server, BOB)
            await bob.publish("hello.no", b"withheld")
            await bob.publish("hello.yes", b"allowed")
            await bob.flush()
            assert (await listening.next_msg(timeout=5)).subject == "hello.yes", "and nothing before that"
            await ann.close()
            await bob.close()


async def test_one_who_may_not_any_more_is_disconnected_and_others_stay(tmp_path: Path) -> None:
    with NatsServer(tmp_path, users=(ANN, BOB)) as server:
        gone = asyncio.Event()

        async def closed() -> None:
            gone.set()

        ann, bob = await come(server, ANN, closed_cb=closed), await come(server, BOB)
        server.admit((BOB,))
        await asyncio.wait_for(gone.wait(), 5)
        await bob.flush()
        assert bob.is_connected
        with pytest.raises(nats.errors.Error):
            await come(server, ANN)
        server.admit((ANN, BOB))
        ann = await come(server, ANN)
        await ann.flush()
        server.admit((ANN, User(BOB.name, "another", BOB.publish, BOB.subscribe)))
        end = asyncio.get_running_loop().time() + 5
        while not bob.is_closed:
            assert asyncio.get_running_loop().time() < end, "whose password changed"
            await asyncio.sleep(0.01)
        await ann.close()


async def test_any_name_that_can_be_shown_makes_a_user(tmp_path: Path) -> None:
    odd = ['a"b', "a\\b", "a'b", "a b", "{a}", "#a", "//a", "$A", "include x", "ü", "東京", "a,b", "a:b@c", "%41"]
    users = [User(f"nats/{name}", "p", (), ("x",)) for name in odd]
    with NatsServer(tmp_path, users=users) as server:
        for user in users:
            client = await come(server, user)
            await client.close()


async def test_what_the_server_does_not_take_leaves_it_as_it_was(tmp_path: Path) -> None:
    with NatsServer(tmp_path, users=(ANN,)) as server:
        with pytest.raises(LogError, match="did not take new users"):
            server.admit((ANN, ANN))
        await (await come(server, ANN)).close()
    with NatsServer(tmp_path / "open") as server, pytest.raises(LogError, match="without users, and stays open"):
        server.admit((ANN,))
