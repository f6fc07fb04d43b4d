"""Parse tree → values: numbers, text, intervals, shapes, durations.

The base of the builder: a method for each grammar rule, and the place of every error. What the model refuses is
reported where it is written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from lark import Token, Tree

from nearcast.errors import LanguageError, ModelError
from nearcast.language import units
from nearcast.model import condition as c
from nearcast.model.constraint import Interval, Values
from nearcast.model.shape import Box, Disc, Geometry, Point, polygon

__all__ = ["Literals", "Refused", "plain", "unquoted"]

WORDED = {"≤": "<=", "≥": ">=", "≠": "!=", "<>": "!=", "==": "="}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
DEEPEST = 100
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


class Refused(Exception):
    """A reason and a hint, before the place in the text is known."""

    def __init__(self, reason: str, hint: str = "") -> None:
        self.reason, self.hint = reason, hint
        super().__init__(reason)


class Literals:
    """Builds values. ``source`` and ``offset`` place errors in the whole text."""

    def __init__(self, source: str, offset: int = 0) -> None:
        self.source = source
        self.offset = offset
        self.level = 0
        self.depth = 0
        """How many brackets deep: inside them, a bare name is a property of the item."""

    def build(self, node: Any) -> Any:
        if node is None:
            return None
        if isinstance(node, Token):
            return getattr(self, f"token_{node.type}", str)(node)
        if self.level > DEEPEST:
            raise LanguageError("this is nested too deeply", self.source, self.offset + node.meta.start_pos)
        self.level += 1
        try:
            return getattr(self, node.data)(*node.children)
        except (ModelError, Refused) as error:
            at = self.offset + (0 if node.meta.empty else node.meta.start_pos)
            hint = error.hint if isinstance(error, Refused) else ""
            raise LanguageError(str(error), self.source, at, hint) from None
        finally:
            self.level -= 1

    def all(self, nodes: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.build(node) for node in nodes)

    def clauses(self, nodes: Sequence[Tree[Any]]) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for node in nodes:
            key, value = self.build(node)
            if key in told:
                at = self.offset + node.meta.start_pos
                raise LanguageError(f"{_clause(key)} is given twice", self.source, at, "join the two, or drop one")
            told[key] = value
        return told

    # ---- values ----------------------------------------------------------------------------------

    def geometry(self, shape: Any, *heights: Any) -> Geometry:
        told = self.clauses(heights)
        return Geometry(self.build(shape), told.get("altitude"), told.get("floor"))

    def altitude(self, heights: Any) -> tuple[str, Interval]:
        return "altitude", _interval(self.build(heights))

    def floor(self, heights: Any) -> tuple[str, Interval]:
        return "floor", _interval(self.build(heights))

    def point(self, at: Any) -> Point:
        return Point(*self.build(at))

    def disc(self, at: Any, radius: Any) -> Disc:
        x, y = self.build(at)
        return Disc(x, y, self.build(radius))

    def box(self, low: Any, high: Any) -> Box:
        return Box(*self.build(low), *self.build(high))

    def polygon_shape(self, *parts: Any) -> Any:
        return polygon(self.all(parts))

    def polygon(self, *rings: Any) -> tuple[Any, ...]:
        return self.all(rings)

    def ring(self, *corners: Any) -> tuple[Any, ...]:
        return self.all(corners)

    def coordinate(self, x: Any, y: Any) -> tuple[float, float]:
        return float(self.build(x)), float(self.build(y))

    def interval(self, opening: Token, low: Any, high: Any, closing: Token) -> Interval:
        least, most = (None if bound is None else self.build(bound).value for bound in (low, high))
        return Interval(least, most, low_closed=opening == "[", high_closed=closing == "]")

    def set(self, *items: Any) -> Values:
        return Values(tuple(item.value for item in self.all(items)))

    def duration(self, *parts: Any) -> c.Duration:
        amounts = [_number(part) for part in parts[::2]]
        return c.Duration(sum(units.micros_of(a, u) for a, u in zip(amounts, parts[1::2], strict=True)))

    def length(self, number: Any, unit: Token) -> float:
        return units.metres(self.build(number), unit)

    def plain_length(self, number: Any) -> float:
        return units.metres(self.build(number), "m")

    def number(self, token: Token) -> int | float:
        return _number(token)

    def negative(self, token: Token) -> int | float:
        return -_number(token)

    def string(self, token: Token) -> str:
        return _unescaped(token[1:-1])

    def quoted_name(self, string: Any) -> str:
        name: str = self.build(string)
        if not name:
            raise Refused("a name cannot be empty")
        return name

    def count(self, token: Token) -> int:
        number = _number(token)
        if not isinstance(number, int) or number > 2**31:
            raise Refused(f"{token} is not a reasonable count")
        if number < 1:
            raise Refused("the number must be at least 1")
        return number

    def comparison(self, token: Token) -> str:
        return WORDED.get(token, str(token))

    def token_QUOTED_NAME(self, token: Token) -> str:  # noqa: N802  # named for its terminal
        return unquoted(token)

    def json_number(self, number: Any) -> c.Constant:
        return c.Constant(self.build(number))

    def json_null(self, _token: Any) -> None:
        return None

    def json_array(self, *items: Any) -> list[Any]:
        return [plain(item) for item in self.all([i for i in items if i is not None])]

    def json_object(self, *pairs: Any) -> dict[str, Any]:
        return dict(self.all([pair for pair in pairs if pair is not None]))

    def json_pair(self, key: Any, value: Any) -> tuple[str, Any]:
        return self.build(key), plain(self.build(value))


def _clause(key: str) -> str:
    return {"life": "WHILE", "source": "FROM", "updates": "WITH UPDATES"}.get(key, key.upper())


def _interval(heights: Interval | float) -> Interval:
    return heights if isinstance(heights, Interval) else Interval(heights, heights)


def _number(token: str) -> int | float:
    if token.isdigit():
        if len(token) > 18:
            raise Refused(f"{token[:20]}… is too large a number")
        return int(token)
    number = float(token)
    if not math.isfinite(number):
        raise Refused(f"{token[:20]} is too large a number")
    return number


def unquoted(name: str) -> str:
    if name == "`*`":
        raise Refused("'*' is the name of nothing", "a whole region is &space.* or #space.*")
    return name[1:-1] if name.startswith("`") else str(name)


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found.group(1)
        return chr(int(code[1:], 16)) if len(code) == 5 else ESCAPES.get(code, code)

    plain = _ESCAPE.sub(one, text)
    # Escaped surrogate pairs are one character; a lone half is none.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain(value: Any) -> Any:
    return value.value if isinstance(value, c.Constant) else value
