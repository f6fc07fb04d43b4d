"""nearcast: location-aware publish/subscribe.

Things that move and things that stay publish where they are and what they are like. Clients hold standing
subscriptions and hear something only when the answer changes.

    model/      what is said: spaces, regions, places, statements, ops, notifications
    language/   text ⇄ model
    match/      ops → notifications: the reference is the definition
    feed        ops as Arrow batches in, notifications out
    snapshot    the state of a kernel on disk, and back
    log/        ops on NATS
    broker/     the log applied as it grows, and what follows told within milliseconds
    gateway/    HTTP, server-sent events and WebSocket in front of the log
    client      a client of the gateway, for programs
    serve       a NATS server, brokers and a gateway, each a process that is kept running
    stream/     Spark places the kernel: backtests, streams, and tables over what they read and tell
    testing     strategies that make random statements and logs
    cli         the command ``nearcast``, with live_cli for what speaks with a gateway

Dependencies point one way: model ← language, match ← log, stream ← broker, gateway ← serve ← cli.
The names below are the public ones.
"""

from typing import TYPE_CHECKING, Any

from nearcast.errors import GatewayError, GeometryError, LanguageError, ModelError, NearcastError, OpError, UnknownName
from nearcast.language.format import shape_of, statement_text
from nearcast.language.oplog import decode_op, encode_notification, encode_op
from nearcast.language.parse import parse, parse_statements
from nearcast.match.explain import explain
from nearcast.match.reference import Reference
from nearcast.model.notification import Notification

if TYPE_CHECKING:
    from nearcast.client import Client

__all__ = [
    "Client",
    "GatewayError",
    "GeometryError",
    "LanguageError",
    "ModelError",
    "NearcastError",
    "Notification",
    "OpError",
    "Reference",
    "UnknownName",
    "decode_op",
    "encode_notification",
    "encode_op",
    "explain",
    "parse",
    "parse_statements",
    "shape_of",
    "statement_text",
]


def __getattr__(name: str) -> Any:
    """The client is loaded by whoever uses it: workers and the core need nothing that speaks HTTP."""
    if name == "Client":
        from nearcast.client import Client  # noqa: PLC0415

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
