"""The kernel: the answers of the reference, at the speed of the machine.

It is the reference with indexes (`indexed`) and lanes (`laned`): families of subscriptions whose answers to moves are
compiled. A subscription that no lane takes is judged by the definition itself, pair by pair, and so are the pairs of a
lane that an op other than a move touches. What is in a lane has no state: before such an op its matching pairs are
written out, and after it they are dropped again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from nearcast.match.chain import Pair
from nearcast.match.garbage import uncollected
from nearcast.match.indexed import key_of
from nearcast.match.lane import Touched
from nearcast.match.laned import Laned
from nearcast.match.moves import Moves, take_moves
from nearcast.match.reference import Marks
from nearcast.match.share import Share
from nearcast.match.tell import Change
from nearcast.match.told import ENTER, SOURCE, Events, Told, joined
from nearcast.match.verdict import Candidate, Verdict
from nearcast.match.world import Key, Published, StatementKey, Subscribed
from nearcast.model import op as ops
from nearcast.model.fix import Fix
from nearcast.model.moment import FOREVER, NEVER, Moment
from nearcast.model.notification import Kind, Notification, Reason, by_fix
from nearcast.model.space import Metric
from nearcast.model.statement import FromLayer, FromRelation, FromSpaces, Publication, Subscription

__all__ = ["Kernel"]

Bools = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


class Kernel(Laned):
    """One state. ``apply`` takes an op as the reference does; ``run`` takes many fixes as columns.

    With a share it is one of several, and tells only what is at home with it.
    """

    def __init__(self, lateness: int = 0, share: Share | None = None) -> None:
        super().__init__(lateness, share)
        self._touched: Touched | None = None
        self._judged_by: Bools | None = None
        """What `_judged_rows` gave, until an op may change it."""

    def resume(self, marks: Marks, published: Iterable[Published], subscribed: Iterable[Subscribed]) -> None:
        """Go on where another kernel stopped. The world's definitions and the clients are as they were already."""
        self._everyone, self._latest, self._versions = marks.everyone, marks.latest, marks.versions
        self._past.relations, self._judged_by = marks.relations, None
        self.clients.earth = self.world.metric is Metric.EARTH
        particular = {*self.clients.leases, *self.clients.attributes}
        self.stage.apart.update(row for row in particular if self._is_apart(row))
        self._some_apart = bool(self.stage.apart)
        for p in published:
            key = (p.publication.owner, p.publication.id)
            self.world.publications[key] = p
            self._enter_publication(key)
        self._had_closed = bool(self._closed)
        for s in subscribed:
            self.subscriptions[key_of(s)] = s
            self._enter_subscription(s)
        self._drop_scope()
        for s in self.subscriptions.values():
            for pair, held in s.pairs.items():
                if held.due is not None:
                    self.note_due(s, pair, held.due)

    def introduce(self, id_: str, clients: list[str], times: Wholes) -> None:
        """Publish under an id for clients that have done nothing yet but subscribe, and whose next op is a fix of the
        same time. The clock of one that has subscribed goes forward with that fix: until then it may be told things.

        Only for a kernel that `is_compiled`: what is nowhere yet turns nothing there.
        """
        rows, columns = self.clients.rows(clients), self.clients.columns
        now, here = np.maximum(times, _least(self._everyone)), columns.here[rows]
        now[here] = np.maximum(now[here], columns.clock[rows[here]])
        new = rows[~here]
        columns.here[new], columns.clock[new], columns.seen[new] = True, now[~here], now[~here]
        self._versions.update(
            (f"publication:{name}/{id_}", (t, 0)) for name, t in zip(clients, now.tolist(), strict=True)
        )
        self.reopen(id_, clients, now)
        self.counts["Publish"] += len(clients)

    def reopen(self, id_: str, clients: list[str], since: Wholes) -> None:
        """Have what was introduced, of clients that are here already."""
        rows, keys = self.clients.rows(clients), [(name, id_) for name in clients]
        with uncollected():
            for key, time in zip(keys, since.tolist(), strict=True):
                p = Published(Publication(id_, key[0]), (time, 0), FOREVER)
                self.world.publications[key] = self._published_by.setdefault(key[0], {})[key] = p
        self._whereabouts.carry(keys, rows)
        offers = np.ones(len(keys), np.bool_) if self.share is None else self.share.offers_each(clients)
        described = [i for i, row in enumerate(rows.tolist()) if self._is_special(row)]
        plain = offers.copy()
        plain[described] = False
        at = np.flatnonzero(plain)
        if self.share is not None:
            self._offered.update((keys[i], self.world.publications[keys[i]]) for i in np.flatnonzero(offers).tolist())
        if len(at):
            self.stage.publications.open_all([keys[i] for i in at], self.stage.texts.code(id_), rows[at])
        for i in described:
            if offers[i]:
                self._locate(keys[i])
                self._file(keys[i])

    def _is_special(self, row: int) -> bool:
        return row in self.clients.leases or bool(self.clients.attributes.get(row))

    @property
    def keeps_nothing(self) -> bool:
        """Whether all that it knows, besides statements, is in the columns of clients."""
        return self.is_compiled and not self._nearest.held and not self._pairs.held and not self.clients.held

    def heed(self, marks: Marks, counts: Mapping[str, int]) -> None:
        """Note how far time has come elsewhere, where the same ops were applied; the columns of clients are set."""
        self._everyone, self._latest, self._versions = marks.everyone, marks.latest, marks.versions
        self.counts = Counter(counts)

    @property
    def remembered(self) -> int:
        """Bytes of the names that it has codes for, which are for ever, also if nothing has that name any more."""
        return self.clients.names.size + self.stage.texts.size + self.stage.attributes.texts.size

    @property
    def may_end(self) -> bool:
        """Whether something ends by itself as time passes."""
        return bool(self.clients.leases or self._ending[0] or self._ending[1])

    # ---- moves in bulk ---------------------------------------------------------------------------

    def run(self, rows: Wholes, time: Wholes, position: Reals, place: Wholes | None = None) -> Told:
        """Apply a run of fixes, and give what they turned. ``position``: x, y, altitude, floor, accuracy.

        Only for clients of whom `can_run` says so.
        """
        everyone, place = _least(self._everyone), np.full(len(rows), -1) if place is None else place
        moves = take_moves(self.clients.columns, rows, time, position, place, everyone, self.clients.earth)
        self.counts["Move"] += len(rows)
        self.counts["stale"] += len(rows) - len(moves)
        told = self._told([events for lane in self.lanes for events in lane.run(moves)], moves)
        if len(moves):
            self._latest = max(self._latest, int(moves.now.max()))
        return told

    @property
    def is_compiled(self) -> bool:
        """Whether every pair is in a lane, so that moves need nothing else."""
        return not self._general and not self._odd and not self._past.asking

    def can_run(self, rows: Wholes) -> Bools:
        """Of which clients a move needs nothing but lanes."""
        plain: Bools = self.clients.columns.plain[rows]
        if self.is_compiled:
            return plain
        if self._judged_by is None:
            self._judged_by = self._judged_rows()
        known = rows < len(self._judged_by)  # others are new, and have said nothing yet
        plain[known] &= ~self._judged_by[rows[known]]
        return plain

    def _judged_rows(self) -> Bools:
        """The clients whose moves the definition has to judge, by row. It is everyone, if what is general is not only
        about its own client. Such a client may become another by an op that is no move, or by time, but not more."""
        found = np.zeros(len(self.clients.names), np.bool_)
        past = any(known.dues for known in self._past.relations.values())
        if past or self._past.asking or self._all_seeing or self._watching or self._far or self._circles:
            found[:] = True
            return found
        names = {key[0] for key in (*self._general, *self._odd, *(self.subscriptions if self._odd else ()))}
        found[[self.clients.row(name) for name in names]] = True
        found[list(self.clients.leases)] = True
        return found

    def _told(self, parts: list[Events], moves: Moves) -> Told:
        stage = self.stage
        register = (stage.clients, stage.texts, stage.subscriptions, stage.publications, stage.tables)
        let_in = [self._guard.kept(events) for events in parts] if self._closed else parts
        return joined(let_in or [_NO_EVENTS], moves, *register)

    # ---- fixes -----------------------------------------------------------------------------------

    def _fix(self, name: str, fix: Fix) -> Iterator[Notification]:
        """A fix that another op lets go finds the lanes as a fix of its own would: with nothing written out."""
        touched, self._touched = self._touched, None
        self._drop_scope()
        if touched is not None:
            self._guard.forget()
        yield from self._fix_alone(name, fix)
        self._touched = touched
        if touched is not None:
            self._write_out(touched)

    def _fix_alone(self, name: str, fix: Fix) -> Iterator[Notification]:
        if fix.time <= self._last_fix.get(name, NEVER):
            self.counts["stale"] += 1
            return
        now = self._effective(fix.time, name)
        yield from self._advance(name, now)
        self._wake(name, now)
        yield from self._into_cells(name, fix.position, now)
        row, position = self.clients.row(name), fix.position
        x, y = (position.point.x, position.point.y) if position.point else (np.nan, np.nan)
        heights = [np.nan if v is None else v for v in (position.altitude, position.floor, position.accuracy)]
        moves = take_moves(
            self.clients.columns, np.array([row]), np.array([fix.time]), np.array([[x, y, *heights]]),
            np.array([self.clients.path_code(position.place)]), _least(self._everyone), self.clients.earth,
        )  # fmt: skip
        change = Change(by_fix(name, fix.time), Reason.MOVED, name, moved=True)
        passed = self._step(change, passing=name)
        told = self._told([events for lane in self.lanes for events in lane.run(moves)], moves)
        found = [self._notification(told, i, change) for i in range(len(told))]
        if self._some_publisher_looks_at_steps():  # then all that turns does so while the client passes
            passed, found = sorted([*passed, *found], key=lambda n: n.order), []
        yield from passed
        yield from sorted([*self._step(change), *found], key=lambda n: n.order)

    def _publish_anew(self, publication: Publication, now: int, expires: Moment) -> Iterator[Notification]:
        touched = Touched(publisher=publication.owner, publication=publication.id)
        yield from self._around(super()._publish_anew(publication, now, expires), touched)

    def _notification(self, told: Told, i: int, change: Change) -> Notification:
        """What a lane found, told as the definition tells it, with its evidence."""
        s, candidate = self._pair_of(told, i)
        entered, key = bool(told.events.kind[i] == ENTER), candidate.key
        chosen_anew = told.events.reason[i] == SOURCE  # it could have been chosen before, or could be still
        was = Pair(told=not entered, satisfied=chosen_anew)
        s.pairs[key] = Pair(told=entered, since=int(told.events.time[i]) if entered else None)
        s.pairs[key].content = self._teller.content(key)
        verdict = Verdict(own=entered or chosen_anew, alive=True, allowed=True)
        kind = Kind.ENTER if entered else Kind.LEAVE
        made = self._teller.transition(s, candidate, kind, int(told.events.time[i]), was, verdict, change)
        del s.pairs[key]
        assert made.id == told.id(i)
        return made

    def _pair_of(self, told: Told, i: int) -> tuple[Subscribed, Candidate]:
        e, stage = told.events, self.stage
        s = self.subscriptions[stage.key_of(stage.subscriptions, int(e.subscription[i]))]
        region = stage.tables[int(e.layer[i])].region(int(e.region[i])) if e.layer[i] >= 0 else None
        publisher, peer = (stage.clients.names.text(int(r)) if r >= 0 else "" for r in (e.publisher[i], e.peer[i]))
        publication = stage.texts.text(int(e.publication[i]))
        return s, Candidate((publication, publisher, region.id if region else "", peer), region)

    # ---- readings --------------------------------------------------------------------------------

    def _bound(self, client: str, publication: str) -> Iterator[tuple[Subscribed, Key, Pair]]:
        """What a source is bound to. A pair in a lane is bound if it matches; while one looks, it is written out."""
        yield from super()._bound(client, publication)
        of = Touched(publisher=client, publication=publication, relation=publication)
        matching = {(key_of(s), pair.key): s for s, pair in self._matching(of)}
        for (_, key), s in matching.items():
            if key[:2] == (publication, client):
                s.pairs[key] = self._written_out(s, key)
                yield s, key, s.pairs[key]
                del s.pairs[key]

    # ---- what is so now ----------------------------------------------------------------------------

    def told(self, s: Subscribed) -> list[tuple[Key, str]]:
        """A pair in a lane was told if it matches."""
        matching = [pair.key for of, pair in self._matching(Touched(subscriptions=(key_of(s),))) if of is s]
        return [*super().told(s), *((key, self._teller.content(key)) for key in matching)]

    # ---- other ops: the pairs in lanes that they touch ---------------------------------------------

    def _system(self, op: ops.SystemOp) -> Iterator[Notification]:
        yield from self._around(super()._system(op), self._touched_by_system(op))

    def _client(self, op: ops.ClientOp) -> Iterator[Notification]:
        if self._nearest.held and self._may_close(op):
            self._empty_nearest()
        yield from self._around(super()._client(op), self._touched_by_client(op))

    def _around(self, told: Iterator[Notification], touched: Touched | None) -> Iterator[Notification]:
        if touched is None:
            yield from told
            return
        self._touched = touched
        self._write_out(touched)
        yield from told
        self._touched = None
        self._drop_scope()

    def _touched_by_system(self, op: ops.SystemOp) -> Touched | None:
        match op:
            case ops.DefineLayer(layer=layer, patch=patch, drop=drop):
                ids = (*drop, *(r.id for r in layer.regions)) if patch else None
                return Touched(layer=layer.name, regions=ids)
            case ops.RemoveLayer(name=name):
                return Touched(layer=name)
            case ops.DefineRelation(relation=relation):
                return Touched(relation=relation.name)
            case ops.RemoveRelation(name=name):
                return Touched(relation=name)
            case ops.DefineSpace() | ops.RemoveSpace():
                return Touched(everything=True, subscriptions=tuple(self._lane_of) if self._closed else ())
        return None

    def _touched_by_client(self, op: ops.ClientOp) -> Touched | None:
        match op:
            case ops.Publish(publication=Publication(id=id_, owner=client)) | ops.Retract(client=client, id=id_):
                return Touched(publisher=client, publication=id_)
            case (
                ops.Subscribe(subscription=Subscription(id=id_, owner=client)) | ops.Unsubscribe(client=client, id=id_)
            ):
                return Touched(subscriptions=((client, id_),))
            case ops.SetClient(client=client) | ops.Forget(client=client):
                first_apart = not self._some_apart and isinstance(op, ops.SetClient) and _may_set_apart(op)
                related = [key_of(s) for s in self._watching_relations()] if first_apart else []
                return Touched(publisher=client, subscriptions=(*self._subscribed_by.get(client, ()), *related))
        return None

    # ---- what an op can touch ----------------------------------------------------------------------

    def _step(self, change: Change, passing: str | None = None) -> list[Notification]:
        if self._touched is not None:
            self._guard.forget()
            for s, candidate in (*self._matching(self._touched), *self._nearest.members(list(self._scope))):
                self._scope.setdefault(key_of(s), {})[candidate.key] = candidate
        return super()._step(change, passing)

    def _concerned(self, change: Change) -> list[Subscribed]:
        concerned = {key: s for s in super()._concerned(change) if (key := key_of(s)) not in self._elsewhere}
        for key in self._scope:
            if key in self.subscriptions:
                concerned[key] = self.subscriptions[key]
        return list(concerned.values())

    def _all_judged(self) -> Iterable[StatementKey]:
        return self.subscriptions if self._odd else self._general

    def _concerned_by(self, client: str) -> Iterator[StatementKey]:
        yield from super()._concerned_by(client)
        if self._odd:
            yield from self._subscribed_by.get(client, ())
            if any(key in self._odd for key in self._published_by.get(client, ())):
                yield from self._lane_of

    def _possible(self, s: Subscribed, client: str | None) -> Iterator[Candidate]:
        in_lane = key_of(s) in self._lane_of
        if in_lane:
            yield from self._in_scope(s, client)
        if not in_lane or isinstance(s.subscription.source, FromSpaces):
            yield from super()._possible(s, client)

    def _judged_for(self, s: Subscribed) -> Mapping[StatementKey, Published]:
        return self._odd if key_of(s) in self._lane_of else self._offered

    def _in_scope(self, s: Subscribed, client: str | None) -> Iterator[Candidate]:
        """The pairs in a lane that the op may turn, as far as both sides still exist."""
        known = self._scope.get(key_of(s), {})
        stored = {key: Candidate(key) for key in s.pairs if not self._is_odd(key)}
        for key, candidate in {**stored, **known}.items():
            publication, publisher, region, peer = key
            if not _fits_source(s, key) or (client is not None and client not in (publisher, peer)):
                continue
            if publisher and not peer and not self._is_laned((publisher, publication)):
                continue  # gone, or odd by now
            if peer and not (publication in self.world.relations and {publisher, peer} <= self.clients.keys()):
                continue
            held = self._held(s, region) if region else None
            if held is not None or not region:
                yield Candidate(key, held) if held is not candidate.region else candidate

    def _is_laned(self, key: StatementKey) -> bool:
        """Whether a publication is open to lanes, or would be if it were not paused."""
        p = self.world.publications.get(key)
        return key in self.stage.publications.rows or (p is not None and p.publication.paused)

    def apply(self, op: ops.Op) -> list[Notification]:
        if self.share is not None:
            self.share.plan.check(op, self.world, self.subscriptions, self.owned)
        if not isinstance(op, ops.Move):
            self._guard.forget()
        told = super().apply(op)
        self._heed_closed()
        self._heed_apart()
        self._drop_scope()
        if not isinstance(op, ops.Move):
            self._judged_by = None
        return told


_NO_EVENTS = Events._make(np.zeros(0, np.int8 if name in ("kind", "reason") else np.int64) for name in Events._fields)


def _least(moment: float) -> int:
    return int(moment) if moment != NEVER else int(np.iinfo(np.int64).min)


def _may_set_apart(op: ops.SetClient) -> bool:
    return op.lease is not None or not op.attributes.keys().isdisjoint("xy")


def _fits_source(s: Subscribed, key: Key) -> bool:
    """Whether a pair is of the kind that the subscription is about; after an edit it may be about something else."""
    name, publisher, region, peer = key
    match s.subscription.source:
        case FromLayer(layer):
            return name == layer and not publisher
        case FromRelation(relation):
            return name == relation and bool(peer)
    return bool(publisher) and not peer and bool(region) == (s.span is not None)
