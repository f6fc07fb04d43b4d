"""A small driver around the reference, so that a test reads as a story: who said what when, and who heard.

Times are seconds. The location space is planar unless asked otherwise, so that distances are plain numbers. A
thorough twin, which asks everything again after each op, and a kernel take the same ops and must always say the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from nearcast.errors import NearcastError
from nearcast.language.oplog import statement_to_op
from nearcast.language.parse import parse, parse_publication, parse_subscription
from nearcast.match.kernel import Kernel
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.constraint import Scalar
from nearcast.model.fix import Position
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.layer import Layer
from nearcast.model.moment import MICROS, micros
from nearcast.model.notification import Notification
from nearcast.model.shape import Point
from nearcast.model.statement import Publication, Subscription

__all__ = ["PLANAR", "Row", "System", "boxes", "heard", "owned_publication", "owned_subscription", "square"]

PLANAR = "SPACE location (x real, y real, z real) METRIC planar"

Row = tuple[str, str, str, str, float]
"""(kind, subscription, what it is about, reason, seconds).

What it is about reads ``shop/ad`` for a publication, ``van/self@yard`` for a publication in a region,
``zones@yard`` for a region of a layer, ``close:ann~bob`` for a pair of a relation.
"""


class System:
    def __init__(self, *, planar: bool = True, lateness: float = 0) -> None:
        self.reference = Reference(lateness=micros(lateness))
        self.kernel = Kernel(lateness=micros(lateness))
        self._others = (Reference(lateness=micros(lateness), thorough=True), self.kernel)
        self.last: list[Notification] = []
        """All that the last op told."""
        self.log: list[Notification] = []
        if planar:
            self.define(PLANAR, -1e9)

    def apply(self, op: ops.Op) -> list[Row]:
        try:
            told = self.reference.apply(op)
        except NearcastError as error:
            for other in self._others:
                with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                    other.apply(op)
            raise
        thorough, kernel = (other.apply(op) for other in self._others)
        assert told == thorough, "asking only what was touched gives another answer than asking everything"
        assert told == kernel, "the kernel gives another answer than the reference"
        self.last = told
        self.log += told
        return [row(n) for n in told]

    @property
    def stale(self) -> int:
        return self.reference.counts["stale"]

    # ---- everyone's ops --------------------------------------------------------------------------

    def define(self, text: str, t: float = 0) -> list[Row]:
        """Any statement that belongs to nobody: SPACE, PLACE, LAYER, RELATION, DROP."""
        op = statement_to_op(parse(text), micros(t))
        assert op is not None
        return self.apply(op)

    def layer(self, name: str, t: float = 0, **zones: tuple[float, float, float, float]) -> list[Row]:
        """A layer of boxes (west, south, east, north) by name."""
        return self.apply(ops.DefineLayer(micros(t), boxes(name, zones)))

    def patch(
        self, name: str, t: float, drop: tuple[str, ...] = (), **zones: tuple[float, float, float, float]
    ) -> list[Row]:
        return self.apply(ops.DefineLayer(micros(t), boxes(name, zones), patch=True, drop=drop))

    def tick(self, t: float) -> list[Row]:
        return self.apply(ops.Tick(micros(t)))

    # ---- a client's ops --------------------------------------------------------------------------

    def publish(self, client: str, id_: str, text: str = "PUBLISH", t: float = 0) -> list[Row]:
        return self.apply(ops.Publish(micros(t), owned_publication(client, id_, text)))

    def retract(self, client: str, id_: str, t: float) -> list[Row]:
        return self.apply(ops.Retract(micros(t), client, id_))

    def subscribe(self, client: str, id_: str, text: str, t: float = 0) -> list[Row]:
        return self.apply(ops.Subscribe(micros(t), owned_subscription(client, id_, text)))

    def unsubscribe(self, client: str, id_: str, t: float) -> list[Row]:
        return self.apply(ops.Unsubscribe(micros(t), client, id_))

    def move(
        self, client: str, x: float, y: float, t: float, *, alt: float | None = None, floor: float | None = None,
        place: str | None = None, accuracy: float | None = None,
    ) -> list[Row]:  # fmt: skip
        return self.apply(ops.Move(micros(t), client, Position(Point(x, y), place, alt, floor, accuracy)))

    def move_to(self, client: str, place: str, t: float) -> list[Row]:
        """A position that is a place and no coordinate."""
        return self.apply(ops.Move(micros(t), client, Position(place=place)))

    def client(
        self, client: str, t: float = 0, *, lease: float | None = None, lateness: float | None = None,
        **attributes: Scalar | None,
    ) -> list[Row]:  # fmt: skip
        waits = (None if v is None else micros(v) for v in (lease, lateness))
        return self.apply(ops.SetClient(micros(t), client, attributes, *waits))

    def forget(self, client: str, t: float) -> list[Row]:
        return self.apply(ops.Forget(micros(t), client))

    def emit(self, client: str, publication: str, value: Scalar, t: float, **more: Scalar) -> list[Row]:
        values: Mapping[str, Scalar] = {"value": value, **more}
        return self.apply(ops.Emit(micros(t), client, publication, values))


def owned_publication(client: str, id_: str, text: str) -> Publication:
    return replace(parse_publication(text), id=id_, owner=client)


def owned_subscription(client: str, id_: str, text: str) -> Subscription:
    return replace(parse_subscription(text), id=id_, owner=client)


def row(n: Notification) -> Row:
    about = n.publication if n.publisher is None else f"{n.publisher}/{n.publication}"
    if n.peer is not None:
        about = f"{n.publication}:{n.publisher}~{n.peer}"
    if n.region is not None:
        about += f"@{n.region}"
    return (n.kind.value, n.subscription, about, n.reason.value, n.time / MICROS)


def heard(rows: list[Row]) -> list[tuple[str, str]]:
    """Only the kinds and what they are about, for tests that are not about reasons and times."""
    return [(kind, about) for kind, _, about, _, _ in rows]


def square(x: float, y: float, half: float = 1) -> tuple[float, float, float, float]:
    """The box around a point."""
    return (x - half, y - half, x + half, y + half)


def boxes(name: str, zones: Mapping[str, tuple[float, float, float, float]]) -> Layer:
    features = [
        {"type": "Feature", "id": zone, "properties": {}, "geometry": {"type": "Polygon", "coordinates": [[
            [west, south], [east, south], [east, north], [west, north], [west, south],
        ]]}}
        for zone, (west, south, east, north) in zones.items()
    ]  # fmt: skip
    return layer_from_geojson(name, features)
