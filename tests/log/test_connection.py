"""A connection that is over says so, however it ended."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
import uvloop

from nearcast.log.connection import connection
from nearcast.log.server import NatsServer


async def cut_off(server: NatsServer) -> None:
    """The server dies with something unread, while there is more to send."""
    lost = asyncio.Event()
    async with connection(server.url, lost.set) as client:
        os.kill(server.pid, signal.SIGSTOP)
        await client.publish("nearcast.nobody", b"x" * 2**19)
        await asyncio.sleep(0.05)
        server.kill()
        client._pending.append(b"PING\r\n")
        client._pending_data_size += 6
        await asyncio.wait_for(lost.wait(), 5)
        assert client.is_closed


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_is_cut_off_is_known_to_be_lost(server: NatsServer, loop: object) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:  # type: ignore[arg-type]
        runner.run(cut_off(server))
