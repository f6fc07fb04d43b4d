"""Packets of MQTT, and what is none."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.phones.frames import (
    Code,
    Connect,
    FrameError,
    Kind,
    connack,
    filters_asked,
    filters_left,
    length_bytes,
    packet,
    read_connect,
)

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


def body(made: bytes) -> bytes:
    """What follows the header of a short packet."""
    return made[2:] if made[1] < 128 else made[3:]


@given(
    st.builds(
        Connect,
        client_id=WORDS.filter(bool),
        user=WORDS,
        password=WORDS,
        keep_alive=st.integers(0, 65535),
        is_clean=st.booleans(),
        will_topic=st.none() | WORDS,
        will=st.just(b""),
    )
)
def test_one_who_comes_is_read_as_it_was_written(came: Connect) -> None:
    made = came.encoded()
    assert made[0] == Kind.CONNECT << 4
    assert read_connect(body(made)) == came


def test_a_will_is_passed_on_and_not_retained() -> None:
    came = Connect("id", "ann", "token", will_topic="owntracks/ann/phone", will=b"{}", will_qos=1)
    made = came.encoded()
    read = read_connect(body(made))
    assert (read.will_topic, read.will, read.will_qos) == ("owntracks/ann/phone", b"{}", 1)
    assert not body(made)[7] & 0x20


@pytest.mark.parametrize(
    ("made", "code"),
    [
        (b"\0\4MQTT\5\xc2\0\x3c\0\1a\0\1b\0\1c", Code.OTHER_VERSION),
        (b"\0\6MQIsdp\3\xc2\0\x3c\0\1a\0\1b\0\1c", Code.OTHER_VERSION),
        (b"\0\4MQTT\4\xc0\0\x3c\0\0\0\1b\0\1c", Code.BAD_ID),
        (b"\0\4MQTT\4\x02\0\x3c\0\1a", Code.BAD_PASSWORD),
        (b"\0\4MQTT\4\x82\0\x3c\0\1a\0\1b", Code.BAD_PASSWORD),
        (b"\0\4HTTP\4\xc2\0\x3c\0\1a\0\1b\0\1c", None),
        (b"\0\4MQTT\4\xc3\0\x3c\0\1a\0\1b\0\1c", None),
        (b"\0\4MQTT\4\xda\0\x3c\0\1a\0\1b\0\1c", None),
        (b"\0\4MQTT\4\xc2\0\x3c\0\1a\0\1b\0\1c?", None),
        (b"\0\4MQTT\4\xc2\0\x3c\0\1a\0\1b\0\2c", None),
        (b"\0\4MQTT\4\xc2\0\x3c\0\1\xff\0\1b\0\1c", None),
        (b"\0\4MQTT\4\xc2\0\x3c\0\1\0\0\1b\0\1c", None),
    ],
)
def test_what_is_answered_to_others(made: bytes, code: Code | None) -> None:
    with pytest.raises(FrameError) as raised:
        read_connect(made)
    assert raised.value.code is code


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda rest: b"\0\4MQTT\4" + rest))
def test_nothing_else_comes_of_bytes(made: bytes) -> None:
    for read in (read_connect, lambda made: filters_asked(made, 9), lambda made: filters_left(made, 9)):
        with suppress(FrameError):
            read(made)


@pytest.mark.parametrize(("length", "made"), [(0, "00"), (127, "7f"), (128, "8001"), (16384, "808001")])
def test_lengths(length: int, made: str) -> None:
    assert length_bytes(length).hex() == made


def test_topics_are_read_up_to_a_number() -> None:
    assert filters_asked(b"\0\1" + b"\0\1a\1\0\2bc\0" + b"\0\1a\1", 3) == {"a", "bc"}
    assert filters_left(b"\0\1" + b"\0\1a\0\2bc", 3) == {"a", "bc"}
    for read, one in ((filters_asked, b"\0\0\1"), (filters_left, b"\0\0")):
        with pytest.raises(FrameError, match="more than 3 topics"):
            read(b"\0\1" + one * 4, 3)


def test_packets() -> None:
    assert connack(Code.AWAY) == b"\x20\x02\x00\x03"
    assert packet(0xC0, b"") == b"\xc0\x00"
