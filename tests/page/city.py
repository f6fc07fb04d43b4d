"""A small city for the map: a broker that really runs, and people who can be put anywhere in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from nearcast.gateway.identity import add_token
from nearcast.log.server import url_of

__all__ = ["MIDDLE", "City", "browser_path", "served"]

MIDDLE = (-97.74, 30.27)
CORNERS = ((-97.76, 30.255), (-97.72, 30.285))
"""What a map shows that fits the city has its middle in the middle."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser_path() -> str | None:
    """A Chromium that is installed; that of NEARCAST_BROWSER, if it is set."""
    return os.environ.get("NEARCAST_BROWSER") or next((found for name in NAMES if (found := shutil.which(name))), None)


class City:
    """What the tests do to a broker, as its operator."""

    def __init__(self, process: subprocess.Popen[str], data: Path, url: str, token: str) -> None:
        self.process, self.data, self.url, self.token = process, data, url, token
        self.http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.http.close()

    @property
    def nats(self) -> str:
        return url_of(self.data / "nats")

    def enrol(self, client: str) -> str:
        """A token of one's own. A gateway knows it within a second, which is waited for."""
        token = add_token(self.data / "tokens.json", client)
        headers = {"Authorization": f"Bearer {token}"}
        while self.http.get("/v1/client", headers=headers).status_code == 401:
            time.sleep(0.05)
        return token

    def say(self, method: str, path: str, client: str | None = None, **body: Any) -> Any:
        params = {"client": client} if client else {}
        answer = self.http.request(method, f"/v1/{path}", params=params, **body)
        answer.raise_for_status()
        return answer.json()

    def publish(self, *clients: str, text: str = "PUBLISH") -> None:
        for client in clients:
            self.say("PUT", "publications/me", client, content=text)

    def move(self, client: str, lon: float, lat: float, **further: Any) -> None:
        self.say("POST", "positions", client, json={"lon": lon, "lat": lat, **further})

    def move_all(self, clients: Iterable[str], lon: float, lat: float) -> None:
        """Together."""
        lines = ({"op": "move", "time": time.time(), "client": name, "lon": lon, "lat": lat} for name in clients)
        content = "\n".join(map(json.dumps, lines))
        self.say("POST", "positions", content=content, headers={"content-type": "application/x-ndjson"})

    def subscribe(self, client: str, name: str, text: str) -> None:
        self.say("PUT", f"subscriptions/{quote(name, safe='')}", client, content=text)

    def corners(self, name: str) -> None:
        """Two who stand still, so that a map that shows everyone has its middle in the middle."""
        for number, (lon, lat) in enumerate(CORNERS):
            self.publish(f"{name}-corner{number}")
            self.move(f"{name}-corner{number}", lon, lat)

    def forget_all(self) -> None:
        """Everyone who can be seen, so that the next test has the city to itself."""
        for one in self.say("GET", "clients")["clients"]:
            self.say("DELETE", "client", one["client"])

    def pid_of(self, part: str) -> int:
        """A process that serve keeps."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in map(int, children):
            if part in Path(f"/proc/{pid}/cmdline").read_bytes().decode():
                return pid
        raise AssertionError(f"serve keeps no {part}")


@contextmanager
def served(folder: Path, *options: str) -> Iterator[City]:
    words = [sys.executable, "-m", "nearcast.cli", "serve", "--data", str(folder / "data"), "--port", "0", "--json"]
    with (folder / "errors").open("w") as errors:
        process = subprocess.Popen([*words, *options], stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        at = json.loads(process.stdout.readline())
        with City(process, folder / "data", at["url"], at["token"]) as city:
            yield city
    finally:
        process.terminate()
        process.communicate(timeout=30)
