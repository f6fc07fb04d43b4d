"""Makes what is valid nearly so: it deletes, duplicates, swaps, splices, truncates, and inserts nasty words."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Mutator"]

NUMBERS = [
    "1e999", "-1e999", "-0", "0.0", "1e-320", "NaN", "Infinity", "9" * 400, "9223372036854775808", "1e308", "-1",
    "0x10", "1_0", "99:99", "24:00", "2026-13-01",
]  # fmt: skip
CHARACTERS = [
    "", " ", "\x00", "\x1f", "\x7f", "\n", "\r", "\t", "'", '"', "`", "\\", "\\u", "\\ud800", "\\u0000", "--", ";",
    "/", "//", "é", "\u202e", "\u0301", "\ufeff", "\U0001f680", "\U0001d7d9", "\u0663", "\ufb00", "\u0130",
    "[", "]", "{", "}", "(", ")", "&", "#", "@", "null", "true",
]  # fmt: skip
LONG = ["(" * 300, "NOT " * 300, "[" * 3000, '{"a":' * 3000, "'" * 99, "a" * 5000, "&location IN " * 40]
NASTY = [*NUMBERS, *CHARACTERS, *LONG]
VALUES: list[Any] = [
    None, True, False, 0, -1, 2**63, 10**400, 1e308, -0.0, 5e-324, "", "a", "\x00", "\ud800", "x" * 3000, [], {}, [[]],
    {"a": {}}, "9999-12-31T23:59:59Z", "0001-01-01", "hq/1/A", "/", 1e18, 4611686018427, -4611686018427, 181, 90.00001,
]  # fmt: skip
_TOKENS = re.compile(r"\w+|\s+|.", re.DOTALL)


class Mutator:
    def __init__(self, seed: int, corpus: Sequence[str]) -> None:
        self.random = random.Random(seed)
        self.corpus = corpus
        self.words = sorted({word for text in corpus for word in re.findall(r"[A-Za-z-]+|[^\w\s]", text)})
        self.changes: list[Callable[[list[str]], None]] = [
            self.delete, self.duplicate, self.swap, self.splice, self.truncate, self.insert, self.insert,
            self.replace, self.nick,
        ]  # fmt: skip

    def text(self) -> str:
        tokens = _TOKENS.findall(self.random.choice(self.corpus))
        for _ in range(self.random.choice((1, 1, 1, 2, 3, 5))):
            self.random.choice(self.changes)(tokens)
        return "".join(tokens)

    def line(self) -> str:
        """Of a log: half of the time still JSON, with a value, or a piece of a text in it, replaced."""
        if self.random.random() < 0.5:
            return self.text()
        line = json.loads(self.random.choice(self.corpus))
        self.change_value(line)
        return json.dumps(line)

    def change_value(self, held: Any) -> None:
        keys = list(held) if isinstance(held, dict) else range(len(held))
        if not keys:
            return
        key = self.random.choice(list(keys))
        if isinstance(held[key], (dict, list)) and held[key] and self.random.random() < 0.8:
            self.change_value(held[key])
        elif isinstance(held[key], str) and self.random.random() < 0.6:
            tokens = _TOKENS.findall(held[key])
            self.random.choice(self.changes)(tokens)
            held[key] = "".join(tokens)
        else:
            held[key] = self.random.choice(VALUES)

    def word(self) -> str:
        """One that belongs to the corpus, or one that does not."""
        pool: Sequence[str] = self.words if self.random.random() < 0.5 else NASTY
        return self.random.choice(pool)

    def at(self, tokens: list[str]) -> int:
        return self.random.randrange(len(tokens) + 1)

    def span(self, tokens: list[str]) -> slice:
        start = self.at(tokens)
        return slice(start, start + self.random.choice((1, 1, 2, 5, 20)))

    def delete(self, tokens: list[str]) -> None:
        del tokens[self.span(tokens)]

    def duplicate(self, tokens: list[str]) -> None:
        where = self.at(tokens)
        tokens[where:where] = tokens[self.span(tokens)]

    def swap(self, tokens: list[str]) -> None:
        if tokens:
            i, j = (self.random.randrange(len(tokens)) for _ in range(2))
            tokens[i], tokens[j] = tokens[j], tokens[i]

    def splice(self, tokens: list[str]) -> None:
        other = _TOKENS.findall(self.random.choice(self.corpus))
        where = self.at(tokens)
        tokens[where:where] = other[self.span(other)]

    def truncate(self, tokens: list[str]) -> None:
        del tokens[self.at(tokens) :]

    def insert(self, tokens: list[str]) -> None:
        where = self.at(tokens)
        tokens[where:where] = [" ", self.word(), " "]

    def replace(self, tokens: list[str]) -> None:
        if tokens:
            tokens[self.random.randrange(len(tokens))] = self.word()

    def nick(self, tokens: list[str]) -> None:
        """Change one character."""
        if tokens:
            i = self.random.randrange(len(tokens))
            word, at = tokens[i], self.random.randrange(len(tokens[i]) + 1)
            other = chr(self.random.randrange(self.random.choice((128, 0xD800))))
            tokens[i] = word[:at] + other + word[at + 1 :]
