"""How much a client may say of itself, and in a reading: the same end for every engine, and for Spark's rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from nearcast.errors import OpError
from nearcast.feed import apply_batch
from nearcast.language.oplog import decode_op, encode_op
from nearcast.language.parse import parse_publication, parse_subscription
from nearcast.log.packet import decode, encode_lines
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.region import LONGEST_NAME, LONGEST_TEXT, MOST
from nearcast.snapshot import restore, snapshot

engines = pytest.mark.parametrize("engine", [Reference, Kernel])
Engine = Callable[[], Reference]


def many(count: int, first: int = 0) -> dict[str, Any]:
    return {f"a{i}": i for i in range(first, first + count)}


def says(attributes: Mapping[str, Any], time: int = 0) -> ops.SetClient:
    return ops.SetClient(time, "ann", attributes)


def publishes(attributes: int) -> ops.Publish:
    inside = ", ".join(f"a{i} = {i}" for i in range(attributes))
    return ops.Publish(0, replace(parse_publication(f"PUBLISH AS ({inside})"), owner="ann", id="p"))


def refused(engine: Reference, op: ops.Op) -> tuple[str, str]:
    with pytest.raises(OpError) as raised:
        engine.apply(op)
    return raised.value.field, raised.value.reason


@engines
def test_a_client_has_so_many_attributes_however_they_come(engine: Engine) -> None:
    system = engine()
    system.apply(says(many(MOST)))
    assert refused(system, says({"one more": 1})) == ("attributes", "257 are too many; 256 are the most")
    system.apply(says({"a0": 5, "nothing": None}))
    system.apply(says({"a1": None, "one more": 1}))
    assert refused(system, says({"another": 1}))[0] == "attributes"
    assert len(system.world.clients["ann"].attributes) == MOST
    assert refused(engine(), says(many(MOST + 1)))[0] == "attributes"


@engines
def test_names_and_texts_are_so_long(engine: Engine) -> None:
    system = engine()
    system.apply(says({"n" * LONGEST_NAME: "t" * LONGEST_TEXT}))
    assert refused(system, says({"n" * (LONGEST_NAME + 1): 1})) == (
        "", "a name has at most 256 characters, and 'nnnnnnnnnnnnnnnnnnnn'… has 257",
    )  # fmt: skip
    assert refused(system, says({"kind": "t" * (LONGEST_TEXT + 1)})) == (
        "kind", "a text has at most 4,096 characters, and this has 4,097",
    )  # fmt: skip


@engines
def test_a_reading_and_what_statements_say_have_the_same_end(engine: Engine) -> None:
    system = engine()
    system.apply(publishes(MOST))
    assert refused(system, publishes(MOST + 1)) == ("attributes", "257 are too many; 256 are the most")
    asked = replace(parse_subscription("SELECT"), owner="ann", regions=publishes(MOST + 1).publication.regions)
    assert refused(system, ops.Subscribe(0, asked))[0] == "attributes"
    system.apply(ops.Emit(0, "ann", "p", many(MOST)))
    assert refused(system, ops.Emit(0, "ann", "p", many(MOST + 1)))[0] == "values"
    assert refused(system, ops.Emit(0, "ann", "p", {"t": "t" * (LONGEST_TEXT + 1)}))[0] == "t"


def test_a_batch_refuses_the_same() -> None:
    lines = [encode_op(says(many(MOST))), encode_op(says({"one more": 1})), encode_op(says({"a0": 1}))]
    _, left_out = apply_batch(Kernel(), decode(*encode_lines(lines)), on_error="skip")
    assert left_out.to_pylist() == [{"row": 1, "reason": "attributes: 257 are too many; 256 are the most"}]


def test_what_there_was_before_there_was_an_end_can_be_read_and_taken_back() -> None:
    """From a snapshot. Such a client may change what it has, and have less of it, but not more."""
    before = Kernel()
    before.apply(says({"a0": 0, "kind": "old"}))
    before.clients.attributes[before.clients.row("ann")].update(many(1000), kind="t" * 10_000)
    after = restore(snapshot(before))
    known = after.world.clients["ann"].attributes
    assert (len(known), len(str(known["kind"]))) == (1001, 10_000)
    after.apply(says({"a1": 7}, 1))
    after.apply(says({"a2": None, "new": 1}, 2))
    assert refused(after, says({"another": 1}, 3)) == ("attributes", "1,002 are too many; 256 are the most")
    after.apply(says(dict.fromkeys(many(900, first=3)), 4))
    after.apply(says({"another": 1}, 5))
    assert len(after.world.clients["ann"].attributes) == 102


def test_what_a_line_says_is_read_whole_before_it_is_refused() -> None:
    """So that one op is refused, and not the packet with it."""
    assert isinstance(decode_op(encode_op(says(many(10_000)))), ops.SetClient)
