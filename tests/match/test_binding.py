"""LACL's state machine for the binding of a source to a subscription (section 4.2), as one table.

The paper defines four operations: ``join`` (start → active, if a source is found), ``active`` (inactive →
active, if a source is found), ``inactive`` (active → inactive, if the location condition is false) and ``quit``
(from any state to stop). Section 6, step 6, starts a stopped subscription again when life control turns true;
that is our fifth operation, ``start``. An operation whose precondition does not hold leaves the state as it is.
"""

from __future__ import annotations

import pytest

from nearcast.match.binding import TABLE, Binding, Operation, follow, operate

MACHINE = """
    state     join      quit  active    inactive  start

    start     active    stop  start     start     start
    active    active    stop  active    inactive  active
    inactive  inactive  stop  active    inactive  inactive
    stop      stop      stop  stop      stop      start
"""


def cells() -> list[tuple[Binding, Operation, Binding]]:
    header, *rows = [line.split() for line in MACHINE.splitlines() if line.strip()]
    operations = [Operation(word) for word in header[1:]]
    return [
        (Binding(row[0]), operation, Binding(after))
        for row in rows
        for operation, after in zip(operations, row[1:], strict=True)
    ]


@pytest.mark.parametrize(("state", "operation", "after"), cells())
def test_every_operation_in_every_state(state: Binding, operation: Operation, after: Binding) -> None:
    assert operate(state, operation) is after


def test_the_table_above_leaves_nothing_out() -> None:
    assert {(state, operation) for state, operation, _ in cells()} == {(s, o) for s in Binding for o in Operation}


def test_the_code_lists_exactly_the_operations_that_lead_elsewhere() -> None:
    assert {(state, operation): after for state, operation, after in cells() if after is not state} == TABLE


FOLLOWED = """
    state     alive+bound  alive     bound  neither

    start     active       start     stop   stop
    active    active       inactive  stop   stop
    inactive  active       inactive  stop   stop
    stop      active       start     stop   stop
"""
"""Where life control (alive) and the location condition (bound) take each state in one step."""


def followed() -> list[tuple[Binding, bool, bool, Binding]]:
    _, *rows = [line.split() for line in FOLLOWED.splitlines() if line.strip()]
    conditions = [(True, True), (True, False), (False, True), (False, False)]
    return [
        (Binding(row[0]), alive, bound, Binding(after))
        for row in rows
        for (alive, bound), after in zip(conditions, row[1:], strict=True)
    ]


@pytest.mark.parametrize(("state", "alive", "bound", "after"), followed())
def test_follow(state: Binding, alive: bool, bound: bool, after: Binding) -> None:
    assert follow(state, alive=alive, bound=bound) is after


@pytest.mark.parametrize(("state", "alive", "bound", "after"), followed())
def test_follow_is_settled_after_one_step(state: Binding, alive: bool, bound: bool, after: Binding) -> None:
    assert follow(after, alive=alive, bound=bound) is after


def test_a_walk_past_a_speaker_and_out_of_the_room_and_back() -> None:
    walk = [
        (True, False, Binding.START),  # in the room, the speaker not in range yet
        (True, True, Binding.ACTIVE),  # join
        (True, False, Binding.INACTIVE),
        (True, True, Binding.ACTIVE),
        (False, True, Binding.STOP),  # quit: out of the room, though still in range
        (False, False, Binding.STOP),
        (True, False, Binding.START),  # back in the room
        (True, True, Binding.ACTIVE),
    ]
    state = Binding.START
    for alive, bound, expected in walk:
        state = follow(state, alive=alive, bound=bound)
        assert state is expected
