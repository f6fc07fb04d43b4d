"""What open publications are like, as columns: an attribute that some shape asks about is a column.

A value is its kind and a number: a number itself, a boolean as 0 or 1, a text as its code. Conditions of one shape
differ only in their constants, so a shape is a list of (column, comparison), and each of its subscriptions a row of
constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from nearcast.match.columns import grown
from nearcast.match.compiled import njit
from nearcast.match.names import Names
from nearcast.match.question import BUILT_IN
from nearcast.model import condition as c
from nearcast.model.constraint import Scalar, Values, kind_of
from nearcast.model.region import Region
from nearcast.model.statement import Publication

__all__ = ["Attributes", "Shapes", "Term", "is_simple", "said_by", "satisfies", "term_of"]

A = TypeVar("A", bound=np.generic)
Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]

MISSING, NUMBER, TEXT, BOOLEAN = 0, 1, 2, 3
_KINDS = {"number": NUMBER, "text": TEXT, "boolean": BOOLEAN}
OPS = ("<", "<=", "=", "!=", ">=", ">")

Term = tuple[str, int, Scalar]
"""An attribute, a comparison by its place in ``OPS``, and the constant."""


class Attributes:
    """Columns by publication."""

    def __init__(self) -> None:
        self.texts = Names()
        self.slots: dict[str, int] = {}
        self.kind = np.zeros((16, 4), np.int8)
        self.number = np.zeros((16, 4))
        self._said: dict[int, dict[str, Scalar]] = {}

    def slot(self, name: str) -> int:
        """The column of an attribute, made and filled when a shape first asks for it."""
        slot = self.slots.get(name)
        if slot is None:
            slot = self.slots[name] = len(self.slots)
            if slot >= self.kind.shape[1]:
                self.kind, self.number = _wider(self.kind, slot), _wider(self.number, slot)
            for row, said in self._said.items():
                self._set(row, slot, said.get(name))
        return slot

    def put(self, row: int, said: dict[str, Scalar]) -> None:
        """What a publication is like."""
        self.kind, self.number = grown(self.kind, row + 1), grown(self.number, row + 1)
        self._said[row] = said
        for name, slot in self.slots.items():
            self._set(row, slot, said.get(name))

    def drop(self, row: int) -> None:
        self._said.pop(row, None)

    def _set(self, row: int, slot: int, value: Scalar | None) -> None:
        self.kind, self.number = grown(self.kind, row + 1), grown(self.number, row + 1)
        self.kind[row, slot], self.number[row, slot] = self.encoded(value)

    def encoded(self, value: Scalar | None) -> tuple[int, float]:
        if value is None:
            return MISSING, 0.0
        kind = _KINDS[kind_of(value)]
        return kind, float(self.texts.code(value) if isinstance(value, str) else value)


def said_by(regions: Sequence[Region], attributes: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The value of every attribute: what the publication says goes before what its client says of itself."""
    said: dict[str, Scalar] = dict(attributes)
    for r in reversed(regions):
        for name, constraint in r.constraints:
            assert isinstance(constraint, Values)
            said[name] = constraint.items[0]
    return said


def is_simple(publication: Publication, attributes: Mapping[str, Scalar]) -> bool:
    """Whether each attribute has one value that a column can hold: no alternatives, no intervals."""
    spaces = [r.space for r in publication.regions]
    if len(set(spaces)) < len(spaces):
        return False
    values: list[Scalar] = list(attributes.values())
    for r in publication.regions:
        for _, constraint in r.constraints:
            if not isinstance(constraint, Values) or len(constraint.items) != 1:
                return False
            values.append(constraint.items[0])
    return all(map(_is_exact, values))


def _is_exact(value: Scalar) -> bool:
    return isinstance(value, str) or float(value) == value


def term_of(condition: c.Condition) -> Term | None:
    """A comparison of a publisher's attribute with a constant, if the condition is one."""
    match condition:
        case c.Compare(left=c.Ref(side="&", name=name, space=None), op=op, right=c.Constant(value=value)):
            if name not in BUILT_IN and name not in ("location", "*") and _is_exact(value):
                return name, OPS.index(op), value
    return None


class Shapes:
    """Statements that differ only in constants, by row of the statement."""

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self._shapes: dict[tuple[tuple[int, int], ...], int] = {}
        self.start = np.zeros(2, np.int64)
        """Where the terms of each shape begin, and where the last one's end."""
        self.slot = np.zeros(0, np.int64)
        self.op = np.zeros(0, np.int64)
        self.shape = np.zeros(16, np.int64)
        self.kind = np.zeros((16, 2), np.int8)
        self.number = np.zeros((16, 2))

    def put(self, row: int, terms: Sequence[Term]) -> None:
        shape = tuple((self.attributes.slot(name), op) for name, op, _ in terms)
        if shape not in self._shapes:
            self._shapes[shape] = len(self._shapes)
            self.slot = np.append(self.slot, [slot for slot, _ in shape]).astype(np.int64)
            self.op = np.append(self.op, [op for _, op in shape]).astype(np.int64)
            starts = [0, *np.cumsum([len(known) for known in self._shapes])]
            self.start = np.array(starts, np.int64)
        self.shape = grown(self.shape, row + 1)
        self.kind, self.number = grown(self.kind, row + 1), grown(self.number, row + 1)
        if len(terms) > self.kind.shape[1]:
            more = len(terms) - self.kind.shape[1]
            self.kind, self.number = _wider(self.kind, more), _wider(self.number, more)
        self.shape[row] = self._shapes[shape]
        for i, (_, _, value) in enumerate(terms):
            self.kind[row, i], self.number[row, i] = self.attributes.encoded(value)


def _wider(columns: npt.NDArray[A], more: int) -> npt.NDArray[A]:
    return np.concatenate([columns, np.zeros((len(columns), more), columns.dtype)], axis=1)


@njit
def satisfies(
    p: int, s: int, start: Wholes, slot: Wholes, op: Wholes, shape: Wholes, constant_kind: Bytes, constant: Reals,
    kind: Bytes, number: Reals, text_order: Wholes,
) -> bool:  # fmt: skip
    """Whether a publication has the attributes that a statement asks for, as `constraint.compare` compares them."""
    first = start[shape[s]]
    for t in range(first, start[shape[s] + 1]):
        a_kind, b_kind = kind[p, slot[t]], constant_kind[s, t - first]
        if a_kind == MISSING:
            return False
        a, b = number[p, slot[t]], constant[s, t - first]
        o = op[t]
        if o in (2, 3):
            if (a_kind == b_kind and a == b) != (o == 2):
                return False
            continue
        if a_kind != b_kind or a_kind == BOOLEAN:
            return False
        below, above = a < b, a > b
        if a_kind == TEXT:
            i, j = text_order[int(a)], text_order[int(b)]
            below, above = i < j, i > j
        if not ((o == 0 and below) or (o == 1 and not above) or (o == 4 and not below) or (o == 5 and above)):
            return False
    return True
