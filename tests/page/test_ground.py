"""What is under the map: a plane instead of the earth, and tiles instead of lines."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.page.city import City, served
from tests.page.screen import DESKTOP, SNEAKY, enter, fresh, gateway, looking, row, show

TILE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def test_on_a_plane(browser: Browser, tmp_path: Path) -> None:
    """A building in metres: rooms with their names, and zones in the same coordinates."""
    with served(tmp_path, "--brokers", "1", "--lazy") as hq:
        hq.say("PUT", "spaces/location", content="SPACE location (x real, y real, z real) METRIC planar")
        for number, room in enumerate("AB"):
            text = f"PLACE 'hq/{room}' LEVEL room AT BOX({number * 20} 0, {number * 20 + 20} 20)"
            hq.say("PUT", f"places/hq/{room}", content=text)
        hq.publish("bo")
        hq.say("POST", "positions", "bo", json={"x": 30, "y": 10})
        token = hq.enrol("ann")
        with looking(browser, hq, DESKTOP) as page:
            enter(page, hq, token)
            expect(page.locator(".place-name")).to_have_text(["A", "B"])
            show(page, "Zones")
            page.get_by_role("button", name="Draw a zone").click()
            page.get_by_label("Name").fill("Hall")
            page.get_by_label("Radius in metres").fill("5")
            expect(page.locator("#zone-text")).to_have_text("SELECT WHERE &location IN DISC(20 10, 5 m)")
            page.get_by_role("button", name="Subscribe").click()
            expect(page.locator(".zone-name")).to_have_text("Hall")
            show(page, "Events")
            hq.say("POST", "positions", "bo", json={"x": 22, "y": 11})
            expect(row(page, "bo entered Hall")).to_have_count(1)


def test_tiles_come_from_where_they_are_said_to_be(browser: Browser, city: City, tmp_path: Path) -> None:
    token = city.enrol(fresh("ann"))
    city.corners(fresh("bus"))
    with tile_server() as (tiles, served_paths):
        options = ["--tiles", f"{tiles}/{{z}}/{{x}}/{{y}}.png", "--tiles-credit", f"© {SNEAKY}"]
        with gateway(city, *options) as other, looking(browser, other, DESKTOP, elsewhere=f"{tiles}/") as page:
            enter(page, other, token)
            expect(page.locator("img.leaflet-tile-loaded").first).to_be_visible()
            expect(page.locator("#credit")).to_have_text(f"© {SNEAKY}")
    assert all(re.fullmatch(r"/\d+/\d+/\d+\.png", path) for path in served_paths)
    assert served_paths


@contextmanager
def tile_server() -> Iterator[tuple[str, list[str]]]:
    """Tiles that are all alike, and which of them were asked for."""
    asked: list[str] = []

    class Tiles(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.send_header("Cross-Origin-Resource-Policy", "cross-origin")
            self.end_headers()
            self.wfile.write(TILE)

        def log_message(self, *_: object) -> None:
            """It says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Tiles) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()
