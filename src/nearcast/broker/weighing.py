"""What a statement would cost, before it is taken: one that looks at everything keeps everyone waiting.

A cost is how many conditions are asked, about, to find out what matches. What is near something, or someone's by name,
is found by an index, however much there is.
"""

from __future__ import annotations

from nearcast.errors import OpError
from nearcast.language.parse import parse
from nearcast.match.kernel import Kernel
from nearcast.match.world import World
from nearcast.model import condition as c
from nearcast.model.statement import FromLayer, FromRelation, Subscription, spanned_layer

__all__ = ["check_cost", "cost_of", "weighed"]

FOUND = 1000
"""Things that an index may find, at the most, for what costs are worth."""


def weighed(kernel: Kernel, client: str, text: str, most: int | None) -> dict[str, list[str]]:
    """The ids of the statements that a client has, unless another would cost too much."""
    statement = parse(text)
    if isinstance(statement, Subscription):
        check_cost(kernel.world, statement, most)
    published, subscribed = kernel.owned(client)
    return {"publications": [id_ for _, id_ in published], "subscriptions": [id_ for _, id_ in subscribed]}


def check_cost(world: World, subscription: Subscription, most: int | None) -> None:
    """Refuse what costs more than it may."""
    cost = cost_of(world, subscription)
    if most is not None and cost > most:
        raise OpError(
            f"this would look at too much at once (about {cost:,} conditions, and {most:,} are the most); ask about "
            "what is near, in a place, of a layer or of a client by name"
        )


def cost_of(world: World, s: Subscription) -> int:
    """About how many conditions are asked if it is asked once."""
    nodes = [node for node in c.walk((s.filter, s.life, s.on)) if isinstance(node, c.Condition)]
    around = sum(len(world.publications) for node in c.walk((s.filter, s.life, s.on)) if isinstance(node, c.AnyOf))
    return _things(world, s) * (1 + len(nodes) + around)


def _things(world: World, s: Subscription) -> int:
    match s.source:
        case FromRelation():
            return FOUND  # operators define them
        case FromLayer(name):
            found = len(world.layers[name].regions) if name in world.layers else 0
        case _:
            span = spanned_layer(s)
            regions = len(world.layers[span.layer].regions) if span and span.layer in world.layers else 1
            found = len(world.publications) * max(regions, 1)
    return min(found, FOUND) if _is_narrow(s) else found


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
