"""The lane of the nearest: each subscription's k nearest publications, kept up to date by every move.

Unlike other lanes this one remembers: who is among the nearest follows from where everyone is, but is too much to
look up anew. A move concerns those who have the mover among their nearest, those whose reach (as far as the last of
their nearest) it comes into, and those that it owns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from nearcast.match import turns
from nearcast.match.columns import Columns, grown
from nearcast.match.crowd import COUNT, Crowd
from nearcast.match.lane import Stage, Touched, is_plain
from nearcast.match.moves import Moves
from nearcast.match.ranking import ASK, Open, rank
from nearcast.match.reaches import Reaches
from nearcast.match.regions import lengths
from nearcast.match.told import ENTER, LEAVE, MOVED, SOURCE, Events
from nearcast.match.turns import CROWDED, DONE, FULL, KIND, MOVE, PUBLICATION, REASON, SUBSCRIPTION
from nearcast.match.verdict import Candidate
from nearcast.match.world import Key, Published, StatementKey, Subscribed
from nearcast.model.condition import ALWAYS
from nearcast.model.moment import NEVER, Moment
from nearcast.model.statement import FromSpaces

__all__ = ["NearestLane"]

Wholes = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


class _Rows(Columns):
    """What is kept of a subscription, by its row: see `turns.Held`."""

    FIELDS: ClassVar = {
        "k": (np.int64, 0), "start": (np.int64, 0), "count": (np.int64, 0), "next": (np.int64, -1),
        "seen": (np.int64, 0),
    }  # fmt: skip

    k: Wholes
    start: Wholes
    count: Wholes
    next: Wholes
    seen: Wholes


class NearestLane:
    """``closed`` publications compete for the k places too, so there is nothing in this lane while there are any.

    ``latest`` tells the time before a run: what looks at everyone has everyone's.
    """

    def __init__(self, stage: Stage, closed: Mapping[StatementKey, Published], latest: Callable[[], Moment]) -> None:
        self.stage = stage
        self.held: dict[int, Subscribed] = {}
        self._closed, self._latest = closed, latest
        self._crowd: Crowd | None = None
        self._scratch: turns.Scratch
        self._clear()
        stage.publications.watchers.append(self._published)

    def takes(self, s: Subscribed) -> bool:
        asked, nearest = s.subscription, s.subscription.nearest
        if nearest is None or nearest.space is not None or self._closed or s.owner not in self.stage.world.clients:
            return False
        plain = is_plain(Subscribed(replace(asked, nearest=None), s.version, s.expires))
        carried = not any(r.geometry or r.place for r in asked.regions)
        return plain and carried and asked.source == FromSpaces() and asked.filter == ALWAYS

    def add(self, s: Subscribed, row: int) -> None:
        nearest, owner = s.subscription.nearest, self.stage.clients.row(s.owner)
        assert nearest is not None
        crowd = self._reserve()
        rows, k = self._rows, nearest.count
        free = self._free.setdefault(k, [])
        rows.k[row], rows.count[row] = k, 0
        rows.start[row] = free.pop() if free else self._room_for(k)
        rows.next[row], self._first[owner] = self._first[owner], row
        self.held[row] = s
        crowd.put(owner, self._position(owner), bool(crowd.arrays.where[owner] >= 0))
        self._bring_up_to_date(np.array([row]))

    def remove(self, s: Subscribed, row: int) -> None:
        owner, rows = self.stage.clients.row(s.owner), self._rows
        self._reaches.drop(row)
        self._free[int(rows.k[row])].append(int(rows.start[row]))
        if self._first[owner] == row:
            self._first[owner] = rows.next[row]
        else:
            before = self._first[owner]
            while rows.next[before] != row:
                before = rows.next[before]
            rows.next[before] = rows.next[row]
        del self.held[row]
        if not self.held:
            self._clear()

    def forget(self, row: int) -> None:
        """What it published is closed, and says so itself."""

    # ---- moves -----------------------------------------------------------------------------------

    def run(self, moves: Moves) -> list[Events]:
        if not self.held:
            return []
        crowd = self._reserve()
        events = np.empty((max(1024, len(moves) // 4, 4 * len(self._scratch.chosen)), 5), np.int64)
        at = until = n = 0
        while at < len(moves):
            if at == until:
                self._scratch.known[0] = 0
                until = min(len(moves), at + 1000 + 4 * int(crowd.arrays.meta[COUNT]))
                crowd.tend(until - at)  # many may come at once, to cells that were made for few
            at, n, why = turns.run(
                at, until, moves.row, moves.there, moves.here, crowd.earth, self._arrays, crowd.arrays,
                self._reaches.arrays, self._open, self._scratch, events, n,
            )  # fmt: skip
            if why == FULL:
                events = grown(events, 2 * len(events))
            else:
                self._provide(why)
        return [self._events(moves, events[:n])] if n else []

    def _events(self, moves: Moves, found: Wholes) -> Events:
        publications, move, publication = self.stage.publications, found[:, MOVE], found[:, PUBLICATION]
        latest, nobody = self._latest(), np.full(len(found), -1, np.int64)
        now = np.maximum.accumulate(moves.now)
        if latest != NEVER:
            now = np.maximum(now, int(latest))
        return Events(
            move, np.where(found[:, KIND], ENTER, LEAVE).astype(np.int8), found[:, SUBSCRIPTION],
            publications.name[publication], publications.owner[publication], nobody, nobody, nobody, now[move],
            publication, np.where(found[:, REASON], MOVED, SOURCE).astype(np.int8),
        )  # fmt: skip

    def _provide(self, why: int) -> None:
        """Give a compiled loop what it stopped for."""
        assert self._crowd is not None
        if why == CROWDED:
            self._crowd.make_room()
            self._reaches.make_room()
        elif why == ASK:
            self._measure()

    def _measure(self) -> None:
        """Add the distances that are asked for, as the definition measures them."""
        assert self._crowd is not None
        known, pair, away = self._scratch.known, self._scratch.pair, self._scratch.away
        row, who, n = self._scratch.row[known[1] : known[2]], known[3], int(known[0])
        spot, end = self._crowd.arrays.spot, n + len(row)
        pair, away = grown(pair, end), grown(away, end)
        pair[n:end, 0], pair[n:end, 1] = who, row
        here = np.broadcast_to(spot[who, :2], (len(row), 2))
        away[n:end] = lengths(spot[row, 0], spot[row, 1], here[:, 0], here[:, 1], self._crowd.earth)
        known[0] = end
        self._scratch = self._scratch._replace(pair=pair, away=away)

    # ---- other ops -------------------------------------------------------------------------------

    def matching(self, touched: Touched) -> Iterator[tuple[Subscribed, Candidate]]:
        """All the nearest of those that are touched: one depends on the others."""
        for row in self._touched(touched):
            yield from self._members(row)

    def members(self, keys: Iterable[StatementKey]) -> Iterator[tuple[Subscribed, Candidate]]:
        """The nearest of some subscriptions, of those that are here."""
        for row in self._named(keys):
            yield from self._members(row)

    def passed_over(self, touched: Touched) -> Iterator[tuple[Subscribed, Key]]:
        """The pairs that could be chosen and are not, as far as they are next if what is touched goes."""
        client = -1 if touched.publisher is None else self.stage.clients.names.find(touched.publisher)
        gone = len(self.stage.publications.of(client)) if client >= 0 else 0
        for row in self._touched(touched) if gone else ():
            yield from self._others(row, self._ranked(row, gone))

    def others(self, keys: Iterable[StatementKey]) -> Iterator[tuple[Subscribed, Key]]:
        """All pairs of some subscriptions that could be chosen and are not."""
        for row in self._named(keys):
            yield from self._others(row, self._everyone())

    def _members(self, row: int) -> Iterator[tuple[Subscribed, Candidate]]:
        start = self._rows.start[row]
        for publication in self._arrays.members[start : start + self._rows.count[row]]:
            yield self.held[row], Candidate(self._key_of(int(publication)))

    def _others(self, row: int, publications: Iterable[int]) -> Iterator[tuple[Subscribed, Key]]:
        """Which of some publications could be chosen and are not; none if the owner is nowhere."""
        start, s = self._rows.start[row], self.held[row]
        chosen = set(self._arrays.members[start : start + self._rows.count[row]].tolist())
        if np.isnan(self._position(self.stage.clients.row(s.owner))[0]):
            return
        for publication in publications:
            key = self._key_of(publication)
            if publication not in chosen and key[1] != s.owner:
                yield s, key

    def _everyone(self) -> list[int]:
        """All publications that are somewhere."""
        assert self._crowd is not None
        a, publications = self._crowd.arrays, self.stage.publications
        return [p for client in a.dense[: a.meta[COUNT]] for p in publications.of(int(client))]

    def _ranked(self, row: int, more: int) -> list[int]:
        """The nearest, and so many that come next."""
        crowd = self._reserve()
        k, owner, found = int(self._rows.k[row]) + more, self.stage.subscriptions.owner[row], ASK
        chosen = np.empty(k, np.int64)
        self._scratch.known[0] = 0
        while found == ASK:
            x = self._scratch
            found = rank(
                owner, k, self._reaches.arrays.ball[row, 3], crowd.earth, crowd.arrays, self._open, x.known, x.pair,
                x.away, x.row, x.chord, x.measured, chosen,
            )  # fmt: skip
            if found == ASK:
                self._measure()
        return [int(publication) for publication in chosen[:found]]

    def _named(self, keys: Iterable[StatementKey]) -> set[int]:
        return {self.stage.subscriptions.rows.get(key, -1) for key in keys} & self.held.keys()

    def _touched(self, touched: Touched) -> set[int]:
        if not self.held:
            return set()
        client = -1 if touched.publisher is None else self.stage.clients.names.find(touched.publisher)
        near = self._concerned(self._position(client)) if client >= 0 else set()
        return self._named(touched.subscriptions) | near

    def _concerned(self, position: Reals) -> set[int]:
        """Those that a publication at a position concerns."""
        if np.isnan(position[0]):
            return set()
        crowd = self._reserve()
        px, py, pz = position[2:]
        n = turns.at(px, py, pz, crowd.earth, self._arrays, self._reaches.arrays, self._scratch)
        return set(self._scratch.out[:n].tolist())

    def _published(self, client: int) -> None:
        """A client opened or closed a publication."""
        if not self.held:
            return
        crowd = self._reserve()
        there = self._position(client)
        concerned = self._concerned(crowd.arrays.spot[client]) if crowd.arrays.where[client] >= 0 else set()
        is_there = self.stage.publications.first[client] >= 0 and not np.isnan(there[0])
        crowd.put(client, there, bool(is_there))
        concerned |= self._concerned(there) if is_there else set()
        self._bring_up_to_date(np.array(sorted(concerned), np.int64))

    def _bring_up_to_date(self, rows: Wholes) -> None:
        crowd = self._reserve()
        events = np.empty((2 * len(self._scratch.chosen), 5), np.int64)
        self._scratch.known[0] = 0
        at, why = 0, -1
        while why != DONE:
            at, why = turns.again(
                at, rows, crowd.earth, self._arrays, crowd.arrays, self._reaches.arrays, self._open, self._scratch,
                events,
            )  # fmt: skip
            self._provide(why)

    # ---- what loops see ----------------------------------------------------------------------------

    def _clear(self) -> None:
        """Nothing is kept for nobody."""
        self._crowd, self._reaches, self._rows = None, Reaches(), _Rows()
        self._first, self._members_pool, self._pooled = np.full(16, -1, np.int64), np.zeros(16, np.int64), 0
        self._free: dict[int, list[int]] = {}
        self._scratch = turns.Scratch(
            known=np.zeros(5, np.int64), pair=np.zeros((16, 2), np.int64), away=np.zeros(16),
            row=np.zeros(16, np.int64), chord=np.zeros(16), measured=np.zeros(16), chosen=np.zeros(16, np.int64),
            mark=np.zeros(16, np.int64), out=np.zeros(16, np.int64),
        )  # fmt: skip

    def _room_for(self, k: int) -> int:
        start, self._pooled = self._pooled, self._pooled + k
        self._members_pool = grown(self._members_pool, self._pooled)
        self._scratch = self._scratch._replace(chosen=grown(self._scratch.chosen, k))
        return start

    def _reserve(self) -> Crowd:
        """Have room for all clients, subscriptions and publications there are."""
        stage = self.stage
        clients = stage.clients.columns.capacity
        if self._crowd is None:
            rows = stage.open_rows()
            self._crowd = Crowd(stage.clients.earth, self._positions(), rows)
        self._crowd.reserve(clients)
        self._first = grown(self._first, clients, -1)
        self._rows.reserve(stage.subscriptions.capacity)
        self._reaches.reserve(self._rows.capacity)
        x, n = self._scratch, len(self._crowd.arrays.dense)
        if len(x.row) < n or len(x.mark) < stage.publications.capacity or len(x.out) < self._rows.capacity:
            self._scratch = x._replace(
                row=np.zeros(n, np.int64), chord=np.zeros(n), measured=np.zeros(n),
                mark=grown(x.mark, stage.publications.capacity), out=grown(x.out, self._rows.capacity),
            )  # fmt: skip
        return self._crowd

    @property
    def _arrays(self) -> turns.Held:
        rows = self._rows
        return turns.Held(
            rows.k, rows.start, rows.count, self.stage.subscriptions.owner, rows.next, self._first, rows.seen,
            self._members_pool,
        )  # fmt: skip

    @property
    def _open(self) -> Open:
        p, stage = self.stage.publications, self.stage
        return Open(p.first, p.next, p.name, p.owner, stage.texts.order, stage.clients.names.order)

    def _positions(self) -> Reals:
        c = self.stage.clients.columns
        return np.column_stack([c.x, c.y, c.px, c.py, c.pz])

    def _position(self, client: int) -> Reals:
        c = self.stage.clients.columns
        return np.array([column[client] for column in (c.x, c.y, c.px, c.py, c.pz)])

    def _key_of(self, publication: int) -> Key:
        p, stage = self.stage.publications, self.stage
        return (stage.texts.text(int(p.name[publication])), stage.clients.names.text(int(p.owner[publication])), "", "")
