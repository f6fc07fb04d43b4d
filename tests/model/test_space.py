from __future__ import annotations

import pytest

from nearcast.errors import ModelError, UnknownName
from nearcast.model.constraint import EVERYTHING, Constraint, Interval, Values
from nearcast.model.space import (
    BOOLEAN,
    INTEGER,
    LOCATION,
    PERCENTAGE,
    REAL,
    TEXT,
    Base,
    Containment,
    Dimension,
    Metric,
    SubjectSpace,
    Type,
    enumeration,
    relation,
)  # fmt: skip

COLOURS = enumeration("red", "green")


@pytest.mark.parametrize(
    ("kind", "admitted", "refused"),
    [
        (REAL, [1, 1.5, -2], [True, "1"]),
        (INTEGER, [1, -3, 2.0], [1.5, True, "1"]),
        (TEXT, ["", "a"], [1, False]),
        (BOOLEAN, [True, False], [0, 1, "true"]),
        (PERCENTAGE, [0, 100, 99.9], [-0.1, 100.1, True]),
        (COLOURS, ["red"], ["blue", "Red", 1]),
        (Type(Base.INTEGER, Values((1, 2, 3))), [1, 3.0], [4, 2.5]),
    ],
)
def test_a_type_admits_its_values(kind: Type, admitted: list[float | str], refused: list[float | str]) -> None:
    assert all(kind.admits(value) for value in admitted)
    assert not any(kind.admits(value) for value in refused)


@pytest.mark.parametrize(
    ("kind", "given", "clipped"),
    [
        (REAL, Interval(1, 2), Interval(1, 2)),
        (REAL, EVERYTHING, EVERYTHING),
        (REAL, Interval("a", "b"), None),
        (REAL, Values((1, "a", True)), Values((1,))),
        (PERCENTAGE, Interval(50, None), Interval(50, 100)),
        (PERCENTAGE, Interval(-5, 50, False, False), Interval(0, 50, True, False)),
        (PERCENTAGE, Interval(101, 200), None),
        (PERCENTAGE, Interval(100, 200), Interval(100, 100)),
        (PERCENTAGE, Interval(100, 200, low_closed=False), None),
        (PERCENTAGE, EVERYTHING, Interval(0, 100)),
        (PERCENTAGE, Values((5, 500)), Values((5,))),
        (INTEGER, Interval(2, 5, False, False), Interval(3, 4)),
        (INTEGER, Interval(2.5, 4.5), Interval(3, 4)),
        (INTEGER, Interval(-2.5, -1.5), Interval(-2, -2)),
        (INTEGER, Interval(2, 3, False, False), None),
        (INTEGER, Interval(2.1, 2.9), None),
        (INTEGER, Interval(None, 4, high_closed=False), Interval(None, 3)),
        (INTEGER, Values((1.5, 2)), Values((2,))),
        (INTEGER, Values((1.5,)), None),
        (TEXT, Interval("a", "b"), Interval("a", "b")),
        (TEXT, Interval(1, 2), None),
        (COLOURS, EVERYTHING, Values(("green", "red"))),
        (COLOURS, Interval("h", None), Values(("red",))),
        (COLOURS, Values(("blue",)), None),
        (BOOLEAN, EVERYTHING, Values((False, True))),
        (BOOLEAN, Values((True, 1)), Values((True,))),
        (BOOLEAN, Interval(0, 1), None),
    ],
)
def test_what_a_type_leaves_of_a_constraint(kind: Type, given: Constraint, clipped: Constraint | None) -> None:
    assert kind.clip(given) == clipped


def test_a_type_without_values_is_refused() -> None:
    for base, within in (
        (Base.INTEGER, Interval(1.2, 1.8)),
        (Base.REAL, Values(("a",))),
        (Base.BOOLEAN, Interval(0, 1)),
    ):
        with pytest.raises(ModelError, match="no "):
            Type(base, within)


def test_the_domain_is_all_values() -> None:
    assert PERCENTAGE.domain == Interval(0, 100)
    assert BOOLEAN.domain == Values((True, False))
    assert Type(Base.INTEGER, Interval(0, 10, False, False)).domain == Interval(1, 9)


def space(name: str, **dimensions: Type) -> SubjectSpace:
    return SubjectSpace(name, tuple(Dimension(n, t) for n, t in dimensions.items()))


def test_the_four_answers_to_how_spaces_relate() -> None:
    small, large = space("a", x=REAL, y=REAL), space("b", x=REAL, y=REAL, z=REAL)
    assert relation(large, small) is Containment.CONTAINS
    assert relation(small, large) is Containment.CONTAINED
    assert relation(small, space("c", y=REAL, q=TEXT)) is Containment.PARTIAL
    assert relation(small, space("d", p=TEXT)) is Containment.UNRELATED
    assert relation(small, space("e", y=REAL, x=REAL)) is Containment.CONTAINS


def test_dimensions_are_shared_by_name_and_type() -> None:
    assert relation(space("a", x=REAL), space("b", x=TEXT)) is Containment.UNRELATED
    assert relation(space("a", x=REAL), space("b", x=PERCENTAGE)) is Containment.UNRELATED


def test_the_order_of_dimensions_is_no_difference() -> None:
    assert space("a", x=REAL, y=TEXT) == space("a", y=TEXT, x=REAL)


def test_spaces_that_are_refused() -> None:
    x = Dimension("x", REAL)
    with pytest.raises(ModelError, match="at least one dimension"):
        SubjectSpace("empty", ())
    with pytest.raises(ModelError, match="'x' twice"):
        SubjectSpace("twice", (x, Dimension("x", TEXT)))
    with pytest.raises(ModelError, match="x and y"):
        SubjectSpace("flat", (x,), Metric.PLANAR)
    with pytest.raises(ModelError, match="not numeric"):
        SubjectSpace("words", (x, Dimension("w", TEXT)), measured=("w",))
    with pytest.raises(UnknownName, match="did you mean 'price'"):
        SubjectSpace("gas", (Dimension("price", REAL),), measured=("prise",))


def test_location_is_on_the_earth() -> None:
    assert LOCATION.metric is Metric.EARTH
    assert LOCATION.names == {"x", "y", "z"}
