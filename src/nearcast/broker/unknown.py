"""Names in a statement that nobody has defined. It is taken all the same, since they may be defined later; but who
misspelt one is told so. Layers and places are everyone's to see, so this gives nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from nearcast.errors import suggestion
from nearcast.match.world import World
from nearcast.model import condition as c
from nearcast.model.place import PlaceName, places_named
from nearcast.model.statement import FromLayer, Publication, Subscription

__all__ = ["missing", "unknown_in"]

LOOKED_UP = 20
"""Names of one statement, at the most."""
HINTED = 100
"""Known names among which another that was meant is looked for."""
SHOWN = 80
"""Characters of a name."""


def unknown_in(world: World, statement: Publication | Subscription) -> list[str]:
    """What to say of the layers and places that it names and that there are not."""
    named = (node for node in dict.fromkeys(c.walk(statement)) if isinstance(node, (c.InLayer, FromLayer, PlaceName)))
    said = (_unknown(world, node) for node in islice(named, LOOKED_UP))
    return list(dict.fromkeys(text for text in said if text))


def _unknown(world: World, node: c.InLayer | FromLayer | PlaceName) -> str:
    match node:
        case c.InLayer(layer=name) | FromLayer(name=name):
            return "" if name in world.layers else missing("layer", name, world.layers)
        case PlaceName(name=name, level=""):
            return "" if name in world.places else missing("place", name, world.places)
        case PlaceName(name=name, level=level):
            if places_named(world.places.values(), node):
                return ""
            return missing(level, name, (p.name for p in world.places.values() if p.level == level))


def missing(kind: str, name: str, known: Iterable[str]) -> str:
    """What to say of a name that nobody has defined."""
    hint = suggestion(name, islice(known, HINTED)) if len(name) <= SHOWN else ""
    return f"there is no {kind} {name[:SHOWN]!r} yet" + (f"; {hint}" if hint else "")
