"""A client's id is a level of a topic, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.errors import LogError
from nearcast.log.topics import Topic, level_of, read_topic, subject_of, topic_of

PLAIN = ["ann", "ann.smith@example.org", "Ünal-7", "東京", "a_b~c", "$x", "a!b"]
HARD = {"acme/bus 7": "acme%2Fbus%207", "50%": "50%25", "+": "%2B", "#": "%23", "a*b>c": "a%2Ab%3Ec", ".a.": "%2Ea%2E"}


@pytest.mark.parametrize("client", PLAIN)
def test_what_a_level_can_hold_stays_as_it_is(client: str) -> None:
    assert level_of(client) == client


@pytest.mark.parametrize(("client", "level"), HARD.items())
def test_what_it_cannot_is_escaped(client: str, level: str) -> None:
    assert level_of(client) == level


@given(st.text(st.characters(), min_size=1, max_size=50))
def test_it_is_read_back(client: str) -> None:
    level = level_of(client)
    assert not set(level) & set("/+#*> \0\n\t\r")
    assert level.isprintable()
    assert read_topic(topic_of(client, "phone")) == Topic(client, "phone")
    assert read_topic(topic_of(client, "phone", "event")) == Topic(client, "phone", "event")


@given(st.text(max_size=4, alphabet="a.%/ 2E"), st.text(max_size=4, alphabet="a.%/ 2E"))
def test_no_two_share_a_level_or_a_subject(one: str, other: str) -> None:
    if one and other and one != other:
        assert level_of(one) != level_of(other)
        assert subject_of(one) != subject_of(other)


def test_dots_are_doubled_slashes_in_a_subject() -> None:
    assert subject_of("ann.smith") == "owntracks.ann//smith"


@pytest.mark.parametrize("topic", ["", "owntracks", "owntracks/ann", "owntracks/ann/", "owntracks//x", "x/ann/phone",
                                   "owntracks/ann/phone/event/more"])  # fmt: skip
def test_other_topics_are_none_of_ours(topic: str) -> None:
    assert read_topic(topic) is None


@pytest.mark.parametrize("client", ["", "x" * 1025])
def test_an_id_that_fits_no_topic(client: str) -> None:
    with pytest.raises(LogError, match="takes 1 to 1024 bytes in a topic"):
        level_of(client)
