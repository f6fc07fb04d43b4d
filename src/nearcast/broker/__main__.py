"""A broker as a process: ``python -m nearcast.broker --nats URL``. It ends in one line if something is wrong."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys

import click
import uvloop

from nearcast.broker.service import Broker, Settings
from nearcast.broker.warming import warm_up
from nearcast.errors import NearcastError
from nearcast.log.connection import connection
from nearcast.log.ending import end
from nearcast.log.memory import keep_little

__all__ = ["main"]

WARMED = "NEARCAST_WARMED"
"""Set for a broker that has begun again after it compiled: a compiler leaves 400 MB behind in its process."""


@click.command()
@click.option(
    "--nats", "url", envvar="NEARCAST_NATS", required=True, metavar="URL",
    help="The NATS server, or several of a cluster; else that of NEARCAST_NATS.",
)  # fmt: skip
@click.option("--name", help="What it is called in logs; the machine and the process unless told.")
@click.option(
    "--lease", type=click.FloatRange(min=0.1), default=Settings.lease, help="Seconds until another takes over."
)
@click.option(
    "--snapshot-seconds", type=click.FloatRange(min=0.1), default=Settings.snapshot_seconds,
    help="Seconds between two snapshots.",
)  # fmt: skip
@click.option(
    "--snapshot-packets", type=click.IntRange(min=1), default=Settings.snapshot_packets,
    help="Packets after which there is one in any case.",
)  # fmt: skip
@click.option("--safe", type=click.FloatRange(min=0), default=Settings.safe, hidden=True)
@click.option(
    "--keep", type=click.IntRange(min=0), default=Settings.keep, help="Packets of the log that are not cut off."
)
@click.option("--ticks/--no-ticks", default=Settings.ticks, help="Write ticks into the log.")
@click.option(
    "--out-bytes", type=click.IntRange(min=1), default=Settings.out_bytes, help="Of notifications, how many are kept."
)
def main(url: str, name: str | None, **settings: float) -> None:
    """Apply the log and tell what follows from it."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    keep_little()
    called = name or f"{socket.gethostname()}-{os.getpid()}"
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_look(url))
            if warm_up() and WARMED not in os.environ:
                os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, WARMED: "1"})
            gc.freeze()  # a look for garbage among 200,000 objects that stay would take 90 ms, while nothing is told
            runner.run(_run(Broker(url, called, Settings(**settings))))  # type: ignore[arg-type]  # click has checked them
    except NearcastError as error:
        raise click.ClickException(str(error)) from None


async def _look(url: str) -> None:
    """Raises `LogError` if no server is there, before anything takes long."""
    async with connection(url):
        pass


async def _run(broker: Broker) -> None:
    """Until a signal asks it to end."""
    work, asked = asyncio.ensure_future(broker.run()), asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, asked.set)
    waiting = asyncio.ensure_future(asked.wait())
    await asyncio.wait([work, waiting], return_when=asyncio.FIRST_COMPLETED)
    if not asked.is_set():
        waiting.cancel()
        await work
    await end(work)
    logging.getLogger(__name__).info("%s ends", broker.name)


if __name__ == "__main__":
    main()
