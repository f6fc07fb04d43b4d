"""How inner loops are compiled: by Numba, kept on disk so that only the first run after a change pays for it.

Numba notices when the file of a compiled function changes, but not when that of a function it calls does, and would
go on with the old code. So what is kept of a module lies in a folder named for its source and for that of all it
imports from here: any change starts a new one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba

__all__ = ["inlined", "njit"]

P = ParamSpec("P")
R = TypeVar("R")

_CONFIG: Any = numba.config
_ROOT = Path(__file__).parents[2]
_IMPORT = re.compile(r"^\s*from (nearcast[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
_OUTDATED = 24 * 3600.0
"""Seconds after which what was kept of another state of the sources is removed."""


def njit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function. Division by zero gives infinity, as in NumPy; no fast-math, so that answers are exact."""
    folder = _folder(_ROOT, function.__module__)
    with _keeping_in(folder):
        made: Callable[P, R] = numba.njit(cache=folder is not None, error_model="numpy")(function)
    return made


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into the body of each that calls it.

    For a part of an innermost loop that takes arrays: a call would count references to every one of them.
    """
    made: Callable[P, R] = numba.njit(inline="always", error_model="numpy")(function)
    return made


@cache
def _folder(root: Path, module: str) -> Path | None:
    """Where the code of a module is kept: where the user says, else beside the source, else in the user's cache."""
    path = _path(root, module)
    if path is None:
        return None
    kept = f"numba-{path.stem}-"
    name = kept + _digest(root, module)
    asked = os.environ.get("NUMBA_CACHE_DIR")
    user = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    for parent in [Path(asked)] if asked else [path.parent / "__pycache__", Path(user, "nearcast")]:
        try:
            parent = parent.expanduser()  # noqa: PLW2901
            (parent / name).mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError):  # not ours to write to, or nobody's home
            continue
        if os.access(parent / name, os.W_OK):
            if parent.name == "__pycache__":
                _clear(parent, kept, name)
            return parent / name
    return None


def _digest(root: Path, module: str) -> str:
    """Of a module's source, and of all that it imports, and that imports, and so on."""
    mixed = hashlib.sha256()
    for path in sorted(_closure(root, module)):
        mixed.update(f"{path.relative_to(root)}\0{path.read_text('utf-8')}\0".encode())
    return mixed.hexdigest()[:16]


def _closure(root: Path, module: str) -> set[Path]:
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        path = _path(root, waiting.pop())
        if path is not None and path not in found:
            found.add(path)
            waiting += _imports(path)
    return found


@cache
def _imports(path: Path) -> tuple[str, ...]:
    """The modules that a file may import; what is imported from a package may be a name or a module."""
    named: list[str] = []
    for source, in_brackets, in_line in _IMPORT.findall(path.read_text("utf-8")):
        named.append(source)
        named += [f"{source}.{word}" for word in re.findall(r"\w+", in_brackets or in_line)]
    return tuple(named)


def _path(root: Path, module: str) -> Path | None:
    place = root.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _clear(parent: Path, kept: str, current: str) -> None:
    """Remove what was kept of sources that are no more; what is recent may belong to a process that still runs."""
    for other in parent.glob(f"{kept}*"):
        try:
            if other.name != current and time.time() - other.stat().st_mtime > _OUTDATED:
                shutil.rmtree(other, ignore_errors=True)
        except FileNotFoundError:  # another process was faster
            continue


@contextmanager
def _keeping_in(folder: Path | None) -> Iterator[None]:
    """Numba's setting is everyone's, so it is ours only while one of our functions is defined."""
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = str(folder or "")
    try:
        yield
    finally:
        _CONFIG.CACHE_DIR = before
