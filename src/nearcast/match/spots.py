"""The lane of spots: subscriptions about a fixed area, with conditions on what enters it.

``&location IN POLYGON(...)`` or ``&location WITHIN 1 km OF POINT(...)``, and any number of comparisons of the
publisher's attributes with constants. All areas are in one index, so a move meets only those around it; the
conditions of a shape are compiled once for all its subscriptions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from nearcast.match.attributes import Shapes, Term, satisfies, term_of
from nearcast.match.compiled import njit
from nearcast.match.crossings import crossings, inside
from nearcast.match.lane import THERE, Stage, Touched, is_plain, positions
from nearcast.match.moves import Moves
from nearcast.match.regions import Sites
from nearcast.match.told import ENTER, LEAVE, MOVED, Events
from nearcast.match.verdict import Candidate
from nearcast.match.world import Subscribed
from nearcast.model import condition as c
from nearcast.model.shape import Disc, Geometry, Point
from nearcast.model.statement import FromSpaces, Subscription

__all__ = ["SpotLane"]

Wholes = npt.NDArray[np.int64]
_NOBODY = np.zeros(0, np.int64)


class SpotLane:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.shapes = Shapes(stage.attributes)
        self.held: dict[int, Subscribed] = {}
        self._sites: Sites | None = None
        self._new: list[tuple[int, Geometry]] = []
        """Not in the index yet: many that come one by one are inserted together."""

    def takes(self, s: Subscribed) -> bool:
        return is_plain(s) and _parts(s.subscription) is not None

    def add(self, s: Subscribed, row: int) -> None:
        parts = _parts(s.subscription)
        assert parts is not None
        geometry, terms = parts
        self._new.append((row, geometry))
        self.shapes.put(row, terms)
        self.held[row] = s

    def remove(self, s: Subscribed, row: int) -> None:  # noqa: ARG002  # the row says it all
        self._index().take_out([row])
        del self.held[row]

    def forget(self, row: int) -> None:
        """Nothing is kept of where clients are."""

    # ---- moves -----------------------------------------------------------------------------------

    def run(self, moves: Moves) -> list[Events]:
        if not self.held:
            return []
        turned = crossings(self._index(), moves)
        if not len(turned.move):
            return []
        owner = self.stage.subscriptions.owner
        at, publication = self._pairs(moves.row[turned.move], turned.region)
        move, subscription, publications = turned.move[at], turned.region[at], self.stage.publications
        clocks = moves.clocks(self.stage.clients.columns, owner[subscription], move)
        n, nobody = len(at), np.full(len(at), -1, np.int64)
        kind = np.where(turned.entered[at], ENTER, LEAVE).astype(np.int8)
        return [
            Events(
                move, kind, subscription, publications.name[publication], moves.row[move], nobody, nobody, nobody,
                np.maximum(moves.now[move], clocks), publication, np.full(n, MOVED, np.int8),
            )
        ]  # fmt: skip

    def _pairs(self, mover: Wholes, row: Wholes) -> tuple[Wholes, Wholes]:
        """For each client at a spot, its publications that satisfy the spot's conditions."""
        p, a, shapes = self.stage.publications, self.stage.attributes, self.shapes
        room = 2 * len(row) + 16
        while True:
            at, publication = np.empty(room, np.int64), np.empty(room, np.int64)
            n = _expand(
                mover, row, self.stage.subscriptions.owner, p.first, p.next, shapes.start, shapes.slot, shapes.op,
                shapes.shape, shapes.kind, shapes.number, a.kind, a.number, a.texts.order, at, publication,
            )  # fmt: skip
            if n <= room:
                return at[:n], publication[:n]
            room = n

    # ---- other ops -------------------------------------------------------------------------------

    def matching(self, touched: Touched) -> Iterator[tuple[Subscribed, Candidate]]:
        clients = self.stage.clients
        if not self.held:
            return
        if touched.publisher is not None or touched.everything:
            row = clients.names.find(touched.publisher or "")
            rows = self.stage.open_rows() if touched.everything else np.array([row] if row >= 0 else [], np.int64)
            yield from self._at(self._index(), rows, None, touched.publication)
        named = [self.stage.subscriptions.rows.get(key, -1) for key in touched.subscriptions]
        wanted = [row for row in named if row in self.held]
        rows = self.stage.open_rows() if wanted else _NOBODY
        if len(rows):
            few = Sites(self.stage.world.ground, clients.earth)
            few.put(list(range(len(wanted))), [_geometry(self.held[row].subscription) for row in wanted])
            yield from self._at(few, rows, np.array(wanted), None)

    def _at(
        self, sites: Sites, rows: Wholes, renamed: Wholes | None, only: str | None
    ) -> Iterator[tuple[Subscribed, Candidate]]:
        """The pairs of some clients with the spots that they are in."""
        if not len(rows):
            return
        client, spot = inside(sites, positions(self.stage.clients, rows))
        row = spot if renamed is None else renamed[spot]
        names, texts, publications = self.stage.clients.names, self.stage.texts, self.stage.publications
        for at, publication in zip(*self._pairs(rows[client], row), strict=True):
            id_ = texts.text(int(publications.name[publication]))
            if only in (None, id_):
                yield self.held[int(row[at])], Candidate((id_, names.text(int(rows[client[at]])), "", ""))

    def _index(self) -> Sites:
        if self._sites is None:
            self._sites = Sites(self.stage.world.ground, self.stage.clients.earth)
        if self._new:
            rows, geometries = zip(*self._new, strict=True)
            self._sites.put(rows, geometries)
            self._new.clear()
        return self._sites


def _parts(s: Subscription) -> tuple[Geometry, list[Term]] | None:
    """The area that a subscription is about, and what it asks of attributes; nothing if it is not so simple."""
    if s.source != FromSpaces():
        return None
    geometry, terms = None, []
    for item in s.filter.items if isinstance(s.filter, c.And) else (s.filter,):
        term, area = term_of(item), _area(item)
        if term is not None:
            terms.append(term)
        elif area is not None and geometry is None:
            geometry = area
        else:
            return None
    return None if geometry is None else (geometry, terms)


def _area(item: c.Condition) -> Geometry | None:
    match item:
        case c.Inside(left=left, right=Geometry() as geometry) if left == THERE:
            return geometry
        case c.Within(left=left, distance=reach, right=Geometry(shape=Point(x=x, y=y))):
            if left == THERE and not isinstance(reach, c.Ref) and reach >= 0:
                return Geometry(Disc(x, y, reach))
    return None


def _geometry(s: Subscription) -> Geometry:
    parts = _parts(s)
    assert parts is not None
    return parts[0]


@njit
def _expand(
    mover: Wholes, row: Wholes, owner: Wholes, first: Wholes, following: Wholes, start: Wholes, slot: Wholes,
    op: Wholes, shape: Wholes, constant_kind: npt.NDArray[np.int8], constant: npt.NDArray[np.float64],
    kind: npt.NDArray[np.int8], number: npt.NDArray[np.float64], text_order: Wholes, at: Wholes, publication: Wholes,
) -> int:  # fmt: skip
    n = 0
    for k in range(len(row)):
        m, s = mover[k], row[k]
        p = first[m] if m < len(first) and owner[s] != m else -1
        while p >= 0:
            if satisfies(p, s, start, slot, op, shape, constant_kind, constant, kind, number, text_order):
                if n < len(at):
                    at[n], publication[n] = k, p
                n += 1
            p = following[p]
    return n
