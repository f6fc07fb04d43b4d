"""What a statement would cost, before it is taken: one that looks at everything keeps everyone waiting.

A cost is how many conditions are asked, about, to find out what matches. What is near something, or someone's by name,
is found by an index, however much there is. A weight is how many are asked about one pair of a publication and a
subscription: an op of anyone may have them asked, so all that a client has together is bounded by it.

How many there are is counted in powers of two: else a refusal would tell when one more is published, hidden or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass

from nearcast.errors import OpError
from nearcast.language.parse import parse
from nearcast.match.kernel import Kernel
from nearcast.match.world import Published, StatementKey, Subscribed, World
from nearcast.model import condition as c
from nearcast.model.statement import FromLayer, FromRelation, Publication, Subscription, spanned_layer

__all__ = ["Most", "check_cost", "cost_of", "weighed"]

FOUND = 1000
"""Things that an index may find, at the most, for what costs are worth."""


@dataclass(frozen=True, slots=True)
class Most:
    """How much a client may ask for; as much as it likes, if nothing is said."""

    cost: int | None = None
    """Of one statement."""
    weight: int | None = None
    """Of all that it has."""


def weighed(kernel: Kernel, client: str, id_: str, text: str, most: Most) -> dict[str, list[str]]:
    """The ids of the statements that a client has, unless with this one it would ask for too much."""
    statement, (published, subscribed) = parse(text), kernel.owned(client)
    if isinstance(statement, Subscription):
        check_cost(kernel.world, statement, most.cost)
        kept = _weights(kernel.world, published) + _weights(kernel.world, subscribed, but=(client, id_))
        _check_weight(kept + _weight(kernel.world, Subscribed(statement, (0, 0))), most.weight)
    elif isinstance(statement, Publication):
        new = Published(statement, (0, 0))
        _check_looks(new.looks * _about(kernel.world.publications) * _about(kernel.subscriptions), most.cost)
        kept = _weights(kernel.world, published, but=(client, id_)) + _weights(kernel.world, subscribed)
        _check_weight(kept + _weight(kernel.world, new), most.weight)
    return {"publications": [name for _, name in published], "subscriptions": [name for _, name in subscribed]}


def check_cost(world: World, subscription: Subscription, most: int | None) -> None:
    """Refuse a subscription that costs more than it may."""
    cost = cost_of(world, subscription)
    if most is not None and cost > most:
        raise OpError(
            f"this would look at too much at once (about {cost:,} conditions, and {most:,} are the most); ask about "
            "what is near, in a place, of a layer or of a client by name"
        )


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


def cost_of(world: World, s: Subscription) -> int:
    """About how many conditions are asked if it is asked once."""
    return _things(world, s) * _weight(world, Subscribed(s, (0, 0)))


def _weight(world: World, one: Published | Subscribed) -> int:
    """About how many conditions are asked of one pair."""
    return 1 + one.conditions + one.looks * _about(world.publications)


def _weights(
    world: World,
    held: Mapping[StatementKey, Published] | Mapping[StatementKey, Subscribed],
    but: StatementKey | None = None,
) -> int:
    return sum(_weight(world, one) for key, one in held.items() if key != but)


def _things(world: World, s: Subscription) -> int:
    match s.source:
        case FromRelation():
            return FOUND  # operators define them
        case FromLayer(name):
            found = _about(world.layers[name].regions) if name in world.layers else 0
        case _:
            span = spanned_layer(s)
            regions = _about(world.layers[span.layer].regions) if span and span.layer in world.layers else 1
            found = _about(world.publications) * regions
    return min(found, FOUND) if _is_narrow(s) else found


def _about(things: Sized) -> int:
    """How many there are, up to the next power of two."""
    return 1 << max(len(things) - 1, 0).bit_length()


def _is_narrow(s: Subscription) -> bool:
    """Whether an index finds what it may match: where it must be, or whose, is part of what must hold."""
    must = s.filter.items if isinstance(s.filter, c.And) else (s.filter,)
    return s.nearest is not None or any(_narrows(condition) for condition in must)


def _narrows(condition: c.Condition) -> bool:
    match condition:
        case c.Inside() | c.Within() | c.Crosses():
            return True
        case c.Compare(left=c.Ref(side="&", name="owner"), op="=", right=c.Constant()):
            return True
    return False
