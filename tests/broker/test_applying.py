from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nearcast.broker.applying import Applied, Refusal, apply_each, apply_packet
from nearcast.broker.lines import batch_messages
from nearcast.feed import apply_batch, notification_batch, notifications_of
from nearcast.language.oplog import encode_notification, encode_op
from nearcast.log.packet import ARROW, LINES, Packet, decode, encode_batch, encode_lines
from nearcast.log.telling import Told as Message
from nearcast.match.kernel import Kernel
from nearcast.testing import Log, logs, run

FEW = settings(max_examples=30, phases=[Phase.generate])


def packets_of(log: Log, cuts: list[int]) -> list[Packet]:
    """The log in packets that end where it is cut."""
    ends = sorted({cut for cut in cuts if cut < len(log)} | {len(log)})
    return [encode_lines(map(encode_op, log[a:b])) for a, b in zip([0, *ends], ends, strict=False)]


def moved(time: float, client: str, lon: float, lat: float = 0, **more: object) -> str:
    return json.dumps({"op": "move", "time": time, "client": client, "lon": lon, "lat": lat, **more})


def unexplained(message: Message) -> tuple[str, str, dict[str, Any]]:
    """Without the evidence, of which a run of fixes knows as much as is at hand."""
    return *message[:2], {**json.loads(message[2]), "why": None}


@given(st.one_of(logs(max_ops=20), logs(common=True, max_ops=20)), st.lists(st.integers(1, 80), max_size=30))
@FEW
def test_a_packet_tells_what_its_batch_tells(log: Log, cuts: list[int]) -> None:
    kernel, other = Kernel(), Kernel()
    for packet in packets_of(log, cuts):
        applied = apply_packet(kernel, packet)
        told, refused = apply_batch(other, decode(*packet), on_error="skip")
        expected = [(n.id, n.subscriber, encode_notification(n)) for n in notifications_of(told)]
        assert [unexplained(message) for message in applied.told] == [unexplained(message) for message in expected]
        assert [(r.index, r.reason) for r in applied.refused] == [
            (row["row"], row["reason"]) for row in refused.to_pylist()
        ]
    assert kernel.counts == other.counts


@given(logs(max_ops=20))
@FEW
def test_messages_are_what_the_definition_tells(log: Log) -> None:
    told = run(log)
    assert batch_messages(notification_batch(told)) == [(n.id, n.subscriber, encode_notification(n)) for n in told]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (moved(1, "al", 200), "not on the earth"),
        (moved(1, "al", 1, accuracy=-1), "accuracy is negative"),
        (moved(1, "", 1), "missing"),
        ('{"op": "move", "time": "noon", "client": "al", "lon": 1, "lat": 1}', "not a time"),
        ('{"op": "subscribe", "time": 1, "client": "al", "id": "s", "text": "SELECT WHERE"}', "line 1"),
        ("{", "not an op"),
        ('{"op": "mvoe", "time": 1, "client": "al", "lon": 1, "lat": 1}', "no op 'mvoe'; did you mean 'move'"),
        ('{"op": "fly", "time": 1, "client": "al", "lon": 1, "lat": 1}', "no op 'fly'; there are space, place"),
    ],
)
def test_what_is_wrong_is_refused_and_the_rest_applied(line: str, reason: str) -> None:
    kernel = Kernel()
    applied = apply_packet(kernel, encode_lines([moved(1, "bo", 1), line, moved(2, "bo", 2)]))
    assert applied.ops == 3
    (refusal,) = applied.refused
    assert refusal.index == 1
    assert reason in refusal.reason
    assert refusal.kind in ("", json.loads(line)["op"] if line != "{" else "")
    assert kernel.counts["Move"] == 2


@pytest.mark.parametrize("apply", [apply_packet, lambda kernel, packet: apply_each(kernel, packet, set())])
def test_a_reason_is_not_kept_at_any_length(apply: Callable[[Kernel, Packet], Applied]) -> None:
    lines = [
        json.dumps({"op": "retract", "time": 1, "client": "al", "id": "x" * 10**6}),
        json.dumps({"op": "x" * 10**6, "time": 1, "client": "al"}),
    ]
    retracted, unknown = apply(Kernel(), encode_lines(lines)).refused
    assert retracted.reason.startswith("client 'al' has no publication 'xxx")
    assert retracted.reason.endswith("…")
    assert max(retracted.size, unknown.size) < 2000


def test_a_packet_that_cannot_be_read_changes_nothing() -> None:
    kernel = Kernel()
    for packet in (Packet(ARROW, b"nonsense"), Packet("other", b"")):
        (refusal,) = apply_packet(kernel, packet).refused
        assert refusal.index is None
        assert refusal.kind == "packet"
    assert apply_packet(kernel, encode_lines([])).refused == []
    assert apply_packet(kernel, encode_batch(decode(*encode_lines([moved(1, "al", 300)])))).refused == [
        Refusal(0, "move", "the coordinate is not on the earth")
    ]


def test_a_fix_that_is_only_a_place_is_told_without_coordinates() -> None:
    """What is told stays JSON: a place has none, and "not a number" is none of JSON's."""
    kernel = Kernel()
    ops = (
        {"op": "place", "time": 0, "text": "PLACE hq AT DISC(0 0, 100 m)"},
        {"op": "publish", "time": 0, "client": "ann", "id": "me", "text": "PUBLISH"},
        {"op": "subscribe", "time": 0, "client": "bob", "id": "s", "text": "SELECT WHERE &location IN DISC(0 0, 50 m)"},
        {"op": "move", "time": 1, "client": "ann", "lon": 0, "lat": 0},
        {"op": "move", "time": 2, "client": "ann", "place": "elsewhere"},
    )
    told = [told for op in ops for told in apply_packet(kernel, Packet(LINES, json.dumps(op).encode())).told]
    enter, leave = (json.loads(payload) for _, _, payload in told)
    assert enter["why"]["fixes"]["&"]["x"] == 0
    assert (leave["kind"], "x" in leave["why"].get("fixes", {}).get("&", {})) == ("leave", False)
