"""Names in a statement that nobody has defined. It is taken all the same, since they may be defined later; but who
misspelt one is told so. Layers and places are everyone's to see, so this gives nothing away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from nearcast.errors import suggestion
from nearcast.match.world import World
from nearcast.model import condition as c
from nearcast.model.place import PlaceName, places_named
from nearcast.model.statement import FromLayer, Publication, Subscription

__all__ = ["missing", "unknown_in"]

LOOKED_UP = 20
"""Names of one statement, at the most."""
HINTED = 50
"""Known names among which another that was meant is looked for: 50 µs each, if they are much alike. Nobody is charged
for that, so it is done for the first name of a statement only."""
SHOWN = 80
"""Characters of a name."""


class _Missing(NamedTuple):
    kind: str
    name: str
    known: Iterable[str]


def unknown_in(world: World, statement: Publication | Subscription) -> list[str]:
    """What to say of the layers and places that it names and that there are not."""
    found = {(one.kind, one.name): one for one in _unknown(world, statement)}
    return [missing(*one) if number == 0 else missing(one.kind, one.name) for number, one in enumerate(found.values())]


def _unknown(world: World, statement: Publication | Subscription) -> Iterator[_Missing]:
    named = (node for node in dict.fromkeys(c.walk(statement)) if isinstance(node, (c.InLayer, FromLayer, PlaceName)))
    for node in islice(named, LOOKED_UP):
        match node:
            case c.InLayer(layer=name) | FromLayer(name=name):
                if name not in world.layers:
                    yield _Missing("layer", name, world.layers)
            case PlaceName(name=name, level=""):
                if name not in world.places:
                    yield _Missing("place", name, world.places)
            case PlaceName(name=name, level=level):
                if not places_named(world.places.values(), node):
                    yield _Missing(level, name, (p.name for p in world.places.values() if p.level == level))


def missing(kind: str, name: str, known: Iterable[str] = ()) -> str:
    """What to say of a name that nobody has defined."""
    hint = suggestion(name, islice(known, HINTED)) if len(name) <= SHOWN else ""
    return f"there is no {kind} {name[:SHOWN]!r} yet" + (f"; {hint}" if hint else "")
