"""All of `nearcast serve` with its door for phones, as a user runs it."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearcast.gateway.grants import Role
from nearcast.gateway.identity import add_token
from nearcast.language.oplog import decode_op
from nearcast.log.export import export
from nearcast.log.server import url_of
from nearcast.model.op import Op

STARTS = 180
"""Seconds until a system is there, on a machine that has never compiled it and is busy."""


@dataclass
class Served:
    process: subprocess.Popen[str]
    folder: Path
    at: dict[str, Any]

    @property
    def mqtt(self) -> int:
        """The port for phones."""
        return int(self.at["mqtt"].rpartition(":")[2])

    @property
    def nats(self) -> str:
        return url_of(self.folder / "nats")

    def token(self, client: str, role: Role = Role.CLIENT, seconds: float | None = None) -> str:
        return add_token(self.folder / "tokens.json", client, role, seconds)

    async def ops(self) -> list[Op]:
        """The whole log."""
        out = self.folder / "log.jsonl"
        await export(self.nats, out)
        return [decode_op(line) for line in out.read_bytes().splitlines()]


def first_words(process: subprocess.Popen[str]) -> str:
    """What it says once it is there: the first line."""
    assert process.stdout is not None
    is_there, _, _ = select.select([process.stdout], [], [], STARTS)
    assert is_there, f"nothing was said in {STARTS} s"
    return process.stdout.readline()


@contextmanager
def served(folder: Path, *options: str) -> Iterator[Served]:
    words = ["serve", "--data", str(folder / "data"), "--port", "0", "--mqtt", "0", "--json", *options]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "nearcast.cli", *words], stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        yield Served(process, folder / "data", json.loads(first_words(process)))
    finally:
        process.terminate()
        process.communicate(timeout=30)
