"""Rewrite rules: whatever way a statement was put, one canonical form.

Each rule is a function from a subscription to an equivalent one, applied in the order of `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from nearcast.errors import ModelError
from nearcast.language.format import condition_text, shape_of
from nearcast.model import condition as c
from nearcast.model.constraint import Interval, Values
from nearcast.model.region import Region
from nearcast.model.shape import Geometry
from nearcast.model.statement import FromLayer, FromSpaces, Nearest, Publication, RelationDefinition, Subscription

__all__ = ["RULES", "NearestHere", "normalize", "simplify"]


@dataclass(frozen=True, slots=True)
class NearestHere:
    """LACL's ``&location in nearest``, which is not a condition but a way to choose."""

    count: int


def normalize(statement: Any) -> Any:
    if isinstance(statement, Subscription):
        for rule in RULES:
            statement = rule(statement)
        return statement
    if isinstance(statement, Publication):
        return replace(statement, filter=simplify(statement.filter), regions=ordered(statement.regions))
    if isinstance(statement, RelationDefinition):
        return replace(statement, filter=simplify(statement.filter), permit=simplify(statement.permit))
    return statement


def lift_nearest(s: Subscription) -> Subscription:
    """``WHERE … AND &location IN NEAREST`` is ``WHERE … NEAREST 1``."""
    top = _conjuncts(s.filter)
    found = [item for item in top if isinstance(item, NearestHere)]
    inner = sum(isinstance(node, NearestHere) for node in _everything(s.filter, s.life, s.on))
    if inner > len(found) or len(found) > 1 or (found and s.nearest):
        raise ModelError("NEAREST chooses among all that match, so it is given once, and not under NOT or OR")
    if not found:
        return s
    rest = tuple(item for item in top if not isinstance(item, NearestHere))
    return replace(s, filter=c.And(rest), nearest=Nearest(cast(NearestHere, found[0]).count))


def watch_own_layer(s: Subscription) -> Subscription:
    """``WHERE #location IN LAYER zones`` selects from the layer; beside conditions on ``&`` it asks for any region."""
    own = [item for item in _conjuncts(s.filter) if _spans(item) and cast(c.Inside, item).left == _HERE]
    if not own or not isinstance(s.source, FromSpaces) or s.source.names:
        return _ask_for_any(s, own)
    if len(own) > 1 or any(isinstance(n, c.Ref) and n.side == "&" for n in _everything(s.filter, s.on)):
        return _ask_for_any(s, own)
    watched = cast(c.Inside, own[0])
    layer = cast(c.InLayer, watched.right)
    items = [replace(watched, right=_THERE), rename_side(layer.where, "", "&")]
    rest = [item for item in _conjuncts(s.filter) if item is not watched]
    return replace(s, source=FromLayer(layer.layer), filter=c.And((*items, *rest)))


def _ask_for_any(s: Subscription, own: list[c.Condition]) -> Subscription:
    def asked(item: c.Condition) -> c.Condition:
        if item not in own:
            return item
        watched = cast(c.Inside, item)
        return replace(watched, right=replace(cast(c.InLayer, watched.right), any=True))

    return replace(s, filter=c.And(tuple(asked(item) for item in _conjuncts(s.filter)))) if own else s


def simplify_conditions(s: Subscription) -> Subscription:
    """Flat AND and OR in a fixed order, no double negation, the publisher's side on the left."""
    on = s.on if s.on is None else simplify(s.on)
    return replace(s, filter=simplify(s.filter), life=simplify(s.life), on=on)


def order_regions(s: Subscription) -> Subscription:
    """Locations first, as they are written back."""
    regions = ordered(s.regions)
    return s if regions == s.regions else replace(s, regions=regions)


RULES: tuple[Callable[[Subscription], Subscription], ...] = (
    lift_nearest,
    watch_own_layer,
    simplify_conditions,
    order_regions,
)

_THERE, _HERE = c.Ref("&", "location"), c.Ref("#", "location")
_MIRRORED = {"<": ">", "<=": ">=", "=": "=", "!=": "!=", ">=": "<=", ">": "<"}
_CONVERSE = {
    c.Relation.CONTAINS: c.Relation.ENCLOSED,
    c.Relation.ENCLOSED: c.Relation.CONTAINS,
    c.Relation.OVERLAPS: c.Relation.OVERLAPS,
}
_RANK = {"&": 0, "#": 1, "@": 2, "": 3}


def simplify(node: c.Condition) -> c.Condition:
    match node:
        case c.And() | c.Or():
            return _joined(type(node), [simplify(item) for item in node.items])
        case c.Not(item):
            inner = simplify(item)
            return inner.item if isinstance(inner, c.Not) else c.Not(inner)
        case c.Compare(left, op, right) if _rank(right) < _rank(left):
            return c.Compare(_tidy(right), cast(Any, _MIRRORED[op]), _tidy(left))
        case c.Relate():
            return _relate(node)
        case c.Within(left, _, right) if isinstance(right, (c.Ref, c.AnyOf)) and _rank(right) < _rank(left):
            return cast(c.Condition, _tidy(replace(node, left=right, right=left)))
    return cast(c.Condition, _tidy(node))


def rename_side(node: Any, old: c.Side, new: c.Side) -> Any:
    """The same condition about another side."""
    return _mapped(node, lambda n: replace(n, side=new) if isinstance(n, c.Ref) and n.side == old else n)


def ordered(regions: tuple[Region, ...]) -> tuple[Region, ...]:
    return tuple(sorted(regions, key=lambda r: not (r.location or r.place)))


def _joined(kind: type[c.And | c.Or], items: list[c.Condition]) -> c.Condition:
    flat: list[c.Condition] = []
    for item in items:
        flat.extend(item.items if isinstance(item, kind) else (item,))
    if kind is c.Or and c.ALWAYS in flat:
        return c.ALWAYS
    distinct = {_order(item): item for item in flat if item != c.ALWAYS}
    kept = tuple(distinct[key] for key in sorted(distinct))
    if len(kept) == 1:
        return kept[0]
    return kind(kept) if kept else c.ALWAYS


def _order(item: c.Condition) -> tuple[str, str]:
    """By shape and then by text, so that an edit of constants keeps the order of the parts."""
    return shape_of(item).text, condition_text(item)


def _relate(node: c.Relate) -> c.Condition:
    """A location enclosed by another is inside it; between sides, the publisher's comes first.

    A property of an item stays on the left, the only side where it can be written.
    """
    left, relation, right = node.left, node.relation, node.right
    if left.name == "location":
        if relation is c.Relation.ENCLOSED and isinstance(right, (c.Ref, Geometry)):
            return c.Inside(left, right)
        if relation is c.Relation.CONTAINS and isinstance(right, c.Ref):
            return c.Inside(right, left)
    if isinstance(right, c.Ref) and left.side and _rank(right) < _rank(left):
        return c.Relate(right, _CONVERSE[relation], left)
    return node


def _tidy(node: Any) -> Any:
    """Simplify the conditions inside brackets and time functions."""
    if isinstance(node, (c.InLayer, c.AnyOf)):
        return replace(node, where=simplify(node.where))
    if isinstance(node, (c.Entered, c.Left, c.MeanStay)):
        return replace(node, relation=cast(c.Spatial, simplify(node.relation)))
    if isinstance(node, c.Sum):
        return c.Sum(tuple((sign, _tidy(term)) for sign, term in node.terms))
    if isinstance(node, (c.Compare, c.Within, c.Inside, c.Crosses)):
        return replace(node, left=_tidy(node.left), right=_tidy(node.right))
    return node


def _rank(node: Any) -> int:
    """Which side of a comparison something belongs on: &, #, @, items, then anything else."""
    if isinstance(node, c.Ref):
        return _RANK[node.side]
    return 5 if isinstance(node, (c.Constant, c.Duration, c.Instant)) else 4


def _conjuncts(node: c.Condition) -> tuple[c.Condition, ...]:
    if isinstance(node, c.And):
        return tuple(part for item in node.items for part in _conjuncts(item))
    return (node,)


def _spans(node: c.Condition) -> bool:
    return isinstance(node, (c.Inside, c.Crosses)) and isinstance(node.right, c.InLayer) and not node.right.any


def _everything(*nodes: Any) -> Any:
    return c.walk(nodes)


def _mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(node, tuple):
        return tuple(_mapped(item, change) for item in node)
    if is_dataclass(node) and not isinstance(node, (type, Geometry, Interval, Values)):
        inner = {f.name: _mapped(getattr(node, f.name), change) for f in fields(node)}
        return change(replace(node, **inner))
    return change(node)
