"""Why was this client notified, or why not: every condition of every pair, with what was measured.

This is the operator's view. It shows the publisher's filter too, which a subscriber may not see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from nearcast.match.chain import Pair, ready_at
from nearcast.match.reference import Reference
from nearcast.match.verdict import Asked, Candidate, Key, Subscribed
from nearcast.model import condition as c
from nearcast.model.moment import Moment
from nearcast.model.notification import Reason

__all__ = ["Explanation", "Finding", "explain"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of a condition, what it came to, and how far inside (or, negative, outside) in metres."""

    clause: str
    condition: c.Condition
    answer: bool | None
    depth: float | None = None


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


def explain(reference: Reference, client: str, subscription: str | None = None) -> list[Explanation]:
    """Every pair of the client's subscriptions, or of one of them, as things stand now."""
    return [
        _pair(reference, s, candidate)
        for (owner, id_), s in sorted(reference.subscriptions.items())
        if owner == client and subscription in (None, id_)
        for candidate in reference.judge.candidates(s)
    ]


def _pair(reference: Reference, s: Subscribed, candidate: Candidate) -> Explanation:
    key = candidate.key
    now = reference.time_of(s, key)
    verdict = reference.judge.judge(s, candidate, now, exact=True)
    asked = reference.judge.questions(s, candidate, now, exact=True)
    clauses = (("WHERE", asked.own), ("WHILE", asked.life), ("TO", asked.theirs))
    findings = [finding for clause, questions in clauses for finding in _findings(clause, questions)]
    pair = s.pairs.get(key, Pair())
    summary = _summary(pair, verdict.gone, verdict.own, verdict.alive, verdict.allowed)
    if summary == _HOLDS and pair.since is None:
        summary = "the conditions hold, but another source is chosen"
    elif summary == _HOLDS and not pair.told:
        summary = f"the conditions hold, and it waits for {ready_at(pair, s.subscription.options)[1].value}"
    return Explanation(s.owner, s.subscription.id, key, pair.told, summary, now, findings, pair.due)


_HOLDS = "the conditions hold"


def _summary(pair: Pair, gone: Reason | None, own: bool, alive: bool, allowed: bool) -> str:
    if pair.told:
        return "matches, and was told"
    if gone is not None:
        return f"the other side is no more: {gone.value}"
    failing = [clause for clause, holds in (("WHERE", own), ("WHILE", alive), ("TO", allowed)) if not holds]
    verb = "does" if len(failing) == 1 else "do"
    return f"{' and '.join(failing)} {verb} not hold" if failing else _HOLDS


def _findings(clause: str, asked: Asked) -> list[Finding]:
    condition = asked[0]
    if condition == c.ALWAYS:
        return []
    parts = condition.items if isinstance(condition, c.And) else (condition,)
    return [_finding(clause, part, asked) for part in parts]


def _finding(clause: str, part: c.Condition, asked: Asked) -> Finding:
    """The best answer over all choices of regions."""
    answers: list[tuple[bool | None, float | None]] = []
    for question in asked[1]:
        fresh = replace(question, measures=[], turns=[], latched=set())
        answer = fresh.ask(part)
        depths = [m.depth for m in fresh.measures if m.depth is not None and math.isfinite(m.depth)]
        answers.append((answer, max(depths, default=None)))
    best = next((one for one in answers if one[0]), answers[0] if answers else (None, None))
    return Finding(clause, part, *best)
