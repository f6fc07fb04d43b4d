"""A packet of the log into a kernel: what it told, as messages, and which of its ops were refused.

What is told is what `feed.apply_batch` tells. A packet of nothing but fixes is applied without making Arrow of it, and
a single fix takes a quarter of the time: 0.2 ms instead of 0.9.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nearcast.broker.lines import batch_messages, run_messages
from nearcast.errors import NearcastError
from nearcast.feed import apply_batch, notification_batch, stretches
from nearcast.log.packet import Packet, PlainFix, decode, plain_fixes
from nearcast.log.telling import Told as Message
from nearcast.match.kernel import Kernel
from nearcast.model.fix import Position
from nearcast.model.moment import parse_time
from nearcast.model.notification import Notification
from nearcast.model.op import Move
from nearcast.model.shape import FARTHEST, Point
from nearcast.model.space import Metric

__all__ = ["Applied", "Fault", "Refusal", "apply_each", "apply_packet"]

REASON = 500
"""Characters of why an op was refused, which brokers remember: whoever wrote it may have put a long name there."""
BESIDE = 200
"""Bytes that one takes beside its texts."""
FAULTY = "the broker fails at this op, and goes on without it; its log says how"
Reals = npt.NDArray[np.float64]


class Fault(Exception):
    """An op at which a kernel failed; what it left of the kernel is of no use."""

    def __init__(self, index: int) -> None:
        super().__init__(f"op {index}")
        self.index = index


@dataclass(frozen=True, slots=True)
class Refusal:
    """An op that changed nothing, or a whole packet that cannot be read: then it has no index."""

    index: int | None
    kind: str
    """What the op is called in its line; nothing if that cannot be read."""
    reason: str

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return BESIDE + len(self.kind) + len(self.reason)


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of a packet."""

    ops: int
    told: list[Message]
    refused: list[Refusal]


def apply_packet(kernel: Kernel, packet: Packet) -> Applied:
    """Apply a packet whole. Whatever is wrong with it, the kernel can go on with the next."""
    fixes = plain_fixes(packet)
    if fixes and (applied := _apply_fixes(kernel, fixes)) is not None:
        return applied
    try:
        batch = decode(*packet)
    except NearcastError as error:
        return Applied(0, [], [_refusal(None, "packet", str(error))])
    told_batch, refused = apply_batch(kernel, batch, on_error="skip")
    return Applied(len(batch), batch_messages(told_batch), _refusals(batch, refused))


def apply_each(kernel: Kernel, packet: Packet, faulty: set[int]) -> Applied:
    """The same, op by op, without those that are known to be faulty. Raises `Fault` at another."""
    try:
        batch = decode(*packet)
    except NearcastError as error:
        return Applied(0, [], [_refusal(None, "packet", str(error))])
    applied = Applied(len(batch), [], [])
    for index in range(len(batch)):
        one = batch.slice(index, 1)
        if index in faulty:
            applied.refused.append(Refusal(index, _kind(one["line"][0].as_py()), FAULTY))
            continue
        try:
            told_batch, refused = apply_batch(kernel, one, on_error="skip")
        except MemoryError:  # no fault of the op
            raise
        except Exception as error:
            raise Fault(index) from error
        applied.told.extend(batch_messages(told_batch))
        applied.refused.extend(replace(refusal, index=index) for refusal in _refusals(one, refused))
    return applied


def _refusals(batch: pa.RecordBatch, refused: pa.RecordBatch) -> list[Refusal]:
    return [
        _refusal(row["row"], _kind(batch["line"][row["row"]].as_py()), row["reason"]) for row in refused.to_pylist()
    ]


def _refusal(index: int | None, kind: str, reason: str) -> Refusal:
    return Refusal(index, kind[:REASON], reason if len(reason) <= REASON else f"{reason[: REASON - 1]}…")


def _kind(line: str | None) -> str:
    if line is None:
        return "move"
    try:
        return str(json.loads(line)["op"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


# ---- fixes -----------------------------------------------------------------------------------------------


def _apply_fixes(kernel: Kernel, fixes: list[PlainFix]) -> Applied | None:
    """Apply fixes as the feed would. Nothing is done, and nothing given, if that is not certain to be the same."""
    try:
        times = [parse_time(fix.time) for fix in fixes]
    except NearcastError:
        return None
    clients, position = [fix.client for fix in fixes], _positions(fixes)
    is_plain = all(clients) and all(fix.place is None for fix in fixes)
    if not is_plain or not _are_sound(position, kernel.world.metric):
        return None
    rows, time = kernel.clients.rows(clients), np.array(times, np.int64)
    applied, runs = Applied(len(fixes), [], []), kernel.can_run(rows)
    for a, b in stretches(runs):
        if runs[a]:
            applied.told.extend(run_messages(kernel.run(rows[a:b], time[a:b], position[a:b])))
        else:
            _one_by_one(kernel, fixes, times, range(a, b), applied)
    return applied


def _positions(fixes: list[PlainFix]) -> Reals:
    """x, y, altitude, floor and accuracy, by fix."""
    found = np.full((len(fixes), 5), np.nan)
    found[:, 0] = [fix.lon for fix in fixes]
    found[:, 1] = [fix.lat for fix in fixes]
    if any(fix.alt is not None or fix.floor is not None or fix.accuracy is not None for fix in fixes):
        found[:, 2:] = [(fix.alt, fix.floor, fix.accuracy) for fix in fixes]
    return found


def _are_sound(position: Reals, metric: Metric) -> bool:
    """Whether nobody would refuse one of them. JSON has no number that is not one: what is none here was not given."""
    x, y = (180, 90) if metric is Metric.EARTH else (FARTHEST, FARTHEST)
    near = (np.abs(position[:, :2]) <= (x, y)).all()
    return bool(near and not np.isinf(position).any() and not (position[:, 4] < 0).any())


def _one_by_one(kernel: Kernel, fixes: list[PlainFix], times: list[int], some: range, applied: Applied) -> None:
    told: list[Notification] = []
    for index in some:
        fix = fixes[index]
        position = Position(Point(fix.lon, fix.lat), None, fix.alt, fix.floor, fix.accuracy)
        try:
            told += kernel.apply(Move(times[index], fix.client, position))
        except NearcastError as error:
            applied.refused.append(_refusal(index, "move", str(error)))
    if told:
        applied.told.extend(batch_messages(notification_batch(told)))
