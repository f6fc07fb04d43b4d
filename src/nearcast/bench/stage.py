"""What the live bench measures: a NATS server, and beside it two brokers and a gateway as ``nearcast serve`` runs them.

The world is that of the other benches: walkers among discs on a square of 100 km. A desk watches all of them in all
discs, so most fixes tell nobody or one. One more walker goes in and out of a small square that many watch.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np

from nearcast.bench.workloads import LAT, LON, PER_X, PER_Y, Walk, discs
from nearcast.log.server import NatsServer, die_with_parent
from nearcast.serve import LARGEST

__all__ = ["DESK", "HOST", "Size", "Stage", "Steps", "hall", "staged"]

SIDE = 100_000.0
DESK = "desk"
VISITOR, HOST = "visitor", "host"
"""Who crosses the square, and who crosses the hall."""
STEPS = 60
"""Steps of a walk that are known beforehand; walkers then go back the way they came."""
PATIENCE = 120.0
MENDED = 5.0
"""Seconds for a broker to read what there is."""
STOP = 30.0
LINES = 2000
"""Ops of one request while the world is made."""


@dataclass(frozen=True)
class Size:
    """How large the world is, and how many watch the square."""

    walkers: int = 2000
    regions: int = 10_000
    watchers: int = 100


class Steps:
    """The fixes of all walkers, without their times, as they are sent."""

    def __init__(self, size: Size) -> None:
        walk = Walk(size.walkers, SIDE)
        self._names = walk.names
        batches = walk.batches(size.walkers)
        steps = [_fixes(walk.names, next(batches).position) for _ in range(STEPS)]
        self._fixes = [fix for step in (*steps, *reversed(steps[1:-1])) for fix in step]
        self._next = 0
        self._inside = dict.fromkeys((VISITOR, HOST), False)

    def some(self, count: int, at: int) -> bytes:
        """The next fixes, of that many walkers, as a body of positions of a moment in microseconds."""
        end = b"%d.%06d}" % divmod(at, 10**6)
        body = (end + b",").join(self._taken(count))
        return b"[" + body + end + b"]"

    def visit(self, at: int, name: str = VISITOR) -> bytes:
        """A fix of one who goes into the square, or out again; or of the host, into the hall."""
        self._inside[name] = not self._inside[name]
        lon, lat = LON + (0 if self._inside[name] else 1000 / PER_X), LAT if name == VISITOR else LAT - 1
        return b'[{"client":"%b","lon":%.6f,"lat":%.6f,"time":%d.%06d}]' % (name.encode(), lon, lat, *divmod(at, 10**6))

    def _taken(self, count: int) -> list[bytes]:
        found = self._fixes[self._next : self._next + count]
        self._next = (self._next + count) % len(self._fixes)
        return found if len(found) == count else found + self._fixes[: count - len(found)]


def _fixes(names: list[str], position: Any) -> list[bytes]:
    return [
        b'{"client":"%b","lon":%.6f,"lat":%.6f,"time":' % (name.encode(), lon, lat)
        for name, lon, lat in zip(names, position[:, 0], position[:, 1], strict=True)
    ]


@dataclass
class Stage:
    """Everything that runs, with the world in it."""

    url: str
    token: str
    nats: NatsServer
    process: subprocess.Popen[str]
    size: Size
    steps: Steps

    def health(self) -> dict[str, Any]:
        """What the broker that tells says of itself; nothing while none does."""
        try:
            said = httpx.get(f"{self.url}/v1/health", headers=self.headers, timeout=PATIENCE).json()
        except httpx.HTTPError:
            return {}
        found: dict[str, Any] = said.get("details", {})
        return found

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def told(self) -> str:
        """A cursor that is after all that was told."""
        asked = httpx.get(f"{self.url}/v1/notifications", headers=self.headers, timeout=PATIENCE)
        return str(asked.raise_for_status().json()["at"])

    @property
    def watchers(self) -> list[str]:
        """Those who watch the square."""
        return [f"watcher{i}" for i in range(self.size.watchers)]

    @property
    def teller(self) -> int:
        """The process of the broker that tells."""
        return int(self.health()["broker"].rpartition("-")[2])

    def mend(self) -> None:
        """Wait until there are two brokers again, and the new one has read the log."""
        until = time.monotonic() + PATIENCE
        while len(self._children("nearcast.broker")) < 2 or not self.health():
            if time.monotonic() > until:
                raise TimeoutError("a broker that was killed did not come back")
            time.sleep(0.1)
        time.sleep(MENDED)

    @property
    def gateway(self) -> int:
        return self._children("nearcast.gateway")[0]

    def _children(self, module: str) -> list[int]:
        known = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in known if module in Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")]

    async def applied(self, sequence: int) -> None:
        """Wait until the broker has applied a packet."""
        until = time.monotonic() + PATIENCE
        while (await asyncio.to_thread(self.health)).get("sequence", -1) < sequence:
            if time.monotonic() > until:
                raise TimeoutError(f"packet {sequence} was not applied in {PATIENCE:g} s")
            await asyncio.sleep(0.01)

    def say(self, ops: list[dict[str, Any]]) -> None:
        """Ops of an operator, which are applied when this returns."""
        headers, sequence = {**self.headers, "Content-Type": "application/x-ndjson"}, 0
        now = time.time()
        for first in range(0, len(ops), LINES):
            lines = "\n".join(json.dumps({"time": now, **op}) for op in ops[first : first + LINES])
            answer = httpx.post(f"{self.url}/v1/positions", content=lines, headers=headers, timeout=PATIENCE)
            sequence = answer.raise_for_status().json()["sequence"]
        asyncio.run(self.applied(sequence))

    def watch(self, names: list[str], layer: str) -> None:
        """Have clients watch all that goes into a layer, or out of it."""
        text = f"SELECT WHERE &location IN LAYER {layer}"
        self.say([{"op": "subscribe", "client": name, "id": layer, "text": text} for name in names])

    def upload(self, layer: str, features: list[dict[str, Any]]) -> None:
        body = {"type": "FeatureCollection", "features": features}
        put = httpx.put(f"{self.url}/v1/layers/{layer}", json=body, headers=self.headers, timeout=PATIENCE)
        put.raise_for_status()


@contextmanager
def staged(size: Size, *, lazy: bool = False) -> Iterator[Stage]:
    """A NATS server, brokers and a gateway, with the world in them; ``lazy`` has the server sync now and then only."""
    with (
        TemporaryDirectory(prefix="nearcast-", ignore_cleanup_errors=True) as folder,
        NatsServer(Path(folder) / "nats", lazy=lazy, max_payload=LARGEST) as nats,
        (Path(folder) / "errors").open("w") as errors,
    ):
        words = ["serve", "--data", folder, "--port", "0", "--json", "--nats", nats.url]
        process = subprocess.Popen(
            [sys.executable, "-m", "nearcast.cli", *words],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=die_with_parent(),  # noqa: PLW1509 (it calls what is already loaded, and nothing else)
        )
        try:
            assert process.stdout is not None
            at = json.loads(process.stdout.readline())
            stage = Stage(at["url"], at["token"], nats, process, size, Steps(size))
            _populate(stage)
            yield stage
        finally:
            process.terminate()
            process.communicate(timeout=STOP)


def _populate(stage: Stage) -> None:
    zones = discs(stage.size.regions, SIDE)
    columns = (np.round(column, 6).tolist() for column in (LON + zones.x / PER_X, LAT + zones.y / PER_Y, zones.radius))
    stage.upload("zones", [_disc(f"zone{i}", *disc) for i, disc in enumerate(zip(*columns, strict=True))])
    stage.upload("square", [_disc("square", LON, LAT, 100.0)])
    names = [*Walk(stage.size.walkers, SIDE).names, VISITOR, HOST]
    stage.say([{"op": "publish", "client": name, "id": "self", "text": "PUBLISH"} for name in names])
    stage.watch([DESK], "zones")
    stage.watch(stage.watchers, "square")


def hall(stage: Stage, count: int) -> list[str]:
    """A place away from all others that many watch; whoever asks again gets the same."""
    names = [f"member{i}" for i in range(count)]
    stage.upload("hall", [_disc("hall", LON, LAT - 1, 100.0)])
    stage.watch(names, "hall")
    return names


def _disc(name: str, lon: float, lat: float, radius: float) -> dict[str, Any]:
    geometry = {"type": "Point", "coordinates": [lon, lat]}
    return {"type": "Feature", "id": name, "geometry": geometry, "properties": {"radius": radius}}
