"""The verbs of the live broker: run it, and speak with it from a shell."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nearcast.shell import DATA, as_json
from nearcast.shell import connected as _connected
from nearcast.shell import do as _do
from nearcast.shell import say as _say
from nearcast.shell import warn as _warn
from nearcast.token_cli import COMMANDS as TOKEN_COMMANDS
from nearcast.webhook_cli import webhook

if TYPE_CHECKING:  # what speaks HTTP is loaded by whoever does
    from nearcast.client import Client, Event

__all__ = ["COMMANDS"]

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
DOORS = {"mqtt": "phones come in", "nats": "NATS is"}


# ---- serve ---------------------------------------------------------------------------------------------


@click.command()
@DATA
@click.option("--nats", envvar="NEARCAST_NATS", help="A NATS server or cluster that runs; else one is started.")
@click.option("--brokers", type=click.IntRange(1, 10), default=2, show_default=True, help="One tells, the others wait.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 is any that is free.")
@click.option(
    "--mqtt", type=click.IntRange(0, 65535), help="Let phones in by MQTT, at this port; 0 is any that is free."
)
@click.option("--nats-port", type=click.IntRange(0, 65535), help="Let others reach the NATS server, at this port.")
@click.option("--tls-cert", type=FILE, help="A certificate: speak HTTPS, and TLS with phones and by NATS.")
@click.option("--tls-key", type=FILE, help="The certificate's key; else it is in the same file.")
@click.option("--tokens", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The file of tokens.")
@click.option("--keep", type=click.IntRange(min=0), default=0, help="Packets of the log that are not cut off.")
@click.option("--lazy", is_flag=True, help="Acknowledge before the disk does: faster, and a power cut loses minutes.")
@click.option("--ticks/--no-ticks", default=True, help="Whether time passes by itself, or as the log says.")
@click.option("--private", is_flag=True, help="Webhooks may lead to loopback and private addresses.")
@click.option("--tiles", help="Where the map's tiles are, such as https://host/{z}/{x}/{y}.png; else it has none.")
@click.option("--tiles-credit", default="", help="Whom the map names for its tiles.")
@as_json
def serve(as_json: bool, **options: Any) -> None:
    """Run a NATS server, brokers and a gateway, until interrupted."""
    from nearcast.serve import Plan  # noqa: PLC0415  # a server is not needed to speak with one
    from nearcast.serve import serve as run  # noqa: PLC0415

    def ready(at: Mapping[str, str]) -> None:
        text = f"nearcast is at {at['url']}" + (f" (operator token: {at['token']})" if "token" in at else "")
        doors = "".join(f"\n{what} at {at[name]}" for name, what in DOORS.items() if name in at)
        _say(dict(at), text + doors, as_json)
        sys.stdout.flush()

    run(Plan(**options), lambda text: click.echo(text, err=True), ready)


@click.command()
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file.")
@click.option("--nats", envvar="NEARCAST_NATS", help="The NATS server or cluster; else that of --data.")
@DATA
@as_json
def export(out: Path, nats: str | None, data: Path, as_json: bool) -> None:
    """Write the log of a broker into a file of ops, for a backup, `run --ops` or `backtest --ops`."""
    from nearcast.log.export import export as write  # noqa: PLC0415
    from nearcast.log.server import url_of  # noqa: PLC0415

    done = asyncio.run(write(nats or url_of(data / "nats"), out))
    _say(asdict(done), f"{done.ops} ops from packets {done.first} to {done.last}: {out}", as_json)
    if done.first > 1:
        click.echo(f"the log begins at packet {done.first}; what came before has been cut off (serve --keep)", err=True)
    if done.unreadable:
        click.echo(f"not read: {done.unreadable} packets", err=True)


@click.command()
@click.argument("ids", nargs=-1)
@click.option("--nats", envvar="NEARCAST_NATS", help="The NATS server or cluster; else that of --data.")
@DATA
@as_json
def ids(ids: tuple[str, ...], nats: str | None, data: Path, as_json: bool) -> None:
    """Print under which IDS clients know notifications whose cause is hidden from them; without any, those of standard
    input. All others have the ids that they were given."""
    from nearcast.gateway.seal import Seal  # noqa: PLC0415
    from nearcast.log.client import Log  # noqa: PLC0415
    from nearcast.log.server import url_of  # noqa: PLC0415

    async def seal() -> Seal:
        async with Log(nats or url_of(data / "nats")) as log:
            return await Seal.of(log)

    used = asyncio.run(seal())
    for id_ in ids or sys.stdin.read().split():
        shown = used.hidden(id_)
        _say({"id": id_, "shown": shown}, f"{id_} {shown}", as_json)


# ---- saying --------------------------------------------------------------------------------------------


@click.command()
@click.argument("name")
@click.argument("text")
@_connected
@as_json
def publish(name: str, text: str, as_json: bool, **where: Any) -> None:
    """Publish TEXT, a statement, under NAME."""
    sequence = _do(doing=lambda me: me.publish(name, text), **where)
    _say({"sequence": sequence}, f"published {name}", as_json)


@click.command()
@click.argument("name")
@click.argument("text")
@_connected
@as_json
def subscribe(name: str, text: str, as_json: bool, **where: Any) -> None:
    """Subscribe by TEXT, a statement, under NAME."""
    sequence = _do(doing=lambda me: me.subscribe(name, text), **where)
    _say({"sequence": sequence}, f"subscribed {name}", as_json)


@click.command()
@click.argument("name")
@_connected
@as_json
def retract(name: str, as_json: bool, **where: Any) -> None:
    """Take back the publication NAME."""
    sequence = _do(doing=lambda me: me.retract(name), **where)
    _say({"sequence": sequence}, f"retracted {name}", as_json)


@click.command()
@click.argument("name")
@_connected
@as_json
def unsubscribe(name: str, as_json: bool, **where: Any) -> None:
    """Be told no more by the subscription NAME."""
    sequence = _do(doing=lambda me: me.unsubscribe(name), **where)
    _say({"sequence": sequence}, f"unsubscribed {name}", as_json)


@click.command()
@_connected
@as_json
def statements(as_json: bool, **where: Any) -> None:
    """List one's publications and subscriptions, by name."""

    async def listing(me: Client) -> dict[str, list[Any]]:
        return {"publications": await me.publications(), "subscriptions": await me.subscriptions()}

    found = _do(doing=listing, **where)
    if as_json:
        click.echo(json.dumps(found))
        return
    for kind, some in found.items():
        for statement in some:
            click.echo(f"{kind.removesuffix('s'):12}  {statement['id']}  {statement['text']}")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("lon", type=float, required=False)
@click.argument("lat", type=float, required=False)
@click.option("--time", help="ISO 8601; now unless told.")
@click.option("--alt", type=float)
@click.option("--floor", type=float)
@click.option("--accuracy", type=float, help="Metres.")
@click.option("--place", help="A place, such as hq/2/A.")
@_connected
@as_json
def move(
    lon: float | None, lat: float | None, as_json: bool, url: str | None, token: str | None, client: str | None,
    **further: Any,
) -> None:  # fmt: skip
    """Say that one is at LON LAT, or in a place."""
    given = {name: value for name, value in further.items() if value is not None}
    sequence = _do(url, token, client, lambda me: me.move(lon, lat, **given))
    _say({"sequence": sequence}, "moved", as_json)


# ---- hearing -------------------------------------------------------------------------------------------


@click.command()
@click.option("--after", metavar="CURSOR", help="Go on after an event's cursor, or 0; else where one left off.")
@click.option("--count", type=click.IntRange(min=1), help="Stop after so many.")
@_connected
@as_json
def watch(after: str | None, count: int | None, as_json: bool, **where: Any) -> None:
    """Print events as they happen, one a line, until interrupted."""

    async def watching(me: Client) -> None:
        left = count
        async with aclosing(me.events(after)) as events:
            async for event in events:
                click.echo(_event_json(event) if as_json else _event_text(event))
                sys.stdout.flush()
                left = None if left is None else left - 1
                if left == 0:
                    return

    try:
        _do(doing=watching, **where)
    except KeyboardInterrupt:
        raise click.Abort from None


def _event_json(event: Event) -> str:
    said = {"cursor": event.cursor, "id": event.id, "kind": event.kind, "time": event.time}
    return json.dumps({**said, "data": dict(event.data)})


def _event_text(event: Event) -> str:
    about = (event.data.get(name) for name in ("publisher", "publication", "region", "peer"))
    names = " ".join(str(name) for name in about if name)
    return (
        f"{event.time}  {event.kind:8} {event.data.get('subscription', '')} ← {names} ({event.data.get('reason', '')})"
    )


@click.command()
@click.argument("text")
@_connected
@as_json
def query(text: str, as_json: bool, **where: Any) -> None:
    """Print what matches TEXT, a subscription's statement, now."""
    found = _do(doing=lambda me: me.query(text), **where)
    _warn(found.get("warnings", ()))
    if as_json:
        click.echo(json.dumps(found))
        return
    for notification in found["notifications"]:
        about = (notification.get(name) for name in ("publisher", "publication", "region", "peer"))
        click.echo(" ".join(str(name) for name in about if name))


SAYING = [publish, retract, subscribe, unsubscribe, statements, move]
COMMANDS = [serve, *TOKEN_COMMANDS, export, ids, *SAYING, watch, query, webhook]
