"""How fast the kernel goes on one core, notifications as Arrow included, beside the plain ways to count the same.

The square is 100 km wide, unless a case is about growth. A batch has 100,000 moves. Rates are by the processor's time,
so that others on the machine disturb them less; how long one op takes is by the clock on the wall.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt

from nearcast.bench import Case, Result
from nearcast.bench.baselines import Crowd, GridOfDiscs, TreeOfDiscs, TreeOfPolygons
from nearcast.bench.workloads import (
    Batch,
    Discs,
    Walk,
    city_fixes,
    city_zones,
    disc_kernel,
    discs,
    dwell_kernel,
    guarded_kernel,
    nearest_kernel,
    pair_kernel,
    polygon_kernel,
    reading_kernel,
    shape_kernel,
    told,
)
from nearcast.match.kernel import Kernel
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.shape import Point

__all__ = ["CASES", "RARE"]

SIDE = 100_000.0
BATCH = 100_000
METRES = 500.0
Count = Callable[[Batch], int]
Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


# ---- layers ----------------------------------------------------------------------------------------------


def _discs(n: int, name: str, quick: bool) -> Iterator[Result]:
    """Walkers among discs, beside a grid in NumPy."""
    n, walkers, size = (min(n, 1000), 100, 400) if quick else (n, 10_000, BATCH)
    zones, walk = discs(n, SIDE), Walk(walkers, SIDE)
    kernel, grid = disc_kernel(walk.names, zones), GridOfDiscs(zones, SIDE)
    told(kernel, walk.placed())
    few = max(size // 100, size * 10_000 // max(n, 10_000))  # the grid makes all candidates at once
    yield _beside(name, partial(told, kernel), grid.turned, walk.batches(size), _rounds(quick), few)


def _guarded(quick: bool) -> Iterator[Result]:
    """Walkers that let in only some, beside the same walkers open to all."""
    n, walkers, size = (1000, 100, 400) if quick else (100_000, 10_000, BATCH)
    zones, walk = discs(n, SIDE), Walk(walkers, SIDE)
    kernel, open_ = guarded_kernel(walk.names, zones), disc_kernel(walk.names, zones)
    placed = walk.placed()
    told(kernel, placed)
    told(open_, placed)
    yield _beside("guarded-100k", partial(told, kernel), partial(told, open_), walk.batches(size), _rounds(quick))


def _tree(n: int, name: str, quick: bool) -> Iterator[Result]:
    """The same beside Shapely's tree."""
    n, walkers, size = (1000, 100, 400) if quick else (n, 10_000, BATCH)
    zones, walk = discs(n, SIDE), Walk(walkers, SIDE)
    kernel, tree = disc_kernel(walk.names, zones), TreeOfDiscs(zones)
    told(kernel, walk.placed())
    yield _beside(name, partial(told, kernel), tree.turned, walk.batches(size), _rounds(quick), size // 10)


def _polygons(quick: bool) -> Iterator[Result]:
    """Cabs among neighbourhoods and zip codes; if there are none, walkers among stars, which the name then says."""
    size = 400 if quick else BATCH
    layers, city = city_zones(20 if quick else 100), city_fixes(size)
    walk = Walk(100 if quick else 10_000, 20_000.0)
    names, batches = city or (walk.names, walk.batches(size))
    kernel, tree = polygon_kernel(names, layers), TreeOfPolygons(layers)
    told(kernel, next(batches) if city else walk.placed())
    case = "polygons-city" if city else "polygons-stars"
    yield _beside(case, partial(told, kernel), tree.turned, batches, _rounds(quick), size // 10)


def _one_op(quick: bool) -> Iterator[Result]:
    """How long a single move takes, without Arrow."""
    n, moves = (1000, 50) if quick else (100_000, 20_000)
    zones, walk = discs(n, SIDE), Walk(100 if quick else 10_000, SIDE)
    kernel, tree = disc_kernel(walk.names, zones), TreeOfDiscs(zones)
    told(kernel, walk.placed())
    for _ in range(3):
        kernel.run(*_one(next(walk.batches(1)), 0))
    batch = next(walk.batches(moves))
    ours, plain = np.empty(moves), np.empty(moves // 10)
    for i in range(moves):
        one = _one(batch, i)
        start = time.perf_counter()
        kernel.run(*one)
        ours[i] = time.perf_counter() - start
    for i in range(len(plain)):
        x, y, old_x, old_y = (float(column[i]) for column in (batch.x, batch.y, batch.old_x, batch.old_y))
        start = time.perf_counter()
        tree.at(x, y, old_x, old_y)
        plain[i] = time.perf_counter() - start
    for p in (50, 99):
        value, baseline = (float(np.percentile(times, p)) * 1e6 for times in (ours, plain))
        yield Result(f"one-op-p{p}", value, "us", baseline)


def _one(batch: Batch, i: int) -> tuple[Wholes, Wholes, Reals]:
    return batch.rows[i : i + 1], batch.time[i : i + 1], batch.position[i : i + 1]


# ---- clients among each other ----------------------------------------------------------------------------


def _pairs(n: int, name: str, quick: bool) -> Iterator[Result]:
    """All pairs of walkers within 500 m, beside a join in NumPy after each batch."""
    n, size, side = (300, 300, 10_000.0) if quick else (n, BATCH, SIDE)
    walk = Walk(n, side)
    kernel, start = pair_kernel(walk.names, METRES), walk.placed()
    crowd = Crowd(start, side)
    told(kernel, start)
    crowd.pairs_turned(start, METRES)
    batches = walk.batches(min(n, size))  # everyone once, so that one join does
    rounds = _rounds(quick) if n < 1_000_000 else 1
    yield _beside(name, partial(told, kernel), lambda batch: _joined(crowd, batch), batches, rounds)


def _joined(crowd: Crowd, batch: Batch) -> int:
    return crowd.pairs_turned(batch, METRES)


def _nearest(quick: bool) -> Iterator[Result]:
    """A tenth of the walkers ask for the five nearest, beside all distances in NumPy after each batch."""
    n, side = (100, 10_000.0) if quick else (10_000, SIDE)
    walk = Walk(n, side)
    kernel, start = nearest_kernel(walk.names, n // 10), walk.placed()
    told(kernel, start)
    crowd, who = Crowd(start, side), np.arange(0, n, 10)
    yield _beside(
        "nearest-5", partial(told, kernel), lambda batch: crowd.nearest_turned(batch, who, 5), walk.batches(n),
        _rounds(quick),
    )  # fmt: skip


def _shapes(quick: bool) -> Iterator[Result]:
    """Very many subscriptions of few shapes, beside a grid in NumPy that knows their areas only."""
    n, walkers, size = (200, 20, 200) if quick else (1_000_000, 10_000, BATCH)
    walk, zones = Walk(walkers, SIDE), discs(n, SIDE)
    kernel, grid = shape_kernel(walk.names, zones, 20), GridOfDiscs(zones, SIDE)
    told(kernel, walk.placed())
    yield _beside(
        "shapes-1m", partial(told, kernel), grid.turned, walk.batches(size), _rounds(quick), max(1, size // 100)
    )


def _readings(quick: bool) -> Iterator[Result]:
    """Readings of sources that subscriptions are bound to, beside asking every subscription."""
    sources, subscribers, readings = (10, 20, 50) if quick else (100, 1000, 2000)
    kernel, heard = reading_kernel(sources, subscribers)
    dice = np.random.default_rng(sources)
    source, value = dice.integers(0, sources, readings).tolist(), dice.uniform(0, 100, readings).tolist()
    plain = [0]

    def emitted() -> int:
        for i, (s, v) in enumerate(zip(source, value, strict=True)):
            kernel.apply(ops.Emit(i, f"source{s}", "light", {"value": v}))
        return readings

    def asked() -> int:
        for s, v in zip(source, value, strict=True):
            plain[0] += sum(1 for room, least in heard if room == s and v > least)
        return readings

    yield Result("readings", _best(emitted, _rounds(quick)), "readings/s", _best(asked, _rounds(quick)))


# ---- growth and memory -----------------------------------------------------------------------------------


def _growth(sizes: tuple[int, ...], quick: bool) -> Iterator[Result]:
    """The same walkers and ever more discs, one a square kilometre: an update's time beside that with a tenth of them.

    All sizes take turns, so that a disturbance of the machine meets them alike.
    """
    walkers, per, rounds = (1000, 100, 1) if quick else (BATCH, 1, 10)
    runs: list[tuple[Kernel, Iterator[Batch]]] = []
    for n in sizes:
        side = 1000.0 * (n // per) ** 0.5
        walk = Walk(walkers, side)
        kernel = disc_kernel(walk.names, discs(n // per, side))
        told(kernel, walk.placed())
        runs.append((kernel, walk.batches(walkers)))
    best = [0.0] * len(sizes)
    for _ in range(rounds):
        for i, (kernel, batches) in enumerate(runs):
            best[i] = max(best[i], _speed(partial(told, kernel), next(batches)))
    for i, n in enumerate(sizes):
        yield Result(f"growth-{_short(n)}", 1e9 / best[i], "ns/update", 1e9 / best[max(0, i - 1)])


def _memory(quick: bool) -> Iterator[Result]:
    """Bytes of the index and the columns, beside bare coordinates; names, ids and pairs apart.

    A pair that remembers nothing takes none; one that does is held beside the names that it is known by.
    """
    n, clients = (1000, 1000) if quick else (100_000, 100_000)
    walk = Walk(clients, SIDE)
    kernel = disc_kernel(walk.names, discs(n, SIDE))
    table, columns = kernel.stage.tables[0], kernel.clients.columns
    shapes = table.discs.nbytes + sum(part.nbytes for part in table.heights)
    yield Result("memory-disc", shapes / n, "bytes", 24)
    yield Result("memory-disc-id", table.ids.nbytes / n, "bytes", sum(map(len, table.ids)) / n)
    yield Result("memory-client", columns.nbytes / clients, "bytes", 24)
    yield Result("memory-pair", _pair_bytes(100 if quick else 2000), "bytes", 24)


def _pair_bytes(walkers: int) -> float:
    """What a pair takes that waits for its dwell, by what Python gives out while all of them come to be."""
    walk = Walk(walkers, 1000.0)
    kernel = dwell_kernel(walk.names, Discs(np.array([500.0]), np.array([500.0]), np.array([2000.0])))
    start = walk.placed()
    moves = [
        ops.Move(int(time), name, Position(Point(float(at[0]), float(at[1]))))
        for name, time, at in zip(walk.names, start.time, start.position, strict=True)
    ]
    gc.collect()
    tracemalloc.start()
    for move in moves:
        kernel.apply(move)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used / sum(len(s.pairs) for s in kernel.subscriptions.values())


# ---- measuring -------------------------------------------------------------------------------------------


def _beside(
    case: str, ours: Count, plain: Count, batches: Iterator[Batch], rounds: int, few: int | None = None
) -> Result:
    """Both by the best of the same rounds; a slow baseline gets a few moves of each batch."""
    value = baseline = 0.0
    for batch in islice(batches, rounds):
        value = max(value, _speed(ours, batch))
        baseline = max(baseline, _speed(plain, batch.first(few or len(batch))))
    return Result(case, value, "updates/s", baseline)


def _speed(work: Count, batch: Batch) -> float:
    start = time.process_time()
    work(batch)
    return len(batch) / max(time.process_time() - start, 1e-9)


def _best(work: Callable[[], int], rounds: int) -> float:
    best = 0.0
    for _ in range(rounds):
        start = time.process_time()
        best = max(best, work() / max(time.process_time() - start, 1e-9))
    return best


def _rounds(quick: bool) -> int:
    return 1 if quick else 6


def _short(n: int) -> str:
    return f"{n // 1_000_000}m" if n >= 1_000_000 else f"{n // 1000}k"


CASES: dict[str, Case] = {
    **{f"discs-{_short(n)}": partial(_discs, n, f"discs-{_short(n)}") for n in (1000, 10_000, 100_000, 1_000_000)},
    **{f"discs-{_short(n)}-strtree": partial(_tree, n, f"discs-{_short(n)}-strtree") for n in (10_000, 100_000)},
    "guarded-100k": _guarded,
    "polygons-city": _polygons,
    **{f"pairs-{_short(n)}": partial(_pairs, n, f"pairs-{_short(n)}") for n in (10_000, 100_000, 1_000_000)},
    "nearest-5": _nearest,
    "shapes-1m": _shapes,
    "readings": _readings,
    "one-op": _one_op,
    "growth": partial(_growth, (10_000, 100_000, 1_000_000)),
    "growth-10m": partial(_growth, (1_000_000, 10_000_000)),
    "memory": _memory,
}
RARE = {"growth-10m", "shapes-1m"}
"""Only if they are asked for: one takes 10 GB, the other minutes to subscribe."""
