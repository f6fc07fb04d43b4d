"""The part of all pairs that one kernel answers for, where several kernels share the work.

Every pair has one home, known from ids alone, and its home sees in the order of the log every op that can turn it. So
all kernels together tell what one would tell alone, each thing once.

A *shard* has the clients whose names fall to it. It sees the ops of these clients, of the *stations*, and of nobody
(definitions and ticks), and it answers for what one client does among things that stay: pairs of its clients with
subscriptions of stations, and its clients' own subscriptions to layers. A station is a client known beforehand to
subscribe; all that it does is seen by every shard.

A *slice* sees every op, and answers for the subscriptions that fall to it by their owner's name, of all those that no
shard can answer: clients among each other, the nearest, the choice of a source, the past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nearcast.errors import OpError
from nearcast.match.compiled import njit
from nearcast.match.names import encoded
from nearcast.match.world import Published, StatementKey, Subscribed, World
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.statement import FromLayer, FromRelation, FromSpaces, Subscription

__all__ = ["Plan", "Share", "looks_around", "name_hash", "name_hashes", "sees_all", "whole_plan"]

Owned = Callable[[str], tuple[Mapping[StatementKey, Published], Mapping[StatementKey, Subscribed]]]

_BASIS, _PRIME, _MASK = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1


@dataclass(frozen=True, slots=True)
class Plan:
    """How the work is shared: how many shards and slices there are, and who is known beforehand."""

    shards: int = 0
    slices: int = 1
    stations: frozenset[str] = frozenset()
    roamers: frozenset[str] = frozenset()
    """Clients whose subscriptions are all for slices, since some are."""
    is_whole: bool = False
    """Whether all that will ever be subscribed to was looked at, and no station but a roamer needs a slice."""

    @property
    def shares(self) -> list[Share]:
        """One for each kernel, shards first."""
        shards = [Share(self, True, number) for number in range(self.shards)]
        return shards + [Share(self, False, number) for number in range(self.slices)]

    def is_local(self, s: Subscription) -> bool:
        """Whether shards answer for it."""
        if not self.shards or s.owner in self.roamers or looks_around(s):
            return False
        return s.owner in self.stations or (self.is_whole and isinstance(s.source, FromLayer))

    def _home(self, s: Subscription) -> str:
        """Where its pairs are at home. An edit does not change that, or their state would have to move."""
        return _by_whom(s) if self.is_local(s) else "slice"

    def check(self, op: ops.Op, world: World, subscriptions: Mapping[StatementKey, Subscribed], owned: Owned) -> None:
        """Refuse what has no home, or would have to move from one to another. ``owned`` gives what a client has."""
        if self.shards and not self.is_whole:
            self._check_clocks(op, owned)
        match op:
            case ops.Subscribe(subscription=s):
                known = subscriptions.get((s.owner, s.id))
                if not self.slices and not self.is_local(s):
                    raise OpError("the subscription looks at several clients at a time; that needs a slice", "text")
                if known and self._home(s) != self._home(known.subscription):
                    raise OpError("an edit that changes what kind of thing it looks at needs another id", "id")
                if self.shards and s.owner in self.stations and sees_all(s):
                    raise OpError(f"{s.owner!r} is a station, and a station does not ask about everyone", "client")
            case ops.Publish() | ops.DefineRelation() if self.shards and _looks_around(op):
                raise OpError("a filter that looks at what others do needs a job of slices only", "text")
            case ops.DefineSpace(space=space) if self.shards and not self.is_whole and space.name == "location":
                if space.metric is not world.metric:
                    raise OpError("the metric of location is for the job's own statements to say", "text")

    @staticmethod
    def _check_clocks(op: ops.Op, owned: Owned) -> None:
        """Who asks about everyone goes by everyone's time, which no shard knows; so none of its publications may."""
        match op:
            case ops.Publish(publication=p) if any(s.sees_all for s in owned(p.owner)[1].values()):
                raise OpError("who asks about everyone can publish only in a job of slices only", "client")
            case ops.Subscribe(subscription=s) if sees_all(s) and owned(s.owner)[0]:
                raise OpError("who publishes can ask about everyone only in a job of slices only", "client")


def whole_plan(log: Iterable[ops.Op], shards: int, slices: int) -> Plan:
    """A plan for a log that is known to its end: nothing in it has to be refused. There may be less of both in the end.

    Moves, readings and ticks do not matter, and may be left out.
    """
    subscribed: list[Subscription] = []
    publishers: set[str] = set()
    met = False
    for op in log:
        if isinstance(op, ops.Subscribe):
            subscribed.append(op.subscription)
        if isinstance(op, ops.Publish):
            publishers.add(op.publication.owner)
        if _looks_around(op) or (met and isinstance(op, ops.DefineSpace) and op.space.name == "location"):
            shards = 0
        met = met or not isinstance(op, ops.DefineSpace)
    homes: dict[StatementKey, set[str]] = {}
    for s in subscribed:
        homes.setdefault((s.owner, s.id), set()).add("slice" if looks_around(s) else _by_whom(s))
    mixed = {owner for (owner, _), those in homes.items() if len(those) > 1}
    wide = {s.owner for s in subscribed if sees_all(s)}
    if wide & publishers:  # their clocks go on with everyone's, and take with them what they publish
        shards = 0
    roamers = frozenset(mixed | wide)
    stations = frozenset(s.owner for s in subscribed if not looks_around(s) and isinstance(s.source, FromSpaces))
    plan = Plan(shards, slices, stations - roamers, roamers, is_whole=True)
    local = [plan.is_local(s) for s in subscribed]
    if not any(local) and local:
        return replace(plan, shards=0)
    return replace(plan, slices=0) if shards and all(local) else plan


def _looks_around(op: ops.Op) -> bool:
    """Whether it makes every pair that it is part of depend on others."""
    match op:
        case ops.Publish(publication=p):
            return c.asks_for_any(p.filter) or bool(c.tracked(p.filter))
        case ops.DefineRelation(relation=r):
            return c.asks_for_any(r.filter, r.permit)
    return False


def looks_around(s: Subscription) -> bool:
    """Whether it looks at several clients at a time, or at the past, which no shard knows."""
    return sees_all(s) or isinstance(s.source, FromRelation) or bool(c.tracked(s.filter, s.life, s.on))


def _by_whom(s: Subscription) -> str:
    """By whose name its pairs find their shard."""
    return "owner" if isinstance(s.source, FromLayer) else "publisher"


def sees_all(s: Subscription) -> bool:
    """Whether its time is everyone's latest."""
    return s.chooses or c.asks_for_any(s.filter, s.life, s.on)


@dataclass(frozen=True, slots=True)
class Share:
    """What one kernel answers for."""

    plan: Plan
    is_shard: bool
    number: int

    def answers(self, s: Subscription) -> bool:
        """Whether any pair of a subscription is at home here."""
        if self.is_shard:
            return self.plan.is_local(s) and (isinstance(s.source, FromSpaces) or self.has(s.owner))
        return not self.plan.is_local(s) and self.has(s.owner)

    def offers(self, publisher: str) -> bool:
        """Whether what a client publishes is at home here."""
        return not self.is_shard or self.has(publisher)

    def offers_each(self, publishers: list[str]) -> npt.NDArray[np.bool_]:
        """The same of many."""
        if not self.is_shard:
            return np.ones(len(publishers), np.bool_)
        names = pa.array([encoded(name) for name in publishers], pa.binary()).view(pa.string())
        return np.asarray(name_hashes(names) % self.plan.shards == self.number, np.bool_)

    def has(self, client: str) -> bool:
        """Whether a client falls to this share."""
        return name_hash(client) % (self.plan.shards if self.is_shard else self.plan.slices) == self.number

    @property
    def counts_rows(self) -> bool:
        """Whether, of several that see the same rows, this is the one to count them. All shards count stations'."""
        return self.number == 0 if not self.is_shard else not self.plan.slices

    def sees(self, client: str | None) -> bool:
        """Whether the ops of a client, or of nobody, come here."""
        return not self.is_shard or client is None or client in self.plan.stations or self.has(client)


def name_hash(name: str) -> int:
    """63 bits of a name, the same on every machine: FNV-1a, its halves folded."""
    made = _BASIS
    for byte in encoded(name):
        made = (made ^ byte) * _PRIME & _MASK
    return (made ^ made >> 32) >> 1


def name_hashes(names: pa.StringArray) -> npt.NDArray[np.int64]:
    """The same of a column. What is null has any."""
    if not len(names):
        return np.zeros(0, np.int64)
    _, ends, data = names.buffers()
    offsets = np.frombuffer(ends, np.int32)[names.offset : names.offset + len(names) + 1]
    return _hashes(offsets, np.frombuffer(data or b"", np.uint8))


@njit
def _hashes(ends: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    made = np.empty(len(ends) - 1, np.int64)
    for i in range(len(made)):
        h = np.uint64(_BASIS)
        for at in range(ends[i], ends[i + 1]):
            h = (h ^ np.uint64(data[at])) * np.uint64(_PRIME)
        made[i] = np.int64((h ^ (h >> np.uint64(32))) >> np.uint64(1))
    return made
