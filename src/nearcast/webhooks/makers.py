"""Who may have events sent. A webhook is held while whoever made it has no token that allows it any more."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from nearcast.errors import ModelError
from nearcast.gateway.grants import GRANTS, Action
from nearcast.gateway.hooks import Hook
from nearcast.gateway.identity import read_tokens

__all__ = ["Makers"]


class Makers:
    """As a file of tokens has it; without one, everyone may. A file that cannot be read leaves what was known."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._tokens: list[tuple[str, bool, float]] = []
        """Of each that allows it: the client, whether for others, too, and when it ends."""
        self._may: frozenset[tuple[str, bool]] = frozenset()
        """Clients whose tokens allow it, and whether for others, too."""
        if path is not None:
            self._read(path)
            self._may = self._allowed()

    def has_changed(self) -> bool:
        """Whether others may than when it was asked before: a token was made, revoked, or has ended."""
        if self._path is None:
            return False
        with suppress(OSError, ModelError):
            self._read(self._path)
        before, self._may = self._may, self._allowed()
        return self._may != before

    def may(self, client: str, hook: Hook) -> bool:
        if self._path is None:
            return True
        is_own = hook.by == client and (hook.by, False) in self._may
        return is_own or (hook.by, True) in self._may

    def _read(self, path: Path) -> None:
        found = path.stat() if path.exists() else None
        stamp = None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp is None or stamp != self._stamp:
            self._tokens = [
                (entry.client, Action.ACT_FOR in GRANTS[entry.role], entry.ends)
                for entry in read_tokens(path).values()
                if Action.HOOK in GRANTS[entry.role]
            ]
            self._stamp = stamp

    def _allowed(self) -> frozenset[tuple[str, bool]]:
        now = time.time()
        return frozenset((client, for_others) for client, for_others, ends in self._tokens if ends > now)
