"""The definition: ops applied one at a time, everything they touch asked again, transitions told.

No indexes and no cleverness. Every faster or distributed engine must give exactly these notifications.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace

from nearcast.match import admit
from nearcast.match.binding import Binding, follow
from nearcast.match.chain import Pair, advance, is_idle, ready_at
from nearcast.match.choice import choose
from nearcast.match.history import Holder, Past, Relations
from nearcast.match.tell import Change, Teller
from nearcast.match.verdict import Candidate, Judge, Verdict
from nearcast.match.world import Client, Key, Published, StatementKey, Subscribed, World
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.fix import Fix, Position
from nearcast.model.moment import FOREVER, NEVER, Moment
from nearcast.model.notification import Kind, Notification, Reason, by_entity, by_fix, by_timer
from nearcast.model.statement import FromRelation, Publication, RelationDefinition, Source, Subscription

__all__ = ["Marks", "Reference", "end_of"]


@dataclass(frozen=True, slots=True)
class Marks:
    """How far time has come, and what is remembered of it besides the pairs."""

    everyone: Moment
    """Until when time has passed for all."""
    latest: Moment
    """The latest time of anyone."""
    versions: dict[str, tuple[int, int]]
    """Of an entity, when it last changed, and how often at that time."""
    relations: dict[Holder, Relations]
    """The histories that statements ask for."""


class Reference:
    """The state of one system. ``apply`` takes the ops of a log in order and gives each one's notifications.

    An op that is refused raises one of our errors and changes nothing. ``lateness`` (microseconds) holds every
    client's fixes back, unless the client has a window of its own. ``thorough`` asks everything again after each
    op, touched or not; the answers are the same.
    """

    def __init__(self, lateness: int = 0, thorough: bool = False) -> None:
        self.world = World()
        self.lateness = lateness
        self.thorough = thorough
        self.subscriptions: dict[tuple[str, str], Subscribed] = {}
        self.counts: Counter[str] = Counter()
        """Ops applied, by their name; fixes dropped as ``stale``, or ``forgotten`` with the client they waited for."""
        self._everyone: Moment = NEVER
        self._latest: Moment = NEVER
        self._clocks: MutableMapping[str, int] = {}
        self._last_fix: MutableMapping[str, int] = {}
        self._versions: dict[str, tuple[int, int]] = {}
        self._past = self._new_past()
        self.judge = Judge(self.world, self._past)
        self._teller = Teller(self.world, self.judge)

    def _new_past(self) -> Past:
        return Past(self.world, self.subscriptions, self._clock)

    @property
    def marks(self) -> Marks:
        """The state itself, not a copy of it."""
        return Marks(self._everyone, self._latest, self._versions, self._past.relations)

    # ---- ops -------------------------------------------------------------------------------------

    def apply(self, op: ops.Op) -> list[Notification]:
        admit.check(op, self.world, self.subscriptions)
        self.counts[type(op).__name__] += 1
        if isinstance(op, ops.SystemOp):
            return list(self._system(op))
        if isinstance(op, ops.Move):
            return list(self._move(op))
        return list(self._client(op))

    def _system(self, op: ops.SystemOp) -> Iterator[Notification]:
        """An op of nobody's is everyone's: all clocks go forward with it."""
        yield from self._release(op.time)
        now = int(max(op.time, self._everyone))
        if isinstance(op, (ops.DefineRelation, ops.RemoveRelation)) and self._ends_what_sees_all(op):
            now = int(max(now, self._latest))
        yield from self._advance(None, now)
        if not isinstance(op, ops.Tick):
            entity = self._define(op)
            cause = by_entity(entity, *self._version(entity, now))
            yield from self._step(Change(cause, Reason.DEFINED))
        yield from self._bury()

    def _client(self, op: ops.ClientOp) -> Iterator[Notification]:
        now = self._effective(op.time, op.client)
        if self._ends_what_sees_all(op):
            now = int(max(now, self._latest))
        yield from self._advance(op.client, now)
        now = self._effective(now, op.client)
        self._wake(op.client, now)
        match op:
            case ops.Publish(publication=publication):
                known = self.world.clients[op.client].fix
                seen = self.world.in_cell(publication, known.position if known else None)
                yield from self._step(self._publish(seen, now))
            case ops.Retract(client=client, id=id_):
                self._drop_publication((client, id_))  # its lease may just have ended with all it had
                yield from self._step(self._changed(f"publication:{client}/{id_}", Reason.RETRACTED, client, now))
                self._past.drop(("publication", client, id_))
            case ops.Subscribe(subscription=subscription):
                yield from self._step(self._subscribe(subscription, now))
            case ops.Unsubscribe(client=client, id=id_):
                self._drop_subscription(client, id_)
                self._observe(client, None)
            case ops.SetClient(client=client):
                yield from self._set_client(op, now)
                change = self._changed(f"client:{client}", Reason.ATTRIBUTES, client, now)
                yield from self._step(replace(change, moved=True))
            case ops.Forget(client=client):
                self._forget(client)
                yield from self._step(self._changed(f"client:{client}", Reason.GONE, client, now))
            case ops.Emit():
                yield from self._emit(op, now)

    def _publish(self, publication: Publication, now: int, expires: Moment | None = None) -> Change:
        key = (publication.owner, publication.id)
        old = self.world.publications.get(key)
        known = old if old is not None and old.expires > now else None
        change = self._changed(
            f"publication:{key[0]}/{key[1]}", Reason.EDITED if known else Reason.PUBLISHED, key[0], now
        )
        version = (change.cause.number, change.cause.ordinal)
        ends = end_of(publication.expires, now) if expires is None else expires
        since = known.since if known and known.publication.permits == publication.permits else now
        self.world.publications[key] = made = Published(publication, version, ends, since)
        self._past.narrow(("publication", *key), made.past)
        return replace(change, touched=key)

    def _subscribe(self, subscription: Subscription, now: int) -> Change:
        key = (subscription.owner, subscription.id)
        old = self.subscriptions.get(key)
        if old is not None and (old.expires <= now or (old.subscription.on is None) != (subscription.on is None)):
            self._drop_subscription(*key)  # one that begins or ceases to hear readings is another subscription
            old = None
        reason = Reason.EDITED if old else Reason.SUBSCRIBED
        change = self._changed(f"subscription:{key[0]}/{key[1]}", reason, key[0], now)
        version = (change.cause.number, change.cause.ordinal)
        made = Subscribed(subscription, version, end_of(subscription.options.expires, now))
        if old is not None:
            made.pairs, made.latches = old.pairs, old.latches
            admit.carry_latches(old.subscription, made)
            if not old.options.cooldown:
                for pair in made.pairs.values():
                    pair.entered = NEVER  # a cooldown counts from what was told while it was asked for
        self.subscriptions[key] = made
        self._past.narrow(("subscription", *key), made.past)
        return change if old else replace(change, added=key)

    def _set_client(self, op: ops.SetClient, now: int) -> Iterator[Notification]:
        client = self.world.clients[op.client]
        for p in self.owned(op.client)[0].values():
            if op.attributes and not c.names_of(p.publication.permits, "&").isdisjoint(("*", *op.attributes)):
                p.since = now  # whom its filter lets in may be others now
        for name, value in op.attributes.items():
            if value is None:
                client.attributes.pop(name, None)
            else:
                client.attributes[name] = value
        if op.lease is not None:
            client.lease = op.lease
        if op.lateness is not None:
            client.lateness = op.lateness
            for ready in self._take(client, client.newest - op.lateness):
                yield from self._fix(op.client, ready)

    def _forget(self, client: str) -> None:
        """What it published is gone, and so are its subscriptions. Only its clock and its last fix's time are kept."""
        held = self.world.clients.pop(client, Client()).held
        self.counts["forgotten"] += len(held)
        if self._owns_what_sees_all(client):
            self._set_clock(client, int(self._latest))
        published, subscribed = self.owned(client)
        for key in list(published):
            self._drop_publication(key)
            self._past.drop(("publication", *key))
        for key in list(subscribed):
            self._drop_subscription(*key)

    def owned(self, client: str) -> tuple[dict[StatementKey, Published], dict[StatementKey, Subscribed]]:
        """What a client publishes, and what it subscribes to."""
        published = {key: p for key, p in self.world.publications.items() if key[0] == client}
        return published, {key: s for key, s in self.subscriptions.items() if key[0] == client}

    def _define(self, op: ops.SystemOp) -> str:
        return self.world.define(op)

    def _drop_publication(self, key: StatementKey) -> None:
        self.world.publications.pop(key, None)

    def _drop_subscription(self, owner: str, id_: str) -> None:
        self.subscriptions.pop((owner, id_), None)
        self._past.drop(("subscription", owner, id_))

    def _emit(self, op: ops.Emit, now: int) -> Iterator[Notification]:
        entity = f"reading:{op.client}/{op.publication}"
        cause = by_entity(entity, *self._version(entity, now))
        change = Change(cause, Reason.EMITTED, op.client)
        told = [
            self._teller.reading(s, key, now, change, op.values)
            for s, key, pair in self._bound(op.client, op.publication)
            if pair.binding is Binding.ACTIVE
            for now in (self.time_of(s, key),)
            if self.judge.hears(s, key, op.values, now)
        ]
        yield from sorted(told, key=lambda n: n.order)

    def bindings(self, client: str, publication: str) -> dict[tuple[str, str], Binding]:
        """How a source stands to each subscription that it is bound to, by (subscriber, subscription)."""
        return {(s.owner, s.subscription.id): pair.binding for s, _, pair in self._bound(client, publication)}

    def _bound(self, client: str, publication: str) -> Iterator[tuple[Subscribed, Key, Pair]]:
        for s in self.subscriptions.values():
            for key, pair in s.pairs.items():
                if key[:2] == (publication, client):
                    yield s, key, pair

    # ---- fixes -----------------------------------------------------------------------------------

    def _move(self, op: ops.Move) -> Iterator[Notification]:
        fix = Fix(op.position, op.time)
        client = self.world.clients.get(op.client, Client())
        window = self.lateness if client.lateness is None else client.lateness
        if not window:
            yield from self._fix(op.client, fix)
        elif op.time <= self._last_fix.get(op.client, NEVER):
            self.counts["stale"] += 1
        else:
            client = self.world.clients.setdefault(op.client, client)
            client.held.append(fix)
            client.newest = max(client.newest, op.time)
            for ready in self._take(client, client.newest - window):
                yield from self._fix(op.client, ready)

    def _release(self, time: int) -> Iterator[Notification]:
        """Apply the held fixes whose window a tick closes, of all clients in order of time."""
        ready = []
        for name in self._waiting():
            client = self.world.clients[name]
            window = self.lateness if client.lateness is None else client.lateness
            ready += [(fix.time, name, fix) for fix in self._take(client, time - window)]
        for _, name, fix in sorted(ready, key=lambda held: held[:2]):
            yield from self._fix(name, fix)

    def _waiting(self) -> list[str]:
        """The clients whose fixes may be held back."""
        return list(self.world.clients)

    @staticmethod
    def _take(client: Client, until: Moment) -> list[Fix]:
        """The held fixes up to a time, in order; of several at one time the least comes first and wins."""
        ready = sorted((f for f in client.held if f.time <= until), key=lambda f: (f.time, f.position.order))
        client.held = [f for f in client.held if f.time > until]
        return ready

    def _fix(self, name: str, fix: Fix) -> Iterator[Notification]:
        if fix.time <= self._last_fix.get(name, NEVER):
            self.counts["stale"] += 1
            return
        now = self._effective(fix.time, name)
        yield from self._advance(name, now)
        client = self._wake(name, now)
        yield from self._into_cells(name, fix.position, now)
        client.previous, client.fix = client.fix, fix
        self._last_fix[name] = fix.time
        change = Change(by_fix(name, fix.time), Reason.MOVED, name, moved=True)
        yield from self._step(change, passing=name)
        yield from self._step(change)

    def _into_cells(self, name: str, position: Position, now: int) -> Iterator[Notification]:
        """What a client publishes with a lower precision goes from cell to cell. It does so first, so that nobody sees
        it where the client really is. One after the other, by their ids."""
        for _, p in sorted(self.owned(name)[0].items()):
            seen = self.world.in_cell(p.publication, position)
            if seen != p.publication and p.expires > now:
                yield from self._publish_anew(seen, now, p.expires)

    def _publish_anew(self, publication: Publication, now: int, expires: Moment) -> Iterator[Notification]:
        yield from self._step(self._publish(publication, now, expires))

    # ---- time ------------------------------------------------------------------------------------

    def _clock(self, clients: tuple[str, ...] | None) -> Moment:
        """The latest time that some clients have reached, or anyone."""
        if clients is None:
            return self._latest
        return max([self._everyone, *(self._clocks.get(client, NEVER) for client in clients)])

    def time_of(self, s: Subscribed, key: Key) -> int:
        """The present of a pair: the later of its clients' clocks; if it looks at everyone, the latest of all."""
        return int(self.moment_of(s, key))

    def moment_of(self, s: Subscribed, key: Key) -> Moment:
        """The same; never, if none of its clients has done anything."""
        return self._clock(None if self._sees_all(s, key) else (s.owner, key[1], key[3]))

    def _effective(self, time: int, client: str) -> int:
        return int(max(time, self._clock((client,))))

    def _ends_what_sees_all(self, op: ops.Op) -> bool:
        """Whether the op ends or replaces what had everyone's time. It takes effect then: no pair's time runs back."""
        match op:
            case ops.Publish(publication=p):
                known: Published | Subscribed | None = self.world.publications.get((p.owner, p.id))
            case ops.Subscribe(subscription=s):
                known = self.subscriptions.get((s.owner, s.id))
            case ops.Retract(client=client, id=id_):
                known = self.world.publications.get((client, id_))
            case ops.Unsubscribe(client=client, id=id_):
                known = self.subscriptions.get((client, id_))
            case ops.Forget(client=client):
                return self._owns_what_sees_all(client)
            case ops.DefineRelation(relation=RelationDefinition(name=name)) | ops.RemoveRelation(name=name):
                return self._relation_sees_all(FromRelation(name))
            case _:
                return False
        return known is not None and known.sees_all

    def _owns_what_sees_all(self, client: str) -> bool:
        published, subscribed = self.owned(client)
        return any(p.sees_all for p in published.values()) or any(s.sees_all for s in subscribed.values())

    def _set_clock(self, client: str | None, now: int) -> None:
        if client is None:
            self._everyone = now
        else:
            self._clocks[client] = now
        self._latest = max(self._latest, now)

    def _advance(self, client: str | None, now: int) -> Iterator[Notification]:
        """Let time pass, for a client or for everyone, stopping at each instant when something comes due."""
        while (due := self._next_due(client, now)) is not None:
            self._set_clock(client, due)
            change = Change(by_timer(due), Reason.TIME, client)
            yield from self._step(change)
        self._set_clock(client, now)
        if client is not None and client in self.world.clients and self.world.clients[client].ends <= now:
            self._forget(client)

    def _next_due(self, client: str | None, now: int) -> int | None:
        pairs = (
            pair.due
            for s in self._timed()
            for key, pair in s.pairs.items()
            if pair.due is not None
            and (client is None or client in (s.owner, key[1], key[3]) or self._sees_all(s, key))
        )
        return min((due for due in (*pairs, *self._past.dues(client)) if due <= now), default=None)

    def _timed(self) -> Iterable[Subscribed]:
        """The subscriptions whose pairs may turn by themselves."""
        return self.subscriptions.values()

    def _wake(self, name: str, now: int) -> Client:
        """The client, alive: every op of its own renews its lease."""
        client = self.world.clients.setdefault(name, Client())
        client.seen = now
        return client

    def _bury(self) -> Iterator[Notification]:
        """Drop what everyone's time has passed; those concerned were told when it came due."""
        clients, published, subscribed = self._mortal()
        for name in [n for n in clients if self.world.clients[n].ends <= self._everyone]:
            self._forget(name)
        past = sorted((k, p.sees_all) for k, p in published.items() if p.expires <= self._everyone)
        for key, sees_all in past:
            self._drop_publication(key)
            self._past.drop(("publication", *key))
            yield from self._advance(key[0], int(self._latest)) if sees_all else ()
        ended = sorted((k, s.sees_all) for k, s in subscribed.items() if s.expires <= self._everyone)
        for key, sees_all in ended:
            self._drop_subscription(*key)
            yield from self._advance(key[0], int(self._latest)) if sees_all else ()
        self._versions = {entity: v for entity, v in self._versions.items() if v[0] >= self._everyone}

    def _mortal(
        self,
    ) -> tuple[Iterable[str], Mapping[StatementKey, Published], Mapping[StatementKey, Subscribed]]:
        """What may end by itself: clients by their lease, statements by their expiry."""
        return self.world.clients, self.world.publications, self.subscriptions

    def _version(self, entity: str, now: int) -> tuple[int, int]:
        """The time it took effect and, for several at one time, which of them it was."""
        time, ordinal = self._versions.get(entity, (now, -1))
        self._versions[entity] = (now, ordinal + 1 if time == now else 0)
        return self._versions[entity]

    def _changed(self, entity: str, reason: Reason, client: str, now: int) -> Change:
        return Change(by_entity(entity, *self._version(entity, now)), reason, client)

    # ---- matching --------------------------------------------------------------------------------

    def _step(self, change: Change, passing: str | None = None) -> list[Notification]:
        """Ask again what the change may have turned, and tell the transitions: leaves first, in a fixed order."""
        self._observe(change.client, passing)
        told: list[Notification] = []
        for s in self._concerned(change):
            if passing is None or self._looks_at_steps(s):
                told += self._match(s, change, passing)
        return sorted(told, key=lambda n: n.order)

    def _observe(self, client: str | None, passing: str | None) -> None:  # noqa: ARG002  # as with what is concerned
        self._past.observe(passing)

    def _concerned(self, change: Change) -> list[Subscribed]:  # noqa: ARG002  # an engine with an index asks fewer
        """The subscriptions that a change may turn."""
        return list(self.subscriptions.values())

    def _candidates(self, s: Subscribed, client: str | None) -> Iterable[Candidate]:
        """What a subscription may match; with a client, only what involves it."""
        return self.judge.candidates(s, client)

    def _stored(self, s: Subscribed, client: str | None) -> list[Key]:
        """The pairs that are remembered; with a client, only those that involve it."""
        return [key for key in s.pairs if client is None or client in key[1::2]]

    def _match(self, s: Subscribed, change: Change, passing: str | None) -> Iterator[Notification]:
        s.latches = self.judge.latched_life(s, int(self._clock((s.owner,))), passing)
        client = None if self._is_wide(s, change) else change.client
        candidates = {candidate.key: candidate for candidate in self._candidates(s, client)}
        vanished = [key for key in self._stored(s, client) if key not in candidates]
        ends = min(s.expires, self.world.clients[s.owner].ends)
        ended = {key for key in (*candidates, *vanished) if self.time_of(s, key) >= ends}
        for key in ended:  # a subscription that ends tells nobody
            s.pairs.pop(key, None)
        # The reason of a leave says what the subscriber itself did to what it was told of, if that also hides it.
        known = {key for key, pair in s.pairs.items() if pair.told} if change.is_by(s.owner) else ()
        verdicts = {
            key: self.judge.judge(s, candidate, self.time_of(s, key), passing=passing, hidden=key in known)
            for key, candidate in candidates.items()
            if key not in ended
        }
        how = s.subscription.choice or s.subscription.nearest
        current = {key for key, pair in s.pairs.items() if pair.since is not None}
        chosen = choose(how, {key: v.distance for key, v in verdicts.items() if v.satisfied}, current)
        for key in (key for key in vanished if key not in ended):
            yield from self._settle(s, Candidate(key), Verdict(alive=True, gone=change.reason), False, change)
        for key, verdict in verdicts.items():
            yield from self._settle(s, candidates[key], verdict, key in chosen, change, passing)

    def _settle(
        self,
        s: Subscribed,
        candidate: Candidate,
        verdict: Verdict,
        chosen: bool,
        change: Change,
        passing: str | None = None,
    ) -> Iterator[Notification]:
        options, key = s.options, candidate.key
        now = self.time_of(s, key)
        pair = s.pairs.setdefault(key, Pair())
        was = replace(pair)
        pair.latches = frozenset(verdict.latched if verdict.allowed else ())
        pair.satisfied, pair.alive = verdict.satisfied, verdict.alive
        kind = advance(pair, chosen, now, options)
        pair.binding = follow(pair.binding, alive=verdict.alive, bound=pair.told)
        waits = [int(ready_at(pair, options)[0])] if pair.since is not None and not pair.told else []
        pair.due = min([turn for turn in (*verdict.turns, *waits) if turn > now], default=None)
        if verdict.allowed and verdict.gone is None:
            pair.content = self._teller.content(key)
        if kind is None and was.told and passing is None and options.updates and self._teller.is_updated(key, change):
            kind = Kind.UPDATE
        if kind is not None and s.subscription.on is None:
            yield self._teller.transition(s, candidate, kind, now, was, verdict, change)
        if is_idle(pair, options, now):
            del s.pairs[key]

    # ---- what is so now --------------------------------------------------------------------------

    def candidates(self, s: Subscribed) -> Iterable[Candidate]:
        """What a subscription may match, whether it is known here or not. Its owner is."""
        return self._candidates(s, None)

    def told(self, s: Subscribed) -> list[tuple[Key, str]]:
        """What was told to a subscription and not taken back, with its content."""
        return [(key, pair.content) for key, pair in s.pairs.items() if pair.told]

    @property
    def asks_for_past(self) -> bool:
        """Whether some publication does, so that it matters when a subscription came."""
        return any(p.past for p in self.world.publications.values())

    # ---- what is touched -------------------------------------------------------------------------

    def _is_wide(self, s: Subscribed, change: Change) -> bool:
        """Whether an op of one client may turn pairs of others, or all pairs are the client's own."""
        own = change.client in (None, s.owner)
        wide = self.thorough or own or s.sees_all or self._some_publisher_sees_all()
        return wide or self._relation_sees_all(s.subscription.source)

    def _some_publisher_sees_all(self) -> bool:
        return any(p.sees_all for p in self.world.publications.values())

    def _sees_all(self, s: Subscribed, key: Key) -> bool:
        """Whether a pair depends on what others publish."""
        published = None if key[3] else self.world.publications.get((key[1], key[0]))
        theirs = published is not None and published.sees_all
        return s.sees_all or theirs or self._relation_sees_all(s.subscription.source)

    def _relation_sees_all(self, source: Source) -> bool:
        relation = self.world.relations.get(source.name) if isinstance(source, FromRelation) else None
        return relation is not None and c.asks_for_any(relation.filter, relation.permit)

    def _looks_at_steps(self, s: Subscribed) -> bool:
        """Whether CROSSES matters; a crossing never counts for dwell."""
        if s.subscription.options.dwell:
            return False
        source = s.subscription.source
        relation = self.world.relations.get(source.name) if isinstance(source, FromRelation) else None
        theirs = (relation.filter, relation.permit) if relation else ()
        return s.sees_steps or c.asks_for_steps(theirs) or self._some_publisher_looks_at_steps()

    def _some_publisher_looks_at_steps(self) -> bool:
        return any(p.sees_steps for p in self.world.publications.values())


def end_of(expires: c.Duration | c.Instant | None, now: int) -> Moment:
    """When what begins now is over."""
    if expires is None:
        return FOREVER
    return now + expires.micros if isinstance(expires, c.Duration) else expires.micros
