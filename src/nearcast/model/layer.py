"""Layers: named collections of regions (zones, geofences, rooms) that one subscription can watch as a whole."""

from __future__ import annotations

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
