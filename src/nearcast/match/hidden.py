"""What publishers' filters keep from a subscriber: asked once in a step, for all that it subscribes to.

Whoever waits for its own ops learns how long they took. Were the filter asked for each of a subscriber's subscriptions,
many of them would tell that somebody hidden is near.
"""

from __future__ import annotations

from collections.abc import Callable

from nearcast.match.verdict import Judge
from nearcast.match.world import Published, StatementKey, Subscribed
from nearcast.model import condition as c

__all__ = ["Hidden", "is_its_own"]

_Asked = tuple[StatementKey, str, str, bool]
"""A publication, a subscriber, its subscription if that matters, and whether that has everyone's time."""


class Hidden:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._known: dict[_Asked, bool] = {}

    def forget(self) -> None:
        """Something has changed."""
        self._known.clear()

    def is_from(self, s: Subscribed, key: StatementKey, p: Published, now: Callable[[], int]) -> bool:
        """Whether a publication is hidden from a subscription, and stays so until some op changes it. Of a filter that
        asks for more than how things are, that is not known here."""
        if p.publication.permits == c.ALWAYS or p.sees_all or p.sees_steps or p.past:
            return False
        asked = (key, s.owner, s.subscription.id if is_its_own(s, p.about) else "", s.sees_all)
        if asked not in self._known:
            self._known[asked] = self._judge.is_hidden(s, (key[1], key[0], "", ""), now())
        return self._known[asked]


def is_its_own(s: Subscribed, about: frozenset[str]) -> bool:
    """Whether a filter may have another answer for a subscription than for others of its owner."""
    if "id" in about:
        return True
    regions = s.subscription.regions
    return any(
        "*" in about or r.geometry or r.place or any(name in about for name, _ in r.constraints) for r in regions
    )
