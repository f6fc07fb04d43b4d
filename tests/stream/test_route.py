"""Where keys and rows go: as Spark would say, and to every share that has to see them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from nearcast.match.share import Plan
from nearcast.stream.packets import unpack
from nearcast.stream.route import Router, partition_of, share_keys

KEYS = [0, 1, 2, 41, -1, -2, -3, 2**31 - 1, 2**31, 2**32, 2**32 + 7, 2**63 - 1, -(2**63), *range(-50, 3000, 61)]


def test_a_partition_is_where_spark_puts_a_key(spark: SparkSession) -> None:
    numbers = (1, 2, 3, 7, 16, 64, 200)
    columns = [f.expr(f"pmod(hash(key), {n})").alias(f"p{n}") for n in numbers]
    rows = spark.createDataFrame([(key,) for key in KEYS], "key long").select("key", *columns).collect()
    assert [list(row) for row in rows] == [[key, *(partition_of(key, n) for n in numbers)] for key in KEYS]


def test_a_share_has_a_partition_of_its_own(spark: SparkSession) -> None:
    keys = share_keys(16, 16)
    spread = spark.createDataFrame([(key,) for key in keys], "key long").repartition(16, "key")
    found = {row["key"]: row["at"] for row in spread.select("key", f.spark_partition_id().alias("at")).collect()}
    assert [found[key] for key in keys] == list(range(16))


@pytest.mark.parametrize("partitions", [1, 2, 3, 16, 64])
def test_shares_begin_anew_after_the_last_partition(partitions: int) -> None:
    for shares in range(1, 65):
        keys = share_keys(shares, partitions)
        assert len(set(keys)) == shares
        assert all(key >= 0 for key in keys)
        assert [partition_of(key, partitions) for key in keys] == [i % partitions for i in range(shares)]


def test_who_sees_a_row() -> None:
    """A shard sees its own clients, stations and what is of nobody; a slice sees all; each row once, in order."""
    plan = Plan(5, 2, frozenset(["station"]))
    router = Router(plan, tuple(range(7)))
    clients = [None, "a", "b", "station", "é", "b", "", "c", None, "station", *map(str, range(50))]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(clients), pa.array(range(len(clients)), pa.timestamp("us", "UTC"))], names=["client", "time"]
    )
    for rows in (batch, batch.set_column(0, "client", batch["client"].dictionary_encode())):
        seen = {packet["key"][0].as_py(): packet for packet in router.packets(rows, ("", 0, 0))}
        for key, share in enumerate(plan.shares):
            (got,) = unpack([seen[key]["payload"][0].as_buffer()])
            expected = [i for i, client in enumerate(clients) if share.sees(client)]
            assert got["time"].view(pa.int64()).to_pylist() == expected
            assert seen[key]["rows"][0].as_py() == len(expected)
    assert list(router.packets(batch.slice(0, 0), ("", 0, 0))) == []
