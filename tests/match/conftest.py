from __future__ import annotations

import pytest

from tests.match.harness import System


@pytest.fixture
def s() -> System:
    """An empty system on a plane."""
    return System()
