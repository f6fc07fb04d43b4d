"""Files of fixes as Spark reads them: Parquet with its types, all else as text, a column each.

Files need not have the same columns, nor in the same order: columns are known by their names. Lines of JSON and
features of GeoJSON are read by our own tasks, so that a line that cannot be read is kept as it is.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructType

from nearcast.errors import PipelineError
from nearcast.match.question import BUILT_IN
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.stream.decode import CORRUPT, NAMES, ORIGINAL, FixDecoder, fix_columns
from nearcast.stream.lines import PARTS, files_of, parts_of, read_part

__all__ = ["attributes_asked", "decoder_of", "read_fixes"]

Batches = Iterator[pa.RecordBatch]
Header = tuple[tuple[str, str], ...]
"""The columns of a file, and their types."""
TABLES = (".parquet", ".csv")
TEXTS = (".jsonl", ".ndjson", ".json", ".geojson")
AT_ONCE = 20_000
_NO_ATTRIBUTES = BUILT_IN | {"location", "*"}
_PATTERN = re.compile(r"([\[\]{}*?\\])")
"""What Spark takes for a pattern in the name of a file."""


def read_fixes(
    spark: SparkSession, paths: Sequence[str], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixDecoder]:
    """A table of what the files hold, and how to read fixes from it. All must be of one kind."""
    files = files_of(paths, (*TABLES, *TEXTS))
    kinds = {path.suffix.lower() for path in files}
    if len(kinds) > 1 and kinds - {".json", ".jsonl", ".ndjson"}:
        raise PipelineError(f"fixes come from files of one kind, not of {', '.join(sorted(kinds))} at once")
    read = _tables if kinds <= set(TABLES) else _objects
    return read(spark, files, renamed, asked)


def attributes_asked(definitions: Sequence[ops.Op]) -> dict[str, type | None]:
    """The names that statements ask of a client, and whether they take them for text."""
    asked: dict[str, type | None] = {}
    for op in definitions:
        for node in c.walk(_conditions(op)):
            if isinstance(node, c.Ref) and _is_attribute(node):
                asked.setdefault(node.name, None)
            if isinstance(node, c.Compare):
                for ref, other in ((node.left, node.right), (node.right, node.left)):
                    is_text = isinstance(other, c.Constant) and isinstance(other.value, str)
                    if is_text and isinstance(ref, c.Ref) and _is_attribute(ref):
                        asked[ref.name] = str
    return asked


def _is_attribute(ref: c.Ref) -> bool:
    return ref.side in "&#" and not ref.space and ref.name not in _NO_ATTRIBUTES


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


# ---- tables ----------------------------------------------------------------------------------------------


def _tables(
    spark: SparkSession, files: Sequence[Path], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixDecoder]:
    """Parquet or CSV. Files of one header are read at once."""
    is_parquet = files[0].suffix.lower() == ".parquet"
    headers: dict[Header, list[str]] = {}
    of_use = {*asked, *(renamed.get(name, name) for name in NAMES)}
    for path in files:
        if header := _parquet_header(path) if is_parquet else _csv_header(path, of_use):
            headers.setdefault(header, []).append("file://" + _PATTERN.sub(r"\\\1", str(path)))
    if not headers:
        raise PipelineError(f"{files[0]} has no columns")
    for header in headers:
        fix_columns([name for name, _ in header], renamed)
    decoder = decoder_of(list(dict.fromkeys(name for header in headers for name, _ in header)), renamed, asked)
    wanted = dict.fromkeys([*decoder.columns.values(), *(name for name, _ in decoder.attributes)])
    read = partial(_parquet, spark, wanted) if is_parquet else partial(_csv, spark)
    tables = _alike([read(header, names) for header, names in headers.items()])
    found = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tables)
    columns = {name: _plain(theirs) for name, theirs in decoder.columns.items()}
    return found.toDF(*map(_plain, found.columns)), replace(decoder, columns=columns)


def _parquet_header(path: Path) -> Header:
    try:
        return tuple((field.name, str(field.type)) for field in pq.read_schema(path))
    except pa.ArrowException as error:
        raise PipelineError(f"{path} is not Parquet that can be read: {error}") from None


def _parquet(spark: SparkSession, wanted: Iterable[str], header: Header, names: Sequence[str]) -> DataFrame:
    """Spark knows no nanoseconds, and reads them as numbers."""
    found, types = spark.read.parquet(*names), dict(header)
    read = dict(found.dtypes)
    columns = []
    for name in (name for name in wanted if name in types):
        if read[name].startswith(("array", "map", "struct")):
            raise PipelineError(f"column {name!r} of the fixes has {read[name]}, and not one value a row")
        column = _column(name)
        if types[name].startswith("timestamp") and read[name] == "bigint":
            column = f.timestamp_micros(f.floor(column / f.lit(1000).cast("decimal(20, 0)")).cast("bigint"))
        columns.append(column.alias(name))
    return found.select(*columns)


def _csv_header(path: Path, wanted: Collection[str]) -> Header:
    """The names of the first line that has any. Of those that Spark does not tell apart, one that is wanted keeps its
    name, and the others are numbered."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        names = [name.strip() for name in next((row for row in csv.reader(file) if row), [])]
    alike = Counter(name.lower() for name in names)
    kept = {name for name in names if name and (alike[name.lower()] == 1 or name in wanted)}
    unlike = [name if name in kept and name not in names[:i] else f"{name} {i}" for i, name in enumerate(names)]
    return tuple((name, "string") for name in unlike)


def _csv(spark: SparkSession, header: Header, names: Sequence[str]) -> DataFrame:
    reader = spark.read.option("header", True).option("mode", "PERMISSIVE").option("escape", '"')
    reader = reader.option("ignoreLeadingWhiteSpace", True).option("ignoreTrailingWhiteSpace", True)
    schema = _strings([*(name for name, _ in header), CORRUPT])
    return reader.schema(schema).option("columnNameOfCorruptRecord", CORRUPT).csv(list(names))


def _alike(tables: Sequence[DataFrame]) -> list[DataFrame]:
    """Columns that have another type in another table become text, which is read whatever it was."""
    types: dict[str, set[str]] = {}
    for table in tables:
        for name, kind in table.dtypes:
            types.setdefault(name, set()).add(kind)
    differ = {name for name, kinds in types.items() if len(kinds) > 1}
    return [
        table.select(
            *(_column(name).cast("string" if name in differ else kind).alias(name) for name, kind in table.dtypes)
        )
        for table in tables
    ]


def _plain(name: str) -> str:
    """A name without what Spark takes for a path into a column when it hands rows to Python."""
    return name.replace(".", "·").replace("`", "'")


def _column(name: str) -> Column:
    """By its very name, whatever is in it."""
    return f.col(f"`{name.replace('`', '``')}`")


def _strings(names: Sequence[str]) -> StructType:
    schema = StructType()
    for name in names:
        schema.add(name, StringType())
    return schema


# ---- JSON ------------------------------------------------------------------------------------------------


def _objects(
    spark: SparkSession, files: Sequence[Path], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixDecoder]:
    """Any object may have any name, so all that could be of use are looked for in each."""
    are_features = files[0].suffix.lower() == ".geojson"
    read = _features if are_features else _lines
    fix_columns(_names(read, files), renamed)
    columns = {name: renamed.get(name, name) for name in NAMES}
    further = [(name, kind) for name, kind in asked.items() if name not in columns.values()]
    wanted = list(dict.fromkeys([*columns.values(), *(name for name, _ in further)]))
    parts = spark.createDataFrame(parts_of(files, 2**60) if are_features else parts_of(files), PARTS)
    spread = parts.repartition(spark.sparkContext.defaultParallelism)
    found = spread.mapInArrow(partial(_texts, read, wanted), _strings([*wanted, CORRUPT, ORIGINAL]))
    return found, FixDecoder(columns, tuple(further))


def _names(read: Any, files: Sequence[Path]) -> list[str]:
    """The names in the first objects that there are."""
    rows = chain.from_iterable(read(str(path), 0, path.stat().st_size) for path in files)
    found = dict.fromkeys(name for row, _ in islice(rows, 1000) for name in row or {})
    if not found:
        raise PipelineError(f"{files[0]}: there is no {'feature' if read is _features else 'line of JSON'} to be read")
    return list(found)


Row = tuple[dict[str, Any] | None, str]
"""An object, or None if it is none; and its text."""


def _lines(path: str, start: int, stop: int) -> Iterator[Row]:
    for line in read_part(path, start, stop):
        if text := line.decode("utf-8-sig", "replace").strip():
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                found = None
            yield _row(found, text)


def _features(path: str, start: int, stop: int) -> Iterator[Row]:  # noqa: ARG001  # a file is read as a whole
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise PipelineError(f"{path} is not GeoJSON that can be read: {error}") from None
    features = found.get("features", [found]) if isinstance(found, dict) else found
    for feature in features if isinstance(features, list) else []:
        yield _row(feature, json.dumps(feature))


def _row(found: Any, text: str) -> Row:
    if not isinstance(found, dict):
        return None, text
    if "\\ud" in text.lower():
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half a character, which no column holds
            return None, text
    return _flat(found), text


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """An object by its names; of a feature, its properties, its id as the client, and its coordinates."""
    if row.get("type") != "Feature":
        return row
    geometry, said = (part if isinstance(part := row.get(name), dict) else {} for name in ("geometry", "properties"))
    flat = {"client": row["id"], **said} if "id" in row else dict(said)
    at = geometry.get("coordinates")
    if geometry.get("type") == "Point" and isinstance(at, list):
        flat |= dict(zip(("lon", "lat", "alt"), at, strict=False))
    return flat


def _texts(read: Any, wanted: Sequence[str], batches: Batches) -> Batches:
    """Objects as columns of text."""
    names = [*wanted, CORRUPT, ORIGINAL]
    for batch in batches:
        for part in batch.to_pylist():
            rows = read(part["path"], part["start"], part["stop"])
            while some := list(islice(rows, AT_ONCE)):
                columns = [[_text((row or {}).get(name)) for row, _ in some] for name in wanted]
                columns += [[text if row is None else None for row, text in some], [text for _, text in some]]
                yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
