from __future__ import annotations

from collections.abc import Iterator

import pytest

from nearcast.log.server import NatsServer
from tests.gateway.running import Live


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A NATS server and a broker, for all tests; each has clients of its own."""
    with NatsServer(tmp_path_factory.mktemp("live") / "nats") as running, Live(running.url) as started:
        yield started
