from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.broker.outbox import END, SECONDS, Item, Outbox
from nearcast.broker.recovery import KEPT, _furthest, needed
from nearcast.broker.store import Mark, Record
from nearcast.log.telling import NOWHERE, Place, Tail


def told(packet: int, count: int) -> list[tuple[str, str, bytes]]:
    return [(f"{packet}-{i}", "al", b"x") for i in range(count)]


def filled(*counts: int, most: int = 100) -> tuple[Outbox, list[Item]]:
    box, items = Outbox(NOWHERE, messages=most), list[Item]()
    for packet, count in enumerate(counts, 1):
        items += box.add(packet, told(packet, count))
    return box, items


@pytest.mark.parametrize("place", [NOWHERE, Place(1, 0), Place(1, 2), Place(2, END), Place(3, 1), Place(9, 0)])
def test_what_comes_from_a_place_on(place: Place) -> None:
    box, items = filled(3, 0, 2)
    assert box.since(place) == [item for item in items if item.place >= place]


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(1, 10), st.integers(0, 20), st.integers(0, 5))
def test_what_was_dropped_is_known_to_be_missing(counts: list[int], most: int, packet: int, ordinal: int) -> None:
    box, items = filled(*counts, most=most)
    found = box.since(Place(packet, ordinal))
    assert len(box) <= most
    after = [item for item in items if item.place > Place(packet, ordinal)]
    if found is None:
        assert Place(packet, ordinal) < box.floor
    else:
        assert [item for item in found if item.place > Place(packet, ordinal)] == after


def test_too_many_bytes_are_dropped() -> None:
    box = Outbox(NOWHERE, size=10)
    box.add(1, [(str(i), "al", b"12345") for i in range(5)])
    assert (len(box), box.floor) == (2, Place(1, 2))


def test_what_was_told_long_ago_is_dropped() -> None:
    now = 0.0
    box = Outbox(NOWHERE, clock=lambda: now)
    for packet in range(1, 1000):
        now = 10.0 * packet
        box.add(packet, told(packet, packet % 3))
        oldest = min((item.place.batch for item in box.since(box.floor) or []), default=packet)
        assert 10 * (packet - oldest + 3) >= SECONDS or packet < 20, "no sooner than that"
        assert 10 * (packet - oldest) <= SECONDS + 30, "nor much later"
    assert box.size == len(box)
    assert box.since(Place(900, 0)) is None


def test_a_client_that_no_subject_can_name_is_told_nothing() -> None:
    assert [item.place for item in Outbox(NOWHERE).add(1, [("a", "x" * 2000, b""), ("b", "al", b"")])] == [Place(1, 1)]


def mark(sequence: int, out: int) -> Mark:
    return Mark("log", "stream", sequence, out)


def test_a_mark_counts_if_the_stream_still_goes_so_far() -> None:
    tail = Tail(10, Place(7, 1), "id")
    assert _furthest(tail, []) == Place(7, 1)
    assert _furthest(tail, [mark(9, 10), mark(20, 11)]) == Place(9, END)
    assert _furthest(tail, [mark(6, 8)]) == Place(7, 1)


def record(sequence: int, time: float, marked: int | None) -> Record:
    return Record("log", sequence, f"object {sequence}", 1, sequence, time, None if marked is None else mark(marked, 1))


def test_nothing_is_cut_before_it_is_known_what_is_on_disk() -> None:
    records = [record(n, time=n, marked=n) for n in range(10, 60, 10)]
    assert needed(records, now=60, safe=60) == (records, 0)
    unmarked = [record(n, time=0, marked=None) for n in range(10, 60, 10)]
    assert needed(unmarked, now=1000) == (unmarked, 0)


@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(-20, 20)), max_size=12),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_what_may_be_lost_can_be_found_again(steps: list[tuple[int, int]], age: int, safe: int) -> None:
    """Whatever is on disk of the marks: of what is kept, one snapshot is from before it, and one more in reserve."""
    records: list[Record] = []
    sequence = marked = 0
    for time, (step, ahead) in enumerate(steps):
        sequence += step
        marked = max(marked, sequence + ahead)
        records.append(record(sequence, 10 * time, marked))
    now = 10 * len(steps) + age
    kept, cut = needed(records, now, safe)
    assert kept == records[len(records) - len(kept) :]
    assert len(kept) >= min(KEPT, len(records))
    if cut:
        on_disk = [one.told.sequence for one in kept if one.told is not None and one.time <= now - safe]
        assert sum(one.sequence <= max(on_disk) for one in kept) >= 2
        assert cut == kept[0].sequence
    else:
        assert kept == records
