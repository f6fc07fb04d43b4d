from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from nearcast.errors import PipelineError
from nearcast.feed import notification_batch
from nearcast.model.moment import parse_time
from nearcast.model.notification import Kind, Notification, Reason, by_fix
from nearcast.stream.history import history, query


def told(time: str, kind: Kind, client: str = "bob") -> Notification:
    moment = parse_time(time)
    about = ("zones", "ann", client, "here", "yard", None)
    return Notification(f"{client} {time}", moment, kind, *about, Reason.MOVED, by_fix(client, moment))


NOTIFICATIONS = [
    told("2026-01-31T23:50:00Z", Kind.ENTER),
    told("2026-01-31T23:55:00Z", Kind.ENTER, "cat"),
    told("2026-02-01T00:10:00Z", Kind.LEAVE),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of two days."""
    made = tmp_path_factory.mktemp("history")
    table = pa.Table.from_batches([notification_batch(NOTIFICATIONS)])
    days = table.append_column("day", pc.strftime(table["time"], "%Y-%m-%d"))
    pq.write_to_dataset(days, made, partition_cols=["day"])
    return made


def test_notifications_of_all_days_are_there(spark: SparkSession, folder: Path) -> None:
    found = query(spark, folder, "SELECT day, count(*) AS n FROM notifications GROUP BY day ORDER BY day").collect()
    assert [(row["day"], row["n"]) for row in found] == [(date(2026, 1, 31), 2), (date(2026, 2, 1), 1)]


def test_encounters_go_on_past_midnight(spark: SparkSession, folder: Path) -> None:
    found = query(spark, str(folder), "SELECT publisher, start, end, duration, open FROM encounters ORDER BY publisher")
    bob, cat = found.collect()
    assert (bob["publisher"], bob["duration"], bob["open"]) == ("bob", 1200.0, False)
    assert bob["end"].astimezone(UTC) == datetime(2026, 2, 1, 0, 10, tzinfo=UTC)
    assert (cat["publisher"], cat["duration"], cat["open"]) == ("cat", None, True)


def test_views_stay_for_further_questions(spark: SparkSession, folder: Path) -> None:
    history(spark, folder)
    assert spark.table("notifications").count() == 3
    assert spark.table("encounters").count() == 2


def test_files_need_not_be_in_days(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_batches([notification_batch(NOTIFICATIONS)]), tmp_path / "all.parquet")
    assert query(spark, tmp_path, "SELECT * FROM encounters").count() == 2


def test_a_folder_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="there is no such folder"):
        history(spark, tmp_path / "nowhere")


def test_a_folder_without_notifications(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="there are no notifications in it"):
        history(spark, tmp_path)


def test_a_folder_of_something_else(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "part.parquet").write_text("this is no Parquet", encoding="utf-8")
    with pytest.raises(PipelineError, match="Could not read footer") as caught:
        history(spark, tmp_path)
    assert "\n" not in str(caught.value)


def test_other_columns(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "time": ["yesterday"]}), tmp_path / "part.parquet")
    with pytest.raises(PipelineError, match="time has string, and not timestamp"):
        history(spark, tmp_path)
    pq.write_table(pa.table({"name": ["a"]}), tmp_path / "part.parquet")
    with pytest.raises(PipelineError, match="id has nothing, and not string"):
        history(spark, tmp_path)


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELEKT * FROM encounters", "Syntax error at or near 'SELEKT'"),
        ("SELECT", "Syntax error at or near end of input"),
        ("", "unexpected empty statement"),
        ("SELECT * FROM encounter", "`encounter` cannot be found"),
        ("SELECT star FROM encounters", "Did you mean one of the following? [`start`"),
    ],
)
def test_a_wrong_query_gives_one_line(
    spark: SparkSession, folder: Path, sql: str, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PipelineError) as caught:
        query(spark, folder, sql)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not any(capfd.readouterr())
