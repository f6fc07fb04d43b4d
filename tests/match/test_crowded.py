"""Much that is told of one move: in the order of the definition, however much it is."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.shape import Point
from nearcast.model.space import LOCATION, Metric
from tests.match.agreement import answers_of, check_in_runs, check_one_by_one
from tests.match.harness import boxes, owned_publication, owned_subscription, square
from tests.seeds import FIRST_SEED

WANTED = (
    "SELECT WHERE &location IN LAYER yards",
    "SELECT WHERE &location WITHIN 9 m OF #location",
    "SELECT WHERE &location IN DISC(0 0, 9 m)",
)
PLANE = ops.DefineSpace(0, replace(LOCATION, metric=Metric.PLANAR))
PUBLISHED = ("a", "b", "ü", "zz")
HERE, THERE = Position(Point(0.0, 0.0)), Position(Point(1000.0, 0.0))


def crowd(random: Random, size: int) -> list[ops.Op]:
    """Many who hear of two that come and go, under names in no order."""
    yards = {name: square(-5, -5, random.randint(6, 20)) for name in ("x", "y", "ω", "yard-9", "yard-10")}
    log: list[ops.Op] = [PLANE, ops.DefineLayer(0, boxes("yards", yards))]
    log += [ops.Publish(1, owned_publication(who, id_, "PUBLISH")) for who in ("bus", "tram") for id_ in PUBLISHED]
    names = [
        random.choice(("c", "C", "é", "")) + str(random.randrange(10 ** random.randint(1, 9))) for _ in range(size)
    ]
    for name in names:
        log.append(ops.Move(2, name, HERE))
        log.append(ops.Subscribe(2, owned_subscription(name, random.choice("stu"), random.choice(WANTED))))
    come_and_go = ((who, where) for where in (HERE, THERE, HERE) for who in ("bus", "tram"))
    return log + [ops.Move(time, who, where) for time, (who, where) in enumerate(come_and_go, 3)]


@pytest.mark.parametrize("size", [3, 15, 16, 17, 33, 150])
def test_it_is_in_order(size: int) -> None:
    random = Random(f"{FIRST_SEED} {size}")
    expected = answers_of(crowd(random, size))
    assert max(len(answer.told) for answer in expected.each) > size
    check_one_by_one(expected)
    assert check_in_runs(expected, [1, 3]) > size
