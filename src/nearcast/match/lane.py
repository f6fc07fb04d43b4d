"""Lanes: families of subscriptions that compiled loops answer, and what the kernel asks of each.

In a lane nothing is remembered about a pair: whether it matches follows from where things are, so whoever wants to
know looks it up. A lane answers moves in bulk. For any other op it only names the pairs that match, before and after,
and the definition judges those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from nearcast.match.attributes import Attributes
from nearcast.match.names import Names
from nearcast.match.regions import Regions
from nearcast.match.registry import Publications, Register, Subscriptions
from nearcast.match.verdict import Candidate
from nearcast.match.world import StatementKey, Subscribed, World
from nearcast.model.condition import ALWAYS, Ref
from nearcast.model.moment import FOREVER
from nearcast.model.statement import Options

if TYPE_CHECKING:
    from nearcast.match.clients import Clients
    from nearcast.match.moves import Moves
    from nearcast.match.told import Events

__all__ = ["HERE", "THERE", "Lane", "Stage", "Touched", "is_plain", "positions"]

HERE, THERE = Ref("#", "location"), Ref("&", "location")


@dataclass
class Stage:
    """What all lanes share: who is where, and what is open to be matched."""

    world: World
    clients: Clients
    texts: Names
    """Ids of statements, and names of layers and relations."""
    subscriptions: Subscriptions
    publications: Publications
    """Those that go where their client goes, and that are open to all, or to whom a guard lets in."""
    attributes: Attributes
    """What these are like."""
    tables: list[Regions]
    """Layers, by the number that events have."""
    layers: dict[str, int]
    """The number of a layer that has a table."""
    apart: set[int] = field(default_factory=set)
    """Clients that may end by themselves, or are not where their fix says: whatever involves them is in no lane."""

    def key_of(self, register: Register, row: int) -> StatementKey:
        """Whose a statement is, and its id."""
        return self.clients.names.text(int(register.owner[row])), self.texts.text(int(register.name[row]))

    def open_rows(self) -> npt.NDArray[np.int64]:
        """The clients that are somewhere and publish something open."""
        c, n = self.clients.columns, min(len(self.clients.names), len(self.publications.first))
        return np.flatnonzero((self.publications.first[:n] >= 0) & ~np.isnan(c.x[:n]) & c.here[:n])


@dataclass(frozen=True, slots=True)
class Touched:
    """What an op may turn. The pairs of all of it are looked at; what is not named stays as it is."""

    publisher: str | None = None
    """Every pair with what this client publishes,"""
    publication: str | None = None
    """or only with this of its publications."""
    subscriptions: tuple[StatementKey, ...] = ()
    """Every pair of these."""
    layer: str | None = None
    """Every pair with this layer's regions,"""
    regions: tuple[str, ...] | None = None
    """or only with these of them."""
    relation: str | None = None
    """Every pair of this relation."""
    everything: bool = False
    """Every pair that depends on attributes: a space was defined or removed."""


class Lane(Protocol):
    def takes(self, s: Subscribed) -> bool:
        """Whether the subscription is of this family."""

    def add(self, s: Subscribed, row: int) -> None: ...

    def remove(self, s: Subscribed, row: int) -> None: ...

    def forget(self, row: int) -> None:
        """A client is forgotten, so it is nowhere any more."""

    def run(self, moves: Moves) -> list[Events]:
        """What a run of moves turned. The columns have it applied already."""

    def matching(self, touched: Touched) -> Iterator[tuple[Subscribed, Candidate]]:
        """The pairs that match as things stand, of those that are touched."""


def is_plain(s: Subscribed) -> bool:
    """Whether its answer depends on the present alone: nothing is remembered, nothing turns by itself."""
    options = replace(s.subscription.options, bandwidth=None)
    unconditional = s.subscription.life == ALWAYS and not s.chooses and not s.sees_all
    return unconditional and options == Options() and s.expires == FOREVER


def positions(clients: Clients, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Where clients are, in the columns of a move."""
    c = clients.columns
    return np.column_stack([column[rows] for column in (c.x, c.y, c.px, c.py, c.pz, c.altitude, c.floor)])
