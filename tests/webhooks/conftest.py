from __future__ import annotations

from collections.abc import Iterator

import pytest

from nearcast.log.server import NatsServer


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """One for the tests of a module, which have clients of their own."""
    with NatsServer(tmp_path_factory.mktemp("shared") / "nats") as running:
        yield running
