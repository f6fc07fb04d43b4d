"""What a statement would cost, before it is taken: one that looks at everything keeps everyone waiting.

A cost is how many conditions are asked, about, to find out what matches. What is near something, or someone's by name,
is found by an index, however much there is. To measure how far an outline is counts as several. A weight is how many an
op of anyone may have asked: those of one pair of a publication and a subscription, or of all, where each depends on the
others. All that a client has together is bounded by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass

from nearcast.errors import OpError
from nearcast.language.parse import parse
from nearcast.match.indexed import remembers_more
from nearcast.match.kernel import Kernel
from nearcast.match.world import Published, StatementKey, Subscribed
from nearcast.model import condition as c
from nearcast.model.place import PlaceName
from nearcast.model.region import ways
from nearcast.model.shape import Disc, Geometry, Point
from nearcast.model.statement import FromLayer, FromRelation, Publication, Subscription

__all__ = ["Most", "Scales"]

FOUND = 1000
"""Things that an index may find, at the most, for what costs are worth."""
MEASURED = 8
"""Conditions that take as long as to measure how far an outline is: 60 to 110 µs, however many corners it has. Whether
a point is in it takes 5, and so does how far a point or a disc is."""


@dataclass(frozen=True, slots=True)
class Most:
    """How much a client may ask for; as much as it likes, if nothing is said."""

    cost: int | None = None
    """Of one statement."""
    weight: int | None = None
    """Of all that it has."""


class Scales:
    """They know how much there is, in powers of two that never shrink. By a number that is exact, or goes up and down,
    whoever is refused could tell when one more is published, hidden or not."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._publications = self._subscriptions = 1

    def weigh(self, client: str, id_: str, text: str, most: Most) -> dict[str, list[str]]:
        """The ids of the statements that a client has, unless with this one it would ask for too much."""
        self._look()
        statement, (published, subscribed) = parse(text), self._kernel.owned(client)
        if isinstance(statement, Subscription):
            self.check_cost(statement, most.cost)
            kept = self._weights(published) + self._weights(subscribed, but=(client, id_))
            _check_weight(kept + self._weight(Subscribed(statement, (0, 0))), most.weight)
        elif isinstance(statement, Publication):
            new = Published(statement, (0, 0))
            _check_looks(new.looks * self._publications * self._subscriptions, most.cost)
            kept = self._weights(published, but=(client, id_)) + self._weights(subscribed)
            _check_weight(kept + self._weight(new), most.weight)
        return {"publications": [name for _, name in published], "subscriptions": [name for _, name in subscribed]}

    def check_cost(self, subscription: Subscription, most: int | None) -> None:
        """Refuse a subscription that costs more than it may."""
        cost = self.cost(subscription)
        if most is not None and cost > most:
            raise OpError(
                f"this would look at too much at once (about {cost:,} conditions, and {most:,} are the most); ask "
                "about what is near, in a place, of a layer or of a client by name"
            )

    def cost(self, subscription: Subscription) -> int:
        """About how many conditions are asked if it is asked once."""
        self._look()
        s = Subscribed(subscription, (0, 0))
        return self._things(s) * self._of_pair(s)

    def _look(self) -> None:
        self._publications = max(self._publications, _about(self._kernel.world.publications))
        self._subscriptions = max(self._subscriptions, _about(self._kernel.subscriptions))

    def _weights(
        self,
        held: Mapping[StatementKey, Published] | Mapping[StatementKey, Subscribed],
        but: StatementKey | None = None,
    ) -> int:
        return sum(self._weight(one) for key, one in held.items() if key != but)

    def _weight(self, one: Published | Subscribed) -> int:
        """About how many conditions an op of anyone may have asked."""
        if not one.sees_all:
            return self._of_pair(one)
        return self._of_pair(one) * (self._things(one) if isinstance(one, Subscribed) else self._subscriptions)

    def _of_pair(self, one: Published | Subscribed) -> int:
        """Of each way in which its regions can be chosen."""
        said = one.publication if isinstance(one, Published) else one.subscription
        asked = one.conditions + MEASURED * _outlines(said) + one.looks * self._publications
        return 1 + asked * ways(said.regions)

    def _things(self, s: Subscribed) -> int:
        layers, source = self._kernel.world.layers, s.subscription.source
        match source:
            case FromRelation():
                return FOUND  # operators define them
            case FromLayer(name):
                found = len(layers[name].regions) if name in layers else 0
            case _:
                regions = len(layers[s.span.layer].regions) if s.span and s.span.layer in layers else 1
                found = self._publications * max(regions, 1)
        return min(found, FOUND) if _is_narrow(s.subscription) else found


def _outlines(said: Publication | Subscription) -> int:
    """How often it has to be measured how far an outline is: one that a condition names, or its own."""
    own = any(r.place or _is_outline(r.geometry) for r in said.regions)
    if isinstance(said, Publication):
        return own + sum(_measures(node) for node in c.walk(said.filter))
    exact = bool(said.options.hysteresis) or said.options.confidence is not None
    nodes = c.walk((said.filter, said.life, said.on))
    return own + sum(_measures(node, exact=exact) for node in nodes)


def _measures(node: object, *, exact: bool = False) -> bool:
    """Whether a condition needs a distance from an outline; with ``exact``, how far inside counts, too."""
    match node:
        case c.Within(right=target) | c.Crosses(right=target):
            return not isinstance(target, c.Ref) and _is_outline(target)
        case c.Inside(right=target):
            return exact and _is_outline(target)
        case c.Relate(right=Geometry() as target):
            return _is_outline(target)
    return False


def _is_outline(target: object) -> bool:
    if isinstance(target, Geometry):
        return not isinstance(target.shape, (Point, Disc))
    return isinstance(target, (PlaceName, c.InLayer))


def _about(things: Sized) -> int:
    """How many there are, up to the next power of two."""
    return 1 << max(len(things) - 1, 0).bit_length()


def _check_looks(cost: int, most: int | None) -> None:
    """Refuse a publication that an op of anyone may open or close, if that is too much to find out."""
    if most is not None and cost > most:
        raise OpError(
            f"to know whom this lets in would be to look at too much (about {cost:,} conditions whenever anyone moves, "
            f"and {most:,} are the most); do without ANY in TO"
        )


def _check_weight(weight: int, most: int | None) -> None:
    """Refuse what makes all statements of a client too many conditions together."""
    if most is not None and weight > most:
        raise OpError(
            f"the statements of this client would be too much together (about {weight:,} conditions, and {most:,} are "
            "the most); remove some, or ask for less"
        )


def _is_narrow(s: Subscription) -> bool:
    """Whether an index finds what it may match: where it must be, or whose, is part of what must hold.

    Of those that are nearest, it finds which they are if nothing else must hold.
    """
    if remembers_more(s):
        return False
    must = s.filter.items if isinstance(s.filter, c.And) else (s.filter,)
    return (s.nearest is not None and s.filter == c.ALWAYS) or any(_narrows(condition) for condition in must)


def _narrows(condition: c.Condition) -> bool:
    match condition:
        case c.Inside() | c.Within() | c.Crosses():
            return True
        case c.Compare(left=c.Ref(side="&", name="owner"), op="=", right=c.Constant()):
            return True
    return False
