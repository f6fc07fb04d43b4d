"""What the kernel is measured with: walkers on a square of the earth, and kernels that watch them.

Large layers and crowds go straight into the kernel's columns. As ops, each would also be a statement or a region as
an object, which takes minutes and gigabytes at millions and is not what is measured.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse, parse_publication, parse_subscription
from nearcast.match.kernel import Kernel
from nearcast.match.regions import Regions
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.repair import repairs
from nearcast.model.shape import Disc, Geometry, Point, polygon
from nearcast.model.statement import Subscription

__all__ = [
    "Batch",
    "Discs",
    "Walk",
    "city_fixes",
    "city_zones",
    "disc_kernel",
    "discs",
    "guarded_kernel",
    "nearest_kernel",
    "pair_kernel",
    "polygon_kernel",
    "reading_kernel",
    "shape_kernel",
    "told",
]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

LON, LAT = 16.37, 48.21
"""Where the square is: its corner is in Vienna."""
PER_X, PER_Y = 111_412.0 * math.cos(math.radians(LAT)), 111_200.0
"""Metres a degree, about."""
SECOND = 1_000_000
CITY = Path("..", "shared", "data")
"""Real places and fixes, if they are there."""


@dataclass(frozen=True, slots=True)
class Discs:
    """Where they are, in metres on the square, and how large."""

    x: Reals
    y: Reals
    radius: Reals


def discs(n: int, side: float) -> Discs:
    dice = np.random.default_rng(n)
    return Discs(dice.uniform(0, side, n), dice.uniform(0, side, n), dice.uniform(100, 1000, n))


@dataclass(frozen=True, slots=True)
class Batch:
    """Fixes as columns, with their place in metres for those who reckon on a plane, and where each came from."""

    rows: Wholes
    time: Wholes
    position: Reals
    x: Reals
    y: Reals
    old_x: Reals
    old_y: Reals

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, n: int) -> Batch:
        return Batch(
            self.rows[:n], self.time[:n], self.position[:n], self.x[:n], self.y[:n], self.old_x[:n], self.old_y[:n]
        )


class Walk:
    """Walkers on a square, each with a step of about 30 m a second; a batch has some steps of all, or of some."""

    def __init__(self, walkers: int, side: float) -> None:
        self.names = [f"walker{i}" for i in range(walkers)]
        self.side = side
        self._dice = np.random.default_rng(walkers)
        self._x, self._y = self._dice.uniform(0, side, walkers), self._dice.uniform(0, side, walkers)
        self._time = 0
        self._next = 0

    def placed(self) -> Batch:
        """Everyone where they start."""
        return self._batch(np.arange(len(self.names)), self._x, self._y, self._x, self._y)

    def batches(self, size: int) -> Iterator[Batch]:
        """Batches for ever. The same walkers go on in the next one."""
        n = len(self.names)
        while True:
            parts = []
            for done in range(0, size, min(size, n)):
                some = (self._next + np.arange(min(size - done, n))) % n
                self._next += len(some)
                old_x, old_y = self._x[some], self._y[some]
                self._x[some] = (old_x + self._dice.normal(0, 30, len(some))).clip(0, self.side)
                self._y[some] = (old_y + self._dice.normal(0, 30, len(some))).clip(0, self.side)
                parts.append(self._batch(some, self._x[some], self._y[some], old_x, old_y))
            columns = ("rows", "time", "position", "x", "y", "old_x", "old_y")
            yield Batch(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))

    def _batch(self, rows: Wholes, x: Reals, y: Reals, old_x: Reals, old_y: Reals) -> Batch:
        self._time += SECOND
        position = np.full((len(rows), 5), np.nan)
        position[:, 0], position[:, 1] = LON + x / PER_X, LAT + y / PER_Y
        return Batch(rows, np.full(len(rows), self._time), position, x, y, old_x, old_y)


def told(kernel: Kernel, batch: Batch) -> int:
    """Apply a batch, and give how many notifications it made; as Arrow, ready to be sent."""
    return int(kernel.run(batch.rows, batch.time, batch.position).arrow().num_rows)


# ---- kernels: what is subscribed to ----------------------------------------------------------------------


def _crowd(names: list[str], publishing: bool = True) -> Kernel:
    """A kernel that knows clients, each by the row that batches have, with an open publication each."""
    kernel = Kernel()
    rows = kernel.clients.rows(names)
    assert rows[-1] == len(names) - 1
    if publishing:
        stage = kernel.stage
        code = stage.texts.code("self")
        for name, row in zip(names, rows.tolist(), strict=True):
            stage.publications.open((name, "self"), code, row, "")
    return kernel


def _defined(text: str) -> ops.Op:
    op = statement_to_op(parse(text), 0)
    assert op is not None
    return op


def _watch(kernel: Kernel, text: str, owner: str = "desk", id_: str = "watch") -> None:
    kernel.apply(ops.Subscribe(0, replace(parse_subscription(text), id=id_, owner=owner)))


def disc_kernel(names: list[str], zones: Discs) -> Kernel:
    """One subscription watches all clients in all discs of a layer."""
    kernel = _crowd(names)
    table = Regions(kernel.world.ground, earth=True)
    ids = [f"zone{i}" for i in range(len(zones.x))]
    table.add_discs(ids, LON + zones.x / PER_X, LAT + zones.y / PER_Y, zones.radius)
    kernel.apply(ops.DefineLayer(0, Layer("zones", ())))
    kernel.stage.layers["zones"] = len(kernel.stage.tables)
    kernel.stage.tables.append(table)
    _watch(kernel, "SELECT WHERE &location IN LAYER zones")
    return kernel


def guarded_kernel(names: list[str], zones: Discs) -> Kernel:
    """The same, but each client lets in only those of a kind."""
    kernel = disc_kernel(names, zones)
    for name in names:
        permitting = parse_publication("PUBLISH TO #kind = 'friend'")
        kernel.apply(ops.Publish(0, replace(permitting, id="self", owner=name)))
    kernel.apply(ops.SetClient(0, "desk", {"kind": "friend"}))
    return kernel


def dwell_kernel(names: list[str], zones: Discs) -> Kernel:
    """The same, but a disc counts after a minute, so that each pair has something to remember."""
    kernel = Kernel()
    kernel.introduce("self", names, np.zeros(len(names), np.int64))
    shapes = zip(LON + zones.x / PER_X, LAT + zones.y / PER_Y, zones.radius, strict=True)
    regions = [LayerRegion(f"zone{i}", Geometry(Disc(*map(float, shape)))) for i, shape in enumerate(shapes)]
    kernel.apply(ops.DefineLayer(0, Layer("zones", tuple(regions))))
    _watch(kernel, "SELECT WHERE &location IN LAYER zones DWELL 1 min")
    return kernel


def polygon_kernel(names: list[str], layers: list[Layer]) -> Kernel:
    """One subscription a layer watches all clients in it."""
    kernel = _crowd(names)
    for layer in layers:
        kernel.apply(ops.DefineLayer(0, layer))
        _watch(kernel, f"SELECT WHERE &location IN LAYER {layer.name}", id_=layer.name)
    return kernel


def pair_kernel(names: list[str], metres: float) -> Kernel:
    """One subscription watches all pairs of clients within a distance."""
    kernel = _crowd(names, publishing=False)
    kernel.apply(_defined(f"RELATION near WHERE &location WITHIN {metres} m OF #location"))
    _watch(kernel, "SELECT FROM RELATION near")
    return kernel


def nearest_kernel(names: list[str], subscribers: int) -> Kernel:
    """Some of the clients ask for the five that are nearest to them."""
    kernel = _crowd(names)
    for name in names[:: len(names) // subscribers]:
        _watch(kernel, "SELECT NEAREST 5", owner=name)
    return kernel


_COMPARED: tuple[Literal["<", "<=", "=", "!=", ">=", ">"], ...] = ("<", "<=", "=", "!=", ">=", ">")


def shape_kernel(names: list[str], areas: Discs, shapes: int) -> Kernel:
    """Subscriptions of a few shapes: an area, and conditions on what the client says of itself."""
    kernel = _crowd(names)
    for i, name in enumerate(names):
        kernel.apply(ops.SetClient(0, name, {"price": i % 100, **{f"kind{k}": f"k{i % 7}" for k in range(3)}}))
    compared = list(itertools.product(_COMPARED, _COMPARED, ("kind0", "kind1", "kind2")))[:shapes]
    for i, (x, y, radius) in enumerate(zip(areas.x, areas.y, areas.radius, strict=True)):
        below, same, kind = compared[i % len(compared)]
        centre = Geometry(Point(LON + float(x) / PER_X, LAT + float(y) / PER_Y))
        filter_ = c.And(
            (
                c.Compare(c.Ref("&", kind), same, c.Constant(f"k{i % 7}")),
                c.Within(c.Ref("&", "location"), float(radius), centre),
                c.Compare(c.Ref("&", "price"), below, c.Constant(i % 101)),
            )
        )
        kernel.apply(ops.Subscribe(0, Subscription(f"s{i}", "desk", filter=filter_)))
    return kernel


def reading_kernel(sources: int, subscribers: int) -> tuple[Kernel, list[tuple[int, float]]]:
    """Sources in rooms, and subscriptions each bound to that of one room; of each also the room and the least value."""
    kernel, heard = Kernel(), []
    kernel.apply(_defined("SPACE light (room text)"))
    for i in range(sources):
        light = parse_publication(f"PUBLISH light AS light (room = 'room{i}')")
        kernel.apply(ops.Publish(0, replace(light, owner=f"source{i}")))
    for i in range(subscribers):
        room, least = i % sources, float(i % 97)
        heard.append((room, least))
        _watch(kernel, f"SELECT FROM light WHERE &room = 'room{room}' ON @ > {least}", owner=f"subscriber{i}")
    return kernel, heard


# ---- a city ----------------------------------------------------------------------------------------------


def city_zones(generated: int) -> list[Layer]:
    """Neighbourhoods and zip codes of San Francisco if they are there, else stars."""
    files = {"neighbourhoods": "sf_neighborhoods.geojson", "zipcodes": "sf_zipcodes.geojson"}
    if (CITY / "places_sf").is_dir():
        with repairs():
            return [
                layer_from_geojson(name, json.loads((CITY / "places_sf" / file).read_text(encoding="utf-8")))
                for name, file in files.items()
            ]
    dice = np.random.default_rng(generated)
    stars = [LayerRegion(f"star{i}", Geometry(polygon([[_star(dice)]]))) for i in range(generated)]
    return [Layer("stars", tuple(stars))]


def _star(dice: np.random.Generator, corners: int = 200) -> list[tuple[float, float]]:
    angle = np.sort(dice.uniform(0, 2 * math.pi, corners))
    away = dice.uniform(500, 1500, corners)
    x, y = dice.uniform(0, 20_000, 2)
    return list(zip(LON + (x + away * np.cos(angle)) / PER_X, LAT + (y + away * np.sin(angle)) / PER_Y, strict=True))


def city_fixes(size: int) -> tuple[list[str], Iterator[Batch]] | None:
    """Cabs of San Francisco, and batches of what they sent, if they are there."""
    files = sorted((CITY / "sf_cabs").glob("*.parquet"))
    if not files:
        return None
    source = pq.ParquetFile(files[0])
    names = sorted(set(source.read(columns=["cab"])["cab"].to_pylist()))
    return names, _cab_batches(source, {name: row for row, name in enumerate(names)}, size)


def _cab_batches(source: pq.ParquetFile, rows: dict[str, int], size: int) -> Iterator[Batch]:
    x, y = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    for part in source.iter_batches(size, columns=["cab", "ts", "lon", "lat"]):
        who = np.array([rows[name] for name in part["cab"].to_pylist()])
        position = np.full((len(who), 5), np.nan)
        position[:, 0], position[:, 1] = part["lon"].to_numpy(), part["lat"].to_numpy()
        old_x, old_y = np.empty(len(who)), np.empty(len(who))
        for i, row in enumerate(who):
            old_x[i], old_y[i] = x[row], y[row]
            x[row], y[row] = position[i, 0], position[i, 1]
        yield Batch(who, part["ts"].to_numpy() * SECOND, position, position[:, 0], position[:, 1], old_x, old_y)
