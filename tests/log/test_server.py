from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nearcast.errors import LogError
from nearcast.log.server import NatsServer

HOLDER = """
import sys, time
from nearcast.log.server import NatsServer
with NatsServer(sys.argv[1]) as server:
    print(server.pid, flush=True)
    time.sleep(60)
"""


def answers(url: str) -> bool:
    at = urlsplit(url)
    try:
        with socket.create_connection((at.hostname, at.port), 20) as connection:
            return connection.recv(4) == b"INFO"
    except OSError:
        return False


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def await_end(pid: int) -> None:
    until = time.monotonic() + 10
    while is_alive(pid):
        assert time.monotonic() < until, "the server outlives whoever started it"
        time.sleep(0.01)


def test_a_server_answers_until_it_is_stopped(tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server:
        assert answers(server.url)
        pid = server.pid
    assert not answers(server.url)
    assert not is_alive(pid)
    server.stop()


def test_its_settings_and_its_log_are_in_its_folder(tmp_path: Path) -> None:
    with NatsServer(tmp_path / "a b" / "ü", lazy=True, max_payload=4096):
        config = (tmp_path / "a b" / "ü" / "nats-server.conf").read_text(encoding="utf-8")
    assert '"sync_interval": "2m"' in config
    assert '"max_payload": 4096' in config
    assert "Server is ready" in (tmp_path / "a b" / "ü" / "nats-server.log").read_text(encoding="utf-8")


def test_it_syncs_always_unless_told_otherwise(tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server:
        assert '"sync_interval": "always"' in (server.folder / "nats-server.conf").read_text(encoding="utf-8")


def test_one_that_does_not_start_shows_its_last_words(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LogError, match=r"(?s)ended with 1; its last words:.*address already in use"):
            NatsServer(tmp_path, port=port).start()


def test_one_that_is_not_ready_in_time_is_ended(tmp_path: Path) -> None:
    server = NatsServer(tmp_path, patience=0)
    with pytest.raises(LogError, match="was not ready after 0 s"):
        server.start()
    with pytest.raises(LogError, match="start it first"):
        _ = server.pid
    with NatsServer(tmp_path) as other:
        assert answers(other.url)


def test_a_folder_has_one_server(tmp_path: Path) -> None:
    with NatsServer(tmp_path), pytest.raises(LogError, match="another NATS server runs on"):
        NatsServer(tmp_path).start()


def test_a_folder_outlives_a_kill(tmp_path: Path) -> None:
    first = NatsServer(tmp_path)
    first.start()
    first.kill()
    with NatsServer(tmp_path) as second:
        assert answers(second.url)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a child of its parent's death")
def test_it_dies_with_its_parent(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    with holder.stdout as said:
        pid = int(said.readline())
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    await_end(pid)
