"""The kernel tells what the reference tells, about real traces among thousands of real places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.layer import Layer
from nearcast.model.moment import MICROS
from tests.match.agreement import answers_of, check_in_runs, check_one_by_one
from tests.match.harness import owned_publication, owned_subscription
from tests.match.oracle import Belt, Nearby
from tests.match.traces import DATA, Row, bus_rows, cab_rows, discs, moves, places, points, ship_rows

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the traces are not here")

BATCHES = (1, 500, 7, 60)
"""How many moves are taken at a time."""

ZONES = "SELECT WHERE &location IN LAYER {}"
OWN = "SELECT FROM LAYER {} WHERE #location IN &location"
PAIRS = "SELECT FROM RELATION close"
WITHIN = "SELECT WHERE &location WITHIN {} OF #location"
DESK = "desk"
"""A client that is nowhere and publishes nothing."""


def story(
    rows: Sequence[Row], layers: Sequence[Layer], close: str, asked: Callable[[list[str]], list[tuple[str, str]]]
) -> list[ops.Op]:
    """Everyone publishes, someone asks, and then they move. ``asked`` gives subscriptions as (owner, text)."""
    time = rows[0].time * MICROS
    clients = sorted({row.client for row in rows})
    relation = statement_to_op(parse(f"RELATION close WHERE &location WITHIN {close} OF #location"), time)
    assert relation is not None
    return [
        *(ops.DefineLayer(time, layer) for layer in layers),
        relation,
        *(ops.Publish(time, owned_publication(client, "self", "PUBLISH")) for client in clients),
        *(ops.Subscribe(time, owned_subscription(who, f"s{i}", text)) for i, (who, text) in enumerate(asked(clients))),
        *moves(rows),
    ]


def all_forms(zones: Sequence[str], own: Sequence[str], within: str) -> Callable[[list[str]], list[tuple[str, str]]]:
    def asked(clients: list[str]) -> list[tuple[str, str]]:
        return [
            *((DESK, ZONES.format(layer)) for layer in zones),
            *((client, OWN.format(own[i % len(own)])) for i, client in enumerate(clients[::4])),
            (DESK, PAIRS),
            *((client, WITHIN.format(within)) for client in clients[1::6]),
            (clients[2], "SELECT NEAREST 2"),
        ]

    return asked


def nearest(layer: str) -> Callable[[list[str]], list[tuple[str, str]]]:
    def asked(clients: list[str]) -> list[tuple[str, str]]:
        return [
            *((client, f"SELECT NEAREST {1 + i}") for i, client in enumerate(clients[:3])),
            *((client, f"SELECT FROM LAYER {layer} NEAREST {1 + i}") for i, client in enumerate(clients[3:6])),
            (clients[0], "SELECT nearof(2) WHERE &location WITHIN 1 km OF #location"),
        ]

    return asked


def remembered(zones: str, own: str, within: str) -> Callable[[list[str]], list[tuple[str, str]]]:
    """Subscriptions that have a past: what was true, for how long, and when it was told."""
    options = ("DWELL 1 min", "HYSTERESIS 100 m", "COOLDOWN 10 min", "CONFIDENCE 90 % HYSTERESIS 50 m DWELL 2 min")

    def asked(clients: list[str]) -> list[tuple[str, str]]:
        forms = (ZONES.format(zones), PAIRS)
        return [
            *((DESK, f"{form} {option}") for form in forms for option in options),
            *((client, f"{OWN.format(own)} {options[i % 4]}") for i, client in enumerate(clients[::3])),
            *((client, f"{WITHIN.format(within)} {options[i % 4]}") for i, client in enumerate(clients[1::3])),
        ]

    return asked


def check(log: list[ops.Op], belt: Belt, least: int, in_columns: int = 0) -> None:
    """That the kernel agrees, and that there was something to agree about."""
    expected = answers_of(log, reference=Nearby(belt))
    assert not any(answer.refused for answer in expected.each)
    assert sum(len(answer.told) for answer in expected.each) >= least
    check_one_by_one(expected)
    assert check_in_runs(expected, BATCHES) >= in_columns


# ---- San Francisco -----------------------------------------------------------------------------------

BAY = Belt(36.5, 38.5)


def san_francisco(*names: str) -> list[Layer]:
    made: dict[str, Callable[[], Layer]] = {
        "hoods": lambda: places("hoods", "places_sf/sf_neighborhoods.geojson"),
        "zips": lambda: places("zips", "places_sf/sf_zipcodes.geojson"),
        "food": lambda: discs("food", points("places_sf/sf_restaurants_businesses.csv")),
        "racks": lambda: discs("racks", points("places_sf/sf_bike_parking.json")),
        "bart": lambda: discs("bart", points("places_sf/bart_stations.json")),
    }
    return [made[name]() for name in names]


def test_cabs_among_six_thousand_places() -> None:
    rows = cab_rows("2008-05-23T18:00:00-07:00", 3000, 25)
    layers = san_francisco("hoods", "zips", "food", "racks")
    asked = all_forms(("hoods", "food"), ("racks", "zips", "food"), "500 m")
    check(story(rows, layers, "300 m", asked), BAY, least=5000, in_columns=5000)


def test_the_nearest_cabs_and_stations() -> None:
    rows = cab_rows("2008-05-23T18:00:00-07:00", 900, 20)
    check(story(rows, san_francisco("bart"), "300 m", nearest("bart")), BAY, least=50)


def test_cabs_and_what_is_remembered_of_them() -> None:
    rows = cab_rows("2008-05-23T08:00:00-07:00", 1200, 12)
    layers = san_francisco("hoods", "racks")
    check(story(rows, layers, "300 m", remembered("racks", "hoods", "800 m")), BAY, least=100)


def test_what_is_near_is_all_that_matters() -> None:
    """The oracle that the other tests believe says what the reference says."""
    rows = cab_rows("2008-05-23T18:00:00-07:00", 600, 8)
    layers = san_francisco("hoods", "bart")
    for asked in (all_forms(("hoods", "bart"), ("hoods", "bart"), "2 km"), remembered("hoods", "bart", "2 km")):
        log = story(rows, layers, "1 km", asked)
        assert answers_of(log, reference=Nearby(BAY)) == answers_of(log, reference=Reference())


# ---- Austin, Suez ------------------------------------------------------------------------------------


def test_buses_at_their_stops() -> None:
    rows = bus_rows("2015-03-18T12:00:00+00:00", 7200, 30)
    layers = [
        discs("stops", points("austin_buses/data/stops/stops_20150607_20150822.csv.gz")),
        places("hoods", "places_austin/austin_neighborhoods.geojson"),
    ]
    asked = all_forms(("stops", "hoods"), ("stops", "hoods"), "400 m")
    check(story(rows, layers, "200 m", asked), Belt(29.5, 31.5), least=1000, in_columns=1000)


def test_ships_around_the_canal() -> None:
    rows = ship_rows(1000)
    anchorages = [(row.x, row.y) for row in rows[::10]]
    layers = [discs("berths", anchorages)]
    belt = Belt(29.0, 32.5)
    check(story(rows, layers, "2 km", all_forms(("berths",), ("berths",), "3 km")), belt, 500, 500)
    check(story(rows[:100], layers, "2 km", remembered("berths", "berths", "3 km")), belt, least=100)
