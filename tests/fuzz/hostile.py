"""What no decent client sends: bodies, requests, frames, packets and statements that are wrong in every way we know.

All is drawn from a seed. What is costly to make is rare, but comes once in the beginning, so that what is warm has seen
it all.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from nearcast.phones.frames import Kind, length_bytes, packet
from tests.fuzz import wire
from tests.fuzz.mutator import Mutator

__all__ = ["Hostile"]

T = TypeVar("T")
BODY = 32 * 2**20
RARELY = 1 / 2000
"""How often something large is sent."""
WORDS = [
    "", " ", "\0", "..", "../..", "..%2f..%2f", "%2e%2e/", "%00", "%", "%zz", "%ff%fe", "a" * 300, "a" * 9000, "/",
    "//", "?", "#", ";", "é", "\udcff", "%F0%9F%9A%80", "null", "-1", "1e9", "NaN", "9" * 5000, "0x10", "٣", "'", "*",
    ">", "$JS.API.>", "nearcast.ops", "True", "operator", "{}", "<script>", "${jndi}", "%0d%0aX: y", "a.b", "_INBOX",
]  # fmt: skip
TOPICS = [
    b"", b"\0", b"a\0b", b"#", b"+", b"a/#/b", b"owntracks/+/x", b"owntracks/#", b"$SYS/a", b"$MQTT/x", b"/" * 300,
    b"a" * 65000, b"\xff\xfe", b"\xed\xa0\x80", b"nearcast/ops", b"owntracks", b"owntracks//", b"a.b",
    b"owntracks/a b/c", b">",
]  # fmt: skip
HEADERS = [
    "Content-Type", "Content-Length", "Accept", "Authorization", "Expect", "Transfer-Encoding", "Host", "Connection",
    "Last-Event-ID", "Upgrade", "Range", "Cookie", "X-Forwarded-For", "Content-Encoding", "Sec-WebSocket-Key",
]  # fmt: skip
LENGTHS = [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80\x01", b"\0"]
PROTOCOLS = [b"MQTX", b"MQIs", b"\0\0\0\0", b"\xff\xfe\xfd\xfc"]
LARGE = wire.frame(b"x" * (2**20 + 1))
TYPES = ["application/json", "text/plain", "application/geo+json", "application/x-ndjson", "multipart/form-data", ""]


class Hostile:
    def __init__(self, seed: int, statements: Sequence[str]) -> None:
        self.random = random.Random(seed)
        self.mutator = Mutator(seed, statements)
        self._rare: list[Callable[[bytes], bytes]] = [self._listed, self._fed, self._empty_things, self._oversized]
        self._due = list(self._rare)

    def any_of(self, some: Sequence[T]) -> T:
        return self.random.choice(some)

    def word(self) -> str:
        return str(self.any_of(WORDS) if self.random.random() < 0.7 else self.mutator.word())

    # ---- bodies ----------------------------------------------------------------------------------------

    def body(self, valid: bytes) -> bytes:
        """Nearly what it should be, mostly."""
        if self._due:
            return self._due.pop()(valid)
        if self.random.random() < RARELY:
            return bytes(self.any_of(self._rare)(valid))
        return bytes(
            self.any_of(
                (self._cut, self._changed, self._changed, self._mangled, self._spliced, self._deep, self._twice)
            )(valid)
        )

    def _cut(self, valid: bytes) -> bytes:
        return valid[: self.random.randrange(len(valid) + 1)]

    def _changed(self, valid: bytes) -> bytes:
        """Still JSON, with a value replaced; or what Python takes for JSON."""
        try:
            held = [json.loads(valid)]
        except ValueError:
            return self.statement().encode("utf-8", "surrogatepass")
        for _ in range(self.any_of((1, 1, 2, 5))):
            self.mutator.change_value(held)
            held = copy.deepcopy(held)  # the values are shared, and one may come to hold itself
        made = json.dumps(held[0])
        if self.random.random() < 0.2:
            number = self.any_of(
                ("NaN", "Infinity", "-Infinity", "1e999", "-" + "9" * 5000, "1e-999", "1.", "00", "0x1")
            )
            made = made.replace(self.any_of(("1", "2", "0", "null")), number)
        return made.encode("utf-8", "surrogatepass")

    def _mangled(self, valid: bytes) -> bytes:
        """Bytes that are no UTF-8, or none that mean anything."""
        if self.random.random() < 0.2:
            return self.random.randbytes(self.any_of((1, 10, 1000)))
        at = self.random.randrange(len(valid) + 1)
        return (
            valid[:at] + self.any_of((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\0", b"\\ud800", b"\xf8")) + valid[at:]
        )

    def _spliced(self, valid: bytes) -> bytes:
        at = self.random.randrange(len(valid) + 1)
        return valid[:at] + self.mutator.word().encode("utf-8", "surrogatepass") + valid[at:]

    def _deep(self, valid: bytes) -> bytes:
        depth = self.any_of((10, 200, 1000, 5000, 10**5))
        opening, closing = self.any_of(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"move":', b"}]"), (b"(", b")")))
        inner = opening * depth + b"1" + closing * (depth if self.random.random() < 0.5 else 0)
        return inner if self.random.random() < 0.5 else valid.replace(b":", b":" + inner + b",", 1)

    def _twice(self, valid: bytes) -> bytes:
        """The same keys, again and again."""
        inside = valid.strip().removeprefix(b"{").removesuffix(b"}")
        return b"{" + b",".join([inside] * self.any_of((2, 3, 500))) + b"}"

    def _listed(self, valid: bytes) -> bytes:
        return b"[" + b",".join([valid] * self.any_of((10, 1000, 30_000))) + b"]"

    def _fed(self, valid: bytes) -> bytes:
        """A million of what there should be none of."""
        del valid
        return b"[" + b",".join([self.any_of((b"1", b"null", b'"a"', b"[]", b"1e5"))] * 10**6) + b"]"

    def _empty_things(self, valid: bytes) -> bytes:
        del valid
        return b"[" + b",".join([b"{}"] * 10**6) + b"]"

    def _oversized(self, valid: bytes) -> bytes:
        return valid + b" " * BODY

    # ---- requests --------------------------------------------------------------------------------------

    def request(self, method: str, path: str, token: dict[str, str], valid: bytes | None) -> bytes:
        """One with something odd about it: its body, path, query, headers, or all of it."""
        headers, body = dict(token), None if valid is None else self.body(valid)
        if valid is not None:
            headers["Content-Type"] = str(self.any_of(TYPES[:2] if self.random.random() < 0.8 else TYPES))
        chance = self.random.random()
        if chance < 0.1:
            path += "?" + "&".join(f"{self.query_name()}={self.word()}" for _ in range(self.any_of((1, 2, 30))))
        elif chance < 0.2:
            path = self.any_of(("/v1/", "/", "/v1/layers/", "/v1/publications/", "/map/", "*", "")) + self.word()
        elif chance < 0.3:
            headers[self.any_of(HEADERS)] = self.word()
        elif chance < 0.33:
            method = self.any_of(("HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "CONNECT", "BREW", "", "get"))
        made = wire.request(method, path, headers, body)
        if self.random.random() < 0.02:
            at = self.random.randrange(min(len(made), 200))
            made = made[:at] + self.random.randbytes(3) + made[at + 3 :]
        return made

    def query_name(self) -> str:
        return str(
            self.any_of(
                (
                    "client",
                    "after",
                    "limit",
                    "since",
                    "k",
                    "lon",
                    "lat",
                    "from",
                    "layer",
                    "where",
                    "box",
                    "place",
                    "cursor",
                )
            )
        )

    # ---- statements ------------------------------------------------------------------------------------

    def statement(self) -> str:
        """A mutated one, or one that is built to cost a lot."""
        if self.random.random() < 0.7:
            return self.mutator.text()
        size = self.any_of((3, 30, 100, 300, 1000))
        return str(self.any_of((self._nested, self._wide, self._polygon, self._numbers, self._joined))(size))

    def _nested(self, size: int) -> str:
        opening, closing = self.any_of((("(", ")"), ("NOT ", ""), ("NOT (", ")"), ("ANY a WITHIN 1 m OF ", "")))
        return f"SELECT WHERE {opening * size}&a = 1{closing * size}"

    def _wide(self, size: int) -> str:
        """Exponential, if someone multiplies it out."""
        outer, inner = self.any_of(((" AND ", " OR "), (" OR ", " AND ")))
        made = outer.join(f"(&a{i} = {i}{inner}NOT &b{i} < {i}{inner}&c = '{'(a+)+' * 3}$')" for i in range(size))
        return f"SELECT WHERE {made}"

    def _polygon(self, size: int) -> str:
        at = [f"{self.random.uniform(-200, 200):g} {self.random.uniform(-100, 100):g}" for _ in range(size)]
        return f"SELECT WHERE &location IN POLYGON(({', '.join(at)}))"

    def _numbers(self, size: int) -> str:
        number = self.any_of(("9" * size, f"1e{size}", f"-1e-{size}", f"0.{'0' * size}1"))
        where = (
            "SELECT NEAREST {}", "SELECT WHERE &a < {}", "SELECT EXPIRES {} d",
            "SELECT WHERE &location WITHIN {} m OF #location", "SELECT WHERE &location IN DISC({0} {0}, {0} m)",
            "PUBLISH PRECISION {} m", "SELECT DWELL {} s", "PUBLISH RANGE {} m",
        )  # fmt: skip
        return str(self.any_of(where).format(number))

    def _joined(self, size: int) -> str:
        return " ".join(self.mutator.text() for _ in range(min(size, 30)))

    # ---- WebSocket -------------------------------------------------------------------------------------

    def frame(self, valid: bytes) -> bytes:
        """What a socket is sent: mostly a message that is wrong inside, now and then a frame that is wrong itself."""
        chance = self.random.random()
        if chance < 0.8:
            body = self.body(valid)
            return wire.frame(body, self.any_of((wire.TEXT, wire.TEXT, wire.BINARY)))
        if chance < 0.88:
            pieces = [self.body(valid)[:2000] for _ in range(self.any_of((2, 5, 50)))]
            parts = [wire.frame(piece, wire.CONTINUED, fin=False) for piece in pieces]
            return wire.frame(pieces[0], fin=False) + b"".join(parts) + wire.frame(b"", wire.CONTINUED)
        if chance < 0.92:
            return wire.frame(b"ping", wire.PING) * self.any_of((1, 100))
        return bytes(
            self.any_of((
                wire.frame(valid, self.any_of((3, 7, 11, 15))),
                wire.frame(valid, masked=False),
                wire.frame(valid, rsv=self.any_of((1, 2, 4, 7))),
                wire.frame(valid, says=self.any_of((0, 2**20 + 1, 2**31, 2**62, 2**64 - 1))),
                wire.frame(b"x" * 200, wire.PING),
                wire.frame(valid, wire.PING, fin=False),
                wire.frame(valid, wire.CONTINUED),
                wire.frame(valid, fin=False) + wire.frame(valid, fin=False),
                wire.frame(self.random.randbytes(1), wire.CLOSE),
                wire.frame(b"\xff\xff" + b"\xff" * 50, wire.CLOSE),
                wire.frame(b"\xff\xfe\xfd"),
                LARGE,
                self.random.randbytes(self.any_of((1, 20, 2000))),
            ))
        )  # fmt: skip

    # ---- MQTT ------------------------------------------------------------------------------------------

    def arrival(self, valid: bytes) -> bytes:
        """A first packet that lets nobody in."""
        body = valid[2:]
        made = bytes(
            self.any_of((
                valid[: self.random.randrange(len(valid))],
                bytes([valid[0]]) + self.any_of(LENGTHS) + body,
                packet(0x10, body.replace(b"MQTT", self.any_of(PROTOCOLS), 1)),
                packet(0x10, body[:6] + bytes([self.random.randrange(256)]) + body[7:]),
                packet(0x10, body[:7] + bytes([self.random.randrange(256) | 1]) + body[8:]),
                packet(self.random.randrange(256) | 0x20, body),
                packet(0x10, self.random.randbytes(self.any_of((0, 1, 9, 200)))),
                packet(0x10, body + self.random.randbytes(3)),
                wire.publish_packet(b"owntracks/a/b", b"{}", qos=1),
                wire.subscribe_packet(b"#"),
                b"GET / HTTP/1.1\r\n\r\n",
                self.random.randbytes(self.any_of((1, 5, 100))),
                self._nicked(valid),
            ))
        )  # fmt: skip
        return made if made != valid else valid[:-1]

    def _nicked(self, data: bytes) -> bytes:
        at = self.random.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << self.random.randrange(8))]) + data[at + 1 :]

    def packet(self, client: str, valid: bytes) -> bytes:
        """What one sends who is in: mostly a message that means nothing, now and then a packet that is none."""
        topic = f"owntracks/{client}/phone{self.any_of(('', '/event', '/waypoints', '/cmd', '/x/y'))}".encode()
        chance = self.random.random()
        if chance < 0.6:
            body = self.body(valid)[: 2**14] if self.random.random() < 0.98 else valid * 3000
            return wire.publish_packet(topic, body, self.any_of((0, 0, 1, 2)), self.any_of((0, 1, 65535)))
        if chance < 0.75:
            return wire.publish_packet(self.any_of(TOPICS), valid, self.any_of((0, 1, 2, 3)))
        if chance < 0.85:
            return wire.subscribe_packet(
                *(self.any_of(TOPICS) for _ in range(self.any_of((0, 1, 9, 200)))), qos=self.any_of((0, 1, 2, 3, 255))
            )
        return bytes(
            self.any_of((
                packet(self.random.randrange(16, 256), self.random.randbytes(self.any_of((0, 1, 2, 60)))),
                bytes([Kind.PUBLISH << 4]) + b"\xff\xff\xff\xff\x01",
                bytes([Kind.PUBLISH << 4]) + length_bytes(2**28 - 1) + b"x",
                packet(Kind.PUBLISH << 4, b"\xff\xff" + topic),
                packet(Kind.PUBACK << 4, b"\0\0"),
                packet(Kind.PUBREL << 4, self.random.randbytes(2)),
                packet(Kind.UNSUBSCRIBE << 4 | 2, b"\0\1\0\5abc"),
                packet(Kind.CONNACK << 4, b"\0\0"),
                packet(Kind.PINGREQ << 4, b"") * self.any_of((1, 300)),
                self._nicked(wire.publish_packet(topic, valid, 1)),
            ))
        )  # fmt: skip
