from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearcast.log.server import NatsServer


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that awaits has a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), 600))
    return True


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A NATS server with nothing in it."""
    with NatsServer(tmp_path / "nats") as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """One for the tests of a module, which have clients of their own."""
    with NatsServer(tmp_path_factory.mktemp("shared") / "nats") as running:
        yield running
