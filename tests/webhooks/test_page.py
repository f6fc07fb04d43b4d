"""The page about webhooks runs from top to bottom, and prints what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from nearcast.gateway.hooks import Secret, new_secret
from nearcast.serve import free_port
from nearcast.webhooks.signing import signed
from tests.gateway.test_page import served

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "webhooks.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEPT = "^(SHOP|ANN|SECRET|NEARCAST_)"
DIFFERS = re.compile(r"whsec_[\w+/=…]+")


def blocks(text: str) -> list[tuple[str, str]]:
    return BLOCK.findall(text)


@contextmanager
def receiving(code: str, folder: Path, env: dict[str, str]) -> Iterator[Path]:
    """The endpoint of the page; what it prints is in a file."""
    (folder / "receiver.py").write_text(code, encoding="utf-8")
    printed = folder / "received.txt"
    with printed.open("wb") as file:
        process = subprocess.Popen([sys.executable, "receiver.py"], cwd=folder, env=env, stdout=file)
    try:
        yield printed
    finally:
        process.terminate()
        process.wait(10)


def run(kind: str, body: str, folder: Path, env: dict[str, str]) -> str:
    """A block, after which the environment has what it exported."""
    words = [sys.executable, "-c", body]
    if kind == "bash":
        words = ["bash", "-c", f"{body}\nenv | grep -E '{KEPT}' > vars"]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    if kind == "bash":
        env |= dict(line.split("=", 1) for line in (folder / "vars").read_text(encoding="utf-8").splitlines())
    return DIFFERS.sub("whsec_…", done.stdout)


def printed_in_time(path: Path, expected: str) -> str:
    until = time.monotonic() + 20
    while (found := path.read_text(encoding="utf-8")) != expected and time.monotonic() < until:
        time.sleep(0.05)
    return found


def test_the_page(tmp_path: Path) -> None:
    port, ours = free_port("127.0.0.1"), free_port("127.0.0.1")
    text = PAGE.read_text(encoding="utf-8").replace("9000", str(ours))
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env["NEARCAST_URL"] = f"http://127.0.0.1:{port}"
    (_, console), registering, (_, registered), (kind, receiver), *rest = blocks(text)
    assert kind == "python"
    command, _ = console.removeprefix("$ ").splitlines()
    with served(command, tmp_path, env, port) as first:
        assert first.startswith("nearcast is at ")
        assert run(*registering, tmp_path, env) == registered
        with receiving(receiver, tmp_path, env) as received:
            for (kind, body), (after, shown) in pairwise([*rest, ("", "")]):
                if kind == "received":
                    assert printed_in_time(received, body) == body
                elif kind != "output":
                    assert run(kind, body, tmp_path, env) == (shown if after == "output" else "")


def test_the_check_of_the_page_takes_what_is_ours_and_nothing_else() -> None:
    code = next(body for kind, body in blocks(PAGE.read_text(encoding="utf-8")) if "def is_ours" in body)
    names: dict[str, object] = {"__name__": "receiver"}
    exec(code, names)
    is_ours = names["is_ours"]
    assert callable(is_ours)
    secret, other = new_secret(), new_secret()
    now = time.time()
    headers = signed("key", now, b"{}", [secret])
    assert is_ours(headers, b"{}", secret.value)
    assert is_ours(signed("key", now, b"{}", [other, Secret(secret.value, now + 60)]), b"{}", secret.value)
    assert not is_ours(headers, b"{ }", secret.value)
    assert not is_ours(headers, b"{}", other.value)
    assert not is_ours({**headers, "webhook-id": "another"}, b"{}", secret.value)
    assert not is_ours({**headers, "webhook-timestamp": str(int(now) + 1)}, b"{}", secret.value)
    assert not is_ours(signed("key", now - 400, b"{}", [secret]), b"{}", secret.value)
