"""Waypoints as the broker has them: each is a subscription of the client's own. It is asked which there are, and which
of them a client is in, since they can be removed by any door, and nobody is told of that.
"""

from __future__ import annotations

import msgspec

from nearcast.gateway.ask import Broker, State
from nearcast.phones.messages import Waypoint

__all__ = ["ANYWHERE", "PREFIX", "Standing", "name_of", "standing", "subscribed", "waypoint_text"]

ANYWHERE = "nearcast/anywhere"
"""A layer with one region. Whoever subscribes to it matches or not by where it is itself, and by nothing else."""
PREFIX = "waypoint/"
"""What the ids of subscriptions for waypoints begin with."""
_ANY = "SELECT"
"""A statement that a client may always have: what is weighed is of no interest, only what there is already."""


class _About(msgspec.Struct):
    subscription: str


class _Ids(msgspec.Struct):
    subscriptions: list[str]


class Standing(msgspec.Struct):
    """The waypoints that a client is in."""

    names: list[str]
    sequence: int
    """The last notification that was told before."""


def waypoint_text(waypoint: Waypoint) -> str:
    """The subscription by which a client is told that it enters and leaves a circle. Nobody else learns of that."""
    circle = f"DISC({waypoint.lon:.7f} {waypoint.lat:.7f}, {waypoint.radius:.1f} m)"
    return f"SELECT FROM LAYER '{ANYWHERE}' WHERE #location IN {circle}"


def name_of(subscription: str) -> str | None:
    """The waypoint that a subscription is for, if it is for one."""
    return subscription.removeprefix(PREFIX) if subscription.startswith(PREFIX) else None


async def subscribed(broker: Broker, client: str, after: int) -> set[str]:
    """The waypoints that a client has, once a packet is applied."""
    # A broker has the ids of one client's statements at hand; for their texts it looks at everyone's.
    answer = await broker.ask("weigh", client=client, text=_ANY, after=after)
    return _names(msgspec.json.decode(answer, type=_Ids).subscriptions)


async def standing(broker: Broker, client: str, after: int | None) -> Standing:
    """Those of them that it is in."""
    state = msgspec.json.decode(await broker.ask("state", client=client, after=after), type=State)
    about = [msgspec.json.decode(told, type=_About).subscription for told in state.notifications]
    return Standing(sorted(_names(about)), state.sequence)


def _names(subscriptions: list[str]) -> set[str]:
    return {name for each in subscriptions if (name := name_of(each)) is not None}
