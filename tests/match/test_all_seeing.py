"""Publications whose filters look at what others publish: an op of anyone may open or close these, and no others."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from nearcast.errors import OpError
from nearcast.match.verdict import Judge
from tests.match.acting import act
from tests.match.harness import System, square
from tests.seeds import FIRST_SEED

FILTERS = (
    "#location WITHIN 5 m OF ANY location",
    "&location WITHIN 4 m OF ANY club",
    "#location WITHIN 4 m OF ANY club AND &location WITHIN 9 m OF #location",
    "NOT #location WITHIN 5 m OF ANY location[owner = 'bob']",
    "&location WITHIN 7 m OF #location",
    "#owner != 'ann'",
)
WANTED = (
    "&location WITHIN 5 m OF #location",
    "&location WITHIN 5 m OF #location AND &owner != 'dog'",
    "&location IN ANY LAYER zones",
    "&owner = 'bob' OR &owner = 'cat'",
    "#location WITHIN 5 m OF ANY club",
    "&location CROSSES DISC(3 2, 2 m)",
)
PUBLISHED = ("", " AS club (name = 'x')", " AT POINT(3 4)", " AT POINT(0 0) AS club (name = 'y')")
OPTIONS = ("", "", " EXPIRES 9 s", " DWELL 2 s", " HYSTERESIS 2 m", " COOLDOWN 3 s", " WITH UPDATES", " NEAREST 2")


def publication(random: Random) -> str:
    filter_ = f" TO {random.choice(FILTERS)}" if random.random() < 0.7 else ""
    return f"PUBLISH{random.choice(PUBLISHED)}{filter_}{random.choice(('', '', ' EXPIRES 7 s'))}"


def subscription(random: Random) -> str:
    option = random.choice(OPTIONS)
    nearest, option = (option, "") if "NEAREST" in option else ("", option)
    return f"SELECT{nearest} WHERE {random.choice(WANTED)}{option}"


@pytest.mark.parametrize("shard", range(4))
def test_random_logs(shard: int) -> None:
    """The harness holds the kernel against the definition after every op."""
    told = 0
    for number in range(20):
        random, s, t = Random(f"{FIRST_SEED} {shard} {number}"), System(), 1.0
        s.define("SPACE club (name text)")
        s.layer("zones", west=square(1, 2, 3))
        for _ in range(80):
            t += random.choice((0, 1, 1, 2))
            with suppress(OpError):
                act(s, random, t - random.choice((0, 0, 0, 1)), publication, subscription)
        told += len(s.log)
    assert told > 200


def test_an_op_of_a_stranger_asks_again_of_that_publication_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    s = System()
    for i in range(10):
        s.publish(f"p{i}", "p")
        s.subscribe(f"s{i}", "s", "SELECT WHERE &owner != 'x' DWELL 1 s")
    asked: list[object] = []
    judge = Judge.judge

    def counted(one: Judge, *given: object, **named: object) -> object:
        if one is s.kernel.judge:
            asked.append(given)
        return judge(one, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Judge, "judge", counted)
    s.client("stranger", 1)
    assert not asked
    s.publish("p3", "p", "PUBLISH TO #location WITHIN 5 m OF ANY location", 2)
    asked.clear()
    s.client("stranger", 3)
    assert len(asked) == 10, "one pair of each subscription"
