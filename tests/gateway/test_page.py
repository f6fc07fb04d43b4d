"""The quickstart runs from top to bottom, and prints what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from nearcast.serve import free_port

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "quickstart.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIFFERS = re.compile(r'\d{4}-\d\d-\d\dT[\d:.]+Z|(?<="sequence":)\d+|(?<="id":")\w+…?|(?<=\bid: )\S+')
"""Times, ids, and the places of ops among the ticks."""
GATEWAY = "http://127.0.0.1:8080"


@contextmanager
def served(command: str, folder: Path, env: dict[str, str], port: int) -> Iterator[str]:
    """What it says when it is there."""
    words = [sys.executable, "-m", "nearcast.cli", *command.split()[1:], "--port", str(port)]
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def run(kind: str, text: str, folder: Path, env: dict[str, str]) -> str:
    """A block, in a shell that knows what those before it set. A stream of events is listened to for a while."""
    if kind == "python":
        command = [sys.executable, "-c", text]
    else:
        text = text.replace("curl -sN", "timeout 5 curl -sN")
        command = [
            "bash",
            "-c",
            f"set -a; touch vars; . ./vars; {text}\nset | grep -E '^(URL|SHOP|ANN|NEARCAST_)' > vars",
        ]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.stdout.replace("}{", "}\n{")


def plain(shown: str) -> str:
    return DIFFERS.sub("", shown).strip()


def test_the_page(tmp_path: Path) -> None:
    port = free_port("127.0.0.1")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    text = PAGE.read_text(encoding="utf-8").replace(GATEWAY, f"http://127.0.0.1:{port}")
    env["NEARCAST_URL"] = f"http://127.0.0.1:{port}"
    (_, console), *blocks = BLOCK.findall(text)
    command, said = console.removeprefix("$ ").splitlines()
    with served(command, tmp_path, env, port) as first:
        assert re.fullmatch(re.escape(said).replace("kW3vYx…", r"[\w-]+"), first.strip())
        for (kind, body), (after, shown) in pairwise([*blocks, ("", "")]):
            if kind == "output":
                continue
            known = tmp_path / "vars"
            if kind == "python":
                env |= dict(line.split("=", 1) for line in known.read_text(encoding="utf-8").splitlines())
            printed = run(kind, body, tmp_path, env)
            expected, is_cut, _ = plain(shown if after == "output" else "").partition(",…")
            assert plain(printed) == expected or (is_cut and plain(printed).startswith(expected)), printed
