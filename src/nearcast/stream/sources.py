"""Files of fixes as Spark reads them: Parquet with its types, all else as text, a column each.

Lines of JSON and features of GeoJSON are read by our own tasks, so that a line that cannot be read is kept as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from nearcast.errors import PipelineError
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.stream.decode import CORRUPT, FixDecoder, fix_columns
from nearcast.stream.lines import PARTS, files_of, parts_of, read_part

__all__ = ["attributes_asked", "decoder_of", "read_fixes"]

Batches = Iterator[pa.RecordBatch]
TABLES = (".parquet", ".csv")
TEXTS = (".jsonl", ".ndjson", ".json", ".geojson")
AT_ONCE = 20_000


def read_fixes(
    spark: SparkSession, paths: Sequence[str], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixDecoder]:
    """A table of what the files hold, and how to read fixes from it. All must be of one kind."""
    files = files_of(paths, (*TABLES, *TEXTS))
    kinds = {path.suffix.lower() for path in files}
    if len(kinds) > 1 and kinds - {".json", ".jsonl", ".ndjson"}:
        raise PipelineError(f"fixes come from files of one kind, not of {', '.join(sorted(kinds))} at once")
    kind, names = kinds.pop(), [str(path) for path in files]
    if kind in TABLES:
        found = spark.read.parquet(*names) if kind == ".parquet" else _csv(spark, names)
        decoder = decoder_of([name for name in found.columns if name != CORRUPT], renamed, asked)
        if kind == ".parquet":
            found = found.select(*dict.fromkeys([*decoder.columns.values(), *(name for name, _ in decoder.attributes)]))
        return found, decoder
    columns = _json_columns(files[0], kind)
    decoder = decoder_of(columns, renamed, asked)
    wanted = list(dict.fromkeys([*decoder.columns.values(), *(name for name, _ in decoder.attributes)]))
    schema = ", ".join(f"`{name}` string" for name in (*wanted, CORRUPT))
    size = {} if kind != ".geojson" else {"size": 2**60}
    parts = spark.createDataFrame(parts_of(files, **size), PARTS).repartition(spark.sparkContext.defaultParallelism)
    read = _features if kind == ".geojson" else _lines
    return parts.mapInArrow(partial(_texts, read, wanted), schema), decoder


def attributes_asked(definitions: Sequence[ops.Op]) -> dict[str, type | None]:
    """The names that statements ask of a client, and whether they take them for text."""
    asked: dict[str, type | None] = {}
    for op in definitions:
        for node in c.walk(_conditions(op)):
            if isinstance(node, c.Ref) and node.side in "&#" and not node.space:
                asked.setdefault(node.name, None)
            if isinstance(node, c.Compare):
                for ref, other in ((node.left, node.right), (node.right, node.left)):
                    if isinstance(ref, c.Ref) and isinstance(other, c.Constant) and isinstance(other.value, str):
                        asked[ref.name] = str
    return asked


def _conditions(op: ops.Op) -> tuple[Any, ...]:
    match op:
        case ops.Subscribe(subscription=s):
            return (s.filter, s.life, s.on)
        case ops.Publish(publication=p):
            return (p.filter,)
        case ops.DefineRelation(relation=r):
            return (r.filter, r.permit)
    return ()


def decoder_of(columns: Sequence[str], renamed: Mapping[str, str], asked: Mapping[str, type | None]) -> FixDecoder:
    known = fix_columns(columns, renamed)
    further = [(name, kind) for name, kind in asked.items() if name in columns and name not in known.values()]
    return FixDecoder(known, tuple(further))


def _csv(spark: SparkSession, names: Sequence[str]) -> DataFrame:
    reader = spark.read.option("header", True).option("mode", "PERMISSIVE").option("multiLine", False)
    schema = reader.csv(list(names)).schema.add(CORRUPT, "string")
    return reader.schema(schema).option("columnNameOfCorruptRecord", CORRUPT).csv(list(names))


# ---- JSON ------------------------------------------------------------------------------------------------


def _json_columns(path: Path, kind: str) -> list[str]:
    """The names in the first of a file's objects."""
    found: dict[str, None] = {}
    read = _features if kind == ".geojson" else _lines
    for row, _ in islice(read(str(path), 0, path.stat().st_size), 1000):
        found |= dict.fromkeys(row or {})
    if not found:
        raise PipelineError(
            f"{path}: there is no {'feature' if kind == '.geojson' else 'line of JSON'} that can be read"
        )
    return list(found)


Row = tuple[dict[str, Any] | None, str]
"""An object, or None if it is none; and its text."""


def _lines(path: str, start: int, stop: int) -> Iterator[Row]:
    for line in read_part(path, start, stop):
        if text := line.decode("utf-8-sig", "replace").strip():
            try:
                row = json.loads(text)
            except ValueError:
                row = None
            yield (_flat(row) if isinstance(row, dict) else None), text


def _features(path: str, start: int, stop: int) -> Iterator[Row]:  # noqa: ARG001  # a file is read as a whole
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise PipelineError(f"{path} is not GeoJSON that can be read: {error}") from None
    for feature in found.get("features", [found]) if isinstance(found, dict) else []:
        yield _flat(feature) if isinstance(feature, dict) else None, json.dumps(feature)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """An object by its names; of a feature, its properties, its id as the client, and its coordinates."""
    if row.get("type") != "Feature":
        return row
    geometry, said = row.get("geometry") or {}, dict(row.get("properties") or {})
    if "id" in row:
        said.setdefault("client", row["id"])
    at = geometry.get("coordinates")
    if geometry.get("type") == "Point" and isinstance(at, list):
        said |= dict(zip(("lon", "lat", "alt"), at, strict=False))
    return said


def _texts(read: Any, wanted: Sequence[str], batches: Batches) -> Batches:
    """Objects as columns of text."""
    names = [*wanted, CORRUPT]
    for batch in batches:
        for part in batch.to_pylist():
            rows = read(part["path"], part["start"], part["stop"])
            while some := list(islice(rows, AT_ONCE)):
                columns = [[_text((row or {}).get(name)) for row, _ in some] for name in wanted]
                columns.append([text if row is None else None for row, text in some])
                yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
