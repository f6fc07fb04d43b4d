"""Checking a file of statements: each by itself, and against the spaces and layers that those before it define."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from nearcast.errors import LanguageError, ModelError, NearcastError
from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse_pieces
from nearcast.match import admit
from nearcast.match.world import World
from nearcast.model import op as ops
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.repair import repairs
from nearcast.model.statement import LayerFile, Publication, Removal, Statement, Subscription

__all__ = ["checked_statements", "statement_ops"]

Checked = tuple[int, Statement | NearcastError, list[str]]


def checked_statements(text: str, folder: Path) -> Iterator[Checked]:
    """The line, the statement or its error, and the warnings, of each statement in turn."""
    world, pieces = World(), parse_pieces(text)
    while True:
        with repairs() as repaired:
            found = next(pieces, None)
            if found is None:
                return
            line, result = found
            checked = result if isinstance(result, LanguageError) else _checked(result, world, folder)
        yield line, checked, repaired


def statement_ops(text: str, folder: Path, time: int) -> Iterator[ops.Op]:
    """The ops that make the statements of a file so; the first that is not valid, or has no name, is an error."""
    for line, statement, _ in checked_statements(text, folder):
        if isinstance(statement, NearcastError):
            raise statement if isinstance(statement, LanguageError) else ModelError(f"line {line}: {statement}")
        if isinstance(statement, (Subscription, Publication)) and not (statement.id and statement.owner):
            raise ModelError(f"line {line}: give it a name and an owner: SUBSCRIBE name BY client SELECT …")
        op = (
            read_layer(statement, folder, time)
            if isinstance(statement, LayerFile)
            else statement_to_op(statement, time)
        )
        assert op is not None
        yield op


def read_layer(layer: LayerFile, folder: Path, time: int = 0) -> ops.DefineLayer:
    """The op that defines a layer from its file, which is named relative to the folder of the statement."""
    path = folder / layer.path
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"layer {layer.name!r}: cannot read {layer.path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"layer {layer.name!r}: {layer.path} is not JSON that can be read: {error}") from None
    return ops.DefineLayer(time, layer_from_geojson(layer.name, data))


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
