"""Dependencies point one way, and the public names are the ones we mean."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nearcast

SOURCE = Path(nearcast.__file__).parent
ALLOWED = {
    "errors": set(),
    "later": set(),
    "model": {"errors", "model"},
    "language": {"errors", "model", "language"},
    "match": {"errors", "model", "match"},
    "feed": {"errors", "model", "language", "match"},
    "snapshot": {"errors", "model", "match"},
    "testing": {"errors", "model", "language", "match", "testing"},
    "bench": {"errors", "model", "language", "match", "feed", "stream", "log", "serve", "gateway", "webhooks", "bench"},
    "log": {"errors", "model", "language", "log"},
    "stream": {"errors", "model", "language", "match", "feed", "snapshot", "check", "log", "stream"},
    "gateway": {"errors", "model", "language", "log", "gateway"},
    "webhooks": {"errors", "later", "model", "log", "gateway", "webhooks"},
    "phones": {"errors", "model", "log", "gateway", "phones"},
    "client": {"errors", "later"},
    "shell": {"errors", "client"},
    "webhook_cli": {"errors", "client", "shell"},
    "serve": {"errors", "log", "gateway"},
    "token_cli": {"errors", "model", "language", "gateway", "shell"},
    "live_cli": {"errors", "client", "serve", "gateway", "log", "shell", "token_cli", "webhook_cli"},
    "broker": {"errors", "model", "language", "match", "feed", "snapshot", "log", "broker"},
    "check": {"errors", "model", "language", "match"},
    "demo": {"errors", "model", "language", "match", "stream", "check", "log", "gateway", "serve", "client"},
    "spark_cli": {"errors", "model", "language", "stream", "shell"},
    "cli": {"errors", "model", "language", "match", "bench", "check", "demo", "shell", "live_cli", "spark_cli"},
}
ENGINES = {"pyspark", "nats", "starlette", "fastapi", "uvicorn"}
MODULES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def part(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_dependencies_point_one_way(path: Path) -> None:
    if part(path) == "__init__":
        return
    own = {name.split(".")[1] for name in imports(path) if name.startswith("nearcast.")}
    parts = {part(module) for module in MODULES}
    assert own & parts <= ALLOWED[part(path)]


@pytest.mark.parametrize("path", [p for p in MODULES if part(p) in ("model", "language", "match")], ids=str)
def test_the_core_knows_no_engine(path: Path) -> None:
    assert not {name.split(".")[0] for name in imports(path)} & ENGINES


def test_public_names_are_sorted_and_exist() -> None:
    assert nearcast.__all__ == sorted(nearcast.__all__)
    assert all(hasattr(nearcast, name) for name in nearcast.__all__)
    assert len(nearcast.__all__) <= 20


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_each_module_says_what_it_offers(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "a module says why it exists"
    if path.name == "__init__.py":
        return
    names = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)]
    assert "__all__" in names
