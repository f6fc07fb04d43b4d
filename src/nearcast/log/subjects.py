"""What streams, subjects and headers are called: one place, since writers and readers must agree."""

from __future__ import annotations

from urllib.parse import quote, unquote

from nearcast.errors import LogError

__all__ = [
    "AHEAD_SUBJECT",
    "ASK_SUBJECTS",
    "BATCH",
    "BROKER",
    "CURSORS",
    "CUTS",
    "FORMAT",
    "HOOKS",
    "HOOK_CURSORS",
    "KEYS",
    "LAYERS",
    "LAYER_NAMES",
    "LEASES",
    "LETTERS",
    "LETTER_SUBJECTS",
    "OPS_STREAM",
    "OPS_SUBJECT",
    "ORDINAL",
    "OUT_STREAM",
    "OUT_SUBJECTS",
    "PHONES",
    "SNAPSHOTS",
    "TOOK",
    "ask_subject",
    "bucket_key",
    "client_of_subject",
    "hook_subject",
    "letter_subject",
    "out_subject",
]

OPS_STREAM = "nearcast-ops"
OPS_SUBJECT = "nearcast.ops"
OUT_STREAM = "nearcast-out"
OUT_SUBJECTS = "nearcast.out.*"
AHEAD_SUBJECT = "nearcast.ahead"
"""Where what is about to be written into the stream is said at once, many in a message."""
LEASES = "nearcast-leases"
"""The bucket of what only one process may do at a time."""
BROKER = "nearcast-broker"
"""The bucket of what brokers know of each other: the snapshots that there are, and how far was told."""
SNAPSHOTS = "nearcast-snapshots"
"""The bucket of the snapshots themselves, by their hashes."""
CURSORS = "nearcast-cursors"
"""The bucket of the last sequence that each client has."""
CUTS = "nearcast-cuts"
"""The bucket of where clients were cut that had too much of the stream of notifications."""
ASK_SUBJECTS = "nearcast.ask.*"
"""Where the broker that tells is asked."""
LAYERS = "nearcast-layers"
"""The bucket of layers as they were given, each under the hash of its content."""
LAYER_NAMES = "nearcast-layer-names"
"""The bucket of which of them a layer holds."""
HOOKS = "nearcast-webhooks"
"""The bucket of the webhooks of each client, with their secrets."""
HOOK_CURSORS = "nearcast-webhook-cursors"
"""The bucket of how far each webhook is, and what trouble it has."""
LETTERS = "nearcast-dead-letters"
"""The stream of events that a webhook gave up."""
LETTER_SUBJECTS = "nearcast.dead.*"
KEYS = "nearcast-keys"
"""The bucket of the key that hides places in the stream of notifications from those who are shown them."""
PHONES = "nearcast-phones"
"""The bucket of the devices and waypoints of each client that comes by MQTT."""

FORMAT = "Nearcast-Format"
"""The header that says how a packet of ops is written."""
BATCH = "Nearcast-Batch"
"""The header that says which batch told a notification."""
ORDINAL = "Nearcast-Ordinal"
"""The header that says which of its batch a notification is, from 0."""
TOOK = "Nearcast-Took"
"""The header that says how many microseconds of the processor an answer took."""

LONGEST = 1024
"""Bytes of a token. A server takes 4,096 for a whole line of its protocol."""


def ask_subject(question: str) -> str:
    """Where the broker is asked a question, by its name."""
    return ASK_SUBJECTS.removesuffix("*") + question


def hook_subject(question: str) -> str:
    """Where the process that delivers to webhooks is asked a question, by its name."""
    return f"nearcast.webhooks.{question}"


def letter_subject(number: str) -> str:
    """Where the dead letters of a webhook go."""
    return LETTER_SUBJECTS.removesuffix("*") + number


def out_subject(client: str) -> str:
    """Where the notifications of a client go. Any text makes one token, which `client_of_subject` reads back."""
    token = quote(client, safe="", errors="surrogatepass").replace(".", "%2E")
    if not 0 < len(token) <= LONGEST:
        raise LogError(f"a client needs an id that takes 1 to {LONGEST} bytes in a subject, not {len(token)}")
    return OUT_SUBJECTS.removesuffix("*") + token


def client_of_subject(subject: str) -> str:
    """Whose notifications a subject carries."""
    prefix = OUT_SUBJECTS.removesuffix("*")
    if not subject.startswith(prefix):
        raise LogError(f"{subject!r} is not a subject of notifications; those begin with {prefix!r}")
    return unquote(subject.removeprefix(prefix), errors="surrogatepass")


def bucket_key(subject: str) -> str:
    """The last part of a subject, as a key of a bucket, which takes fewer characters."""
    return subject.rpartition(".")[2].replace("%", "=").replace("~", "=7E")
