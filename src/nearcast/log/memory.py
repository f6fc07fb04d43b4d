"""What a process that strangers speak to does not keep of what they said."""

from __future__ import annotations

import asyncio
import ctypes
import warnings
from contextlib import suppress

from nearcast.errors import GeometryWarning

__all__ = ["give_back", "keep_little", "trim"]

SPARE = 4 * 2**20
"""Bytes of freed memory that are not given back to the system."""
EVERY = 15.0
"""Seconds between two looks for what is free in the midst of what is not. One takes 2 ms, and 30 if that is much."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep_little() -> None:
    """Give freed memory back: else the C library of Linux keeps up to 64 MB, once someone has sent something large.

    And no warnings of polygons, for Python keeps the text of each that is different.
    """
    with suppress(AttributeError):  # another library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, SPARE)
        mallopt(_M_MMAP_THRESHOLD, SPARE)  # else every array of 128 KB would be new pages
    warnings.simplefilter("ignore", GeometryWarning)


def trim() -> None:
    """Give back also what lies between what is still in use, as after many who came at once."""
    with suppress(AttributeError):  # another library
        ctypes.CDLL(None).malloc_trim(0)


async def give_back() -> None:
    """The same now and then, until cancelled."""
    while True:
        await asyncio.sleep(EVERY)
        trim()
