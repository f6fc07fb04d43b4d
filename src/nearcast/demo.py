"""The demonstration: a bundled trace of buses, some stops, and a few standing subscriptions, matched on Spark."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from nearcast.check import statement_ops
from nearcast.language.oplog import encode_op
from nearcast.language.parse import parse_publication
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.moment import MICROS, parse_time, time_text
from nearcast.model.notification import Notification
from nearcast.model.shape import Point
from nearcast.model.statement import Publication

__all__ = ["INTRODUCTION", "fixes", "line", "op_log", "run"]

INTRODUCTION = """Forty minutes of buses in downtown Austin, matched on Spark.
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


def run() -> tuple[list[Notification], dict[str, Any]]:
    """What the buses told, by time, and the summary of the job: a backtest like any other."""
    from nearcast.stream.backtest import Backtest, run_backtest  # noqa: PLC0415  # Spark is heavy
    from nearcast.stream.session import spark_session  # noqa: PLC0415
    from nearcast.stream.tables import read_notifications  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="nearcast-demo-") as folder:
        log, out = Path(folder) / "ops.jsonl", Path(folder) / "out"
        log.write_bytes(b"".join(encode_op(op) + b"\n" for op in op_log()))
        summary = run_backtest(spark_session("nearcast demo"), Backtest(out, log=[str(log)]))
        told = read_notifications(out)
    return sorted(told, key=lambda n: (n.time, n.subscriber, n.order)), summary


def fixes() -> int:
    return sum(isinstance(op, ops.Move) for op in op_log())


def line(n: Notification) -> str:
    where = f" at {n.region}" if n.region else ""
    return f"{time_text(n.time)[11:19]}  {n.subscriber:10}  {n.kind.value:5}  {n.publisher}{where}  ({n.reason.value})"
