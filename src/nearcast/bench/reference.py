"""How fast the reference goes, beside the bare geodesic distances that its answers need.

It is the definition, not an engine: the figure is here to see that it stays usable in tests.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from nearcast.bench import Case, Result, rate
from nearcast.language.parse import parse_subscription
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.metric import EARTH
from nearcast.model.shape import Disc, Geometry, Point
from nearcast.model.statement import Publication, Subscription

__all__ = ["CASES"]


def _discs(quick: bool) -> Iterator[Result]:
    discs, moves = (5, 20) if quick else (50, 400)
    dice = random.Random(7)
    zones = [Disc(dice.uniform(0, 0.2), dice.uniform(0, 0.2), dice.uniform(100, 1000)) for _ in range(discs)]
    points = [Point(dice.uniform(0, 0.2), dice.uniform(0, 0.2)) for _ in range(moves)]

    def matched() -> int:
        reference = Reference()
        regions = tuple(LayerRegion(str(i), Geometry(zone)) for i, zone in enumerate(zones))
        reference.apply(ops.DefineLayer(0, Layer("zones", regions)))
        reference.apply(ops.Publish(0, Publication("self", "walker")))
        watch = parse_subscription("SELECT WHERE &location IN LAYER zones")
        reference.apply(ops.Subscribe(0, Subscription("watch", "desk", filter=watch.filter)))
        for i, point in enumerate(points, 1):
            reference.apply(ops.Move(i, "walker", Position(point)))
        return moves

    def measured() -> int:
        for point in points:
            for zone in zones:
                EARTH.distance(zone.centre, point)
        return moves

    seconds = 0.05 if quick else 2.0
    yield Result(f"discs-{discs}", rate(matched, seconds), "moves/s", rate(measured, seconds))


CASES: dict[str, Case] = {"discs": _discs}
