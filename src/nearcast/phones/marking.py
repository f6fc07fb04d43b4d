"""From the waypoints that phones share to subscriptions, and from what a device has no more to their removal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from nearcast.errors import GatewayError
from nearcast.gateway.ask import Broker
from nearcast.gateway.commit import Placed
from nearcast.gateway.formats import op_line, when
from nearcast.phones.messages import Heard
from nearcast.phones.register import Mark, Phone
from nearcast.phones.waypoints import ANYWHERE, PREFIX, subscribed, waypoint_text

__all__ = ["Marking"]

WAYPOINTS = 200
"""Of one client."""
HASTE = 2.0
"""Seconds for a broker to answer while all phones wait."""


class _Client(msgspec.Struct):
    attributes: dict[str, Any] = {}


class Marking:
    def __init__(
        self,
        broker: Broker,
        ahead: int,
        placed: int,
        commit: Callable[[list[bytes]], Awaitable[Placed]],
        save: Callable[[Phone], Awaitable[None]],
        count: Callable[[str, str], None],
    ) -> None:
        """``placed`` is a packet that came after all that the register knows. ``commit`` writes to the log, ``save`` to
        the register, both until it is done; ``count`` notes a refusal."""
        self._broker, self._ahead, self._placed = broker, ahead, placed
        self._commit, self._save, self._count = commit, save, count
        self._has_layer = False
        self._checking: set[asyncio.Task[None]] = set()

    async def mark(self, phone: Phone, device: str, heard: Heard) -> bool:
        """A subscription for each circle, also for one that is known: it may have been removed by another door, and
        where it was not, nothing is told again. Says whether one went.

        What is written is noted then. After a crash between the two, the message comes again.
        """
        marks = dict(phone.waypoints)
        gone = _gone(marks, device, heard)
        for name in gone:
            del marks[name]
        ops: list[dict[str, Any]] = [{"op": "unsubscribe", "id": PREFIX + name} for name in gone]
        for waypoint in heard.waypoints:
            if waypoint.radius <= 0:
                continue
            if waypoint.name not in marks and len(marks) >= WAYPOINTS:
                self._count("too many waypoints", f"{phone.client!r} has {WAYPOINTS} already")
                continue
            mark = Mark(waypoint_text(waypoint), waypoint.made, device, waypoint.rid, waypoint.radius)
            ops.append({"op": "subscribe", "id": PREFIX + waypoint.name, "text": mark.text})
            marks[waypoint.name] = mark
        if not ops:
            return False
        placed = await self._write(phone.client, ops)
        before, phone.waypoints = phone.waypoints, marks
        if gone:
            phone.unsettled = placed.sequence
        if gone or marks != before:
            await self._save(phone)
        return bool(gone)

    async def let_go(self, phone: Phone) -> bool:
        """Of waypoints that were removed by another door. Says whether there were some."""
        known = dict(phone.waypoints)
        there = await subscribed(self._broker, phone.client, self._placed)
        # One that was shared while the broker was asked is another mark by now.
        gone = [name for name, mark in known.items() if name not in there and phone.waypoints.get(name) is mark]
        if not gone:
            return False
        phone.waypoints = {name: mark for name, mark in phone.waypoints.items() if name not in gone}
        phone.unsettled = phone.unsettled or 1
        await self._save(phone)
        return True

    async def clear(self, client: str, phone: Phone | None) -> None:
        """What was on its way while a client was forgotten is taken back; ``phone`` is what has come since."""
        async with asyncio.timeout(HASTE):
            there = await subscribed(self._broker, client, self._placed)
            said = msgspec.json.decode(await self._broker.ask("client", client=client), type=_Client)
        known = phone.waypoints if phone is not None else {}
        ops: list[dict[str, Any]] = [{"op": "unsubscribe", "id": PREFIX + name} for name in there - known.keys()]
        if not known and "waypoint" in said.attributes:
            ops.append({"op": "client", "attributes": {"waypoint": None}})
        if ops:
            await self._write(client, ops)

    async def _write(self, client: str, ops: Iterable[dict[str, Any]]) -> Placed:
        now = when(None, time.time_ns() // 1000, self._ahead)
        lines = [op_line({**op, "time": now, "client": client}) for op in ops]
        if not self._has_layer:  # once: where it is there already, this changes nothing
            lines.insert(0, op_line({"op": "layer", "time": now, "text": f"LAYER '{ANYWHERE}' ('here' AT POINT(0 0))"}))
        placed = await self._commit(lines)
        self._has_layer, self._placed = True, placed.sequence
        checking = asyncio.create_task(self._check(client, placed))
        self._checking.add(checking)
        checking.add_done_callback(self._checking.discard)
        return placed

    async def _check(self, client: str, placed: Placed) -> None:
        """Whether the kernel took it. Nobody waits for that: a broker may be away for a while."""
        try:
            await self._broker.check(placed)
        except GatewayError as error:
            if error.status != 503:
                self._count("refused", f"{client!r}: {error}")


def _gone(marks: dict[str, Mark], device: str, heard: Heard) -> list[str]:
    """Of a device's waypoints those that have another name now, have no radius, or are not among all that it has.

    A time is what an app knows a waypoint by. Who says none knows it by its name.
    """
    kept = {waypoint.name for waypoint in heard.waypoints if waypoint.radius > 0}
    empty = {waypoint.name for waypoint in heard.waypoints if waypoint.radius <= 0}
    made = {waypoint.made for waypoint in heard.waypoints if waypoint.made}
    return [
        name
        for name, mark in marks.items()
        if name not in kept and mark.device == device and (heard.are_all or name in empty or mark.made in made)
    ]
