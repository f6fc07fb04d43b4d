"""One command, ``nearcast``. Every verb takes ``--json``; bad input ends in one line, never in a traceback."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import track

from nearcast.bench import BENCHES, cases_of, report, usual_cases
from nearcast.check import checked_statements, statement_ops
from nearcast.errors import LanguageError, NearcastError
from nearcast.language.format import condition_text, shape_of, statement_text
from nearcast.language.oplog import encode_notification, read_ops
from nearcast.live_cli import COMMANDS as LIVE_COMMANDS
from nearcast.match.explain import Explanation, explain
from nearcast.match.reference import Reference
from nearcast.model import op as ops
from nearcast.model.moment import micros, parse_time, time_text
from nearcast.model.notification import Notification
from nearcast.model.repair import repairs
from nearcast.model.statement import Statement, Subscription
from nearcast.shell import FILE, LATENESS, as_json
from nearcast.spark_cli import COMMANDS as SPARK_COMMANDS

__all__ = ["main"]

T = TypeVar("T")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="nearcast")
def cli() -> None:
    """Location-aware publish/subscribe: hear about what is near, only when the answer changes."""


for _command in (*LIVE_COMMANDS, *SPARK_COMMANDS):
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
    with click.open_file(log, "rb") as lines, repairs() as repaired:
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
                click.echo(f"{log}:{number}: warning: {warned}", err=True)
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
