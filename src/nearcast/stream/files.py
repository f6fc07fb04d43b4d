"""Notifications as Parquet by day, and dead letters as JSON lines, in files whose names follow from what is in them.

A task that is run again writes the same files again, under a name of its own until they are complete. So whoever reads
the folder sees each file whole or not at all, and nothing twice, whatever died in between.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nearcast.model.schema import NOTIFICATIONS

__all__ = ["DEAD", "NotificationFiles", "write_dead"]

DEAD = "_dead"
"""The folder of dead letters; readers of Parquet leave alone what begins so."""
DAY = 86_400_000_000


@dataclass(slots=True)
class NotificationFiles:
    """The files of one task: ``day=2026-01-31/NAME.parquet``. They appear when all is written."""

    folder: Path
    name: str
    _open: dict[str, tuple[Path, pq.ParquetWriter]] = field(default_factory=dict)

    def write(self, told: pa.RecordBatch) -> None:
        if not len(told):
            return
        days = told["time"].view(pa.int64()).to_numpy() // DAY
        for day in np.unique(days):
            rows = told if (days == day).all() else told.filter(pa.array(days == day))
            self._writer(int(day)).write_batch(rows)

    def _writer(self, day: int) -> pq.ParquetWriter:
        name = f"day={_day(day)}"
        if name not in self._open:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            path = self.folder / name / f".{self.name}.{os.getpid()}"
            self._open[name] = (path, pq.ParquetWriter(path, NOTIFICATIONS, compression="zstd"))
        return self._open[name][1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path, writer in self._open.values():
            writer.close()
            if kind is None:
                path.replace(path.with_name(f"{self.name}.parquet"))
            else:
                path.unlink(missing_ok=True)


def write_dead(folder: Path, name: str, letters: Iterable[tuple[str, str]]) -> int:
    """Rows that were not applied, with the reason, as ``_dead/NAME.jsonl``; gives how many."""
    lines = [json.dumps({"reason": reason, "content": content}) for content, reason in letters]
    if lines:
        (folder / DEAD).mkdir(parents=True, exist_ok=True)
        path = folder / DEAD / f".{name}.{os.getpid()}"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        path.replace(folder / DEAD / f"{name}.jsonl")
    return len(lines)


def _day(day: int) -> str:
    try:
        return datetime.fromtimestamp(day * 86_400, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return f"{day}"
