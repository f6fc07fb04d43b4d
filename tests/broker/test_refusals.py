from __future__ import annotations

from nearcast.broker.applying import Refusal
from nearcast.broker.refusals import Refusals


def refused(size: int = 300) -> list[Refusal]:
    """One op, with a reason that takes so many bytes."""
    return [Refusal(0, "retract", "x" * (size - Refusal(0, "retract", "").size))]


def test_the_latest_packets_are_known() -> None:
    known, what = Refusals(packets=3), refused()
    assert known.of(1) is None, "not yet"
    for sequence in range(1, 6):
        known.note(sequence, what if sequence % 2 else [])
    assert [known.of(sequence) for sequence in range(7)] == [None, None, None, what, [], what, None]


def test_of_many_bytes_those_of_the_latest_packets_are_known() -> None:
    known, what = Refusals(most=1000), refused()
    for sequence in range(1, 6):
        known.note(sequence, [] if sequence == 3 else what)
    assert [known.of(sequence) for sequence in range(1, 7)] == [None, what, [], what, what, None]
    large = refused(5000)
    known.note(6, large)
    assert [known.of(sequence) for sequence in range(1, 7)] == [None] * 5 + [large], "of one there is always room"
    known.note(7, [])
    assert [known.of(6), known.of(7)] == [None, []]


def test_it_begins_anew_with_a_packet() -> None:
    known = Refusals()
    known.note(1, refused())
    known.begin(10)
    assert [known.of(1), known.of(9), known.of(10)] == [None] * 3
    known.note(10, refused())
    assert [known.of(1), known.of(9), known.of(10)] == [None, None, refused()]
