"""The lane of pairs: clients that come within a distance of each other, and go.

Two forms: a relation ``&location WITHIN 500 m OF #location`` between all clients, which anyone may watch; and the same
as a subscription's filter, about who publishes around the subscriber. What has distances of about one size shares an
index of points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.globe import LOWEST, band
from nearcast.match.lane import HERE, THERE, Stage, Touched, is_plain
from nearcast.match.meetings import Distances, Meetings, Reaches, are_within, meetings
from nearcast.match.moves import Moves
from nearcast.match.points import PointGrid
from nearcast.match.told import ENTER, LEAVE, MOVED, Events
from nearcast.match.verdict import Candidate
from nearcast.match.world import Subscribed
from nearcast.model.condition import ALWAYS, Condition, Within
from nearcast.model.statement import FromRelation, FromSpaces

__all__ = ["PairLane"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Found = Iterator[tuple[Subscribed, Candidate]]

_FURTHEST = 1e100
"""Metres. The square of more may be infinite."""


Watchers = dict[int, Subscribed]
"""By row."""
Relation = tuple[str, float]
"""Its name and distance: while it is redefined, watchers are moved from the old one to the new."""


class Held(NamedTuple):
    s: Subscribed
    ring: Ring | None
    """What watches a relation that is not defined has none."""
    metres: float


class Ring:
    """Distances of up to ``2**size`` metres and more than half of that, and an index of all clients for them."""

    def __init__(self, size: int, stage: Stage) -> None:
        self.size, self.earth = size, stage.clients.earth
        self.relations: dict[Relation, Watchers] = {}
        self.mutual = Distances()
        self.first = np.zeros(0, np.int64)
        self.owned = 0
        self.widest = band(2.0**size, self.earth)[1]
        self.far = 0.0
        c, n = stage.clients.columns, len(stage.clients.names)
        self.grid = PointGrid(self.earth, self.widest)
        self.grid.load(np.arange(n), c.px, c.py, c.pz)

    @property
    def is_idle(self) -> bool:
        return not self.relations and not self.owned

    def measure(self) -> None:
        """Find the distances again, after one was added or removed."""
        related = [self.mutual.put(i, metres, self.earth) for i, (_, metres) in enumerate(self.relations)]
        self.far = max([self.widest] if self.owned else related, default=0.0)
        if not self.owned:
            self.first = np.zeros(0, np.int64)


class PairLane:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.rings: dict[int, Ring] = {}
        self.held: dict[int, Held] = {}
        """By row."""
        self.own = Distances()
        self.next = np.full(16, -1, np.int64)
        """By the row of a subscription, the next of the same owner in the same ring."""

    def takes(self, s: Subscribed) -> bool:
        if not is_plain(s) or s.owner not in self.stage.world.clients:
            return False
        match s.subscription.source:
            case FromRelation(name):
                relation = self.stage.world.relations.get(name)
                if self.stage.apart:  # it is about everyone
                    return False
                return relation is None or (
                    _metres(relation.filter) is not None
                    and not relation.members
                    and not relation.others
                    and relation.permit == ALWAYS
                )
            case FromSpaces(names=()):
                located = any(r.geometry or r.place for r in s.subscription.regions)
                return not located and _metres(s.subscription.filter) is not None
        return False

    def add(self, s: Subscribed, row: int) -> None:
        source, relations = s.subscription.source, self.stage.world.relations
        if isinstance(source, FromRelation) and source.name not in relations:
            self.held[row] = Held(s, None, 0.0)
            return
        filter_ = relations[source.name].filter if isinstance(source, FromRelation) else s.subscription.filter
        metres = _metres(filter_)
        assert metres is not None
        ring = self._ring(metres)
        self.held[row] = Held(s, ring, metres)
        if isinstance(source, FromRelation):
            ring.relations.setdefault((source.name, metres), {})[row] = s
        else:
            owner = self.stage.clients.row(s.owner)
            self.own.put(row, metres, ring.earth)
            self.next, ring.first = grown(self.next, row + 1, -1), grown(ring.first, owner + 1, -1)
            self.next[row], ring.first[owner] = ring.first[owner], row
            ring.owned += 1
        ring.measure()

    def remove(self, s: Subscribed, row: int) -> None:
        _, ring, metres = self.held.pop(row)
        source = s.subscription.source
        if ring is None:
            return
        if isinstance(source, FromRelation):
            watchers = ring.relations[source.name, metres]
            del watchers[row]
            if not watchers:
                del ring.relations[source.name, metres]
        else:
            owner = self.stage.clients.row(s.owner)
            if ring.first[owner] == row:
                ring.first[owner] = self.next[row]
            else:
                before = int(ring.first[owner])
                while self.next[before] != row:
                    before = int(self.next[before])
                self.next[before] = self.next[row]
            ring.owned -= 1
        ring.measure()

    def forget(self, row: int) -> None:
        """A client is nowhere any more."""
        for ring in self.rings.values():
            ring.grid.drop(row)

    def _ring(self, metres: float) -> Ring:
        size = LOWEST if metres <= 2.0**LOWEST else math.ceil(math.log2(metres))
        ring = self.rings.get(size)
        if ring is None or ring.earth != self.stage.clients.earth:
            ring = self.rings[size] = Ring(size, self.stage)
        return ring

    # ---- moves -----------------------------------------------------------------------------------

    def run(self, moves: Moves) -> list[Events]:
        found = []
        for ring in list(self.rings.values()):
            if ring.is_idle:  # not before: an edit takes a subscription out and puts it back
                del self.rings[ring.size]
            elif len(moves):
                met = meetings(ring.grid, self._reaches(ring), moves, self.stage.clients.columns)
                if len(met.move):
                    found.append(self._events(ring, moves, met))
        return found

    def _reaches(self, ring: Ring) -> Reaches:
        published = self.stage.publications.first
        return Reaches(ring.far, ring.mutual, len(ring.relations), self.own, ring.first, self.next, published)

    def _events(self, ring: Ring, moves: Moves, met: Meetings) -> Events:
        stage, p = self.stage, self.stage.publications
        watchers = [np.fromiter(rows, np.int64, len(rows)) for rows in ring.relations.values()]
        ends = np.cumsum([0, *map(len, watchers)])
        watcher = np.concatenate([np.zeros(0, np.int64), *watchers])
        name = np.array([stage.texts.code(name) for name, _ in ring.relations], np.int64)
        room = len(met.move)
        while True:
            columns = [np.empty(room, np.int64) for _ in range(7)]
            n = _expand(
                met.move, met.other, met.what, moves.row, moves.now, moves.was, stage.clients.columns.clock,
                stage.clients.names.order, ends, watcher, name, stage.subscriptions.owner, p.first, p.next, p.name,
                *columns,
            )  # fmt: skip
            if n <= room:
                break
            room = n
        at, subscription, publication, publisher, peer, time, content = (column[:n] for column in columns)
        kind = np.where(met.entered[at], ENTER, LEAVE).astype(np.int8)
        none, reason = np.full(n, -1, np.int64), np.full(n, MOVED, np.int8)
        return Events(
            met.move[at], kind, subscription, publication, publisher, none, none, peer, time, content, reason
        )  # fmt: skip

    # ---- other ops -------------------------------------------------------------------------------

    def matching(self, touched: Touched) -> Found:
        if not self.held:
            return
        rows = [self.stage.subscriptions.rows.get(key, -1) for key in touched.subscriptions]
        named = {row for row in rows if row in self.held}
        client = -1 if touched.publisher is None else self.stage.clients.names.find(touched.publisher)
        for ring in list(self.rings.values()):
            for i, ((name, _), watchers) in enumerate(ring.relations.items()):
                some = watchers.keys() if touched.relation == name else named & watchers.keys()
                if some:
                    located = np.flatnonzero(~np.isnan(self.stage.clients.columns.px[: len(self.stage.clients.names)]))
                    yield from self._related(ring, i, name, located, [watchers[row] for row in some])
                if client >= 0 and touched.publication is None:
                    yield from self._related(ring, i, name, np.array([client]), list(watchers.values()))
            if client >= 0 and ring.owned:
                yield from self._around_publisher(ring, client, touched.publication)
        for row in named:
            s, near, _ = self.held[row]
            if near is not None and isinstance(s.subscription.source, FromSpaces):
                yield from self._around_owner(near, row, s)

    def _related(self, ring: Ring, i: int, name: str, rows: Wholes, watchers: list[Subscribed]) -> Found:
        """The pairs of a relation in which some clients are."""
        names = self.stage.clients.names
        at, other, squared = self._near(ring, rows)
        one = rows[at]
        kept = self._are_within(ring.mutual, np.full(len(at), i), squared, one, other)
        for a, b in {tuple(sorted(pair)) for pair in zip(one[kept].tolist(), other[kept].tolist(), strict=True)}:
            lesser, greater = sorted((names.text(a), names.text(b)))
            for s in watchers:
                yield s, Candidate((name, lesser, "", greater))

    def _around_owner(self, ring: Ring, row: int, s: Subscribed) -> Found:
        owner = np.array([self.stage.clients.row(s.owner)])
        at, other, squared = self._near(ring, owner)
        kept = self._are_within(self.own, np.full(len(at), row), squared, owner[at], other)
        for publisher in other[kept].tolist():
            yield from self._published(s, publisher, None)

    def _around_publisher(self, ring: Ring, publisher: int, only: str | None) -> Found:
        rows = np.array([publisher])
        _, other, squared = self._near(ring, rows)
        owned = other < len(ring.first)
        pairs = [(k, row) for k in np.flatnonzero(owned) for row in self._chain(ring, int(other[k]))]
        k, row = np.array(pairs, np.int64).reshape(-1, 2).T
        kept = self._are_within(self.own, row, squared[k], np.full(len(k), publisher), other[k])
        for found in row[kept].tolist():
            yield from self._published(self.held[found].s, publisher, only)

    def _chain(self, ring: Ring, owner: int) -> Iterator[int]:
        row = int(ring.first[owner])
        while row >= 0:
            yield row
            row = int(self.next[row])

    def _published(self, s: Subscribed, publisher: int, only: str | None) -> Found:
        publications, texts = self.stage.publications, self.stage.texts
        for publication in publications.of(publisher):
            id_ = texts.text(int(publications.name[publication]))
            if only in (None, id_):
                yield s, Candidate((id_, self.stage.clients.names.text(publisher), "", ""))

    def _near(self, ring: Ring, rows: Wholes) -> tuple[Wholes, Wholes, Reals]:
        """Who may be near some clients, and not the clients themselves."""
        c = self.stage.clients.columns
        place = np.column_stack([c.px[rows], c.py[rows], c.pz[rows]])
        somewhere = np.flatnonzero(~np.isnan(place[:, 0]))
        at, other, squared = ring.grid.neighbours(place[somewhere], ring.far)
        apart = rows[somewhere[at]] != other
        return somewhere[at][apart], other[apart], squared[apart]

    def _are_within(
        self, reach: Distances, rows: Wholes, squared: Reals, one: Wholes, other: Wholes
    ) -> npt.NDArray[np.bool_]:
        c = self.stage.clients.columns
        ends = (c.x[one], c.y[one]), (c.x[other], c.y[other])
        return are_within(reach, rows, squared, *ends, self.stage.clients.earth)


def _metres(filter_: Condition) -> float | None:
    """The distance, if that is all that two clients are asked for."""
    match filter_:
        case Within(left=left, distance=int() | float() as metres, right=right):
            if {left, right} == {HERE, THERE} and 0 <= metres <= _FURTHEST and float(metres) == metres:
                return float(metres)
    return None


@njit
def _expand(
    move: Wholes, other: Wholes, what: Wholes, mover: Wholes, now: Wholes, was: Wholes, clock: Wholes, order: Wholes,
    ends: Wholes, watcher: Wholes, name: Wholes, owner: Wholes, first: Wholes, following: Wholes,
    publication_name: Wholes, at: Wholes, subscription: Wholes, publication: Wholes, publisher: Wholes, peer: Wholes,
    time: Wholes, content: Wholes,
) -> int:  # fmt: skip
    """A notification for each watcher of two clients, and for each publication near a subscriber; gives how many.

    The clocks are put back to before the run, and go forward with the moves to where they were.
    """
    for m in range(len(mover) - 1, -1, -1):
        clock[mover[m]] = was[m]
    n = upto = 0
    for k in range(len(move)):
        m = move[k]
        while upto <= m:
            clock[mover[upto]] = now[upto]
            upto += 1
        a, b, d = mover[m], other[k], what[k]
        if d >= 0:
            if order[b] < order[a]:
                a, b = b, a
            latest = max(clock[a], clock[b])
            for w in range(ends[d], ends[d + 1]):
                if n < len(at):
                    s = watcher[w]
                    at[n], subscription[n], publication[n], publisher[n], peer[n] = k, s, name[d], a, b
                    time[n], content[n] = max(latest, clock[owner[s]]), -1
                n += 1
        else:
            s = ~d
            p = first[b if owner[s] == a else a]
            while p >= 0:
                if n < len(at):
                    at[n], subscription[n], publication[n], peer[n] = k, s, publication_name[p], -1
                    publisher[n], time[n], content[n] = b if owner[s] == a else a, max(clock[a], clock[b]), p
                n += 1
                p = following[p]
    while upto < len(mover):
        clock[mover[upto]] = now[upto]
        upto += 1
    return n
