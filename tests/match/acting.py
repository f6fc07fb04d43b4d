"""A few clients who do something at random, all the time, in a small place, so that they meet."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.match.harness import System

__all__ = ["YARDS", "act"]

CLIENTS, IDS = ("ann", "bob", "cat", "dog"), ("p", "q")
SPOTS = [(x, y) for x in (0, 3, 6, 20) for y in (0, 4)]
YARDS = ("PLACE yard AT DISC(0 0, 4 m)", "PLACE yard AT DISC(6 0, 4 m)")

Text = Callable[[Random], str]
"""Of a statement."""


def act(s: System, random: Random, t: float, publication: Text, subscription: Text) -> None:
    """Somebody does something."""
    client, id_ = random.choice(CLIENTS), random.choice(IDS)
    match random.choices(range(9), (50, 10, 15, 5, 5, 4, 3, 2, 6))[0]:
        case 0:
            s.move(client, *random.choice(SPOTS), t)
        case 1:
            s.publish(client, id_, publication(random), t)
        case 2:
            s.subscribe(client, id_, subscription(random), t)
        case 3:
            s.retract(client, id_, t)
        case 4:
            s.unsubscribe(client, id_, t)
        case 5:
            s.client(client, t, lease=random.choice((4, 20)))
        case 6:
            s.forget(client, t)
        case 7:
            s.define(random.choice(YARDS), t)
        case _:
            s.tick(t)
