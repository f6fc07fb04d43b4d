"""Layers: named collections of regions (zones, geofences, rooms) that one subscription can watch as a whole."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from itertools import pairwise

from nearcast.errors import ModelError
from nearcast.model.region import Region
from nearcast.model.shape import Geometry

__all__ = ["Layer", "LayerRegion"]


NO_ATTRIBUTES = Region(None)


@dataclass(frozen=True, slots=True)
class LayerRegion:
    """One region of a layer, with its attributes."""

    id: str
    geometry: Geometry
    attributes: Region = NO_ATTRIBUTES


@dataclass(frozen=True, slots=True)
class Layer:
    name: str
    regions: tuple[LayerRegion, ...]

    def __post_init__(self) -> None:
        if not self.name:
            raise ModelError("a layer needs a name")
        ordered = tuple(sorted(self.regions, key=lambda region: region.id))
        for one, next_one in pairwise(ordered):
            if one.id == next_one.id:
                raise ModelError(f"layer {self.name!r} has two regions with the id {one.id!r}")
        object.__setattr__(self, "regions", ordered)

    def find(self, id_: str) -> LayerRegion | None:
        """The region with an id."""
        at = bisect_left(self.regions, id_, key=_id)
        return self.regions[at] if at < len(self.regions) and self.regions[at].id == id_ else None

    def patched(self, regions: Iterable[LayerRegion], drop: Iterable[str]) -> Layer:
        """The layer with some regions set and others dropped. The rest is neither sorted nor looked at again."""
        kept = list(self.regions)
        for id_ in drop:
            at = bisect_left(kept, id_, key=_id)
            if at < len(kept) and kept[at].id == id_:
                del kept[at]
        for r in regions:
            at = bisect_left(kept, r.id, key=_id)
            kept[at : at + (at < len(kept) and kept[at].id == r.id)] = [r]
        made = copy(self)
        object.__setattr__(made, "regions", tuple(kept))
        return made


def _id(region: LayerRegion) -> str:
    return region.id
