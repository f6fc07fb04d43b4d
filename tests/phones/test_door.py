"""Who comes in by MQTT, and what each may say and hear there. Server, door and clients are real ones."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import ssl
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nats
import pytest
import trustme

from nearcast.gateway.grants import Role
from nearcast.gateway.identity import revoke
from nearcast.phones.door import TURN, Few, Limits
from nearcast.phones.frames import Code, Connect, Kind, packet
from tests.phones.running import Handset, Stage, fresh, location, native, taken, until

FUZZ = int(os.environ.get("FUZZ", "300"))
"""Connections that are not MQTT, or not for long."""
PING = packet(Kind.PINGREQ << 4, b"")
REFUSED = 128
"""The code of a subscription that is not granted."""


async def test_a_token_is_needed_and_it_is_ones_own(stage: Stage) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    token = stage.token(ann)
    stage.token(bob)
    async with stage.phones() as phones:
        for user, password in ((ann, "wrong"), (bob, token), (ann, ""), ("", token), ("nearcast", token)):
            with Handset(user, password, phones.port) as handset:
                assert await handset.answer() in (Code.BAD_PASSWORD + 130, Code.NOT_ALLOWED + 130)
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0


async def test_any_token_of_a_client_will_do(stage: Stage) -> None:
    ann = fresh("ann")
    tokens = stage.token(ann), stage.token(ann)
    async with stage.phones() as phones:
        for token in tokens:
            with Handset(ann, token, phones.port) as handset:
                assert await handset.answer() == 0


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_what_one_may_hear(stage: Stage, qos: int) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    tokens = stage.token(ann), stage.token(bob)
    async with stage.phones() as phones:
        with Handset(ann, tokens[0], phones.port) as handset, Handset(bob, tokens[1], phones.port) as other:
            assert await handset.answer() == await other.answer() == 0
            own = [f"owntracks/{ann}/#", f"owntracks/{ann}/+", f"owntracks/{ann}/+/event", f"owntracks/{ann}/phone/cmd"]
            assert await handset.listen(*own, qos=qos) == [qos] * len(own)
            others = [
                f"owntracks/{bob}/#", f"owntracks/{bob}/phone", f"owntracks/{bob}/+", "owntracks/+/+", "owntracks/#",
                "owntracks/+/+/event", "#", "+/#", "+/+/+", "+/+/+/event", "$MQTT/sub/#", "$MQTT/#", "$MQTT/msgs/#",
                "$MQTT/+/x", "$MQTT/msgs/owntracks/#", "$JS/#", "$JS/API/#", "$JS/ACK/#", "$SYS/#", "$KV/#", "$O/#",
                "nearcast/#", "nearcast/ops", f"nearcast/out/{ann}", f"nearcast/out/{bob}", "nearcast/ask/+",
                "_INBOX/#", f"owntracks/{ann}",
            ]  # fmt: skip
            *refused, level = [(await handset.listen(topic, qos=qos))[0] for topic in others]
            assert dict(zip(others, refused, strict=False)) == dict.fromkeys(others[:-1], REFUSED)
            assert level == qos, "what # stands for, too"
            for sent in (1, 0):
                other.send(location(1, 2), qos=sent)
                other.send(location(1, 2), about="event", qos=sent)
            await until("bob's fixes came", lambda: phones.register.phones.get(bob))
            await handset.sent(location(3, 4))
            await until("ann hears herself", lambda: not handset.came.empty())
            await asyncio.sleep(0.2)
            assert {message.topic.split("/")[1] for message in handset.rest()} == {ann}


async def test_what_one_may_say(stage: Stage) -> None:
    """What may not be said is not heard by anyone, not even by the log. The server ends no connection for it."""
    ann, bob = fresh("ann"), fresh("bob")
    token = stage.token(ann)
    stage.token(bob)
    own = await nats.connect(stage.server.url)
    heard = [await own.subscribe(subject) for subject in (f"owntracks.{bob}.>", "nearcast.>", "other.>", "$JS.API.x")]
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            for qos in (0, 1, 2):
                handset.send(location(1, 2), user=bob, qos=qos)
                handset.send(location(1, 2), user=bob, about="event", qos=qos)
                topics = ("nearcast/ops", "nearcast/out/x", "nearcast/ask/health", "other/x", "$JS/API/x")
                for topic in (*topics, "$MQTT/msgs/owntracks", f"$MQTT/msgs/owntracks/{bob}/phone"):
                    handset.client.publish(topic, json.dumps(location(1, 2)), qos=qos)
            await handset.sent(location(5, 6))
            await until("ann's own", lambda: phones.register.phones.get(ann))
        await asyncio.sleep(0.3)
        assert bob not in phones.register.phones
    ticks = [sub for sub in heard if sub.pending_msgs]
    for sub in ticks:
        while sub.pending_msgs:
            message = await sub.next_msg()
            assert b"_type" not in message.data, message.subject
    assert len(await stage.ops(bob)) == 0
    await own.close()


async def test_a_will_speaks_for_its_own_only(stage: Stage) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    token = stage.token(ann)
    async with stage.phones() as phones:
        for name in (bob, ann):
            handset = Handset(ann, token, phones.port)
            handset.client.will_set(f"owntracks/{name}/phone", json.dumps({"_type": "lwt", "tst": 1}), 1, retain=True)
            handset.__enter__()
            assert await handset.answer() == 0
            await handset.sent(location(1, 2))
            sock: Any = handset.client.socket()
            handset.client.loop_stop()
            sock.shutdown(2)
        await until("it is gone", lambda: ann in phones.register.phones and not phones.register.phones[ann].is_here)
        assert bob not in phones.register.phones


async def test_a_session_is_its_clients_whatever_others_call_theirs(stage: Stage) -> None:
    """Two clients with the same id do not meet: neither is thrown out, and what waits for one is not the other's."""
    ann, bob = fresh("ann"), fresh("bob")
    tokens = stage.token(ann), stage.token(bob)
    async with stage.phones() as phones:
        with Handset(bob, tokens[1], phones.port, name="phone", clean=False) as victim:
            assert await victim.answer() == 0
            assert await victim.listen(f"owntracks/{bob}/#") == [1]
            for clean in (False, True):
                with Handset(ann, tokens[0], phones.port, name="phone", clean=clean) as thief:
                    assert await thief.answer() == 0
                    await thief.sent(location(1, 2))
                    assert thief.came.empty()
            assert victim.lost.empty()
        with Handset(bob, tokens[1], phones.port) as again:
            assert await again.answer() == 0
            await again.sent(location(3, 4))
        for clean in (False, True):
            with Handset(ann, tokens[0], phones.port, name="phone", clean=clean) as thief:
                assert await thief.answer() == 0
                await asyncio.sleep(0.1)
                assert thief.came.empty()
        with Handset(bob, tokens[1], phones.port, name="phone", clean=False) as victim:
            assert json.loads((await taken(victim.came)).payload)["lon"] == 3, "it waited for bob"


async def test_whose_token_is_revoked_goes(stage: Stage) -> None:
    ann = fresh("ann")
    token, other = stage.token(ann), stage.token(fresh("bob"))
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            revoke(stage.tokens, client=ann)
            began = time.monotonic()
            await taken(handset.lost)
            assert time.monotonic() < began + 15
        stage.admit()
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() != 0
        del other


async def test_the_server_itself_lets_go_of_whom_it_may_not_know_any_more(stage: Stage) -> None:
    """Should the door not notice: a session of one who was revoked is ended by the server, too."""
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            stage.server.admit(())
            await taken(handset.lost)
        stage.admit()


async def test_nobody_gets_past_the_door(stage: Stage) -> None:
    """At the server's own port a token is no password, whatever name one gives."""
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones():
        for user in (ann, f"nats/{ann}", "nearcast", "mqtt"):
            with Handset(user, token, stage.mqtt) as handset:
                assert await handset.answer() != 0


async def test_only_operators_hear_by_nats_and_that_alone(stage: Stage) -> None:
    ann, bob, boss = fresh("ann"), fresh("bob"), fresh("boss")
    token, other = stage.token(boss, Role.OPERATOR), stage.token(ann)
    url = f"nats://{stage.server.url.rpartition('@')[2]}"
    faults: list[str] = []

    async def note(fault: Exception) -> None:
        faults.append(str(fault).lower())

    inbox = f"_INBOX_{boss}".encode()
    client = await native(url, f"nats/{boss}", token, error_cb=note, inbox_prefix=inbox)
    own = await client.subscribe(f"nearcast.out.{ann}")
    shut = [">", "nearcast.ops", "nearcast.ahead", "nearcast.ask.*", "$JS.>", "$SYS.>", "$KV.>",
            "$MQTT.sub.>", "$MQTT.msgs.>", f"owntracks.{ann}.>", "owntracks.>", "_INBOX.>", "$O.>"]  # fmt: skip
    for subject in shut:
        await client.subscribe(subject)
    await until("all are refused", lambda: len(faults) >= len(shut))
    assert all("permissions violation" in fault for fault in faults)
    for subject in ("$JS.API.STREAM.NAMES", "$JS.API.DIRECT.GET.KV_nearcast-phones", "nearcast.ask.health"):
        with pytest.raises(nats.errors.Error):
            await client.request(subject, b"{}", timeout=0.3)
    await stage.say(
        {"op": "publish", "client": bob, "id": "here", "text": "PUBLISH AT POINT(10 10)"},
        {"op": "subscribe", "client": ann, "id": "near", "text": "SELECT WHERE &location WITHIN 1 km OF #location"},
        {"op": "move", "client": ann, "lon": 10, "lat": 10},
    )
    assert json.loads((await own.next_msg(timeout=10)).data)["kind"] == "enter"
    await client.close()
    for name, password in ((boss, other), (ann, other), (ann, token)):
        with pytest.raises(nats.errors.Error):
            await native(url, f"nats/{name}", password)


# ---- how much ------------------------------------------------------------------------------------------


async def test_a_packet_that_is_too_large_ends_the_connection(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones(Limits(packet=4096)) as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            handset.send(b"x" * 5000)
            await taken(handset.lost)
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0


async def _moves(stage: Stage, client: str, count: int) -> bool:
    """What the server has acknowledged is in the log a little later, at least once."""
    return len({op.time for op in await stage.ops(client) if type(op).__name__ == "Move"}) == count


async def test_one_that_sends_too_much_is_read_more_slowly_and_loses_nothing(stage: Stage) -> None:
    ann, bob = fresh("ann"), fresh("bob")
    tokens = stage.token(ann), stage.token(bob)
    async with stage.phones(Limits(rate=5)) as phones:
        with Handset(ann, tokens[0], phones.port) as handset, Handset(bob, tokens[1], phones.port) as other:
            assert await handset.answer() == await other.answer() == 0
            began, start = time.monotonic(), time.time() - 1000
            for step in range(60):
                handset.send(location(step / 100, 0, start + step))
            await other.sent(location(1, 1))
            assert handset.acked.qsize() < 60, "others do not wait"
            for _ in range(60):
                await taken(handset.acked)
            assert time.monotonic() > began + 1, "50 at once, then 5 a second"
        await until("60 moves in the log", lambda: _moves(stage, ann, 60), patience=90)


async def test_a_will_counts_when_it_comes(stage: Stage) -> None:
    """It is said when its phone goes without a word: whoever comes and goes says as much as with any other packet."""
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones(Limits(rate=10)) as phones:
        began = time.monotonic()
        for _ in range(3):
            handset = Handset(ann, token, phones.port)
            handset.client.will_set(f"owntracks/{ann}/phone", "x" * 10_000, 1)
            with handset:
                assert await handset.answer() == 0
        assert time.monotonic() > began + 1, "each counts as 51 packets, of 100 at once and 10 a second"


async def test_topics_and_connections_are_counted(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones(Limits(topics=3, connections=2)) as phones:
        with ExitStack() as stack:
            first, second = (stack.enter_context(Handset(ann, token, phones.port)) for _ in range(2))
            assert await first.answer() == await second.answer() == 0
            third = stack.enter_context(Handset(ann, token, phones.port))
            assert await third.answer() == Code.NOT_ALLOWED + 130
            assert await first.listen(*(f"owntracks/{ann}/{n}" for n in range(3))) == [1, 1, 1]
            first.client.subscribe(f"owntracks/{ann}/4")
            await taken(first.lost)
            assert second.lost.empty()


async def test_as_large_a_packet_as_is_allowed_is_taken(stage: Stage) -> None:
    """It counts as all that is allowed at once, not as more, so that nobody sends it for ever."""
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            handset.send(b"x" * 210_000)
            handset.send(b"x" * 262_000)
            for _ in range(2):
                await taken(handset.acked)
            assert handset.lost.empty()


async def test_a_topic_that_is_left_does_not_count(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones(Limits(topics=3)) as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            for number in range(9):
                topic = f"owntracks/{ann}/{number}"
                for _ in range(2):
                    assert await handset.listen(topic, f"owntracks/{ann}/+/event") == [1, 1]
                handset.client.unsubscribe(topic)
            handset.client.subscribe([(f"owntracks/{ann}/{number}", 1) for number in range(3)])
            await taken(handset.lost)


async def test_pings_are_counted_for_each_connection(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    async with stage.phones(Limits(rate=20)) as phones:
        reader, writer = await asyncio.open_connection("127.0.0.1", phones.port)
        writer.write(Connect("pings", ann, token).encoded())
        assert (await reader.readexactly(4))[-1] == Code.ACCEPTED
        other, to_other = await asyncio.open_connection("127.0.0.1", phones.port)
        to_other.write(Connect("other", ann, token).encoded())
        assert (await other.readexactly(4))[-1] == Code.ACCEPTED
        writer.write(PING * 2000)
        await reader.readexactly(len(PING) * 200)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(len(PING) * 200), 3)
        to_other.write(PING * 150)
        await asyncio.wait_for(other.readexactly(len(PING) * 150), 5)  # as one they would need more than seven seconds
        for one in (writer, to_other):
            one.close()


async def test_one_that_sends_much_lets_others_have_their_turn(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also an operator, who has no rate."""
    boss = fresh("boss")
    token = stage.token(boss, Role.OPERATOR)
    turns, passed = 0, Counter[int]()

    def counted(first: int, body: bytes) -> bytes:
        passed[turns] += first == PING[0]
        return packet(first, body)

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr("nearcast.phones.door.packet", counted)
    async with stage.phones() as phones:
        reader, writer = await asyncio.open_connection("127.0.0.1", phones.port)
        writer.write(Connect("pings", boss, token).encoded())
        assert (await reader.readexactly(4))[-1] == Code.ACCEPTED
        turning = asyncio.create_task(turn())
        writer.write(PING * 20_000)
        await asyncio.wait_for(reader.readexactly(len(PING) * 20_000), 60)
        turning.cancel()
        writer.close()
    assert passed.total() == 20_000
    assert max(passed.values()) <= 2 * TURN


async def test_bytes_that_are_not_mqtt_do_no_harm(stage: Stage) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    dice = random.Random(FUZZ)
    async with stage.phones() as phones:
        with Handset(ann, token, phones.port) as handset:
            assert await handset.answer() == 0
            for number in range(FUZZ):
                reader, writer = await asyncio.open_connection("127.0.0.1", phones.port)
                junk = dice.randbytes(dice.randrange(200))
                hello = Connect(f"x{number}", ann, token).encoded()
                cut = dice.randrange(len(hello))
                writer.write((junk, hello + junk, hello[:cut] + junk, bytes((dice.randrange(256),)) * 9)[number % 4])
                writer.write_eof()
                await asyncio.wait_for(reader.read(), 5)
                writer.close()
            await handset.sent(location(1, 2))
            await until("it goes on", lambda: phones.register.phones.get(ann))


# ---- TLS -----------------------------------------------------------------------------------------------


async def test_with_a_certificate(stage: Stage, tmp_path: Path) -> None:
    ann = fresh("ann")
    token = stage.token(ann)
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1", "localhost").private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    trusts, doubts = ssl.create_default_context(), ssl.create_default_context()
    authority.configure_trust(trusts)
    async with stage.phones(cert=tmp_path / "both.pem", key=tmp_path / "both.pem") as phones:
        with Handset(ann, token, phones.port, tls=trusts) as handset:
            assert await handset.answer() == 0
            await handset.sent(location(1, 2))
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection("127.0.0.1", phones.port, ssl=doubts)
        with Handset(ann, token, phones.port) as handset:
            await taken(handset.lost)
            assert handset.codes.empty()


def test_strangers_do_not_fill_a_disk_with_what_is_logged_of_them() -> None:
    few = Few(lines=3, seconds=0.2)

    def kept(text: str) -> str | None:
        record = logging.LogRecord("door", logging.INFO, __file__, 1, "one: %s", (text,), None)
        return record.getMessage() if few.filter(record) else None

    assert [kept(str(number)) for number in range(9)] == ["one: 0", "one: 1", "one: 2", *[None] * 6]
    time.sleep(0.2)
    assert [kept("a"), kept("b")] == ["one: a (before it, 6 lines were left out)", "one: b"]
    time.sleep(0.2)
    assert kept("c") == "one: c"
