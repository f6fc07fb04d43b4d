"""Decision 28, by what is asked: how long an answer takes may not tell where somebody hidden is. So of a pair that may
not be known of only the publisher's own filter is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nearcast.language.parse import parse_subscription
from nearcast.match.kernel import Kernel
from nearcast.match.present import query
from nearcast.match.question import Question
from nearcast.match.reference import Reference
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.notification import Reason
from nearcast.model.shape import Point
from tests.match.harness import boxes, owned_publication, owned_subscription

NEAR = "&location WITHIN 10 m OF #location"
LONG = f"{NEAR} AND (" + " OR ".join(f"NOT &location WITHIN 1 m OF BOX({i} 10, {i + 1} 20)" for i in range(9)) + ")"
SELECTED = [
    f"SELECT WHERE {LONG}",
    f"SELECT NEAREST 1 WHERE {LONG}",
    f"SELECT ANYOF() WHERE {LONG}",
    f"SELECT WHERE {LONG} HYSTERESIS 5 m",
    f"SELECT WHERE {LONG} WITH UPDATES",
    f"SELECT WHERE {LONG} WHILE #location IN BOX(-1 -1, 1 1)",
    f"SELECT WHERE {LONG} AND NOW - LEFT(&location IN BOX(3 3, 4 4)) > 1 s",
    f"SELECT WHERE &location IN LAYER zones AND ({LONG})",
    f"SELECT AS (a = 1), (a = 2), (a = 3) WHERE {LONG}",
]
HIDDEN = [
    "PUBLISH PAUSED",
    "PUBLISH TO #owner = 'friend'",
    "PUBLISH TO #location WITHIN 1 m OF POINT(-5 -5)",
    "PUBLISH TO NOW - ENTERED(#location IN BOX(5 5, 6 6)) < 5 h AND #kind = 'friend'",
]
ENGINES = [Reference, Kernel]
WHERE_SHE_IS, ELSEWHERE = (0.00003, 0.00003), (0.5, 0.5)
Taken = Callable[[], list[c.Condition]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Taken:
    """What was asked since this was last called."""
    since: list[c.Condition] = []
    ask = Question.ask

    def noting(question: Question, node: c.Condition) -> bool | None:
        since.append(node)
        return ask(question, node)

    def taken() -> list[c.Condition]:
        found = list(since)
        since.clear()
        return found

    monkeypatch.setattr(Question, "ask", noting)
    return taken


def published(engine: type[Reference], text: str) -> Reference:
    """What ann publishes; eve is elsewhere."""
    one = engine()
    one.apply(ops.DefineLayer(1, boxes("zones", {"here": (0, 0, 0.1, 0.1), "there": (0.4, 0.4, 0.6, 0.6)})))
    one.apply(ops.Publish(1, owned_publication("ann", "me", text)))
    one.apply(moved("ann", WHERE_SHE_IS, 1))
    one.apply(moved("eve", ELSEWHERE, 1))
    return one


def moved(client: str, to: tuple[float, float], time: int) -> ops.Move:
    return ops.Move(time, client, Position(Point(*to)))


def of(text: str, asked: list[c.Condition]) -> list[c.Condition]:
    """What was asked of the filter of a subscription."""
    parts = c.walk(parse_subscription(text).filter)
    return [node for node in asked if node in parts and node != c.ALWAYS]


@pytest.mark.parametrize("selected", SELECTED)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_asks_nothing_of_what_is_hidden(engine: type[Reference], selected: str, asked: Taken) -> None:
    for text in (*HIDDEN, "PUBLISH"):
        one = published(engine, text)
        for time, to in enumerate((WHERE_SHE_IS, ELSEWHERE), 2):
            one.apply(moved("eve", to, time))
            asked()
            found = query(one, owned_subscription("eve", "", selected), 1)
            parts = of(selected, asked())
            assert bool(found) == (text == "PUBLISH" and to == WHERE_SHE_IS)
            assert parts if found else text == "PUBLISH" or not parts


@pytest.mark.parametrize("selected", SELECTED)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_subscription_asks_nothing_of_what_is_hidden(engine: type[Reference], selected: str, asked: Taken) -> None:
    """Whoever of the two moves, and also as time goes by."""
    for text in (*HIDDEN, "PUBLISH"):
        one, found = published(engine, text), []
        one.apply(ops.Subscribe(2, owned_subscription("eve", "s", selected)))
        asked()
        for time, (client, to) in enumerate((("eve", WHERE_SHE_IS), ("ann", ELSEWHERE), ("ann", WHERE_SHE_IS)), 3):
            told = one.apply(moved(client, to, time))
            found += of(selected, asked())
            assert bool(told) == (text == "PUBLISH")
        one.apply(ops.Tick(10_000_000))
        assert bool(found + of(selected, asked())) == (text == "PUBLISH")


@pytest.mark.parametrize("selected", SELECTED)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_hides_is_not_asked_where_it_does(engine: type[Reference], selected: str, asked: Taken) -> None:
    """Though it was told of, and so there is a leave: that has the reason that the publisher's filter gives."""
    one = published(engine, "PUBLISH TO NOT &location IN BOX(0.4 0.4, 0.6 0.6)")
    one.apply(moved("eve", WHERE_SHE_IS, 2))
    assert one.apply(ops.Subscribe(2, owned_subscription("eve", "s", selected)))
    asked()
    (told,) = one.apply(moved("ann", ELSEWHERE, 3))
    assert told.reason is Reason.UNMATCHED
    assert not of(selected, asked())


@pytest.mark.parametrize("selected", [one for one in SELECTED if "WHILE" not in one])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_subscriber_does_itself_is_asked_of_what_it_was_told_of(
    engine: type[Reference], selected: str, asked: Taken
) -> None:
    """The reason of the leave says whether its own filter failed by that."""
    one = published(engine, "PUBLISH TO &location WITHIN 11 m OF #location")
    one.apply(moved("eve", WHERE_SHE_IS, 2))
    assert one.apply(ops.Subscribe(2, owned_subscription("eve", "s", selected)))
    asked()
    (told,) = one.apply(moved("eve", (0.7, 0.7), 3))
    assert told.reason is (Reason.SOURCE if "ANYOF" in selected else Reason.MOVED)
    assert of(selected, asked())
    one.apply(moved("eve", (0.8, 0.8), 4))
    assert not of(selected, asked()), "it was told that she left"


@pytest.mark.parametrize("hidden", HIDDEN[:3])
def test_a_filter_is_asked_as_often_whatever_a_subscriber_says_of_itself(hidden: str, asked: Taken) -> None:
    """Of each of 64 alternatives that it is not about it took as long as one condition on 64 more."""
    one, found = published(Reference, hidden), []
    one.apply(moved("eve", WHERE_SHE_IS, 2))
    for said in ("", "AS (a = 1), (a = 2), (a = 3)"):
        asked()
        assert query(one, owned_subscription("eve", "", f"SELECT {said} WHERE {LONG}"), 1) == []
        found.append(asked())
    assert found[0] == found[1]


@pytest.mark.parametrize("said", ["", "AS (a = 1)"])
@pytest.mark.parametrize(
    "selected", [f"SELECT WHERE {NEAR}", *(one for one in SELECTED if "WHILE" not in one and " AS " not in one)]
)
@pytest.mark.parametrize("hidden", HIDDEN[:3])
def test_a_filter_is_asked_as_often_however_much_is_subscribed_to(
    hidden: str, selected: str, said: str, asked: Taken
) -> None:
    """Whoever waits for its own ops, with many subscriptions, could time where somebody hidden is."""
    found = []
    near: list[c.Condition]
    far: list[c.Condition]
    for many in (1, 20):
        one = published(Kernel, hidden)
        for i in range(many):
            one.apply(ops.Subscribe(2, owned_subscription("eve", f"s{i}", f"{selected} {said}")))
        near, far = [], []
        for time, (to, at) in enumerate(((WHERE_SHE_IS, near), (ELSEWHERE, far)), 3):
            asked()
            assert one.apply(moved("eve", to, time)) == []
            assert one.apply(ops.SetClient(time, "eve", {"a": time})) == []
            at += [node for node in asked() if node != c.ALWAYS]
        found.append(len(near) - len(far))
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_alternatives_that_a_filter_is_about_are_all_asked(engine: type[Reference]) -> None:
    for text in ("PUBLISH TO #kind = 'friend'", "PUBLISH TO NOT #kind != 'friend'"):
        one = published(engine, text)
        one.apply(moved("eve", WHERE_SHE_IS, 2))
        for other in ("kind = 'x'", "a = 1"):
            said = f"SELECT AS ({other}), (kind = 'friend') WHERE {LONG}"
            assert query(one, owned_subscription("eve", "", said), 1)


@pytest.mark.parametrize("selected", SELECTED)
def test_what_is_paused_is_nowhere_for_an_index(selected: str, asked: Taken) -> None:
    """Not even its own filter is asked where it is rather than elsewhere; when it goes on it is found again."""
    one, found = published(Kernel, "PUBLISH PAUSED"), []
    one.apply(ops.Subscribe(1, owned_subscription("eve", "first", selected)))
    for time, to in enumerate((WHERE_SHE_IS, ELSEWHERE), 2):
        one.apply(moved("eve", to, time))
        asked()
        one.apply(ops.SetClient(time, "eve", {"a": 1}))
        assert query(one, owned_subscription("eve", "", selected), 1) == []
        found.append(asked())
    assert found[0] == found[1]
    one.apply(ops.Unsubscribe(3, "eve", "first"))
    one.apply(moved("eve", WHERE_SHE_IS, 4))
    one.apply(ops.Subscribe(4, owned_subscription("eve", "s", selected)))
    for time, text in enumerate(("PUBLISH", "PUBLISH PAUSED", "PUBLISH"), 5):
        (told,) = one.apply(ops.Publish(time, owned_publication("ann", "me", text)))
        assert told.kind == ("leave" if "PAUSED" in text else "enter")
