"""Whom publishers' filters let in, as far as that follows from what both sides are like, and not from where they are.

A lane finds by place who matches; of those the guard keeps the ones that are let in. What it found is kept until an op
may change it: a fix cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from nearcast.match.hidden import is_its_own
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

Row = TypeVar("Row", int, npt.NDArray[np.int64])


def can_guard(permits: c.Condition) -> bool:
    """Whether what a filter says of a pair stays so whatever moves, and however much time passes."""
    return all(_is_still(node) for node in c.walk(permits))


def _is_still(node: object) -> bool:
    if isinstance(node, c.Ref):
        return node.name not in _MOVING and node.space != "location"
    return isinstance(node, _STILL)


class Guard:
    """Of subscriptions that say nothing of themselves it asks once for each client. What they cost together would else
    tell that somebody hidden is near."""

    def __init__(self, stage: Stage, subscriptions: Mapping[StatementKey, Subscribed]) -> None:
        self._stage, self._subscriptions = stage, subscriptions
        self._known: dict[int, bool] = {}
        """By the row of a publication, and who asks: a client's row; or a subscription's, below zero, where that may
        matter."""

    def forget(self) -> None:
        """Something other than a place may have changed."""
        self._known.clear()

    def kept(self, events: Events) -> Events:
        """What moves turned, without those who are not let in."""
        rows, publications = events.content, self._stage.publications
        at = np.flatnonzero((rows >= 0) & publications.guarded[rows])
        if not len(at):
            return events
        of, by, subscriptions = rows[at], events.subscription[at], self._stage.subscriptions
        alike = subscriptions.plain[by] & ~publications.tells_apart[of]
        who = np.where(alike, subscriptions.owner[by], -1 - by)
        pairs, which = np.unique(_pair(of, who), return_inverse=True)
        let_in = np.fromiter((self._knows(pair) for pair in pairs.tolist()), np.bool_, len(pairs))
        kept = np.ones(len(rows), np.bool_)
        kept[at] = let_in[which]
        return Events._make(column[kept] for column in events)

    def lets_in(self, s: Subscribed, key: Key) -> bool:
        """Whether a pair of a lane is one that may be told of."""
        publication, publisher, _, peer = key
        publications, subscriptions = self._stage.publications, self._stage.subscriptions
        row = publications.rows.get((publisher, publication), -1) if publisher and not peer else -1
        if row < 0 or not publications.guarded[row]:
            return True
        by = subscriptions.rows[s.owner, s.subscription.id]
        alike = subscriptions.plain[by] and not publications.tells_apart[row]
        return self._knows(_pair(row, int(subscriptions.owner[by]) if alike else -1 - by))

    def _knows(self, pair: int) -> bool:
        if pair not in self._known:
            if len(self._known) >= MANY:
                self._known.clear()
            self._known[pair] = self._ask(*_unpaired(pair))
        return self._known[pair]

    def _ask(self, row: int, who: int) -> bool:
        stage, world = self._stage, self._stage.world
        key = stage.key_of(stage.publications, row)
        published = world.publications[key]
        if who >= 0:
            here = world.sides(stage.clients.names.text(who), "", ())
        else:
            s = self._subscriptions[stage.key_of(stage.subscriptions, -1 - who)]
            if not is_its_own(s, published.about):
                return self._knows(_pair(row, int(stage.subscriptions.owner[-1 - who])))
            here = world.sides(s.owner, s.subscription.id, s.subscription.regions)
        permits, regions = published.publication.permits, published.publication.regions
        there = world.sides(*key, regions)
        return any(Question(world, {"&": a, "#": b}, 0).ask(permits) is True for a, b in product(there, here))


def _pair(publication: Row, who: Row) -> Row:
    """As one number."""
    return publication * 2 * _ROWS + _ROWS + who


def _unpaired(pair: int) -> tuple[int, int]:
    publication, who = divmod(pair, 2 * _ROWS)
    return publication, who - _ROWS
