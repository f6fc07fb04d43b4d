"""The past that is followed op by op is the past that is asked for as a whole."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from nearcast.errors import OpError
from nearcast.match.history import Holder, Past, Relations
from tests.match.acting import YARDS, act
from tests.match.harness import System, heard, square
from tests.seeds import FIRST_SEED

RELATIONS = (
    "&location WITHIN 5 m OF #location",
    "#location WITHIN 5 m OF POINT(0 0)",
    "&location WITHIN 4 m OF POINT(3 4)",
    "#location IN PLACE yard",
    "&location IN ANY LAYER zones",
    "#location WITHIN 5 m OF ANY location",
    "&location CROSSES DISC(3 2, 2 m)",
)
OWN = tuple(text for text in RELATIONS if "&" not in text)
OPTIONS = ("", "", " EXPIRES 9 s", " DWELL 2 s", " WITH UPDATES")


def condition(random: Random, relations: tuple[str, ...] = RELATIONS) -> str:
    one, other = random.choice(relations), random.choice(relations)
    return random.choice((
        f"NOW - ENTERED({one}) > {random.choice((1, 3, 6))} s",
        f"NOW - LEFT({one}) < {random.choice((2, 5))} s",
        f"ENTERED({one}) > LEFT({other})",
        one,
    ))  # fmt: skip


def publication(random: Random) -> str:
    return "PUBLISH" + random.choice(("", f" TO {condition(random)}", " EXPIRES 7 s"))


def subscription(random: Random) -> str:
    life = f" WHILE {condition(random, OWN)}" if random.random() < 0.2 else ""
    return f"SELECT WHERE {condition(random)}{life}{random.choice(OPTIONS)}"


def known(relations: dict[Holder, Relations]) -> object:
    """Every history, and what is due when, in any order."""
    return {holder: (held.histories, sorted(held.dues, key=repr)) for holder, held in relations.items()}


@pytest.mark.parametrize("shard", range(8))
def test_of_random_logs_every_history_is_the_same(shard: int) -> None:
    entered = told = 0
    for number in range(20):
        random, s, t = Random(f"{FIRST_SEED} {shard} {number}"), System(), 1.0
        s.define(YARDS[0])
        s.layer("zones", west=square(1, 2, 3))
        for _ in range(60):
            t += random.choice((0, 1, 1, 2))
            with suppress(OpError):
                act(s, random, t - random.choice((0, 0, 0, 1)), publication, subscription)
            past = s.reference.marks.relations
            assert known(s.kernel.marks.relations) == known(past)
        entered += sum(h.holds for held in past.values() for one in held.histories.values() for h in one.values())
        told += len(s.log)
    assert entered > 10
    assert told > 100


def test_an_op_of_a_stranger_asks_nothing_of_the_past_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    s = System()
    s.publish("one", "p")
    for i in range(20):
        s.subscribe(f"c{i}", "s", "SELECT WHERE NOW - ENTERED(&location WITHIN 5 m OF #location) > 3 s")
    asked: list[object] = []
    note = Past._note

    def counted(past: Past, *given: object) -> None:
        if past is s.kernel.judge.past:
            asked.append(given)
        note(past, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Past, "_note", counted)
    for client, expected in (("stranger", 0), ("c3", 1), ("one", 20)):
        asked.clear()
        s.client(client, 2)
        assert len(asked) == expected, client


def test_what_never_held_takes_no_memory() -> None:
    s = System()
    s.subscribe("ann", "s", "SELECT WHERE NOW - ENTERED(&location WITHIN 5 m OF #location) > 3 s")
    s.move("ann", 0, 0, 1)
    for i in range(50):
        s.publish(f"c{i}", "p", t=1)
        s.move(f"c{i}", 100 + i, 0, 2)
    s.move("c7", 1, 0, 3)
    s.move("c7", 100, 0, 4)
    for past in (s.reference.marks.relations, s.kernel.marks.relations):
        assert [party for _, party in past["subscription", "ann", "s"].histories] == [("c7", "p")]


def test_what_is_asked_for_no_more_is_forgotten() -> None:
    """Else it would have stayed as it was when nobody looked any more, and each edit would leave something behind."""
    s = System()
    s.publish("bob", "p")
    s.move("bob", 0, 0, 1)
    s.move("ann", 1, 0, 1)
    asked = "SELECT WHERE NOW - LEFT(&location WITHIN {} m OF #location) < 100 s"
    s.subscribe("ann", "s", asked.format(5), 2)
    for reach in range(10, 30):
        s.subscribe("ann", "s", asked.format(reach), 2)
    assert [len(past.histories) for past in s.reference.marks.relations.values()] == [1]
    assert heard(s.move("bob", 50, 0, 3)) == [("enter", "bob/p")]
    assert heard(s.subscribe("ann", "s", asked.format(5), 4)) == [("leave", "bob/p")]
