"""Tokens over HTTP, for operators: made, listed by id, revoked. A token is only in the answer that makes it."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from nearcast.errors import GatewayError, LogError
from nearcast.gateway.call import Call, answer
from nearcast.gateway.grants import Role

__all__ = ["Gone", "Made", "Token", "Tokens", "Wanted", "delete_token", "get_tokens", "post_token"]


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """A token that there should be."""

    client: str
    role: Role = Role.CLIENT
    seconds: float | None = None
    """How long it is good for; for ever unless told."""


class Token(msgspec.Struct):
    """What is known of a token. Its id opens nothing."""

    id: str
    client: str
    role: Role
    issued: str
    expires: str


class Tokens(msgspec.Struct):
    tokens: list[Token]


class Made(msgspec.Struct):
    token: str
    client: str
    role: Role


class Gone(msgspec.Struct):
    id: str


async def post_token(call: Call) -> Response:
    wanted = await call.decoded(Wanted)
    if wanted.seconds is not None and not 0 < wanted.seconds <= 10**10:
        raise GatewayError(422, "a token is good for some seconds, at most 10 billion", "seconds")
    try:
        token = call.gateway.identities.issue(wanted.client, wanted.role, wanted.seconds)
    except LogError as error:
        raise GatewayError(422, str(error), "client") from None
    return answer(Made(token, wanted.client, wanted.role), 201)


async def get_tokens(call: Call) -> Response:
    known = call.gateway.identities.entries()
    return answer(Tokens([Token(id_, e.client, e.role, e.issued, e.expires) for id_, e in known.items()]))


async def delete_token(call: Call) -> Response:
    """Whoever has it finds every door closed at once, and what is open is closed with the next event or heartbeat."""
    id_ = call.named("id")
    if not call.gateway.identities.revoke(id_):
        raise GatewayError(404, f"there is no token {id_!r:.40}", "id")
    return answer(Gone(id_))
