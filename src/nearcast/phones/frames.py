"""As much of MQTT 3.1.1 as a door needs: who is coming, and where one packet ends. Bytes and values, no sockets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

__all__ = [
    "Code",
    "Connect",
    "FrameError",
    "Kind",
    "connack",
    "filters_asked",
    "filters_left",
    "length_bytes",
    "packet",
    "read_connect",
]

LEVEL = 4
"""MQTT 3.1.1."""
_RESERVED, _CLEAN, _WILL, _WILL_QOS, _WILL_RETAIN, _PASSWORD, _USER = 0x01, 0x02, 0x04, 0x18, 0x20, 0x40, 0x80


class FrameError(ValueError):
    """Bytes that are not MQTT. ``code`` is what to answer, if something is to be answered."""

    def __init__(self, reason: str, code: Code | None = None) -> None:
        super().__init__(reason)
        self.code = code


class Kind(IntEnum):
    """What a packet is: the upper half of its first byte."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    PUBREC = 5
    PUBREL = 6
    PUBCOMP = 7
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


class Code(IntEnum):
    """What is answered to one who comes."""

    ACCEPTED = 0
    OTHER_VERSION = 1
    BAD_ID = 2
    AWAY = 3
    BAD_PASSWORD = 4
    NOT_ALLOWED = 5


@dataclass(frozen=True, slots=True)
class Connect:
    """One who comes."""

    client_id: str
    user: str
    password: str
    keep_alive: int = 60
    is_clean: bool = True
    will_topic: str | None = None
    will: bytes = b""
    will_qos: int = 0

    def known_as(self, client_id: str, user: str, password: str) -> Connect:
        """The same under other names."""
        return replace(self, client_id=client_id, user=user, password=password)

    def encoded(self) -> bytes:
        """As a packet. A will is not retained, whatever it asked for."""
        flags = _USER | _PASSWORD | (_CLEAN if self.is_clean else 0)
        parts = [_text(self.client_id)]
        if self.will_topic is not None:
            flags |= _WILL | (self.will_qos << 3)
            parts += [_text(self.will_topic), _binary(self.will)]
        parts += [_text(self.user), _text(self.password)]
        head = _text("MQTT") + bytes((LEVEL, flags)) + self.keep_alive.to_bytes(2, "big")
        return packet(Kind.CONNECT << 4, head + b"".join(parts))


def read_connect(body: bytes) -> Connect:
    """The first packet of a connection, without its header."""
    reader = _Reader(body)
    name = reader.binary()
    if name not in (b"MQTT", b"MQIsdp"):
        raise FrameError("this is not MQTT")
    level = reader.number(1)
    if name != b"MQTT" or level != LEVEL:
        raise FrameError(f"version {level} of MQTT is not spoken here; use 3.1.1", Code.OTHER_VERSION)
    flags, keep_alive = reader.number(1), reader.number(2)
    if flags & _RESERVED or (flags & _WILL_QOS) >> 3 == 3:
        raise FrameError("flags that mean nothing")
    if not flags & _WILL and flags & (_WILL_QOS | _WILL_RETAIN):
        raise FrameError("flags of a will, and none follows")
    client_id, is_clean = reader.text(), bool(flags & _CLEAN)
    if not client_id and not is_clean:
        raise FrameError("one without an id cannot have a session that lasts", Code.BAD_ID)
    topic, will = (reader.text(), reader.binary()) if flags & _WILL else (None, b"")
    if not flags & _USER or not flags & _PASSWORD:
        raise FrameError("come with a user name, and your token as password", Code.BAD_PASSWORD)
    user, password = reader.text(), reader.text()
    reader.end()
    return Connect(client_id, user, password, keep_alive, is_clean, topic, will, (flags & _WILL_QOS) >> 3)


def filters_asked(body: bytes, most: int) -> set[str]:
    """The topics that a SUBSCRIBE names. Of one that names too many no more are read."""
    return _filters(body, most, options=1)


def filters_left(body: bytes, most: int) -> set[str]:
    """Those that an UNSUBSCRIBE names."""
    return _filters(body, most, options=0)


def _filters(body: bytes, most: int, options: int) -> set[str]:
    reader = _Reader(body)
    reader.number(2)
    found: set[str] = set()
    count = 0
    while not reader.is_done:
        count += 1
        if count > most:
            raise FrameError(f"a packet that names more than {most} topics")
        found.add(reader.text())
        reader.number(options)
    return found


def connack(code: Code) -> bytes:
    return packet(Kind.CONNACK << 4, bytes((0, code)))


def packet(first: int, body: bytes) -> bytes:
    return bytes((first,)) + length_bytes(len(body)) + body


def length_bytes(length: int) -> bytes:
    """Seven bits a byte, the least first."""
    made = bytearray()
    while True:
        length, low = divmod(length, 128)
        made.append(low | (0x80 if length else 0))
        if not length:
            return bytes(made)


class _Reader:
    """What is left of a packet."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._body)

    def _take(self, count: int) -> bytes:
        found = self._body[self._at : self._at + count]
        if len(found) < count:
            raise FrameError("a packet ends too early")
        self._at += count
        return found

    def number(self, count: int) -> int:
        return int.from_bytes(self._take(count), "big")

    def binary(self) -> bytes:
        return self._take(self.number(2))

    def text(self) -> str:
        try:
            found = self.binary().decode()
        except UnicodeDecodeError:
            raise FrameError("text that is not UTF-8") from None
        if "\0" in found:
            raise FrameError("text with a zero in it")
        return found

    def end(self) -> None:
        if not self.is_done:
            raise FrameError("a packet goes on after its end")


def _binary(content: bytes) -> bytes:
    return len(content).to_bytes(2, "big") + content


def _text(text: str) -> bytes:
    return _binary(text.encode())
