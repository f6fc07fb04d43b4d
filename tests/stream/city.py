"""A small city: zones of every shape, people who love boundaries, and statements of every kind about them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from nearcast.check import statement_ops
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.moment import MICROS
from nearcast.model.shape import Point
from tests.stream.oracle import Given

__all__ = ["START", "STATEMENTS", "ZONES", "city_definitions", "city_rows"]

START = 1_700_000_000 * MICROS
WEST, SOUTH, STEP = 13.0, 52.0, 0.001
"""A corner of a grid that all shapes have their corners on."""


def _ring(*corners: tuple[int, int]) -> list[list[float]]:
    return [[WEST + x * STEP, SOUTH + y * STEP] for x, y in (*corners, corners[0])]


def _zone(name: str, kind: str, coordinates: Any, **properties: object) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "id": name, "geometry": geometry, "properties": properties}


ZONES = {
    "type": "FeatureCollection",
    "features": [
        _zone("disc", "Point", [WEST + 2 * STEP, SOUTH + 2 * STEP], radius=150),
        _zone("box", "Polygon", [_ring((1, 1), (4, 1), (4, 4), (1, 4))]),
        _zone("yard", "Polygon", [_ring((0, 0), (6, 0), (6, 6), (0, 6)), _ring((2, 2), (2, 3), (3, 3), (3, 2))]),
        _zone("wedge", "Polygon", [_ring((3, 0), (6, 5), (5, 6), (0, 3))]),
        _zone("isles", "MultiPolygon", [[_ring((0, 0), (1, 0), (0, 1))], [_ring((5, 5), (6, 5), (6, 6))]]),
    ],
}

STATEMENTS = """
PLACE hq LEVEL building AT BOX(13.001 52.001, 13.004 52.004);
PLACE hq/2 LEVEL floor AT BOX(13.001 52.001, 13.004 52.004) FLOOR 2;
PLACE hq/2/A LEVEL room AT BOX(13.001 52.001, 13.002 52.002) FLOOR 2;
RELATION close WHERE &location WITHIN 120 m OF #location;
SUBSCRIBE zones BY desk SELECT WHERE &location IN LAYER zones;
SUBSCRIBE sure BY desk SELECT WHERE &location IN LAYER zones CONFIDENCE 90 %;
SUBSCRIBE calm BY desk SELECT WHERE &location IN LAYER zones DWELL 30 s COOLDOWN 2 min;
SUBSCRIBE broad BY desk SELECT WHERE &location IN LAYER zones HYSTERESIS 60 m;
SUBSCRIBE upstairs BY desk SELECT WHERE &location IN PLACE hq/2 OR &floor >= 3;
SUBSCRIBE fuel BY desk SELECT WHERE &fuel < 3 AND &location IN LAYER zones;
SUBSCRIBE line BY desk SELECT WHERE &line = '7';
SUBSCRIBE pairs BY watch SELECT FROM RELATION close;
SUBSCRIBE met BY watch SELECT FROM RELATION close DWELL 20 s;
SUBSCRIBE nearest BY c1 SELECT NEAREST 2;
SUBSCRIBE own BY c2 SELECT FROM LAYER zones WHERE #location IN &location;
SUBSCRIBE around BY c3 SELECT nearof(2) WHERE &location WITHIN 200 m OF #location;
"""


def city_rows(count: int, clients: int = 12, *, seed: int = 0, skew: bool = False) -> list[Given]:
    """Fixes on corners, on edges and beside them, some twice, in no order. With a skew half are of one client."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        name = "c1" if skew and rng.random() < 0.5 else f"c{rng.randrange(clients)}"
        x, y = (rng.choice((rng.randrange(7), rng.randrange(13) / 2, rng.random() * 7)) for _ in range(2))
        place = rng.choice((None, None, None, None, "hq/2/A", "hq"))
        point = None if place and rng.random() < 0.5 else Point(WEST + x * STEP, SOUTH + y * STEP)
        heights = (rng.choice((None, 35.5)), rng.choice((None, 2.0, 3.0)), rng.choice((None, 10.0, 80.0)))
        at = Position(point, place, *heights)
        said = {"fuel": rng.choice((1, 2.5, 7)), "line": rng.choice(("7", "x7"))} if rng.random() < 0.7 else {}
        rows.append(Given(name, START + rng.randrange(count // 2) * MICROS, at, said))
    return rows + rng.sample(rows, count // 20)


def city_definitions(*names: str) -> list[ops.Op]:
    """The layer and the statements; if some are named, only these, and what they may need."""
    every = list(statement_ops(STATEMENTS, Path(), 0))
    wanted = [op for op in every if not (names and isinstance(op, ops.Subscribe) and op.subscription.id not in names)]
    return [ops.DefineLayer(0, layer_from_geojson("zones", ZONES)), *wanted]
