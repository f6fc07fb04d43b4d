"""τ and π: when a relation between regions last became true, and when it last stopped (paper, 4.3.4).

They are about the relation, not about the match: they go on while life control is false, and take no notice of
confidence, hysteresis or freshness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nearcast.match.question import Question, quantified
from nearcast.model import condition as c
from nearcast.model.moment import NEVER, Moment

__all__ = ["History", "Relations", "mentions", "tracked"]

Key = tuple[str, ...]


@dataclass(slots=True)
class History:
    """One relation of two things."""

    holds: bool = False
    entered: Moment = NEVER
    left: Moment = NEVER

    def observe(self, holds: bool, now: int) -> None:
        if holds and not self.holds:
            self.entered = now
        if self.holds and not holds:
            self.left = now
        self.holds = holds


@dataclass(slots=True)
class Relations:
    """The histories that one statement asks for."""

    histories: dict[tuple[c.Spatial, Key], dict[Key, History]] = field(default_factory=dict)
    """By the relation and the parties that it names, then by what ANY stands for."""
    dues: list[tuple[int, frozenset[str]]] = field(default_factory=list)
    """When a relation may turn by itself, and whose clocks must get there."""

    def observe(
        self, relation: c.Spatial, parties: Key, question: Question, involved: Key,
        clock: Callable[[str], Moment], ends: Moment,
    ) -> None:  # fmt: skip
        """Note how the relation stands now, for each thing that it may hold with.

        It happens at the latest time of the clients involved, and ends with its parties.
        """
        known = self.histories.setdefault((relation, parties), {})
        items = dict(question.items(relation)) if quantified(relation) else {(): []}
        for item in known.keys() | items.keys():
            clients = (*involved, *item[:1]) if len(item) == 2 else involved
            when = int(max(clock(client) for client in clients))
            asked = replace(question, now=when, turns=[])
            asked.may_turn(ends)
            holds = False
            if when < ends and item in items and asked.exists(item, relation):
                holds = (asked.of_item(relation, item, items[item]) if item else asked.ask(relation)) is True
            known.setdefault(item, History()).observe(holds, when)
            self.dues += [(turn, frozenset(clients)) for turn in asked.turns]

    def recall(self, relation: c.Spatial, parties: Key) -> list[tuple[Moment, Moment]]:
        return [(h.entered, h.left) for h in self.histories.get((relation, parties), {}).values()]


def tracked(*conditions: c.Condition | None) -> list[c.Spatial]:
    """The relations whose history is asked for."""
    found = [n.relation for n in c.walk(conditions) if isinstance(n, (c.Entered, c.Left, c.MeanStay))]
    return list(dict.fromkeys(found))


def mentions(node: object, side: c.Side) -> bool:
    return any(isinstance(part, c.Ref) and part.side == side for part in c.walk(node))
