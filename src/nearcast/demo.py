"""The demonstration: a bundled trace of buses, some stops, and a few standing subscriptions."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from nearcast.check import statement_ops
from nearcast.language.parse import parse_publication
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.moment import MICROS, parse_time, time_text
from nearcast.model.notification import Notification
from nearcast.model.shape import Point
from nearcast.model.statement import Publication

__all__ = ["INTRODUCTION", "fixes", "line", "notifications", "op_log"]

INTRODUCTION = """Forty minutes of buses in downtown Austin, matched by the reference engine.
  dispatcher  hears of every bus that stands at a stop for a minute or more
  rider       wants the 801 within 700 m, at most every ten minutes
  board       shows the nearest bus
"""
TICK = MICROS
DATA = Path(str(resources.files("nearcast") / "data"))


def op_log() -> Iterator[ops.Op]:
    """The statements, then every bus and its fixes in order of time, with a tick every second."""
    rows = list(csv.DictReader((DATA / "austin_buses.csv").read_text(encoding="utf-8").splitlines()))
    start = parse_time(rows[0]["time"])
    yield from statement_ops((DATA / "austin.lacl").read_text(encoding="utf-8"), DATA, start)
    seen: set[str] = set()
    time, ticked = start, start
    for row in rows:
        time, client = parse_time(row["time"]), row["client"]
        while ticked + TICK <= time:
            ticked += TICK
            yield ops.Tick(ticked)
        if client not in seen:
            seen.add(client)
            bus = parse_publication(f"PUBLISH AS bus (route = '{row['route']}')")
            yield ops.Publish(time, Publication("self", client, bus.regions))
        yield ops.Move(time, client, Position(Point(float(row["lon"]), float(row["lat"]))))
    yield ops.Tick(time)


def notifications() -> Iterator[Notification]:
    reference = Reference()
    for op in op_log():
        yield from reference.apply(op)


def fixes() -> int:
    return sum(isinstance(op, ops.Move) for op in op_log())


def line(n: Notification) -> str:
    where = f" at {n.region}" if n.region else ""
    return f"{time_text(n.time)[11:19]}  {n.subscriber:10}  {n.kind.value:5}  {n.publisher}{where}  ({n.reason.value})"
