"""The state of a kernel as tables, and back: a kernel that is restored goes on as the first would have.

What follows from the rest is not stored: indexes, lanes, and the pairs in lanes are made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nearcast.errors import ModelError, SnapshotError
from nearcast.match.binding import Binding
from nearcast.match.chain import Pair
from nearcast.match.clients import ClientColumns, Clients
from nearcast.match.garbage import uncollected
from nearcast.match.history import Holder, Relations
from nearcast.match.kernel import Kernel
from nearcast.match.names import encoded
from nearcast.match.question import History
from nearcast.match.reference import Marks
from nearcast.match.share import Share
from nearcast.match.world import Key, Published, Subscribed, World
from nearcast.model.coding import decode, encode
from nearcast.model.fix import Fix, Position
from nearcast.model.layer import NO_ATTRIBUTES, Layer, LayerRegion
from nearcast.model.moment import FOREVER, NEVER, Moment
from nearcast.model.schema import STATE, STATE_VERSION, STATE_VERSIONS
from nearcast.model.shape import Disc, Geometry, Point
from nearcast.model.statement import Publication, Subscription

__all__ = ["Tables", "client_table", "enter_clients", "heed", "layer_of", "layer_table", "restore", "snapshot"]

Tables = Mapping[str, pa.Table]
Row = tuple[Any, ...]

_LAST = int(np.iinfo(np.int64).max)


def snapshot(kernel: Kernel, opened: str | None = None, only: Iterable[str] = STATE) -> dict[str, pa.Table]:
    """The whole state, as the tables of `schema.STATE`, or some of them.

    The columns of clients are the kernel's own: write them, or copy them, before the kernel goes on. What clients
    publish under the id ``opened`` is left out, for whoever knows that they all do.
    """
    marks, world, subscribed = kernel.marks, kernel.world, list(kernel.subscriptions.values())
    published = (p for p in world.publications.values() if p.publication.id != opened)
    end = f"/{opened}"
    versions = ((entity, *v) for entity, v in marks.versions.items() if opened is None or not entity.endswith(end))
    rows: dict[str, Iterable[Row]] = {
        "system": [(kernel.lateness, _micros(marks.everyone), _micros(marks.latest))],
        "counts": kernel.counts.items(),
        "versions": versions,
        "definitions": _definition_rows(world),
        "regions": (_region_row(layer.name, r) for layer in world.layers.values() for r in layer.regions),
        "particulars": _particular_rows(kernel.clients),
        "held": _held_rows(kernel.clients),
        "publications": ((*_statement_row(p, p.publication), p.since) for p in published),
        "subscriptions": ((*_statement_row(s, s.subscription), _latch_text(s.latches)) for s in subscribed),
        "pairs": (_pair_row(s, key, pair) for s in subscribed for key, pair in s.pairs.items()),
        "histories": _history_rows(marks.relations),
        "dues": ((*holder, due, encode(who)) for holder, held in marks.relations.items() for due, who in held.dues),
    }
    return {name: _table(name, rows[name]) if name in rows else client_table(kernel.clients) for name in only}


def restore(tables: Tables, share: Share | None = None) -> Kernel:
    """A kernel in the state of a snapshot of one with the same share. What is no snapshot raises `SnapshotError`."""
    tables = {name: _upgraded(name, table) for name, table in tables.items()}
    for name in STATE:
        _check(name, tables)
    with uncollected():
        return _restored(tables, share)


def heed(kernel: Kernel, tables: Tables) -> None:
    """Bring a kernel to the time and the counts of a snapshot; all else in it is so already."""
    kernel.heed(_marks(tables), dict(_rows(tables, "counts")))


def _marks(tables: Tables) -> Marks:
    with _reading("system"):
        _, everyone, latest = next(_rows(tables, "system"))
    versions = {entity: (version, ordinal) for entity, version, ordinal in _rows(tables, "versions")}
    return Marks(_moment(everyone, NEVER), _moment(latest, NEVER), versions, _relations(tables))


def _restored(tables: Tables, share: Share | None) -> Kernel:
    with _reading("system"):
        lateness, _, _ = next(_rows(tables, "system"))
    kernel = Kernel(lateness, share)
    kernel.counts.update(dict(_rows(tables, "counts")))
    _define(kernel.world, tables)
    enter_clients(kernel.clients, tables["clients"])
    _enter_particulars(kernel.clients, tables)
    kernel.resume(_marks(tables), _published(tables), _subscribed(tables))
    return kernel


# ---- tables --------------------------------------------------------------------------------------------


def _table(name: str, rows: Iterable[Row]) -> pa.Table:
    schema = STATE[name]
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [_array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column. Text is what Python takes for it, which UTF-8 may have no code for, as in the kernel's names."""
    if kind != pa.string():
        return pa.array(values, kind)
    return pa.array([None if text is None else encoded(text) for text in values], pa.binary()).view(kind)


def _rows(tables: Tables, name: str) -> Iterator[Row]:
    yield from zip(*(_values(column) for column in tables[name].columns), strict=True)


def _values(column: pa.ChunkedArray) -> list[Any]:
    if column.type != pa.string():
        found: list[Any] = column.to_pylist()
        return found
    return [None if text is None else _text(text) for text in column.cast(pa.binary()).to_pylist()]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _upgraded(name: str, table: pa.Table) -> pa.Table:
    """A table of an earlier version as one of this: what was published has had its filter since its last edit."""
    if _version(table) not in map(str, STATE_VERSIONS[:-1]) or name not in STATE:
        return table
    if name == "publications" and "version" in table.column_names and "since" not in table.column_names:
        table = table.append_column(STATE[name].field("since"), table["version"])
    return table.replace_schema_metadata(STATE[name].metadata)


def _version(table: pa.Table) -> str:
    return str((table.schema.metadata or {}).get(b"nearcast.state", b"none"), "utf-8", "replace")


def _check(name: str, tables: Tables) -> None:
    if name not in tables:
        raise SnapshotError("the table is missing", name)
    schema, version = tables[name].schema, _version(tables[name])
    if version != str(STATE_VERSION):
        raise SnapshotError(f"the state has version {version}; this is for version {STATE_VERSION}", name)
    if not schema.equals(STATE[name]):
        raise SnapshotError("the columns are not those of a snapshot", name)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Whatever cannot be read names its table."""
    try:
        yield
    except (LookupError, ModelError, StopIteration, TypeError, ValueError) as error:
        raise SnapshotError(f"the content is damaged: {error!r:.120}", name) from error


def _micros(moment: Moment) -> int | None:
    """No clock gets to the last instant, so what comes after it may as well come due then."""
    return None if moment in (NEVER, FOREVER) else min(int(moment), _LAST)


def _moment(micros: int | None, missing: Moment) -> Moment:
    return missing if micros is None else micros


# ---- the world -----------------------------------------------------------------------------------------


def _definition_rows(world: World) -> Iterator[Row]:
    kinds: dict[str, Mapping[str, Any]] = {
        "space": world.spaces, "place": world.places, "relation": world.relations,
    }  # fmt: skip
    for kind, defined in kinds.items():
        yield from ((kind, name, encode(definition)) for name, definition in defined.items())
    yield from (("layer", name, encode(Layer(name, ()))) for name in world.layers)


def _region_row(layer: str, r: LayerRegion) -> Row:
    """A disc of any height, which layers have most, is three numbers; any other geometry is written out."""
    g, attributes = r.geometry, None if r.attributes == NO_ATTRIBUTES else encode(r.attributes)
    if isinstance(g.shape, Disc) and g.altitude is None and g.floor is None:
        numbers = (g.shape.x, g.shape.y, g.shape.radius)
        if all(type(number) is float for number in numbers):
            return (layer, r.id, *numbers, None, attributes)
    return (layer, r.id, None, None, None, encode(g), attributes)


def layer_table(layer: Layer) -> pa.Table:
    """A layer as the rows of a snapshot."""
    return _table("regions", (_region_row(layer.name, r) for r in layer.regions))


def layer_of(name: str, table: pa.Table) -> Layer:
    """The layer that `layer_table` wrote."""
    return Layer(name, tuple(_regions({"regions": table}).get(name, ())))


def _define(world: World, tables: Tables) -> None:
    regions = _regions(tables)
    kinds: dict[str, dict[str, Any]] = {
        "space": world.spaces, "place": world.places, "relation": world.relations, "layer": world.layers,
    }  # fmt: skip
    world.spaces.clear()
    with _reading("definitions"):
        for kind, name, definition in _rows(tables, "definitions"):
            kinds[kind][name] = decode(definition)
        for name in world.layers:
            world.layers[name] = Layer(name, tuple(regions.get(name, ())))


def _regions(tables: Tables) -> dict[str, list[LayerRegion]]:
    found: dict[str, list[LayerRegion]] = {}
    known = cache(decode)
    with _reading("regions"):
        for layer, id_, x, y, radius, geometry, attributes in _rows(tables, "regions"):
            where = Geometry(Disc(x, y, radius)) if geometry is None else decode(geometry)
            like = NO_ATTRIBUTES if attributes is None else known(attributes)
            found.setdefault(layer, []).append(LayerRegion(id_, where, like))
    return found


# ---- clients -------------------------------------------------------------------------------------------


def client_table(clients: Clients) -> pa.Table:
    """The columns of all clients, by their rows."""
    n, held = len(clients.names), clients.columns
    columns = {name: pa.array(getattr(held, name)[:n]) for name in ClientColumns.FIELDS if name != "place"}
    codes = pa.array(held.place[:n], mask=held.place[:n] < 0)
    columns["name"] = clients.names.array
    columns["place"] = pa.DictionaryArray.from_arrays(codes, clients.paths.array)
    return pa.Table.from_arrays([columns[name] for name in STATE["clients"].names], schema=STATE["clients"])


def _particular_rows(clients: Clients) -> Iterator[Row]:
    """What few clients have."""
    described = {row for row, attributes in clients.attributes.items() if attributes}
    awaited = {row for row, newest in clients.newest.items() if newest != NEVER}
    for row in sorted({*described, *awaited, *clients.leases, *clients.windows}):
        attributes = json.dumps(clients.attributes.get(row, {}))
        newest = _micros(clients.newest.get(row, NEVER))
        yield clients.names.text(row), attributes, clients.leases.get(row), clients.windows.get(row), newest


def _held_rows(clients: Clients) -> Iterator[Row]:
    for row, held in clients.held.items():
        for fix in held:
            at = fix.position
            x, y = (at.point.x, at.point.y) if at.point else (None, None)
            yield clients.names.text(row), fix.time, x, y, at.altitude, at.floor, at.accuracy, at.place


def enter_clients(clients: Clients, table: pa.Table) -> None:
    """Set the columns of some clients, known or new."""
    with _reading("clients"):
        rows = _client_rows(clients, table["name"])
        if len(np.unique(rows)) < len(rows):
            raise ValueError("a client is there twice")
        for name in ClientColumns.FIELDS.keys() - {"place"}:
            getattr(clients.columns, name)[rows] = table[name].to_numpy()
        place = table.select(["place"]).unify_dictionaries()["place"].combine_chunks()
        paths = clients.paths.codes([_text(path) for path in place.dictionary.cast(pa.binary()).to_pylist()])
        clients.columns.place[rows] = np.append(paths, -1)[place.indices.fill_null(-1).to_numpy()]


def _client_rows(clients: Clients, names: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Arrow finds those that are known, which are most, at once."""
    known = pc.index_in(names, value_set=clients.names.array)
    return clients.rows(_values(names)) if known.null_count else known.to_numpy()


def _enter_particulars(clients: Clients, tables: Tables) -> None:
    with _reading("particulars"):
        for name, attributes, lease, lateness, newest in _rows(tables, "particulars"):
            row = clients.row(name)
            given = {"attributes": json.loads(attributes), "leases": lease, "windows": lateness, "newest": newest}
            for kept, value in given.items():
                if value not in (None, {}):
                    getattr(clients, kept)[row] = value
    with _reading("held"):
        for name, time, x, y, altitude, floor, accuracy, place in _rows(tables, "held"):
            position = Position(None if x is None else Point(x, y), place, altitude, floor, accuracy)
            clients.held.setdefault(clients.row(name), []).append(Fix(position, time))


# ---- statements ----------------------------------------------------------------------------------------


def _statement_row(kept: Published | Subscribed, statement: Publication | Subscription) -> Row:
    body = encode(statement, id="", owner="")  # the same for many
    return (statement.owner, statement.id, body, *kept.version, _micros(kept.expires))


def _latch_text(latches: frozenset[tuple[Any, ...]]) -> str:
    return f"[{','.join(sorted(map(encode, latches)))}]"


def _pair_row(s: Subscribed, key: Key, pair: Pair) -> Row:
    told = (pair.since, pair.told, _micros(pair.entered), pair.satisfied, pair.alive, str(pair.binding))
    return (s.owner, s.subscription.id, *key, *told, _latch_text(pair.latches), pair.content, pair.due)


def _published(tables: Tables) -> list[Published]:
    known = cache(decode)
    with _reading("publications"):
        return [
            Published(replace(known(body), id=id_, owner=owner), (version, ordinal), _moment(expires, FOREVER), since)
            for owner, id_, body, version, ordinal, expires, since in _rows(tables, "publications")
        ]


def _subscribed(tables: Tables) -> list[Subscribed]:
    known, found = cache(decode), {}
    with _reading("subscriptions"):
        for owner, id_, body, version, ordinal, expires, latches in _rows(tables, "subscriptions"):
            s = Subscribed(replace(known(body), id=id_, owner=owner), (version, ordinal), _moment(expires, FOREVER))
            s.latches = frozenset(known(latches))
            found[owner, id_] = s
    with _reading("pairs"):
        for row in _rows(tables, "pairs"):
            owner, id_, publication, publisher, region, peer, *rest = row
            since, told, entered, satisfied, alive, binding, latches, content, due = rest
            found[owner, id_].pairs[publication, publisher, region, peer] = Pair(
                since, told, _moment(entered, NEVER), satisfied, alive, Binding(binding), frozenset(known(latches)),
                content, due,
            )  # fmt: skip
    return list(found.values())


# ---- histories -----------------------------------------------------------------------------------------


def _history_rows(relations: Mapping[Holder, Relations]) -> Iterator[Row]:
    for holder, held in relations.items():
        for (relation, party), known in held.histories.items():
            asked = (*holder, encode(relation), encode(party))
            for item, h in known.items():
                yield (*asked, encode(item), h.holds, _micros(h.entered), _micros(h.left), h.stay)


def _relations(tables: Tables) -> dict[Holder, Relations]:
    found: dict[Holder, Relations] = {}
    read = cache(decode)
    with _reading("histories"):
        for *holder, relation, party, item, holds, entered, left, stay in _rows(tables, "histories"):
            held = found.setdefault((holder[0], holder[1], holder[2]), Relations())
            known = held.histories.setdefault((read(relation), read(party)), {})
            known[read(item)] = History(holds, _moment(entered, NEVER), _moment(left, NEVER), stay)
    with _reading("dues"):
        for *holder, due, clients in _rows(tables, "dues"):
            held = found.setdefault((holder[0], holder[1], holder[2]), Relations())
            held.dues.append((due, read(clients)))
    return found
