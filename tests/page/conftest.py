from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.page.city import City, browser_path, served

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"]


@pytest.fixture(scope="session")
def chromium() -> str:
    path = browser_path()
    if path is None:
        pytest.skip("no Chromium is here to look at the map with: install chromium, or name one by NEARCAST_BROWSER")
    return path


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """A real one, of the system: none is downloaded. Its driver has a loop of its own, and tests of other modules want
    theirs, so it ends with the module."""
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def everyone(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    with served(tmp_path_factory.mktemp("city"), "--brokers", "1", "--lazy") as running:
        yield running


@pytest.fixture
def city(everyone: City) -> Iterator[City]:
    yield everyone
    everyone.forget_all()
