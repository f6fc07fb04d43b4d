"""A broker that is warm has nothing left to compile for what nearly everyone asks."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from numba.core.dispatcher import Dispatcher

from nearcast.broker.applying import apply_packet
from nearcast.broker.warming import warm_up
from nearcast.log.packet import encode_lines
from nearcast.match.kernel import Kernel
from tests.live.crowd import zones


def compiled() -> dict[str, int]:
    """How many forms of each function there are in this process."""
    modules = [module for name, module in sys.modules.items() if name.startswith("nearcast.match")]
    found = [one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)]
    return {str(one): len(one.signatures) for one in found}


def test_it_is_enough() -> None:
    warm_up()
    before, dice, kernel = compiled(), random.Random(1), Kernel()
    statements: list[dict[str, Any]] = [
        {"op": "layer", "name": "zones", "features": zones()},
        *({"op": "publish", "client": f"c{i}", "id": "self", "text": "PUBLISH"} for i in range(50)),
        {"op": "subscribe", "client": "desk", "id": "s", "text": "SELECT WHERE &location IN LAYER zones"},
        {"op": "subscribe", "client": "c1", "id": "s", "text": "SELECT WHERE &location WITHIN 2 km OF #location"},
        {"op": "subscribe", "client": "c2", "id": "s", "text": "SELECT NEAREST 3"},
    ]
    told = 0
    for statement in statements:
        apply_packet(kernel, encode_lines([json.dumps({"time": 0, **statement})]))
    for moment in range(1, 30):
        fixes = [
            {
                "op": "move",
                "time": moment,
                "client": f"c{i}",
                "lon": dice.uniform(13.3, 13.4),
                "lat": dice.uniform(52.4, 52.5),
            }
            for i in range(50)
        ]
        told += len(apply_packet(kernel, encode_lines(map(json.dumps, fixes))).told)
    assert told > 100
    assert sum(before.values()) > 10
    assert {name: count for name, count in compiled().items() if count > before.get(name, 0)} == {}
