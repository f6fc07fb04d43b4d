"""The places that things are in, on Spark."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from nearcast.match.crossings import inside
from nearcast.match.regions import Sites
from nearcast.model.metric import EARTH
from nearcast.model.place import Place
from nearcast.model.shape import Geometry
from nearcast.stream.located import Batches, Wholes, in_space, reals, require

__all__ = ["resolve"]


def resolve(located: DataFrame, places: Iterable[Place]) -> DataFrame:
    """The same fixes or stays, or anything with x and y, with the ``place`` that each is in.

    A place that was said stays. Otherwise it is the path of the smallest place that contains the point, at its
    altitude and floor where the place asks for them; of equal ones, the least path. Null if there is none.
    """
    require(located, "x", "y")
    known = [(p.path, p.geometry) for p in places if p.geometry]
    known.sort(key=lambda place: (EARTH.size(place[1].shape), place[0]))
    held = located.sparkSession.sparkContext.broadcast(known)
    others = [field for field in located.schema.fields if field.name != "place"]
    order = located.columns if "place" in located.columns else [*located.columns, "place"]
    found = located.mapInArrow(partial(_resolved, held), StructType([*others, StructField("place", StringType())]))
    return found.select(*order)


def _resolved(held: Broadcast[list[tuple[str, Geometry]]], batches: Batches) -> Batches:
    sites = Sites(EARTH, True)
    sites.put(range(len(held.value)), [geometry for _, geometry in held.value])
    paths = pa.array([*(path for path, _ in held.value), None], pa.string())
    for batch in batches:
        place = paths.take(pa.array(_smallest(sites, batch)))
        if "place" in batch.schema.names:
            place = pc.coalesce(batch.column("place"), place)
            batch = batch.drop_columns(["place"])  # noqa: PLW2901
        yield batch.append_column("place", place)


def _smallest(sites: Sites, batch: pa.RecordBatch) -> Wholes:
    """The least row of the sites that hold each point; how many sites there are, if none does."""
    x, y, altitude, floor = (reals(batch, name) for name in ("x", "y", "altitude", "floor"))
    x[~((np.abs(x) <= 180) & (np.abs(y) <= 90))] = np.nan
    x, y, space = in_space(x, y)
    point, row = inside(sites, np.column_stack((x, y, space, altitude, floor)))
    least = np.full(len(batch), len(sites), np.int64)
    np.minimum.at(least, point, row)
    return least
