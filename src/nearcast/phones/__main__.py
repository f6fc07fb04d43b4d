"""``python -m nearcast.phones``: the door for phones, in a process of its own."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import click
import uvloop

from nearcast.errors import NearcastError
from nearcast.gateway.identity import TokenFile
from nearcast.log.memory import keep_little
from nearcast.phones.door import Limits
from nearcast.phones.service import Settings, run_phones

__all__ = ["main"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--nats", envvar="NEARCAST_NATS", required=True, help="The NATS server; else that of NEARCAST_NATS.")
@click.option("--tokens", type=click.Path(path_type=Path), required=True, help="The file of tokens.")
@click.option("--upstream", type=int, required=True, help="The port of this machine where the server speaks MQTT.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=1883, show_default=True, help="0 is any that is free.")
@click.option("--tls-cert", "cert", type=click.Path(path_type=Path), help="A certificate, to speak TLS.")
@click.option("--tls-key", "key", type=click.Path(path_type=Path), help="Its key.")
@click.option("--ahead", default=300.0, show_default=True, help="Seconds that a fix may be ahead of our clock.")
@click.option("--rate", default=Limits().rate, show_default=True, help="Packets a second of one client.")
def main(tokens: Path, rate: float, **options: Any) -> None:
    """Let phones in by MQTT, take what they say into the log, and tell them what they enter and leave."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    keep_little()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(Settings(**options, limits=Limits(rate=rate)), tokens))
    except NearcastError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


async def _run(settings: Settings, tokens: Path) -> None:
    """Until a signal asks it to end."""
    asked = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, asked.set)
    async with run_phones(settings, TokenFile(tokens)):
        await asked.wait()


if __name__ == "__main__":
    main()
