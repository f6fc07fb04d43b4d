"""Text and model say the same thing."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from nearcast.errors import LanguageError
from nearcast.language.format import condition_text, shape_of, statement_text
from nearcast.language.normalize import normalize, simplify
from nearcast.language.parse import parse
from nearcast.model import condition as c
from nearcast.model.statement import Choice, Nearest, Options, Statement, Subscription
from nearcast.testing import conditions, statements


@given(statements())
def test_what_is_written_reads_back_as_the_same(statement: Statement) -> None:
    text = statement_text(statement)
    again = parse(text)
    assert again == statement
    assert statement_text(again) == text


@given(statements())
def test_normalizing_twice_changes_nothing(statement: Statement) -> None:
    assert normalize(statement) == statement


@given(conditions())
def test_simplifying_twice_changes_nothing(condition: c.Condition) -> None:
    once = simplify(condition)
    assert simplify(once) == once
    assert condition_text(simplify(once)) == condition_text(once)


@given(statements(), st.data())
def test_a_truncated_statement_parses_or_gives_our_error(statement: Statement, data: st.DataObject) -> None:
    text = statement_text(statement)
    with contextlib.suppress(LanguageError):
        parse(text[: data.draw(st.integers(0, len(text)))])


def with_other_constants(s: Subscription) -> Subscription:
    """The same subscription with every number that counts or measures another one."""
    o = s.options
    told = Options(
        dwell=o.dwell and o.dwell + 1,
        hysteresis=o.hysteresis and o.hysteresis + 1,
        cooldown=o.cooldown and o.cooldown + 1,
        confidence=o.confidence and 0.5 + o.confidence / 4,
        fresh=None if o.fresh is None else o.fresh + 1,
        updates=o.updates,
        bandwidth=o.bandwidth and o.bandwidth / 2,
        expires=o.expires and replace(o.expires, micros=o.expires.micros + 1),
    )
    choice = s.choice and Choice(s.choice.pick, s.choice.count + 1)
    nearest = s.nearest and Nearest(s.nearest.count + 1, s.nearest.space)
    return replace(
        s, id="other", owner="another", choice=choice, nearest=nearest, options=told, filter=shifted(s.filter)
    )


def shifted(node: c.Condition) -> c.Condition:
    """The same condition with other constants."""
    match node:
        case c.And(items):
            return c.And(tuple(map(shifted, items)))
        case c.Or(items):
            return c.Or(tuple(map(shifted, items)))
        case c.Not(item):
            return c.Not(shifted(item))
        case c.Compare(left, op, c.Constant()):
            return c.Compare(left, op, c.Constant("another"))
        case c.Within(left, float(), right):
            return c.Within(left, 12.5, right)
        case c.During():
            return replace(node, start=(node.start + 1) % 1440, zone="Asia/Tokyo")
    return node


@given(statements().filter(lambda s: isinstance(s, Subscription)))
def test_statements_that_differ_only_in_constants_share_a_shape(s: Statement) -> None:
    assert isinstance(s, Subscription)
    other = with_other_constants(s)
    one, two = shape_of(s), shape_of(other)
    assert one.text == two.text
    assert len(one.constants) == len(two.constants)
