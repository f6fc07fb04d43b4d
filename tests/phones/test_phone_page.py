"""The page on phones runs: a stock MQTT client publishes, is disconnected, and misses nothing. With QoS 0 and 1."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearcast.serve import free_port
from tests.phones.serving import first_words

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "phone.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = BLOCK.findall(TEXT)


def of(kind: str) -> list[str]:
    return [body for found, body in BLOCKS if found == kind]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The command of the page, at ports that are free: the folder it runs in, and where phones come in."""
    folder, (port, mqtt) = tmp_path_factory.mktemp("page"), (free_port("127.0.0.1"), free_port("127.0.0.1"))
    command, *shown = of("console")[0].splitlines()
    words = command.removeprefix("$ nearcast ").replace("1883", str(mqtt)).split()
    with (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "nearcast.cli", *words, "--port", str(port), "--brokers", "1"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        said = [first_words(process), process.stdout.readline() if process.stdout else ""]
        assert said[0].startswith(f"nearcast is at http://127.0.0.1:{port} (operator token: ")
        assert said[1].strip() == shown[1].replace("1883", str(mqtt))
        yield folder, mqtt
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("qos", [0, 1])
def test_the_program(running: tuple[Path, int], qos: int) -> None:
    folder, mqtt = running
    client = f"ann{qos}"
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    (token,) = of("bash")
    made = subprocess.run(
        ["bash", "-c", f'{token.replace("ann", client)}echo -n "$ANN"'],
        cwd=folder, env=env, capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    (program,) = of("python")
    assert "QOS = 1" in program
    program = program.replace("QOS = 1", f"QOS = {qos}").replace("1883", str(mqtt)).replace("ann", client)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder, env={**env, "ANN": made}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (of("output")[0], "")


def test_what_is_shown_is_json() -> None:
    configuration, told = map(json.loads, of("json"))
    assert configuration["subTopic"] == f"owntracks/{configuration['username']}/#"
    assert (told["_type"], told["source"]) == ("transition", "nearcast")
