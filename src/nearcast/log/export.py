"""The log as a file: a line an op, in order, as a backtest, a replay or a backup needs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from nearcast.errors import NearcastError
from nearcast.log.client import Log
from nearcast.log.packet import LINES, decode
from nearcast.log.reading import Entry
from nearcast.model.moment import time_text

__all__ = ["Exported", "export", "lines_of"]

_WORDS = {"x": "lon", "y": "lat", "altitude": "alt"}
"""What columns are called in a line, where that is something else."""
_encoder = msgspec.json.Encoder()


@dataclass(slots=True)
class Exported:
    """What went into the file."""

    first: int
    """The packet it begins with. If that is not 1, brokers have cut off what was before."""
    last: int
    ops: int = 0
    unreadable: int = 0
    """Packets that are none, which everyone passes over."""


async def export(url: str, path: Path) -> Exported:
    """Write the log as it is now into a file, which is there when it is whole."""
    part = path.with_name(path.name + ".part")
    async with Log(url) as log:
        done = Exported(await log.first_sequence(), await log.last_sequence())
        with part.open("wb") as file:
            async for entry in log.read(done.first, done.last):
                try:
                    lines = list(lines_of(entry))
                except NearcastError:
                    done.unreadable += 1
                else:
                    file.writelines(line + b"\n" for line in lines)
                    done.ops += len(lines)
    part.replace(path)
    return done


def lines_of(entry: Entry) -> Iterator[bytes]:
    """The ops of a packet. One that is no packet raises `OpError`."""
    if entry.format == LINES:
        return (line for line in entry.payload.split(b"\n") if line.strip())
    return _from_columns(decode(entry.format, entry.payload))


def _from_columns(batch: pa.RecordBatch) -> Iterator[bytes]:
    times = batch["time"].view(pa.int64()).to_pylist()
    for time, row in zip(times, batch.drop_columns(["time"]).to_pylist(), strict=True):
        line: str | None = row["line"]
        # A break can only stand between two words of JSON.
        yield _encoder.encode(_fix(time, row)) if line is None else b" ".join(line.encode().splitlines())


def _fix(time: int, row: dict[str, Any]) -> dict[str, Any]:
    given = {_WORDS.get(name, name): value for name, value in row.items() if value is not None}
    return {"op": "move", "time": time_text(time), **given}
