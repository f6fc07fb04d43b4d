"""Who is asking. A bearer token names a client and its role; the client's id comes from there and from nowhere else.

A file holds the SHA-256 of each token, never the token, so whoever reads it cannot speak for anyone.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import bcrypt
import msgspec

from nearcast.errors import GatewayError, LogError, ModelError
from nearcast.gateway.grants import GRANTS, Action, Role
from nearcast.log.subjects import out_subject
from nearcast.model.moment import MICROS, parse_time, time_text

__all__ = ["Entry", "Identities", "Identity", "TokenFile", "add_token", "read_tokens", "revoke"]

LOOK_AGAIN = 1.0
"""Seconds after which a file of tokens is looked at again."""
SHORT = 85
"""Characters that make a subject in any case, which need not be tried for every fix of a fleet."""
ID = 12
"""Characters of a hash that name a token, to whoever may revoke it."""


@dataclass(frozen=True, slots=True)
class Identity:
    client: str
    role: Role = Role.CLIENT
    token: str = field(default="", compare=False)
    """The hash of the token that says so."""

    def may(self, action: Action) -> bool:
        return action in GRANTS[self.role]

    def must(self, action: Action) -> None:
        if not self.may(action):
            raise GatewayError(403, f"{_an(self.role)}'s token may not {action}")

    @property
    def is_operator(self) -> bool:
        return self.role is Role.OPERATOR

    def acting_for(self, named: str | None, field: str = "client") -> str:
        """The client that an op is of: one's own, or, for an operator, whoever is named."""
        if not named or named == self.client:
            return self.client
        if not self.may(Action.ACT_FOR):
            raise GatewayError(403, f"this token is for {self.client!r}; it cannot act for another client", field)
        if len(named) > SHORT:
            _check_length(named, field)
        return named


def _an(role: Role) -> str:
    return f"an {role}" if role is Role.OPERATOR else f"a {role}"


def _check_length(named: str, field: str) -> None:
    try:
        out_subject(named)
    except LogError as error:
        raise GatewayError(422, str(error), field) from None


class Identities(Protocol):
    """Where tokens are known."""

    def identify(self, token: str) -> Identity | None:
        """Whose token it is; None if it is nobody's, or not any more."""

    def holds(self, who: Identity) -> bool:
        """Whether one who was identified still is who it was: streams stay open for long."""

    def roles(self, client: str) -> AbstractSet[Role]:
        """What the tokens are for that a client has now."""

    def issue(self, client: str, role: Role, seconds: float | None) -> str:
        """A new token."""

    def entries(self) -> Mapping[str, Entry]:
        """What is known of all tokens, by their ids."""

    def revoke(self, id_: str) -> bool:
        """Take a token away; whether there was one."""


# ---- a file of tokens ----------------------------------------------------------------------------------


class Entry(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is known of a token."""

    client: str
    role: Role = Role.CLIENT
    issued: str = ""
    expires: str = ""
    """When it ends, as RFC 3339 has it; nothing if never."""
    bcrypt: str = ""
    """The token as the NATS server can know it; nothing in files of old."""

    @property
    def ends(self) -> float:
        """Seconds since 1970."""
        return parse_time(self.expires) / MICROS if self.expires else float("inf")


class TokenFile:
    """Tokens of a JSON file: ``{sha256 of the token, in hex: {"client": id, "role": role, "expires": time}}``.

    A file that has changed is read again within a second; one that cannot be read leaves what was known.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._stamp = self._stamp_now()
        self._known = _known(self.path)
        self._by_client = _by_client(self._known)
        self._looked = time.monotonic()

    def identify(self, token: str) -> Identity | None:
        # Looked up by a hash that nobody can choose, so that how long it takes says nothing about other tokens.
        return self._of(_digest(token))

    def holds(self, who: Identity) -> bool:
        return self._of(who.token) == who

    def roles(self, client: str) -> AbstractSet[Role]:
        self._refresh()
        now = time.time()
        return {who.role for who, ends in self._by_client.get(client, ()) if now < ends}

    def issue(self, client: str, role: Role, seconds: float | None) -> str:
        return add_token(self.path, client, role, seconds)

    def entries(self) -> Mapping[str, Entry]:
        return {digest[:ID]: entry for digest, entry in read_tokens(self.path).items()}

    def revoke(self, id_: str) -> bool:
        gone = revoke(self.path, id_=id_) > 0
        self._looked = -LOOK_AGAIN  # not a second longer
        return gone

    def _of(self, digest: str) -> Identity | None:
        self._refresh()
        who, ends = self._known.get(digest, (None, 0.0))
        return who if time.time() < ends else None

    def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._looked + LOOK_AGAIN:
            return
        self._looked = now
        stamp = self._stamp_now()
        if stamp != self._stamp:
            try:
                self._known = _known(self.path)
            except ModelError:
                return
            self._by_client, self._stamp = _by_client(self._known), stamp

    def _stamp_now(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def _known(path: Path) -> Mapping[str, tuple[Identity, float]]:
    return {
        digest: (Identity(entry.client, entry.role, digest), entry.ends) for digest, entry in read_tokens(path).items()
    }


def _by_client(known: Mapping[str, tuple[Identity, float]]) -> Mapping[str, list[tuple[Identity, float]]]:
    found: dict[str, list[tuple[Identity, float]]] = {}
    for who, ends in known.values():
        found.setdefault(who.client, []).append((who, ends))
    return found


def read_tokens(path: Path | str) -> dict[str, Entry]:
    """All that a file knows, by the hash of each token."""
    try:
        found = msgspec.json.decode(Path(path).read_bytes(), type=dict[str, Entry])
        for entry in found.values():
            _ = entry.ends
    except OSError as error:
        raise ModelError(f"tokens cannot be read: {error}") from None
    except (msgspec.DecodeError, UnicodeError, ModelError) as error:
        raise ModelError(f"{path} is not a file of tokens: {error}") from None
    return {digest.lower(): entry for digest, entry in found.items()}


def add_token(path: Path | str, client: str, role: Role = Role.CLIENT, seconds: float | None = None) -> str:
    """A new token for a client, added to the file, for so long. This is the only time that the token is known."""
    out_subject(client)
    token, now = secrets.token_urlsafe(24), time.time()
    expires = "" if seconds is None else time_text(round((now + seconds) * MICROS))
    with _changing(Path(path)) as known:
        known[_digest(token)] = Entry(client, role, time_text(round(now * MICROS)), expires, _bcrypt(token))
    return token


def revoke(path: Path | str, *, id_: str = "", client: str = "") -> int:
    """Take away the token of an id, or all of a client. Says how many there were."""
    with _changing(Path(path)) as known:
        gone = [
            digest
            for digest, entry in known.items()
            if (id_ and digest.startswith(id_) and len(id_) >= ID) or (client and entry.client == client)
        ]
        for digest in gone:
            del known[digest]
    return len(gone)


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, Entry]]:
    """The file's content, to be changed, one process at a time. A reader finds the old file or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(os.open(path.with_name(path.name + ".lock"), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as lock:  # noqa: PTH123
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read_tokens(path) if path.exists() else {}
        yield known
        new = path.with_name(path.name + ".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123
            file.write(msgspec.json.format(msgspec.json.encode(known), indent=1))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)


def _bcrypt(token: str) -> str:
    """At the least cost: a token is random, and nobody guesses one out of 2¹⁹²."""
    return bcrypt.hashpw(token.encode(), bcrypt.gensalt(4, b"2a")).decode()


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
