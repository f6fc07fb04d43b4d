"""Run the random tests again and again, each round with a seed that was never used. Run by `make soak`.

First strangers come to every door, 100,000 times each, one door after another, since memory and waiting are measured.
What it prints for a round is enough to run that round again. It stops at the first that fails, or when there is no
time left for another.
"""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
import sys
import time
from pathlib import Path

TESTS = (
    "tests/match/test_all_seeing.py",
    "tests/match/test_crowded.py",
    "tests/match/test_followed.py",
    "tests/match/test_kernel.py",
    "tests/match/test_nearest.py",
    "tests/match/test_pairs.py",
    "tests/properties",
    "tests/fuzz",
    "tests/test_feed.py",
    "tests/test_snapshot.py",
)
DOORS = ("tests/fuzz/test_described.py", "tests/fuzz/test_doors.py")
CASES = 100_000
"""For each door."""
ROOT = Path(__file__).resolve().parent.parent


def main(minutes: float) -> int:
    began, took, rounds = time.monotonic(), 0.0, 0
    if not doors(secrets.randbelow(2**31)):
        return 1
    while not rounds or time.monotonic() - began + took <= 60 * minutes:
        start = time.monotonic()
        seed = secrets.randbelow(2**31)
        done = run(seed)
        took, rounds = time.monotonic() - start, rounds + 1
        last = done.stdout.strip().splitlines()[-1:] or ["no output"]
        print(f"round {rounds}, seed {seed}: {last[0].strip('= ')}", flush=True)
        if done.returncode:
            print(done.stdout, done.stderr, f"to run this round again:\n  {again(seed)}", sep="\n")
            return 1
    print(f"{rounds} rounds in {(time.monotonic() - began) / 60:.0f} minutes, and nothing was found")
    return 0


def doors(seed: int) -> bool:
    """Whether they withstand. The figures of each are shown as they come."""
    said = {"DOOR_CASES": str(CASES), "FIRST_SEED": str(seed)}
    words = ["-m", "pytest", "-q", "-s", "--tb=short", *DOORS]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env={**os.environ, **said}, check=False)
    if done.returncode:
        again = " ".join(f"{name}={value}" for name, value in said.items())
        print(f"to run the doors again:\n  {again} {shlex.join([sys.executable, *words])}")
    return not done.returncode


def run(seed: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **settings(seed)}
    return subprocess.run(
        [sys.executable, *arguments(seed)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def settings(seed: int) -> dict[str, str]:
    return {"HYPOTHESIS_PROFILE": "soak", "FIRST_SEED": str(seed)}


def arguments(seed: int) -> list[str]:
    return ["-m", "pytest", "-q", "-n", "auto", "--tb=short", f"--hypothesis-seed={seed}", *TESTS]


def again(seed: int) -> str:
    said = " ".join(f"{name}={value}" for name, value in settings(seed).items())
    return f"{said} {shlex.join([sys.executable, *arguments(seed)])}"


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
