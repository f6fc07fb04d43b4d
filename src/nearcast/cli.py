"""One command, ``nearcast``. Every verb takes ``--json``; bad input ends in one line, never in a traceback."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table
from rich.text import Text

from nearcast.bench import BENCHES, cases_of, report, usual_cases
from nearcast.check import checked_statements, statement_ops
from nearcast.errors import GeometryWarning, LanguageError, NearcastError
from nearcast.language.format import condition_text, shape_of, statement_text
from nearcast.language.oplog import encode_notification, read_ops
from nearcast.language.parse import parse_duration, parse_length
from nearcast.live_cli import COMMANDS
from nearcast.match.explain import Explanation, explain
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.moment import micros, parse_time, time_text
from nearcast.model.notification import Notification
from nearcast.model.statement import Statement, Subscription

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["main"]

T = TypeVar("T")
N = TypeVar("N", int, float)
SHOWN = 50
"""Rows of an answer that are shown where a person reads them."""
WIDE = 10_000
"""Columns of a terminal that is none, so that no line is broken."""
LATENESS = click.option(
    "--lateness", type=click.FloatRange(min=0), default=0.0, help="Seconds that fixes are held back and sorted."
)
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
COLUMNS = click.option(
    "--columns", metavar="NAME=COLUMN,...", default="", help="What the columns are called: client=cab,time=ts."
)
OUT = click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Where the results go."
)
OVERWRITE = click.option("--overwrite", is_flag=True, help="Remove what is there.")
MASTER = click.option("--master", help="A Spark cluster; this machine unless told.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="nearcast")
def cli() -> None:
    """Location-aware publish/subscribe: hear about what is near, only when the answer changes."""


for _command in COMMANDS:
    cli.add_command(_command)


def main() -> None:
    try:
        cli(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"error: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except (NearcastError, OSError) as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


# ---- check -----------------------------------------------------------------------------------------


@cli.command()
@click.argument("file", type=FILE)
@click.option("--shapes", is_flag=True, help="Print each subscription's shape, its constants left out.")
@as_json
def check(file: str, shapes: bool, as_json: bool) -> None:
    """Validate the statements in FILE and print them in canonical form.

    Exits 1 if a statement is not valid; the others are still checked.
    """
    text = _read_text(file)
    folder = Path(file).parent if file != "-" else Path()
    rows: list[dict[str, Any]] = []
    bad = 0
    for line, result, warned in _progress(checked_statements(text, folder), text.count(";") + 1, "checking"):
        bad += isinstance(result, NearcastError)
        row = {"line": line, **(_error_row(result) if isinstance(result, NearcastError) else _row(result, shapes))}
        if warned:
            row["warnings"] = warned
        rows.append(row)
        if not as_json:
            _print_row(file, row, result)
    if as_json:
        click.echo(json.dumps({"file": file, "statements": len(rows), "errors": bad, "results": rows}))
    elif bad:
        click.echo(f"{bad} of {len(rows)} statements are not valid", err=True)
    sys.exit(1 if bad else 0)


def _print_row(file: str, row: dict[str, Any], result: object) -> None:
    for warned in row.get("warnings", ()):
        click.echo(f"{file}:{row['line']}: warning: {warned}", err=True)
    if isinstance(result, NearcastError):
        where = "" if isinstance(result, LanguageError) else f"line {row['line']}: "
        click.echo(f"{file}: {where}{result}", err=True)
    else:
        click.echo(row.get("shape", row["text"]) + ";")


def _row(statement: Statement, shapes: bool) -> dict[str, Any]:
    shape = {"shape": shape_of(statement).text} if shapes and isinstance(statement, Subscription) else {}
    return {"text": statement_text(statement), **shape}


def _error_row(error: NearcastError) -> dict[str, Any]:
    if isinstance(error, LanguageError):
        return {"error": error.reason, "line": error.line, "column": error.column, "hint": error.hint}
    return {"error": str(error)}


# ---- run -------------------------------------------------------------------------------------------


@cli.command()
@click.option("--ops", "log", type=FILE, required=True, help="A log of ops, one JSON object a line; - reads stdin.")
@click.option("--statements", type=FILE, help="Statements to begin with, at the time of the first op.")
@LATENESS
@click.option("--json", "as_json", is_flag=True, help="Print the summary, on stderr, as one JSON object.")
def run(log: str, statements: str | None, lateness: float, as_json: bool) -> None:
    """Apply a log of ops and print the notifications, one JSON object a line.

    A line that cannot be applied is reported with its number and counted; the rest goes on. Exits 1 if there was one.
    """
    if sys.stdout is None or sys.stdout.closed:
        raise click.ClickException("there is no standard output to print notifications to")
    reference = Reference(lateness=micros(lateness))
    told = 0
    refused: list[str] = []
    for notification in _applied(reference, log, refused, statements=statements):
        told += 1
        click.echo(encode_notification(notification))
    counts = reference.counts
    summary: dict[str, Any] = {
        "notifications": told,
        "refused": len(refused),
        "stale": counts.pop("stale", 0),
        "forgotten": counts.pop("forgotten", 0),
        "held": sum(len(client.held) for client in reference.world.clients.values()),
    }
    text = f"{told} notifications, {len(refused)} lines refused, {summary['stale']} stale fixes"
    if summary["held"]:
        text += f"; {summary['held']} fixes are still held back, since no op came after their lateness window"
    click.echo(json.dumps({**summary, "ops": dict(sorted(counts.items()))}) if as_json else text, err=True)
    sys.exit(1 if refused else 0)


def _applied(
    reference: Reference, log: str, refused: list[str], until: int | None = None, statements: str | None = None
) -> Iterator[Notification]:
    """The notifications of a log; what is refused goes to stderr and into the list."""
    with click.open_file(log, "rb") as lines, warnings.catch_warnings(record=True) as repaired:
        warnings.simplefilter("always", GeometryWarning)
        for number, op in read_ops(lines):
            if statements is not None and not isinstance(op, NearcastError):
                for first in statement_ops(_read_text(statements), Path(statements).parent, op.time):
                    yield from reference.apply(first)
                statements = None
            try:
                if isinstance(op, NearcastError):
                    raise op
                if until is not None and op.time > until:
                    continue
                yield from reference.apply(op)
            except NearcastError as error:
                refused.append(f"{log}:{number}: {error}")
                click.echo(f"{log}:{number}: {error}", err=True)
            for warned in repaired:
                click.echo(f"{log}:{number}: warning: {warned.message}", err=True)
            repaired.clear()


# ---- explain ---------------------------------------------------------------------------------------


@cli.command("explain")
@click.option("--ops", "log", type=FILE, required=True, help="A log of ops; - reads stdin.")
@click.option("--client", required=True, help="The subscriber.")
@click.option("--subscription", help="Only this subscription of the client.")
@click.option("--publication", help="Only this publication, layer or relation.")
@click.option("--publisher", help="Only what this client publishes.")
@click.option("--region", help="Only this region of a layer.")
@click.option("--at", "moment", help="As things stood then: later ops are left out, and time passes up to it.")
@LATENESS
@as_json
def explain_command(
    log: str, client: str, moment: str | None, lateness: float, as_json: bool, **wanted: str | None
) -> None:
    """Say why a client was or was not notified: every condition, what it came to, and by how much."""
    reference = Reference(lateness=micros(lateness))
    until = None if moment is None else parse_time(_time_argument(moment))
    told = [*_applied(reference, log, [], until), *(reference.apply(ops.Tick(until)) if until is not None else ())]
    history = [n for n in told if n.subscriber == client]
    pairs = [pair for pair in explain(reference, client, wanted["subscription"]) if _wanted(pair, wanted)]
    if client not in reference.world.clients:
        raise click.ClickException(f"there is no client {client!r} in {log}")
    if not any(owner == client and wanted["subscription"] in (None, id_) for owner, id_ in reference.subscriptions):
        click.echo(f"client {client!r} holds no such subscription", err=True)
    elif not pairs:
        click.echo(f"there is nothing that client {client!r} could match here", err=True)
    rows = [(pair, [n for n in history if _about(n, pair)]) for pair in pairs]
    if as_json:
        click.echo(json.dumps([_explanation_row(pair, told) for pair, told in rows]))
        return
    for pair, told in rows:
        click.echo(_explanation_text(pair, told))


def _time_argument(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _wanted(pair: Explanation, wanted: dict[str, str | None]) -> bool:
    names = ("publication", "publisher", "region")
    return all(wanted[name] in (None, value) for name, value in zip(names, pair.key, strict=False))


def _about(n: Notification, pair: Explanation) -> bool:
    key = (n.publication, n.publisher or "", n.region or "", n.peer or "")
    return n.subscription == pair.subscription and key == pair.key


def _explanation_row(pair: Explanation, told: list[Notification]) -> dict[str, Any]:
    publication, publisher, region, peer = (part or None for part in pair.key)
    return {
        "subscriber": pair.subscriber,
        "subscription": pair.subscription,
        "publication": publication,
        "publisher": publisher,
        "region": region,
        "peer": peer,
        "time": time_text(pair.time),
        "told": pair.told,
        "summary": pair.summary,
        "conditions": [
            {"clause": f.clause, "text": condition_text(f.condition), "answer": f.answer, "depth": f.depth}
            for f in pair.findings
        ],
        "notifications": [json.loads(encode_notification(n)) for n in told],
    }


def _explanation_text(pair: Explanation, told: list[Notification]) -> str:
    about = " ".join(part for part in (pair.key[1], pair.key[0], pair.key[2], pair.key[3]) if part)
    lines = [f"{pair.subscription} ← {about}: {pair.summary} (at {time_text(pair.time)})"]
    for finding in pair.findings:
        answer = {True: "holds", False: "fails", None: "unknown"}[finding.answer]
        lines.append(f"    {answer:7} {finding.clause} {condition_text(finding.condition)}{_margin(finding.depth)}")
    lines += [f"    {time_text(n.time)}  {n.kind.value} ({n.reason.value})" for n in told]
    return "\n".join(lines)


def _margin(depth: float | None) -> str:
    if depth is None:
        return ""
    return f"  ({depth:.1f} m inside)" if depth >= 0 else f"  ({-depth:.1f} m outside)"


# ---- Spark -----------------------------------------------------------------------------------------


@cli.command()
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


@cli.command()
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


@cli.command()
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


@cli.command()
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


def _amount(read: Callable[[str], N], text: str, option: str, example: str) -> N:
    try:
        return read(text)
    except LanguageError:
        raise click.BadParameter(f"{text!r} is not one; write {example}", param_hint=f"'{option}'") from None


def _renamed(columns: str) -> dict[str, str]:
    return dict(_named(text, "--columns") for text in columns.split(",") if text.strip())


@cli.command()
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
@click.option("--columns", metavar="NAME=COLUMN,...", default="", help="Other names of columns: client=cab,time=ts.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Where the results go.")
@click.option("--checkpoint", type=click.Path(file_okay=False, path_type=Path), help="What a restart goes on from.")
@click.option("--to-nats", metavar="URL", help="Tell subscribers too, through a NATS server.")
@click.option("--most", type=click.IntRange(min=1), help="Messages, or files, in a micro-batch.")
@click.option("--shards", type=click.IntRange(min=0), help="Kernels that share the clients; one a core unless told.")
@click.option("--slices", type=click.IntRange(min=0), default=1, help="Kernels for what looks at several clients.")
@click.option("--once", is_flag=True, help="Stop when all that is there has been taken.")
@click.option("--master", help="A Spark cluster; this machine unless told.")
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
    renamed = dict(_named(text, "--columns") for text in columns.split(",") if text.strip())
    job = Stream(
        out, checkpoint or out / "_checkpoint", nats=nats, folder=folder, fixes=fixes, definitions=defined,
        columns=renamed, to_nats=to_nats, most=most, shards=shards, slices=slices, lateness=micros(lateness), once=once,
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
    with warnings.catch_warnings(record=True) as repaired:
        warnings.simplefilter("always", GeometryWarning)
        yield
    for warned in dict.fromkeys(str(one.message) for one in repaired):
        click.echo(f"warning: {warned}", err=True)


def _named(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip() and value.strip()):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint=f"'{option}'")
    return name.strip(), value.strip()


# ---- demo and bench --------------------------------------------------------------------------------


@cli.command()
@click.option("--speed", type=click.FloatRange(min=0), default=60.0, show_default=True, help="0 is as fast as can be.")
@as_json
def demo(speed: float, as_json: bool) -> None:
    """Play the bundled buses through the live broker, with a map, and through Spark; then see whether both agree."""
    from nearcast import demo as demonstration  # noqa: PLC0415  # brokers and Spark are heavy

    def say(text: str) -> None:
        if not as_json:
            click.echo(text)

    def hear(told: dict[str, Any]) -> None:
        click.echo(json.dumps(told) if as_json else demonstration.line(told))

    def stay() -> None:
        if sys.stdin.isatty() and sys.stdout.isatty() and not as_json:
            click.prompt("The map stays until you press Enter", default="", show_default=False, prompt_suffix="")

    say(demonstration.INTRODUCTION)
    agreement = demonstration.play(speed or None, say, hear, stay)
    if not agreement.holds:
        raise click.ClickException(f"{agreement}; that should not be")


@cli.command()
@click.argument("name", type=click.Choice(BENCHES))
@click.option("--case", "cases", multiple=True, help="Only this case; may be given more than once.")
@click.option("--quick", is_flag=True, help="The tiny size that the tests run.")
@as_json
def bench(name: str, cases: tuple[str, ...], quick: bool, as_json: bool) -> None:
    """Measure NAME, each figure beside a baseline taken in the same run."""
    known, results = cases_of(name), []
    if unknown := [case for case in cases if case not in known]:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(known)}", param_hint="'--case'")
    for case in cases or usual_cases(name):
        for r in known[case](quick):
            results.append(r)
            if not as_json:
                click.echo(f"{r.case:20} {r.value:14,.0f} {r.unit:14} {r.ratio:10.3f} of the baseline")
    if as_json:
        click.echo(json.dumps(report(name, results)))


# ---- shared ----------------------------------------------------------------------------------------


def _some(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _read_text(file: str) -> str:
    with click.open_file(file, "rb") as opened:
        content: bytes = opened.read()
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise click.ClickException(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}") from None


def _progress(items: Iterable[T], total: int, doing: str) -> Iterable[T]:
    """A progress bar on a terminal, when the work is long enough to wait for and stdout is not the terminal too."""
    console = Console(stderr=True)
    if total < 500 or not console.is_terminal or sys.stdout.isatty():
        return items
    return track(items, description=doing, total=total, console=console, transient=True)


if __name__ == "__main__":
    main()
