"""Where random tests begin: the same every time, unless a soak asks for something new."""

from __future__ import annotations

import os

__all__ = ["FIRST_SEED"]

FIRST_SEED = int(os.environ.get("FIRST_SEED", "0"))
