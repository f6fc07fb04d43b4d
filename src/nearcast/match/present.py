"""What matches now, for whoever asks instead of waiting to be told. Nothing here changes anything.

``state`` is what a client has been told and not taken back; ``query`` what it would be told at once if it subscribed;
``visible`` whom it may see at all. A publisher's filter holds in each of them: who does not satisfy it learns nothing,
not even that there is something to learn.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from nearcast.match import admit
from nearcast.match.chain import Pair, advance
from nearcast.match.choice import choose
from nearcast.match.history import Past, Relations, mentions
from nearcast.match.reference import Reference, end_of
from nearcast.match.verdict import Candidate, Judge
from nearcast.match.world import Key, Published, Subscribed, World
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.fix import Fix, Located
from nearcast.model.moment import FOREVER, NEVER, Moment
from nearcast.model.notification import Cause, Kind, Notification, Reason, notification_id
from nearcast.model.statement import Subscription

__all__ = ["Seen", "query", "state", "visible"]

T = TypeVar("T")


class Seen(NamedTuple):
    """Someone whom a client may see."""

    client: str
    publication: str
    fix: Fix | None
    """Where it is; nothing if what it publishes is somewhere of its own."""
    stays: tuple[Located, ...] = ()
    """Where that is, then."""


def state(reference: Reference, client: str, number: int) -> list[Notification]:
    """What matches for each subscription of a client, as snapshots. Their ids differ with the number of the asking."""
    told = [
        _snapshot(s, key, reference.time_of(s, key), content, number)
        for s in reference.owned(client)[1].values()
        if s.subscription.on is None
        for key, content in _paced(reference, reference.told(s))
        if reference.time_of(s, key) < _end(reference, s)
    ]
    return sorted(told, key=lambda n: n.order)


def query(reference: Reference, subscription: Subscription, number: int) -> list[Notification]:
    """What would be told at once if its owner subscribed now. One that cannot be asked raises one of our errors."""
    admit.check(ops.Subscribe(0, subscription), reference.world, reference.subscriptions)
    asked = replace(subscription, id="")
    now = _now(reference, reference.judge.past.clock((subscription.owner,)))
    s = Subscribed(asked, (number, 0), end_of(subscription.options.expires, now))
    if subscription.on is not None:
        return []
    judge = _judge(reference, s)
    s.latches = judge.latched_life(s, now, None)
    times = {
        candidate: _now(reference, reference.moment_of(s, candidate.key))
        for candidate in _candidates(reference, judge, s)
    }
    alive = {candidate: time for candidate, time in times.items() if time < _end(reference, s)}
    verdicts = {candidate.key: judge.judge(s, candidate, time) for candidate, time in alive.items()}
    how = subscription.choice or subscription.nearest
    chosen = choose(how, {key: v.distance for key, v in verdicts.items() if v.satisfied}, ())
    told = [
        _snapshot(s, candidate.key, time, _content(reference, candidate.key), number)
        for candidate, time in alive.items()
        if candidate.key in chosen and advance(Pair(), True, time, s.options) is Kind.ENTER
    ]
    return sorted(told, key=lambda n: n.order)


def visible(
    reference: Reference, client: str, owners: Container[str] | None = None, *, is_staying: bool = False
) -> Iterator[Seen]:
    """Those whose publications let a client see them, as far as they are somewhere. If asked, only publications of some
    owners, or only what may be somewhere of its own."""
    s = Subscribed(Subscription("", client), (0, 0))
    judge, world = _judge(reference, s), reference.world
    for (owner, id_), published in _paced(reference, list(world.publications.items())):
        if owner == client or (owners is not None and owner not in owners):
            continue
        is_carried = not any(r.geometry or r.place for r in published.publication.regions)
        if is_staying and is_carried:
            continue
        if not _may_see(reference, judge, s, (id_, owner, "", ""), published):
            continue
        if is_carried:
            known = world.clients.get(owner)
            yield Seen(owner, id_, known.fix if known else None)
        else:
            yield _staying(world, owner, id_, published)


def _staying(world: World, owner: str, id_: str, published: Published) -> Seen:
    sides = world.sides(owner, id_, published.publication.regions)
    fix = next((side.fix for side in sides if side.fix), None)
    stays = () if fix else dict.fromkeys(side.located for side in sides if side.located)
    return Seen(owner, id_, fix, tuple(stays))


def _may_see(reference: Reference, judge: Judge, s: Subscribed, key: Key, published: Published) -> bool:
    ends, is_open = reference.world.ends((key[1], key[0])), published.publication.permits == c.ALWAYS
    if is_open and ends == FOREVER:
        return True
    now = _now(reference, reference.moment_of(s, key))
    return now < ends and (is_open or judge.judge(s, Candidate(key), now).allowed)


def _candidates(reference: Reference, judge: Judge, s: Subscribed) -> Iterable[Candidate]:
    """What may match. An index knows only clients that have done something."""
    found = reference.candidates(s) if s.owner in reference.world.clients else judge.candidates(s)
    return list(_paced(reference, found))


def _paced(reference: Reference, things: Iterable[T]) -> Iterator[T]:
    """The same, as long as whoever asks has the patience."""
    for thing in things:
        reference.world.pace()
        yield thing


def _judge(reference: Reference, s: Subscribed) -> Judge:
    """With a past of its own, if somebody asks for one: one that has seen this subscription come."""
    world, past = reference.world, reference.judge.past
    if not reference.asks_for_past and not s.past:
        return reference.judge
    here = (s.owner, s.subscription.id)
    own = Past(world, {here: s}, lambda clients: _now(reference, past.clock(clients)))
    own.relations = {
        holder: Relations(dict(known.histories))
        for holder, known in past.relations.items()
        if holder[0] == "publication"
    }
    if s.owner in world.clients:
        for relation in s.past:
            own.watch(("subscription", *here), relation, None)
        for key, p in world.publications.items():
            for relation in p.past if key[0] != s.owner else ():
                if mentions(relation, "#"):
                    own.watch(("publication", *key), relation, None, [here])
    return Judge(world, own)


def _end(reference: Reference, s: Subscribed) -> Moment:
    owner = reference.world.clients.get(s.owner)
    return min(s.expires, owner.ends if owner else FOREVER)


def _now(reference: Reference, clock: Moment) -> int:
    """A client that has done nothing has no time of its own."""
    latest = reference.marks.latest
    return int(clock if clock != NEVER else latest if latest != NEVER else 0)


def _content(reference: Reference, key: Key) -> str:
    published = None if key[3] else reference.world.publications.get((key[1], key[0]))
    return published.publication.content if published else ""


def _snapshot(s: Subscribed, key: Key, time: int, content: str, number: int) -> Notification:
    publication, publisher, region, peer = key
    about: dict[str, Any] = {
        "subscription": s.subscription.id, "subscriber": s.owner, "publication": publication,
        "publisher": publisher or None, "region": region or None, "peer": peer or None,
    }  # fmt: skip
    cause = Cause("state", "", number)
    id_ = notification_id(kind=Kind.SNAPSHOT, cause=cause, **about)
    return Notification(
        id=id_, time=time, kind=Kind.SNAPSHOT, reason=Reason.SUBSCRIBED, cause=cause, content=content, **about,
    )  # fmt: skip
