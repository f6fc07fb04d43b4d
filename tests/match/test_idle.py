"""A filter about what neither side has is not asked, and nobody can tell."""

from __future__ import annotations

from random import Random

import pytest

from nearcast.language.parse import parse_subscription
from nearcast.match import verdict
from nearcast.match.question import Question
from nearcast.match.world import Subscribed
from tests.match.harness import System, heard
from tests.seeds import FIRST_SEED

NAMES = ("a", "b", "c", "owner", "gas.a", "floor")


@pytest.mark.parametrize(
    ("filter_", "named"),
    [
        ("&a = 1 AND NOT (#b < 2 OR &c = 'x')", {"a", "b", "c"}),
        ("&owner = 'x'", {"owner"}),
        ("&gas.a = 1", None),
        ("&a = #a", None),
        ("&a + 1 < 3", None),
        ("&a = 1 OR &location IN DISC(0 0, 1 m)", None),
        ("&a = 1 AND NOW - ENTERED(&location IN DISC(0 0, 1 m)) > 1 s", None),
    ],
)
def test_what_a_filter_is_about(filter_: str, named: set[str] | None) -> None:
    assert Subscribed(parse_subscription(f"SELECT WHERE {filter_}"), (0, 0)).named == named
    assert Subscribed(parse_subscription("SELECT"), (0, 0)).named is None


def test_it_is_asked_when_there_is_something_of_the_name(s: System) -> None:
    s.publish("bus", "p", "PUBLISH")
    assert s.subscribe("ann", "s", "SELECT WHERE NOT &price < 3 OR #price > 9", 1) == []
    assert heard(s.client("bus", 2, price=5)) == [("enter", "bus/p")]
    assert heard(s.client("bus", 3, price=1)) == [("leave", "bus/p")]
    assert heard(s.client("ann", 4, price=10)) == [("enter", "bus/p")]


@pytest.mark.parametrize("shard", range(4))
def test_random_filters(shard: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks it all the same finds out the same."""
    idle = 0

    def not_idle(subscribed: Subscribed, questions: list[Question]) -> bool:
        nonlocal idle
        if is_idle(subscribed, questions):
            idle += 1
            assert not verdict.Verdict.holding((subscribed.subscription.filter, questions))
        return False

    is_idle = verdict._is_idle
    monkeypatch.setattr(verdict, "_is_idle", not_idle)
    for number in range(30):
        random, s = Random(f"{FIRST_SEED} {shard} {number}"), System()
        s.define("SPACE gas (a real)")
        for t in range(30):
            who = random.choice("xyz")
            match random.randrange(4):
                case 0:
                    said = random.choice(("", " AS (a = 1)", " AS (b IN [0, 2])", " AS gas (a = 1)", " AT POINT(0 0)"))
                    s.publish(who, "p", f"PUBLISH{said}", t)
                case 1:
                    s.subscribe(who, "s", f"SELECT WHERE {condition(random, 3)}", t)
                case 2:
                    s.client(who, t, **{random.choice("abc"): random.choice((1, 2))})
                case 3:
                    s.move(who, random.randrange(3), 0, t)
    assert idle > 100


def condition(random: Random, depth: int) -> str:
    if not depth or random.random() < 0.3:
        return f"{random.choice('&#')}{random.choice(NAMES)} {random.choice(('=', '<', '!='))} {random.randrange(3)}"
    inner = f" {random.choice(('AND', 'OR'))} ".join(condition(random, depth - 1) for _ in range(2))
    return f"{random.choice(('', 'NOT '))}({inner})"
