"""What all tests share: tests that await, a NATS server, and Hypothesis profiles, by HYPOTHESIS_PROFILE: `default` for
every run, `ci` for more, `soak` for a round of a soak."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nearcast.log.server import NatsServer

PATIENCE = 600
"""Seconds after which a test that awaits hangs."""

# Whole logs take long to draw and to run, and how long says nothing about the code that is tested.
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile("default", deadline=None, max_examples=100, print_blob=True, suppress_health_check=SLOW)
settings.register_profile("ci", parent=settings.get_profile("default"), max_examples=400)
settings.register_profile("soak", parent=settings.get_profile("default"), max_examples=250)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that awaits has a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), PATIENCE))
    return True


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A NATS server with nothing in it. It starts in a few hundredths of a second, so each test has its own."""
    with NatsServer(tmp_path / "nats") as running:
        yield running
