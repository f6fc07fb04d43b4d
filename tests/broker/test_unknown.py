"""What is said of names that nobody has defined."""

from __future__ import annotations

import pytest

from nearcast.broker.unknown import HINTED, LOOKED_UP, unknown_in
from nearcast.language.parse import parse
from nearcast.match.world import World
from nearcast.model.layer import Layer
from nearcast.model.place import Place
from nearcast.model.statement import Publication, RelationDefinition, Subscription

PLACE = ", so nobody is in it but who says so"
"""A path needs no definition to be compared with a path."""


def world() -> World:
    made = World()
    made.layers = {"stops": Layer("stops", ())}
    made.places = {path: Place(path, level) for path, level in (("hq", "building"), ("hq/2", ""), ("hq/2/A", "room"))}
    return made


def said(text: str, of: World | None = None) -> list[str]:
    statement = parse(text)
    assert isinstance(statement, (Publication, RelationDefinition, Subscription))
    return unknown_in(of or world(), statement)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT WHERE &location IN LAYER stops",
        "SELECT FROM LAYER stops WHERE #location IN &location",
        "SELECT WHERE &location IN PLACE 'hq/2' AND #location IN room A",
        "SELECT AT PLACE hq",
        "PUBLISH AT PLACE hq TO NOT &location IN PLACE 'hq/2/A'",
        "SELECT WHERE &location WITHIN 1 km OF #location",
    ],
)
def test_nothing_is_said_of_what_there_is(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("SELECT WHERE &location IN LAYER stosp", ["there is no layer 'stosp' yet; did you mean 'stops'?"]),
        ("SELECT FROM LAYER shops", ["there is no layer 'shops' yet; did you mean 'stops'?"]),
        ("SELECT WHERE &location WITHIN 1 km OF ANY LAYER x", ["there is no layer 'x' yet"]),
        ("SELECT WHERE &location IN PLACE 'hq/3'", [f"there is no place 'hq/3' yet{PLACE}; did you mean 'hq/2'?"]),
        ("SELECT WHERE &fuel < 3 WHILE #location IN room B", ["there is no room 'B' yet"]),
        ("RELATION r WHERE &location IN LAYER stop", ["there is no layer 'stop' yet; did you mean 'stops'?"]),
        ("SELECT AT PLACE elsewhere", [f"there is no place 'elsewhere' yet{PLACE}"]),
        ("PUBLISH AT PLACE attic TO NOT &location IN PLACE 'home'",
         [f"there is no place 'attic' yet{PLACE}", f"there is no place 'home' yet{PLACE}"]),
        ("SELECT WHERE NOW - ENTERED(#location IN PLACE 'home') > 5 min AND #location IN PLACE 'home'",
         [f"there is no place 'home' yet{PLACE}"]),
    ],
)  # fmt: skip
def test_what_there_is_not_is_named(text: str, warnings: list[str]) -> None:
    assert said(text) == warnings


def test_names_are_looked_up_to_an_end() -> None:
    """A statement has room for a thousand of them, and a name for all of it."""
    places = " OR ".join(f"&location IN PLACE 'p{number}'" for number in range(LOOKED_UP + 5))
    assert len(said(f"SELECT WHERE {places}")) == LOOKED_UP
    (only,) = said(f"SELECT WHERE &location IN PLACE '{'h' * 5000}'")
    assert len(only) < 200
    many = world()
    many.places = {name: Place(name) for name in (f"place {number}" for number in range(2 * HINTED))}
    first, second = said("SELECT WHERE &location IN PLACE 'place x' OR &location IN PLACE 'place y'", many)
    assert first == f"there is no place 'place x' yet{PLACE}; did you mean 'place 9'?"
    assert second == f"there is no place 'place y' yet{PLACE}"
    (only,) = said(f"SELECT WHERE &location IN {'h' * 5000} B")
    assert len(only) < 200
