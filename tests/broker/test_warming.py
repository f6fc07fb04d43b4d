"""A broker that is warm has nothing left to compile for what nearly everyone asks."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from nearcast.broker.__main__ import WARMED
from nearcast.broker.applying import apply_packet
from nearcast.broker.warming import warm_up
from nearcast.log.packet import encode_lines
from nearcast.log.server import NatsServer
from nearcast.match import crowd
from nearcast.match.kernel import Kernel
from tests.broker.test_kill import active
from tests.live.crowd import zones


def compiled() -> dict[str, int]:
    """How many forms of each function there are in this process."""
    return {str(one): len(one.signatures) for one in dispatchers()}


def dispatchers() -> list[Any]:
    modules = [module for name, module in sys.modules.items() if name.startswith("nearcast.match")]
    return [one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)]


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


def test_nothing_is_left_out() -> None:
    """Else a broker that tells might stop for as long as a compiler takes, and another take over. A process of its own
    looks, since in this one other tests have been."""
    words = [sys.executable, "-c", "from tests.broker.test_warming import cold; print(*cold())"]
    found = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) == {"_hashes", "_hits", "to_space"}, "what only Spark needs"


def cold() -> list[str]:
    """What Python calls, and is not ready when all is warm."""
    warm_up()
    known = dispatchers()
    called = [one.py_func.__globals__.get(name) for one in known for name in one.py_func.__code__.co_names]
    inner = {id(one) for one in called if isinstance(one, Dispatcher)}
    outer = [one for one in known if id(one) not in inner and not one.targetoptions.get("inline")]
    return sorted({one.py_func.__name__ for one in outer if not one.signatures})


async def test_one_that_has_compiled_begins_again_without_the_compiler(server: NatsServer, tmp_path: Path) -> None:
    """A compiler takes more memory than all else, and a process does not give it back."""
    warm_up()
    kept = tmp_path / "kept"
    is_crowded: Any = crowd.is_crowded
    for folder in Path(is_crowded.stats.cache_path).parents[1].glob("numba-*"):
        shutil.copytree(folder, kept / folder.name)
    missing = list(kept.rglob("crowd.is_crowded-*"))
    assert missing
    for path in missing:
        path.unlink()
    for has_compiled in (True, False):
        command = [sys.executable, "-m", "nearcast.broker", "--nats", server.url, "--name", str(has_compiled)]
        broker = subprocess.Popen(command, env={**os.environ, "NUMBA_CACHE_DIR": str(kept)})
        try:
            assert await active(server.url) == str(has_compiled)
            around = Path(f"/proc/{broker.pid}/environ").read_bytes().decode()
            assert (f"{WARMED}=1" in around) == has_compiled
        finally:
            broker.terminate()
            assert broker.wait(20) == 0
