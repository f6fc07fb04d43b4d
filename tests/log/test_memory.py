"""What is freed is given back."""

from __future__ import annotations

import asyncio
import platform
import random
from pathlib import Path

import pytest

from nearcast.log import memory


def resident() -> float:
    """Megabytes."""
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
async def test_what_is_free_between_what_is_not_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "EVERY", 0.01)
    before, dice = resident(), random.Random(0)
    held = [bytes(dice.randrange(600, 4000)) for _ in range(50_000)]
    full = resident()
    assert full > before + 100
    dice.shuffle(held)
    del held[500:]
    giving = asyncio.create_task(memory.give_back())
    async with asyncio.timeout(10):
        while resident() > before + (full - before) / 2:
            await asyncio.sleep(0.01)
    giving.cancel()
    assert len(held) == 500
