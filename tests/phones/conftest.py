from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.phones.running import Stage


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """For all tests; each has clients of its own."""
    with Stage(tmp_path_factory.mktemp("phones")) as running:
        yield running
