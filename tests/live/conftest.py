from __future__ import annotations

from tests.stream.conftest import spark

__all__ = ["spark"]
