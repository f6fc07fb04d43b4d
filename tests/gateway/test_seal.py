"""Nobody learns from a cursor how much others are told, and nobody makes one."""

from __future__ import annotations

import asyncio
import json

import nats
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from nearcast.cli import cli
from nearcast.errors import GatewayError
from nearcast.gateway.call import Settings
from nearcast.gateway.seal import BEGINNING, LENGTH, Seal
from nearcast.log.client import Log
from nearcast.log.server import NatsServer
from nearcast.log.subjects import KEYS, OUT_STREAM
from tests.gateway.running import gateway, hear, listen, notification, teller

SEAL = Seal(b"k" * 32)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
sequences = st.integers(0, 2**63 - 1)


@given(sequences)
def test_only_the_key_opens_it(sequence: int) -> None:
    for cursor in (SEAL.event(sequence), SEAL.now(sequence)):
        assert SEAL.open(cursor) == SEAL.known(cursor) == sequence
        assert Seal(b"x" * 32).open(cursor) is None
    assert SEAL.event(sequence) == SEAL.event(sequence)
    assert SEAL.now(sequence) != SEAL.now(sequence)


@given(sequences, st.integers(0, 31), st.sampled_from(ALPHABET))
def test_one_cannot_be_turned_into_another(sequence: int, at: int, character: str) -> None:
    cursor = SEAL.event(sequence)
    other = cursor[:at] + character + cursor[at + 1 :]
    assert other == cursor or SEAL.open(other) is None


@given(st.text() | st.text(ALPHABET, min_size=32, max_size=32))
def test_what_is_none_is_refused(text: str) -> None:
    if text == BEGINNING:
        return
    with pytest.raises(GatewayError) as refused:
        SEAL.known(text, "ack")
    assert (refused.value.status, refused.value.field) == (422, "ack")


async def test_a_system_has_one_key(server: NatsServer) -> None:
    async with Log(server.url) as one, Log(server.url) as two:
        seals = await asyncio.gather(*(Seal.of(log) for log in (one, two) * 5))
    assert len({seal.event(7) for seal in seals}) == 1


async def test_nothing_that_one_is_shown_says_how_much_others_are_told(server: NatsServer) -> None:
    """All that a client sees is either of its own events, or differs each time, whether or not others are told."""
    async with gateway(server.url, Settings(heartbeat=0.05)) as door, teller(server.url) as told:
        client = await door.client("ann")
        await told.tell("ann")
        async with door.socket("ann", BEGINNING) as socket:
            beats = [json.loads(await socket.recv()) for _ in range(6)]
        shown = [beat["at"] for beat in beats if "at" in beat]
        for path in ("/v1/notifications", "/v1/cursor"):
            for _ in range(3):
                said = (await client.get(path)).json()
                shown.append(said.get("at") or said["cursor"])
        assert len(set(shown)) == len(shown) > 8
        body = json.dumps((await client.get("/v1/notifications")).json())
        assert "sequence" not in body


async def test_a_cursor_of_a_stream_that_is_gone(server: NatsServer) -> None:
    """Whoever comes with it is told that something may be missing, and how things stand."""
    async with gateway(server.url) as door, teller(server.url) as told:
        old = (await door.seal()).event(await told.tell("ann"))
    client = await nats.connect(server.url)
    await client.jetstream().purge_stream(OUT_STREAM)
    await client.jetstream().delete_key_value(KEYS)
    await client.close()
    async with gateway(server.url) as door, teller(server.url) as told:
        told.state = {"sequence": 1, "notifications": [notification(100, "snapshot")]}
        await told.answer()
        async with door.socket("ann", after=old) as socket:
            gap, snapshot = await hear(socket, 2)
        assert [event["type"] for event in (gap, snapshot)] == ["nearcast.gap", "nearcast.snapshot"]
        [(place, event)] = await listen(await door.client("ann"), 1, after=old)
        assert (event["type"], place) == ("nearcast.gap", event["cursor"])
        refused = await (await door.client("ann")).get("/v1/notifications", params={"after": old})
        assert (refused.status_code, refused.json()["field"]) == (422, "after")


async def test_a_gap_does_not_say_whether_anyone_was_told_anything(server: NatsServer) -> None:
    """Also of a cursor that was made up, which anyone may name again and again."""
    async with gateway(server.url) as door, teller(server.url) as told:
        for _ in range(4):
            await told.tell("ann")
        await told.cut(4)
        told.state = {"sequence": 4, "notifications": [notification(100, "snapshot")]}
        await told.answer()
        seal = await door.seal()
        for after in (BEGINNING, "A" * LENGTH):
            seen: list[tuple[str, str]] = []
            for _ in range(3):
                async with door.socket("bob", after=after) as socket:
                    gap, present = await hear(socket, 2)
                assert (gap["type"], present["type"]) == ("nearcast.gap", "nearcast.snapshot")
                assert seal.open(present["cursor"]) == 4
                seen += [("gap", gap["id"]), ("gap", gap["cursor"]), ("present", present["cursor"])]
            assert len(set(seen)) == len(seen)


def test_an_id_whose_cause_is_hidden_is_the_same_each_time_and_another_with_another_key() -> None:
    one, other = "0" * 32, "1" * 32

    def shown(id_: str, seal: Seal = SEAL) -> str:
        return seal.notification(id_, "hidden")

    assert shown(one) == shown(one)
    assert len({one, shown(one), shown(other), shown(one, Seal(b"x" * 32))}) == 4
    assert len(shown(one)) == len(one)


@pytest.mark.parametrize("cause", ["fix", "entity", "timer", ""])
def test_an_id_whose_cause_is_shown_is_as_it_was_made(cause: str) -> None:
    assert SEAL.notification("0" * 32, cause) == "0" * 32


@pytest.mark.parametrize("way", ["arguments", "input"])
async def test_an_operator_finds_an_event_by_the_id_of_its_history(server: NatsServer, way: str) -> None:
    made = ["0" * 32, "1" * 32]
    async with Log(server.url) as log:
        await log.create(live=True)
        seal = await Seal.of(log)
    words = ["ids", "--nats", server.url, "--json", *(made if way == "arguments" else [])]
    done = await asyncio.to_thread(CliRunner().invoke, cli, words, "\n".join(made) if way == "input" else None)
    assert done.exit_code == 0, done.output
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said == [{"id": id_, "shown": seal.hidden(id_)} for id_ in made]
