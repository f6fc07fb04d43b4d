"""The language, read from text files: what is canonical, what becomes canonical, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from nearcast.errors import GeometryWarning, LanguageError
from nearcast.language.format import RESERVED, shape_of, statement_text
from nearcast.language.normalize import RULES
from nearcast.language.parse import (
    _parser,
    parse,
    parse_duration,
    parse_length,
    parse_publication,
    parse_statements,
    parse_subscription,
)
from nearcast.model.statement import Publication, Subscription

FIXTURES = Path(__file__).parent / "fixtures"

PUBLISHED = (
    "Select anyof() Where &context=light and &location in rang:loc(30)"
    " On @>50 Life-control #location in room A"
)  # fmt: skip


def lines(name: str) -> list[str]:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("--")]


def blocks(name: str) -> Iterator[tuple[str, list[str]]]:
    """The comment at the head of each block, and its lines; a block of comments alone is none."""
    for block in (FIXTURES / name).read_text(encoding="utf-8").strip().split("\n\n"):
        comments = [line for line in block.splitlines() if line.startswith("# ")]
        told = [line for line in block.splitlines() if not line.startswith("# ")]
        if told:
            yield " ".join(comments).removeprefix("# "), told


IDENTITIES = lines("identity.lacl")
REWRITES = [(rule, "\n".join(told[:-1]), told[-1]) for rule, told in blocks("rewrites.txt")]
ERRORS = [("\n".join(told[:-1]), told[-1]) for _, told in blocks("errors.txt")]


# ---- what is canonical ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", IDENTITIES)
def test_a_canonical_statement_is_written_as_it_was_read(text: str) -> None:
    assert statement_text(parse(text)) == text


@pytest.mark.parametrize("text", IDENTITIES)
def test_a_statement_cut_short_is_valid_or_refused(text: str) -> None:
    for end in range(len(text)):
        try:
            left = parse(text[:end])
        except LanguageError:
            continue
        assert parse(statement_text(left)) == left


@pytest.mark.parametrize("text", IDENTITIES)
def test_a_closing_semicolon_is_welcome(text: str) -> None:
    assert parse(f"  {text} ;\n") == parse(text)


def test_the_published_statement_parses_as_it_stands() -> None:
    assert statement_text(parse_subscription(PUBLISHED)) == (
        "SELECT anyof(1) WHERE &context = 'light' AND &location WITHIN 30 m OF #location"
        " ON @ > 50 WHILE #location IN room 'A'"
    )


# ---- what becomes canonical ----------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "given", "expected"), REWRITES, ids=[given for _, given, _ in REWRITES])
def test_rewrite(rule: str, given: str, expected: str) -> None:
    assert statement_text(parse(given)) == expected, rule


@pytest.mark.parametrize("expected", [expected for _, _, expected in REWRITES])
def test_what_was_rewritten_is_canonical(expected: str) -> None:
    assert statement_text(parse(expected)) == expected


def test_every_rule_has_an_example() -> None:
    shown = {rule.partition(":")[0] for rule, _, _ in REWRITES}
    assert shown == {rule.__name__ for rule in RULES} | {"published", "written"}


def test_every_rule_of_the_grammar_has_an_example() -> None:
    parser = _parser()
    named = {rule.alias or rule.origin.name for rule in parser.rules if rule.alias or not rule.options.expand1}
    texts = [*IDENTITIES, *(given.removesuffix(";") for _, given, _ in REWRITES)]
    used = {tree.data for text in texts for tree in parser.parse(text, start="start").iter_subtrees()}
    assert {name for name in named if not name.startswith("__")} - used == set()


def test_amounts_by_themselves() -> None:
    assert (parse_length("300 yd"), parse_length("50m")) == (300 * 0.9144, 50.0)
    assert (parse_duration("1 h 30 min"), parse_duration("5min")) == (5_400_000_000, 300_000_000)
    for parse_amount, text in ((parse_length, "5 min"), (parse_length, "50"), (parse_duration, "5 m")):
        with pytest.raises(LanguageError):
            parse_amount(text)


def test_a_repair_is_told() -> None:
    with pytest.warns(GeometryWarning, match="a ring was not closed"):
        statement = parse("SELECT WHERE &location IN POLYGON((0 0, 4 0, 4 4, 0 4))")
    assert statement_text(statement) == "SELECT WHERE &location IN POLYGON((0 0, 4 0, 4 4, 0 4, 0 0))"


# ---- what is refused -----------------------------------------------------------------------------

EXPECTED = re.compile(r"-> (?P<line>\d+):(?P<column>\d+) (?P<reason>.*?) \|(?: (?P<hint>.*))?\Z")


@pytest.mark.parametrize(("text", "expected"), ERRORS, ids=[text for text, _ in ERRORS])
def test_error(text: str, expected: str) -> None:
    told = EXPECTED.match(expected)
    assert told, f"{expected!r} is not: -> line:column reason | hint"
    with pytest.raises(LanguageError) as raised:
        parse(text)
    error = raised.value
    assert (error.line, error.column) == (int(told["line"]), int(told["column"]))
    assert told["reason"] in error.reason
    assert (told["hint"] or "") in error.hint


def test_the_message_shows_the_place() -> None:
    with pytest.raises(LanguageError) as raised:
        parse("SELECT\n  WHRE &price < 2")
    assert str(raised.value) == (
        "line 2, column 3: unexpected 'WHRE'\n"
        "      WHRE &price < 2\n"
        "      ^\n"
        "hint: did you mean 'WHERE'?"
    )  # fmt: skip


@pytest.mark.parametrize("nothing", ["", " ", "\n", ";", "-- a comment", ";;"])
def test_nothing_is_not_a_statement(nothing: str) -> None:
    with pytest.raises(LanguageError, match="hint: expected DROP, LAYER"):
        parse(nothing)


@pytest.mark.parametrize("open_bracket", ["(", "NOT ", "[", "{"])
def test_nesting_is_bounded(open_bracket: str) -> None:
    with pytest.raises(LanguageError):
        parse("SELECT WHERE " + open_bracket * 20_000 + "&a = 1")


def test_deep_brackets_are_refused_with_their_place() -> None:
    with pytest.raises(LanguageError, match="nested too deeply"):
        parse("SELECT WHERE " + "NOT " * 500 + "&a = 1")


# ---- several statements --------------------------------------------------------------------------


def test_a_bad_statement_does_not_hide_the_others() -> None:
    text = "SPACE gas (price real);\nSELEKT;\n-- ; in a comment\nSELECT WHERE &a = 'x;y';\n"
    first, bad, last = parse_statements(text)
    assert not isinstance(first, LanguageError)
    assert isinstance(bad, LanguageError)
    assert (bad.line, bad.column) == (2, 1)
    assert isinstance(last, Subscription)
    assert statement_text(last) == "SELECT WHERE &a = 'x;y'"


def test_a_subscription_is_not_a_publication() -> None:
    assert isinstance(parse_subscription("SELECT"), Subscription)
    assert isinstance(parse_publication("PUBLISH"), Publication)
    with pytest.raises(LanguageError, match="begin with PUBLISH"):
        parse_publication("SELECT")
    with pytest.raises(LanguageError, match="begin with SELECT"):
        parse_subscription("PUBLISH")


# ---- words and shapes ----------------------------------------------------------------------------


def keywords() -> set[str]:
    """Every word that a terminal of the grammar spells out, in any case."""
    grammar = resources.files("nearcast.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    patterns = re.findall(r"^[A-Z_]+(?:\.\d+)?: /(.+)\\b/i$", grammar, re.MULTILINE)
    choices = [pattern.removeprefix("(?:").removesuffix(")").split("|") for pattern in patterns]
    return {word for words in choices for word in words}


UNITS = {
    "us", "ms", "s", "sec", "min", "h", "d", "days?", "hours?", "hrs?", "minutes?", "seconds?", "weeks?",
    "bps", "kbps", "Mbps",
}  # fmt: skip
"""Units only follow numbers, where no name can stand; so a name need not be quoted for them."""


def test_a_name_that_is_a_keyword_is_quoted() -> None:
    found = keywords() - UNITS
    assert {"select", "where", "life-control", "rang:loc", "anyof", "always", "mon"} <= found
    words = {re.split(r"[-:]", word)[0] for word in found}
    assert words <= RESERVED


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_keyword_can_be_a_name(word: str) -> None:
    for said in (word, word.upper()):
        text = f"SUBSCRIBE '{said}' BY '{said}' SELECT FROM '{said}' WHERE &`{said}`.`{said}` = '{said}'"
        statement = parse(text)
        assert isinstance(statement, Subscription)
        assert (statement.id, statement.owner) == (said, said)
        assert parse(statement_text(statement)) == statement


@pytest.mark.parametrize("unit", ["us", "ms", "s", "sec", "min", "h", "d", "hours", "bps", "Mbps", "m", "km", "mi"])
def test_a_unit_is_a_name_like_any_other(unit: str) -> None:
    text = (
        f"SUBSCRIBE {unit} BY {unit} SELECT FROM {unit} AS {unit} ({unit} = 5)"
        f" WHERE #location IN ANY {unit}[{unit} = 5] AND #location IN {unit} '5' AND &{unit} < 5"
    )
    assert statement_text(parse(text)) == text


def test_statements_that_differ_in_constants_have_one_shape() -> None:
    one, other = (
        shape_of(
            parse_subscription(f"SELECT WHERE &price < {price} AND &location WITHIN {reach} OF #location DWELL 5 s")
        )
        for price, reach in ((2, "1 km"), (3.5, "10 yd"))
    )
    assert one.text == other.text == "SELECT WHERE &location WITHIN ? OF #location AND &price < ? DWELL ?"
    assert one.constants == (1000.0, 2, 5_000_000)
    assert other.constants == (pytest.approx(9.144), 3.5, 5_000_000)
