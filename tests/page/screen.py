"""What the tests of the map see and do: pages, and what is on them."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from nearcast.serve import free_port
from tests.page.city import City

__all__ = [
    "CANVAS",
    "DESKTOP",
    "PATIENCE",
    "PHONE",
    "SNEAKY",
    "changes",
    "enter",
    "fresh",
    "gateway",
    "is_live",
    "log",
    "looking",
    "middle",
    "picture",
    "pixel",
    "row",
    "show",
    "spoken",
    "until_drawn",
    "until_there",
]

DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}
PATIENCE = 60_000
CANVAS = "document.querySelector('.leaflet-movers-pane canvas').toDataURL()"
SNEAKY = "<img src=x onerror=\"document.title='gone'\">"
_numbers = itertools.count(1)
expect.set_options(timeout=PATIENCE)


def fresh(name: str) -> str:
    return f"{name}{next(_numbers)}"


@contextmanager
def looking(
    browser: Browser, city: City, device: dict[str, Any], *, noise: str = "", elsewhere: str = ""
) -> Iterator[Page]:
    """A page, of which nothing goes wrong and which speaks with the gateway alone. ``noise`` is what a browser says of
    answers that a test wants, ``elsewhere`` where it may get pictures from."""
    context: BrowserContext = browser.new_context(**device)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda request: asked.append(request.url))
    try:
        yield page
        assert [text for text in wrong if not (noise and re.search(noise, text))] == []
        allowed = (f"{city.url}/", *([elsewhere] if elsewhere else []))
        assert [url for url in asked if not url.startswith(allowed)] == []
    finally:
        context.close()


def enter(page: Page, city: City, token: str) -> None:
    """By the fragment of the address, which keeps nothing of it."""
    page.goto(f"{city.url}/map#token={token}")
    is_live(page)
    assert page.url == f"{city.url}/map"


def is_live(page: Page) -> None:
    expect(page.locator("#state-text")).to_have_text("Live")


def show(page: Page, tab: str) -> None:
    page.get_by_role("tab", name=tab).click()


def middle(page: Page) -> tuple[float, float]:
    """The middle of the map, where the city has its middle, too."""
    box = page.locator("#map").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def picture(page: Page) -> str:
    """What is drawn of all that moves."""
    return str(page.evaluate(CANVAS))


def changes(page: Page, before: str) -> None:
    """Wait until something else is drawn of what moves."""
    page.wait_for_function(f"before => {CANVAS} !== before", arg=before)


def until_drawn(page: Page, is_so: Callable[[], bool]) -> None:
    """A canvas follows what is listed with its next frame."""
    end = time.monotonic() + PATIENCE / 1000
    while not is_so():
        assert time.monotonic() < end, "it is not drawn"
        page.wait_for_timeout(20)


def pixel(page: Page, right: float = 0, down: float = 0) -> list[int]:
    """Red, green, blue and alpha of what is drawn of all that moves, so far from the middle of the map."""
    x, y = middle(page)
    found: list[int] = page.evaluate(
        """([x, y]) => {
            const canvas = document.querySelector('.leaflet-movers-pane canvas');
            const { left, top } = canvas.getBoundingClientRect();
            const ink = new OffscreenCanvas(1, 1).getContext('2d');
            ink.drawImage(canvas, Math.round(left - x), Math.round(top - y));
            return [...ink.getImageData(0, 0, 1, 1).data];
        }""",
        [x + right, y + down],
    )
    return found


def log(page: Page) -> Locator:
    return page.get_by_role("list", name="Enters and leaves as they happen")


def spoken(page: Page) -> Locator:
    """What is read out to whoever cannot see it."""
    return page.locator("#aloud")


def row(page: Page, text: str) -> Locator:
    return log(page).get_by_role("listitem").filter(has_text=text)


@contextmanager
def gateway(city: City, *options: str) -> Iterator[City]:
    """Another gateway of the same city, with options that serve does not have, or has for all."""
    port = free_port("127.0.0.1")
    words = [sys.executable, "-m", "nearcast.gateway", "--port", str(port), "--tokens", str(city.data / "tokens.json")]
    process = subprocess.Popen([*words, *options], env={**os.environ, "NEARCAST_NATS": city.nats})
    try:
        with City(city.process, city.data, f"http://127.0.0.1:{port}", city.token) as other:
            until_there(other)
            yield other
    finally:
        process.terminate()
        process.wait(30)


def until_there(city: City) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(httpx.HTTPError):
            if city.http.get("/v1/health").status_code == 200:
                return
        time.sleep(0.05)
    pytest.fail("the gateway is not there")
