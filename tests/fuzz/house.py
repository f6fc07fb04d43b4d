"""All of `nearcast serve`, as strangers find it, and a look at its processes: who lives, what they hold, who waits."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import httpx

from nearcast.gateway.grants import Role
from nearcast.gateway.identity import add_token
from nearcast.gateway.seal import Seal

__all__ = ["CASES", "House", "Probe", "Sizes", "open_house"]

CASES = int(os.environ.get("DOOR_CASES", "200"))
"""What is sent to each door."""
NAMES = ("broker", "gateway", "phones", "webhooks")
CLIENTS = 8
"""So many strangers, as each has only so many requests a second."""
GROWTH, SPARE = 0.10, 16.0
"""How much more memory there may be in the end than when all was warm: a part of it, and megabytes that are noise."""
SETTLED = 30.0
"""Seconds for what was opened to be closed."""
EVERY = 0.05
"""Seconds between two looks of a normal client."""
TYPICAL, SLOWEST = 0.5, 8.0
"""Seconds that a normal client may wait: half of the time, and ever. The machine may be busy with other tests."""


@dataclass(frozen=True)
class Sizes:
    """What processes hold, by name."""

    pids: dict[str, int]
    megabytes: dict[str, float]
    files: dict[str, int]


@dataclass
class House:
    """Where the doors are, and the tokens of some who come."""

    url: str
    mqtt: int
    operator: str
    tokens: dict[str, str]
    """By client."""
    _serve: int
    _errors: Path

    @property
    def clients(self) -> list[str]:
        return list(self.tokens)

    def bearer(self, client: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[client]}"}

    @property
    def boss(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.operator}"}

    @cached_property
    def cursors(self) -> list[str]:
        """Some that there are, and one that there was nowhere."""
        asked = httpx.get(f"{self.url}/v1/notifications", headers=self.boss, timeout=20)
        return [asked.raise_for_status().json()["at"], Seal(b"of another system").event(7)]

    def sizes(self) -> Sizes:
        pids = {}
        for pid in Path(f"/proc/{self._serve}/task/{self._serve}/children").read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            name = next((name for name in NAMES if f"nearcast.{name}" in words), "nats")
            pids[name] = int(pid)
        return Sizes(
            pids,
            {name: _resident(pid) for name, pid in pids.items()},
            {name: len(os.listdir(f"/proc/{pid}/fd")) for name, pid in pids.items()},  # noqa: PTH208 (a link may be gone)
        )

    def said(self) -> str:
        """What the processes complained of."""
        return self._errors.read_text()

    def withstands(self, name: str, first: Callable[[], object], then: Callable[[], Counter[str]]) -> None:
        """The first to have all warm, then the rest, with a normal client beside it."""
        probe, began = Probe(self.url, self.tokens["normal"]), time.monotonic()
        with probe.running():
            first()
            time.sleep(1)
            warm = self.sizes()
            with self.unmoved(warm):
                came = then()
        probe.check()
        now = self.sizes()
        print(f"\n{name}: {came.total():,} in {time.monotonic() - began:.0f} s: {dict(came)}")  # noqa: T201
        print(f"  a normal client: {probe.figures}")  # noqa: T201
        for process, megabytes in now.megabytes.items():
            files = f"{warm.files[process]} → {now.files[process]} files"
            print(f"  {process}: {warm.megabytes[process]:.1f} → {megabytes:.1f} MB, {files}")  # noqa: T201

    @contextmanager
    def unmoved(self, warm: Sizes) -> Iterator[None]:
        """Whatever happens inside, the same processes hold in the end what they held when all was ``warm``."""
        before = len(self.said())
        yield
        until = time.monotonic() + SETTLED
        while (left := self._left(warm)) and time.monotonic() < until:
            time.sleep(0.5)
        assert not left, left
        assert "Traceback" not in self.said()[before:], self.said()[before:][-5000:]
        assert "Warning:" not in self.said()[before:], self.said()[before:][-5000:]

    def _left(self, warm: Sizes) -> list[str]:
        now = self.sizes()
        if now.pids != warm.pids:
            return [f"processes were {warm.pids} and are {now.pids}"]
        found = [
            f"{name} had {warm.files[name]} files open and has {now.files[name]}"
            for name in NAMES
            if now.files[name] > warm.files[name] + 2
        ]
        return found + [
            f"{name} held {warm.megabytes[name]:.1f} MB and holds {now.megabytes[name]:.1f}"
            for name in NAMES
            if now.megabytes[name] > warm.megabytes[name] * (1 + GROWTH) + SPARE
        ]


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@dataclass
class Probe:
    """A normal client, which notes how long it waits. It runs beside what is tried."""

    url: str
    token: str
    waits: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(stop,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _run(self, stop: threading.Event) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=60) as client:
            while not stop.wait(EVERY):
                began = time.monotonic()
                try:
                    moved = client.post("/v1/positions", json={"lon": 1.5, "lat": 2.5})
                    asked = client.get("/v1/subscriptions")
                except httpx.HTTPError as error:
                    self.failed.append(repr(error))
                    continue
                self.waits.append(time.monotonic() - began)
                if (moved.status_code, asked.status_code) != (202, 200):
                    self.failed.append(f"{moved.text} {asked.text}")

    @property
    def figures(self) -> str:
        if len(self.waits) < 2:
            return "not seen"
        cuts = statistics.quantiles(self.waits, n=100)
        p50, p99, most = (1000 * wait for wait in (cuts[49], cuts[98], max(self.waits)))
        return f"{len(self.waits)} pairs of requests: p50 {p50:.0f} ms, p99 {p99:.0f} ms, at most {most:.0f} ms"

    def check(self) -> None:
        assert not self.failed, self.failed[:3]
        assert self.waits, "a normal client got no answer"
        assert statistics.median(self.waits) < TYPICAL, self.figures
        assert max(self.waits) < SLOWEST, self.figures


@contextmanager
def open_house(folder: Path) -> Iterator[House]:
    data = folder / "data"
    words = ["serve", "--data", str(data), "--port", "0", "--mqtt", "0", "--brokers", "1", "--json"]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "nearcast.cli", *words], stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        assert process.stdout is not None
        at = json.loads(process.stdout.readline())
        tokens = {name: add_token(data / "tokens.json", name, Role.CLIENT) for name in _names()}
        port = int(at["mqtt"].rpartition(":")[2])
        house = House(at["url"], port, at["token"], tokens, process.pid, folder / "errors")
        _until_known(house)
        _move_in(house)
        yield house
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _names() -> list[str]:
    return ["normal", *(f"stranger-{number}" for number in range(CLIENTS))]


def _until_known(house: House) -> None:
    """The gateway looks at the file of tokens once a second."""
    until = time.monotonic() + 20
    with httpx.Client(base_url=house.url) as client:
        while any(client.get("/v1/client", headers=house.bearer(name)).status_code != 200 for name in house.tokens):
            assert time.monotonic() < until, "the tokens are not known"
            time.sleep(0.1)


def _move_in(house: House) -> None:
    """Everyone is somewhere, and says so: of one who is nowhere, little is asked."""
    with httpx.Client(base_url=house.url) as client:
        for name in house.tokens:
            there = house.bearer(name)
            assert client.post("/v1/positions", headers=there, json={"lon": 1.5, "lat": 2.5}).status_code == 202
            assert client.put("/v1/publications/here", headers=there, content="PUBLISH").status_code == 200
