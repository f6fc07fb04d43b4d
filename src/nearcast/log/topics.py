"""Where phones speak and hear over MQTT: topics as OwnTracks has them, and the subjects that NATS makes of them.

A topic is ``owntracks/<client>/<device>``, and what is about it has one level more: ``…/event``. A client's id is a
level as it is, but for what a level cannot hold, which is escaped as in a URL: ``acme/bus 7`` is ``acme%2Fbus%207``.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from nearcast.errors import LogError
from nearcast.log.subjects import LONGEST

__all__ = ["ROOT", "Topic", "level_of", "read_topic", "subject_of", "topic_of"]

ROOT = "owntracks"
HARD = frozenset("/+#%*> ")
"""What separates levels, stands for others in MQTT or in NATS, or escapes."""
_DOTS = re.compile(r"^\.|\.$|\.(?=\.)")
"""Dots that NATS could take for something else."""


class Topic(NamedTuple):
    client: str
    device: str
    about: str = ""
    """What it is about: ``event``, ``waypoint``, …; nothing for a position."""


def level_of(client: str) -> str:
    """A client's id as one level of a topic. `read_topic` reads it back."""
    level = "".join(c if c.isprintable() and c not in HARD else _escaped(c) for c in client)
    level = _DOTS.sub("%2E", level)
    if not 0 < len(level.encode()) <= LONGEST:
        raise LogError(f"a client needs an id that takes 1 to {LONGEST} bytes in a topic, not {len(level.encode())}")
    return level


def _escaped(character: str) -> str:
    return quote(character, safe="", errors="surrogatepass")


def topic_of(client: str, device: str, about: str = "") -> str:
    """The device as it named itself, which came as a level."""
    return "/".join((ROOT, level_of(client), device, *([about] if about else ())))


def subject_of(client: str) -> str:
    """What NATS calls the level of a client: dots are taken there."""
    return f"{ROOT}.{level_of(client).replace('.', '//')}"


def read_topic(topic: str) -> Topic | None:
    """What a topic says; None if it is none of ours."""
    root, *levels = topic.split("/")
    if root != ROOT or not 2 <= len(levels) <= 3 or not all(levels):
        return None
    return Topic(unquote(levels[0], errors="surrogatepass"), *levels[1:])
