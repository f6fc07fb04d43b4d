"""The reference with columns and indexes: of each op, only what it can touch is asked.

Nothing is answered here that the definition does not answer. Clients are rows of columns; subscriptions are found by
their owner and by how far they reach, remembered pairs by the clients they involve, due times in heaps, regions and
publications by where they are. What an index leaves out is certain not to turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from nearcast.match.attributes import Attributes
from nearcast.match.chain import Pair
from nearcast.match.circles import Circles
from nearcast.match.clients import Clients, Times
from nearcast.match.crossings import inside
from nearcast.match.followed import Followed
from nearcast.match.hidden import Hidden
from nearcast.match.lane import HERE, THERE, Stage, positions
from nearcast.match.names import Names
from nearcast.match.reference import Reference
from nearcast.match.regions import Regions
from nearcast.match.registry import Publications, Subscriptions
from nearcast.match.stored import EVERYONE, Dues, Entry, Involved, Pairs
from nearcast.match.tell import Change
from nearcast.match.verdict import Candidate, Verdict
from nearcast.match.whereabouts import Whereabouts
from nearcast.match.world import Key, Published, StatementKey, Subscribed
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.layer import LayerRegion
from nearcast.model.moment import FOREVER, Moment
from nearcast.model.notification import Notification
from nearcast.model.region import Region, region
from nearcast.model.space import Metric
from nearcast.model.statement import FromLayer, FromRelation, FromSpaces, Publication, Subscription

__all__ = ["Indexed", "key_of", "remembers_more"]


class Indexed(Reference):
    """The state of one system, indexed. The kernel adds lanes to it."""

    _past: Followed

    def __init__(self, lateness: int = 0) -> None:
        super().__init__(lateness)
        self.clients = Clients(lateness)
        self.world.clients = self.clients
        self._clocks, self._last_fix = Times(self.clients, "clock"), Times(self.clients, "last")
        self.stage = Stage(self.world, self.clients, Names(), Subscriptions(), Publications(), Attributes(), [], {})
        self._general: dict[StatementKey, Subscribed] = {}
        """Subscriptions that the definition judges,"""
        self._general_of: dict[str, dict[StatementKey, Subscribed]] = {}
        """and of a client's own those that it judges."""
        self._whereabouts = Whereabouts(self.clients)
        self._circles = Circles(self.clients)
        """Of the subscriptions that reach so far and no further."""
        self._far: dict[StatementKey, Subscribed] = {}
        """Those that may match a publication wherever it is."""
        self._watching: dict[StatementKey, Subscribed] = {}
        """Those that an op of any client may turn."""
        self._involved: Involved = {}
        self._dues = Dues(self._is_due)
        self._due: dict[StatementKey, set[Key]] = {}
        """While a timer fires: the pairs that it is about."""
        self._published_by: dict[str, dict[StatementKey, Published]] = {}
        self._subscribed_by: dict[str, dict[StatementKey, Subscribed]] = {}
        self._ending: tuple[dict[StatementKey, Published], dict[StatementKey, Subscribed]] = ({}, {})
        """Statements that expire."""
        self._all_seeing: dict[StatementKey, Published] = {}
        """Publications whose filters look at what others publish, so that an op of any client may turn their pairs."""
        self._step_watching = 0
        self._hidden = Hidden(self.judge)

    def _step(self, change: Change, passing: str | None = None) -> list[Notification]:
        self._hidden.forget()
        return super()._step(change, passing)

    # ---- subscriptions -----------------------------------------------------------------------------

    def _concerned(self, change: Change) -> list[Subscribed]:
        names: Iterable[StatementKey]
        if self._due:
            names = self._due
        elif change.client is None or self._all_seeing:
            names = self._all_judged()
        else:
            names = self._concerned_by(change.client)
        return [self.subscriptions[name] for name in set(names) if name in self.subscriptions]

    def _all_judged(self) -> Iterable[StatementKey]:
        """The subscriptions that the definition may have to judge."""
        return self._general

    def _concerned_by(self, client: str) -> Iterator[StatementKey]:
        """The subscriptions that an op of one client may turn: its own, and those of whoever may match it."""
        yield from self._general_of.get(client, ())
        yield from self._watching
        yield from (name for name, _ in self._involved.get(client, ()))
        published = self._published_by.get(client, ())
        if published:
            yield from self._far
        for key in published:
            at = self._whereabouts.point(key)
            yield from self._general if at is None else self._circles.around(*at)

    # ---- timers --------------------------------------------------------------------------------------

    def _settle(
        self,
        s: Subscribed,
        candidate: Candidate,
        verdict: Verdict,
        chosen: bool,
        change: Change,
        passing: str | None = None,
    ) -> Iterator[Notification]:
        yield from super()._settle(s, candidate, verdict, chosen, change, passing)
        pair = s.pairs.get(candidate.key)
        if pair is not None and pair.due is not None:
            self.note_due(s, candidate.key, pair.due)

    def note_due(self, s: Subscribed, key: Key, due: int) -> None:
        """Note when a pair may turn by itself, for every clock that can bring it about."""
        involved = [client for client in (s.owner, key[1], key[3]) if client]
        anyone = [None] if self._sees_all(s, key) else []
        self._dues.push(due, key_of(s), key, [*involved, *anyone])

    def _advance(self, client: str | None, now: int) -> Iterator[Notification]:
        yield from super()._advance(client, now)
        self._due = {}

    def _next_due(self, client: str | None, now: int) -> int | None:
        heaps = (EVERYONE,) if client is None else (client, None)
        dues = [due for heap in heaps if (due := self._first_due(heap, now)) is not None]
        past = [due for due in self._past.dues(client) if due <= now]
        first = min((*dues, *past), default=None)
        self._due = {}
        if first is None or first in past:  # what the past turns, no pair knows of
            return first
        for heap in heaps:
            while self._first_due(heap, now) == first:
                _, name, key = self._dues.drop(heap)
                self._due.setdefault(name, set()).add(key)
        return first

    @property
    def release_due(self) -> Moment:
        """The earliest time of a tick that lets go a fix that is held back."""
        waiting = [(self.clients[name].held, self.clients[name].lateness) for name in self._waiting()]
        held = (min(fix.time for fix in fixes) + (self.lateness if w is None else w) for fixes, w in waiting if fixes)
        return min(held, default=FOREVER)

    def _first_due(self, heap: str | None, now: int) -> int | None:
        """The earliest time in a heap at which a pair may still turn."""
        while (entry := self._dues.first(heap)) is not None and entry[0] <= now:
            due, name, key = entry
            if self._is_due(entry) and (heap is not None or self._sees_all(self.subscriptions[name], key)):
                return due
            self._dues.drop(heap)
        return None

    def _is_due(self, entry: Entry) -> bool:
        """Whether a pair may still turn at a time that was noted."""
        due, name, key = entry
        s = self.subscriptions.get(name)
        pair = s.pairs.get(key) if s else None
        return pair is not None and pair.due == due

    def _stored(self, s: Subscribed, client: str | None) -> list[Key]:
        stored = super()._stored(s, client)
        if client is not None and self._all_seeing:
            others = (key for key in s.pairs if key[1] != client and not key[3])
            stored += [key for key in others if (key[1], key[0]) in self._all_seeing]
        return [key for key in stored if key in self._due.get(key_of(s), ())] if self._only_due(s) else stored

    def _only_due(self, s: Subscribed) -> bool:
        """Whether, while a timer fires, only the pairs that it is about need to be looked at."""
        return bool(self._due) and not s.chooses and not self._all_seeing

    # ---- pairs ---------------------------------------------------------------------------------------

    def _candidates(self, s: Subscribed, client: str | None) -> Iterable[Candidate]:
        if self._only_due(s):
            due = self._due.get(key_of(s), set())
            return [candidate for candidate in self._possible(s, client) if candidate.key in due]
        return self._possible(s, client)

    def candidates(self, s: Subscribed) -> Iterable[Candidate]:
        self._hidden.forget()
        return super().candidates(s)

    def _possible(self, s: Subscribed, client: str | None) -> Iterator[Candidate]:
        """What a subscription may match, as far as the definition judges it."""
        source = s.subscription.source
        if isinstance(source, FromSpaces):
            for owner, id_ in self._shown(s, self._published_for(s, client)):
                if owner != s.owner:
                    yield from self._spanned(s, (id_, owner, "", ""))
        elif isinstance(source, FromLayer) and client is None:
            yield from self._from_layer(s)
        else:
            yield from self.judge.candidates(s, client)

    def _judged_for(self, s: Subscribed) -> Mapping[StatementKey, Published]:  # noqa: ARG002  # a lane judges some
        """The publications that the definition judges for a subscription."""
        return self.world.publications

    def _published_for(self, s: Subscribed, client: str | None) -> Iterable[StatementKey]:
        """The publications that the definition judges for a subscription; of those too far away, only stored pairs."""
        published = self._judged_for(s)
        turned = {} if client is None else {**self._published_by.get(client, {}), **self._all_seeing}
        of = None if client is None else [key for key in turned if key in published]
        reach = self._reach(s)
        if of == [] or reach is None:
            return list(published) if of is None else of
        stored = {key for name, owner, *_ in s.pairs if (key := (owner, name)) in turned or client is None}
        return [key for key in {*self._whereabouts.within(s.owner, reach, of), *stored} if key in published]

    def _shown(self, s: Subscribed, published: Iterable[StatementKey]) -> Iterator[StatementKey]:
        """Without what is hidden and has no state. It has some while life control is off."""
        stored = {(owner, name) for name, owner, *_ in s.pairs}
        for key in published:
            p, pair = self.world.publications[key], (key[1], key[0], "", "")
            is_kept = key in stored or s.subscription.life != c.ALWAYS
            if is_kept or not self._hidden.is_from(s, key, p, partial(self.time_of, s, pair)):
                yield key

    def _reach(self, s: Subscribed) -> float | None:
        """How far from the subscriber's fix anything can be that it matches and that has no state yet."""
        subscription, filter_ = s.subscription, s.subscription.filter
        if (
            subscription.life != c.ALWAYS
            or remembers_more(subscription)
            or self._is_located(s.owner, subscription.regions)
        ):
            return None
        for part in filter_.items if isinstance(filter_, c.And) else (filter_,):
            match part:
                case c.Within(left=left, distance=reach, right=right) if {left, right} == {HERE, THERE}:
                    if not isinstance(reach, c.Ref):
                        return max(reach, 0.0)
        return None

    def _is_located(self, client: str, regions: Iterable[Region]) -> bool:
        """Whether something of a client's is not where its fix says: a region of its own, or what it says of itself."""
        said = region(None, self.clients.attributes.get(self.clients.row(client)))
        return any(r.geometry or r.place for r in (*regions, said))

    def _spanned(self, s: Subscribed, key: Key) -> Iterator[Candidate]:
        """A publication, or a pair for each region of the layer that is watched: only where it is, if that will do."""
        span = s.span
        if span is None:
            yield Candidate(key)
            return
        table = self._table(span.layer)
        if table is None:
            return
        publication = self.world.publications[key[1], key[0]].publication
        located = self._is_located(key[1], publication.regions)
        rows: Iterable[int]
        if not located and _only_inside(s, span):
            stored = {row for k in s.pairs if k[:2] == key[:2] and (row := table.find(k[2])) is not None}
            rows = stored if publication.paused else stored.union(self._rows_at(table, key[1]))
        else:
            rows = table.all_rows()
        for row in rows:
            held = table.region(row)
            yield Candidate((key[0], key[1], held.id, ""), held)

    def _from_layer(self, s: Subscribed) -> Iterator[Candidate]:
        table = self._table_of(s)
        if table is None:
            return
        source = s.subscription.source
        assert isinstance(source, FromLayer)
        located = self._is_located(s.owner, s.subscription.regions)
        rows: Iterable[int]
        if not located and _only_inside(s, c.Ref("&", "location"), "#"):
            stored = {row for k in s.pairs if (row := table.find(k[2])) is not None}
            rows = stored.union(self._rows_at(table, s.owner))
        else:
            rows = table.all_rows()
        for row in rows:
            held = table.region(row)
            yield Candidate((source.name, "", held.id, ""), held)

    def _rows_at(self, table: Regions, client: str) -> list[int]:
        """The regions that hold a client's position, whatever its height."""
        row = self.clients.names.find(client)
        if row < 0 or not self.clients.columns.here[row]:
            return []
        here = positions(self.clients, np.array([row]))
        return [int(found) for found in inside(table, here, any_height=True)[1]]

    def _held(self, s: Subscribed, id_: str) -> LayerRegion | None:
        """The region of the layer that a subscription watches, as it is now."""
        table = self._table_of(s)
        row = table.find(id_) if table else None
        return table.region(row) if table and row is not None else None

    def _table_of(self, s: Subscribed) -> Regions | None:
        source, span = s.subscription.source, s.span
        name = source.name if isinstance(source, FromLayer) else span.layer if span else ""
        return self._table(name)

    def _table(self, name: str) -> Regions | None:
        """The table of a layer, made when it is first asked for."""
        layer, stage = self.world.layers.get(name), self.stage
        if layer is None:
            return None
        if name not in stage.layers:
            table = Regions(self.world.ground, self.clients.earth)
            table.add(layer.regions)
            stage.layers[name] = len(stage.tables)
            stage.tables.append(table)
        return stage.tables[stage.layers[name]]

    def _bound(self, client: str, publication: str) -> Iterator[tuple[Subscribed, Key, Pair]]:
        for name, key in sorted(self._involved.get(client, ())):
            if key[:2] == (publication, client):
                s = self.subscriptions[name]
                yield s, key, s.pairs[key]

    # ---- what some have ------------------------------------------------------------------------------

    def _some_publisher_sees_all(self) -> bool:
        """What such a publisher offers is a candidate at every op; nothing else is turned by its filter."""
        return False

    def _some_publisher_looks_at_steps(self) -> bool:
        return self._step_watching > 0

    @property
    def asks_for_past(self) -> bool:
        return bool(self._past.asking)

    def _new_past(self) -> Followed:
        return Followed(self.world, self.subscriptions, self._clock, self.owned)

    def _observe(self, client: str | None, passing: str | None) -> None:
        self._past.observe_after(client, passing)

    def _bury(self) -> Iterator[Notification]:
        yield from super()._bury()
        self._past.forget_gone()

    def _waiting(self) -> list[str]:
        return [self.clients.names.text(row) for row in self.clients.held]

    def _mortal(
        self,
    ) -> tuple[Iterable[str], Mapping[StatementKey, Published], Mapping[StatementKey, Subscribed]]:
        """Of clients, only those whose lease has run out."""
        leases = self.clients.leases
        seen = self.clients.columns.seen[list(leases)].tolist()
        over = [
            row for row, at, lease in zip(leases, seen, leases.values(), strict=True) if at + lease <= self._everyone
        ]
        return [self.clients.names.text(row) for row in over], *self._ending

    def owned(self, client: str) -> tuple[dict[StatementKey, Published], dict[StatementKey, Subscribed]]:
        return self._published_by.get(client, {}), self._subscribed_by.get(client, {})

    # ---- keeping the indexes -------------------------------------------------------------------------

    def _define(self, op: ops.SystemOp) -> str:
        entity, stage = super()._define(op), self.stage
        self.clients.earth = self.world.metric is Metric.EARTH
        match op:
            case ops.DefineLayer(layer=layer, patch=patch, drop=drop) if layer.name in stage.layers:
                table = stage.tables[stage.layers[layer.name]]
                if patch:
                    table.drop({*drop, *(r.id for r in layer.regions)})
                else:
                    table.clear()
                table.add(layer.regions)
            case ops.RemoveLayer(name=name) if name in stage.layers:
                stage.tables[stage.layers.pop(name)] = Regions(self.world.ground, self.clients.earth)
        return entity

    def _publish(self, publication: Publication, now: int, expires: Moment | None = None) -> Change:
        key = (publication.owner, publication.id)
        self._forget_publication(key)
        change = super()._publish(publication, now, expires)
        self._enter_publication(key)
        return change

    def _enter_publication(self, key: StatementKey) -> None:
        p = self.world.publications[key]
        self._published_by.setdefault(key[0], {})[key] = p
        if p.sees_all:
            self._all_seeing[key] = p
        self._step_watching += p.sees_steps
        if p.expires < FOREVER:
            self._ending[0][key] = p
        self._past.enter(("publication", *key), p.past)
        self._locate(key)

    def _locate(self, key: StatementKey) -> None:
        """Note where a publication is: at a place of its own, or with its client."""
        said = region(None, self.clients.attributes.get(self.clients.row(key[0])))
        publication = self.world.publications[key].publication
        self._whereabouts.put(key, [*publication.regions, said], paused=publication.paused)

    def _forget_publication(self, key: StatementKey) -> None:
        old = self.world.publications.get(key)
        if old is None:
            return
        self._all_seeing.pop(key, None)
        self._step_watching -= old.sees_steps
        self._ending[0].pop(key, None)
        self._past.leave(("publication", *key))
        self._published_by[key[0]].pop(key, None)
        self._whereabouts.drop(key)

    def _drop_publication(self, key: StatementKey) -> None:
        self._forget_publication(key)
        super()._drop_publication(key)

    def _subscribe(self, subscription: Subscription, now: int) -> Change:
        change = super()._subscribe(subscription, now)
        self._enter_subscription(self.subscriptions[subscription.owner, subscription.id])
        return change

    def _enter_subscription(self, s: Subscribed) -> None:
        key = key_of(s)
        self._subscribed_by.setdefault(key[0], {})[key] = s
        if not isinstance(s.pairs, Pairs):
            s.pairs = Pairs(key, self._involved, s.pairs)
        self._ending[1].pop(key, None)
        if s.expires < FOREVER:
            self._ending[1][key] = s
        self._past.enter(("subscription", *key), s.past)
        self._enlist(s)

    def _enlist(self, s: Subscribed) -> None:
        """Give a subscription its place in the indexes."""
        self._dismiss(key_of(s))
        self._general[key_of(s)] = self._general_of.setdefault(s.owner, {})[key_of(s)] = s
        self._place(s)

    def _place(self, s: Subscribed) -> None:
        """Note whose ops may turn a subscription that the definition judges."""
        key, reach = key_of(s), self._reach(s)
        if s.sees_all or isinstance(s.subscription.source, FromRelation):
            self._watching[key] = s
        elif isinstance(s.subscription.source, FromSpaces):
            if reach is None:
                self._far[key] = s
            else:
                self._circles.put(key, reach)

    def _dismiss(self, key: StatementKey) -> None:
        if self._general.pop(key, None) is not None:
            del self._general_of[key[0]][key]
        self._far.pop(key, None)
        self._watching.pop(key, None)
        self._circles.drop(key)

    def _drop_subscription(self, owner: str, id_: str) -> None:
        self._dismiss((owner, id_))
        if (known := self.subscriptions.get((owner, id_))) is not None:
            known.pairs.clear()
        self._ending[1].pop((owner, id_), None)
        self._past.leave(("subscription", owner, id_))
        self._subscribed_by.get(owner, {}).pop((owner, id_), None)
        super()._drop_subscription(owner, id_)


def key_of(s: Subscribed) -> StatementKey:
    return (s.owner, s.subscription.id)


def remembers_more(subscription: Subscription) -> bool:
    """Whether it is remembered of a pair on which side of several boundaries it is. Then it has state also where one of
    them leaves it out: on which side of the others it was."""
    options = subscription.options
    if not options.hysteresis and options.confidence is None:
        return False
    return sum(isinstance(node, c.Within | c.Inside | c.Crosses) for node in c.walk(subscription.filter)) > 1


def _only_inside(s: Subscribed, target: c.Target, side: c.Side = "&") -> bool:
    """Whether a pair that is not stored can only come to be where the client is inside the region."""
    if s.subscription.life != c.ALWAYS or s.chooses or remembers_more(s.subscription):
        return False
    filter_ = s.subscription.filter
    parts = filter_.items if isinstance(filter_, c.And) else (filter_,)
    return c.Inside(c.Ref(side, "location"), target) in parts
