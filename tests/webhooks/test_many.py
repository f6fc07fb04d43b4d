"""Many webhooks, of which some are dead and some are slow: the rest do not notice.

``ENDPOINTS=1000 pytest tests/webhooks/test_many.py`` is the full size, with 50 dead and 50 slow.
"""

from __future__ import annotations

import asyncio
import os
import resource
from pathlib import Path

from nearcast.bench.webhooks import SLOW, Size, crowd, delivering, measured, typical
from nearcast.log.server import NatsServer

ENDPOINTS = int(os.environ.get("ENDPOINTS", "100"))
IS_FULL = ENDPOINTS >= 1000
SECONDS, ROUNDS = (2.0, 12) if IS_FULL else (1.0, 2)
SPARE = 5.0 if IS_FULL else 100.0
"""Milliseconds that nobody would call a delay. A machine that is busy with other tests has its own."""


async def test_the_rest_see_no_added_delay(server: NatsServer) -> None:
    """A dead endpoint costs seconds, a slow one three. What they cost the others is not more than noise."""
    few = max(2, ENDPOINTS // 20)
    size = Size(ENDPOINTS, few, few, rate=max(50.0, 0.3 * ENDPOINTS), seconds=SECONDS)
    with delivering(server.url):
        beside, alone = await measured(server.url, size, ROUNDS)
    found = {p: (typical(beside, p), typical(alone, p)) for p in (50, 99)}
    print({p: [round(time, 2) for time in times] for p, times in found.items()})  # noqa: T201
    assert found[50][0] < 1.5 * found[50][1] + SPARE
    assert found[99][0] < 2.0 * found[99][1] + 5 * SPARE
    assert max(max(turn) for turn in beside) < SLOW * 1000, "someone waited for one that is slow"


async def test_memory_is_bounded(server: NatsServer) -> None:
    """Endpoints that take nothing cost no memory, however much there is for them."""
    size = Size(20, 20, 0)
    with delivering(server.url, "--timeout", "1") as process:
        async with crowd(server.url, size) as all_:
            for client in all_.unwell:
                await all_.tell(client)
            await asyncio.sleep(2)
            before = _memory(process.pid)
            for _ in range(1000):
                for client in all_.unwell:
                    await all_.tell(client)
            await asyncio.sleep(2)
            grown = _memory(process.pid) - before
    assert grown < 20_000, f"{grown:.0f} KB for 20,000 events that nobody takes"


def _memory(pid: int) -> float:
    """Kilobytes that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return float(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def test_there_are_enough_files() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 3 * ENDPOINTS
