"""Tables of what is somewhere: that their columns are as they should be, and as compiled loops take them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from nearcast.errors import PipelineError
from nearcast.match.globe import to_space
from nearcast.model.schema import MOVES

__all__ = ["FIXES", "Batches", "Reals", "Wholes", "in_space", "reals", "require"]

Batches = Iterator[pa.RecordBatch]
Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]

FIXES = from_arrow_schema(MOVES)
"""The columns of fixes, as Spark calls their types."""


def require(frame: DataFrame, *names: str) -> None:
    """That these columns are there, and that those which have a meaning have its type."""
    types = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    for name in names:
        if name not in types:
            raise PipelineError(f"there is no column {name!r}, only {', '.join(types)}")
    for field in FIXES:
        wanted = field.dataType.simpleString()
        if types.get(field.name, wanted) != wanted:
            raise PipelineError(f"the column {field.name!r} has {types[field.name]}, and not {wanted}; cast it first")


def reals(batch: pa.RecordBatch, name: str) -> Reals:
    """A column of numbers; what is missing is not one."""
    if name not in batch.schema.names:
        return np.full(len(batch), np.nan)
    return np.array(batch.column(name).fill_null(np.nan))


def in_space(x: Reals, y: Reals) -> tuple[Reals, Reals, Reals]:
    """Coordinates as compiled loops take them, and the points in space that they are."""
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    space = np.empty((len(x), 3))
    to_space(x, y, True, space)
    return x, y, space
