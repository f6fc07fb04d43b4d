"""Whether an engine says what the reference says: about every op of a log, and about how things stand after it.

The reference's answers are found once; each way to drive a kernel is then held against them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import pyarrow as pa

from nearcast.errors import NearcastError
from nearcast.language.oplog import encode_notification, encode_op
from nearcast.match.binding import Binding
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.match.state import restore, snapshot
from nearcast.match.world import Key
from nearcast.model import op as ops
from nearcast.model import schema
from nearcast.model.fix import Position
from nearcast.model.notification import Notification

__all__ = ["Answers", "answers_of", "arrow_of", "check_in_runs", "check_one_by_one"]

Refusal = tuple[type[NearcastError], str]
StatementKey = tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """What an op gave: notifications, or an error."""

    op: ops.Op
    told: list[Notification]
    refused: Refusal | None = None


@dataclass(frozen=True)
class Standing:
    """How things are after a log."""

    counts: dict[str, int]
    bound: set[tuple[StatementKey, Key]]
    """The sources that are active for a subscription. Of others, nobody hears whether they once were."""
    times: dict[tuple[StatementKey, Key], int]
    """The present of each pair that was told."""


@dataclass(frozen=True)
class Answers:
    """All that the reference says about a log."""

    lateness: int
    each: list[Answer]
    standing: Standing


def answers_of(log: Sequence[ops.Op], lateness: int = 0, reference: Reference | None = None) -> Answers:
    """What the reference says, or another engine that is to be believed."""
    reference = reference or Reference(lateness=lateness)
    each = [answer_of(reference, op) for op in log]
    pairs = [(owned, key) for owned, s in reference.subscriptions.items() for key, pair in s.pairs.items() if pair.told]
    return Answers(lateness, each, standing_of(reference, pairs))


def answer_of(engine: Reference, op: ops.Op) -> Answer:
    try:
        return Answer(op, engine.apply(op))
    except NearcastError as error:
        return Answer(op, [], (type(error), str(error)))


def standing_of(engine: Reference, pairs: Sequence[tuple[StatementKey, Key]]) -> Standing:
    return Standing(
        {name: count for name, count in engine.counts.items() if count},
        {
            ((s.owner, s.subscription.id), key)
            for owner, id_ in engine.world.publications
            for s, key, pair in engine._bound(owner, id_)
            if pair.binding is Binding.ACTIVE
        },
        {(owned, key): engine.time_of(engine.subscriptions[owned], key) for owned, key in pairs},
    )


def _check_standing(kernel: Kernel, expected: Answers) -> None:
    ours = standing_of(kernel, list(expected.standing.times))
    for name in ("counts", "bound", "times"):
        got, want = getattr(ours, name), getattr(expected.standing, name)
        assert got == want, _difference(f"{name} after all", got, want, expected.each)


def _check_answer(kernel: Kernel, expected: Answers, at: int) -> None:
    want = expected.each[at]
    got = answer_of(kernel, want.op)
    if got != want:
        raise AssertionError(_difference("the last of these", _shown(got), _shown(want), expected.each[: at + 1]))


def _shown(answer: Answer) -> object:
    return answer.refused or [encode_notification(n).decode() for n in answer.told]


def _difference(what: str, got: object, want: object, answers: Sequence[Answer]) -> str:
    """The two, and the log as it could be replayed."""
    lines = "\n".join(encode_op(answer.op).decode() for answer in answers)
    return f"{lines}\n{what} gives\n  {got}\nand not\n  {want}"


# ---- ways to drive a kernel --------------------------------------------------------------------------


def check_one_by_one(expected: Answers) -> None:
    """Every op by itself: notifications in full, and refusals."""
    kernel = Kernel(lateness=expected.lateness)
    for at in range(len(expected.each)):
        _check_answer(kernel, expected, at)
    _check_standing(kernel, expected)


def check_in_runs(expected: Answers, sizes: Sequence[int], restart: int = 0) -> int:
    """Moves that come one after another as columns, wherever the kernel takes them so, and all else one by one.

    A run ends after so many moves, by ``sizes`` in turn. With ``restart``, another kernel goes on from the state of the
    last after every so many runs. Gives how many notifications came out of columns.
    """
    kernel = Kernel(lateness=expected.lateness)
    in_columns = 0
    for number, run in enumerate(_runs(expected.each, sizes), 1):
        if restart and number % restart == 0:
            kernel = restore(snapshot(kernel))
        answers = [expected.each[at] for at in run]
        if can_run(kernel, answers):
            got, want = columns_of(kernel, answers), arrow_of([n for answer in answers for n in answer.told])
            if not got.equals(want):
                last = f"the last {len(run)} of these, as columns,"
                raise AssertionError(_difference(last, got.to_pylist(), want.to_pylist(), expected.each[: run.stop]))
            in_columns += len(want)
        else:
            for at in run:
                _check_answer(kernel, expected, at)
    _check_standing(kernel, expected)
    return in_columns


def _runs(answers: Sequence[Answer], sizes: Sequence[int]) -> Iterator[range]:
    """Moves that were not refused together, up to a size; anything else alone."""
    size, start = cycle(sizes), 0
    most = next(size)
    for at, answer in enumerate(answers):
        is_move = isinstance(answer.op, ops.Move) and answer.refused is None
        if start < at and (not is_move or at - start == most):
            yield range(start, at)
            start, most = at, next(size)
        if not is_move:
            yield range(at, at + 1)
            start = at + 1
    if start < len(answers):
        yield range(start, len(answers))


def can_run(kernel: Kernel, run: Sequence[Answer]) -> bool:
    """Whether the kernel takes these moves as columns."""
    moves = [answer.op for answer in run if isinstance(answer.op, ops.Move)]
    return len(moves) == len(run) and bool(kernel.can_run(kernel.clients.rows([op.client for op in moves])).all())


def columns_of(kernel: Kernel, run: Sequence[Answer]) -> pa.RecordBatch:
    moves = [answer.op for answer in run if isinstance(answer.op, ops.Move)]
    rows = kernel.clients.rows([op.client for op in moves])
    times = np.array([op.time for op in moves], np.int64)
    places = np.array([kernel.clients.path_code(op.position.place) for op in moves], np.int64)
    return kernel.run(rows, times, np.array([_numbers(op.position) for op in moves]), places).arrow()


def _numbers(position: Position) -> list[float]:
    point, heights = position.point, (position.altitude, position.floor, position.accuracy)
    there = (point.x, point.y) if point else (None, None)
    return [np.nan if number is None else number for number in (*there, *heights)]


# ---- columns -----------------------------------------------------------------------------------------


def arrow_of(told: Sequence[Notification]) -> pa.RecordBatch:
    """Notifications with the columns of `schema.NOTIFICATIONS`, evidence left out."""
    return pa.RecordBatch.from_pylist([_row(n) for n in told], schema=schema.NOTIFICATIONS)


def _row(n: Notification) -> dict[str, Any]:
    cause = {name: getattr(n.cause, name) for name in ("kind", "entity", "number", "ordinal")}
    told = {name: getattr(n, name) for name in schema.NOTIFICATIONS.names}
    values = json.dumps(n.values) if n.values else None
    return {**told, "kind": str(n.kind), "reason": str(n.reason), "cause": cause, "values": values, "why": None}
