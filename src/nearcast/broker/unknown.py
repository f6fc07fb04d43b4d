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
from nearcast.model.place import PlaceName
from nearcast.model.statement import FromLayer, Publication, RelationDefinition, Subscription

__all__ = ["missing", "unknown_in"]

LOOKED_UP = 20
"""Names of one statement, at the most."""
HINTED, LONGEST = 50, 40
"""Known names among which another that was meant is looked for, and characters of one: a third of a millisecond each at
the worst. Nobody is charged for what is said of a statement, so it is done for its first name only."""
SHOWN = 80
"""Characters of a name."""


class _Missing(NamedTuple):
    kind: str
    name: str
    known: Iterable[str]


def unknown_in(world: World, statement: Publication | Subscription | RelationDefinition) -> list[str]:
    """What to say of the layers and places that it names and that there are not."""
    found = {(one.kind, one.name): one for one in _unknown(world, statement)}
    return [missing(*one) if number == 0 else missing(one.kind, one.name) for number, one in enumerate(found.values())]


def _unknown(world: World, statement: Publication | Subscription | RelationDefinition) -> Iterator[_Missing]:
    names = [node for node in c.walk(statement) if isinstance(node, (c.InLayer, FromLayer, PlaceName))]
    is_levelled = any(isinstance(node, PlaceName) and node.level for node in names)
    by_level = {(place.level, place.name) for place in world.places.values()} if is_levelled else set()
    for node in islice(dict.fromkeys(names), LOOKED_UP):
        match node:
            case c.InLayer(layer=name) | FromLayer(name=name):
                if name not in world.layers:
                    yield _Missing("layer", name, world.layers)
            case PlaceName(name=name, level=""):
                if name not in world.places:
                    yield _Missing("place", name, world.places)
            case PlaceName(name=name, level=level):
                if (level, name) not in by_level:
                    yield _Missing(level, name, (known for of, known in by_level if of == level))


def missing(kind: str, name: str, known: Iterable[str] = ()) -> str:
    """What to say of a name that nobody has defined."""
    said = f"there is no {kind[:SHOWN]} {name[:SHOWN]!r} yet"
    if kind == "place":
        said += ", so nobody is in it but who says so"
    short = (one for one in islice(known, HINTED) if len(one) <= LONGEST)
    hint = suggestion(name, short) if len(name) <= LONGEST else ""
    return f"{said}; {hint}" if hint else said
