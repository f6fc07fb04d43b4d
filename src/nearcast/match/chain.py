"""From "it holds" to "tell": dwell, cooldown, and the one transition that each change may give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from nearcast.match.binding import Binding
from nearcast.model.moment import NEVER, Moment
from nearcast.model.notification import Kind, Reason
from nearcast.model.statement import Options

__all__ = ["Pair", "advance", "is_idle", "ready_at"]


@dataclass(slots=True)
class Pair:
    """What is remembered about a subscription and one thing it may match."""

    since: int | None = None
    """Since when it has held without a break."""
    told: bool = False
    """An enter or a snapshot was sent, and no leave since."""
    entered: Moment = NEVER
    """When the last enter was sent."""
    satisfied: bool = False
    """The conditions held, whether or not the source was chosen."""
    alive: bool = True
    """Life control was true."""
    binding: Binding = Binding.START
    """Where LACL's state machine stands."""
    latches: frozenset[tuple[Any, ...]] = frozenset()
    """The locations that count as inside, where confidence or hysteresis keep a state."""
    content: str = ""
    """The content as it was last visible."""
    due: int | None = None
    """When the answer may turn by itself."""


def ready_at(pair: Pair, options: Options) -> tuple[Moment, Reason]:
    """When a match that goes on holding is told, and what it waits for."""
    assert pair.since is not None
    dwelt, cooled = pair.since + options.dwell, pair.entered + options.cooldown
    return (dwelt, Reason.DWELL) if dwelt >= cooled else (cooled, Reason.COOLDOWN)


def advance(pair: Pair, holds: bool, now: int, options: Options) -> Kind | None:
    """Move the pair on, and say whether that is an enter or a leave."""
    if not holds:
        pair.since = None
        told, pair.told = pair.told, False
        return Kind.LEAVE if told else None
    if pair.since is None:
        pair.since = now
    if pair.told or now < ready_at(pair, options)[0]:
        return None
    pair.told, pair.entered = True, now
    return Kind.ENTER


def is_idle(pair: Pair, options: Options, now: int) -> bool:
    """Whether the pair is as good as new and need not be kept."""
    fresh = replace(Pair(), content=pair.content, entered=pair.entered)
    return pair == fresh and pair.entered + options.cooldown <= now
