"""Take the pictures of the map's page: the bundled buses, driven through a broker and seen by a browser.

``python -m docs.pictures.map [FOLDER]``, from the root.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.page.city import City, browser_path, served

__all__ = ["main"]

DATA = Path(__file__).parents[2] / "src" / "nearcast" / "data"
SPEED = 25.0
"""How much faster than they did the buses go."""
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 800}, "device_scale_factor": 2, "is_mobile": True}
DOWNTOWN = "DISC(-97.7428 30.2688, 420 m)"
CAMPUS = "POLYGON((-97.7425 30.2815, -97.7365 30.2815, -97.7345 30.2895, -97.7415 30.2895, -97.7425 30.2815))"
CLIENT = "dispatcher"

Fix = dict[str, Any]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    path = browser_path()
    if path is None:
        raise SystemExit("install chromium, or name one by NEARCAST_BROWSER")
    with (
        tempfile.TemporaryDirectory() as data,
        served(Path(data), "--brokers", "1") as city,
        sync_playwright() as driver,
    ):
        token = city.enrol(CLIENT)
        fixes = prepare(city)
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--force-color-profile=srgb"])
        with driving(city, fixes):
            take(browser, city, token, folder)
        browser.close()
    for picture in folder.glob("map-*.png"):
        pack(picture)


# ---- the buses -----------------------------------------------------------------------------------------


def prepare(city: City) -> list[Fix]:
    """The stops, the buses and what the dispatcher wants to know. Gives the fixes, with seconds after the first."""
    city.say("PUT", "spaces/bus", content="SPACE bus (route text)")
    city.say("PUT", "layers/stops", json=json.loads((DATA / "austin_stops.geojson").read_text(encoding="utf-8")))
    rows = list(csv.DictReader((DATA / "austin_buses.csv").read_text(encoding="utf-8").splitlines()))
    start = datetime.fromisoformat(rows[0]["time"]).timestamp()
    for bus, route in {row["client"]: row["route"] for row in rows}.items():
        city.publish(bus, text=f"PUBLISH AS bus (route = '{route}')")
    city.subscribe(CLIENT, "Downtown", f"SELECT WHERE &location IN {DOWNTOWN}")
    city.subscribe(CLIENT, "Campus", f"SELECT FROM bus WHERE &location IN {CAMPUS}")
    city.subscribe(CLIENT, "at a stop", "SELECT FROM bus WHERE &location IN LAYER stops AND &route = '801'")
    return [
        {"client": row["client"], "lon": float(row["lon"]), "lat": float(row["lat"]), "after": at}
        for row in rows
        for at in [datetime.fromisoformat(row["time"]).timestamp() - start]
    ]


@contextmanager
def driving(city: City, fixes: Sequence[Fix]) -> Iterator[None]:
    """The buses go on, in a thread of their own."""
    over = threading.Event()

    def drive() -> None:
        began = time.time()
        for fix in fixes:
            if over.wait(max(0.0, began + fix["after"] / SPEED - time.time())):
                return
            city.move(fix["client"], fix["lon"], fix["lat"])

    thread = threading.Thread(target=drive)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# ---- the pictures --------------------------------------------------------------------------------------


def take(browser: Browser, city: City, token: str, folder: Path) -> None:
    page = opened(browser, city, token, DESKTOP)
    look_at_downtown(page)
    page.wait_for_timeout(40_000)
    page.screenshot(path=folder / "map-live.png")
    page.locator("#event-list li.enter button").first.click()
    expect(page.locator("#why-body table")).to_be_visible()
    page.screenshot(path=folder / "map-why.png")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Past").click()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#past-player")).to_be_visible()
    page.get_by_label("Time").evaluate("one => { one.value = String(+one.min + 0.6 * (one.max - one.min)) }")
    page.get_by_label("Time").dispatch_event("input")
    page.wait_for_timeout(500)
    page.screenshot(path=folder / "map-past.png")
    page.context.close()
    for name, scheme in (("map-phone", "light"), ("map-phone-dark", "dark")):
        phone = opened(browser, city, token, {**PHONE, "color_scheme": scheme})
        look_at_downtown(phone)
        phone.wait_for_timeout(6000)
        phone.screenshot(path=folder / f"{name}.png")
        phone.context.close()


def opened(browser: Browser, city: City, token: str, device: dict[str, Any]) -> Page:
    page = browser.new_context(**device).new_page()
    page.goto(f"{city.url}/map#token={token}")
    expect(page.locator("#state-text")).to_have_text("Live", timeout=20_000)
    return page


def look_at_downtown(page: Page) -> None:
    page.get_by_role("tab", name="Zones").click()
    page.get_by_role("button", name="Show Downtown").click()
    page.wait_for_timeout(800)
    for _ in range(2):
        page.get_by_role("button", name="Zoom out").click()
        page.wait_for_timeout(600)
    for _ in range(2):
        page.locator("#map").press("ArrowUp")
        page.wait_for_timeout(400)
    page.get_by_role("tab", name="Events").click()


def pack(picture: Path) -> None:
    """With fewer colours, where there is a tool for it."""
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--ext", ".png", "--speed", "1", "128", str(picture)], check=True)


if __name__ == "__main__":
    main()
