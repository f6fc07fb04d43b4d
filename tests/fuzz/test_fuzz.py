"""Whatever comes in, there is a result or an error of ours: mutated statements, and mutated lines of a log.

Everything is drawn from seeds, so that a failure shows its input and comes again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearcast.errors import NearcastError
from nearcast.language.format import statement_text
from nearcast.language.oplog import decode_op, encode_notification, encode_op
from nearcast.language.parse import parse
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from tests.fuzz.mutator import Mutator
from tests.seeds import FIRST_SEED

# Random polygons are repaired all the time, and say so.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::nearcast.errors.GeometryWarning")]

SEEDS = range(FIRST_SEED, FIRST_SEED + 10)
CASES = 10_000

HERE = Path(__file__).parent
STATEMENTS = [
    text
    for text in (HERE.parent / "language" / "fixtures" / "identity.lacl").read_text(encoding="utf-8").splitlines()
    if text and not text.startswith("--")
]
LINES = (HERE / "lines.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutated_statement_parses_or_gives_our_error(seed: int) -> None:
    mutator = Mutator(seed, STATEMENTS)
    for _ in range(CASES):
        text = mutator.text()
        try:
            statement = parse(text)
        except NearcastError:
            continue
        except Exception as error:
            raise AssertionError(f"{text!r} gives {error!r}") from error
        written = statement_text(statement)
        assert parse(written) == statement, f"{text!r} is written as {written!r}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutated_line_is_applied_or_gives_our_error(seed: int) -> None:
    mutator = Mutator(seed, LINES)
    system = System()
    for _ in range(CASES):
        line = mutator.line()
        try:
            op = decode_op(line)
        except NearcastError:
            continue
        except Exception as error:
            raise AssertionError(f"{line!r} gives {error!r}") from error
        assert decode_op(encode_op(op)) == op, f"{line!r} is written as {encode_op(op)!r}"
        system.take(op)


class System:
    """A reference and a kernel, which begin again before they have too much to do."""

    def __init__(self) -> None:
        self.engines: tuple[Reference, ...] = (Reference(), Kernel())
        self.log: list[ops.Op] = []
        self.times: list[int] = []
        """Of what is in the log, and of what was refused, which time goes by too."""

    def take(self, op: ops.Op) -> None:
        # A leap of centuries is fine, but a schedule that turns every day of them takes its time.
        times = [*self.times, op.time]
        if len(self.log) >= 40 or max(times) - min(times) > 10 * 86400 * 1_000_000:
            self.engines, self.log, times = (Reference(), Kernel()), [], [op.time]
        self.times = times
        self.log.append(op)
        try:
            told, again = (self.answer(engine, op) for engine in self.engines)
        except Exception as error:
            raise AssertionError(f"the last of these gives {error!r}:\n{self.lines}") from error
        assert told == again, f"the engines do not agree about the last of these:\n{self.lines}"
        if isinstance(told, tuple):
            self.log.pop()

    @staticmethod
    def answer(engine: Reference, op: ops.Op) -> list[Any] | tuple[type[NearcastError], str]:
        """What is told, as it is written; or what is wrong."""
        try:
            return [json.loads(encode_notification(notification)) for notification in engine.apply(op)]
        except NearcastError as error:
            return type(error), str(error)

    @property
    def lines(self) -> str:
        return "\n".join(encode_op(op).decode() for op in self.log)
