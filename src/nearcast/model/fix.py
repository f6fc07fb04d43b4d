"""Where a client is: a position, and the fix that reported it at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nearcast.errors import ModelError
from nearcast.model.constraint import Interval, is_finite
from nearcast.model.place import Place
from nearcast.model.shape import Geometry, Point

__all__ = ["Fix", "Located", "Position"]


@dataclass(frozen=True, slots=True)
class Position:
    """A coordinate, a place path, or both."""

    point: Point | None = None
    place: str | None = None
    altitude: float | None = None
    floor: float | None = None
    accuracy: float | None = None
    """The radius in metres within which the true position lies with 68 % probability."""

    def __post_init__(self) -> None:
        if self.point is None and self.place is None:
            raise ModelError("a position needs a coordinate, a place, or both")
        if self.place is not None:
            Place(self.place)
        for name in ("altitude", "floor", "accuracy"):
            value = getattr(self, name)
            if value is not None and not is_finite(value):
                raise ModelError(f"{name} {value!r:.20} is not a finite number")
            if value is not None:
                object.__setattr__(self, name, float(value))
        if self.point is not None:
            object.__setattr__(self, "point", Point(float(self.point.x), float(self.point.y)))
        if self.accuracy is not None and self.accuracy < 0:
            raise ModelError(f"accuracy {self.accuracy!r} is negative; it is a radius in metres")

    @property
    def order(self) -> tuple[object, ...]:
        """Of several fixes of a client at one time, the least by this is kept."""
        numbers = (self.point.x, self.point.y) if self.point else (math.inf, math.inf)
        rest = (self.altitude, self.floor, self.accuracy)
        return (*numbers, *(math.inf if v is None else v for v in rest), self.place or "")


@dataclass(frozen=True, slots=True)
class Fix:
    position: Position
    time: int


@dataclass(frozen=True, slots=True)
class Located:
    """Where one side of a match is, whether by a fix, a fixed geometry, or a place."""

    geometry: Geometry | None = None
    path: str | None = None
    accuracy: float = 0.0

    @staticmethod
    def by(position: Position) -> Located:
        if position.point is None:
            return Located(path=position.place)
        heights = (position.altitude, position.floor)
        altitude, floor = (None if h is None else Interval(h, h) for h in heights)
        return Located(Geometry(position.point, altitude, floor), position.place, position.accuracy or 0.0)
