"""Notifications: what a transition looks like to the one who is told, reason and evidence included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nearcast.match.chain import Pair, ready_at
from nearcast.match.findings import findings
from nearcast.match.verdict import Candidate, Judge, Verdict
from nearcast.match.world import Key, Published, Subscribed, World
from nearcast.model.constraint import Scalar
from nearcast.model.notification import HIDDEN, Cause, Kind, Notification, Reason, notification_id

__all__ = ["Change", "Teller"]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened, for the notifications that it causes."""

    cause: Cause
    reason: Reason
    client: str | None = None
    """Whose op it was; nobody's concerns everyone."""
    added: tuple[str, str] | None = None
    """The subscription that was added, whose first matches are a snapshot."""
    touched: tuple[str, str] | None = None
    """The publication that was updated."""
    moved: bool = False
    """All that the client owns changed with it: its fix or its attributes did."""

    def is_by(self, client: str) -> bool:
        """Whether a client itself did it, and not the time that went by."""
        return self.client == client and self.cause.kind != "timer"


class Teller:
    """Makes notifications, and decides what the subscriber may see in them."""

    def __init__(self, world: World, judge: Judge) -> None:
        self.world = world
        self.judge = judge

    def transition(
        self, s: Subscribed, candidate: Candidate, kind: Kind, now: int, was: Pair, verdict: Verdict, change: Change
    ) -> Notification:
        pair = s.pairs[candidate.key]
        reason = (
            self._why_leave(s, verdict, change) if kind is Kind.LEAVE else self._why_enter(s, was, pair, now, change)
        )
        if kind is Kind.ENTER and change.added == (s.owner, s.subscription.id):
            kind = Kind.SNAPSHOT
        why = {"was": was.told, "is": pair.told, **self._evidence(s, candidate, now, verdict)}
        return self._notification(s, candidate.key, kind, now, replace(change, reason=reason), {}, why)

    @staticmethod
    def _why_leave(s: Subscribed, verdict: Verdict, change: Change) -> Reason:
        if verdict.gone is not None:
            return verdict.gone
        if not verdict.alive:
            return Reason.WHILE
        # What a subscriber itself does is about what it saw until then. Of what anyone else does it learns no more than
        # that the publisher's filter fails: whether its own holds is asked of what is hidden now.
        if not verdict.allowed and (verdict.own or not change.is_by(s.owner)):
            return Reason.UNMATCHED
        if verdict.satisfied or s.subscription.choice is not None:
            return Reason.SOURCE
        return change.reason

    @staticmethod
    def _why_enter(s: Subscribed, was: Pair, pair: Pair, now: int, change: Change) -> Reason:
        if not was.alive:
            return Reason.WHILE
        if pair.since is not None and pair.since < now and not was.told:
            return ready_at(replace(pair, entered=was.entered), s.options)[1]
        if was.satisfied and s.chooses and not was.told:
            return Reason.SOURCE
        return change.reason

    def _evidence(self, s: Subscribed, candidate: Candidate, now: int, verdict: Verdict) -> dict[str, Any]:
        """What decided, as far as the publisher's filter lets the subscriber see it."""
        key = candidate.key
        versions = {"subscription": list(s.version)}
        published = self._published(key)
        if not verdict.allowed or verdict.gone is not None:
            return {"versions": versions}
        if published is not None:
            versions["publication"] = list(published.version)
        asked = self.judge.questions(s, candidate, now, exact=True)
        where = [{"holds": found.answer, "depth": found.depth} for found in findings("WHERE", asked.own)]
        if key[3]:  # a watcher of two clients learns how they stand to each other, not where they are
            return {"versions": versions, "where": where}
        named = (("#", s.owner), ("&", key[1] if self._is_carried(key) else ""))
        fixes = {side: self._fix_evidence(name) for side, name in named}
        return {
            "versions": versions,
            "where": where,
            "fixes": {side: fix for side, fix in fixes.items() if fix},
        }

    def _fix_evidence(self, client: str) -> dict[str, Any] | None:
        known = self.world.clients.get(client)
        if known is None or known.fix is None:
            return None
        position = known.fix.position
        shown = {
            "x": position.point and position.point.x,
            "y": position.point and position.point.y,
            "place": position.place,
        }
        return {"time": known.fix.time, **{name: value for name, value in shown.items() if value is not None}}

    def content(self, key: Key) -> str:
        published = self._published(key)
        return published.publication.content if published else ""

    def _published(self, key: Key) -> Published | None:
        """The publication that a match is of; a pair of clients is none, even if the relation has the name of one."""
        publication, publisher, _, peer = key
        return None if peer else self.world.publications.get((publisher, publication))

    def _is_carried(self, key: Key) -> bool:
        """Whether the matched thing is where its client is, and not at a location of its own."""
        published = self._published(key)
        regions = published.publication.regions if published else ()
        return published is None or any(side.fix for side in self.world.sides(key[1], key[0], regions))

    def is_updated(self, key: Key, change: Change) -> bool:
        """Whether the matched thing itself changed or moved."""
        publication, publisher, _, peer = key
        if change.moved and change.client in (publisher, peer):
            return change.cause.kind != "fix" or self._is_carried(key)
        return change.touched == (publisher, publication) and not peer

    @staticmethod
    def _shown_cause(s: Subscribed, key: Key, change: Change) -> Cause:
        """The cause, unless it would name a third party, or say what a publisher that withdraws has done."""
        own = change.client in (None, s.owner) or change.cause.kind == "timer"
        party = change.client in (key[1], key[3]) and change.reason is not Reason.UNMATCHED
        return change.cause if own or party else HIDDEN

    def reading(self, s: Subscribed, key: Key, now: int, change: Change, values: Mapping[str, Scalar]) -> Notification:
        return self._notification(s, key, Kind.READING, now, change, values, {})

    def _notification(
        self,
        s: Subscribed,
        key: Key,
        kind: Kind,
        now: int,
        change: Change,
        values: Mapping[str, Scalar],
        why: Mapping[str, Any],
    ) -> Notification:
        publication, publisher, region, peer = key
        about: dict[str, Any] = {
            "subscription": s.subscription.id,
            "subscriber": s.owner,
            "publication": publication,
            "publisher": publisher or None,
            "region": region or None,
            "peer": peer or None,
            "kind": kind,
            "cause": change.cause,
        }
        made = notification_id(**about)
        about["cause"] = self._shown_cause(s, key, change)
        return Notification(
            id=made,
            time=now,
            reason=change.reason,
            content=s.pairs[key].content,
            values=dict(values),
            why=why,
            **about,
        )
