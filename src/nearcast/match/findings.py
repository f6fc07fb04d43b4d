"""What each part of a condition came to, for explanations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from nearcast.match.verdict import Asked
from nearcast.model import condition as c

__all__ = ["Finding", "findings"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of a condition, what it came to, and how far inside (or, negative, outside) in metres."""

    clause: str
    condition: c.Condition
    answer: bool | None
    depth: float | None = None


def findings(clause: str, asked: Asked) -> list[Finding]:
    """Each part that the condition joins by AND, in order."""
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
