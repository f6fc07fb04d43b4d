"""The reference, asked only about what is near, for traces that it would take hours to be asked about in full."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearcast.match.reference import Reference
from nearcast.match.tell import Change
from nearcast.match.verdict import Candidate
from nearcast.match.world import Subscribed
from nearcast.model import condition as c
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.moment import FOREVER, Moment
from nearcast.model.shape import Box, Disc, Point, Polygon
from nearcast.model.statement import FromLayer, FromRelation, FromSpaces, Publication, spanned_layer

__all__ = ["Belt", "Nearby"]

HERE, THERE = c.Ref("#", "location"), c.Ref("&", "location")
_AXIS, _FLATTENING = 6378137.0, 1 / 298.257223563
_SQUARED = _FLATTENING * (2 - _FLATTENING)
_FARTHEST = 100_000.0


@dataclass(frozen=True)
class Belt:
    """Latitudes between two parallels, and how long the ways between points of the belt are at least.

    On the ellipsoid, a step of dφ north and dλ east is sqrt((M dφ)² + (P dλ)²) long, with M the meridian's radius and P
    the parallel's. M is least at the latitude nearest to the equator, P at the one farthest from it, so no way within a
    belt one degree wider on either side is shorter than with these two everywhere; then it is at least as long as the
    straight line of a plane. A way that leaves the wider belt is over 200 km long; nothing here reaches half as far.
    """

    south: float
    north: float

    def has(self, point: Point) -> bool:
        return self.south <= point.y <= self.north

    @property
    def metres(self) -> tuple[float, float]:
        """The least length of a degree of longitude, and of one of latitude."""
        near = max(0.0, self.south - 1, -self.north - 1)
        far = max(abs(self.south - 1), abs(self.north + 1))
        meridian = _AXIS * (1 - _SQUARED) / (1 - _SQUARED * math.sin(math.radians(near)) ** 2) ** 1.5
        parallel = _AXIS * math.cos(math.radians(far)) / math.sqrt(1 - _SQUARED * math.sin(math.radians(far)) ** 2)
        return math.radians(parallel), math.radians(meridian)

    def way(self, a: Point, b: Point) -> float:
        """No way between two points of the belt is shorter than this, nor than 200 km."""
        east, north = self.metres
        return math.hypot(east * (a.x - b.x), north * (a.y - b.y)) * (1 - 1e-9)


@dataclass(frozen=True)
class Boxes:
    """A layer, with a box around each region: west, south, east, north."""

    layer: Layer
    by_id: dict[str, LayerRegion]
    sides: npt.NDArray[np.float64]

    @staticmethod
    def of(layer: Layer, belt: Belt) -> Boxes:
        sides = np.array([_box(r, belt) for r in layer.regions]).reshape(-1, 4).T
        return Boxes(layer, {r.id: r for r in layer.regions}, sides)

    def at(self, point: Point) -> list[LayerRegion]:
        west, south, east, north = self.sides
        held = (west <= point.x) & (point.x <= east) & (south <= point.y) & (point.y <= north)
        return [self.layer.regions[i] for i in np.flatnonzero(held)]


def _box(r: LayerRegion, belt: Belt) -> tuple[float, float, float, float]:
    """No point of the belt outside it is in the region: a disc by the belt's least degrees, an area by its corners."""
    match r.geometry.shape:
        case Box() | Polygon() as area:
            west, south = np.min(area.corners, axis=0) - 1e-9
            east, north = np.max(area.corners, axis=0) + 1e-9
            assert east - west < 180, "the antimeridian is not for belts"
        case Disc(x, y, radius):
            assert radius < _FARTHEST
            assert belt.has(Point(x, y))
            a, b = ((radius + 1) / metres for metres in belt.metres)
            west, south, east, north = x - a, y - b, x + a, y + b
        case Point(x, y):
            west, south, east, north = x - 1e-9, y - 1e-9, x + 1e-9, y + 1e-9
    return float(west), float(south), float(east), float(north)


class Nearby(Reference):
    """Judges what the reference judges, except for pairs that nothing is known of and that are too far apart to match.

    Such a pair leaves no trace in the reference. If a location condition that is a direct part of WHERE is false or
    unknown, the pair is not satisfied; without WHILE, choice, expiry, leases and schedules nothing about it turns with
    time; and what was not inside before counts as inside only from the boundary on, whatever the hysteresis or the
    confidence. So the reference makes an empty pair and drops it. What is known of a pair, because it was told,
    because its dwell or its cooldown runs or because it is within its hysteresis, is kept in ``pairs``, and all of
    those are judged. A statement of any other form is judged in full, and so is a client that is outside the belt.
    """

    def __init__(self, belt: Belt) -> None:
        super().__init__()
        self.belt = belt
        self._boxes: dict[str, Boxes] = {}

    def _publish(self, publication: Publication, now: int, expires: Moment | None = None) -> Change:
        assert not publication.regions, "what is published here is where its client is"
        return super()._publish(publication, now, expires)

    def _candidates(self, s: Subscribed, client: str | None) -> Iterable[Candidate]:
        if s.chooses or s.subscription.life != c.ALWAYS or s.expires != FOREVER or s.subscription.regions:
            return super()._candidates(s, client)
        parts, span = _parts(s.subscription.filter), spanned_layer(s.subscription)
        match s.subscription.source:
            case FromLayer(name) if c.Inside(HERE, THERE) in parts:
                return [Candidate((name, "", r.id, ""), r) for r in self._own(s, name)] if client is None else ()
            case FromSpaces() if span is not None and c.Inside(THERE, span) in parts:
                return self._watched(s, client, span.layer)
            case FromSpaces() | FromRelation():
                return self._close(s, client)
        return super()._candidates(s, client)

    def _own(self, s: Subscribed, name: str) -> Iterable[LayerRegion]:
        return self._held(name, s.owner, {key[2] for key in s.pairs})

    def _watched(self, s: Subscribed, client: str | None, layer: str) -> Iterator[Candidate]:
        known: dict[tuple[str, str], set[str]] = {}
        for key in s.pairs:
            known.setdefault(key[:2], set()).add(key[2])
        for owner, id_ in list(self.world.publications):
            if owner != s.owner and client in (None, owner):
                for r in self._held(layer, owner, known.get((id_, owner), set())):
                    yield Candidate((id_, owner, r.id, ""), r)

    def _close(self, s: Subscribed, client: str | None) -> Iterator[Candidate]:
        reach = self._reach(s)
        for candidate in super()._candidates(s, client):
            _, publisher, _, peer = candidate.key
            if reach is None or candidate.key in s.pairs or not self._is_far(publisher, peer or s.owner, reach):
                yield candidate

    def _reach(self, s: Subscribed) -> float | None:
        """How close the two clients of a pair must be."""
        source, filter_ = s.subscription.source, s.subscription.filter
        if isinstance(source, FromRelation):
            relation = self.world.relations.get(source.name)
            filter_ = relation.filter if relation else c.ALWAYS
        reaches = [
            part.distance
            for part in _parts(filter_)
            if isinstance(part, c.Within) and {part.left, part.right} == {HERE, THERE}
        ]
        return min((reach for reach in reaches if not isinstance(reach, c.Ref)), default=None)

    def _is_far(self, one: str, other: str, reach: float) -> bool:
        a, b = self._point(one), self._point(other)
        if a is None or b is None:
            return True
        return self.belt.has(a) and self.belt.has(b) and self.belt.way(a, b) > reach < _FARTHEST

    def _held(self, layer: str, client: str, known: set[str]) -> list[LayerRegion]:
        """The regions that a client may be in, and those that are known to its pairs."""
        found = self.world.layers.get(layer)
        if found is None:
            return []
        boxes = self._boxes.get(layer)
        if boxes is None or boxes.layer is not found:
            boxes = self._boxes[layer] = Boxes.of(found, self.belt)
        point = self._point(client)
        if point is not None and not self.belt.has(point):
            return list(found.regions)
        at = {r.id: r for r in boxes.at(point)} if point else {}
        return [*at.values(), *(boxes.by_id[id_] for id_ in known - at.keys() if id_ in boxes.by_id)]

    def _point(self, client: str) -> Point | None:
        """Where a client is, and so all that it publishes: traces carry what they publish."""
        known = self.world.clients.get(client)
        return known.fix.position.point if known and known.fix else None


def _parts(filter_: c.Condition) -> tuple[c.Condition, ...]:
    return filter_.items if isinstance(filter_, c.And) else (filter_,)
