"""Have compiled code ready before there is work.

It is kept on disk, and read in half a second. The first time on a machine it takes a minute, in which a broker that had
begun could neither answer nor keep its lease. ``python -m nearcast.broker.warming`` does nothing else.
"""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

import numpy as np
from numba.core.event import install_recorder

from nearcast.broker.applying import apply_packet
from nearcast.log.packet import encode_lines
from nearcast.match.cells import moved, new_keys
from nearcast.match.chains import new_table, renewed
from nearcast.match.crossings import by_cell
from nearcast.match.kernel import Kernel

__all__ = ["warm_up"]

logger = logging.getLogger(__name__)
LONG = 3.0
"""Seconds after which those who wait are told why."""
_BOX = [[[0.0, 0.0], [0.01, 0.0], [0.01, 0.01], [0.0, 0.01], [0.0, 0.0]]]
_MANY = 60
"""Enough for indexes to grow."""
_GEOMETRIES: list[dict[str, Any]] = [
    {"type": "MultiPolygon", "coordinates": [_BOX]},
    *({"type": "Point", "coordinates": [0.1 * number, 0.0]} for number in range(_MANY)),
    *({"type": "Polygon", "coordinates": [[[x + 0.1 * n, y] for x, y in _BOX[0]]]} for n in range(3 * _MANY)),
]
_ASKED = [
    "SELECT WHERE &location IN LAYER zones",
    "SELECT FROM LAYER zones WHERE #location IN &location",
    "SELECT WHERE &location WITHIN 1 km OF #location",
    "SELECT AT POINT(0 0) WHERE &location WITHIN 1 km OF #location",
    "SELECT WHERE &location IN DISC(0 0, 1 km) AND &price < 3",
    "SELECT WHERE &location IN POLYGON((0 0, 0.1 0, 0.1 0.1, 0 0))",
    "SELECT NEAREST 1",
]


def warm_up() -> bool:
    """Ask a kernel of its own a little of all that is compiled. Whether some of it was not on disk, and is now."""
    saying = threading.Timer(LONG, logger.info, ["compiles what is to be fast, once; that takes a minute or so"])
    saying.daemon = True
    saying.start()
    kernel = Kernel()
    with install_recorder("numba:compile") as compiled:
        said = ([op] for op in (_layer(), *_statements()))
        for packet in (*said, _moves(1), _moves(2), _moves(3)[:1], *([op] for op in _endings())):
            applied = apply_packet(kernel, encode_lines([json.dumps(op) for op in packet]))
            assert not applied.refused, applied.refused
        _grow()
    saying.cancel()
    return any(event.data["dispatcher"].stats.cache_path for _, event in compiled.buffer)


def _grow() -> None:
    """What takes more of everything than is worth the time."""
    renewed(new_table(1), np.zeros(1, np.int64))
    by_cell(np.zeros((1, 7)))
    keys = new_keys(1)
    moved(keys, np.zeros((1, 3), np.int32), keys, np.zeros((1, 3), np.int32))


def _layer() -> dict[str, Any]:
    features = [
        {"type": "Feature", "id": str(number), "properties": {"radius": 500}, "geometry": geometry}
        for number, geometry in enumerate(_GEOMETRIES)
    ]
    return {"op": "layer", "time": 0, "name": "zones", "features": {"type": "FeatureCollection", "features": features}}


def _statements() -> list[dict[str, Any]]:
    published = [{"op": "publish", "time": 0, "client": f"c{i}", "id": "p", "text": "PUBLISH"} for i in range(_MANY)]
    asked = [
        {"op": "subscribe", "time": 0, "client": "c0", "id": f"s{i}", "text": text} for i, text in enumerate(_ASKED)
    ]
    return [*published, *asked]


def _moves(time_: int) -> list[dict[str, Any]]:
    at = 0.02 * (time_ % 2)
    return [{"op": "move", "time": time_, "client": f"c{i}", "lon": at, "lat": 0.001 * i} for i in range(_MANY)]


def _endings() -> list[dict[str, Any]]:
    """Whatever was said, changed and taken back."""
    changed = {"op": "client", "time": 4, "client": "c1", "attributes": {"price": 1}}
    there = {"op": "publish", "time": 5, "client": "c0", "id": "q", "text": "PUBLISH AT POINT(0 0)"}
    regions = [str(number) for number in range(1, len(_GEOMETRIES))]
    dropped = {"op": "layer", "time": 6, "name": "zones", "patch": True, "drop": regions}
    left = [{"op": "unsubscribe", "time": 7, "client": "c0", "id": f"s{i}"} for i in range(len(_ASKED))]
    return [changed, {"op": "tick", "time": 5}, there, dropped, *left]


if __name__ == "__main__":
    warm_up()
