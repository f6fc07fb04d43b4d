from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nearcast.errors import NearcastError
from nearcast.language.oplog import decode_op
from nearcast.language.parse import parse, parse_subscription
from nearcast.match.kernel import Kernel
from nearcast.match.present import query, state, visible
from nearcast.match.reference import Reference
from nearcast.match.state import snapshot
from nearcast.model import op as ops
from nearcast.model.moment import NEVER
from nearcast.model.notification import Kind, Notification
from nearcast.model.statement import Subscription
from nearcast.testing import Log, applied, logs

ENGINES = [Reference, Kernel]
FEW = settings(max_examples=60, phases=[Phase.generate])


def about(told: list[Notification]) -> list[tuple[str, ...]]:
    return [(n.subscription, n.publication, n.publisher or "", n.region or "", n.peer or "", n.content) for n in told]


@given(log=st.one_of(logs(max_ops=20), logs(common=True, max_ops=20)))
@FEW
def test_the_kernel_has_told_what_the_definition_has(log: Log) -> None:
    definition, kernel = Reference(), Kernel()
    for one in (definition, kernel):
        for _ in applied(one, log):
            pass
    for client in definition.world.clients:
        assert state(kernel, client, 7) == state(definition, client, 7)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_state_is_what_was_told_and_not_taken_back(engine: type[Reference]) -> None:
    one = engine()
    for line in (
        '{"op": "move", "time": 1, "client": "al", "lon": 0, "lat": 0}',
        '{"op": "publish", "time": 1, "client": "bo", "id": "me", "text": "PUBLISH"}',
        '{"op": "move", "time": 1, "client": "bo", "lon": 0, "lat": 0}',
        '{"op": "subscribe", "time": 1, "client": "al", "id": "s", "text": "NEAR"}',
    ):
        one.apply(decode_op(line.replace("NEAR", "SELECT WHERE &location WITHIN 1 km OF #location")))
    (found,) = state(one, "al", 1)
    assert (found.kind, found.publisher, found.subscription) == (Kind.SNAPSHOT, "bo", "s")
    assert state(one, "al", 2)[0].id != found.id
    assert state(one, "bo", 1) == state(one, "nobody", 1) == []
    one.apply(decode_op('{"op": "move", "time": 2, "client": "bo", "lon": 1, "lat": 0}'))
    assert state(one, "al", 1) == []


@pytest.mark.parametrize("engine", ENGINES)
@given(log=st.one_of(logs(max_ops=20), logs(common=True, max_ops=20)))
@FEW
def test_a_query_finds_what_a_subscription_is_told_at_once(engine: type[Reference], log: Log) -> None:
    one = engine()
    for _ in applied(one, log):
        pass
    asked = [op.subscription for op in log if isinstance(op, ops.Subscribe)][-5:]
    before = _written(one)
    for subscription in asked:
        latest, owner = int(one.marks.latest), one.world.clients.get(subscription.owner)
        if owner is None or owner.ends <= latest:
            continue  # who is gone comes back with an op, and not with a question
        fresh = replace(subscription, id="new")
        try:
            found = about(query(one, fresh, 1))
        except NearcastError:
            continue
        told = _subscribed(log, fresh, latest)
        if told is not None:
            assert [entry[1:] for entry in found] == [entry[1:] for entry in told]
    assert _written(one) == before


def _written(one: Reference) -> str:
    """All that a kernel knows, in words: not a number is not equal to itself."""
    return repr([table.to_pylist() for table in snapshot(one).values()]) if isinstance(one, Kernel) else ""


def _subscribed(log: Log, subscription: Subscription, latest: int) -> list[tuple[str, ...]] | None:
    """What the definition tells, if it tells that before any time passes."""
    other = Reference()
    for _ in applied(other, log):
        pass
    now = other.judge.past.clock((subscription.owner,))
    op = ops.Subscribe(int(now) if now != NEVER else latest, subscription)
    told = other.apply(op)
    return None if any(n.subscription != "new" for n in told) else about(told)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("expires", "count"), [("", 1), (" EXPIRES 3 s", 0), (" EXPIRES 9 s", 1)])
def test_a_question_ends_when_its_subscription_would(engine: type[Reference], expires: str, count: int) -> None:
    """It begins at the asker's time, and what it is about may have come further."""
    one = engine()
    for line in (
        '{"op": "relation", "time": 0, "text": "RELATION near WHERE &location WITHIN 1 km OF #location"}',
        '{"op": "client", "time": 1, "client": "al", "attributes": {}}',
        '{"op": "move", "time": 5, "client": "bo", "lon": 0, "lat": 0}',
        '{"op": "move", "time": 5, "client": "cy", "lon": 0, "lat": 0}',
    ):
        one.apply(decode_op(line))
    asked = replace(parse_subscription(f"SELECT FROM RELATION near{expires}"), owner="al", id="s")
    assert len(query(one, asked, 1)) == count
    assert len(one.apply(ops.Subscribe(1_000_000, asked))) == count


@pytest.mark.parametrize("engine", ENGINES)
def test_a_filter_hides_even_that_there_is_something(engine: type[Reference]) -> None:
    one = engine()
    for line in (
        '{"op": "move", "time": 1, "client": "shy", "lon": 0, "lat": 0}',
        '{"op": "move", "time": 1, "client": "open", "lon": 0, "lat": 0}',
        '{"op": "publish", "time": 1, "client": "shy", "id": "me", "text": "PUBLISH TO #kind = \'friend\'"}',
        '{"op": "publish", "time": 1, "client": "open", "id": "me", "text": "PUBLISH"}',
        '{"op": "client", "time": 1, "client": "al", "attributes": {"kind": "stranger"}}',
        '{"op": "client", "time": 1, "client": "bo", "attributes": {"kind": "friend"}}',
    ):
        one.apply(decode_op(line))
    everything = parse("SELECT")
    assert isinstance(everything, Subscription)
    seen = {who: [n.publisher for n in query(one, replace(everything, owner=who), 1)] for who in ("al", "bo", "new")}
    assert seen == {"al": ["open"], "bo": ["open", "shy"], "new": ["open"]}
    assert [[found.client for found in visible(one, who)] for who in ("al", "bo", "new")] == [
        ["open"], ["shy", "open"], ["open"],
    ]  # fmt: skip
    assert {found.client: found.fix is not None for found in visible(one, "bo")} == {"shy": True, "open": True}
    assert "new" not in one.world.clients
