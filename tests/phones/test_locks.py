"""All of `nearcast serve`, locked: who may come in changes while it runs, doors speak TLS, nobody sees a secret."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import nats
import pytest
import trustme

from nearcast.errors import LogError
from nearcast.gateway.grants import Role
from nearcast.gateway.identity import revoke
from nearcast.log.connection import connection
from nearcast.log.users import password_of
from tests.gateway.test_serve import children
from tests.phones.running import Handset, location, native, taken, until
from tests.phones.serving import served


async def let_in(port: int, user: str, token: str, tls: ssl.SSLContext | None = None) -> bool:
    """One who may not come in is told so, or just put out."""
    with Handset(user, token, port, tls=tls) as handset:
        await until("an answer", lambda: not handset.codes.empty() or not handset.lost.empty())
        return not handset.codes.empty() and handset.codes.get() == 0


async def test_tokens_come_and_go_while_it_runs_and_nobody_sees_a_secret(tmp_path: Path) -> None:
    with served(tmp_path, "--nats-port", "0", "--brokers", "1") as system:
        url = system.at["nats"]
        ann, bob = system.token("ann"), system.token("bob")
        first, second = (system.token(name, role=Role.OPERATOR) for name in ("first", "second"))
        brief = system.token("brief", seconds=12)
        began = time.monotonic()
        assert await let_in(system.mqtt, "ann", ann), "a token is known at once"
        assert await let_in(system.mqtt, "brief", brief)
        assert not await let_in(system.mqtt, "ann", "a-wrong-token")
        listener, stays = await native(url, "nats/first", first), await native(url, "nats/second", second)
        with Handset("ann", ann, system.mqtt) as phone, Handset("bob", bob, system.mqtt) as other:
            assert await phone.answer() == await other.answer() == 0
            await phone.sent(location(1, 2))
            for client in ("ann", "first"):
                revoke(system.folder / "tokens.json", client=client)
            revoked = time.monotonic()
            await taken(phone.lost)
            await until("disconnected", lambda: not listener.is_connected)
            assert time.monotonic() < revoked + 15
            assert not await let_in(system.mqtt, "ann", ann)
            with pytest.raises(nats.errors.Error):
                await native(url, "nats/first", first)
            await other.sent(location(1, 2))
            await stays.flush()
            assert other.lost.empty()
            assert stays.is_connected
        await stays.close()
        await asyncio.sleep(max(0.0, began + 12.5 - time.monotonic()))
        assert not await let_in(system.mqtt, "brief", brief)
        with pytest.raises(LogError, match="does not let us in"):
            async with connection(url):
                pass
        secrets = (password_of(system.folder / "nats") or "", ann, "a-wrong-token", system.at["token"])
        assert all(secrets)
        for pid in (system.process.pid, *children(system.process).values()):
            words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
            assert not [secret for secret in secrets if secret in words]
        os.kill(children(system.process)["nats-server"], 9)
        await until("it is back", lambda: let_in(system.mqtt, "bob", bob))
    said = (tmp_path / "errors").read_text(encoding="utf-8") + (system.folder / "nats" / "nats-server.log").read_text()
    assert "it starts again" in said
    assert not [secret for secret in secrets if secret in said]
    for name in ("nats/password", "nats/nats-server.conf", "tokens.json"):
        assert (system.folder / name).stat().st_mode & 0o077 == 0


async def test_every_door_speaks_tls(tmp_path: Path) -> None:
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1", "nearcast.example")
    made.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    made.private_key_pem.write_to_path(tmp_path / "key.pem")
    trusts = ssl.create_default_context()
    authority.configure_trust(trusts)
    options = ["--nats-port", "0", "--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")]
    with served(tmp_path, "--brokers", "1", *options) as system:
        assert [system.at[name].partition(":")[0] for name in ("url", "mqtt", "nats")] == ["https", "mqtts", "tls"]
        ann, boss = system.token("ann"), system.token("boss", Role.OPERATOR)
        await until("ann comes in", lambda: let_in(system.mqtt, "ann", ann, trusts))
        async with httpx.AsyncClient(verify=trusts, headers={"Authorization": f"Bearer {ann}"}) as web:
            answer = await web.post(f"{system.at['url']}/v1/positions", json={"lon": 1, "lat": 2})
            assert answer.status_code == 202
        listener = await native(system.at["nats"], "nats/boss", boss, tls=trusts)
        await listener.flush()
        await listener.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", system.mqtt, ssl=ssl.create_default_context())
        with pytest.raises((httpx.HTTPError, OSError)):
            await httpx.AsyncClient().get(f"http{system.at['url'].removeprefix('https')}/v1/health")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "nearcast.cli", "serve", *options]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)


def test_what_cannot_be_run_is_said(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("nonsense", encoding="utf-8")
    cases = {
        ("--mqtt", "0", "--nats", "nats://127.0.0.1:1"): "leave out --nats",
        ("--tls-key", str(tmp_path / "cert.pem")): "a key needs its certificate",
        ("--tls-cert", str(tmp_path / "cert.pem")): "are not a certificate and its key",
    }
    for options, words in cases.items():
        done = run("--data", str(tmp_path / "data"), *options)
        assert done.returncode == 1
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
