"""Strategies with short names. Hypothesis prints a strategy in full, and ours would fill pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["brief"]

P = ParamSpec("P")
T = TypeVar("T")


def brief(make: Callable[P, SearchStrategy[T]]) -> Callable[P, SearchStrategy[T]]:
    """Make a strategy once for the same arguments, and let it print as the name of what made it."""

    @cache
    def made(*args: Any, **kwargs: Any) -> SearchStrategy[T]:
        inner = make(*args, **kwargs)

        def drawn(draw: st.DrawFn) -> T:
            return draw(inner)

        drawn.__name__ = drawn.__qualname__ = make.__name__
        return st.composite(drawn)()

    made.__doc__, made.__name__ = make.__doc__, make.__name__
    return cast(Callable[P, SearchStrategy[T]], made)
