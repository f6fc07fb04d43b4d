"""A log as a file says what the log says."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from nearcast.cli import cli
from nearcast.errors import LogError, OpError
from nearcast.language.oplog import decode_op
from nearcast.log.client import Log
from nearcast.log.export import Exported, export, lines_of
from nearcast.log.packet import ARROW, LINES, Packet, decode, encode_batch, encode_lines
from nearcast.log.reading import Entry
from nearcast.log.server import NatsServer, url_of
from nearcast.log.subjects import OPS_STREAM
from nearcast.model import schema

LINES_OF_LOG = [
    '{"op": "publish", "time": 1, "client": "bp", "id": "gas", "text": "PUBLISH AT POINT(-122.4 37.7)"}',
    '{"op": "move", "time": 3.5, "client": "al", "lon": -122.401, "lat": 37.7, "alt": 3, "accuracy": 5}',
    '{"op": "move", "time": 4, "client": "al", "place": "hq/2"}',
    "not an op",
    '{"op": "tick", "time": "2026-01-31T08:00:00Z"}',
]
GOOD = [0, 1, 2, 4]


@pytest.mark.parametrize("form", [LINES, ARROW])
def test_the_lines_of_a_packet_are_its_ops(form: str) -> None:
    packet = encode_lines(LINES_OF_LOG)
    if form == ARROW:
        packet = encode_batch(decode(*packet))
    found = [line.decode() for line in lines_of(Entry(1, *packet))]
    assert [decode_op(found[i]) for i in GOOD] == [decode_op(LINES_OF_LOG[i]) for i in GOOD]
    assert found[3] == LINES_OF_LOG[3]


def test_each_op_is_one_line() -> None:
    """Whoever writes Arrow may have broken lines in it, and fixes that are none."""
    row = {"time": 5, "line": '{"op":\n"tick", "time": 5}'}
    packet = encode_batch(pa.RecordBatch.from_pylist([row, {"time": 6, "client": "al"}], schema.OPS))
    tick, fix = lines_of(Entry(1, *packet))
    assert decode_op(tick) == decode_op('{"op":"tick","time":5}')
    with pytest.raises(OpError, match="a move needs lon and lat"):
        decode_op(fix)


async def filled(url: str) -> None:
    async with Log(url) as log:
        await log.create()
        packet = encode_lines(LINES_OF_LOG)
        for one in (packet, Packet(ARROW, b"no Arrow"), encode_batch(decode(*packet))):
            await log.append(one)


async def test_a_log_is_exported_in_order(server: NatsServer, tmp_path: Path) -> None:
    await filled(server.url)
    out = tmp_path / "log.jsonl"
    assert await export(server.url, out) == Exported(first=1, last=3, ops=10, unreadable=1)
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [decode_op(lines[i]) for i in GOOD] == [decode_op(lines[i + 5]) for i in GOOD]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "nats"]


async def test_a_log_that_was_cut_says_where_it_begins(server: NatsServer, tmp_path: Path) -> None:
    await filled(server.url)
    async with Log(server.url) as log:
        await log.client.jetstream().purge_stream(OPS_STREAM, seq=3)
    assert await export(server.url, tmp_path / "log.jsonl") == Exported(first=3, last=3, ops=5)


async def test_a_log_with_nothing_in_it(server: NatsServer, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no stream"):
        await export(server.url, tmp_path / "log.jsonl")
    async with Log(server.url) as log:
        await log.create()
    assert (await export(server.url, tmp_path / "log.jsonl")).ops == 0
    assert not (tmp_path / "log.jsonl").read_bytes()


def test_export_from_the_shell(server: NatsServer, tmp_path: Path) -> None:
    asyncio.run(filled(server.url))
    out = tmp_path / "log.jsonl"
    done = CliRunner().invoke(cli, ["export", "--data", str(tmp_path), "--out", str(out), "--json"])
    assert json.loads(done.stdout) == {"first": 1, "last": 3, "ops": 10, "unreadable": 1}
    assert done.stderr == "not read: 1 packets\n"
    assert url_of(tmp_path / "nats") == server.url
    with pytest.raises(LogError, match="no NATS server runs on"):
        url_of(tmp_path)
