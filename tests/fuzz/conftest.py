from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.house import House, open_house


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("doors")) as running:
        yield running
