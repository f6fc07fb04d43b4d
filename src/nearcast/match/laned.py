"""What is in lanes, and what is not: the part of the kernel that knows which statements the compiled loops answer for.

A subscription that some lane takes is in that lane; all others are judged by the definition. A publication that columns
can hold is open to the lanes; all others are *odd*, and their pairs with any subscription are judged by the definition.
What is in a lane has no state: where the definition is to judge it, its matching pairs are written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from nearcast.match.attributes import is_simple, said_by
from nearcast.match.binding import Binding
from nearcast.match.chain import Pair
from nearcast.match.guard import Guard, can_guard
from nearcast.match.indexed import Indexed, key_of
from nearcast.match.lane import Lane, Touched
from nearcast.match.nearest import NearestLane
from nearcast.match.pairs import PairLane
from nearcast.match.share import Share
from nearcast.match.spots import SpotLane
from nearcast.match.verdict import Candidate
from nearcast.match.world import Key, Published, StatementKey, Subscribed
from nearcast.match.zones import ZoneLane
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.constraint import Scalar
from nearcast.model.notification import Notification
from nearcast.model.region import region
from nearcast.model.statement import FromRelation, Publication, RelationDefinition

__all__ = ["Laned"]


class Laned(Indexed):
    """The state of one system, with lanes. The kernel has ops go through them."""

    def __init__(self, lateness: int = 0, share: Share | None = None) -> None:
        super().__init__(lateness)
        self.share = share
        self._elsewhere: set[StatementKey] = set()
        """Subscriptions that other kernels answer for."""
        self._offered: dict[StatementKey, Published] = {} if share else self.world.publications
        """Publications whose pairs are at home here."""
        self._lane_of: dict[StatementKey, Lane] = {}
        self._enlisted: dict[StatementKey, Subscribed] = {}
        self._odd: dict[StatementKey, Published] = {}
        """Publications that no lane takes, so that their pairs are judged by the definition with any subscription."""
        self._closed: dict[StatementKey, Published] = {}
        """These, and those that are not open to all."""
        self._had_closed = False
        self._guard = Guard(self.stage, self.subscriptions)
        self._nearest = NearestLane(self.stage, self._closed, lambda: self._latest)
        self._zones = ZoneLane(self.stage)
        self._pairs = PairLane(self.stage)
        self.lanes: tuple[Lane, ...] = (self._zones, SpotLane(self.stage), self._pairs, self._nearest)
        self._scope: dict[StatementKey, dict[Key, Candidate]] = {}
        """While an op other than a move is applied: the pairs in lanes that it may turn."""
        self._some_apart = False
        """Whether some client is apart, so that relations are judged by the definition."""

    # ---- the pairs of what is in lanes ---------------------------------------------------------------

    def _write_out(self, touched: Touched) -> None:
        """Give the pairs in lanes that an op may turn the state that the definition would have for them."""
        self._guard.forget()
        for s, candidate in self._matching(touched):
            self._scope.setdefault(key_of(s), {})[candidate.key] = candidate
            s.pairs[candidate.key] = self._written_out(s, candidate.key)
        self._write_out_unchosen(self._nearest.passed_over(touched))

    def _write_out_unchosen(self, pairs: Iterable[tuple[Subscribed, Key]]) -> None:
        for s, key in pairs:
            s.pairs[key] = Pair(satisfied=True, content=self._teller.content(key))

    def _drop_scope(self) -> None:
        """What lanes answer has no state."""
        for key in self._scope.keys() & self._lane_of.keys():
            pairs = self.subscriptions[key].pairs
            for pair in [pair for pair in pairs if not self._is_odd(pair)]:
                del pairs[pair]
        self._scope.clear()

    def _is_odd(self, key: Key) -> bool:
        """Whether a pair is of a publication that no lane takes; a relation may have the name of one."""
        return not key[3] and (key[1], key[0]) in self._odd

    def _written_out(self, s: Subscribed, key: Key) -> Pair:
        now = self.time_of(s, key)
        binding = Binding.ACTIVE
        return Pair(now, told=True, satisfied=True, binding=binding, content=self._teller.content(key))

    def _matching(self, touched: Touched) -> Iterator[tuple[Subscribed, Candidate]]:
        """The pairs in lanes that match, of those that are touched."""
        for lane in self.lanes:
            for s, candidate in lane.matching(touched):
                if not self._closed or self._guard.lets_in(s, candidate.key):
                    yield s, candidate

    # ---- definitions ---------------------------------------------------------------------------------

    def _define(self, op: ops.SystemOp) -> str:
        entity = super()._define(op)
        match op:
            case ops.DefineSpace() | ops.RemoveSpace():
                self._describe(list(self.stage.publications.rows))
            case ops.DefineLayer(layer=layer) if self._zones.watches(layer.name):
                self._table(layer.name)
            case ops.DefineRelation(relation=RelationDefinition(name=name)) | ops.RemoveRelation(name=name):
                for s in self._watching_relations(name):
                    self._enlist(s)
        return entity

    # ---- publications --------------------------------------------------------------------------------

    def _enter_publication(self, key: StatementKey) -> None:
        super()._enter_publication(key)
        if self.share is not None and self.share.offers(key[0]):
            self._offered[key] = self.world.publications[key]
        if key in self._offered:
            self._file(key)

    def _file(self, key: StatementKey) -> None:
        """Open a publication to the lanes if they can have it; else it is odd. One that is paused matches nothing, and
        is neither: not even that a lane finds it may tell where it is."""
        p, stage = self.world.publications[key], self.stage
        row = self.clients.row(key[0])
        guarded = p.publication.permits != c.ALWAYS
        if p.publication.paused:
            self._close(key)
            self._make_even(key)
            self._closed[key] = p
        elif self._can_open(p.publication, self.clients.attributes.get(row, {}), row in self.clients.leases):
            at = stage.publications.open(key, stage.texts.code(key[1]), row, p.publication.content, guarded=guarded)
            stage.publications.tells_apart[at] = "id" in p.about
            self._describe([key])
            self._make_even(key)
            if guarded:
                self._closed[key] = p
        else:
            self._close(key)
            self._odd[key] = self._closed[key] = p

    def _make_even(self, key: StatementKey) -> None:
        """A publication is odd no more, or is no more: its pairs with what is in lanes are judged once again."""
        self._closed.pop(key, None)
        if self._odd.pop(key, None) is not None:
            for other in self._lane_of:
                if any((pair[1], pair[0]) == key and not pair[3] for pair in self.subscriptions[other].pairs):
                    self._scope.setdefault(other, {})

    @staticmethod
    def _can_open(publication: Publication, attributes: Mapping[str, Scalar], leased: bool) -> bool:
        """Whether it goes where its client goes, where anyone is does not matter to whom it lets in, and columns can
        hold what it is like."""
        is_elsewhere = any(r.geometry or r.place for r in (*publication.regions, region(None, attributes)))
        carried = publication.precision is None and not is_elsewhere
        lasts = publication.expires is None and not leased
        return lasts and carried and can_guard(publication.permits) and is_simple(publication, attributes)

    def _close(self, key: StatementKey) -> None:
        stage = self.stage
        if key in stage.publications.rows:
            stage.attributes.drop(stage.publications.rows[key])
            stage.publications.close(key)

    def _describe(self, keys: Iterable[StatementKey]) -> None:
        """Note what open publications are like now."""
        for key in keys:
            regions = self.world.visible(self.world.publications[key].publication.regions)
            attributes = self.clients.attributes.get(self.clients.row(key[0]), {})
            self.stage.attributes.put(self.stage.publications.rows[key], said_by(regions, attributes))

    def _drop_publication(self, key: StatementKey) -> None:
        super()._drop_publication(key)
        self._offered.pop(key, None)
        self._make_even(key)
        self._close(key)

    # ---- subscriptions -------------------------------------------------------------------------------

    def _enter_subscription(self, s: Subscribed) -> None:
        elsewhere = self.share is not None and not self.share.answers(s.subscription)
        if elsewhere:
            self._elsewhere.add(key_of(s))
        super()._enter_subscription(s)
        if elsewhere:
            self._past.leave(("subscription", *key_of(s)))

    def _drop_subscription(self, owner: str, id_: str) -> None:
        super()._drop_subscription(owner, id_)
        self._elsewhere.discard((owner, id_))

    def _enlist(self, s: Subscribed) -> None:
        """Give a subscription to the lane that takes it, if one does."""
        key, stage = key_of(s), self.stage
        if key in self._elsewhere:
            return
        self._write_out_unchosen(self._nearest.others([key]))
        apart = self._is_apart(self.clients.row(key[0]))
        self._dismiss(key)
        lane = None if apart else next((lane for lane in self.lanes if lane.takes(s)), None)
        if lane is None:
            super()._enlist(s)
            return
        row = stage.subscriptions.enter(key, stage.texts.code(key[1]), self.clients.row(key[0]))
        stage.subscriptions.hears[row] = s.subscription.on is not None
        stage.subscriptions.plain[row] = not s.subscription.regions
        lane.add(s, row)
        self._lane_of[key], self._enlisted[key] = lane, s
        self._table_of(s)
        self._scope.setdefault(key, {})  # what it matched before is judged again, in or out of the lane

    def _dismiss(self, key: StatementKey) -> None:
        super()._dismiss(key)
        lane = self._lane_of.pop(key, None)
        if lane is not None:
            lane.remove(self._enlisted.pop(key), self.stage.subscriptions.leave(key))

    def _watching_relations(self, name: str | None = None) -> list[Subscribed]:
        """The subscriptions to a relation, or to any."""
        sources = ((s, s.subscription.source) for s in self.subscriptions.values())
        return [s for s, source in sources if isinstance(source, FromRelation) and name in (None, source.name)]

    # ---- while some publication is not open to all ---------------------------------------------------

    def _may_close(self, op: ops.ClientOp) -> bool:
        """Whether the op makes some publication one that is not open to all, or that no lane takes."""
        said: Mapping[str, Scalar | None] = {}
        match op:
            case ops.Publish(publication=Publication(owner=client) as p):
                publications, leased = [p], False
            case ops.SetClient(client=client, attributes=said, lease=lease):
                publications, leased = [p.publication for p in self.owned(client)[0].values()], lease is not None
            case _:
                return False
        row = self.clients.row(client)
        known = {**self.clients.attributes.get(row, {}), **said}
        attributes = {name: value for name, value in known.items() if value is not None}
        leased = leased or row in self.clients.leases
        return not all(p.permits == c.ALWAYS and self._can_open(p, attributes, leased) for p in publications)

    def _empty_nearest(self) -> None:
        """Publications that are not open to all compete with the others for the nearest places, for some and not for
        others, so the definition is to judge them all."""
        keys = tuple(key for key, lane in self._lane_of.items() if lane is self._nearest)
        self._write_out(Touched(subscriptions=keys))
        self._scope.clear()
        self._write_out_unchosen(self._nearest.others(keys))
        for key in keys:
            s = self._enlisted[key]
            self._dismiss(key)
            super()._enlist(s)
        self._had_closed = True

    def _heed_closed(self) -> None:
        """While all publications are open to all, what asks for the nearest is in its lane."""
        if self._had_closed and not self._closed:
            for s in [s for s in self._general.values() if self._nearest.takes(s)]:
                self._enlist(s)
        self._had_closed = bool(self._closed)

    # ---- clients -------------------------------------------------------------------------------------

    def _set_client(self, op: ops.SetClient, now: int) -> Iterator[Notification]:
        row = self.clients.row(op.client)
        apart = self._is_apart(row)
        yield from super()._set_client(replace(op, lateness=None), now)
        published, subscribed = self.owned(op.client)
        for key in list(published):
            self._locate(key)
            if key in self._offered:
                self._file(key)
        if apart != self._is_apart(row):
            (self.stage.apart.discard if apart else self.stage.apart.add)(row)
            for s in list(subscribed.values()):
                self._enlist(s)
        self._heed_apart()
        if op.lateness is not None:  # only now, since fixes that it lets go meet the client as it is
            yield from super()._set_client(ops.SetClient(op.time, op.client, lateness=op.lateness), now)

    def _is_apart(self, row: int) -> bool:
        """Whether no lane takes what a client subscribes to: it may end by itself, or is not where its fix says."""
        return row in self.clients.leases or region(None, self.clients.attributes.get(row)).geometry is not None

    def _forget(self, client: str) -> None:
        super()._forget(client)
        row = self.clients.row(client)
        self.stage.apart.discard(row)
        for lane in self.lanes:
            lane.forget(row)

    def _heed_apart(self) -> None:
        """Relations are about everyone, so they leave their lane with the first client that is apart, until the last.

        A lease may end in the midst of an op. What it ends is told before the op is over.
        """
        if self._some_apart != bool(self.stage.apart):
            self._some_apart = not self._some_apart
            for s in self._watching_relations():
                self._enlist(s)
