"""Signatures as the Standard Webhooks specification has them: HMAC-SHA256 of the id, the time and the body.

https://www.standardwebhooks.com
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence

from nearcast.gateway.hooks import Secret

__all__ = ["key_of", "signed"]

PREFIX = "whsec_"
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,200}")


def key_of(number: str, ids: Sequence[str]) -> str:
    """The idempotency key of one event, or of several in a request: the same each time that they are sent.

    It holds no full stop and no line break, whatever an id holds, since it is signed and a header.
    """
    told = ids[0] if len(ids) == 1 and _PLAIN.fullmatch(ids[0]) else _digest(ids)
    return f"{number}_{told}"


def _digest(ids: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def signed(key: str, now: float, body: bytes, secrets: Sequence[Secret]) -> dict[str, str]:
    """The headers of a request: one signature for each secret that is in use at that time."""
    stamp = str(int(now))
    content = b"%b.%b.%b" % (key.encode(), stamp.encode(), body)
    used = [secret.value for secret in secrets if secret.until is None or now < secret.until]
    signatures = " ".join(f"v1,{_signature(value, content)}" for value in used)
    return {"webhook-id": key, "webhook-timestamp": stamp, "webhook-signature": signatures}


def _signature(secret: str, content: bytes) -> str:
    return b64encode(hmac.digest(b64decode(secret.removeprefix(PREFIX)), content, hashlib.sha256)).decode()
