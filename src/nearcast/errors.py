"""Everything nearcast raises on purpose.

::

    NearcastError
    ├── ModelError            a value that the model refuses
    │   ├── GeometryError     a shape that is not one, or cannot be repaired
    │   └── UnknownName       a space, layer, relation, place or zone that nobody defined
    ├── LanguageError         a statement that does not parse; knows its line and column
    ├── OpError               an op that cannot be read or applied; the state is unchanged
    │   └── RowError          the same, of an op in a batch; knows its row
    ├── GatewayError          a request that the gateway does not grant; knows its status, as HTTP has it
    ├── SnapshotError         a snapshot that is missing, damaged, or of another version
    └── PipelineError         a job on Spark that cannot begin, or cannot go on
        └── LogError          a log that is not there, was cut, or does not take what is written

    NearcastWarning           something was taken that may not be what was meant
    └── GeometryWarning       a polygon was repaired; the message names it

Each error makes its message once, in its constructor, from fields that a program can read.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "GatewayError",
    "GeometryError",
    "GeometryWarning",
    "LanguageError",
    "LogError",
    "ModelError",
    "NearcastError",
    "NearcastWarning",
    "OpError",
    "PipelineError",
    "RowError",
    "SnapshotError",
    "UnknownName",
    "suggestion",
]


class NearcastError(Exception):
    """Base of all errors that nearcast raises for bad input."""


class ModelError(NearcastError):
    """A value that the model refuses."""


class GeometryError(ModelError):
    """A shape that is not one, or that cannot be repaired."""


class UnknownName(ModelError):
    """A name that nobody defined."""

    def __init__(self, kind: str, name: str, known: Iterable[str] = ()) -> None:
        self.kind = kind
        self.name = name
        self.hint = suggestion(name, known)
        super().__init__(f"unknown {kind} {name!r}" + (f"; {self.hint}" if self.hint else ""))


class LanguageError(NearcastError):
    """A statement that does not parse, with the place and, where one is known, a hint."""

    def __init__(self, reason: str, text: str, offset: int, hint: str = "") -> None:
        offset = max(0, min(offset, len(text)))
        self.reason = reason
        self.hint = hint
        self.line = text.count("\n", 0, offset) + 1
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        self.column = offset - start + 1
        excerpt, caret = _window(text[start : end if end >= 0 else len(text)], offset - start)
        self.excerpt = f"{excerpt}\n{caret}"
        lines = [f"line {self.line}, column {self.column}: {reason}", f"    {excerpt}", f"    {caret}"]
        super().__init__("\n".join(lines + ([f"hint: {hint}"] if hint else [])))


class OpError(NearcastError):
    """An op that cannot be read or applied. It changed nothing."""

    def __init__(self, reason: str, field: str = "") -> None:
        self.reason = reason
        self.field = field
        super().__init__(f"{field}: {reason}" if field else reason)


class RowError(OpError):
    """An op of a batch that cannot be read or applied.

    ``told`` is what the rows before it told, which have been applied; None if none has.
    """

    def __init__(self, reason: str, row: int, told: object = None) -> None:
        self.row = row
        self.told = told
        super().__init__(reason, f"row {row}")


class GatewayError(NearcastError):
    """A request that was not granted. ``status`` is HTTP's; one of 429 or 503 may be tried again after some seconds."""

    def __init__(self, status: int, reason: str, field: str = "", *, retry_after: float | None = None) -> None:
        self.status = status
        self.reason = reason
        self.field = field
        self.retry_after = retry_after
        super().__init__(f"{field}: {reason}" if field else reason)


class SnapshotError(NearcastError):
    """A snapshot that cannot be read: a part of it is missing, damaged, or of another version."""

    def __init__(self, reason: str, part: str) -> None:
        self.reason = reason
        self.part = part
        super().__init__(f"{part}: {reason}")


class PipelineError(NearcastError):
    """A job on Spark that cannot begin, or cannot go on: a wrong option, a wrong schema, no Spark."""


class LogError(PipelineError):
    """A log that is not there, was cut, or does not take what is written to it."""


class NearcastWarning(UserWarning):
    """Something was taken, and may not be what was meant."""


class GeometryWarning(NearcastWarning):
    """A polygon was not valid and has been repaired."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """``did you mean …?`` for the nearest known word, or nothing."""
    if len(word) < 2:
        return ""
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f"did you mean {by_lower[close[0]]!r}?" if close else ""


def _window(line: str, column: int, width: int = 76) -> tuple[str, str]:
    """The part of a long line around the column, and a caret line under it."""
    start = max(0, column - width // 2)
    shown = line[start : start + width].replace("\t", " ")
    return shown, " " * (column - start) + "^"
