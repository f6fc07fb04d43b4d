"""Places: rooms on floors in buildings, to any depth, addressed by a path such as ``hq/2/A``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearcast.errors import ModelError
from nearcast.model.shape import Geometry

__all__ = ["Place", "PlaceName", "is_under", "places_named"]


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    level: str = ""
    """What kind of place it is: region, building, floor, room, or any word."""
    geometry: Geometry | None = None

    def __post_init__(self) -> None:
        if not self.path or not all(self.path.split("/")):
            raise ModelError(f"{self.path!r} is not a place path; write names joined by /, such as hq/2/A")

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class PlaceName:
    """How a statement names a place: by its path, or by a level and a name, as in ``room A``."""

    name: str
    level: str = ""


def is_under(path: str, ancestor: str) -> bool:
    """Whether a path is a place or lies within it."""
    return path == ancestor or path.startswith(ancestor + "/")


def places_named(places: Iterable[Place], named: PlaceName) -> list[Place]:
    """The places that a statement means; several buildings may have a room A."""
    if named.level:
        return [place for place in places if place.level == named.level and place.name == named.name]
    return [place for place in places if place.path == named.name]
