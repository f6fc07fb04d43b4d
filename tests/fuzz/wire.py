"""HTTP, WebSocket and MQTT byte by byte, since no decent client sends what is tried here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from nearcast.phones.frames import Connect, Kind, packet

__all__ = ["Answer", "Line", "connect_packet", "frame", "publish_packet", "request", "subscribe_packet", "upgrade"]

PATIENCE = 30.0
"""Seconds after which no answer is a hang."""
TEXT, BINARY, CONTINUED, CLOSE, PING = 1, 2, 0, 8, 9


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def check(self) -> None:
        """Whatever was asked, it is answered in the form that is promised."""
        assert self.status < 500 or (self.status == 503 and "retry-after" in self.headers), self
        assert self.status < 400 or self.size, self

    @property
    def size(self) -> int:
        """Bytes of its body, also if only the head was asked for."""
        return int(self.headers.get("content-length", "0"))


class Line:
    """One connection. It ends without a farewell."""

    def __init__(self, url: str, port: int | None = None) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._host, self._port = parts.hostname, port or parts.port

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(self._host, self._port, limit=2**22)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.transport.abort()
        await asyncio.sleep(0)

    async def send(self, data: bytes) -> None:
        """As much as is taken. One who hangs up early is no fault."""
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, *, is_head: bool = False) -> Answer | None:
        """The next one, which has no body if only its head was asked for; None if the other side hung up instead."""
        async with asyncio.timeout(PATIENCE):
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
                first, *lines = head.decode("latin-1").split("\r\n")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                found = Answer(int(first.split()[1]), headers, b"")
                return found if is_head else replace(found, body=await self.reader.readexactly(found.size))
            except (EOFError, OSError):
                return None

    async def ask(self, data: bytes) -> Answer | None:
        """Send, and hear at once: who refuses may do so before all has come."""
        sending = asyncio.ensure_future(self.send(data))
        try:
            return await self.answer(is_head=data.startswith(b"HEAD "))
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    async def is_hung_up(self, seconds: float = PATIENCE) -> None:
        """Read until the other side ends it; a timeout raises."""
        async with asyncio.timeout(seconds):
            try:
                while await self.reader.read(2**16):
                    pass
            except OSError:
                pass


def request(method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    """A request. What the headers say of the length is left as it is."""
    said = {"Host": "nearcast", **headers}
    if body is not None and not {"Content-Length", "Transfer-Encoding"} & said.keys():
        said["Content-Length"] = str(len(body))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items()), "", ""]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + (body or b"")


# ---- WebSocket -----------------------------------------------------------------------------------------


def upgrade(path: str, headers: Mapping[str, str]) -> bytes:
    wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    return request("GET", path, {**wanted, "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", **headers})


def frame(
    payload: bytes, opcode: int = TEXT, *, fin: bool = True, masked: bool = True, says: int | None = None, rsv: int = 0
) -> bytes:
    """A frame that ``says`` how long it is."""
    length = len(payload) if says is None else says
    mask = 0x80 if masked else 0
    head = bytes([(0x80 if fin else 0) | (rsv << 4) | opcode])
    if length < 126:
        head += bytes([mask | length])
    elif length < 2**16:
        head += bytes([mask | 126]) + length.to_bytes(2, "big")
    else:
        head += bytes([mask | 127]) + length.to_bytes(8, "big")
    if not masked:
        return head + payload
    key = os.urandom(1) * 4
    return head + key + payload.translate(bytes(byte ^ key[0] for byte in range(256)))


# ---- MQTT ----------------------------------------------------------------------------------------------


def connect_packet(user: str, token: str, client_id: str = "") -> bytes:
    return Connect(client_id, user, token).encoded()


def publish_packet(topic: bytes, payload: bytes, qos: int = 0, mid: int = 1) -> bytes:
    named = len(topic).to_bytes(2, "big") + topic + (mid.to_bytes(2, "big") if qos else b"")
    return packet(Kind.PUBLISH << 4 | qos << 1, named + payload)


def subscribe_packet(*topics: bytes, qos: int = 0) -> bytes:
    body = b"".join(len(topic).to_bytes(2, "big") + topic + bytes([qos]) for topic in topics)
    return packet(Kind.SUBSCRIBE << 4 | 2, b"\0\1" + body)
