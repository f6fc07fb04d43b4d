from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.match.clients import Clients, Times
from nearcast.match.columns import NO_TIME
from nearcast.match.globe import in_space
from nearcast.match.kernel import Kernel
from nearcast.match.world import Client
from nearcast.model import op as ops
from nearcast.model.fix import Fix, Position
from nearcast.model.moment import NEVER
from nearcast.model.shape import Point
from nearcast.model.statement import Publication
from nearcast.testing import WILD

TIMES = st.integers(-(2**62), 2**62)
HEIGHTS = st.one_of(st.none(), st.floats(-1e9, 1e9))
POINTS = st.builds(Point, st.floats(-180, 180), st.floats(-90, 90))
POSITIONS = st.one_of(
    st.builds(Position, POINTS, st.one_of(st.none(), WILD.paths), HEIGHTS, HEIGHTS, st.floats(0, 1e9)),
    st.builds(Position, st.none(), WILD.paths, HEIGHTS, HEIGHTS),
)
FIXES = st.builds(Fix, POSITIONS, TIMES)
CLIENTS = st.builds(
    Client,
    attributes=st.dictionaries(st.sampled_from(["price", "kind"]), WILD.scalars),
    fix=st.one_of(st.none(), FIXES),
    previous=st.one_of(st.none(), st.builds(Fix, st.builds(Position, POINTS), TIMES)),
    lease=st.one_of(st.none(), st.integers(0, 10**15)),
    seen=st.one_of(st.just(NEVER), TIMES),
    lateness=st.one_of(st.none(), st.integers(0, 10**15)),
    held=st.lists(FIXES, max_size=3),
    newest=st.one_of(st.just(NEVER), TIMES),
)
"""Any client. Of the fix before the present one, only the coordinates are kept."""


def same(one: Client, other: Client) -> bool:
    return all(getattr(one, field.name) == getattr(other, field.name) for field in fields(Client))


@given(st.lists(st.tuples(st.sampled_from("abcdef"), CLIENTS), max_size=6))
def test_a_client_reads_back_as_it_was_written(entered: list[tuple[str, Client]]) -> None:
    clients, known = Clients(0), dict[str, Client]()
    for name, client in entered:
        clients[name] = known[name] = client
    assert (set(clients), len(clients)) == (set(known), len(known))
    for name, client in known.items():
        assert same(clients[name], client)
        assert clients[name].ends == client.ends


@given(CLIENTS, CLIENTS)
def test_every_field_can_be_written_by_itself(client: Client, other: Client) -> None:
    clients = Clients(0)
    clients["a"] = client
    for field in fields(Client):
        setattr(clients["a"], field.name, getattr(other, field.name))
        client = replace(client, **{field.name: getattr(other, field.name)})
        assert same(clients["a"], client)


@given(CLIENTS, TIMES, TIMES)
def test_one_that_is_forgotten_leaves_its_clock_and_its_row(client: Client, clock: int, last: int) -> None:
    clients = Clients(0)
    clocks, fixes = Times(clients, "clock"), Times(clients, "last")
    row = clients.row("a")
    clients["a"], clocks["a"], fixes["a"] = client, clock, last
    held = clients.pop("a").held
    assert held == client.held
    assert "a" not in clients
    assert (list(clients), len(clients)) == ([], 0)
    assert (clocks["a"], fixes["a"], clients.row("a")) == (clock, last, row)
    with pytest.raises(KeyError):
        clients["a"]
    with pytest.raises(KeyError):
        del clients["a"]
    assert same(clients.setdefault("a"), Client())
    assert clients.pop("nobody", 7) == 7


def test_a_name_is_no_client() -> None:
    clients = Clients(0)
    assert clients.rows(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert len(clients) == 0
    assert "a" not in clients
    with pytest.raises(KeyError):
        clients["a"]
    assert list(Times(clients, "clock")) == []


def test_times_are_a_mapping() -> None:
    clients = Clients(0)
    clocks = Times(clients, "clock")
    clocks["a"] = 5
    clocks["b"] = 6
    del clocks["a"]
    assert dict(clocks) == {"b": 6}
    assert (len(clocks), clocks.get("a", NEVER), clocks.get("c", NEVER)) == (1, NEVER, NEVER)
    assert clients.columns.clock[clients.row("a")] == NO_TIME


@given(POSITIONS, st.booleans())
def test_a_position_is_also_a_point_of_space(position: Position, earth: bool) -> None:
    clients = Clients(0)
    clients.earth = earth
    clients["a"] = Client(fix=Fix(position, 3))
    c, point = clients.columns, position.point
    in_columns = [float(column[0]) for column in (c.px, c.py, c.pz)]
    if point is None:
        assert all(map(math.isnan, in_columns))
    else:
        assert in_columns == [*(in_space(point.x, point.y) if earth else (point.x, point.y, 0.0))]


@pytest.mark.parametrize("lateness", [0, 10])
def test_a_client_is_plain_if_its_fixes_need_nothing_but_to_be_applied(lateness: int) -> None:
    clients = Clients(lateness)
    row = clients.rows([str(n) for n in range(40)] + ["a"])[-1]

    def is_plain() -> bool:
        return bool(clients.columns.plain[row])

    assert is_plain() == (not lateness)
    made = clients.setdefault("a")
    assert is_plain() == (not lateness)
    made.lateness = 5
    assert not is_plain()
    made.lateness = 0
    assert is_plain()
    made.lease = 9
    assert not is_plain()
    made.lease = None
    assert is_plain()
    made.lateness = 5
    del clients["a"]
    assert is_plain() == (not lateness)


def test_a_tick_looks_only_at_those_whose_fixes_wait() -> None:
    kernel, place = Kernel(), Position(Point(1.0, 2.0))
    for number in range(5):
        kernel.apply(ops.Publish(0, Publication("p", f"c{number}")))
        kernel.apply(ops.Move(1, f"c{number}", place))
    kernel.apply(ops.SetClient(1, "c3", {}, lateness=10))
    kernel.apply(ops.Tick(2))
    assert not kernel.clients.held
    kernel.apply(ops.Move(3, "c3", place))
    assert [kernel.clients.names.text(row) for row in kernel.clients.held] == ["c3"]
    kernel.apply(ops.Tick(20))
    assert not kernel.clients.held
    assert kernel.clients["c3"].fix == Fix(place, 3)
