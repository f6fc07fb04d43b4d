"""The plain ways that the kernel is measured beside count what the kernel finds."""

import numpy as np

from nearcast.bench.baselines import Crowd, GridOfDiscs, TreeOfDiscs
from nearcast.bench.workloads import Batch, Walk, disc_kernel, discs, nearest_kernel, pair_kernel, told

SIDE = 5000.0


def walked(walk: Walk, size: int) -> Batch:
    return next(walk.batches(size))


def test_discs() -> None:
    zones, walk = discs(300, SIDE), Walk(50, SIDE)
    kernel = disc_kernel(walk.names, zones)
    told(kernel, walk.placed())
    batch = walked(walk, 500)
    found = told(kernel, batch)
    grid, tree = GridOfDiscs(zones, SIDE), TreeOfDiscs(zones)
    assert grid.turned(batch) == tree.turned(batch)
    moves = zip(batch.x, batch.y, batch.old_x, batch.old_y, strict=True)
    assert sum(tree.at(*map(float, move)) for move in moves) == tree.turned(batch)
    # The plane is not the earth: a few fall on the other side of a circle.
    assert abs(found - grid.turned(batch)) < 0.02 * found


def test_pairs() -> None:
    walk = Walk(100, SIDE)
    kernel, start = pair_kernel(walk.names, 500), walk.placed()
    crowd = Crowd(start, SIDE)
    assert abs(told(kernel, start) - crowd.pairs_turned(start, 500)) <= 2
    away = np.hypot(crowd.x - crowd.x[:, None], crowd.y - crowd.y[:, None])
    assert len(crowd.known) == (np.count_nonzero(away <= 500) - 100) // 2


def test_nearest() -> None:
    walk = Walk(50, SIDE)
    kernel, start = nearest_kernel(walk.names, 5), walk.placed()
    told(kernel, start)
    crowd, who = Crowd(start, SIDE), np.arange(0, 50, 10)
    crowd.nearest_turned(start, who, 5)
    away = np.hypot(crowd.x - crowd.x[who][:, None], crowd.y - crowd.y[who][:, None])
    expected = np.argsort(away, axis=1)[:, :6] + np.arange(5)[:, None] * 50
    assert sorted(crowd.known) == sorted(expected.ravel())
