"""How fast statements are read and written, beside JSON of the same length."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from nearcast.bench import Case, Result, rate
from nearcast.language.format import shape_of, statement_text
from nearcast.language.parse import parse_subscription
from nearcast.model.statement import Subscription

__all__ = ["CASES"]

T = TypeVar("T")

STATEMENT = (
    "SELECT FROM gas WHERE &location WITHIN {} km OF #location AND &price < {} AND #fuel < 20 %"
    " WHILE NOT #location IN room 'A' DWELL 5 min COOLDOWN 1 h"
)


def _texts(quick: bool) -> list[str]:
    return [STATEMENT.format(1 + i % 7, 60 + i % 11) for i in range(20 if quick else 500)]


def _documents(quick: bool) -> list[str]:
    return [json.dumps({"text": text.split(" ")}) for text in _texts(quick)]


def _count(do: Callable[[T], object], items: list[T], quick: bool) -> float:
    def work() -> int:
        for item in items:
            do(item)
        return len(items)

    return rate(work, 0.05 if quick else 2.0)


def _reading(quick: bool) -> Iterator[Result]:
    baseline = _count(json.loads, _documents(quick), quick)
    yield Result("parse", _count(parse_subscription, _texts(quick), quick), "statements/s", baseline)


def _writing(case: str, do: Callable[[Subscription], object], quick: bool) -> Iterator[Result]:
    baseline = _count(json.dumps, [json.loads(document) for document in _documents(quick)], quick)
    statements = [parse_subscription(text) for text in _texts(quick)]
    yield Result(case, _count(do, statements, quick), "statements/s", baseline)


CASES: dict[str, Case] = {
    "parse": _reading,
    "format": partial(_writing, "format", statement_text),
    "shape": partial(_writing, "shape", shape_of),
}
