"""A stream that is killed again and again tells everything once.

Two kills and a short log by default; ``KILLS=20 OPS=200000`` makes it a long one.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nearcast.language.oplog import encode_op
from nearcast.log.client import Log
from nearcast.log.packet import encode_lines
from nearcast.log.server import NatsServer
from nearcast.match.kernel import Kernel
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.notification import Notification
from nearcast.model.shape import Point
from nearcast.model.statement import Publication
from nearcast.stream.backtest import definitions_from
from tests.seeds import FIRST_SEED
from tests.stream.test_backtest import rows_in, rows_of

KILLS, OPS = int(os.environ.get("KILLS", "2")), int(os.environ.get("OPS", "3000"))
CLIENTS = 60
STATEMENTS = """
LAYER zones ('a' AT DISC(2.35 48.85, 900 m), 'b' AT DISC(2.36 48.86, 1500 m), 'c' AT BOX(2.33 48.84, 2.345 48.87));
SUBSCRIBE inside BY desk SELECT WHERE &location IN LAYER zones;
SUBSCRIBE standing BY desk SELECT WHERE &location IN LAYER zones DWELL 20 s;
SUBSCRIBE near BY scout SELECT NEAREST 2;
"""


def a_log(size: int) -> Iterator[ops.Op]:
    """Walkers who publish themselves, a scout who only looks, a tick now and then, and a change of mind half-way."""
    dice, second = random.Random(FIRST_SEED), 1_000_000
    at = {f"walker{i}": [dice.uniform(2.32, 2.38), dice.uniform(48.83, 48.88)] for i in range(CLIENTS)}
    now = 1_700_000_000 * second
    for name in at:
        yield ops.Publish(now, Publication("self", name))
    at["scout"] = [2.35, 48.85]
    for number in range(size):
        now += dice.randrange(second)
        name = dice.choice(list(at))
        at[name] = [v + dice.gauss(0, 0.001) for v in at[name]]
        yield ops.Move(now, name, Position(Point(*at[name])))
        if number % 200 == 0:
            yield ops.Tick(now)
        if number == size // 2:
            yield ops.Forget(now, "walker1")
    yield ops.Tick(now)


async def append(url: str, log: Sequence[ops.Op]) -> None:
    async with Log(url) as out:
        await out.create()
        for start in range(0, len(log), 50):
            await out.append(encode_lines([encode_op(op) for op in log[start : start + 50]]))


async def heard(url: str) -> list[str]:
    """The ids that the stream of notifications has, in order."""
    async with Log(url) as log:
        found = await log.client.jetstream().stream_info("nearcast-out")
        reader = await log.client.jetstream().subscribe("nearcast.out.>", ordered_consumer=True)
        told = [json.loads((await reader.next_msg(timeout=20)).data)["id"] for _ in range(found.state.messages)]
        await reader.unsubscribe()
        return told


def expected(statements: Path, log: Sequence[ops.Op]) -> list[Notification]:
    kernel, told = Kernel(), list[Notification]()
    for op in (*(replace(op, time=log[0].time) for op in definitions_from(subscriptions=str(statements))), *log):
        told += kernel.apply(op)
    return told


def test_everything_is_told_once(tmp_path: Path) -> None:
    log, dice = list(a_log(OPS)), random.Random(FIRST_SEED)
    statements, out = tmp_path / "watch.lacl", tmp_path / "out"
    statements.write_text(STATEMENTS, encoding="utf-8")
    told = expected(statements, log)
    with NatsServer(tmp_path / "nats") as server:
        asyncio.run(append(server.url, log))
        most = max(5, len(log) // 50 // (8 * KILLS))
        command = [
            sys.executable, "-m", "nearcast.cli", "stream", "--nats", server.url, "--to-nats", server.url, "--once",
            "--subscriptions", str(statements), "--out", str(out), "--most", str(most),
        ]  # fmt: skip
        killed = 0
        while killed < KILLS:
            running = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
            before, limit = _done(out), dice.uniform(0, 6)
            _wait(lambda running=running, before=before: running.poll() is not None or _done(out) > before, 90)
            time.sleep(limit)
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                killed += 1
            running.wait()
            assert running.returncode in (0, -signal.SIGKILL)
            if running.returncode == 0:
                break
        subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL)
        assert rows_in(out) == rows_of(told)
        assert Counter(asyncio.run(heard(server.url))) == Counter(n.id for n in told)
    assert killed == KILLS or (killed and OPS < 10_000), f"it ended after {killed} kills"


def _done(out: Path) -> int:
    """How many batches have written something."""
    return len({path.name.split("-share")[0] for path in out.glob("day=*/*.parquet")})


def _wait(until: object, seconds: float) -> None:
    assert callable(until)
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        time.sleep(0.05)
