"""Which of the sources that satisfy a subscription's conditions it keeps."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TypeVar

from nearcast.model.statement import Choice, Nearest, Pick

__all__ = ["choose"]

K = TypeVar("K", bound=tuple[str, ...])


def choose(how: Choice | Nearest | None, distances: Mapping[K, float | None], current: Collection[K]) -> set[K]:
    """Of the sources that satisfy the conditions, given with their distances, those that are chosen.

    A choice of source keeps the current one unless another is strictly better; ``NEAREST`` has no such
    preference. Ties go to the lesser id. A source without a distance cannot be ranked by it.
    """
    if how is None:
        return set(distances)
    if isinstance(how, Choice) and how.pick is Pick.ANY:
        ranked = sorted(distances, key=lambda key: (key not in current, key))
        return set(ranked[: how.count])
    sign = -1 if isinstance(how, Choice) and how.pick is Pick.REMOTE else 1
    stays = current if isinstance(how, Choice) else ()
    far = {key: sign * d for key, d in distances.items() if d is not None and d < math.inf}
    return set(sorted(far, key=lambda key: (far[key], key not in stays, key))[: how.count])
