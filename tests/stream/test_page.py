"""The page about the pipeline runs from top to bottom, prints what it shows, and its pictures show what it wrote."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nearcast.cli import cli

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pipeline.md"
PICTURES = ROOT / "docs" / "pictures"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"\d+\.\d+ s( \([\d,]+ rows/s\))?")


def steps() -> list[tuple[str, str, str]]:
    """What kind of step it is, what is run, and what that prints."""
    found: list[tuple[str, str, str]] = []
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    for (kind, body), (after, output) in pairwise([*blocks, ("", "")]):
        if kind == "python":
            found.append((kind, body, output if after == "output" else ""))
        if kind == "console":
            commands = [piece.partition("\n") for piece in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]]
            found += [(kind, command, shown) for command, _, shown in commands]
    return found


def run(kind: str, text: str, names: dict[str, Any]) -> str:
    if kind == "python":
        with redirect_stdout(StringIO()) as printed:
            exec(text, names)  # what a reader would type
        return printed.getvalue()
    if text.startswith("nearcast "):
        done = CliRunner().invoke(cli, shlex.split(text)[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output
    return subprocess.run(["bash", "-c", text], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def plain(shown: str) -> str:
    """Without what differs from run to run: how long it took, and spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in MEASURED.sub("… s", shown).splitlines())


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    out, names = tmp_path / "out", dict[str, Any]()
    out.mkdir()
    for kind, text, shown in steps():
        printed = run(kind, text.replace("out/", f"{out}/"), names).replace(f"{out}/", "out/")
        assert plain(printed) == plain(shown), text
    subprocess.run([sys.executable, str(PICTURES / "make.py"), str(out), str(tmp_path)], check=True)
    for picture in sorted(PICTURES.glob("*.svg")):
        assert (tmp_path / picture.name).read_text(encoding="utf-8") == picture.read_text(encoding="utf-8")
