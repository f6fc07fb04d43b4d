"""From what clients are told to transitions, for each device that was heard of.

How far each client has been told is in the bucket of cursors, and is written when the server has the transitions. So
nothing is left out, whatever dies; what was told and not noted is told again, with the same id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from nearcast.errors import NearcastError
from nearcast.gateway.delivery import Feed, Hub
from nearcast.gateway.events import Event
from nearcast.gateway.outbox import Cursors
from nearcast.log.ending import end
from nearcast.log.topics import topic_of
from nearcast.phones.messages import Scalar, transition
from nearcast.phones.reading import CURSOR, PREFIX
from nearcast.phones.register import Register
from nearcast.phones.session import Session

__all__ = ["Telling"]

QUIET = 60.0
"""Seconds after which a client that is told nothing is looked after: its cursor follows the stream."""
FAR = 1000
"""Notifications of others after which that is worth a write."""
AGAIN = 1.0
"""Seconds before what did not work is tried again."""
logger = logging.getLogger(__name__)


class Telling:
    def __init__(
        self,
        register: Register,
        hub: Hub,
        cursors: Cursors,
        session: Session,
        where: Callable[[str], tuple[float, float, float] | None],
        say: Callable[[str, Mapping[str, Scalar | None]], Awaitable[None]],
    ) -> None:
        """``where`` a client is; ``say`` writes what is known of it."""
        self._register, self._hub, self._cursors, self._session = register, hub, cursors, session
        self._where, self._say = where, say
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._feeds: set[Feed] = set()
        self._is_closed = False
        self._inside: dict[str, list[str]] = {}
        """The waypoints that clients are in, in the order in which they entered them."""

    def begin(self, client: str) -> None:
        """Tell a client from now on, or from where it was left."""
        if client not in self._tasks:
            self._tasks[client] = asyncio.create_task(self._run(client), name=f"nearcast phones {client}")

    async def close(self) -> None:
        """Until nobody is told any more."""
        self._is_closed = True
        for feed in list(self._feeds):
            feed.close()
        await end(*self._tasks.values())

    async def _run(self, client: str) -> None:
        while not self._is_closed:
            try:
                await self._tell(client)
            except NearcastError as error:
                logger.warning("%r is told later: %s", client, error)
            await asyncio.sleep(AGAIN)

    async def _tell(self, client: str) -> None:
        phone = self._register.phones[client]
        kept = max(phone.since, await self._cursors.read(CURSOR + client))
        with self._hub.listen(client, kept) as feed:
            self._feeds.add(feed)
            try:
                while not feed.is_closed:
                    events = await feed.take(QUIET)
                    for event in events:
                        await self._pass_on(client, event)
                    reached = events[-1].sequence if events else feed.reached
                    if events or reached > kept + FAR:
                        await self._cursors.write(CURSOR + client, reached, anyway=reached < kept)
                        kept = reached
            finally:
                self._feeds.discard(feed)

    async def _pass_on(self, client: str, event: Event) -> None:
        told = msgspec.json.decode(event.body)["data"]
        if "kind" not in told:
            return
        phone = self._register.phones[client]
        name = told["subscription"].removeprefix(PREFIX) if told["subscription"].startswith(PREFIX) else None
        mark = phone.waypoints.get(name) if name is not None else None
        waypoint = (name, mark.made, mark.rid) if name is not None and mark is not None else None
        telling = []
        for device, known in phone.devices.items():
            said = transition(told, known.tid or device[-2:], waypoint, self._where(client))
            if said is None:
                return
            telling.append(self._session.tell(topic_of(client, device, "event"), said))
        await asyncio.gather(*telling)
        if name is not None:
            await self._say(client, {"waypoint": self._entered(client, name, told)})

    def _entered(self, client: str, name: str, told: dict[str, Any]) -> str | None:
        """The waypoint that a client is in; of several, the one that it entered last."""
        inside = [other for other in self._inside.pop(client, []) if other != name]
        if told["kind"] != "leave":
            inside.append(name)
        if inside:
            self._inside[client] = inside
        return inside[-1] if inside else None
