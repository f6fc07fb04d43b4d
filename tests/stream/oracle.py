"""What a file of fixes means, in plain Python: the log that it stands for, which the reference then answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from nearcast.language.oplog import decode_op, encode_op
from nearcast.match.reference import Reference
from nearcast.match.share import Plan
from nearcast.model import op as ops
from nearcast.model.constraint import Scalar
from nearcast.model.fix import Position
from nearcast.model.statement import Publication
from nearcast.stream.decode import FixDecoder
from nearcast.stream.job import Job
from nearcast.stream.packets import unpack
from nearcast.stream.pipeline import OPEN
from nearcast.stream.route import Router, share_keys
from nearcast.stream.shard import Shard
from tests.stream.test_backtest import rows_of

__all__ = ["Given", "columns_of", "log_of", "matched", "rows_told"]


@dataclass(frozen=True)
class Given:
    """A row of a file of fixes; the time is in microseconds."""

    client: str
    time: int
    position: Position
    attributes: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def order(self) -> tuple[object, ...]:
        return (*self.position.order, json.dumps(dict(self.attributes)))


def log_of(definitions: Sequence[ops.Op], given: Sequence[Given]) -> list[ops.Op]:
    """Everyone is published with their first fix; statements hold from the first of all; time ends with the last."""
    least: dict[tuple[int, bytes], Given] = {}
    for row in given:
        key = row.time, row.client.encode()
        least[key] = min(least.get(key, row), row, key=lambda r: r.order)
    times = [time for time, _ in least]
    log = [replace(op, time=min(times, default=0)) for op in definitions]
    said: dict[str, dict[str, Scalar]] = {}
    open_already = {(op.client, op.publication.id) for op in definitions if isinstance(op, ops.Publish)}
    for _, row in sorted(least.items(), key=lambda item: item[0]):
        if row.client not in said and (row.client, OPEN) not in open_already:
            log.append(ops.Publish(row.time, Publication(OPEN, row.client)))
        known = said.setdefault(row.client, {})
        if changed := {name: v for name, v in row.attributes.items() if repr(known.get(name)) != repr(v)}:
            log.append(ops.SetClient(row.time, row.client, changed))
            known |= changed
        log.append(ops.Move(row.time, row.client, row.position))
    return [*log, *([ops.Tick(max(times))] if times else [])]


def rows_told(definitions: Sequence[ops.Op], given: Sequence[Given], lateness: int = 0) -> list[str]:
    """What the reference tells of it, as `rows_in` gives what a backtest told."""
    reference = Reference(lateness)
    return rows_of([n for op in log_of(definitions, given) for n in reference.apply(decode_op(encode_op(op)))])


def columns_of(given: Sequence[Given]) -> dict[str, list[Any]]:
    """The columns of a file, times in microseconds."""
    names = dict.fromkeys(name for row in given for name in row.attributes)
    rows = [
        {
            "client": row.client, "time": row.time, "lon": row.position.point and row.position.point.x,
            "lat": row.position.point and row.position.point.y, "alt": row.position.altitude,
            "floor": row.position.floor, "accuracy": row.position.accuracy, "place": row.position.place,
            **dict.fromkeys(names), **row.attributes,
        }
        for row in given
    ]  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def matched(
    decoder: FixDecoder, definitions: Sequence[ops.Op], batches: Sequence[pa.RecordBatch], plan: Plan, lateness: int = 0
) -> tuple[list[str], Counter[str]]:
    """What the shares of a job tell, one after another and without Spark."""
    router = Router(plan, share_keys(len(plan.shares), len(plan.shares)))
    packets: dict[int, list[pa.RecordBatch]] = {key: [] for key in router.keys}
    times: list[int] = []
    for batch in batches:
        moves, bad = decoder(batch)
        assert not bad
        times += moves["time"].view(pa.int64()).to_pylist()
        for packet in router.packets(moves, ("", 0, 0)):
            packets[packet["key"][0].as_py()] += unpack([packet["payload"][0].as_buffer()])
    told: list[str] = []
    counts: Counter[str] = Counter()
    job = Job(plan, "", lateness, OPEN)
    stamped = [decode_op(encode_op(replace(op, time=min(times, default=0)))) for op in definitions]
    for key, share in zip(router.keys, plan.shares, strict=True):
        shard = Shard(job, share)
        parts = [shard.begin(stamped), *shard.take_fixes(packets[key]), *([shard.tick(max(times))] if times else [])]
        told += [json.dumps({**row, "why": None}, default=str) for part in parts for row in part.to_pylist()]
        counts += shard.counts
        assert not shard.refused
    return sorted(told), counts
