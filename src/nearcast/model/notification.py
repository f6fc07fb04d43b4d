"""Notifications: the only outputs, each with an id that a replay gives again.

The id is a hash of what the notification is about and of what caused it, never of a log position or of the
wall clock. Names are hashed once with BLAKE2b; an id then only mixes 64-bit words, so that a kernel can make
millions of them a second without touching text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any

__all__ = ["HIDDEN", "Cause", "Kind", "Notification", "Reason", "by_entity", "by_fix", "by_timer", "notification_id"]


class Kind(StrEnum):
    ENTER = "enter"
    LEAVE = "leave"
    SNAPSHOT = "snapshot"
    READING = "reading"
    UPDATE = "update"


class Reason(StrEnum):
    """Why it happened, as far as the one who is told may know."""

    MOVED = "moved"
    PUBLISHED = "published"
    SUBSCRIBED = "subscribed"
    EDITED = "edited"
    ATTRIBUTES = "attributes"
    DEFINED = "defined"
    """A space, place, layer or relation was defined, changed or removed."""
    RETRACTED = "retracted"
    EXPIRED = "expired"
    GONE = "gone"
    """The publisher was forgotten, or its lease ran out."""
    UNMATCHED = "unmatched"
    """The publisher's side no longer wants this subscriber; it does not say why."""
    WHILE = "while"
    SOURCE = "source"
    DWELL = "dwell"
    COOLDOWN = "cooldown"
    TIME = "time"
    EMITTED = "emitted"


@dataclass(frozen=True, slots=True)
class Cause:
    """What made it happen: a fix, a version of an entity, or a timer that came due."""

    kind: str
    entity: str
    number: int
    ordinal: int = 0


HIDDEN = Cause("hidden", "", 0)
"""Something that its receiver may not know happened. The id still tells it apart."""


def by_fix(client: str, fix_time: int) -> Cause:
    return Cause("fix", client, fix_time)


def by_entity(entity: str, time: int, ordinal: int) -> Cause:
    """A version is the time it took effect and, for several at one time, which of them it was."""
    return Cause("entity", entity, time, ordinal)


def by_timer(due: int) -> Cause:
    return Cause("timer", "", due)


@dataclass(frozen=True, slots=True)
class Notification:
    id: str
    time: int
    kind: Kind
    subscription: str
    subscriber: str
    publisher: str | None
    publication: str
    region: str | None
    peer: str | None
    reason: Reason
    cause: Cause
    content: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The reading, if it is one."""
    why: Mapping[str, Any] = field(default_factory=dict)
    """Old and new state, the measures that decided, the fixes."""

    @property
    def order(self) -> tuple[object, ...]:
        """Within one op: leaves first, then by what it is about. Code point order is UTF-8's byte order."""
        about = (self.subscription, self.subscriber, self.publication, self.publisher or "", self.region or "")
        return (self.kind is not Kind.LEAVE, *about, self.peer or "", self.kind)


_MASK = (1 << 64) - 1


@lru_cache(maxsize=1 << 16)
def word_pair(name: str) -> tuple[int, int]:
    """128 bits of a name, as two 64-bit words."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def _scramble(x: int) -> int:
    """The 64-bit finaliser of MurmurHash3."""
    x = ((x ^ (x >> 33)) * 0xFF51AFD7ED558CCD) & _MASK
    x = ((x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53) & _MASK
    return x ^ (x >> 33)


def mix(words: list[int]) -> tuple[int, int]:
    """128 bits of a sequence of 64-bit words; order matters."""
    a, b = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03
    for word in words:
        a = _scramble((a ^ (word & _MASK)) + 0x9E3779B97F4A7C15 & _MASK)
        b = _scramble((b ^ ((a << 32 | a >> 32) & _MASK)) + 0xD1B54A32D192ED03 & _MASK)
    return a, b


def notification_id(
    *, subscription: str, subscriber: str, publication: str, publisher: str | None,
    region: str | None, peer: str | None, kind: Kind, cause: Cause,
) -> str:  # fmt: skip
    names = (subscription, subscriber, publication, publisher, region, peer, kind, cause.kind, cause.entity)
    words: list[int] = []
    for name in names:
        words += (0, 0) if name is None else word_pair(name)
    a, b = mix([*words, cause.number, cause.ordinal])
    return f"{a:016x}{b:016x}"
