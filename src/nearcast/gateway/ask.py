"""Questions to the broker that tells, over NATS. Its refusals become HTTP's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from nats import errors as client_errors

from nearcast.errors import GatewayError
from nearcast.gateway.commit import Placed
from nearcast.gateway.link import Link
from nearcast.gateway.pace import Applying
from nearcast.log.subjects import TOOK, ask_subject

__all__ = ["PATIENCE", "Broker", "Refused", "State"]

PATIENCE = 11.0
"""Seconds for a broker to answer. It waits ten for a packet to be applied."""
HEALTHY = 3.0
"""Seconds after which one that does not say how it is counts as away."""
AGAIN = 0.1
"""Seconds before one that was not there is asked again."""
KNOWN = 1.0
"""Seconds for which it is known how a broker is. Whoever asks meanwhile, and anyone may, is told the same."""


class Refused(msgspec.Struct):
    """An op of a packet that the kernel did not take, or the whole packet."""

    index: int | None = None
    kind: str = ""
    reason: str = ""


class _Applied(msgspec.Struct):
    refused: list[Refused] = []
    warnings: list[str] = []


class State(msgspec.Struct):
    """What matches now for a client, as notifications, and the last sequence that was told before."""

    sequence: int
    notifications: list[msgspec.Raw] = []


class _Error(msgspec.Struct):
    error: str
    kind: str = ""


_LATER = {"Busy", "Timeout", "Forgotten"}
"""What a broker says that cannot answer just then,"""
_SILENT = "Silent"
"""and one that fell silent before it could."""
_encoder, _error = msgspec.json.Encoder(), msgspec.json.Decoder(_Error)
_applying = msgspec.json.Decoder(Applying)


class Broker:
    def __init__(self, link: Link, patience: float = PATIENCE) -> None:
        self._link, self._patience = link, patience
        self._health: asyncio.Task[bytes | None] | None = None
        self._known_until = 0.0

    async def ask(self, what: str, *, charge: Callable[[int], None] | None = None, **asked: Any) -> bytes:
        """The answer as it came. What the broker refuses is a 422; if it cannot answer, a 503. ``charge`` is told how
        many microseconds either took it.

        While one broker takes over from another nobody answers, which takes two or three seconds and is waited for.
        """
        until = time.monotonic() + self._patience
        while True:
            try:
                return await self._asked(what, asked, self._patience, charge)
            except client_errors.NoRespondersError:
                if time.monotonic() > until:
                    raise GatewayError(503, "no broker is there to answer; try again", retry_after=2) from None
            except (client_errors.Error, OSError) as error:
                raise GatewayError(503, f"the broker did not answer ({type(error).__name__})", retry_after=2) from None
            await asyncio.sleep(AGAIN)

    async def health(self) -> bytes | None:
        """How the broker was within the last second; None if none answers at once."""
        if self._health is None or (self._health.done() and time.monotonic() > self._known_until):
            self._health = asyncio.create_task(self._ask_health())
        return await asyncio.shield(self._health)

    async def _ask_health(self) -> bytes | None:
        try:
            return await self._asked("health", {}, HEALTHY)
        except (client_errors.Error, OSError, GatewayError):
            return None
        finally:
            self._known_until = time.monotonic() + KNOWN

    async def pace(self) -> Applying:
        """How far the broker is; 503 if none answers at once."""
        try:
            return _applying.decode(await self._asked("pace", {}, HEALTHY))
        except (client_errors.Error, OSError, msgspec.DecodeError) as error:
            raise GatewayError(503, f"no broker says how far it is ({type(error).__name__})", retry_after=1) from None

    async def _asked(
        self, what: str, asked: dict[str, Any], patience: float, charge: Callable[[int], None] | None = None
    ) -> bytes:
        request = _encoder.encode(asked)
        reply = await self._link.log.client.request(ask_subject(what), request, timeout=patience)
        answer = reply.data
        if charge is not None:
            charge(int((reply.headers or {}).get(TOOK, "0")))
        if answer.startswith(b'{"error"'):
            said = _error.decode(answer)
            if said.kind == _SILENT:
                raise client_errors.NoRespondersError
            if said.kind in _LATER:
                raise GatewayError(503, said.error, retry_after=1)
            raise GatewayError(422, said.error)
        return answer

    async def check(self, placed: Placed, status: int = 422, statement: Mapping[str, str] | None = None) -> list[str]:
        """Wait until an op is applied, and raise if it was refused: with 404 where only what is not there can be. Of a
        statement it gives what is to be said."""
        try:
            asked: dict[str, Any] = {"after": placed.sequence, **(statement or {})}
            answer = await self.ask("applied", **asked)
        except GatewayError as error:
            if error.status == 503:
                reason = f"it is in the log as {placed.sequence}, but {error.reason}, so whether it holds is not known"
                raise GatewayError(503, reason, retry_after=error.retry_after) from None
            raise
        applied = msgspec.json.decode(answer, type=_Applied)
        for refused in applied.refused:
            if refused.index in (placed.index, None):
                raise GatewayError(status, refused.reason)
        return applied.warnings

    async def state(self, client: str, charge: Callable[[int], None] | None = None) -> State:
        return msgspec.json.decode(await self.ask("state", charge=charge, client=client), type=State)
