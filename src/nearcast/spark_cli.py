"""The verbs that work on Spark: logs and fixes that lie on disk, and logs that do not end."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from nearcast.errors import LanguageError
from nearcast.language.parse import parse_duration, parse_length
from nearcast.model import op as ops
from nearcast.model.moment import micros
from nearcast.model.repair import repairs
from nearcast.shell import FILE, LATENESS, as_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["COMMANDS"]

N = TypeVar("N", int, float)
SHOWN = 50
"""Rows of an answer that are shown where a person reads them."""
WIDE = 10_000
"""Columns of a terminal that is none, so that no line is broken."""
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
COLUMNS = click.option(
    "--columns", metavar="NAME=COLUMN,...", default="", help="What the columns are called: client=cab,time=ts."
)
OUT = click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Where the results go."
)
OVERWRITE = click.option("--overwrite", is_flag=True, help="Remove what is there.")
MASTER = click.option("--master", help="A Spark cluster; this machine unless told.")


@click.command()
@click.option("--fixes", multiple=True, help="Parquet, CSV, JSON lines or GeoJSON, or a folder of them.")
@click.option("--ops", "log", multiple=True, help="A log of ops instead, one JSON object a line.")
@click.option("--layer", "layers", multiple=True, metavar="NAME=FILE", help="A layer from GeoJSON or GeoParquet.")
@click.option("--subscriptions", type=FILE, help="Statements; without any, every layer is watched.")
@click.option("--pairs", metavar="DISTANCE", help="Watch every two clients within a distance, such as 100m.")
@COLUMNS
@OUT
@OVERWRITE
@click.option("--shards", type=click.IntRange(min=1), help="Kernels that share the clients; one a core unless told.")
@click.option(
    "--slices", type=click.IntRange(min=1), default=1, help="Kernels that share what looks at several clients."
)
@MASTER
@LATENESS
@as_json
def backtest(  # noqa: PLR0913, PLR0917  # an option each
    fixes: tuple[str, ...], log: tuple[str, ...], layers: tuple[str, ...], subscriptions: str | None,
    pairs: str | None, columns: str, out: Path, overwrite: bool, shards: int | None, slices: int, master: str | None,
    lateness: float, as_json: bool,
) -> None:  # fmt: skip
    """Match fixes of the past on Spark, and write what would have been told as Parquet, by day."""
    from nearcast.stream.backtest import Backtest, definitions_from, run_backtest  # noqa: PLC0415  # Spark is heavy
    from nearcast.stream.session import spark_session  # noqa: PLC0415

    if bool(fixes) == bool(log):
        raise click.UsageError("give either --fixes or --ops")
    with _warnings_said():
        defined = definitions_from([_named(text, "--layer") for text in layers], subscriptions, pairs)
    if fixes and not any(isinstance(op, ops.Subscribe) for op in defined):
        raise click.UsageError("there is nothing to match: give --layer, --subscriptions or --pairs")
    test = Backtest(out, fixes, log, defined, _renamed(columns), micros(lateness), overwrite, shards, slices)
    spark = spark_session("nearcast backtest", master)
    with _watched(spark, as_json):
        summary = run_backtest(spark, test)
    if as_json:
        click.echo(json.dumps(summary))
        return
    rate = summary["rows"] / max(summary["seconds"], 0.001)
    click.echo(
        f"{summary['notifications']} notifications from {summary['rows']} rows in {summary['seconds']} s "
        f"({rate:,.0f} rows/s): {out}"
    )
    lost = {name: summary[name] for name in ("bad", "refused", "stale", "duplicates") if summary[name]}
    if lost:
        click.echo(f"not applied: {', '.join(f'{count} {name}' for name, count in lost.items())}", err=True)


@click.command()
@click.option("--fixes", multiple=True, required=True, help="Parquet, CSV, JSON lines or GeoJSON, or a folder of them.")
@COLUMNS
@click.option(
    "--max-speed", type=float, default=60.0, show_default=True, help="Metres a second; a fix beyond is a jump."
)
@click.option("--max-accuracy", metavar="DISTANCE", help="Drop fixes that are less accurate than this.")
@click.option("--stay-radius", metavar="DISTANCE", default="50m", show_default=True, help="How far a stay reaches.")
@click.option("--stay-time", metavar="TIME", default="5min", show_default=True, help="How long a stay takes at least.")
@click.option("--layer", "layers", multiple=True, metavar="NAME=FILE", help="Say in which regions stays and ends are.")
@OUT
@OVERWRITE
@MASTER
@as_json
def tracks(  # noqa: PLR0913, PLR0917  # an option each
    fixes: tuple[str, ...], columns: str, max_speed: float, max_accuracy: str | None, stay_radius: str, stay_time: str,
    layers: tuple[str, ...], out: Path, overwrite: bool, master: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Tell fixes that are fit for use from those that are not, and find where clients stayed and how they went on.

    Writes the tables kept, dropped, stays and trips as Parquet.
    """
    from nearcast.stream.backtest import read_layer_file  # noqa: PLC0415  # Spark is heavy
    from nearcast.stream.session import spark_session  # noqa: PLC0415
    from nearcast.stream.tables import TrackJob, write_tracks  # noqa: PLC0415

    with _warnings_said():
        known = [read_layer_file(name, Path(file)) for name, file in (_named(text, "--layer") for text in layers)]
    accuracy = math.inf if max_accuracy is None else _amount(parse_length, max_accuracy, "--max-accuracy", "50m")
    radius = _amount(parse_length, stay_radius, "--stay-radius", "50m")
    least = timedelta(microseconds=_amount(parse_duration, stay_time, "--stay-time", "5min"))
    job = TrackJob(out, fixes, _renamed(columns), max_speed, accuracy, radius, least, known, overwrite)
    spark = spark_session("nearcast tracks", master)
    with _watched(spark, as_json):
        summary = write_tracks(spark, job)
    if as_json:
        click.echo(json.dumps(summary))
        return
    click.echo(
        f"{summary['kept']} of {summary['rows']} rows kept: {_some(summary['stays'], 'stay')} and "
        f"{_some(summary['trips'], 'trip')} of {_some(summary['clients'], 'client')} in {summary['seconds']} s: {out}"
    )
    for reason, count in sorted(summary["dropped"].items()):
        click.echo(f"dropped {count}: {reason}", err=True)
    if summary["bad"]:
        click.echo(f"not read: {summary['bad']}; see {out / '_dead'}", err=True)


@click.command()
@click.option("--notifications", type=FOLDER, required=True, help="What a backtest or a stream wrote.")
@OUT
@OVERWRITE
@MASTER
@as_json
def encounters(notifications: Path, out: Path, overwrite: bool, master: str | None, as_json: bool) -> None:
    """Write who was near whom, or in which region, from when to when."""
    from nearcast.stream.session import spark_session  # noqa: PLC0415  # Spark is heavy
    from nearcast.stream.tables import write_encounters  # noqa: PLC0415

    summary = write_encounters(spark_session("nearcast encounters", master), notifications, out, overwrite)
    if as_json:
        click.echo(json.dumps(summary))
        return
    words = {"open": "open", "without_start": "without a start", "without_end": "without an end"}
    rest = "".join(f", {summary[name]} {said}" for name, said in words.items() if summary[name])
    click.echo(f"{_some(summary['encounters'], 'encounter')}{rest} in {summary['seconds']} s: {out}")


@click.command()
@click.argument("folder", type=FOLDER)
@click.argument("sql")
@MASTER
@click.option("--json", "as_json", is_flag=True, help="Print all rows, one JSON object a line.")
def history(folder: Path, sql: str, master: str | None, as_json: bool) -> None:
    """Ask the notifications in FOLDER a question in SQL, about the tables notifications and encounters."""
    from nearcast.stream.session import spark_session  # noqa: PLC0415  # Spark is heavy
    from nearcast.stream.tables import answer_lines, answer_rows  # noqa: PLC0415

    spark = spark_session("nearcast history", master)
    if as_json:
        for line in answer_lines(spark, folder, sql):
            click.echo(line)
        return
    names, rows, is_all = answer_rows(spark, folder, sql, SHOWN)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    table = Table(*map(escape, names), box=box.SIMPLE_HEAD, show_edge=False)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    if not is_all:
        click.echo(f"the first {SHOWN} rows; --json prints all", err=True)


def _some(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _amount(read: Callable[[str], N], text: str, option: str, example: str) -> N:
    try:
        return read(text)
    except LanguageError:
        raise click.BadParameter(f"{text!r} is not one; write {example}", param_hint=f"'{option}'") from None


def _renamed(columns: str) -> dict[str, str]:
    return dict(_named(text, "--columns") for text in columns.split(",") if text.strip())


@click.command()
@click.option("--nats", metavar="URL", help="A NATS server whose stream of ops is the log; else that of NEARCAST_NATS.")
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), help="A folder where files of a log appear."
)
@click.option(
    "--fixes", type=click.Path(file_okay=False, path_type=Path), help="A folder where Parquet of fixes appears."
)
@click.option("--layer", "layers", multiple=True, metavar="NAME=FILE", help="A layer from GeoJSON or GeoParquet.")
@click.option("--subscriptions", type=FILE, help="Statements that hold from the first op on.")
@click.option("--pairs", metavar="DISTANCE", help="Watch every two clients within a distance, such as 100m.")
@COLUMNS
@OUT
@click.option("--checkpoint", type=click.Path(file_okay=False, path_type=Path), help="What a restart goes on from.")
@click.option("--to-nats", metavar="URL", help="Tell subscribers too, through a NATS server.")
@click.option("--most", type=click.IntRange(min=1), help="Messages, or files, in a micro-batch.")
@click.option("--shards", type=click.IntRange(min=0), help="Kernels that share the clients; one a core unless told.")
@click.option("--slices", type=click.IntRange(min=0), default=1, help="Kernels for what looks at several clients.")
@click.option("--once", is_flag=True, help="Stop when all that is there has been taken.")
@MASTER
@LATENESS
@as_json
def stream(  # noqa: PLR0913, PLR0917  # an option each
    nats: str | None, folder: Path | None, fixes: Path | None, layers: tuple[str, ...], subscriptions: str | None,
    pairs: str | None, columns: str, out: Path, checkpoint: Path | None, to_nats: str | None, most: int | None,
    shards: int | None, slices: int, once: bool, master: str | None, lateness: float, as_json: bool,
) -> None:  # fmt: skip
    """Match a log that does not end on Spark, exactly once; stop and start it as you like."""
    from nearcast.stream.backtest import definitions_from  # noqa: PLC0415  # Spark is heavy
    from nearcast.stream.session import spark_session  # noqa: PLC0415
    from nearcast.stream.streaming import Stream, run_stream  # noqa: PLC0415

    if nats is None and folder is None and fixes is None:
        nats = os.environ.get("NEARCAST_NATS")
    if sum(source is not None for source in (nats, folder, fixes)) != 1:
        raise click.UsageError("give one of --nats, --folder and --fixes")
    with _warnings_said():
        defined = definitions_from([_named(text, "--layer") for text in layers], subscriptions, pairs)
    job = Stream(
        out, checkpoint or out / "_checkpoint", nats=nats, folder=folder, fixes=fixes, definitions=defined,
        columns=_renamed(columns), to_nats=to_nats, most=most, shards=shards, slices=slices,
        lateness=micros(lateness), once=once,
    )  # fmt: skip
    progress = _Progress(as_json)
    counts = run_stream(spark_session("nearcast stream", master), job, progress)
    progress.end(counts)


class _Progress:
    """A line that says how a stream goes: live on a terminal, an object a batch as JSON."""

    def __init__(self, as_json: bool) -> None:
        self.as_json, self.start, self.told = as_json, time.monotonic(), 0
        self.live = not as_json and sys.stderr.isatty()

    def __call__(self, batch: dict[str, Any]) -> None:
        self.told += batch.get("notifications", 0)
        if self.as_json:
            click.echo(json.dumps(batch))
        elif self.live:
            rate = batch.get("rows", 0) / max(batch.get("seconds", 0.0), 0.001)
            text = f"batch {batch['batch']}: {batch.get('rows', 0)} rows, {rate:,.0f} rows/s; {self.told} notifications"
            _line(text + (f"; {batch['lag']} messages behind" if "lag" in batch else ""))

    def end(self, counts: Counter[str]) -> None:
        if self.live:
            _line("")
        if self.as_json:
            click.echo(json.dumps({**counts, "seconds": round(time.monotonic() - self.start, 3)}))
        else:
            click.echo(f"{counts['notifications']} notifications from {counts['rows']} rows")


@contextmanager
def _watched(spark: SparkSession, as_json: bool) -> Iterator[None]:
    """Where a person waits, say how far Spark is."""
    from nearcast.stream.progress import watched  # noqa: PLC0415  # Spark is heavy

    with watched(spark, _line) if sys.stderr.isatty() and not as_json else nullcontext():
        yield


def _line(text: str) -> None:
    """In place of the line that was there."""
    click.echo(f"\r\x1b[2K{text}", nl=False, err=True)


@contextmanager
def _warnings_said() -> Iterator[None]:
    """Say what was repaired, a line each."""
    with repairs() as repaired:
        yield
    for warned in dict.fromkeys(repaired):
        click.echo(f"warning: {warned}", err=True)


def _named(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=f"'{option}'")
    return name.strip(), value.strip()


COMMANDS = [backtest, tracks, encounters, history, stream]
