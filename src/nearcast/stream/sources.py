"""Files of fixes: Parquet with its types, all else as text, a column each.

Files need not have the same columns, nor in the same order: columns are known by their names. CSV is read by Spark. All
else is read by the task that also decodes it, which gets only the names of files and what part of them is its own: rows
of Parquet then need not be made into rows of Spark and back, which takes twice as long as matching them; and a line of
JSON that cannot be read is kept as it is.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructType

from nearcast.errors import PipelineError
from nearcast.match.question import BUILT_IN
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.stream.decode import CORRUPT, NAMES, ORIGINAL, Bad, FixDecoder, fix_columns
from nearcast.stream.lines import PARTS, files_of, parts_of, read_part

__all__ = ["FILES", "FixReader", "attributes_asked", "decoder_of", "read_fixes", "watch_fixes"]

Batches = Iterator[pa.RecordBatch]
Header = tuple[str, ...]
"""The columns of a file."""
TEXTS = (".jsonl", ".ndjson", ".json", ".geojson")
AT_ONCE = 20_000
"""Lines that are read into one batch."""
ROWS = 2**17
"""Rows of Parquet that are."""
PART = 250_000
"""Rows of Parquet that a task should have, or more: a group of rows is not divided."""
_NO_ATTRIBUTES = BUILT_IN | {"location", "*"}
FILES = "path string, modificationTime timestamp, length long, content binary"
"""As Spark names what it knows of whole files."""
_SCHEME = re.compile(r"^file:(?://)?(?=/)")
"""What Spark writes before the name of a file."""
_PATTERN = re.compile(r"([\[\]{}*?\\])")
"""What Spark takes for a pattern in the name of a file."""


@dataclass(frozen=True, slots=True)
class FixReader:
    """How a task gets fixes from what Spark gives it: rows, or parts of files that it reads by itself."""

    decoder: FixDecoder
    read: Callable[[Batches], Batches] | None = None

    def on(self, earth: bool) -> FixReader:
        """The same for coordinates on the earth, or on a plane."""
        return replace(self, decoder=self.decoder.on(earth))

    def __call__(self, batches: Batches) -> Iterator[tuple[pa.RecordBatch, list[Bad]]]:
        """The fixes of each batch, and the rows that are none."""
        return map(self.decoder, self.read(batches) if self.read else batches)


def read_fixes(
    spark: SparkSession, paths: Sequence[str], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixReader]:
    """A table of what the files hold or where it is, and how to read fixes from it. All must be of one kind."""
    files = files_of(paths, (".parquet", ".csv", *TEXTS))
    kinds = {path.suffix.lower() for path in files}
    if len(kinds) > 1 and kinds - {".json", ".jsonl", ".ndjson"}:
        raise PipelineError(f"fixes come from files of one kind, not of {', '.join(sorted(kinds))} at once")
    read = {".parquet": _parquet, ".csv": _csv}.get(min(kinds), _objects)
    return read(spark, files, renamed, asked)


def watch_fixes(
    spark: SparkSession, folder: Path, most: int, renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixReader]:
    """The same of files of Parquet that appear in a folder, in micro-batches of so many. Those that are there already
    say what columns there are."""
    _, reader = _parquet_reader(files_of([str(folder)], (".parquet",)), renamed, asked)
    files = spark.readStream.schema(FILES).format("binaryFile").option("pathGlobFilter", "*.parquet")
    found = files.option("maxFilesPerTrigger", most).load(str(folder))
    return found.select("path", f.lit(0).alias("start"), f.lit(2**31 - 1).alias("stop")), reader


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


# ---- Parquet ---------------------------------------------------------------------------------------------


def _parquet(
    spark: SparkSession, files: Sequence[Path], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixReader]:
    parts, reader = _parquet_reader(files, renamed, asked)
    return _spread(spark, parts), reader


def _parquet_reader(
    files: Sequence[Path], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[list[tuple[str, int, int]], FixReader]:
    """The parts of files, and how to read them."""
    parts: list[tuple[str, int, int]] = []
    schemas: dict[pa.Schema, None] = {}
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                schemas[file.schema_arrow.remove_metadata()] = None
                parts += _groups(path, file.metadata)
        except pa.ArrowException as error:
            raise PipelineError(f"{path} is not Parquet that can be read: {error}") from None
    decoder = _decoder([tuple(schema.names) for schema in schemas], files[0], renamed, asked)
    wanted = dict.fromkeys([*decoder.columns.values(), *(name for name, _ in decoder.attributes)])
    for schema in schemas:
        for name in wanted:
            _check_column(name, [schema.field(i).type for i in schema.get_all_field_indices(name)])
    return parts, FixReader(decoder, partial(_parquet_rows, tuple(wanted)))


def _check_column(name: str, types: Sequence[pa.DataType]) -> None:
    if len(types) > 1:
        raise PipelineError(f"the fixes have {len(types)} columns {name!r}")
    if types and pa.types.is_nested(types[0]):
        raise PipelineError(f"column {name!r} of the fixes has {types[0]}, and not one value a row")


def _groups(path: Path, file: pq.FileMetaData) -> Iterator[tuple[str, int, int]]:
    """The groups of rows of a file, so many together that a task is worth its while."""
    first, rows = 0, 0
    for group in range(file.num_row_groups):
        rows += file.row_group(group).num_rows
        if rows >= PART or group == file.num_row_groups - 1:
            yield str(path), first, group + 1
            first, rows = group + 1, 0


def _parquet_rows(wanted: Sequence[str], batches: Batches) -> Batches:
    """The wanted columns of parts, empty where a file has none."""
    for path, start, stop in _parts(batches):
        try:
            with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
                there = [name for name in wanted if name in file.schema_arrow.names]
                groups = list(range(start, min(stop, file.num_row_groups)))
                for batch in file.iter_batches(ROWS, groups, there, use_threads=False):
                    found = [batch[name] if name in there else pa.nulls(len(batch)) for name in wanted]
                    yield pa.RecordBatch.from_arrays(found, names=list(wanted))
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split())
            raise PipelineError(f"{path} cannot be read: {reason}") from None


# ---- CSV -------------------------------------------------------------------------------------------------


def _csv(
    spark: SparkSession, files: Sequence[Path], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixReader]:
    """Files of one header are read at once."""
    headers: dict[Header, list[str]] = {}
    of_use = {*asked, *(renamed.get(name, name) for name in NAMES)}
    for path in files:
        if header := _csv_header(path, of_use):
            headers.setdefault(header, []).append("file://" + _PATTERN.sub(r"\\\1", str(path)))
    decoder = _decoder(list(headers), files[0], renamed, asked)
    tables = [_csv_table(spark, header, names) for header, names in headers.items()]
    found = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), tables)
    columns = {name: _plain(theirs) for name, theirs in decoder.columns.items()}
    return found.toDF(*map(_plain, found.columns)), FixReader(replace(decoder, columns=columns))


def _decoder(
    headers: Sequence[Header], path: Path, renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> FixDecoder:
    """For files with different columns, each of which has those that are needed."""
    if not any(headers):
        raise PipelineError(f"{path} has no columns")
    for header in headers:
        fix_columns(header, renamed)
    return decoder_of(list(dict.fromkeys(chain.from_iterable(headers))), renamed, asked)


def _csv_header(path: Path, wanted: Collection[str]) -> Header:
    """The names of the first line that has any. Of those that Spark does not tell apart, one that is wanted keeps its
    name, and the others are numbered."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        names = [name.strip() for name in next((row for row in csv.reader(file) if row), [])]
    alike = Counter(name.lower() for name in names)
    kept = {name for name in names if name and (alike[name.lower()] == 1 or name in wanted)}
    unlike = [name if name in kept and name not in names[:i] else f"{name} {i}" for i, name in enumerate(names)]
    return tuple(unlike)


def _csv_table(spark: SparkSession, header: Header, names: Sequence[str]) -> DataFrame:
    reader = spark.read.option("header", True).option("mode", "PERMISSIVE").option("escape", '"')
    reader = reader.option("ignoreLeadingWhiteSpace", True).option("ignoreTrailingWhiteSpace", True)
    schema = StructType()
    for name in (*header, CORRUPT):
        schema.add(name, StringType())
    return reader.schema(schema).option("columnNameOfCorruptRecord", CORRUPT).csv(list(names))


def _plain(name: str) -> str:
    """A name without what Spark takes for a path into a column when it hands rows to Python."""
    return name.replace(".", "·").replace("`", "'")


# ---- JSON ------------------------------------------------------------------------------------------------


def _objects(
    spark: SparkSession, files: Sequence[Path], renamed: Mapping[str, str], asked: Mapping[str, type | None]
) -> tuple[DataFrame, FixReader]:
    """Any object may have any name, so all that could be of use are looked for in each."""
    are_features = files[0].suffix.lower() == ".geojson"
    read = _features if are_features else _lines
    fix_columns(_names(read, files), renamed)
    columns = {name: renamed.get(name, name) for name in NAMES}
    further = [(name, kind) for name, kind in asked.items() if name not in columns.values()]
    wanted = list(dict.fromkeys([*columns.values(), *(name for name, _ in further)]))
    parts = parts_of(files, 2**60) if are_features else parts_of(files)
    return _spread(spark, parts), FixReader(FixDecoder(columns, tuple(further)), partial(_texts, read, wanted))


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
    for part in _parts(batches):
        rows = read(*part)
        while some := list(islice(rows, AT_ONCE)):
            columns = [[_text((row or {}).get(name)) for row, _ in some] for name in wanted]
            columns += [[text if row is None else None for row, text in some], [text for _, text in some]]
            yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)


# ---- parts -----------------------------------------------------------------------------------------------


def _spread(spark: SparkSession, parts: Sequence[tuple[str, int, int]]) -> DataFrame:
    """Parts of files, over a few tasks for each core."""
    cores = spark.sparkContext.defaultParallelism
    return spark.createDataFrame(spark.sparkContext.parallelize(parts, min(len(parts), 4 * cores) or 1), PARTS)


def _parts(batches: Batches) -> Iterator[tuple[str, int, int]]:
    for batch in batches:
        for path, *part in zip(*(batch[name].to_pylist() for name in ("path", "start", "stop")), strict=True):
            yield _SCHEME.sub("", path), *part
