from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearcast.log.server import NatsServer
from tests.gateway.running import Live


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that awaits has a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), 60))
    return True


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A NATS server with nothing in it."""
    with NatsServer(tmp_path / "nats") as running:
        yield running


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A NATS server and a broker, for all tests; each has clients of its own."""
    with NatsServer(tmp_path_factory.mktemp("live") / "nats") as running, Live(running.url) as started:
        yield started
