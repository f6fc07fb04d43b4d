"""What was repaired is said to whoever asks, and to nobody else."""

from __future__ import annotations

import asyncio

import pytest

from nearcast.errors import GeometryWarning
from nearcast.model.repair import repairs
from nearcast.model.shape import polygon

OPEN = [[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]]


def said(name: str) -> str:
    return f"{name} was repaired: a ring was not closed"


def test_where_nobody_asks_it_is_a_warning() -> None:
    with pytest.warns(GeometryWarning, match="yard was repaired"):
        polygon([OPEN], "yard")


def test_the_innermost_that_asks_is_told() -> None:
    with repairs() as outer:
        polygon([OPEN], "a")
        with repairs() as inner:
            polygon([OPEN], "b")
        polygon([OPEN], "c")
    assert (outer, inner) == ([said("a"), said("c")], [said("b")])
    with pytest.warns(GeometryWarning):
        polygon([OPEN])


async def test_at_the_same_time_each_is_told_of_its_own() -> None:
    """Also of what a thread does for it, as large layers are read in one."""
    ready = asyncio.Barrier(20)

    async def one(name: str) -> list[str]:
        with repairs() as heard:
            await ready.wait()
            await asyncio.to_thread(polygon, [OPEN], name)
            await asyncio.sleep(0)
            polygon([OPEN], name)
        return heard

    names = [f"zone {number}" for number in range(20)]
    assert await asyncio.gather(*map(one, names)) == [[said(name), said(name)] for name in names]
