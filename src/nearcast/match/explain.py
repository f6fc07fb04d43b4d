"""Why was this client notified, or why not: every condition of every pair, with what was measured.

This is the operator's view. It shows the publisher's filter too, which a subscriber may not see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nearcast.match.chain import Pair, ready_at
from nearcast.match.findings import Finding, findings
from nearcast.match.reference import Reference
from nearcast.match.verdict import Candidate, Verdict
from nearcast.match.world import Key, Subscribed
from nearcast.model.moment import Moment

__all__ = ["Explanation", "explain", "explanations"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one subscription stands to one thing it may match."""

    subscriber: str
    subscription: str
    key: Key
    told: bool
    summary: str
    time: int
    findings: list[Finding] = field(default_factory=list)
    due: Moment | None = None
    """When it may turn by itself."""
    allowed: bool = True
    """The publisher's filter holds, and it is not over; else the subscriber may not know that there is such a pair."""


def explain(reference: Reference, client: str, subscription: str | None = None) -> list[Explanation]:
    """Every pair of the client's subscriptions, or of one of them, as things stand now."""
    return list(explanations(reference, client, subscription))


def explanations(
    reference: Reference, client: str, subscription: str | None = None, is_meant: Callable[[Key], bool] = lambda _: True
) -> Iterator[Explanation]:
    """The same, one after the other, of some of the pairs."""
    for (_, id_), s in sorted(reference.owned(client)[1].items()):
        if subscription in (None, id_):
            for candidate in reference.judge.candidates(s):
                reference.world.pace()
                if is_meant(candidate.key):
                    yield _pair(reference, s, candidate)


def _pair(reference: Reference, s: Subscribed, candidate: Candidate) -> Explanation:
    key = candidate.key
    now = reference.time_of(s, key)
    verdict = reference.judge.judge(s, candidate, now, exact=True, hidden=True)
    asked = reference.judge.questions(s, candidate, now, exact=True)
    clauses = (("WHERE", asked.own), ("WHILE", asked.life), ("TO", asked.theirs))
    found = [finding for clause, questions in clauses for finding in findings(clause, questions)]
    pair = s.pairs.get(key, Pair())
    ended = now >= min(s.expires, reference.world.clients[s.owner].ends)
    summary = "the subscription has ended" if ended else _summary(s, pair, verdict)
    allowed = verdict.allowed and (verdict.gone is None or pair.told)
    return Explanation(s.owner, s.subscription.id, key, pair.told, summary, now, found, pair.due, allowed)


def _summary(s: Subscribed, pair: Pair, verdict: Verdict) -> str:
    if pair.told:
        return "matches, and was told"
    if verdict.gone is not None:
        return f"the other side is no more: {verdict.gone.value}"
    clauses = (("WHERE", verdict.own), ("WHILE", verdict.alive), ("TO", verdict.allowed))
    failing = [clause for clause, holds in clauses if not holds]
    if failing:
        return f"{' and '.join(failing)} {'does' if len(failing) == 1 else 'do'} not hold"
    if not verdict.satisfied:
        return "the conditions hold, but there is no distance to rank it by"
    if pair.since is None:
        return "the conditions hold, but another source is chosen"
    return f"the conditions hold, and it waits for {ready_at(pair, s.options)[1].value}"
