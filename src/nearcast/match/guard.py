"""Whom publishers' filters let in, as far as that follows from what both sides are like, and not from where they are.

A lane finds by place who matches; of those the guard keeps the ones that are let in. What it found is kept until an op
may change it: a fix cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np

from nearcast.match.lane import Stage
from nearcast.match.question import BUILT_IN, Question
from nearcast.match.told import Events
from nearcast.match.world import Key, StatementKey, Subscribed
from nearcast.model import condition as c
from nearcast.model.constraint import Interval, Values

__all__ = ["Guard", "can_guard"]

_STILL = (c.Always, c.And, c.Or, c.Not, c.Compare, c.Relate, c.Constant, c.Sum, Interval, Values)
"""What looks neither at the time nor at a place."""
_MOVING = BUILT_IN - {"id", "owner"} | {"location", "*"}
_ROWS = 2**32
"""More than there are rows."""
MANY = 1_000_000
"""Verdicts that are kept."""


def can_guard(permits: c.Condition) -> bool:
    """Whether what a filter says of a pair stays so whatever moves, and however much time passes."""
    return all(_is_still(node) for node in c.walk(permits))


def _is_still(node: object) -> bool:
    if isinstance(node, c.Ref):
        return node.name not in _MOVING and node.space != "location"
    return isinstance(node, _STILL)


class Guard:
    def __init__(self, stage: Stage, subscriptions: Mapping[StatementKey, Subscribed]) -> None:
        self._stage, self._subscriptions = stage, subscriptions
        self._known: dict[int, bool] = {}
        """By the rows of a publication and a subscription."""

    def forget(self) -> None:
        """Something other than a place may have changed."""
        self._known.clear()

    def kept(self, events: Events) -> Events:
        """What moves turned, without those who are not let in."""
        rows, publications = events.content, self._stage.publications
        at = np.flatnonzero((rows >= 0) & publications.guarded[rows])
        if not len(at):
            return events
        pairs, which = np.unique(rows[at] * _ROWS + events.subscription[at], return_inverse=True)
        let_in = np.fromiter((self._knows(pair) for pair in pairs.tolist()), np.bool_, len(pairs))
        kept = np.ones(len(rows), np.bool_)
        kept[at] = let_in[which]
        return Events._make(column[kept] for column in events)

    def _knows(self, pair: int) -> bool:
        if pair not in self._known:
            if len(self._known) >= MANY:
                self._known.clear()
            stage, (publication, subscription) = self._stage, divmod(pair, _ROWS)
            s = self._subscriptions[stage.key_of(stage.subscriptions, subscription)]
            self._known[pair] = self._asked(s, stage.key_of(stage.publications, publication))
        return self._known[pair]

    def lets_in(self, s: Subscribed, key: Key) -> bool:
        """Whether a pair is one that may be told of, as things are in the midst of an op."""
        publication, publisher, _, peer = key
        row = self._stage.publications.rows.get((publisher, publication), -1) if publisher and not peer else -1
        return row < 0 or not self._stage.publications.guarded[row] or self._asked(s, (publisher, publication))

    def _asked(self, s: Subscribed, key: StatementKey) -> bool:
        world = self._stage.world
        publication = world.publications[key].publication
        there = world.sides(*key, publication.regions)
        here = world.sides(s.owner, s.subscription.id, s.subscription.regions)
        return any(
            Question(world, {"&": a, "#": b}, 0).ask(publication.permits) is True for a, b in product(there, here)
        )
