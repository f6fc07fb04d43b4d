"""Who may have events sent. A webhook is held while whoever made it has no token that allows it any more."""

from __future__ import annotations

import time
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
        self._may: frozenset[tuple[str, bool]] = frozenset()
        """Clients whose tokens allow it, and whether for others, too."""
        if path is not None:
            self._may = _allowed(path)

    def has_changed(self) -> bool:
        """Whether others may than when it was asked before."""
        if self._path is None:
            return False
        try:
            before, self._may = self._may, _allowed(self._path)
        except ModelError:
            return False
        return self._may != before

    def may(self, client: str, hook: Hook) -> bool:
        if self._path is None:
            return True
        is_own = hook.by == client and (hook.by, False) in self._may
        return is_own or (hook.by, True) in self._may


def _allowed(path: Path) -> frozenset[tuple[str, bool]]:
    now = time.time()
    return frozenset(
        (entry.client, Action.ACT_FOR in GRANTS[entry.role])
        for entry in read_tokens(path).values()
        if entry.ends > now and Action.HOOK in GRANTS[entry.role]
    )
