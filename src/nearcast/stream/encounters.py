"""Encounters: who was near whom, or in which region, from when to when. Notifications tell only what changed."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812  # as everyone calls it

from nearcast.model.moment import MICROS
from nearcast.model.notification import Kind

__all__ = ["NEEDED", "PARTIES", "encounters"]

PARTIES = ("subscriber", "subscription", "publication", "publisher", "region", "peer")
"""What an encounter is between. There is at most one at a time, since a subscription matches a thing once."""

NEEDED = ("id", "time", "kind", *PARTIES, "reason")
"""The columns of notifications that are read."""


def encounters(notifications: DataFrame) -> DataFrame:
    """Each time that a match held, in a row: `PARTIES`, ``start``, ``end``, ``duration``, ``open`` and ``reason``.

    An enter, or a row of a snapshot, begins one; the next leave of the same parties ends it and gives the reason. The
    duration is in seconds.

    - Nothing came after the enter: it is ``open``, without an end.
    - Another enter came, since a subscription that is removed tells nobody, or since rows are missing: it has no end,
      but it is not open. All that is known is that it ended no later than the next one starts.
    - Nothing, or another leave, came before the leave, since the history begins in the middle: it has no start.

    Notifications that were delivered twice count once. Several of the same parties at one time, which have no order in
    a table, are put in the one that makes sense: enters and leaves take turns, as they do before and after that time.
    """
    told = notifications.select(*NEEDED).where(F.col("kind").isin(Kind.ENTER, Kind.SNAPSHOT, Kind.LEAVE))
    # Sent to where its parties are, an event need not be sent again for whatever is asked about them.
    parts = 2 * told.sparkSession.sparkContext.defaultParallelism
    once = told.repartition(parts, *PARTIES).dropDuplicates([*PARTIES, "id"])
    events = _in_turn(once.withColumn("enters", F.col("kind") != Kind.LEAVE))
    of_parties = Window.partitionBy(*PARTIES).orderBy("time", "turn")
    before, after = F.lag("enters").over(of_parties), F.lead("enters").over(of_parties)
    seen = events.select(
        "*",
        F.coalesce(before, F.lit(False)).alias("follows_enter"),
        after.isNull().alias("is_last"),
        F.coalesce(~after, F.lit(False)).alias("is_left"),
        F.lead("time").over(of_parties).alias("next_time"),
        F.lead("reason").over(of_parties).alias("next_reason"),
    )
    rows = seen.where(F.col("enters") | ~F.col("follows_enter"))
    is_left = F.col("enters") & F.col("is_left")
    start = F.when(F.col("enters"), F.col("time"))
    end = F.when(is_left, F.col("next_time")).when(~F.col("enters"), F.col("time"))
    reason = F.when(is_left, F.col("next_reason")).when(~F.col("enters"), F.col("reason"))
    return rows.select(
        *PARTIES,
        start.alias("start"),
        end.alias("end"),
        ((F.unix_micros(end) - F.unix_micros(start)) / MICROS).alias("duration"),
        (F.col("enters") & F.col("is_last")).alias("open"),
        reason.alias("reason"),
    )


def _in_turn(events: DataFrame) -> DataFrame:
    """The events with their ``turn`` among those of the same parties at the same time.

    The kind that there is more of comes first. If there are as many of both, the state after is the one before: what
    the last time with more of one kind left behind, or else what the next such time needs, or else closed.
    """
    at_once = Window.partitionBy(*PARTIES, "time")
    in_time = Window.partitionBy(*PARTIES).orderBy("time")
    balance = F.sum(F.when(F.col("enters"), 1).otherwise(-1)).over(at_once)
    turned = events.withColumn("more", F.when(balance != 0, balance > 0))
    enters_first = F.coalesce("more", ~_last_known("more", in_time), _next_known("more", in_time), F.lit(True))
    among_its_kind = F.row_number().over(Window.partitionBy(*PARTIES, "time", "enters").orderBy("id"))
    ordered = turned.withColumn("enters_first", enters_first)
    return ordered.withColumn("turn", 2 * among_its_kind + (F.col("enters") != F.col("enters_first")).cast("int"))


def _last_known(column: str, window: WindowSpec) -> Column:
    return F.last(column, ignorenulls=True).over(window.rangeBetween(Window.unboundedPreceding, Window.currentRow))


def _next_known(column: str, window: WindowSpec) -> Column:
    return F.first(column, ignorenulls=True).over(window.rangeBetween(Window.currentRow, Window.unboundedFollowing))
