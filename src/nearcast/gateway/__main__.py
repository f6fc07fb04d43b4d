"""``python -m nearcast.gateway``: one gateway, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from nearcast.errors import NearcastError
from nearcast.gateway.call import Settings
from nearcast.gateway.server import run

__all__ = ["main"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--nats", "url", required=True, help="The NATS server, such as nats://127.0.0.1:4222.")
@click.option("--tokens", type=click.Path(path_type=Path), required=True, help="The file of tokens.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8080, show_default=True, help="0 is any that is free.")
@click.option("--ahead", default=300.0, show_default=True, help="Seconds that a fix may be ahead of our clock.")
@click.option("--rate", default=1000.0, show_default=True, help="Ops a second of one client; operators have no limit.")
@click.option("--body", default=32 * 2**20, show_default=True, help="Bytes of a body, at most.")
def main(url: str, tokens: Path, host: str, port: int, ahead: float, rate: float, body: int) -> None:
    """Serve HTTP, server-sent events and WebSocket in front of the log."""
    try:
        run(url, tokens, Settings(ahead=ahead, rate=rate, body=body), host, port)
    except NearcastError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
