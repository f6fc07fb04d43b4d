"""What the documents say is run: every Python block, every command, every statement."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from nearcast import Reference, decode_op
from nearcast.check import checked_statements
from nearcast.errors import NearcastError

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
AS_A_WHOLE = {ROOT / "docs" / name for name in ("phone.md", "pipeline.md", "quickstart.md", "webhooks.md")}
"""Each runs in a test of its own."""
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    """Each block of a language with the block that follows it, where that shows its output."""
    found = []
    for document in DOCUMENTS:
        if document in AS_A_WHOLE and language != "lacl":
            continue
        parts = BLOCK.findall(document.read_text(encoding="utf-8"))
        for (kind, body), (after, output) in pairwise([*parts, ("", "")]):
            if kind == language:
                found.append((body, output if after == "output" else ""))
    return found


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize(("code", "output"), blocks("python"))
def test_python_blocks_run_and_print_what_they_show(code: str, output: str) -> None:
    done = run(sys.executable, "-c", code)
    assert done.stderr == ""
    assert done.stdout == output


@pytest.mark.parametrize("shown", [body for body, _ in blocks("console") if body.startswith("$")])
def test_commands_print_what_is_shown(shown: str) -> None:
    for piece in re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]:
        command, _, expected = piece.partition("\n")
        words = shlex.split(command)
        assert words[0] == "nearcast"
        done = run(sys.executable, "-m", "nearcast.cli", *words[1:])
        if expected:
            assert all(line in (done.stdout + done.stderr).splitlines() for line in expected.splitlines())
        else:
            assert done.returncode == 0


@pytest.mark.parametrize("text", [body for body, _ in blocks("lacl")])
def test_statements_are_valid(text: str) -> None:
    for _, result, warned in checked_statements(text, ROOT):
        assert not isinstance(result, NearcastError), str(result)
        assert not warned


def test_links_lead_somewhere() -> None:
    for document in DOCUMENTS:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"


def test_every_op_that_is_shown_is_applied() -> None:
    lines = "".join(body for body, _ in blocks("jsonl"))
    assert lines
    system = Reference()
    for line in lines.splitlines():
        system.apply(decode_op(line))
    named = {json.loads(line)["op"] for line in lines.splitlines()}
    assert named == {
        "client", "emit", "layer", "move", "place", "publish", "relation", "retract", "space", "subscribe", "tick",
        "unsubscribe",
    }  # fmt: skip
