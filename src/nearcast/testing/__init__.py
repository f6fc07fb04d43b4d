"""For tests of nearcast and of engines that must agree with it: random values, statements and logs of ops.

Needs Hypothesis, which comes with ``nearcast[dev]``. Every strategy shrinks to something small and readable.

``logs`` gives whole logs and ``run`` what the reference tells about them: an engine is right if it tells the same.
``statements``, ``conditions``, ``regions`` and ``shapes`` give the parts, in canonical form.
"""

from __future__ import annotations

from nearcast.testing.cast import WILD, Cast, shapes, small_cast
from nearcast.testing.conditions import conditions
from nearcast.testing.logs import Log, applied, logs, run
from nearcast.testing.scenes import Scene, scenes
from nearcast.testing.statements import regions, statements

__all__ = [
    "WILD", "Cast", "Log", "Scene", "applied", "conditions", "logs", "regions", "run", "scenes", "shapes", "small_cast",
    "statements",
]  # fmt: skip
