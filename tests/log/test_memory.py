"""What is freed is given back."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, random
from pathlib import Path
from nearcast.log import memory

def resident():
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024

async def give():
    giving = asyncio.create_task(memory.give_back())
    await asyncio.sleep(0.2)
    giving.cancel()

memory.EVERY = 0.01
dice = random.Random(0)
held = [bytes(dice.randrange(600, 4000)) for _ in range(50_000)]
dice.shuffle(held)
del held[500:]
before = resident()
asyncio.run(give())
print(before, resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_is_free_between_what_is_not_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    before, after = map(float, done.stdout.split())
    assert after < before - 80
