"""Several kernels that share the work tell what one tells alone, each thing once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearcast.errors import OpError
from nearcast.language.oplog import decode_op, encode_notification, encode_op
from nearcast.language.parse import parse_subscription
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.match.share import Plan, Share, name_hash, name_hashes, whole_plan
from nearcast.match.state import restore, snapshot
from nearcast.model import op as ops
from nearcast.model.statement import Publication
from nearcast.testing import Log, logs
from tests.match.agreement import answer_of

NUMBERS = st.sampled_from([1, 2, 7, 16])
PLANS = st.tuples(NUMBERS, NUMBERS)


def client_of(op: ops.Op) -> str | None:
    return op.client if isinstance(op, ops.ClientOp) else None


def told_by(kernels: list[Kernel], op: ops.Op) -> Iterator[tuple[Share, list[bytes] | str]]:
    """What each kernel that sees an op tells, or why it refuses."""
    for kernel in kernels:
        assert kernel.share is not None
        if kernel.share.sees(client_of(op)):
            answer = answer_of(kernel, op)
            yield kernel.share, answer.refused[1] if answer.refused else [encode_notification(n) for n in answer.told]


def tells_the_same(log: Log, plan: Plan, restart: int = 0) -> None:
    reference, kernels = Reference(), [Kernel(share=share) for share in plan.shares]
    for at, op in enumerate(log, 1):
        expected = answer_of(reference, op)
        said = list(told_by(kernels, op))
        client = client_of(op)
        at_home = [what for share, what in said if not share.is_shard or client is None or share.has(client)]
        told = [line for _, what in said if isinstance(what, list) for line in what]
        lines = "\n".join(encode_op(op).decode() for op in log[:at])
        if expected.refused:
            assert all(what == expected.refused[1] for what in at_home), lines
        assert sorted(told) == sorted(encode_notification(n) for n in expected.told), lines
        if restart and at % restart == 0:
            kernels = [restore(snapshot(kernel), kernel.share) for kernel in kernels]


@pytest.mark.parametrize("common", [True, False])
@settings(max_examples=60)
@given(data=st.data())
def test_the_shares_of_a_whole_log(common: bool, data: st.DataObject) -> None:
    log, counts = data.draw(logs(common=common)), data.draw(PLANS)
    tells_the_same(log, whole_plan(log, *counts), restart=data.draw(st.sampled_from([0, 0, 7])))


@settings(max_examples=60)
@given(logs(), NUMBERS)
def test_slices_alone_share_any_log(log: Log, slices: int) -> None:
    tells_the_same(log, Plan(0, slices))


def test_a_plan_that_does_not_know_the_log_refuses_what_it_has_no_home_for() -> None:
    """Nobody in a stream asks about everyone and publishes too, unless there are slices only."""
    nearest, light = parse_subscription("SELECT NEAREST 1"), Publication("light", "a")
    for first, second in (
        (ops.Publish(0, light), ops.Subscribe(0, replace(nearest, id="s", owner="a"))),
        (ops.Subscribe(0, replace(nearest, id="s", owner="a")), ops.Publish(0, light)),
    ):
        for plan in (Plan(2, 1, frozenset({"desk"})), Plan(0, 1)):
            kernels = [Kernel(share=share) for share in plan.shares if share.sees("a")]
            for kernel in kernels:
                kernel.apply(first)
                with pytest.raises(OpError, match="slices only") if plan.shards else nullcontext():
                    kernel.apply(second)


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_names_fall_alike_one_by_one_and_as_columns(names: list[str]) -> None:
    assert name_hashes(pa.array(names, pa.string())).tolist() == [name_hash(name) for name in names]


STAYS = "SELECT WHERE &location IN DISC(10 50, 9 m) DWELL 5 s"
PUBLISHING_ROAMER = tuple(
    decode_op(f'{{"op": {line}}}')
    for line in (
        '"publish", "time": 0, "client": "r", "id": "self", "text": "PUBLISH"',
        f'"subscribe", "time": 0, "client": "s", "id": "in", "text": "{STAYS}"',
        '"subscribe", "time": 0, "client": "r", "id": "near", "text": "SELECT nearof() WHERE &price < 1"',
        '"move", "time": 4, "client": "r", "lon": 10, "lat": 50',
        '"move", "time": 10, "client": "other", "lon": 1, "lat": 5',
        '"unsubscribe", "time": 5, "client": "r", "id": "near"',
        '"move", "time": 8, "client": "r", "lon": 11, "lat": 50',
        '"tick", "time": 20',
    )
)
"""When its choice ends, r is as late as everyone; so its fix of 8 counts from 10, when it had stayed long enough."""


def test_a_roamer_that_publishes() -> None:
    tells_the_same(PUBLISHING_ROAMER, whole_plan(PUBLISHING_ROAMER, 7, 1))
