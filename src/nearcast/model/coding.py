"""Values of the model ⇄ JSON, exactly as they are.

The language says the same in canonical form, and takes ten times as long to read. State that goes on elsewhere needs
every part back as it was: also the order of a program's own statements, and conditions that are in none any more.
"""

from __future__ import annotations

import json
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any

from nearcast.errors import ModelError
from nearcast.model import condition as c
from nearcast.model.constraint import Interval, Values
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.place import Place, PlaceName
from nearcast.model.region import Region
from nearcast.model.shape import Box, Disc, Geometry, Point, Polygon
from nearcast.model.space import Base, Dimension, Metric, SubjectSpace, Type
from nearcast.model.statement import (
    Choice,
    FromLayer,
    FromRelation,
    FromSpaces,
    Nearest,
    Options,
    Pick,
    Publication,
    RelationDefinition,
    Subscription,
)

__all__ = ["decode", "encode"]

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        c.Always, c.And, c.AnyOf, c.Compare, c.Constant, c.Crosses, c.Duration, c.During, c.Entered, c.InLayer,
        c.Inside, c.Instant, c.Left, c.MeanStay, c.Not, c.Now, c.Or, c.Ref, c.Relate, c.Relation, c.Sum, c.Within,
        Base, Box, Choice, Dimension, Disc, FromLayer, FromRelation, FromSpaces, Geometry, Interval, Layer, LayerRegion,
        Metric, Nearest, Options, Pick, Place, PlaceName, Point, Polygon, Publication, Region, RelationDefinition,
        SubjectSpace, Subscription, Type, Values,
    )
}  # fmt: skip
_KIND = "is"


def encode(value: Any, **instead: Any) -> str:
    """A value of the model, or a tuple of them, as JSON; with some of its own fields otherwise, if they are given.

    A field that has its default is left out.
    """
    return _encoder.encode({**_named(value), **instead} if instead else value)


def decode(text: str) -> Any:
    """The value that was encoded. Anything else raises `ModelError`."""
    try:
        return _tuples(_decoder.decode(text))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"not a value of the model: {error!r:.80}") from None


def _named(value: Any) -> dict[str, Any]:
    kind = type(value).__name__
    if kind not in _KINDS:
        raise ModelError(f"{kind} is not a value of the model")
    held: dict[str, Any] = {_KIND: kind}
    for name, default in _parts(kind):
        part = getattr(value, name)
        if part is not default:
            held[name] = {_KIND: type(part).__name__, "value": part.value} if isinstance(part, Enum) else part
    return held


@cache
def _parts(kind: str) -> list[tuple[str, Any]]:
    return [(f.name, f.default) for f in fields(_KINDS[kind])]


def _made(held: dict[str, Any]) -> Any:
    kind = _KINDS[held.pop(_KIND)]
    return kind(**{name: _tuples(part) for name, part in held.items()})


def _tuples(part: Any) -> Any:
    """The model has no lists."""
    return tuple(map(_tuples, part)) if isinstance(part, list) else part


_encoder = json.JSONEncoder(default=_named, separators=(",", ":"))
_decoder = json.JSONDecoder(object_hook=_made)
