"""What is told, as messages.

They are what `encode_notification` makes, but are made from columns, which takes a quarter of the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from nearcast.log.telling import Told as Message
from nearcast.match.moves import X, Y
from nearcast.match.told import KINDS, REASONS, Told
from nearcast.model.moment import time_text
from nearcast.model.notification import HIDDEN

__all__ = ["batch_messages", "run_messages"]


class _Cause(msgspec.Struct):
    kind: str
    entity: str
    number: int
    ordinal: int


class _Line(msgspec.Struct):
    """A notification; the order of the fields is theirs in the line."""

    id: str
    time: str
    kind: str
    subscription: str
    subscriber: str
    publisher: str | None
    publication: str
    region: str | None
    peer: str | None
    reason: str
    content: msgspec.Raw | None
    values: msgspec.Raw | msgspec.UnsetType
    cause: _Cause
    why: msgspec.Raw


_encode = msgspec.json.Encoder().encode
_NOTHING = msgspec.Raw(b"{}")
_HIDDEN = _Cause(HIDDEN.kind, HIDDEN.entity, HIDDEN.number, HIDDEN.ordinal)
_text_of_time = lru_cache(maxsize=1024)(time_text)


def batch_messages(told: pa.RecordBatch) -> list[Message]:
    """The rows of `schema.NOTIFICATIONS`, in their order."""
    if not len(told):
        return []
    columns = {name: told[name] for name in told.schema.names}
    columns["time"] = columns["time"].view(pa.int64())
    return [_message(**row) for row in _rows({name: column.to_pylist() for name, column in columns.items()})]


def _rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    names = list(columns)
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(names, values, strict=True))


def _message(*, id: str, time: int, cause: dict[str, Any], content: str | None, **about: Any) -> Message:  # noqa: A002 (the column's name)
    values, why = about.pop("values"), about.pop("why")
    line = _Line(
        id=id,
        time=_text_of_time(time),
        content=_raw(content) if content else None,
        values=_raw(values) if values else msgspec.UNSET,
        cause=_Cause(**cause),
        why=_raw(why) if why else _NOTHING,
        **about,
    )
    return id, line.subscriber, _encode(line)


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def run_messages(told: Told) -> list[Message]:
    """The notifications of a run of moves. Of the evidence they know the fix that caused them: compiled loops tell of
    publications that go where their client goes and let in whoever is told, who may so know where that is."""
    if not len(told):
        return []
    e, names, texts, register = told.events, told.clients.names.text, told.texts.text, told.subscriptions
    owners, movers = register.owner[e.subscription], told.moves.row[e.move]
    party = (movers == e.publisher) | (movers == e.peer) | (movers == owners)
    columns = (
        e.kind, e.time, register.name[e.subscription], owners, e.publication, e.publisher, e.layer, e.region, e.peer,
        e.reason, party, movers, told.moves.time[e.move], told.moves.here[e.move, X], told.moves.here[e.move, Y],
    )  # fmt: skip
    has_content = (e.content >= 0) & (told.publications.content[e.content] > 0)
    contents: list[str] = told.publications.content_array(e.content).to_pylist() if has_content.any() else []
    made: list[Message] = []
    for i, row in enumerate(zip(*map(np.ndarray.tolist, columns), strict=True)):
        kind, time, name, owner, publication, publisher, layer, region, peer, reason, shown, mover, fixed, x, y = row
        id_, subscriber = told.id(i), names(owner)
        line = _Line(
            id_,
            _text_of_time(time),
            KINDS[kind],
            texts(name),
            subscriber,
            names(publisher) if publisher >= 0 else None,
            texts(publication),
            told.tables[layer].ids.text(region) if layer >= 0 else None,
            names(peer) if peer >= 0 else None,
            REASONS[reason],
            _raw(contents[i]) if contents and contents[i] else None,
            msgspec.UNSET,
            _Cause("fix", names(mover), fixed, 0) if shown else _HIDDEN,
            _fix("&" if mover == publisher else "#", fixed, x, y) if shown and peer < 0 else _NOTHING,
        )
        made.append((id_, subscriber, _encode(line)))
    return made


def _fix(side: str, time: int, x: float, y: float) -> msgspec.Raw:
    """Where one is; nothing if that is a place without coordinates."""
    if math.isnan(x):
        return _NOTHING
    return msgspec.Raw(f'{{"fixes":{{"{side}":{{"time":{time},"x":{x!r},"y":{y!r}}}}}}}'.encode())
