"""``python -m nearcast.webhooks --nats URL``: delivers to webhooks, in a process of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import click
import uvloop

from nearcast.errors import NearcastError
from nearcast.log.lease import SECONDS
from nearcast.webhooks.policy import Policy
from nearcast.webhooks.service import Service, Settings

__all__ = ["main"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--nats", "url", envvar="NEARCAST_NATS", required=True, help="The NATS server; else that of NEARCAST_NATS."
)
@click.option(
    "--tokens", type=click.Path(path_type=Path),
    help="The file of tokens: webhooks are held whose makers have none any more.",
)  # fmt: skip
@click.option("--name", help="What it is called in logs; the machine and the process unless told.")
@click.option(
    "--lease",
    type=click.FloatRange(min=0.1),
    default=SECONDS,
    show_default=True,
    help="Seconds until another takes over.",
)
@click.option("--private", is_flag=True, help="Endpoints may be at loopback and private addresses.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=15.0, show_default=True, help="Seconds for an answer."
)
@click.option(
    "--attempts", type=click.IntRange(min=1), default=Policy.attempts, show_default=True, help="At one event."
)
@click.option(
    "--first-wait", "first", type=click.FloatRange(min=0.001), default=Policy.first, show_default=True,
    help="Seconds to wait after the first attempt; then twice as long each time, up to five minutes.",
)  # fmt: skip
@click.option(
    "--age", type=click.FloatRange(min=0.1), default=Policy.age, show_default=True,
    help="Seconds after which an event is given up in any case.",
)  # fmt: skip
def main(url: str, name: str | None, attempts: int, first: float, age: float, **settings: Any) -> None:
    """Send what clients are told to their webhooks. Of several processes one does, and the others wait."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    policy = Policy(attempts=attempts, refusals=min(attempts, Policy.refusals), first=first, age=age)
    called = name or f"{socket.gethostname()}-{os.getpid()}"
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(url, called, Settings(policy=policy, **settings)))
    except NearcastError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


async def _run(url: str, name: str, settings: Settings) -> None:
    """Until a signal asks it to end."""
    service = Service(url, name, settings)
    for sent in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(sent, service.end)
    await service.run()


if __name__ == "__main__":
    main()
