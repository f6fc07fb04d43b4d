"""What a job matches: the statements and layers it begins with, and how the work is shared.

The job itself is small and travels with each task. Its definitions may hold a million regions, so they travel once to
each machine, as a file that is named by its content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from nearcast.language.oplog import decode_op, encode_op
from nearcast.match.share import Plan
from nearcast.match.state import layer_of, layer_table
from nearcast.model import op as ops
from nearcast.stream.packets import pack, unpack

__all__ = ["Job", "definitions_of", "distribute"]

_SCHEMA = pa.schema([("line", pa.binary()), ("layer", pa.string()), ("time", pa.int64()), ("regions", pa.binary())])


@dataclass(frozen=True, slots=True)
class Job:
    plan: Plan
    definitions: str
    """The name of the file that has them."""
    lateness: int = 0
    opens: str | None = None
    """The id of the publication that every client has from its first fix on; none if clients publish themselves."""


def distribute(spark: SparkSession, definitions: Iterable[ops.Op], folder: Path) -> str:
    """Write the definitions, and give every machine a copy. Gives the name to ask for."""
    rows = [_row(op) for op in definitions]
    payload = pack(pa.RecordBatch.from_pylist(rows, schema=_SCHEMA))
    path = folder / f"definitions-{hashlib.sha256(payload).hexdigest()[:16]}.arrow"
    path.write_bytes(payload)
    spark.sparkContext.addFile(str(path))
    return path.name


def definitions_of(job: Job) -> list[ops.Op]:
    """The ops that a task of the job begins with."""
    return _read(SparkFiles.get(job.definitions))


@lru_cache(maxsize=4)
def _read(path: str) -> list[ops.Op]:
    rows = [row for batch in unpack([Path(path).read_bytes()]) for row in batch.to_pylist()]
    return [_op(row) for row in rows]


def _row(op: ops.Op) -> dict[str, object]:
    if isinstance(op, ops.DefineLayer) and not op.patch:
        table = layer_table(op.layer)
        (regions,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        return {"layer": op.layer.name, "time": op.time, "regions": pack(regions)}
    return {"line": encode_op(op)}


def _op(row: dict[str, Any]) -> ops.Op:
    if row["line"] is not None:
        return decode_op(row["line"])
    table = pa.Table.from_batches(unpack([row["regions"]]))
    return ops.DefineLayer(int(row["time"]), layer_of(str(row["layer"]), table))
