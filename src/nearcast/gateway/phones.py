"""What is kept of a client that comes by MQTT. It is the phones' own, who follow it when a gateway deletes it."""

from __future__ import annotations

from nats.js import errors as stream_errors

from nearcast.gateway.link import Link
from nearcast.gateway.outbox import key_of
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import PHONES

__all__ = ["forget_phones"]


async def forget_phones(link: Link, client: str) -> bool:
    """Delete what is known of a client's phones; whether there was something. The client is forgotten before, so what
    they still write comes after that, and they take it back."""
    log = link.log
    with explained(log.url, PHONES):
        try:
            bucket = await log.client.jetstream(timeout=PATIENCE).key_value(PHONES)
            await bucket.get(key_of(client))
        except (stream_errors.BucketNotFoundError, stream_errors.KeyNotFoundError):
            return False
        await bucket.delete(key_of(client))
    return True
