from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nearcast.log.server import NatsServer

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


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """One for the tests of a module, which have clients of their own."""
    with NatsServer(tmp_path_factory.mktemp("shared") / "nats") as running:
        yield running


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    path = tmp_path / "test.pem"
    path.write_text(PEM, encoding="ascii")
    return path
