from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nearcast.broker import service
from nearcast.broker.applying import FAULTY, Applied, Refusal, apply_each, apply_packet
from nearcast.broker.service import Broker
from nearcast.broker.store import Record, Store
from nearcast.errors import LogError
from nearcast.language.oplog import decode_op, encode_notification, encode_op
from nearcast.log.client import Log as OpLog
from nearcast.log.connection import connection
from nearcast.log.ending import end
from nearcast.log.packet import Packet, encode_lines
from nearcast.log.server import NatsServer
from nearcast.log.subjects import LEASES, OPS_STREAM, OUT_STREAM, SNAPSHOTS, out_subject
from nearcast.log.telling import Overtaken, Place, headers_of
from nearcast.match.kernel import Kernel
from nearcast.model.notification import Notification
from nearcast.model.op import Op, SetClient, Tick
from nearcast.testing import Log, logs, run
from tests.broker.heard import (
    QUIET,
    Heard,
    append,
    everything,
    expected,
    has_told,
    packets_of,
    running,
    tells_up_to,
    told,
    until,
)


@given(log=st.one_of(logs(max_ops=25), logs(common=True, max_ops=25)), cuts=st.lists(st.integers(1, 80), max_size=20))
@settings(max_examples=5, phases=[Phase.generate])
def test_the_broker_tells_what_the_definition_tells(
    log: Log, cuts: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with NatsServer(tmp_path_factory.mktemp("nats")) as server:
        heard = asyncio.run(_through_a_broker(server.url, log, cuts))
    notifications = run(decode_op(encode_op(op)) for op in log)
    assert told(heard) == expected(notifications)
    for one, n in zip(heard, notifications, strict=True):
        said, wanted = json.loads(one.payload), json.loads(encode_notification(n))
        why, all_of_it = said.pop("why"), wanted.pop("why")
        assert why == all_of_it or (
            why.keys() <= {"fixes"} and why.get("fixes", {}).items() <= all_of_it.get("fixes", {}).items()
        )
        assert said == wanted


async def _through_a_broker(url: str, log: Log, cuts: list[int]) -> list[Heard]:
    last = await append(url, packets_of(log, cuts))
    async with running(url) as broker:
        await tells_up_to(broker, last)
    return await everything(url)


def city(moves: int, seed: int = 0) -> list[str]:
    """Walkers who are told of each other, and some who wait a while before they are."""
    dice = random.Random(seed)
    near = "SELECT WHERE &location WITHIN 200 m OF #location"
    lines = [f'{{"op":"publish","time":0,"client":"c{i}","id":"me","text":"PUBLISH"}}' for i in range(12)]
    lines += [f'{{"op":"subscribe","time":0,"client":"c{i}","id":"s","text":"{near}"}}' for i in range(12)]
    lines.append(f'{{"op":"subscribe","time":0,"client":"c0","id":"slow","text":"{near} DWELL 2 s"}}')
    for n in range(moves):
        lon, lat = dice.uniform(0, 0.01), dice.uniform(0, 0.01)
        lines.append(
            json.dumps({"op": "move", "time": 1 + n / 10, "client": f"c{dice.randrange(12)}", "lon": lon, "lat": lat})
        )
    return lines


def packed_lines(lines: list[str], size: int = 5) -> list[Packet]:
    return [encode_lines(lines[i : i + size]) for i in range(0, len(lines), size)]


def wanted(lines: list[str]) -> list[tuple[str, str]]:
    return expected(run(map(decode_op, lines)))


SNAPPY = replace(QUIET, snapshot_seconds=0.2, safe=0)


async def test_a_broker_goes_on_where_it_was(server: NatsServer) -> None:
    lines = city(400)
    packets = packed_lines(lines)
    for part in (packets[:30], packets[30:31], packets[31:]):
        last = await append(server.url, part)
        async with running(server.url) as broker:
            await tells_up_to(broker, last)
    assert told(await everything(server.url)) == wanted(lines)


@pytest.mark.parametrize("is_alone", [True, False])
async def test_names_that_are_gone_are_forgotten(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch, is_alone: bool
) -> None:
    """Someone publishes under ever new ids, and says ever new things of himself, which changes nothing for others."""
    monkeypatch.setattr(service, "LITTER", 50_000)
    city_lines, most = city(600), 0
    lines = []
    for n, line in enumerate(city_lines):
        at = json.loads(line)["time"]
        one = {"time": at, "client": "mallory"}
        new = [
            {"op": "publish", **one, "id": f"id {n}", "text": "PUBLISH TO #owner = 'nobody'"},
            {"op": "retract", **one, "id": f"id {n}"},
            {"op": "client", **one, "attributes": {"mood": f"mood {n}"}},
        ]
        lines += [line, *map(json.dumps, new)]
    begun: list[int] = []
    packets = packed_lines(lines)
    async with AsyncExitStack() as stack:
        names = ["one"] if is_alone else ["one", "two"]
        brokers = [await stack.enter_async_context(running(server.url, name, SNAPPY)) for name in names]
        for at in range(0, len(packets), 20):
            last = await append(server.url, packets[at : at + 20])
            await until(partial(lambda last: any(has_told(broker, last) for broker in brokers), last))
            begun += [b.state.began_with for b in brokers if b.state]
            most = max([most, *(b.state.kernel.remembered for b in brokers if b.state)])
            await asyncio.sleep(0.1)
    assert len(set(begun)) > 1, "one began anew"
    assert most < 300_000
    assert told(await everything(server.url)) == wanted(lines)


async def test_a_broker_goes_on_from_a_snapshot(server: NatsServer) -> None:
    lines = city(400)
    packets = packed_lines(lines)
    last = await append(server.url, packets[:40])
    async with running(server.url, settings=SNAPPY) as broker:
        await tells_up_to(broker, last)
        await asyncio.wait_for(written(server.url, last), 10)
        await asyncio.wait_for(marked(server.url, last), 10)
    last = await append(server.url, packets[40:])
    async with running(server.url) as broker:
        await tells_up_to(broker, last)
        assert broker.counts["packets"] < len(packets), "it began at the beginning"
    assert told(await everything(server.url)) == wanted(lines)


async def written(url: str, sequence: int, count: int = 1) -> list[Record]:
    """Wait for snapshots, the last of which has a packet."""
    async with OpLog(url) as log:
        store = await Store.open(log)
        while True:
            records = await store.records()
            if len(records) >= count and records[-1].sequence >= sequence:
                return records
            await asyncio.sleep(0.05)


async def marked(url: str, sequence: int) -> None:
    """Wait until it is noted that all up to a packet was told: only then is a snapshot of it one to go on from."""
    async with OpLog(url) as log:
        store = await Store.open(log)
        while (mark := await store.told()) is None or mark.sequence < sequence:
            await asyncio.sleep(0.05)


async def test_of_a_damaged_snapshot_the_one_before_is_used(server: NatsServer) -> None:
    lines = city(300)
    packets = packed_lines(lines)
    async with running(server.url, settings=SNAPPY):
        for end in (20, 40):
            last = await append(server.url, packets[end - 20 : end])
            records = await asyncio.wait_for(written(server.url, last, end // 20), 10)
    async with connection(server.url) as client:
        bucket = await client.jetstream().object_store(SNAPSHOTS)
        nuid = (await bucket.get_info(records[-1].object)).nuid
        await client.jetstream().purge_stream(f"OBJ_{SNAPSHOTS}", subject=f"$O.{SNAPSHOTS}.C.{nuid}")
        await client.jetstream().publish(f"$O.{SNAPSHOTS}.C.{nuid}", b"not what was there")
    last = await append(server.url, packets[40:])
    async with running(server.url) as broker:
        await tells_up_to(broker, last)
        assert broker.counts["packets"] >= len(packets) - records[-2].sequence
    assert told(await everything(server.url)) == wanted(lines)


async def test_what_the_stream_lost_is_told_again(server: NatsServer) -> None:
    """By a broker that knows it still, and by one that must look it up from a snapshot."""
    lines = city(300)
    last = await append(server.url, packed_lines(lines))
    async with running(server.url, settings=SNAPPY) as broker:
        await tells_up_to(broker, last)
        await asyncio.wait_for(written(server.url, last), 10)
        before = await everything(server.url)
        await lose_tail(server.url, keep=len(before) // 2)
        fail(broker)
        await until(lambda: broker.writer is None)
        await tells_up_to(broker, last)
        assert broker.counts["packets"] == last, "it need not apply anything again"
    assert await everything(server.url) == before
    await lose_tail(server.url, keep=3)
    async with running(server.url) as broker:
        await tells_up_to(broker, last)
    assert await everything(server.url) == before


async def lose_tail(url: str, keep: int) -> None:
    """As a server does that had not everything on disk: the stream ends earlier, and goes on from there."""
    heard = (await everything(url))[:keep]
    async with connection(url) as client:
        jetstream = client.jetstream()
        config = (await jetstream.stream_info(OUT_STREAM)).config
        await jetstream.delete_stream(OUT_STREAM)
        await jetstream.add_stream(config)
        for one in heard:
            headers = headers_of(one.id, Place(one.batch, one.ordinal))
            await jetstream.publish(out_subject(one.client), one.payload, headers=headers)


async def test_the_log_is_cut_and_no_more_than_may_be(server: NatsServer) -> None:
    lines = city(500)
    packets = packed_lines(lines)
    kept = replace(SNAPPY, keep=3)
    async with running(server.url, settings=kept) as broker, OpLog(server.url) as log:
        for start in range(0, len(packets), 15):
            last = await append(server.url, packets[start : start + 15])
            await tells_up_to(broker, last)
            await asyncio.sleep(0.35)
        await asyncio.wait_for(written(server.url, last), 60)
        store, objects = await Store.open(log), await log.client.jetstream().object_store(SNAPSHOTS)
        async with asyncio.timeout(30):  # what is not needed goes a little later
            while (first := await log.first_sequence()) == 1 or len(await objects.list()) != len(await store.records()):
                await asyncio.sleep(0.05)
        records = await store.records()
        assert 1 < first <= last - 2
        assert 1 <= len(records) <= 10
        assert records[0].sequence >= first - 1
    more = city(100, seed=9)[-100:]
    last = await append(server.url, packed_lines([line.replace('"time": ', '"time": 1') for line in more]))
    async with running(server.url) as broker:
        await tells_up_to(broker, last)
        assert broker.counts["packets"] <= 10 + len(packets)
    assert len(told(await everything(server.url))) == len(set(told(await everything(server.url))))


async def test_a_log_without_its_beginning_is_a_clear_error(server: NatsServer) -> None:
    await append(server.url, packed_lines(city(50)))
    async with OpLog(server.url) as log:
        await log.client.jetstream().purge_stream(OPS_STREAM, seq=4)
    with pytest.raises(LogError, match=r"'nearcast-ops' begins at 4, and there is no snapshot to go on from"):
        await Broker(server.url, "one", QUIET).run()


async def test_a_stream_of_another_pipeline_is_a_clear_error(server: NatsServer) -> None:
    last = await append(server.url, packed_lines(city(50)))
    async with connection(server.url) as client:
        headers = headers_of("strange", Place(last, 0))
        await client.jetstream().publish(out_subject("c1"), b"{}", headers=headers)
    with pytest.raises(LogError, match="that is of another pipeline, or in another order"):
        await asyncio.wait_for(Broker(server.url, "one", QUIET).run(), 10)


async def test_no_server_is_a_clear_error() -> None:
    with pytest.raises(LogError, match="no NATS server answers"):
        await Broker("nats://127.0.0.1:1", "one").run()


async def test_bad_packets_are_counted_and_passed_over(server: NatsServer) -> None:
    lines = city(60)
    bad = [Packet("arrow", b"nonsense"), encode_lines(["{", '{"op":"tick"}']), Packet("runes", b"?")]
    last = await append(server.url, [*packed_lines(lines[:40]), *bad, *packed_lines(lines[40:])])
    async with running(server.url) as broker:
        await tells_up_to(broker, last)
        assert (broker.counts["unreadable"], broker.counts["refused"]) == (2, 2)
    assert told(await everything(server.url)) == wanted(lines)


async def test_an_op_at_which_a_kernel_fails_is_not_the_end(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused, whatever it left behind is gone, and all others count, also those of its packet."""
    apply, bomb = Kernel.apply, '{"op":"client","time":9,"client":"bomb","attributes":{"a":1}}'

    def fails(kernel: Kernel, op: Op) -> list[Notification]:
        if isinstance(op, SetClient) and op.client == "bomb":
            apply(kernel, decode_op('{"op":"tick","time":1000000}'))
            raise ZeroDivisionError("as it would be, were there a fault")
        return apply(kernel, op)

    monkeypatch.setattr(Kernel, "apply", fails)
    lines = city(200)
    hostile = [*lines[:62], bomb, *lines[62:100], bomb, bomb, *lines[100:]]
    async with running(server.url, settings=SNAPPY) as broker:
        await tells_up_to(broker, await append(server.url, packed_lines(hostile[:40])))
        await asyncio.wait_for(written(server.url, 8), 60)
        broker.settings = replace(SNAPPY, snapshot_seconds=3600)  # what was refused is known until the next one
        last = await append(server.url, packed_lines(hostile[40:]))
        await tells_up_to(broker, last)
        assert broker.refused(62 // 5 + 1) == [Refusal(62 % 5, "client", FAULTY)]
    async with running(server.url, "two") as other:
        await tells_up_to(other, last)
    assert told(await everything(server.url)) == wanted(lines)


def test_want_of_memory_is_no_fault_of_an_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another broker may have enough, and would apply it."""

    def fails(kernel: Kernel, op: Op) -> list[Notification]:
        raise MemoryError(kernel, op)

    monkeypatch.setattr(Kernel, "apply", fails)
    with pytest.raises(MemoryError):
        apply_each(Kernel(), encode_lines(['{"op":"tick","time":1}']), set())


async def test_one_that_kept_too_little_begins_again_from_a_snapshot(server: NatsServer) -> None:
    lines = city(300)
    packets = packed_lines(lines)
    kept = replace(SNAPPY, safe=60.0)  # whatever is lost here was told a moment ago
    async with running(server.url, settings=kept) as broker:
        last = await append(server.url, packets[:30])
        await tells_up_to(broker, last)
        await asyncio.wait_for(written(server.url, last), 10)
        last = await append(server.url, packets[30:])
        await tells_up_to(broker, last)
        before = await everything(server.url)
        broker._known().outbox._messages = 5
        broker._known().outbox.add(last, [])
        await lose_tail(server.url, keep=len(before) // 2)
        fail(broker)
        await until(lambda: broker.counts["packets"] > last)
        await tells_up_to(broker, last)
    assert await everything(server.url) == before


def fail(broker: Broker) -> None:
    """As if an answer had said that another wrote."""
    assert broker.writer is not None
    broker.writer._fault = Overtaken("the stream is not what it was")
    broker.writer._more.set()


async def test_one_that_lost_its_lease_falls_silent_and_nothing_is_told_twice(server: NatsServer) -> None:
    lines = city(400)
    packets = packed_lines(lines)
    async with running(server.url, "one") as one, OpLog(server.url) as log:
        await tells_up_to(one, await append(server.url, packets[:20]))
        async with running(server.url, "two") as two:
            await until(lambda: two.state and two.state.sequence == 20)
            await (await log.client.jetstream().key_value(LEASES)).purge("broker")
            last = await append(server.url, packets[20:])
            while two.writer is None:  # whoever lost it may be the first to ask again
                if one.writer is not None:
                    await (await log.client.jetstream().key_value(LEASES)).purge("broker")
                await asyncio.sleep(0.4)
            await until(lambda: one.writer is None)
            # A disk that stands still for longer than a lease has the other take over again.
            await until(lambda: has_told(one, last) or has_told(two, last))
            await until(lambda: one.state and one.state.sequence == last)
        await tells_up_to(one, last)
    assert told(await everything(server.url)) == wanted(lines)


async def test_ticks_come_from_the_one_that_tells(server: NatsServer) -> None:
    settings = replace(QUIET, ticks=True)
    async with running(server.url, "one", settings) as one, running(server.url, "two", settings) as two:
        await until(lambda: one.state and two.state and one.state.sequence == two.state.sequence >= 2)
        assert one._known().kernel.marks.everyone == two._known().kernel.marks.everyone
        async with OpLog(server.url) as log:
            ops = [decode_op(entry.payload) async for entry in log.read(1, await log.last_sequence())]
        assert all(isinstance(op, Tick) for op in ops)
        assert sorted(op.time for op in ops) == [op.time for op in ops]


async def test_a_fix_that_is_held_back_has_its_tick_and_a_timer_has_none(server: NatsServer) -> None:
    """Ticks count in what writes answer. That one was written for a timer would say that something matches."""
    dwells = [400, 750, 1100, 1450, 1800]
    text = "SELECT WHERE &location WITHIN 1 km OF #location DWELL {} ms"
    async with running(server.url, settings=replace(QUIET, ticks=True)) as broker:
        await until(lambda: broker.state and broker.state.sequence >= 1)
        began = time.time()
        there: list[dict[str, object]] = [
            {"op": "publish", "client": "bo", "id": "me", "text": "PUBLISH"},
            {"op": "move", "client": "al", "lon": 1, "lat": 1},
            {"op": "move", "client": "bo", "lon": 1, "lat": 1},
            {"op": "client", "client": "cy", "lateness": 0.9},
            {"op": "move", "client": "cy", "lon": 1, "lat": 1},
        ]
        there += [{"op": "subscribe", "client": "al", "id": f"s{ms}", "text": text.format(ms)} for ms in dwells]
        await append(server.url, [encode_lines([json.dumps({**op, "time": began}) for op in there])])
        await until(lambda: len(broker._known().outbox) >= len(dwells))
        await asyncio.sleep(2)
        async with OpLog(server.url) as log:
            entries = [entry async for entry in log.read(1, await log.last_sequence())]
    ops = [decode_op(line) for entry in entries for line in entry.payload.splitlines()]
    ticks = [op.time / 1e6 - began for op in ops if isinstance(op, Tick)]
    after = [min(tick for tick in ticks if tick >= ms / 1000) - ms / 1000 for ms in (900, *dwells)]
    assert after[0] < 0.24, ticks
    assert statistics.median(after) < 0.35, after
    apart = [later - tick for tick, later in pairwise(ticks) if tick > 0.95]
    assert min(apart) > 0.2, ticks


async def test_a_notification_that_is_too_large_says_so(tmp_path: Path) -> None:
    with NatsServer(tmp_path, max_payload=4096) as server:
        content = json.dumps({"long": "x" * 3600})
        lines = [
            json.dumps({"op": "publish", "time": 1, "client": "bo", "id": "me", "text": f"PUBLISH CONTENT {content}"}),
            json.dumps({"op": "subscribe", "time": 1, "client": "al", "id": "s", "text": "SELECT"}),
        ]
        last = await append(server.url, packed_lines(lines, 1))
        async with running(server.url) as broker:
            await tells_up_to(broker, last)
        (heard,) = await everything(server.url)
        assert told([heard]) == wanted(lines)
        said = json.loads(heard.payload)
        assert (said["content"], said["cut"]) == (None, True)


async def test_one_that_has_much_to_do_keeps_its_lease(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def slowly(kernel: Kernel, packet: Packet) -> Applied:
        time.sleep(0.3)
        return apply_packet(kernel, packet)

    lines = city(60)
    packets = packed_lines(lines)
    await append(server.url, packets[:1])
    with caplog.at_level("INFO"):
        async with running(server.url, settings=replace(QUIET, lease=3)) as broker:
            await tells_up_to(broker, 1)
            monkeypatch.setattr(service, "apply_packet", slowly)
            last = await append(server.url, packets[1:])
            await tells_up_to(broker, last)
            assert [record.message for record in caplog.records if "silent" in record.message] == []
    assert told(await everything(server.url)) == wanted(lines)


async def test_one_that_lost_its_server_tells_at_once_though_there_is_much_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(kernel: Kernel, packet: Packet) -> Applied:
        time.sleep(0.2)
        return apply_packet(kernel, packet)

    lines = city(150)
    packets = packed_lines(lines)
    server = NatsServer(tmp_path / "nats")
    server.start()
    url = server.url
    await append(url, packets[:1])
    async with running(url) as broker:
        await tells_up_to(broker, 1)
        monkeypatch.setattr(service, "apply_packet", slowly)
        last = await asyncio.to_thread(asyncio.run, append(url, packets[1:]))  # this loop has much to do
        server.kill()
        await until(lambda: broker.writer is None)
        with NatsServer(tmp_path / "nats", port=urlsplit(url).port or 0):
            await until(lambda: broker.writer is not None)
            assert broker.state is not None
            assert broker.state.sequence < last - 5
            await tells_up_to(broker, last)
            assert told(await everything(url)) == wanted(lines)


async def test_what_is_ended_twice_leaves_nothing_behind() -> None:
    """A task that ends others is cancelled again before they are done."""
    left: list[str] = []

    async def stubborn() -> None:
        for _ in range(4):
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        left.append("stubborn")

    async def outer() -> None:
        task = asyncio.create_task(stubborn())
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await end(task)
            finally:
                left.append("outer")

    work = asyncio.create_task(outer())
    await asyncio.sleep(0.01)
    await end(work)
    assert work.cancelled()
    assert left == ["stubborn", "outer"]
