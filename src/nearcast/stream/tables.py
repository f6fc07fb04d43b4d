"""Tables from files, and files from tables: what the commands write about tracks and encounters, and read back."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from nearcast.feed import notifications_of
from nearcast.model.notification import Notification
from nearcast.model.schema import NOTIFICATIONS

__all__ = ["read_notifications"]


def read_notifications(folder: Path) -> list[Notification]:
    """What a job told, in no order. For folders that fit into memory."""
    files = sorted(folder.glob("**/*.parquet"))
    batches = [batch for file in files for batch in pq.read_table(file, schema=NOTIFICATIONS).to_batches()]
    return [notification for batch in batches for notification in notifications_of(batch)]
