"""Columns that grow: plain NumPy arrays, half as long again when they are full."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["NO_TIME", "Columns", "grown"]

A = TypeVar("A", bound=np.generic)

NO_TIME = np.iinfo(np.int64).min
"""Never, in a column of microseconds."""


def grown(array: npt.NDArray[A], size: int, fill: Any = 0) -> npt.NDArray[A]:
    """The array itself if it has room for so many rows, else a copy of at least half its length more."""
    if size <= len(array):
        return array
    larger = np.full((max(size, len(array) * 3 // 2), *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger


class Columns:
    """Arrays of one length, an attribute each. ``FIELDS`` names them, with their type and what an unused row has."""

    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = {}

    def __init__(self, capacity: int = 16) -> None:
        self.capacity = capacity
        for name, (kind, fill) in self.FIELDS.items():
            setattr(self, name, np.full(capacity, fill, kind))

    def reserve(self, size: int) -> None:
        """Make room for so many rows."""
        if size <= self.capacity:
            return
        self.capacity = max(size, self.capacity * 3 // 2)
        for name, (_, fill) in self.FIELDS.items():
            setattr(self, name, grown(getattr(self, name), self.capacity, fill))

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.FIELDS)
