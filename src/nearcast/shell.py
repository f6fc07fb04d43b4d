"""What verbs share: options; and of those that speak with a gateway, who one is, where it is, and how to answer."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nearcast.errors import NearcastWarning

if TYPE_CHECKING:  # what speaks HTTP is loaded by whoever does
    from nearcast.client import Client

__all__ = ["DATA", "FILE", "LATENESS", "as_json", "connected", "do", "say", "warn"]

F = TypeVar("F", bound=Callable[..., Any])
DATA = click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), default=Path("nearcast-data"), show_default=True
)
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)
LATENESS = click.option(
    "--lateness", type=click.FloatRange(min=0), default=0.0, help="Seconds that fixes are held back and sorted."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def connected(command: F) -> F:
    """The options that say where the gateway is and who one is there."""
    for option in (
        click.option("--as", "client", help="Act for this client, with an operator's token."),
        click.option("--token", envvar="NEARCAST_TOKEN", help="Your token; else that of NEARCAST_TOKEN."),
        click.option(
            "--url", envvar="NEARCAST_URL", help="The gateway; else that of NEARCAST_URL, else port 8080 here."
        ),
    ):
        command = option(command)
    return command


def do(url: str | None, token: str | None, client: str | None, doing: Callable[[Client], Awaitable[Any]]) -> Any:
    from nearcast.client import Client  # noqa: PLC0415

    async def run() -> Any:
        async with Client(url, token, client=client) as me:
            return await doing(me)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", NearcastWarning)
        done = asyncio.run(run())
    warn(str(one.message) for one in warned)
    return done


def warn(said: Iterable[str]) -> None:
    for text in said:
        click.echo(f"warning: {text}", err=True)


def say(answer: Any, text: str, as_json: bool) -> None:
    click.echo(json.dumps(answer) if as_json else text)
