"""An endpoint that speaks TLS: its certificate is checked, and a name is called by the address that was looked at."""

from __future__ import annotations

from pathlib import Path

from nearcast.bench.endpoints import Endpoint
from nearcast.log.server import NatsServer
from tests.webhooks.running import QUICK, came, delivering, ids, scene, server_tls, until_true, verify


async def test_tls(server: NatsServer, pem: Path) -> None:
    async with scene(server) as at, Endpoint(tls=server_tls(pem)) as endpoint:
        hook = await at.add(endpoint.url.replace("127.0.0.1", "localhost"))
        with delivering(server.url, *QUICK, SSL_CERT_FILE=str(pem)):
            told = await at.tell(3)
            for asked in await came(endpoint, 3):
                assert asked.headers["host"] == f"localhost:{endpoint.port}"
                assert verify(asked.headers, asked.body, hook["secret"])
            assert ids(endpoint) == told
            assert endpoint.connections == 1
        endpoint.asked.clear()
        with delivering(server.url, *QUICK, "--attempts", "2"):
            await at.tell()
            [letter] = await until_true(at.dead)
            assert letter["reason"] == "its certificate is not valid, or it does not speak TLS"
        assert endpoint.asked == []
