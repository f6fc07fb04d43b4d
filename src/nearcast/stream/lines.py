"""Text files in parts: a task reads the lines that begin in its part, so the order of a log is known from the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from nearcast.errors import NearcastError, PipelineError
from nearcast.language.oplog import decode_op
from nearcast.model import op as ops
from nearcast.model.schema import OPS, TIME
from nearcast.stream.decode import Bad

__all__ = ["PARTS", "files_of", "log_rows", "parts_of", "read_part"]

PARTS = "path string, start long, stop long"
PART = 8 * 2**20
"""Bytes."""


def parts_of(files: Sequence[Path], size: int = PART) -> list[tuple[str, int, int]]:
    """The parts of some files, in order."""
    found = []
    for path in files:
        length = path.stat().st_size
        found += [(str(path), start, min(start + size, length)) for start in range(0, length, size)]
    return found


def read_part(path: str, start: int, stop: int) -> Iterator[bytes]:
    """The lines that begin in a part, the last of them to its end."""
    with Path(path).open("rb") as file:
        if start:
            file.seek(start - 1)
            file.readline()
        while file.tell() < stop and (line := file.readline()):
            yield line


def log_rows(lines: Iterable[bytes]) -> tuple[pa.RecordBatch, list[Bad], list[bytes]]:
    """Lines of an op log as rows of `schema.OPS`, those that are none, and those that a plan has to know."""
    columns: dict[str, list[object]] = {name: [] for name in OPS.names}
    bad: list[Bad] = []
    telling: list[bytes] = []
    for line in lines:
        if not line.strip():
            continue
        try:
            op = decode_op(line.removeprefix(b"\xef\xbb\xbf"))
        except NearcastError as error:
            bad.append((line.decode("utf-8", "replace").rstrip("\n"), str(error)))
            continue
        _add(columns, op, line)
        if isinstance(op, (ops.Subscribe, ops.Publish, ops.DefineSpace, ops.DefineRelation)):
            telling.append(line)
    arrays = [_array(columns[field.name], field) for field in OPS]
    return pa.RecordBatch.from_arrays(arrays, schema=OPS), bad, telling


def _add(columns: dict[str, list[object]], op: ops.Op, line: bytes) -> None:
    row: dict[str, object] = {"time": op.time, "client": op.client if isinstance(op, ops.ClientOp) else None}
    if isinstance(op, ops.Move):
        at = op.position
        row |= {"x": at.point.x, "y": at.point.y} if at.point else {}
        row |= {name: getattr(at, name) for name in ("altitude", "floor", "accuracy", "place")}
    else:
        row["line"] = line.decode().rstrip("\r\n")
    for name, column in columns.items():
        column.append(row.get(name))


def _array(values: list[object], field: pa.Field) -> pa.Array:
    return pa.array(values, pa.int64()).view(TIME) if field.type == TIME else pa.array(values, field.type)


def files_of(paths: Sequence[str], kinds: Sequence[str]) -> list[Path]:
    """The files that are named, and those in folders that are; none is an error."""
    found: list[Path] = []
    for name in paths:
        path = Path(name).absolute()  # a worker may be in another folder
        if not path.exists():
            raise PipelineError(f"there is no {name}")
        inside = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith((".", "_")))
        found += inside if path.is_dir() else [path]
    of_kind = [path for path in found if path.suffix.lower() in kinds or "" in kinds]
    if not of_kind:
        raise PipelineError(f"{', '.join(paths)}: there is no file that ends in {', '.join(kinds)}")
    return of_kind
