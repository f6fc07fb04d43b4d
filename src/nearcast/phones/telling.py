"""From what clients are told to transitions, for each device that was heard of.

How far each client has been told is in the bucket of cursors, and is written when the server has the transitions. So
nothing is left out, whatever dies; what was told and not noted is told again, with the same id.

The client's attribute ``waypoint`` follows what it is told. Where that does not suffice the broker is asked how things
stand: at first, after a gap, and when a waypoint was removed, of which nobody is told.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from nearcast.errors import GatewayError, NearcastError
from nearcast.gateway.ask import Broker
from nearcast.gateway.delivery import Feed, Hub
from nearcast.gateway.events import Event
from nearcast.gateway.outbox import Cursors
from nearcast.log.ending import end
from nearcast.log.topics import topic_of
from nearcast.phones.messages import EVENTS, Scalar, transition
from nearcast.phones.register import Forgotten, Phone, Register
from nearcast.phones.session import Session
from nearcast.phones.waypoints import Standing, name_of, standing

__all__ = ["Telling", "Tools"]

QUIET = 60.0
"""Seconds after which a client that is told nothing is looked after: its cursor follows the stream."""
LOOK = 300.0
"""Seconds between two looks at whether a client's waypoints are still there: other doors may remove them."""
LOOKING = 16
"""Clients that the broker is asked about at a time."""
FAR = 1000
"""Notifications of others after which that is worth a write."""
AGAIN, LATE = 1.0, 60.0
"""Seconds before what did not work is tried again: at first, and at most."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tools:
    """What telling needs of others."""

    register: Register
    hub: Hub
    cursors: Cursors
    session: Session
    broker: Broker
    where: Callable[[str], tuple[float, float, float] | None]
    """Where a client is."""
    say: Callable[[str, Mapping[str, Scalar | None]], Awaitable[None]]
    """Writes what is known of a client."""
    let_go: Callable[[Phone], Awaitable[bool]]
    """Of waypoints that were removed by another door. Says whether there were some."""


class Telling:
    def __init__(self, tools: Tools) -> None:
        self._tools, self._looking = tools, asyncio.Semaphore(LOOKING)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._feeds: dict[str, Feed] = {}
        self._is_closed = False
        self._inside: dict[str, Standing] = {}
        """The waypoints that clients are in, in the order in which they entered them, as far as that is known."""
        self._doubtful: set[str] = set()
        """Clients of which that is not known."""

    def begin(self, client: str) -> None:
        """Tell a client from now on, or from where it was left."""
        if client not in self._tasks:
            self._tasks[client] = asyncio.create_task(self._run(client), name=f"nearcast phones {client}")

    def settle(self, client: str) -> None:
        """A waypoint of the client went: it is `Phone.unsettled`, and whoever tells it has to look."""
        if client in self._feeds:
            self._feeds[client].fall_behind()

    async def forget(self, client: str) -> None:
        """Nothing is told to a client any more, until it begins again."""
        self._inside.pop(client, None)
        self._doubtful.discard(client)
        task = self._tasks.pop(client, None)
        if task is not None:
            await end(task)

    async def close(self) -> None:
        """Until nobody is told any more."""
        self._is_closed = True
        for feed in list(self._feeds.values()):
            feed.close()
        await end(*self._tasks.values())

    # ---- one client ------------------------------------------------------------------------------

    async def _run(self, client: str) -> None:
        faults = 0
        while not self._is_closed:
            began = time.monotonic()
            try:
                await self._tell(client)
            except NearcastError as error:
                logger.warning("%r is told later: %s", client, error)
            except Forgotten:
                logger.info("%r was forgotten", client)
            except Exception:  # whatever it is, the client is not to be left alone for good
                logger.exception("%r is told later", client)
                faults = faults + 1 if time.monotonic() < began + LATE else 0
            await asyncio.sleep(min(LATE, AGAIN * 2**faults))

    async def _tell(self, client: str) -> None:
        phone = self._tools.register.phones.get(client)
        if phone is None:
            raise Forgotten
        kept = max(phone.since, await self._tools.cursors.read(client))
        look = 0.0
        with self._tools.hub.listen(client, kept) as feed:
            self._feeds[client] = feed
            try:
                while not feed.is_closed:
                    if time.monotonic() >= look:
                        await self._look(phone)
                        look = time.monotonic() + LOOK * random.uniform(0.5, 1.0)  # not all at once
                    await self._settle(phone)
                    events = await feed.take(QUIET)
                    for event in events:
                        await self._pass_on(phone, event)
                    await self._settle(phone)
                    reached = events[-1].sequence if events else feed.reached
                    if events or reached > kept + FAR:
                        await self._tools.cursors.write(client, reached, anyway=reached < kept)
                        kept = reached
            finally:
                if self._feeds.get(client) is feed:
                    del self._feeds[client]

    async def _pass_on(self, phone: Phone, event: Event) -> None:
        told = msgspec.json.decode(event.body)["data"]
        if told["kind"] == "gap":
            self._doubtful.add(phone.client)  # it may have left something, and is not told
        if told["kind"] not in EVENTS:
            return
        try:
            saying = self._saying(phone, told)
        except Exception:  # it would come again and again, and nothing after it
            logger.exception("event %s cannot be told to %r", event.id, phone.client)
            return
        await asyncio.gather(*(self._tools.session.tell(topic, said) for topic, said in saying))
        name = name_of(told["subscription"])
        if name is not None:
            await self._turn(phone.client, name, told["kind"], event.sequence)

    def _saying(self, phone: Phone, told: dict[str, Any]) -> list[tuple[str, bytes]]:
        """A transition for each device, with its topic."""
        name = name_of(told["subscription"])
        mark = phone.waypoints.get(name) if name is not None else None
        waypoint = (name, mark.made, mark.rid) if name is not None and mark is not None else None
        at = self._tools.where(phone.client)
        return [
            (topic_of(phone.client, device, "event"), said)
            for device, known in phone.devices.items()
            if (said := transition(told, known.tid or device[-2:], waypoint, at)) is not None
        ]

    # ---- which waypoint a client is in -----------------------------------------------------------

    async def _turn(self, client: str, name: str, kind: str, sequence: int) -> None:
        """What was told before the broker was asked counts already. It only says which came last."""
        inside = self._inside.get(client)
        if inside is None:
            self._doubtful.add(client)
            return
        is_in = kind != "leave" if sequence > inside.sequence else name in inside.names
        if sequence > inside.sequence or (is_in and kind == "enter"):
            inside.names = [*(other for other in inside.names if other != name), *([name] if is_in else [])]
        await self._say(client)

    async def _say(self, client: str) -> None:
        """Of several waypoints, the one that it entered last."""
        names = self._inside[client].names
        await self._tools.say(client, {"waypoint": names[-1] if names else None})

    async def _look(self, phone: Phone) -> None:
        if phone.waypoints:
            with suppress(NearcastError):  # then at the next look
                async with self._looking:
                    await self._tools.let_go(phone)

    async def _settle(self, phone: Phone) -> None:
        """If it is in doubt which waypoints a client is in, ask, and say it."""
        client, packet = phone.client, phone.unsettled
        if not packet and client not in self._doubtful:
            return
        found = await self._standing(phone, packet or None)
        before = self._inside[client].names if client in self._inside else []
        found.names.sort(key=lambda name: (name in before and before.index(name) + 1, -_radius(phone, name)))
        self._inside[client] = found
        await self._say(client)
        self._doubtful.discard(client)
        if packet and phone.unsettled == packet:
            phone.unsettled = 0
            await self._tools.register.save(phone)

    async def _standing(self, phone: Phone, after: int | None) -> Standing:
        """Until the broker is there. Of what it cannot say, what is known here is taken."""
        while True:
            try:
                async with self._looking:
                    return await standing(self._tools.broker, phone.client, after)
            except GatewayError as error:
                logger.warning("where %r is: %s", phone.client, error)
                if error.status != 503:
                    known = self._inside.get(phone.client, Standing([], 0))
                    return Standing([name for name in known.names if name in phone.waypoints], known.sequence)
            await asyncio.sleep(AGAIN)


def _radius(phone: Phone, name: str) -> float:
    """Who is in two circles, and it is not known since when, entered the wider one first."""
    return phone.waypoints[name].radius if name in phone.waypoints else 0.0
