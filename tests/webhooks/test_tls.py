"""An endpoint that speaks TLS: its certificate is checked, and a name is called by the address that was looked at."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from nearcast.bench.endpoints import Endpoint
from nearcast.log.server import NatsServer
from tests.webhooks.running import QUICK, came, delivering, ids, scene, until_true, verify

PEM = """\
-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1uZWFyY2Fz
dCB0ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1uZWFyY2FzdCB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6ySW
4EFRm41nLcaUTsrdoks/pBVzrUlzT+/U81m6U5/XRreyBjbE3sBa2LifjXPouNQd
UUJKmOPxhtQFUm7CMqNeMFwwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8G
A1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgKEMB0GA1UdDgQWBBRZfjUYamQp
hKqErWvupl2a8G0QITAKBggqhkjOPQQDAgNJADBGAiEAzabMZRgG5ZGCV1tW1rLN
xUN1EKgWcqIHDFNI2yBdAEkCIQDxHJRoXXbvjMVj71t8agA4P9BHxk29fTIH1bmY
13HtBQ==
-----END CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgA2PDTjDkGH8l8M2w
rRjktutS3CeGYpzCr38wMzu17/ihRANCAATrJJbgQVGbjWctxpROyt2iSz+kFXOt
SXNP79TzWbpTn9dGt7IGNsTewFrYuJ+Nc+i41B1RQkqY4/GG1AVSbsIy
-----END PRIVATE KEY-----
"""
"""A certificate for localhost that signs itself, with its key. Nothing else trusts it."""


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    path = tmp_path / "test.pem"
    path.write_text(PEM, encoding="ascii")
    return path


async def test_tls(server: NatsServer, pem: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pem)
    async with scene(server) as at, Endpoint(tls=context) as endpoint:
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
