"""Real traces and the places around them, as ops. They are beside the repository and not in it."""

from __future__ import annotations

import csv
import gzip
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from nearcast.errors import GeometryWarning
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.moment import MICROS
from nearcast.model.shape import Disc, Geometry, Point

__all__ = ["DATA", "RADII", "Row", "bus_rows", "cab_rows", "discs", "moves", "places", "points", "ship_rows"]

DATA = Path(__file__).parents[3] / "shared" / "data"
RADII = (50.0, 80.0, 120.0, 200.0)
"""Metres, of the discs that stand for places without an outline."""


class Row(NamedTuple):
    """A fix; its time is in seconds."""

    time: int
    client: str
    x: float
    y: float


def moves(rows: Iterable[Row], accuracy: float | None = None) -> list[ops.Op]:
    positions = ((row, Position(Point(row.x, row.y), accuracy=accuracy)) for row in rows)
    return [ops.Move(row.time * MICROS, row.client, position) for row, position in positions]


# ---- traces ------------------------------------------------------------------------------------------


def cab_rows(start: str, seconds: int, cabs: int) -> list[Row]:
    """Some of San Francisco's cabs."""
    first = int(datetime.fromisoformat(start).timestamp())
    within = (pc.field("ts") >= first) & (pc.field("ts") < first + seconds)
    table = pq.read_table(DATA / "sf_cabs" / "dev_20080517_20080529.parquet", filters=within).to_pylist()
    return _some([Row(row["ts"], row["cab"], row["lon"], row["lat"]) for row in table], cabs)


def bus_rows(start: str, seconds: int, buses: int) -> list[Row]:
    """Some of Austin's buses, with all that were lost: at (0, 0) for a while."""
    path = DATA / "austin_buses" / "vehicle_positions_9days.csv.gz"
    first = int(datetime.fromisoformat(start).timestamp())
    ts = pc.field("ts")
    table = pacsv.read_csv(path).filter((ts >= first) & (ts < first + seconds)).to_pylist()
    rows = [Row(row["ts"], str(row["vehicle_id"]), row["longitude"], row["latitude"]) for row in table]
    lost = [row for row in rows if row.x == row.y == 0]
    return sorted({*_some(rows, buses), *(row for row in rows if row.client in {other.client for other in lost})})


def ship_rows(count: int) -> list[Row]:
    """Ships around the Suez Canal, in order of time."""
    with (DATA / "suez_evergiven_ais" / "boat-positions.csv").open(encoding="utf-8-sig") as file:
        rows = [
            Row(_seconds(row["ais_pos_timestamp"]), row["ID"], float(row["longitude"]), float(row["latitude"]))
            for row in csv.DictReader(file)
        ]
    return sorted(rows)[:count]


def _some(rows: list[Row], clients: int) -> list[Row]:
    """The rows of so many clients, taken evenly from the order of their names."""
    names = sorted({row.client for row in rows})
    chosen = set(names[:: max(1, len(names) // clients)][:clients])
    return [row for row in rows if row.client in chosen]


def _seconds(text: str) -> int:
    return int(datetime.strptime(text, "%d/%m/%Y %H:%M").replace(tzinfo=UTC).timestamp())


# ---- places ------------------------------------------------------------------------------------------


def places(name: str, path: str) -> Layer:
    """A layer of outlines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeometryWarning)
        return layer_from_geojson(name, json.loads((DATA / path).read_text(encoding="utf-8")))


def discs(name: str, found: Sequence[tuple[float, float]]) -> Layer:
    """A layer of discs around points, of different sizes."""
    shapes = [Disc(x, y, RADII[i % len(RADII)]) for i, (x, y) in enumerate(found)]
    return Layer(name, tuple(LayerRegion(f"{name}{i}", Geometry(shape)) for i, shape in enumerate(shapes)))


def points(path: str) -> list[tuple[float, float]]:
    """The places of a file that have coordinates."""
    return list(_points(DATA / path))


def _points(path: Path) -> Iterator[tuple[float, float]]:
    if path.suffix == ".json":
        for item in json.loads(path.read_text(encoding="utf-8")):
            x, y = next(item[name] for name in ("COORDINATES", "coordinates") if name in item)
            yield x, y
    elif path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig") as file:
            yield from _columns(csv.DictReader(file), "stop_lon", "stop_lat")
    else:
        with path.open(encoding="latin-1") as file:
            yield from _columns(csv.DictReader(file), "longitude", "latitude")


def _columns(rows: Iterable[Mapping[str, str]], x: str, y: str) -> Iterator[tuple[float, float]]:
    for row in rows:
        if row[x] and row[y]:
            yield float(row[x]), float(row[y])
