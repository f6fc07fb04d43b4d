"""How inner loops are compiled: by Numba, kept on disk so that only the first run after a change pays for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

__all__ = ["njit"]

P = ParamSpec("P")
R = TypeVar("R")


def njit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function. Division by zero gives infinity, as in NumPy; no fast-math, so that answers are exact."""
    made: Callable[P, R] = numba.njit(cache=True, error_model="numpy")(function)
    return made
