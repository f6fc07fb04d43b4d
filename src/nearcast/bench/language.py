"""How fast statements are read and written, beside JSON of the same length."""

from __future__ import annotations

import json

from nearcast.bench import Result, rate
from nearcast.language.format import shape_of, statement_text
from nearcast.language.parse import parse_subscription

__all__ = ["run"]

STATEMENT = (
    "SELECT FROM gas WHERE &location WITHIN {} km OF #location AND &price < {} AND #fuel < 20 %"
    " WHILE NOT #location IN room 'A' DWELL 5 min COOLDOWN 1 h"
)


def run(quick: bool) -> list[Result]:
    texts = [STATEMENT.format(1 + i % 7, 60 + i % 11) for i in range(20 if quick else 500)]
    statements = [parse_subscription(text) for text in texts]
    documents = [json.dumps({"text": text.split(" ")}) for text in texts]
    seconds = 0.05 if quick else 2.0

    def count(do: object, items: list[object]) -> float:
        def work() -> int:
            for item in items:
                do(item)  # type: ignore[operator]
            return len(items)

        return rate(work, seconds)

    reading = count(json.loads, list(documents))
    writing = count(json.dumps, [json.loads(document) for document in documents])
    return [
        Result("parse", count(parse_subscription, list(texts)), "statements/s", reading),
        Result("format", count(statement_text, list(statements)), "statements/s", writing),
        Result("shape", count(shape_of, list(statements)), "statements/s", writing),
    ]
