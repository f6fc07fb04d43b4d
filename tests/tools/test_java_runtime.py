import subprocess
from pathlib import Path

import pytest

from tools import java_runtime


def script(path: Path, body: str) -> Path:
    """An executable shell script in the place of a Java."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def fake_java(home: Path, version: str) -> Path:
    """A JAVA_HOME that answers as Java does, and that knows every module."""
    script(
        home / "bin" / "java",
        f"""echo '    java.home = {home}' >&2; echo 'openjdk version "{version}"' >&2""",
    )
    return home


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "1.8.0_392"\nOpenJDK Runtime Environment', 8),
        ('openjdk version "11.0.22" 2024-01-16', 11),
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "21" 2023-09-19 LTS', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.15" 2025-04-15', 17),
        ("Error: could not find libjava.so", None),
        ('version "latest"', None),
        ("", None),
    ],
)
def test_parse_major(text: str, major: int | None) -> None:
    assert java_runtime.parse_major(text) == major


def test_parse_home() -> None:
    text = "Property settings:\n    java.class.path = \n    java.home = /opt/a jdk\n    java.io.tmpdir = /tmp\n"

    assert java_runtime.parse_home(text) == Path("/opt/a jdk")
    assert java_runtime.parse_home('openjdk version "17"') is None


@pytest.mark.parametrize(("version", "suitable"), [("1.8.0_392", False), ("11", False), ("17", True)])
def test_suitable_is_recent_enough(tmp_path: Path, version: str, *, suitable: bool) -> None:
    assert java_runtime.is_suitable(fake_java(tmp_path, version)) is suitable


def test_a_java_that_rejects_sparks_option_is_not_suitable(tmp_path: Path) -> None:
    script(tmp_path / "bin" / "java", """[ $# -eq 1 ] || exit 1; echo 'openjdk version "25"' >&2""")

    assert java_runtime.parse_major(java_runtime.ask(tmp_path / "bin" / "java")) == 25
    assert not java_runtime.is_suitable(tmp_path)


def test_a_missing_java_is_not_suitable(tmp_path: Path) -> None:
    assert not java_runtime.is_suitable(tmp_path)


def test_java_home_is_tried_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, found = fake_java(tmp_path / "named", "17"), fake_java(tmp_path / "found", "21")
    link = tmp_path / "bin" / "java"
    link.parent.mkdir()
    link.symlink_to(found / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(named))
    monkeypatch.setenv("PATH", str(link.parent))

    assert list(java_runtime.candidate_homes()) == [named, found]


def test_no_candidates_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert list(java_runtime.candidate_homes()) == []


@pytest.mark.parametrize(
    ("given", "received"),
    [
        ([], []),
        (["-version"], ["-version"]),
        (["-Xmx1g", "--add-modules=jdk.incubator.vector", "Main"], ["-Xmx1g", "Main"]),
        (["-Xmx1g", "--add-modules", "jdk.incubator.vector", "Main"], ["-Xmx1g", "Main"]),
        (["--add-modules=java.sql", "Main"], ["--add-modules=java.sql", "Main"]),
        (["--add-modules", "java.sql", "Main"], ["--add-modules", "java.sql", "Main"]),
        (["Main", "--add-modules"], ["Main", "--add-modules"]),
        (["-Dname=a b", "Main", "", "$HOME *", "it's"], ["-Dname=a b", "Main", "", "$HOME *", "it's"]),
    ],
)
def test_wrapper_drops_only_the_option(tmp_path: Path, given: list[str], received: list[str]) -> None:
    java = script(tmp_path / "real java's", r"""for argument; do printf '%s\0' "$argument"; done""")
    java_runtime.write_wrapper(tmp_path / "home", java)

    answer = subprocess.run([tmp_path / "home" / "bin" / "java", *given], check=True, capture_output=True, text=True)

    assert answer.stdout.split("\0")[:-1] == received


def test_wrapper_passes_on_the_exit_status(tmp_path: Path) -> None:
    java_runtime.write_wrapper(tmp_path / "home", script(tmp_path / "java", "exit 3"))

    answer = subprocess.run([tmp_path / "home" / "bin" / "java"], check=False)

    assert answer.returncode == 3
