"""What was repaired is said to whoever asks for it, and else by a warning of Python's.

Python records warnings for a whole process. Where many are served at once, what was repaired for one would be said to
another; so here it is recorded by context, which tasks and threads have of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from nearcast.errors import GeometryWarning

__all__ = ["brief", "repaired", "repairs"]

LISTED = 100
"""The most of them that are said."""

_heard: ContextVar[list[str] | None] = ContextVar("repairs", default=None)


@contextmanager
def repairs() -> Iterator[list[str]]:
    """What is repaired within, in words."""
    heard: list[str] = []
    before = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(before)


def brief(said: list[str]) -> list[str]:
    """The first of them, and how many more there are."""
    left_out = len(said) - LISTED
    return [*said[:LISTED], *([f"and {left_out:,} more"] if left_out > 0 else [])]


def repaired(what: str) -> None:
    """Say that something was repaired."""
    heard = _heard.get()
    if heard is None:
        warnings.warn(what, GeometryWarning, stacklevel=3)
    else:
        heard.append(what)
