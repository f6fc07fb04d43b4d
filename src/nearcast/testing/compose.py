"""How strategies are put together: with short names, since Hypothesis prints them in full, and with weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ParamSpec, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

__all__ = ["brief", "maybe", "weighted"]

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


def weighted(*choices: tuple[int, SearchStrategy[Any]]) -> SearchStrategy[Any]:
    """One of several, each so often; `one_of` counts equal strategies once. Shrinks to the first."""
    return st.sampled_from([strategy for weight, strategy in choices for _ in range(weight)]).flatmap(_itself)


def maybe(strategy: SearchStrategy[T], often: int = 1, never: Any = None) -> SearchStrategy[Any]:
    """Now and then a value, in ``often`` of four cases."""
    return weighted((4 - often, st.just(never)), (often, strategy))


def _itself(strategy: SearchStrategy[T]) -> SearchStrategy[T]:
    return strategy
