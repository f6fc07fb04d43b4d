"""A kernel that is restored goes on as the first would have, and what is on disk is whole or refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearcast.errors import NearcastError, SnapshotError
from nearcast.language.oplog import decode_op
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.schema import STATE
from nearcast.snapshot import load, restore, save, snapshot
from nearcast.testing import Log, logs

LOGS = st.one_of(logs(max_ops=30), logs(common=True, max_ops=16))
CUTS = st.tuples(st.floats(0.2, 1), st.floats(0, 1))
WINDOWS = st.sampled_from([0, 0, 1, 10_000_000])


def answers(engine: Reference, log: Iterable[ops.Op]) -> list[Any]:
    """What each op gives: notifications, or an error."""
    found: list[Any] = []
    for op in log:
        try:
            found.append(engine.apply(op))
        except NearcastError as error:
            found.append((type(error), str(error)))
    return found


def carried(kernel: Kernel) -> Kernel:
    """The kernel, by way of bytes."""
    return restore({name: through_bytes(table) for name, table in snapshot(kernel).items()})


def through_bytes(table: pa.Table) -> pa.Table:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_file(sink.getvalue()).read_all()


def standing(engine: Reference) -> tuple[Any, ...]:
    bound = {key: engine.bindings(*key) for key in engine.world.publications}
    return {name: count for name, count in engine.counts.items() if count}, bound


@settings(max_examples=max(10, settings().max_examples // 5))
@given(LOGS, CUTS, WINDOWS)
def test_a_restored_kernel_goes_on_as_the_first(log: Log, cuts: tuple[float, float], lateness: int) -> None:
    first, kernel, reference = Kernel(lateness), Kernel(lateness), Reference(lateness)
    once = int(cuts[0] * len(log))
    twice = once + int(cuts[1] * (len(log) - once))
    told = answers(kernel, log[:once])
    kernel = carried(kernel)
    told += answers(kernel, log[once:twice])
    kernel = carried(carried(kernel))
    told += answers(kernel, log[twice:])
    assert told == answers(first, log) == answers(reference, log)
    assert standing(kernel) == standing(first)
    assert snapshot(kernel).keys() == STATE.keys()


# ---- all that there is -------------------------------------------------------------------------------

EVERYTHING: list[dict[str, Any]] = [
    {"op": "space", "text": "SPACE gas (price real)"},
    {"op": "place", "text": "PLACE 'hq' LEVEL building AT DISC(0 0, 50 m)"},
    {"op": "layer", "text": "LAYER z ('1' AT DISC(0 0, 50 m), '2' AT BOX(0 0, 1 1) FLOOR [1, 2] AS (kind = 'x'))"},
    {"op": "layer", "name": "none", "features": []},
    {"op": "relation", "text": "RELATION close WHERE &location WITHIN 1 km OF #location"},
    {"op": "client", "client": "a", "attributes": {"fuel": 1, "kind": "x"}},
    {"op": "client", "client": "b", "lease": 3600, "lateness": 10},
    {"op": "client", "client": "gone"},
    {"op": "client", "client": "gone", "forget": True},
    {"op": "publish", "client": "a", "id": "p", "text": "PUBLISH AS gas (price = 1.0)"},
    {"op": "publish", "client": "c", "id": "q", "text": "PUBLISH AT POINT(0 0) CONTENT {\"a\": 1} EXPIRES 1 h"},
    {"op": "publish", "client": "b", "id": "leased", "text": "PUBLISH"},
    {"op": "subscribe", "client": "b", "id": "zones", "text": "SELECT WHERE &location IN LAYER z"},
    {"op": "subscribe", "client": "c", "id": "near", "text": (
        "SELECT WHERE &location WITHIN 100 m OF #location WHILE #location IN PLACE 'hq' HYSTERESIS 20 m"
        " COOLDOWN 1 min")},
    {"op": "subscribe", "client": "c", "id": "slow", "text": (
        "SELECT WHERE &location WITHIN 1 km OF #location DWELL 5 s")},
    {"op": "subscribe", "client": "c", "id": "stay", "text": (
        "SELECT WHERE NOW - ENTERED(&location WITHIN 1 km OF #location) > 3 s")},
    {"op": "subscribe", "client": "a", "id": "pairs", "text": "SELECT FROM RELATION close EXPIRES 1 day"},
    {"op": "move", "client": "c", "lon": 0, "lat": 0, "place": "hq"},
    {"op": "move", "client": "a", "lon": 0.0005, "lat": 0, "floor": 1, "accuracy": 5},
    {"op": "move", "client": "a", "lon": 0.0001, "lat": 0},
    {"op": "move", "client": "b", "lon": 0, "lat": 0},
]  # fmt: skip
AFTER: list[dict[str, Any]] = [
    {"op": "move", "client": "a", "lon": 0.00095, "lat": 0},
    {"op": "tick"},
    {"op": "move", "client": "b", "lon": 0, "lat": 0.0001},
    {"op": "emit", "client": "a", "publication": "p", "value": 1},
    {"op": "client", "client": "gone"},
    {"op": "move", "client": "a", "lon": 1, "lat": 0},
    {"op": "publish", "client": "a", "id": "p", "text": "PUBLISH"},
    {"op": "tick"},
    {"op": "layer", "name": "z", "features": []},
]


def timed(lines: Sequence[dict[str, Any]], start: float, step: float) -> list[ops.Op]:
    return [decode_op(json.dumps({**line, "time": start + step * i})) for i, line in enumerate(lines)]


@pytest.fixture
def kernel() -> Kernel:
    kernel = Kernel()
    assert all(isinstance(answer, list) for answer in answers(kernel, timed(EVERYTHING, 0, 0.1)))
    return kernel


def test_every_table_is_needed_and_enough(kernel: Kernel) -> None:
    tables = snapshot(kernel)
    assert [name for name, table in tables.items() if not len(table)] == []
    assert any(latches != "[]" for latches in tables["pairs"]["latches"].to_pylist())
    assert any(latches != "[]" for latches in tables["subscriptions"]["latches"].to_pylist())
    again = carried(kernel)
    told = answers(again, timed(AFTER, 5, 3))
    assert told == answers(kernel, timed(AFTER, 5, 3))
    assert {n.kind for answer in told for n in answer} >= {"enter", "leave"}


def test_a_name_may_be_any_text() -> None:
    kernel = Kernel()
    for op in timed(EVERYTHING, 0, 0.1):
        kernel.apply(op)
    kernel.apply(ops.SetClient(10_000_000, "\ud800", {"\udfff": "\ud800"}))
    again = carried(kernel)
    assert list(again.clients) == list(kernel.clients)
    assert again.clients["\ud800"].attributes == {"\udfff": "\ud800"}


def test_a_new_kernel_is_a_state_too() -> None:
    assert answers(carried(Kernel(lateness=1)), timed(EVERYTHING, 0, 0.1)) == answers(
        Kernel(lateness=1), timed(EVERYTHING, 0, 0.1)
    )


# ---- on disk -----------------------------------------------------------------------------------------


def test_what_is_saved_last_is_loaded(kernel: Kernel, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    save(Kernel(), folder)
    made = save(kernel, folder)
    assert list(folder.iterdir()) == [made]
    assert answers(load(folder), timed(AFTER, 5, 3)) == answers(kernel, timed(AFTER, 5, 3))


@pytest.mark.parametrize("dies_at", ["os.fsync", "pathlib.Path.rename"])
def test_a_death_while_saving_leaves_the_one_before(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: str
) -> None:
    class DeathError(BaseException):
        pass

    def die(*_: object) -> None:
        raise DeathError

    save(Kernel(), tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(dies_at, die)
        with pytest.raises(DeathError):
            save(kernel, tmp_path)
    assert not load(tmp_path).subscriptions
    made = save(kernel, tmp_path)
    assert list(tmp_path.iterdir()) == [made]
    assert load(tmp_path).subscriptions


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["clients.arrow", "files.json"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_damage_is_found(kernel: Kernel, tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    path = save(kernel, tmp_path) / name
    damage(path)
    with pytest.raises(SnapshotError, match=name):
        load(tmp_path)


def test_another_version_is_refused(kernel: Kernel, tmp_path: Path) -> None:
    path = save(kernel, tmp_path) / "files.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 99}))
    with pytest.raises(SnapshotError, match="version 99; this is for version 2"):
        load(tmp_path)
    tables = snapshot(kernel)
    tables["pairs"] = tables["pairs"].replace_schema_metadata({"nearcast.state": "0"})
    with pytest.raises(SnapshotError, match="pairs: the state has version 0"):
        restore(tables)


def test_the_version_before_is_read(kernel: Kernel, tmp_path: Path) -> None:
    """It did not say since when a publication has its filter: that is since its last edit, then."""
    tables = snapshot(kernel)
    assert tables["publications"]["since"].to_pylist()
    before = {
        name: table.drop_columns(["since"] if name == "publications" else []).replace_schema_metadata(
            {"nearcast.state": "1"}
        )
        for name, table in tables.items()
    }
    again = restore(before)
    assert snapshot(again)["publications"]["since"] == tables["publications"]["version"]
    path = save(again, tmp_path) / "files.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 1}))
    assert snapshot(load(tmp_path))["publications"] == snapshot(again)["publications"]


def test_what_is_no_snapshot_is_refused(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="there is no snapshot"):
        load(tmp_path / "nowhere")
    tables = snapshot(kernel)
    with pytest.raises(SnapshotError, match="held: the table is missing"):
        restore({name: table for name, table in tables.items() if name != "held"})
    with pytest.raises(SnapshotError, match="held: the columns"):
        restore({**tables, "held": tables["held"].drop_columns("place")})
    published = tables["publications"]
    bad = published.set_column(2, published.schema.field(2), pa.array(["{"] * len(published)))
    with pytest.raises(SnapshotError, match="publications: the content is damaged"):
        restore({**tables, "publications": bad})
    with pytest.raises(SnapshotError, match="system: the content is damaged"):
        restore({**tables, "system": tables["system"].slice(1)})
