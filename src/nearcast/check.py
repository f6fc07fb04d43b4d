"""Checking a file of statements: each by itself, and against the spaces and layers that those before it define."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

from nearcast.errors import GeometryWarning, LanguageError, ModelError, NearcastError
from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse_pieces
from nearcast.match import admit
from nearcast.match.world import World
from nearcast.model import op as ops
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.statement import LayerFile, Removal, Statement

__all__ = ["checked_statements", "read_layer"]

Checked = tuple[int, Statement | NearcastError, list[str]]


def checked_statements(text: str, folder: Path) -> Iterator[Checked]:
    """The line, the statement or its error, and the warnings, of each statement in turn."""
    world, pieces = World(), parse_pieces(text)
    while True:
        with warnings.catch_warnings(record=True) as repaired:
            warnings.simplefilter("always", GeometryWarning)
            found = next(pieces, None)
            if found is None:
                return
            line, result = found
            checked = result if isinstance(result, LanguageError) else _checked(result, world, folder)
        yield line, checked, [str(one.message) for one in repaired]


def read_layer(layer: LayerFile, folder: Path) -> ops.DefineLayer:
    """The op that defines a layer from its file, which is named relative to the folder of the statement."""
    path = folder / layer.path
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"layer {layer.name!r}: cannot read {layer.path}: {error.strerror}") from None
    except ValueError as error:
        raise ModelError(f"layer {layer.name!r}: {layer.path} is not JSON: {error}") from None
    return ops.DefineLayer(0, layer_from_geojson(layer.name, data))


def _checked(statement: Statement, world: World, folder: Path) -> Statement | NearcastError:
    """The statement, if the definitions before it allow it; a definition is kept for those after."""
    if isinstance(statement, Removal) and statement.kind in ("publication", "subscription"):
        return statement
    try:
        op = read_layer(statement, folder) if isinstance(statement, LayerFile) else statement_to_op(statement, 0)
        if op is not None:
            admit.check(op, world, {})
            if isinstance(op, ops.SystemOp):
                world.define(op)
    except NearcastError as error:
        return error
    return statement
