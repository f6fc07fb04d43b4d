"""Sessions that last are counted, also those that were there before the door. Server and clients are real ones."""

from __future__ import annotations

import pytest

from nearcast.phones.door import Limits
from nearcast.phones.frames import Code, FrameError
from nearcast.phones.sessions import KEPT, Sessions, session_name
from tests.phones.running import Handset, Stage, fresh, taken

REFUSED = Code.BAD_ID + 131
"""As the client library has it."""


def test_so_many_sessions_last() -> None:
    now = [1000.0]
    sessions = Sessions(2, clock=lambda: now[0])
    names = [session_name("ann", str(number)) for number in range(4)]
    for name in names[:2]:
        visit = sessions.visit("ann", name, is_clean=False)
        visit.welcome()
        if name == names[0]:
            visit.leave()
    with pytest.raises(FrameError, match="'ann' has 2 sessions") as refused:
        sessions.visit("ann", names[2], is_clean=False)
    assert refused.value.code is Code.BAD_ID
    sessions.visit("ann", names[0], is_clean=False).leave()
    sessions.visit("ann", names[3], is_clean=True).welcome()
    sessions.visit("bob", session_name("bob", "1"), is_clean=False).welcome()
    now[0] += KEPT + 1
    sessions.visit("ann", names[2], is_clean=False).welcome()
    with pytest.raises(FrameError):
        sessions.visit("ann", names[0], is_clean=False)  # the first is over, the second is still here


def test_one_that_the_server_did_not_let_in_is_none() -> None:
    sessions = Sessions(1)
    sessions.visit("ann", session_name("ann", "1"), is_clean=False).leave()
    second = sessions.visit("ann", session_name("ann", "2"), is_clean=False)
    second.welcome()
    second.leave()
    with pytest.raises(FrameError):
        sessions.visit("ann", session_name("ann", "1"), is_clean=False)


def test_topics_are_a_sessions() -> None:
    sessions, name = Sessions(1), session_name("ann", "1")
    first = sessions.visit("ann", name, is_clean=False)
    first.welcome()
    first.subscribe({"a", "b/+"}, 3)
    first.leave()
    second = sessions.visit("ann", name, is_clean=False)
    second.welcome()
    second.subscribe({"a", "b/+", "c"}, 3)
    with pytest.raises(FrameError, match="'ann' subscribes to more than 3 topics"):
        second.subscribe({"d"}, 3)
    second.subscribe({"a", "c"}, 2)
    second.unsubscribe({"a"})
    second.subscribe({"d"}, 3)
    other = sessions.visit("ann", name, is_clean=True)
    other.subscribe({"e", "f", "g"}, 3)


async def test_a_client_has_so_many_sessions_that_last(stage: Stage) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    token, others = stage.token(ann), stage.token(bob)

    async def answer(port: int, name: str, *, clean: bool = False) -> int:
        with Handset(ann, token, port, name=name, clean=clean) as handset:
            return await handset.answer()

    limits = Limits(sessions=2)
    async with stage.phones(limits) as phones:
        assert [await answer(phones.port, name) for name in ("one", "two", "three", "one")] == [0, 0, REFUSED, 0]
        assert await answer(phones.port, "three", clean=True) == 0
        assert await answer(phones.port, "three") == REFUSED
        with Handset(bob, others, phones.port, name="three", clean=False) as other:
            assert await other.answer() == 0
    async with stage.phones(limits) as phones:
        assert [await answer(phones.port, name) for name in ("three", "two")] == [REFUSED, 0], "they are still there"
        assert await answer(phones.port, "one", clean=True) == 0
        assert [await answer(phones.port, name) for name in ("three", "one")] == [0, REFUSED]


async def test_topics_of_a_session_are_counted_wherever_they_were_said(stage: Stage) -> None:
    ann = fresh("ann")
    token, limits = stage.token(ann), Limits(topics=3)
    topics = [f"owntracks/{ann}/{rest}" for rest in ("+/event", "#", "a.b/x")]
    for _ in range(2):
        async with stage.phones(limits) as phones:
            for _ in range(2):
                with Handset(ann, token, phones.port, name="one", clean=False) as handset:
                    assert await handset.answer() == 0
                    assert await handset.listen(*topics) == [1, 1, 1]
            with Handset(ann, token, phones.port, name="one", clean=False) as handset:
                assert await handset.answer() == 0
                handset.client.subscribe(f"owntracks/{ann}/another", 1)
                await taken(handset.lost)
