"""``python -m nearcast.gateway``: one gateway, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from nearcast.errors import NearcastError
from nearcast.gateway.call import Settings
from nearcast.gateway.hooks import MOST
from nearcast.gateway.page import check_tiles
from nearcast.gateway.server import run

__all__ = ["main"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--nats", "url", envvar="NEARCAST_NATS", required=True, help="The NATS server; else that of NEARCAST_NATS."
)
@click.option("--tokens", type=click.Path(path_type=Path), required=True, help="The file of tokens.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8080, show_default=True, help="0 is any that is free.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="A certificate, to speak HTTPS, ")
@click.option("--tls-key", type=click.Path(path_type=Path), help="and its key; else it is in the same file.")
@click.option("--ahead", default=300.0, show_default=True, help="Seconds that a fix may be ahead of our clock.")
@click.option("--rate", default=1000.0, show_default=True, help="Ops a second of one client; operators have no limit.")
@click.option("--body", default=32 * 2**20, show_default=True, help="Bytes of a body, at most.")
@click.option("--webhooks", default=MOST, show_default=True, help="Webhooks of one client, at most.")
@click.option("--private", is_flag=True, help="Webhooks may lead to loopback and private addresses.")
@click.option("--tiles", help="Where the map's tiles are, such as https://host/{z}/{x}/{y}.png.")
@click.option("--tiles-credit", default="", help="Whom the map names for its tiles.")
def main(
    url: str, tokens: Path, host: str, port: int, tls_cert: Path | None, tls_key: Path | None, tiles: str | None,
    **allowed: Any,
) -> None:  # fmt: skip
    """Serve HTTP, server-sent events and WebSocket in front of the log."""
    tls = (tls_cert, tls_key or tls_cert) if tls_cert else None
    try:
        run(url, tokens, Settings(tiles=tiles and check_tiles(tiles), **allowed), host, port, tls)
    except NearcastError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
