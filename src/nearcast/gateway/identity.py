"""Who is asking. A bearer token names a client and its role; the client's id comes from there and from nowhere else.

A file holds the SHA-256 of each token, never the token, so whoever reads it cannot speak for anyone.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec

from nearcast.errors import GatewayError, LogError, ModelError
from nearcast.log.subjects import out_subject

__all__ = ["Identities", "Identity", "Role", "TokenFile", "add_token"]

LOOK_AGAIN = 1.0
"""Seconds after which a file of tokens is looked at again."""


SHORT = 85
"""Characters that make a subject in any case, which need not be tried for every fix of a fleet."""


class Role(StrEnum):
    CLIENT = "client"
    OPERATOR = "operator"
    """May define spaces, places, layers and relations, and act for any client."""


@dataclass(frozen=True, slots=True)
class Identity:
    client: str
    role: Role = Role.CLIENT

    @property
    def is_operator(self) -> bool:
        return self.role is Role.OPERATOR

    def acting_for(self, named: str | None, field: str = "client") -> str:
        """The client that an op is of: one's own, or, for an operator, whoever is named."""
        if not named or named == self.client:
            return self.client
        if not self.is_operator:
            raise GatewayError(403, f"this token is for {self.client!r}; it cannot act for another client", field)
        if len(named) > SHORT:
            _check_length(named, field)
        return named

    def must_operate(self) -> None:
        if not self.is_operator:
            raise GatewayError(403, "only an operator's token may do this")


def _check_length(named: str, field: str) -> None:
    try:
        out_subject(named)
    except LogError as error:
        raise GatewayError(422, str(error), field) from None


class Identities(Protocol):
    """Where tokens are known."""

    def identify(self, token: str) -> Identity | None:
        """Whose token it is; None if it is nobody's."""


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    client: str
    role: Role = Role.CLIENT


class TokenFile:
    """Tokens of a JSON file: ``{sha256 of the token, in hex: {"client": id, "role": "client" or "operator"}}``.

    A file that has changed is read again within a second; one that cannot be read leaves what was known.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._known = _read(self.path)
        self._stamp = self._stamp_now()
        self._looked = time.monotonic()

    def identify(self, token: str) -> Identity | None:
        self._refresh()
        digest = _digest(token)
        found = self._known.get(digest)
        if found is None or not hmac.compare_digest(found[0], digest):
            return None
        return found[1]

    def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._looked + LOOK_AGAIN:
            return
        self._looked = now
        stamp = self._stamp_now()
        if stamp != self._stamp:
            try:
                self._known = _read(self.path)
            except ModelError:
                return
            self._stamp = stamp

    def _stamp_now(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def add_token(path: Path | str, client: str, role: Role = Role.CLIENT) -> str:
    """A new token for a client, added to the file. This is the only time that the token is known."""
    out_subject(client)
    path, token = Path(path), secrets.token_urlsafe(24)
    known = (
        {digest: {"client": who.client, "role": who.role} for digest, who in _read(path).values()}
        if (path.exists())
        else {}
    )
    known[_digest(token)] = {"client": client, "role": role}
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(known, file, indent=1)
    new.replace(path)
    return token


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> Mapping[str, tuple[str, Identity]]:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, _Entry])
    except OSError as error:
        raise ModelError(f"tokens cannot be read: {error}") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ModelError(f"{path} is not a file of tokens: {error}") from None
    return {digest.lower(): (digest.lower(), Identity(who.client, who.role)) for digest, who in found.items()}
