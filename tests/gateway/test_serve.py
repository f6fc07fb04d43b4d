"""The supervisor, and the verbs of the command."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from nearcast.bench.endpoints import Endpoint
from nearcast.cli import cli
from nearcast.client import Client
from nearcast.errors import GatewayError, LogError
from nearcast.gateway.identity import TokenFile
from nearcast.serve import Plan, _Child, _is_well, free_port

PATIENCE = 20.0


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    words = ["serve", "--data", str(folder / "data"), "--port", "0", "--json", *options]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "nearcast.cli", *words], stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=30)


def children(process: subprocess.Popen[str]) -> dict[str, int]:
    """The processes that it keeps, by what they are; brokers by their number."""
    found: dict[str, int] = {}
    for pid in map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        except OSError:  # it has gone meanwhile
            continue
        name = next((word.rpartition("/")[2] for word in words if "nearcast." in word or "nats-server" in word), "")
        found[name if name not in found else f"{name} 2"] = pid
    return found


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


async def until(what: str, is_so: object) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < end, what
        await asyncio.sleep(0.05)


async def test_whatever_dies_is_started_again_and_all_end_with_the_supervisor(tmp_path: Path) -> None:
    with served(tmp_path) as (process, at):
        kept = children(process)
        ours = {"nearcast.broker", "nearcast.broker 2", "nearcast.gateway", "nearcast.webhooks"}
        assert set(kept) == {"nats-server", *ours}
        async with Client(at["url"], at["token"], client="ann") as ann:
            async with Client(at["url"], at["token"], client="shop") as shop:
                await shop.publish("fuel", "PUBLISH AT POINT(0 0)")
            await ann.subscribe("near", "SELECT WHERE &location WITHIN 1 km OF #location")
            heard: list[str] = []
            async with aclosing(ann.events()) as events:
                for turn, name in enumerate(("", "nearcast.gateway", "nats-server", "nearcast.broker")):
                    if name:
                        os.kill(children(process)[name], signal.SIGKILL)
                        await until(f"no {name}", lambda name=name: name in children(process))
                    async with asyncio.timeout(PATIENCE):
                        await ann.move(0 if turn % 2 == 0 else 1, 0)
                        heard.append((await anext(events)).kind)
            assert heard == ["enter", "leave", "enter", "leave"]
        assert TokenFile(tmp_path / "data" / "tokens.json").identify(at["token"])
        kept = children(process)
        process.kill()
        await until("they are still there", lambda: not any(map(is_there, kept.values())))


@pytest.mark.parametrize(
    ("option", "host"), [("--port", "127.0.0.1"), ("--mqtt", "127.0.0.1"), ("--nats-port", "localhost")]
)
def test_a_port_that_is_taken_is_said_at_once(tmp_path: Path, option: str, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = ["serve", "--data", str(tmp_path / "data"), "--port", "0", "--host", host, option, str(port)]
        command = [sys.executable, "-m", "nearcast.cli", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    expected = f"error: port {port} of {host} is in use; name another with {option}\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)
    assert not (tmp_path / "data").exists(), "nothing was begun, and no token made that nobody saw"


def test_ports_and_hosts_that_cannot_be(tmp_path: Path) -> None:
    port = str(free_port("127.0.0.1"))
    for words, reason in (
        (["--port", port, "--mqtt", port], f"port {port} of 127.0.0.1 is in use; name another with --mqtt"),
        (["--port", "0", "--host", "192.0.2.1"], "192.0.2.1 is not an address of this machine; name another with"),
        (["--port", "0", "--host", "nowhere.invalid"], "nowhere.invalid is not known here .*; name another with"),
    ):
        with pytest.raises(LogError, match=reason):
            CliRunner().invoke(cli, ["serve", "--data", str(tmp_path / "data"), *words], catch_exceptions=False)


async def test_another_gateway_that_answers_is_not_taken_for_ours(tmp_path: Path) -> None:
    """One that comes in between, as ports are looked at before they are taken."""
    async with Endpoint() as other:
        plan = Plan(tmp_path, port=other.port)
        ours = _Child("gateway", [sys.executable, "-c", "import time; time.sleep(60)"], {})
        assert not await _is_well(plan, [ours])
        ours.keep(pytest.fail)
        try:
            assert await _is_well(plan, [ours])
        finally:
            ours.end()
            ours.ended()
        assert not await _is_well(plan, [ours])
        assert len(other.asked) == 3


def test_verbs_say_what_is_wrong_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEARCAST_TOKEN", raising=False)
    words = [sys.executable, "-m", "nearcast.cli", "move", "1", "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: token: give a token, or set NEARCAST_TOKEN\n")
    for verb in (["query", "SELECT"], ["watch"], ["publish", "a", "PUBLISH"], ["subscribe", "a", "SELECT"]):
        with pytest.raises(GatewayError, match="give a token"):
            CliRunner().invoke(cli, verb, catch_exceptions=False)


def test_tokens_from_the_shell(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    made = CliRunner().invoke(cli, ["token", "ann", "--tokens", str(path)])
    boss = CliRunner().invoke(cli, ["token", "boss", "--role", "operator", "--tokens", str(path), "--json"])
    known = TokenFile(path)
    found = known.identify(made.output.strip())
    assert found is not None
    assert found.client == "ann"
    assert not found.is_operator
    operator = known.identify(json.loads(boss.output)["token"])
    assert operator is not None
    assert operator.is_operator
