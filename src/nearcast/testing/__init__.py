"""For tests of nearcast and of engines that must agree with it: random values, statements and logs of ops.

Needs Hypothesis, which comes with ``nearcast[dev]``. Every strategy shrinks to something small and readable.

``logs`` gives whole logs and ``run`` what the reference tells about them: an engine is right if it tells the same.
``statements``, ``conditions``, ``regions`` and ``shapes`` give the parts, in canonical form.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.model.metric import Ground
from nearcast.model.shape import Shape
from nearcast.testing.cast import WILD, Cast, small_cast
from nearcast.testing.conditions import conditions
from nearcast.testing.logs import Log, applied, logs, run
from nearcast.testing.scenes import Scene, scenes
from nearcast.testing.statements import regions, statements

__all__ = [
    "WILD", "Cast", "Log", "Scene", "applied", "conditions", "logs", "regions", "run", "scenes", "shapes", "small_cast",
    "statements",
]  # fmt: skip


def shapes(ground: Ground) -> SearchStrategy[Shape]:
    """Shapes around one centre: touching, nested, apart, across the antimeridian, over a pole."""
    return st.sampled_from(scenes(ground)).flatmap(lambda scene: st.sampled_from([*scene.shapes, *scene.points]))
