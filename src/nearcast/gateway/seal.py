"""Places in the stream of notifications, and ids of those, as others are shown them: sealed.

The stream is everyone's. Were its sequences shown, anyone could watch it grow, and so find out that somebody else was
told something: whoever publishes to a stranger alone, and sees the count go up, knows where that stranger is. A cursor
is such a place that only we can read. The same place looks different each time, unless it is that of an event, which
its receiver knows anyway.

It is made as RFC 5297 does it (a synthetic initialisation vector), with BLAKE2b: a tag of what is to be hidden, and
that, masked by the tag. So nobody can make one, or turn one into the next.

The id of a notification is made of what caused it. Where that is hidden from whoever is told, as it would say whether
someone left or is hiding, or who else is near, the id would let one try a guess. So these ids are hashed with the key:
the same one whenever something is told again, and nothing to try a guess on. All others are as they were made.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Self

from nats.js import errors as stream_errors
from nats.js.kv import KeyValue

from nearcast.errors import GatewayError
from nearcast.log.client import Log
from nearcast.log.connection import explained
from nearcast.log.subjects import KEYS
from nearcast.model.notification import HIDDEN

__all__ = ["BEGINNING", "Seal"]

BEGINNING = "0"
"""Before all events: the only cursor that anyone may make."""
NAME = "cursor"
"""Of the key in its bucket."""
HALF = 12
"""Bytes of the tag, and of what it hides: a salt and a sequence."""
SALT = 4
LENGTH = 32
"""Characters of a cursor."""


class Seal:
    def __init__(self, key: bytes) -> None:
        self._key = key
        self._tagging = blake2b(key=key, digest_size=HALF, person=b"tag")
        self._masking = blake2b(key=key, digest_size=HALF, person=b"mask")
        self._naming = blake2b(key=key, digest_size=16, person=b"notification")

    @classmethod
    async def of(cls, log: Log) -> Self:
        """The one of a system, which whoever comes first makes. It is where the stream is, and goes with it."""
        with explained(log.url, KEYS):
            return cls(await _key(await log.bucket(KEYS)))

    def event(self, sequence: int) -> str:
        """The cursor of an event; the same whenever it is sent."""
        return self._sealed(bytes(SALT), sequence)

    def now(self, sequence: int) -> str:
        """A cursor for how far the stream is. Nobody sees by it whether that has changed."""
        return self._sealed(secrets.token_bytes(SALT), sequence)

    def open(self, cursor: str, field: str = "after") -> int | None:
        """The sequence, or None if the cursor is of another system, or of this one when it had another stream."""
        if cursor == BEGINNING:
            return 0
        try:
            sealed = urlsafe_b64decode(cursor.encode("ascii")) if len(cursor) == LENGTH else b""
        except ValueError:
            sealed = b""
        if len(sealed) != 2 * HALF:
            raise GatewayError(422, f"{cursor!r:.40} is not a cursor; take one of an event, or {BEGINNING}", field)
        tag, hidden = sealed[:HALF], self._mask(sealed[:HALF], sealed[HALF:])
        return int.from_bytes(hidden[SALT:]) if secrets.compare_digest(tag, self._tag(hidden)) else None

    def known(self, cursor: str, field: str = "after") -> int:
        """The sequence of one's own cursor."""
        sequence = self.open(cursor, field)
        if sequence is None:
            raise GatewayError(422, "this cursor is of another stream; begin with " + BEGINNING, field)
        return sequence

    def notification(self, id_: str, cause: str) -> str:
        """The id of a notification as its receiver knows it, who is shown a cause of that kind."""
        return self.hidden(id_) if cause == HIDDEN.kind else id_

    def hidden(self, id_: str) -> str:
        """The id of one whose cause is hidden."""
        naming = self._naming.copy()
        naming.update(id_.encode())
        return naming.hexdigest()

    def _sealed(self, salt: bytes, sequence: int) -> str:
        hidden = salt + sequence.to_bytes(HALF - SALT)
        tag = self._tag(hidden)
        return urlsafe_b64encode(tag + self._mask(tag, hidden)).decode("ascii")

    def _tag(self, hidden: bytes) -> bytes:
        tagging = self._tagging.copy()
        tagging.update(hidden)
        return tagging.digest()

    def _mask(self, tag: bytes, text: bytes) -> bytes:
        masking = self._masking.copy()
        masking.update(tag)
        return (int.from_bytes(masking.digest()) ^ int.from_bytes(text)).to_bytes(HALF)


async def _key(bucket: KeyValue) -> bytes:
    for _ in range(2):
        try:
            found = (await bucket.get(NAME)).value
        except stream_errors.KeyNotFoundError:
            found = None
        if found:
            return found
        key = secrets.token_bytes(32)
        try:
            await bucket.create(NAME, key)
        except stream_errors.KeyWrongLastSequenceError:
            continue  # another was first
        return key
    raise GatewayError(503, f"{KEYS} has no key, and takes none", retry_after=1)
