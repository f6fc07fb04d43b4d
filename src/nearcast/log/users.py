"""Who may connect to a NATS server of one's own, and what each may say and hear there.

The log, the notifications of everyone and the questions to the broker are subjects of one server. So a server that
others can reach asks for a name and a password, and gives each no more subjects than are its own.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

__all__ = ["INTERNAL", "Listener", "User", "password_of", "with_credentials"]

INTERNAL = "nearcast"
"""Our own processes, which may do everything."""
PASSWORD = "password"


@dataclass(frozen=True, slots=True)
class User:
    """One who may connect. Without subjects it may do nothing; None is all of them."""

    name: str
    password: str
    """As it is, or as bcrypt has it."""
    publish: tuple[str, ...] | None = ()
    subscribe: tuple[str, ...] | None = ()
    kinds: tuple[str, ...] = ()
    """How it may connect: STANDARD, WEBSOCKET, MQTT; in any way if there are none."""
    withheld: tuple[str, ...] = ()
    """Of what it may publish, what it may not."""

    def settings(self) -> dict[str, Any]:
        """As the server's configuration has it."""
        said: dict[str, Any] = {"user": self.name, "password": self.password}
        limits = {"publish": self.publish, "subscribe": self.subscribe}
        permissions: dict[str, dict[str, Any]] = {
            name: {"allow": list(subjects)} if subjects else {"deny": ">"}
            for name, subjects in limits.items()
            if subjects is not None
        }
        if self.publish and self.withheld:
            permissions["publish"]["deny"] = list(self.withheld)
        if permissions:
            said["permissions"] = permissions
        if self.kinds:
            said["allowed_connection_types"] = list(self.kinds)
        return said


@dataclass(frozen=True, slots=True)
class Listener:
    """Where a server listens for others than its own machine, and the certificate that it shows them."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 is any that is free."""
    cert: Path | None = None
    key: Path | None = None

    def settings(self) -> dict[str, Any]:
        said: dict[str, Any] = {"listen": f"{self.bracketed}:{self.port or -1}"}
        if self.cert is not None:
            said["tls"] = {"cert_file": str(self.cert.absolute()), "key_file": str((self.key or self.cert).absolute())}
        return said

    @property
    def bracketed(self) -> str:
        """The host as a URL has it."""
        return f"[{self.host}]" if ":" in self.host else self.host


def password_of(folder: Path, *, make: bool = False) -> str | None:
    """The password of our own processes, in a file that only its owner can read. One that is missing can be made."""
    path = folder / PASSWORD
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        if not make:
            return None
    folder.mkdir(parents=True, exist_ok=True)
    made, new = secrets.token_urlsafe(32), path.with_name(f"{PASSWORD}.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(made + "\n")
    new.replace(path)
    return made


def with_credentials(url: str, password: str | None, user: str = INTERNAL) -> str:
    """A URL with a name and a password in it. Whoever shows it takes them out again."""
    if password is None:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}:{password}@{parts.netloc.rpartition('@')[2]}"))
