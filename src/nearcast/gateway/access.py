"""Who may connect to the NATS server, by NATS itself or by MQTT, and what each may say and hear there.

It follows from the file of tokens, and from the same grants as what each may do over HTTP. So a token that is revoked,
or has ended, opens no door.

- By MQTT one comes in through the door of `nearcast.phones`, which knows whose a token is. To the server it presents a
  password that only our own processes can make, so nobody gets past it.
- By NATS an operator comes as ``nats/<client>`` with the token as password, and hears what anyone is told. A further
  token of the same client has its id (`token_id`) behind that: ``nats/ann/3f9a01c2b4d5``. Nobody else does, since the
  headers of messages say how many there are of all (see `seal`).
"""

from __future__ import annotations

import hmac
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from nearcast.errors import LogError, ModelError
from nearcast.gateway.grants import GRANTS, Action
from nearcast.gateway.identity import ID, Entry, read_tokens
from nearcast.log.subjects import OUT_SUBJECTS, out_subject
from nearcast.log.topics import ROOT, subject_of
from nearcast.log.users import User

__all__ = ["Access", "mqtt_name", "mqtt_password", "users_of"]

NATIVE = ("STANDARD", "WEBSOCKET")
DELIVERY = ("$MQTT.sub.>", "$MQTT.deliver.pubrel.>")
"""Where the server itself passes messages of QoS 1 and 2 on to a session. Nobody can name them in a topic."""


def mqtt_name(digest: str) -> str:
    """What the server calls whoever has the token of a hash."""
    return f"mqtt/{digest}"


def mqtt_password(secret: str, digest: str) -> str:
    """What opens the server's own MQTT door for the token of a hash, to whoever knows our processes' password."""
    return hmac.new(secret.encode(), digest.encode(), "sha256").hexdigest()


def users_of(tokens: Mapping[str, Entry], secret: str, now: float) -> list[User]:
    """Those who may connect at a time, in seconds since 1970."""
    users: dict[str, User] = {}
    for digest, entry in tokens.items():
        if entry.ends <= now:
            continue
        for user in (*_by_mqtt(digest, entry, secret), *_by_nats(digest, entry, users)):
            users.setdefault(user.name, user)
    return list(users.values())


def _by_mqtt(digest: str, entry: Entry, secret: str) -> Iterator[User]:
    may, name, password = GRANTS[entry.role], mqtt_name(digest), mqtt_password(secret, digest)
    try:
        own = ROOT if Action.ACT_FOR in may else subject_of(entry.client)
    except LogError:
        return
    publish = (f"{own}.>",) if Action.MOVE in may else ()
    subscribe = (own, f"{own}.>", *DELIVERY) if Action.LISTEN in may else ()
    withheld = () if Action.SUBSCRIBE in may else tuple(f"{own}.*.{about}" for about in ("waypoint", "waypoints"))
    if publish or subscribe:
        yield User(name, password, publish, subscribe, ("MQTT",), withheld)


def _by_nats(digest: str, entry: Entry, known: Mapping[str, User]) -> Iterator[User]:
    may, name = GRANTS[entry.role], f"nats/{entry.client}"
    if not entry.bcrypt or not {Action.LISTEN, Action.ACT_FOR} <= may or not name.isprintable():
        return
    inbox = f"_INBOX_{out_subject(entry.client).rpartition('.')[2]}.>"
    if name in known:
        name = f"{name}/{digest[:ID]}"
    yield User(name, entry.bcrypt, (), (OUT_SUBJECTS, inbox), NATIVE)


class Access:
    """Those who may connect, as a file of tokens has it at the time. A file that cannot be read changes nothing."""

    def __init__(self, path: Path, secret: str) -> None:
        self._path, self._secret = path, secret
        self._stamp: tuple[int, int, int] | None = None
        self._tokens: Mapping[str, Entry] = {}
        self._until = math.inf
        """When the next token ends."""
        self.users: list[User] = []
        self.has_changed()

    def has_changed(self) -> bool:
        """Whether others may connect than when it was asked before."""
        now = time.time()
        if not self._has_read() and now < self._until:
            return False
        self._until = min((entry.ends for entry in self._tokens.values() if entry.ends > now), default=math.inf)
        before, self.users = self.users, users_of(self._tokens, self._secret, now)
        return self.users != before

    def _has_read(self) -> bool:
        try:
            found = self._path.stat()
            stamp = found.st_mtime_ns, found.st_size, found.st_ino
            if stamp == self._stamp:
                return False
            self._tokens, self._stamp = read_tokens(self._path), stamp
        except (OSError, ModelError):
            return False
        return True
