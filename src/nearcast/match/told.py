"""Notifications as columns: put in order, given their ids, and handed to Arrow, without touching text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from nearcast.match.compiled import inlined, njit
from nearcast.match.names import word_rows
from nearcast.model import schema
from nearcast.model.notification import HIDDEN, Kind, Reason

if TYPE_CHECKING:
    from nearcast.match.clients import Clients
    from nearcast.match.moves import Moves
    from nearcast.match.names import Names
    from nearcast.match.regions import Regions
    from nearcast.match.registry import Publications, Subscriptions

__all__ = ["KINDS", "REASONS", "Events", "Told", "joined"]

Wholes = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

KINDS = list(Kind)
REASONS = list(Reason)
_KIND_WORDS = word_rows(KINDS)
_FIX_WORDS = word_rows(["fix"])
_KIND_TEXTS, _REASON_TEXTS = pa.array([str(kind) for kind in KINDS]), pa.array([str(reason) for reason in REASONS])
_CAUSES = pa.array(["fix", HIDDEN.kind])
ENTER, LEAVE = KINDS.index(Kind.ENTER), KINDS.index(Kind.LEAVE)
MOVED, SOURCE = REASONS.index(Reason.MOVED), REASONS.index(Reason.SOURCE)
_FEW = 16
"""Events of one move that are put in order one by one."""
_AT_ONCE = 64
"""Events whose ids are mixed together."""
_ZERO = np.uint64(0)


class Events(NamedTuple):
    """What a run of moves turned, a row each. Where a column does not apply, it is -1."""

    move: Wholes
    kind: npt.NDArray[np.int8]
    subscription: Wholes
    """Its row in the register."""
    publication: Wholes
    """The code of its name; the layer's or the relation's, if it is of one."""
    publisher: Wholes
    """The client's row."""
    region: Wholes
    """The row in the layer's table."""
    layer: Wholes
    """Which table."""
    peer: Wholes
    """The other client's row."""
    time: Wholes
    content: Wholes
    """The publication's row in the register."""
    reason: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Told:
    """The notifications of a run of moves, in order."""

    moves: Moves
    events: Events
    ids: npt.NDArray[np.uint8]
    """Each a row of 32 hexadecimal digits."""
    clients: Clients
    texts: Names
    subscriptions: Subscriptions
    publications: Publications
    tables: list[Regions]

    def __len__(self) -> int:
        return len(self.events.move)

    @property
    def op(self) -> Wholes:
        """Which op of the run each notification is of."""
        return self.moves.op[self.events.move]

    def id(self, i: int) -> str:
        return str(self.ids[i].tobytes(), "ascii")

    def arrow(self) -> pa.RecordBatch:
        """The notifications with the columns of `schema.NOTIFICATIONS`, evidence left out."""
        e, n = self.events, len(self)
        names, texts = self.clients.names.array, self.texts.array
        subscription = self.subscriptions
        nothing = pa.nulls(n, pa.string())
        columns = {
            "id": _fixed_strings(self.ids),
            "time": pa.array(e.time).view(schema.TIME),
            "kind": _KIND_TEXTS.take(pa.array(e.kind)),
            "subscription": texts.take(pa.array(subscription.name[e.subscription])),
            "subscriber": names.take(pa.array(subscription.owner[e.subscription])),
            "publisher": _optional(names, e.publisher),
            "publication": texts.take(pa.array(e.publication)),
            "region": self._region_ids(),
            "peer": _optional(names, e.peer),
            "reason": _REASON_TEXTS.take(pa.array(e.reason)),
            "cause": self._causes(),
            "content": self.publications.content_array(e.content),
            "values": nothing,
            "why": nothing,
        }
        return pa.RecordBatch.from_arrays(
            [columns[name] for name in schema.NOTIFICATIONS.names], schema=schema.NOTIFICATIONS
        )

    def _causes(self) -> pa.Array:
        """The fixes, but for those of a third party: these are hidden."""
        e, n, mover = self.events, len(self), self.moves.row[self.events.move]
        party = (mover == e.publisher) | (mover == e.peer) | (mover == self.subscriptions.owner[e.subscription])
        entity, number = self.clients.names.array.take(pa.array(mover)), self.moves.time[e.move]
        if not party.all():
            entity, number = pc.if_else(pa.array(party), entity, HIDDEN.entity), np.where(party, number, HIDDEN.number)
        kind = _CAUSES.take(pa.array((~party).astype(np.int8)))
        ordinal = np.zeros(n, np.int64)
        return pa.StructArray.from_arrays(
            [kind, entity, pa.array(number), pa.array(ordinal)], fields=list(schema.CAUSE)
        )

    def _region_ids(self) -> pa.Array:
        e = self.events
        used = _distinct(e.layer)
        if len(used) < 2:
            return self._ids_in(used[0] if used else -1, e.region)
        at = [np.flatnonzero(e.layer == number) for number in used]
        parts = [self._ids_in(number, e.region[some]) for number, some in zip(used, at, strict=True)]
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(at))))

    def _ids_in(self, table: int, rows: Wholes) -> pa.Array:
        return self.tables[table].ids.array.take(pa.array(rows)) if table >= 0 else pa.nulls(len(rows), pa.string())


def joined(
    parts: list[Events], moves: Moves, clients: Clients, texts: Names, subscriptions: Subscriptions,
    publications: Publications, tables: list[Regions],
) -> Told:  # fmt: skip
    """The events of all lanes as notifications in order: by move, leaves first, then by names."""
    parts = [_without_hearers(part, subscriptions) for part in parts]
    events = parts[0] if len(parts) == 1 else Events._make(map(np.concatenate, zip(*parts, strict=True)))
    n = len(events.move)
    region_order, region_words = np.zeros(n, np.int64), np.zeros((n, 2), np.uint64)
    layers = _distinct(events.layer)
    for number in layers:
        if number >= 0:
            at = slice(None) if len(layers) == 1 else np.flatnonzero(events.layer == number)
            region_order[at] = tables[number].ids.order[events.region[at]]
            region_words[at] = tables[number].ids.words[events.region[at]]
    order = np.empty(n, np.int64)
    name, owner = subscriptions.name, subscriptions.owner
    _sort(_By(events, name, owner, texts.order, clients.names.order, region_order), len(moves), order)
    ids = np.empty((n, 32), np.uint8)
    _ids(
        events, order, moves.row, moves.time, name, owner, texts.words, clients.names.words, region_words,
        _KIND_WORDS, _FIX_WORDS, ids,
    )  # fmt: skip
    ordered = Events._make(column[order] for column in events)
    return Told(moves, ordered, ids, clients, texts, subscriptions, publications, tables)


def _distinct(layer: Wholes) -> list[int]:
    """The layers that there are; mostly it is one."""
    if not len(layer):
        return []
    return [int(layer[0])] if layer.min() == layer.max() else np.unique(layer).tolist()


def _without_hearers(events: Events, subscriptions: Subscriptions) -> Events:
    """Who hears readings is not told of enters and leaves."""
    hears = subscriptions.hears[events.subscription]
    return Events._make(column[~hears] for column in events) if hears.any() else events


def _fixed_strings(rows: npt.NDArray[np.uint8]) -> pa.StringArray:
    ends = np.arange(0, 32 * len(rows) + 1, 32, dtype=np.int32)
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(rows)))


def _optional(names: pa.StringArray, rows: Wholes) -> pa.Array:
    """Names by row; null where there is none."""
    if not len(rows) or rows.min() >= 0:
        return names.take(pa.array(rows))
    if rows.max() < 0:
        return pa.nulls(len(rows), pa.string())
    return names.take(pa.array(rows, mask=rows < 0))


# ---- order ---------------------------------------------------------------------------------------------


class _By(NamedTuple):
    """What decides which event is told first."""

    events: Events
    name: Wholes
    owner: Wholes
    texts: Wholes
    clients: Wholes
    regions: Wholes


@njit
def _sort(by: _By, moves: int, order: Wholes) -> None:
    """Events by move (counted), and those of one move among each other: a few are inserted, many are merged."""
    move, spare, ends = by.events.move, np.empty(len(order), np.int64), np.zeros(moves + 1, np.int64)
    for m in move:
        ends[m + 1] += 1
    for m in range(moves):
        ends[m + 1] += ends[m]
    for k in range(len(move)):
        order[ends[move[k]]] = k
        ends[move[k]] += 1
    first = 0
    for end in ends[:moves]:
        for start in range(first, end, _FEW):
            _insert(by, order, start, min(start + _FEW, end))
        width = _FEW
        while width < end - first:
            for start in range(first, end - width, 2 * width):
                _merge(by, order, start, start + width, min(start + 2 * width, end), spare)
            width *= 2
        first = end


@inlined
def _insert(by: _By, order: Wholes, start: int, end: int) -> None:
    for here in range(start + 1, end):
        at, k = here, order[here]
        while at > start and _before(by, k, order[at - 1]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@inlined
def _merge(by: _By, order: Wholes, start: int, middle: int, end: int, spare: Wholes) -> None:
    i, j = start, middle
    for at in range(start, end):
        if i == middle or (j < end and _before(by, order[j], order[i])):
            spare[at] = order[j]
            j += 1
        else:
            spare[at] = order[i]
            i += 1
    order[start:end] = spare[start:end]


@inlined
def _before(by: _By, i: int, j: int) -> bool:
    e, name, owner = by.events, by.name, by.owner
    a, b = e.kind[i] != LEAVE, e.kind[j] != LEAVE
    if a != b:
        return bool(b)
    s, t = e.subscription[i], e.subscription[j]
    if s != t:
        if name[s] != name[t]:
            return bool(by.texts[name[s]] < by.texts[name[t]])
        return bool(by.clients[owner[s]] < by.clients[owner[t]])
    if e.publication[i] != e.publication[j]:
        return bool(by.texts[e.publication[i]] < by.texts[e.publication[j]])
    if e.publisher[i] != e.publisher[j]:
        return bool(by.clients[e.publisher[i]] < by.clients[e.publisher[j]])
    if e.region[i] != e.region[j]:
        return bool(by.regions[i] < by.regions[j])
    return bool(e.peer[i] != e.peer[j] and by.clients[e.peer[i]] < by.clients[e.peer[j]])


# ---- ids -----------------------------------------------------------------------------------------------


@njit
def _scramble(x: np.uint64) -> np.uint64:
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


@njit
def _stir(a: np.uint64, b: np.uint64, word: np.uint64) -> tuple[np.uint64, np.uint64]:
    """One step of `notification.mix`."""
    a = _scramble((a ^ word) + np.uint64(0x9E3779B97F4A7C15))
    b = _scramble((b ^ (a << np.uint64(32) | a >> np.uint64(32))) + np.uint64(0xD1B54A32D192ED03))
    return a, b


@inlined
def _put(mixed: Words, step: int, i: int, words: Words, row: int) -> None:
    """Both words of a name; of no name, two zeros."""
    mixed[step, i], mixed[step + 1, i] = (words[row, 0], words[row, 1]) if row >= 0 else (_ZERO, _ZERO)


@njit
def _ids(
    e: Events, order: Wholes, mover: Wholes, fix_time: Wholes, name: Wholes, owner: Wholes, text_words: Words,
    client_words: Words, region_words: Words, kind_words: Words, cause_words: Words, ids: npt.NDArray[np.uint8],
) -> None:  # fmt: skip
    """The id of each event, as `notification.notification_id` makes it: word by word, for many events at a time."""
    move, kind, subscription, publication, publisher = e.move, e.kind, e.subscription, e.publication, e.publisher
    layer, peer = e.layer, e.peer
    mixed, a, b = np.zeros((20, _AT_ONCE), np.uint64), np.empty(_AT_ONCE, np.uint64), np.empty(_AT_ONCE, np.uint64)
    for done in range(0, len(order), _AT_ONCE):
        n = min(_AT_ONCE, len(order) - done)
        for i in range(n):
            k = order[done + i]
            s, m = subscription[k], move[k]
            _put(mixed, 0, i, text_words, name[s])
            _put(mixed, 2, i, client_words, owner[s])
            _put(mixed, 4, i, text_words, publication[k])
            _put(mixed, 6, i, client_words, publisher[k])
            _put(mixed, 8, i, region_words, k if layer[k] >= 0 else -1)
            _put(mixed, 10, i, client_words, peer[k])
            _put(mixed, 12, i, kind_words, kind[k])
            _put(mixed, 14, i, cause_words, 0)
            _put(mixed, 16, i, client_words, mover[m])
            mixed[18, i] = np.uint64(fix_time[m])
        a[:], b[:] = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
        for step in range(20):
            for i in range(n):
                a[i], b[i] = _stir(a[i], b[i], mixed[step, i])
        for i in range(n):
            for digit in range(16):
                shift = np.uint64(60 - 4 * digit)
                ids[done + i, digit] = _hex((a[i] >> shift) & np.uint64(15))
                ids[done + i, 16 + digit] = _hex((b[i] >> shift) & np.uint64(15))


@njit
def _hex(value: np.uint64) -> np.uint8:
    """The digit; reckoned, since a table is looked up one by one."""
    return np.uint8(value + np.uint64(48) + np.uint64(39) * np.uint64(value > np.uint64(9)))
