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


class _Head(msgspec.Struct):
    """A notification without its id, which comes first, up to whoever is told; the order of fields is theirs."""

    time: str
    kind: str
    subscription: str


class _Tail(msgspec.Struct):
    """What comes after whoever is told."""

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
    values, why, subscriber = about.pop("values"), about.pop("why"), about.pop("subscriber")
    head = _Head(_text_of_time(time), about.pop("kind"), about.pop("subscription"))
    tail = _Tail(
        content=_raw(content) if content else None,
        values=_raw(values) if values else msgspec.UNSET,
        cause=_Cause(**cause),
        why=_raw(why) if why else _NOTHING,
        **about,
    )
    return _line(id, subscriber, *_encoded(head, tail))


def _line(id_: str, subscriber: str, head: bytes, tail: bytes) -> Message:
    return id_, subscriber, b'{"id":"%b",%b,"subscriber":%b,%b' % (id_.encode(), head, _quoted(subscriber), tail)


def _encoded(head: _Head, tail: _Tail) -> tuple[bytes, bytes]:
    """The fields of a line, without the braces that are within it."""
    return _encode(head)[1:-1], _encode(tail)[1:]


@lru_cache(maxsize=2**16)
def _quoted(name: str) -> bytes:
    return _encode(name)


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def run_messages(told: Told) -> list[Message]:
    """The notifications of a run of moves. Of the evidence they know the fix that caused them: compiled loops tell of
    publications that go where their client goes and let in whoever is told, who may so know where that is.

    Where many are told the same, lines differ in the id and in who is told; all else is made once for them.
    """
    if not len(told):
        return []
    e, register, name_of = told.events, told.subscriptions, told.clients.names.text
    owners, movers, here = register.owner[e.subscription], told.moves.row[e.move], told.moves.here[e.move]
    party = (movers == e.publisher) | (movers == e.peer) | (movers == owners)
    columns = (
        e.move, e.kind, e.time, register.name[e.subscription], e.publication, e.publisher, e.layer, e.region, e.peer,
        e.reason, e.content, party, movers, told.moves.time[e.move], here[:, X], here[:, Y],
    )  # fmt: skip
    about = zip(*map(np.ndarray.tolist, columns), strict=True)
    made: list[Message] = []
    before, head, tail = (), b"", b""
    for i, (owner, this) in enumerate(zip(owners.tolist(), about, strict=True)):
        if this != before:
            before, (head, tail) = this, _around(told, this)
        made.append(_line(told.id(i), name_of(owner), head, tail))
    return made


def _around(told: Told, this: tuple[Any, ...]) -> tuple[bytes, bytes]:
    """Of a line, what is before whoever is told, and what comes after."""
    _, kind, time, name, publication, publisher, layer, region, peer, reason, content, shown, mover, fixed, x, y = this
    names, texts, said = told.clients.names.text, told.texts.text, told.publications.content_text(content)
    head = _Head(_text_of_time(time), KINDS[kind], texts(name))
    tail = _Tail(
        names(publisher) if publisher >= 0 else None,
        texts(publication),
        told.tables[layer].ids.text(region) if layer >= 0 else None,
        names(peer) if peer >= 0 else None,
        REASONS[reason],
        _raw(said) if said else None,
        msgspec.UNSET,
        _Cause("fix", names(mover), fixed, 0) if shown else _HIDDEN,
        _fix("&" if mover == publisher else "#", fixed, x, y) if shown and peer < 0 else _NOTHING,
    )
    return _encoded(head, tail)


def _fix(side: str, time: int, x: float, y: float) -> msgspec.Raw:
    """Where one is; nothing if that is a place without coordinates."""
    if math.isnan(x):
        return _NOTHING
    return msgspec.Raw(f'{{"fixes":{{"{side}":{{"time":{time},"x":{x!r},"y":{y!r}}}}}}}'.encode())
