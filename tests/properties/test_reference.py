"""What holds of the reference for every log, and so must hold of every engine that agrees with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from nearcast.language.oplog import decode_op, encode_op, statement_to_op
from nearcast.match.reference import Reference
from nearcast.match.world import Key
from nearcast.model import op as ops
from nearcast.model.layer import Layer
from nearcast.model.moment import NEVER
from nearcast.model.notification import HIDDEN, Kind, Notification
from nearcast.model.statement import Statement
from nearcast.testing import Log, applied, logs, run, statements

About = tuple[str, str, Key]
"""(subscriber, subscription, what it matched): what a notification is about."""

NOBODYS = Layer("nobody's", ())
"""A layer that no statement names; to define it is to ask everything again for no reason."""


def about(n: Notification) -> About:
    return n.subscriber, n.subscription, (n.publication, n.publisher or "", n.region or "", n.peer or "")


def ends(reference: Reference, owner: str, id_: str) -> float:
    """When a subscription ceases to be, by its own expiry or its owner's lease."""
    return min(reference.subscriptions[owner, id_].expires, reference.world.clients[owner].ends)


def told_pairs(reference: Reference) -> set[About]:
    """M as it was told: the pairs with an enter and no leave since, of subscriptions that are still there."""
    return {
        (*owned, key)
        for owned, s in reference.subscriptions.items()
        for key, pair in s.pairs.items()
        if pair.told and reference.time_of(s, key) < ends(reference, *owned)
    }


# ---- the same log, the same answer -------------------------------------------------------------------


@given(logs())
def test_a_replay_gives_the_same_notifications(log: Log) -> None:
    first = run(log)
    assert run(log) == first
    ids = [n.id for n in first]
    assert len(set(ids)) == len(ids)


@given(logs())
def test_asking_everything_again_changes_nothing(log: Log) -> None:
    assert run(log, thorough=True) == run(log)


@given(logs())
def test_an_op_reads_back_as_it_was_written(log: Log) -> None:
    for op in log:
        line = encode_op(op)
        assert decode_op(line) == op
        assert encode_op(decode_op(line)) == line


@given(statements(), st.integers(-(2**62), 2**62))
def test_an_op_of_any_statement_at_any_time_reads_back_as_it_was_written(statement: Statement, time: int) -> None:
    op = statement_to_op(statement, time)
    if op is None or not all(getattr(op, name, "given") for name in ("client", "id")):
        return  # a statement without an id or an owner is not yet an op
    assert decode_op(encode_op(op)) == op


# ---- M is a function of the present ------------------------------------------------------------------


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[Log, Log]:
    """A log without memory, and the same with neighbours of different clients swapped here and there.

    Without memory, whether a pair is in M depends only on what is so now: on the two clients, on what others
    publish (ANY), and on the pair's time, which is the later of two clocks that each client's own ops set. So it
    cannot matter who spoke first. Dwell, cooldown, hysteresis, confidence, τ, π and the choice of a source remember
    states that lay between, and those differ. CROSSES may tell of different crossings, but what is crossed is left
    at the same fix. An op of nobody's sets everyone's clock, so nothing is moved across it.
    """
    log = list(draw(logs(memory=False)))
    other = list(log)
    for i in draw(st.lists(st.integers(0, max(0, len(log) - 2)), max_size=20)):
        a, b = other[i : i + 2] if len(other) > 1 else (None, None)
        if isinstance(a, ops.ClientOp) and isinstance(b, ops.ClientOp) and a.client != b.client:
            other[i : i + 2] = b, a
    return tuple(log), tuple(other)


@given(shuffled())
def test_what_matches_does_not_depend_on_which_client_spoke_first(pair: tuple[Log, Log]) -> None:
    told = []
    for log in pair:
        reference = Reference()
        list(applied(reference, log))
        told.append(told_pairs(reference))
    assert told[0] == told[1]


@given(logs())
def test_nothing_is_left_untold(log: Log) -> None:
    """Timers tell all that time turns, and ops the rest: a definition that nobody uses then tells nothing more."""
    reference = Reference()
    for op in log:
        assert told_by_chance(reference, op.time) == [], f"time alone left something until before {op}"
        list(applied(reference, [op]))
        assert told_by_chance(reference, op.time) == [], f"something was left after {op}"


def told_by_chance(reference: Reference, time: int) -> list[Notification]:
    """What comes out when all is asked again for no reason, once everyone's time is here."""
    reference.apply(ops.Tick(time))
    now = int(reference._latest)
    reference.apply(ops.Tick(now))
    return reference.apply(ops.DefineLayer(now, NOBODYS))


@st.composite
def split(draw: st.DrawFn) -> tuple[Log, Log]:
    """A log in order of time, and the same with ticks, and definitions that nobody uses, between its ops."""
    log = draw(logs(disorder=False))
    finer: list[ops.Op] = []
    for op, after in pairwise(log):
        times = {op.time, op.time + 1, (op.time + after.time) // 2, after.time - 1, after.time}
        moments = st.sampled_from(sorted(t for t in times if op.time <= t <= after.time))
        idle = st.one_of(moments.map(ops.Tick), moments.map(lambda t: ops.DefineLayer(t, NOBODYS)))
        finer += [op, *sorted(draw(st.lists(idle, max_size=2)), key=lambda op: op.time)]
    last = ops.Tick(log[-1].time)
    return (*log, last), (*finer, log[-1], last)


@given(split())
def test_it_does_not_matter_how_often_one_looks(pair: tuple[Log, Log]) -> None:
    """What comes due is told of the time it was due, in the state as it was then, whenever time gets there."""
    coarse, fine = (sorted(run(log), key=lambda n: (n.time, n.id)) for log in pair)
    assert coarse == fine


# ---- transitions -------------------------------------------------------------------------------------


@st.composite
def settled(draw: st.DrawFn) -> Log:
    """A log in which no edit adds or removes ON, so that a subscription has enters and leaves or has readings."""
    kinds: dict[tuple[str, str], bool] = {}
    kept: list[ops.Op] = []
    for op in draw(logs()):
        if isinstance(op, ops.Subscribe):
            reads = op.subscription.on is not None
            if kinds.setdefault((op.client, op.subscription.id), reads) != reads:
                continue
        kept.append(op)
    return tuple(kept)


class Listener:
    """Believes what it is told, and nothing else."""

    def __init__(self) -> None:
        self.believed: set[About] = set()

    def hear(self, told: Iterable[Notification], added: tuple[str, str] | None) -> None:
        """Take in an op's notifications. ``added`` is the subscription that began with it, if one did."""
        snapshot: set[About] | None = None
        for n in told:
            subject = about(n)
            if n.kind is Kind.SNAPSHOT:
                assert subject[:2] == added, n
                if snapshot is None:
                    self.forget(added)
                    snapshot = set()
                snapshot.add(subject)
            if n.kind in (Kind.ENTER, Kind.SNAPSHOT):
                assert subject not in self.believed, n
                self.believed.add(subject)
            else:
                assert n.kind is Kind.READING or subject in self.believed, n
            if n.kind is Kind.LEAVE:
                self.believed.remove(subject)
        if added is not None and snapshot is None:
            self.forget(added)

    def forget(self, owned: tuple[str, str]) -> None:
        """A subscription that ends tells nobody; its owner knows."""
        self.believed = {subject for subject in self.believed if subject[:2] != owned}


def added_by(op: ops.Op, ended_at: dict[tuple[str, str], float], reference: Reference) -> tuple[str, str] | None:
    """The subscription that the op added, unless it edited one that had not ended."""
    if not isinstance(op, ops.Subscribe):
        return None
    owned = (op.client, op.subscription.id)
    return owned if ended_at.get(owned, NEVER) <= reference._effective(op.time, op.client) else None


@given(settled())
def test_what_was_told_is_what_is_so(log: Log) -> None:
    """No enter or leave without a transition, and none missing."""
    reference, listener = Reference(), Listener()
    ended_at: dict[tuple[str, str], float] = {}
    for op, told in applied(reference, log):
        listener.hear(told, added_by(op, ended_at, reference))
        before, ended_at = ended_at, {owned: ends(reference, *owned) for owned in reference.subscriptions}
        for n in told:  # nothing is heard after the end
            owned = about(n)[:2]
            assert n.time < max(before.get(owned, NEVER), ended_at.get(owned, NEVER)), n
        listener.believed = {subject for subject in listener.believed if not has_ended(reference, subject)}
        silent = {owned for owned, s in reference.subscriptions.items() if s.subscription.on is not None}
        assert listener.believed == {subject for subject in told_pairs(reference) if subject[:2] not in silent}


def has_ended(reference: Reference, subject: About) -> bool:
    owner, id_, key = subject
    s = reference.subscriptions.get((owner, id_))
    return s is None or reference.time_of(s, key) >= ends(reference, owner, id_)


# ---- order -------------------------------------------------------------------------------------------


def runs(notifications: Sequence[Notification]) -> int:
    """How many times the order begins anew."""
    orders = [n.order for n in notifications]
    return 1 + sum(after < before for before, after in pairwise(orders))


@given(logs())
def test_notifications_of_one_op_come_in_order(log: Log) -> None:
    """Timers come first, by their due times; each step is in order; a fix is two steps, one in passing.

    Where a cause is hidden it does not say which step it was, so those are left out.
    """
    for op, all_told in applied(Reference(), log):
        told = [n for n in all_told if n.cause != HIDDEN]
        causes = [cause for cause, _ in groupby(n.cause for n in told)]
        assert len(set(causes)) == len(causes)
        for cause, step in groupby(told, key=lambda n: n.cause):
            assert runs(list(step)) <= (2 if cause.kind == "fix" else 1)
        if isinstance(op, ops.ClientOp) and not isinstance(op, ops.Move):
            timers = [cause.number for cause in causes if cause.kind == "timer"]
            assert timers == sorted(timers)
            assert [cause.kind for cause in causes[: len(timers)]] == ["timer"] * len(timers)


@given(logs())
def test_the_time_of_a_pair_never_goes_backwards(log: Log) -> None:
    latest: dict[About, int] = {}
    for n in run(log):
        assert n.time >= latest.get(about(n), n.time)
        latest[about(n)] = n.time


@given(logs())
def test_nothing_is_told_of_a_time_before_its_cause(log: Log) -> None:
    for n in run(log):
        assert n.time >= n.cause.number
