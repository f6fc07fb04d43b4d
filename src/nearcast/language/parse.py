"""Text → model. Every error is ours: a place, a caret, a reason and, where one is known, a hint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, cast

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from nearcast.errors import LanguageError, ModelError, suggestion
from nearcast.language.build import Builder
from nearcast.language.normalize import normalize
from nearcast.model import condition as c
from nearcast.model.statement import Publication, Statement, Subscription

__all__ = [
    "LONGEST", "parse", "parse_duration", "parse_length", "parse_pieces", "parse_publication", "parse_statements",
    "parse_subscription",
]  # fmt: skip

LONGEST = 1_000_000
"""Characters in one statement. More belongs in a layer, which travels as a file."""

_PIECE = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`|--[^\n]*|;|[^'"`;-]+|.""", re.DOTALL)
_WORD = re.compile(r"[\w-]+")
_MEANING = {
    "NAME": "a name",
    "STRING": "text in quotes",
    "NUMBER": "a number",
    "INTEGER": "a whole number",
    "REF": "&name or #name",
    "READ": "@",
    "COMPARISON": "a comparison",
    "LENGTH_UNIT": "a unit of length",
    "TIME_UNIT": "a unit of time",
    "RATE": "bps, kbps or Mbps",
    "CLOCK": "a time of day",
    "DAY": "a day",
    "PICK": "anyof, nearof or remoteof",
    "BOOL": "TRUE or FALSE",
    "PATH": "a place path",
    "QUOTED_NAME": "a name",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "COMMA": "','",
    "PERCENT": "'%'",
    "SIGN": "'+'",
    "MINUS": "'-'",
    "COLON": "':'",
    "DROPPABLE": "SPACE, PLACE, LAYER or RELATION",
    "$END": "the end",
}


@cache
def _parser() -> Lark:
    grammar = resources.files("nearcast.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    starts = ["start", "length", "duration"]
    return Lark(grammar, start=starts, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def parse(text: str) -> Statement:
    """One statement, in canonical form. A closing semicolon is welcome."""
    found = list(_pieces(text))
    if len(found) > 1:
        raise LanguageError("one statement was expected", text, found[1][0], "give each statement on its own")
    return _one(text, *(found[0] if found else (0, text)))


def parse_subscription(text: str) -> Subscription:
    statement = parse(text)
    if not isinstance(statement, Subscription):
        raise LanguageError("this is not a subscription", text, 0, "begin with SELECT")
    return statement


def parse_publication(text: str) -> Publication:
    statement = parse(text)
    if not isinstance(statement, Publication):
        raise LanguageError("this is not a publication", text, 0, "begin with PUBLISH")
    return statement


def parse_length(text: str) -> float:
    """Metres, from text such as ``0.5 km``."""
    return cast(float, _built(text, 0, text, "length"))


def parse_duration(text: str) -> int:
    """Microseconds, from text such as ``1 h 30 min``."""
    return cast(c.Duration, _built(text, 0, text, "duration")).micros


def parse_statements(text: str) -> Iterator[Statement | LanguageError]:
    """Every statement of a file, in order; a bad one gives its error and does not hide the others."""
    for _, statement in parse_pieces(text):
        yield statement


def parse_pieces(text: str) -> Iterator[tuple[int, Statement | LanguageError]]:
    """The same, each with the number of the line it begins on."""
    line, counted = 1, 0
    for offset, piece in _pieces(text):
        begins = offset + len(piece) - len(piece.lstrip())
        line, counted = line + text.count("\n", counted, begins), begins
        try:
            yield line, _one(text, offset, piece)
        except LanguageError as error:
            yield line, error


def _one(text: str, offset: int, piece: str) -> Statement:
    if len(piece) > LONGEST:
        raise LanguageError(
            f"a statement of {len(piece)} characters is too long", text, offset, "put regions in a layer"
        )
    built = _built(text, offset, piece, "start")
    try:
        return normalize(built)  # type: ignore[no-any-return]
    except ModelError as error:
        raise LanguageError(str(error), text, offset + len(piece) - len(piece.lstrip())) from None


def _built(text: str, offset: int, piece: str, rule: str) -> Any:
    try:
        tree = _parser().parse(piece, start=rule)
    except UnexpectedInput as error:
        raise _explained(error, text, offset, piece) from None
    return Builder(text, offset).build(tree)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The statements between semicolons, with their offsets; comments alone are none."""
    start, spoken = 0, False
    for piece in _PIECE.finditer(text):
        if piece.group() == ";":
            if spoken:
                yield start, text[start : piece.start()]
            start, spoken = piece.end(), False
        elif piece.group().strip() and not piece.group().startswith("--"):
            spoken = True
    if spoken:
        yield start, text[start:]


def _explained(error: UnexpectedInput, text: str, offset: int, piece: str) -> LanguageError:
    if isinstance(error, UnexpectedToken):
        at = len(piece.rstrip()) if error.token.type == "$END" else (error.token.start_pos or 0)
        expected = set(error.accepts)  # `expected` also lists what only other statements could go on with
        reason = "the statement ends too early" if error.token.type == "$END" else f"unexpected {_short(error.token)}"
    else:
        at = cast(int, error.pos_in_stream)
        expected = set(error.allowed) if isinstance(error, UnexpectedCharacters) else set()
        reason = f"unexpected {_short(piece[at : at + 1])}"
        if piece[at : at + 1] in ("'", '"', "`"):
            return LanguageError("this quote is never closed", text, offset + at, "text ends on the line it begins on")
    word = _WORD.match(piece, at)
    hint = suggestion(word.group(), _keywords(expected)) if word else ""
    return LanguageError(reason, text, offset + at, hint or _listed(expected))


def _keywords(expected: set[str]) -> list[str]:
    picks = ["anyof", "nearof", "remoteof"] if "PICK" in expected else []
    units = ["km", "m", "yd", "mi", "ft"] if "LENGTH_UNIT" in expected else []
    return [_keyword(name) for name in expected if name.startswith("_")] + picks + units


def _keyword(terminal: str) -> str:
    return "rang:loc" if terminal == "_RANGE" else terminal.removeprefix("_")


def _listed(expected: set[str]) -> str:
    words = sorted({_MEANING.get(name, _keyword(name)) for name in expected})
    if not words:
        return ""
    shown = words if len(words) <= 8 else [*words[:8], "…"]
    return "expected " + (" or ".join(shown) if len(shown) < 3 else ", ".join(shown[:-1]) + " or " + shown[-1])


def _short(token: str) -> str:
    return repr(str(token) if len(token) <= 30 else token[:27] + "…")
