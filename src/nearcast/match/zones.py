"""The lane of layers: clients that enter and leave the regions of a layer.

Two forms: ``&location IN LAYER zones`` watches everyone that publishes; ``#location IN &location``, selected from a
layer, is about the subscriber itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import njit
from nearcast.match.crossings import Crossings, crossings, inside
from nearcast.match.lane import HERE, THERE, Stage, Touched, is_plain, positions
from nearcast.match.moves import Moves
from nearcast.match.regions import Regions
from nearcast.match.told import ENTER, LEAVE, MOVED, Events
from nearcast.match.verdict import Candidate
from nearcast.match.world import Subscribed
from nearcast.model.condition import ALWAYS, InLayer, Inside
from nearcast.model.statement import FromLayer, FromSpaces

__all__ = ["ZoneLane"]

Wholes = npt.NDArray[np.int64]
_NOBODY = np.zeros(0, np.int64)


@dataclass
class Watched:
    """A layer, and who watches it."""

    name: str
    watchers: dict[int, Subscribed] = field(default_factory=dict)
    """Those that watch everyone, by row."""
    own: dict[int, list[tuple[int, Subscribed]]] = field(default_factory=dict)
    """Those that ask about themselves, by the client's row."""

    @property
    def is_idle(self) -> bool:
        return not self.watchers and not self.own


class ZoneLane:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.watched: dict[str, Watched] = {}

    def watches(self, layer: str) -> bool:
        return layer in self.watched

    def takes(self, s: Subscribed) -> bool:
        if not is_plain(s) or s.owner not in self.stage.world.clients:
            return False
        match s.subscription.source, s.subscription.filter:
            case FromSpaces(names=()), Inside(left=left, right=InLayer(any=False, where=where)):
                return left == THERE and where == ALWAYS
            case FromLayer(), Inside(left=left, right=right):
                located = any(r.geometry or r.place for r in s.subscription.regions)
                return left == HERE and right == THERE and not located
        return False

    def add(self, s: Subscribed, row: int) -> None:
        watched = self.watched.setdefault(_layer_of(s), Watched(_layer_of(s)))
        if isinstance(s.subscription.source, FromLayer):
            watched.own.setdefault(self.stage.clients.row(s.owner), []).append((row, s))
        else:
            watched.watchers[row] = s

    def remove(self, s: Subscribed, row: int) -> None:
        watched = self.watched[_layer_of(s)]
        if isinstance(s.subscription.source, FromLayer):
            owner = self.stage.clients.row(s.owner)
            watched.own[owner] = [(other, held) for other, held in watched.own[owner] if other != row]
            if not watched.own[owner]:
                del watched.own[owner]
        else:
            del watched.watchers[row]
        if watched.is_idle:
            del self.watched[watched.name]

    def forget(self, row: int) -> None:
        """Nothing is kept of where clients are."""

    # ---- moves -----------------------------------------------------------------------------------

    def run(self, moves: Moves) -> list[Events]:
        found = []
        for watched in self.watched.values():
            number = self.stage.layers.get(watched.name, -1)
            if number >= 0:
                turned = crossings(self.stage.tables[number], moves)
                if len(turned.move):
                    found += self._events(watched, number, moves, turned)
        return found

    def _events(self, watched: Watched, number: int, moves: Moves, turned: Crossings) -> list[Events]:
        found = []
        if watched.watchers:
            found.append(self._of_watchers(watched, number, moves, turned))
        if watched.own:
            found.append(self._of_own(watched, number, moves, turned))
        return found

    def _of_watchers(self, watched: Watched, number: int, moves: Moves, turned: Crossings) -> Events:
        rows = np.array(list(watched.watchers), np.int64)
        owners = self.stage.subscriptions.owner[rows]
        publications = self.stage.publications
        room = len(turned.move) * max(1, len(rows))
        while True:
            at, subscription, publication = (np.empty(room, np.int64) for _ in range(3))
            n = _expand(
                turned.move,
                moves.row,
                rows,
                owners,
                publications.first,
                publications.next,
                at,
                subscription,
                publication,
            )
            if n <= room:
                break
            room = n
        at, subscription, publication = at[:n], subscription[:n], publication[:n]
        move = turned.move[at]
        clocks = moves.clocks(self.stage.clients.columns, self.stage.subscriptions.owner[subscription], move)
        kind = np.where(turned.entered[at], ENTER, LEAVE).astype(np.int8)
        name, time = publications.name[publication], np.maximum(moves.now[move], clocks)
        return _made(move, kind, subscription, name, moves.row[move], turned.region[at], number, time, publication)

    def _of_own(self, watched: Watched, number: int, moves: Moves, turned: Crossings) -> Events:
        held = np.isin(moves.row[turned.move], np.fromiter(watched.own, np.int64, len(watched.own)))
        rows = [(k, row) for k in np.flatnonzero(held) for row, _ in watched.own[int(moves.row[turned.move[k]])]]
        at, subscription = np.array(rows, np.int64).reshape(-1, 2).T
        move, name = turned.move[at], self.stage.texts.code(watched.name)
        nobody = np.full(len(at), -1, np.int64)
        kind = np.where(turned.entered[at], ENTER, LEAVE).astype(np.int8)
        return _made(
            move,
            kind,
            subscription,
            np.full(len(at), name, np.int64),
            nobody,
            turned.region[at],
            number,
            moves.now[move],
            nobody,
        )

    # ---- other ops -------------------------------------------------------------------------------

    def matching(self, touched: Touched) -> Iterator[tuple[Subscribed, Candidate]]:
        clients, names = self.stage.clients, self.stage.clients.names
        for watched in list(self.watched.values()):
            table = self._table(watched.name)
            if table is None:
                continue
            if touched.layer == watched.name:
                part = table if touched.regions is None else table.part(touched.regions)
                yield from self._everyone(watched, part, set(watched.watchers))
                yield from self._themselves(watched, part, set(watched.own))
            named = {self.stage.subscriptions.rows.get(key, -1) for key in touched.subscriptions}
            if some := named & watched.watchers.keys():
                yield from self._everyone(watched, table, some)
            owners = {clients.row(key[0]) for key in touched.subscriptions}
            yield from self._themselves(watched, table, owners & watched.own.keys(), named)
            if touched.publisher is not None and watched.watchers:
                row = names.find(touched.publisher)
                for region in self._at(table, np.array([row]))[1] if row >= 0 else ():
                    yield from self._pairs(watched, row, table, int(region), set(watched.watchers), touched.publication)

    def _everyone(
        self, watched: Watched, table: Regions, rows: set[int]
    ) -> Iterator[tuple[Subscribed, Candidate]]:  # fmt: skip
        if rows:
            movers = self.stage.open_rows()
            for i, region in zip(*self._at(table, movers), strict=True):
                yield from self._pairs(watched, int(movers[i]), table, int(region), rows)

    def _pairs(
        self, watched: Watched, mover: int, table: Regions, region: int, rows: set[int], only: str | None = None
    ) -> Iterator[tuple[Subscribed, Candidate]]:
        publisher, publications = self.stage.clients.names.text(mover), self.stage.publications
        held = table.region(region)
        for publication in publications.of(mover):
            id_ = self.stage.texts.text(int(publications.name[publication]))
            for row in rows:
                s = watched.watchers[row]
                if s.owner != publisher and only in (None, id_):
                    yield s, Candidate((id_, publisher, held.id, ""), held)

    def _themselves(
        self, watched: Watched, table: Regions, owners: set[int], named: set[int] | None = None
    ) -> Iterator[tuple[Subscribed, Candidate]]:
        movers = np.array(sorted(owners), np.int64)
        for i, region in zip(*self._at(table, movers), strict=True):
            held = table.region(int(region))
            for row, s in watched.own[int(movers[i])]:
                if named is None or row in named:
                    yield s, Candidate((watched.name, "", held.id, ""), held)

    def _at(self, table: Regions, rows: Wholes) -> tuple[Wholes, Wholes]:
        return inside(table, positions(self.stage.clients, rows)) if len(rows) else (_NOBODY, _NOBODY)

    def _table(self, name: str) -> Regions | None:
        number = self.stage.layers.get(name)
        return None if number is None else self.stage.tables[number]


def _layer_of(s: Subscribed) -> str:
    source, filter_ = s.subscription.source, s.subscription.filter
    if isinstance(source, FromLayer):
        return source.name
    assert isinstance(filter_, Inside)
    assert isinstance(filter_.right, InLayer)
    return filter_.right.layer


def _made(
    move: Wholes, kind: npt.NDArray[np.int8], subscription: Wholes, publication: Wholes, publisher: Wholes,
    region: Wholes, layer: int, time: Wholes, content: Wholes,
) -> Events:  # fmt: skip
    n = len(move)
    nobody, reason = np.full(n, -1, np.int64), np.full(n, MOVED, np.int8)
    layers = np.full(n, layer, np.int64)
    return Events(move, kind, subscription, publication, publisher, region, layers, nobody, time, content, reason)


@njit
def _expand(
    move: Wholes, mover: Wholes, watchers: Wholes, owners: Wholes, first: Wholes, following: Wholes, at: Wholes,
    subscription: Wholes, publication: Wholes,
) -> int:  # fmt: skip
    """A notification for each watcher and each publication of the client that moved; gives how many there are."""
    n = 0
    for k in range(len(move)):
        row = mover[move[k]]
        p = first[row] if row < len(first) else -1
        while p >= 0:
            for w in range(len(watchers)):
                if owners[w] != row:
                    if n < len(at):
                        at[n], subscription[n], publication[n] = k, watchers[w], p
                    n += 1
            p = following[p]
    return n
