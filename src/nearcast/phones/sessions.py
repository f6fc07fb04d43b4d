"""The sessions that outlive their connections, as far as the door has to know them: how many each client has, and to
how many topics each subscribes.

The server keeps them, each with a consumer for every topic, until two weeks after its client went. Which there are it
says when we begin, and their names say whose they are; so nothing is kept of them here, or forgotten with a client.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

import msgspec

from nearcast.gateway.link import Link
from nearcast.gateway.outbox import PAGE_BYTES, read_page
from nearcast.phones.frames import Code, FrameError

__all__ = ["Sessions", "Visit", "session_name"]

STREAM, SUBJECTS = "$MQTT_sess", "$MQTT.sess.>"
"""Where the server keeps them; each is written again whenever its client comes, or subscribes."""
KEPT = 14 * 24 * 3600.0
"""Seconds for which the server keeps what one subscribes to, as `NatsServer` sets it."""
OWNER = 16
"""Characters of a name that say whose it is."""
PAGE = 1000
_NAME = re.compile(r"[0-9a-f]{56}")


class _Record(msgspec.Struct):
    """As the server has it. Topics are subjects of NATS there."""

    id: str = ""
    clean: bool = False
    subs: dict[str, int] = {}


_record = msgspec.json.Decoder(_Record)


@dataclass(slots=True, eq=False)
class _Lasting:
    seen: float
    """When its client came or went, in seconds since 1970."""
    topics: set[int] = field(default_factory=set)
    connections: int = 0
    is_there: bool = False
    """The server has it."""


@dataclass(slots=True)
class Visit:
    """A connection, and what it subscribes to. Hashes will do, and take no room however long the topics are."""

    _sessions: Sessions
    _client: str
    _name: str
    _lasting: _Lasting | None
    topics: set[int] = field(default_factory=set)

    def welcome(self) -> None:
        """The server has let it in, and with it goes what was before, if it is one that does not last."""
        if self._lasting is not None:
            self._lasting.is_there = True
        else:
            self._sessions.drop(self._name)

    def leave(self) -> None:
        if self._lasting is not None:
            self._lasting.connections -= 1
            self._lasting.seen = self._sessions.clock()
            if not self._lasting.is_there and not self._lasting.connections:
                self._sessions.drop(self._name, self._lasting)

    def subscribe(self, filters: set[str], most: int) -> None:
        """Raises if they are too many then. What was subscribed to before may be said again."""
        new = set(map(_hashed, filters)) - self.topics
        if new and len(self.topics) + len(new) > most:
            raise FrameError(f"{self._client!r} subscribes to more than {most} topics")
        self.topics |= new

    def unsubscribe(self, filters: set[str]) -> None:
        self.topics.difference_update(map(_hashed, filters))


class Sessions:
    """``visit`` with each who comes."""

    def __init__(self, most: int, clock: Callable[[], float] = time.time) -> None:
        self._most, self.clock = most, clock
        self._by_owner: dict[str, dict[str, _Lasting]] = {}

    async def load(self, link: Link) -> Self:
        """Know those that there are."""
        after, is_last = 0, False
        while not is_last:
            page = await read_page(link.log, STREAM, SUBJECTS, after, PAGE, size=PAGE_BYTES)
            for told in page.told:
                after = told.sequence
                self._take(told.payload, told.stored)
            is_last = page.is_last
        return self

    def _take(self, payload: bytes, stored: float) -> None:
        try:
            found = _record.decode(payload)
        except (msgspec.DecodeError, UnicodeError):
            return
        if not found.clean and _NAME.fullmatch(found.id):
            topics = set(map(hash, found.subs))
            self._by_owner.setdefault(found.id[:OWNER], {})[found.id] = _Lasting(stored, topics, is_there=True)

    def visit(self, client: str, name: str, *, is_clean: bool) -> Visit:
        """One who comes with a session of that name. Raises if it would be one too many that last."""
        owner = name[:OWNER]
        if is_clean:
            return Visit(self, client, name, None)
        now, of = self.clock(), self._by_owner.setdefault(owner, {})
        for gone in [other for other, known in of.items() if not known.connections and known.seen < now - KEPT]:
            del of[gone]
        if name not in of and len(of) >= self._most:
            raise FrameError(f"{client!r:.80} has {self._most} sessions that last already", Code.BAD_ID)
        known = of.setdefault(name, _Lasting(now))
        known.connections += 1
        return Visit(self, client, name, known, known.topics)

    def drop(self, name: str, only: _Lasting | None = None) -> None:
        """The server does not have it any more."""
        owner = name[:OWNER]
        of = self._by_owner.get(owner, {})
        if only is None or of.get(name) is only:
            of.pop(name, None)
        if not of:
            self._by_owner.pop(owner, None)


def session_name(client: str, given: str) -> str:
    """What a session is called behind the door: as nobody else's is. It begins with whose it is."""
    owner, own = (sha256(said.encode("utf-8", "surrogatepass")).hexdigest() for said in (client, f"{client}\0{given}"))
    return owner[:OWNER] + own[:40]


def _hashed(topic: str) -> int:
    return hash(_subject(topic))


def _subject(topic: str) -> str:
    """What the server makes of a topic."""
    return ".".join({"+": "*", "#": ">", "": "/"}.get(level, level.replace(".", "//")) for level in topic.split("/"))
