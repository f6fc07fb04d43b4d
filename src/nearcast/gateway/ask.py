"""Questions to the broker that tells, over NATS. Its refusals become HTTP's."""

from __future__ import annotations

from typing import Any

import msgspec
from nats import errors as client_errors

from nearcast.errors import GatewayError
from nearcast.gateway.commit import Placed
from nearcast.gateway.link import Link
from nearcast.log.subjects import ask_subject

__all__ = ["Broker", "Refused", "State"]

PATIENCE = 5.0
"""Seconds for a broker to answer. One that takes over needs two or three."""


class Refused(msgspec.Struct):
    """An op of a packet that the kernel did not take."""

    index: int
    kind: str = ""
    reason: str = ""


class _Applied(msgspec.Struct):
    refused: list[Refused] = []


class State(msgspec.Struct):
    """What matches now for a client, as notifications, and the last sequence that was told before."""

    sequence: int
    notifications: list[msgspec.Raw] = []


class _Error(msgspec.Struct):
    error: str
    kind: str = ""


_UNKNOWN = {"UnknownName", "NotFound", "KeyError"}
_encoder, _error = msgspec.json.Encoder(), msgspec.json.Decoder(_Error)


class Broker:
    def __init__(self, link: Link, patience: float = PATIENCE) -> None:
        self._link, self._patience = link, patience

    async def ask(self, what: str, **asked: Any) -> bytes:
        """The answer as it came. An error of the broker is a 404 or a 422; one that does not answer is a 503."""
        client = self._link.log.client
        try:
            answer = await client.request(ask_subject(what), _encoder.encode(asked), timeout=self._patience)
        except client_errors.NoRespondersError:
            raise GatewayError(503, "no broker is there to answer; try again", retry_after=2) from None
        except (client_errors.Error, OSError) as error:
            raise GatewayError(503, f"the broker did not answer ({type(error).__name__})", retry_after=2) from None
        if answer.data.startswith(b'{"error"'):
            said = _error.decode(answer.data)
            raise GatewayError(404 if said.kind in _UNKNOWN else 422, said.error)
        return answer.data

    async def check(self, placed: Placed, missing: int = 422) -> None:
        """Wait until an op is applied, and raise if it was refused. ``missing`` is the status if a name is unknown."""
        try:
            answer = await self.ask("applied", after=placed.sequence)
        except GatewayError as error:
            if error.status == 503:
                reason = f"it is in the log as {placed.sequence}, but {error.reason}, so whether it holds is not known"
                raise GatewayError(503, reason, retry_after=error.retry_after) from None
            raise
        for refused in msgspec.json.decode(answer, type=_Applied).refused:
            if refused.index == placed.index:
                raise GatewayError(missing if refused.kind in {"UnknownName", "OpError"} else 422, refused.reason)

    async def state(self, client: str) -> State:
        return msgspec.json.decode(await self.ask("state", client=client), type=State)
