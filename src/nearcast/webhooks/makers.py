"""Who may have events sent. A webhook is held while whoever made it has no token that allows it any more."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from nearcast.errors import ModelError
from nearcast.gateway.grants import GRANTS, Action, Role
from nearcast.gateway.hooks import Hook, is_held
from nearcast.gateway.identity import read_tokens

__all__ = ["Makers"]


class Makers:
    """As a file of tokens has it; without one, everyone may. A file that cannot be read leaves what was known."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._tokens: list[tuple[str, Role, float]] = []
        """Of each that allows it: the client, what it is for, and when it ends."""
        self._roles: dict[str, set[Role]] = {}
        """Of each client, what those are for that hold now."""
        if path is not None:
            self._read(path)
            self._roles = self._valid()

    def has_changed(self) -> bool:
        """Whether others may than when it was asked before: a token was made, revoked, or has ended."""
        if self._path is None:
            return False
        with suppress(OSError, ModelError):
            self._read(self._path)
        before, self._roles = self._roles, self._valid()
        return self._roles != before

    def may(self, client: str, hook: Hook) -> bool:
        return self._path is None or not is_held(client, hook, self._roles.get(hook.by, ()))

    def _read(self, path: Path) -> None:
        found = path.stat() if path.exists() else None
        stamp = None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp is None or stamp != self._stamp:
            self._tokens = [
                (entry.client, entry.role, entry.ends)
                for entry in read_tokens(path).values()
                if Action.HOOK in GRANTS[entry.role]
            ]
            self._stamp = stamp

    def _valid(self) -> dict[str, set[Role]]:
        now = time.time()
        found: dict[str, set[Role]] = {}
        for client, role, ends in self._tokens:
            if ends > now:
                found.setdefault(client, set()).add(role)
        return found
