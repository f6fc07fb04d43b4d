"""A session with an MQTT server that lasts: what it takes is acknowledged when we say so, and what we tell is told.

The client library is driven by our own loop, in one thread. A connection that is lost is made again; the server then
sends once more what was not acknowledged, and so does the client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion

from nearcast.errors import LogError, NearcastError
from nearcast.log.ending import end

__all__ = ["Message", "Session"]

PATIENCE = 30.0
"""Seconds for a server to let us in at the start."""
SOON, LATE = 0.1, 2.0
"""Seconds before a connection is tried again: at first, and at most."""
KEEP_ALIVE = 15
FAILED = 0x80
IN_FLIGHT = 1000
"""Messages that are told and not acknowledged; more wait."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Message:
    topic: str
    payload: bytes
    number: int
    """How the server knows it, as long as the connection lasts."""
    qos: int
    connection: int
    """Which of our connections it came by: after another was made, the number may be another message's."""

    @property
    def key(self) -> tuple[int, int]:
        return self.connection, self.number


class Session:
    """``async with Session(…) as session`` returns when the topics are subscribed to. All is QoS 1."""

    def __init__(
        self,
        address: tuple[str, int],
        login: tuple[str, str],
        name: str,
        topics: Sequence[str],
        take: Callable[[Message], None],
        before: Callable[[], Awaitable[None]],
    ) -> None:
        """``take`` is called with each message, to be `ack`-ed later; ``before`` is awaited before each connection."""
        self._address, self._topics, self._take, self._before = address, topics, take, before
        self._connections = 0
        self._is_connected = False
        self._told: dict[int, asyncio.Future[None]] = {}
        self._ready: asyncio.Future[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._client = self._made(name, login)

    def _made(self, name: str, login: tuple[str, str]) -> mqtt.Client:
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=name,
            clean_session=False,
            protocol=MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.username_pw_set(*login)
        client.max_inflight_messages_set(IN_FLIGHT)
        client.on_connect = self._connected
        client.on_disconnect = self._disconnected
        client.on_subscribe = self._subscribed
        client.on_message = self._came
        client.on_publish = self._published
        client.on_socket_open = self._socket_opened
        client.on_socket_close = self._socket_closed
        client.on_socket_register_write = self._wants_to_write
        client.on_socket_unregister_write = self._has_written
        return client

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        self._keeping = asyncio.create_task(self._keep(), name="nearcast phones session")
        try:
            async with asyncio.timeout(PATIENCE):
                await self._ready
        except TimeoutError:
            await self.__aexit__(None, None, None)
            raise LogError(f"no MQTT server lets us in at {self._address[0]}:{self._address[1]}") from None
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._keeping is not None:
            await end(self._keeping)
        self._client.disconnect()
        self._client.loop_write()  # the loop may have no time for it
        for waiting in self._told.values():
            waiting.cancel()

    @property
    def is_connected(self) -> bool:
        return self._is_connected

    def ack(self, message: Message) -> None:
        """The server need not send it again. One of a connection that is over will come again in any case."""
        if message.qos and message.connection == self._connections and self._is_connected:
            self._client.ack(message.number, message.qos)

    def tell(self, topic: str, payload: bytes) -> asyncio.Future[None]:
        """Done when the server has it. While there is no connection it waits for the next."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sent = self._client.publish(topic, payload, qos=1)
        if sent.rc not in (MQTTErrorCode.MQTT_ERR_SUCCESS, MQTTErrorCode.MQTT_ERR_NO_CONN):
            done.set_exception(LogError(f"{topic} cannot be told: {mqtt.error_string(sent.rc)}"))
            return done
        self._told[sent.mid] = done
        return done

    # ---- the connection --------------------------------------------------------------------------

    async def _keep(self) -> None:
        wait, is_new = SOON, True
        while True:
            if self._client.socket() is None:
                try:
                    await self._before()
                    if is_new:
                        self._client.connect(*self._address, keepalive=KEEP_ALIVE)
                    else:
                        self._client.reconnect()
                    is_new, wait = False, SOON
                except (OSError, NearcastError):
                    await asyncio.sleep(wait)
                    wait = min(LATE, wait * 2)
                    continue
            await asyncio.sleep(SOON if not self._is_connected else 1)
            self._client.loop_misc()

    def _connected(self, client: mqtt.Client, _data: Any, _flags: Any, code: Any, _properties: Any) -> None:
        if code.is_failure:
            self._fail(LogError(f"the MQTT server does not let us in: {code}"))
            return
        self._connections += 1
        self._is_connected = True
        client.subscribe([(topic, 1) for topic in self._topics])

    def _subscribed(self, _client: mqtt.Client, _data: Any, _mid: int, codes: Any, _properties: Any) -> None:
        if any(code.value >= FAILED for code in codes):
            self._fail(LogError("the MQTT server does not let us listen"))
        elif self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    def _fail(self, error: LogError) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(error)
        else:
            logger.warning("%s", error)

    def _disconnected(self, _client: mqtt.Client, _data: Any, _flags: Any, code: Any, _properties: Any) -> None:
        self._is_connected = False
        if code.is_failure:
            logger.warning("the MQTT server is away: %s", code)

    def _came(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = ""
        self._take(Message(topic, bytes(message.payload), message.mid, message.qos, self._connections))

    def _published(self, _client: mqtt.Client, _data: Any, mid: int, _code: Any, _properties: Any) -> None:
        done = self._told.pop(mid, None)
        if done is not None and not done.done():
            done.set_result(None)

    # ---- its socket ------------------------------------------------------------------------------

    def _socket_opened(self, client: mqtt.Client, _data: Any, opened: Any) -> None:
        asyncio.get_running_loop().add_reader(opened, client.loop_read)

    def _socket_closed(self, _client: mqtt.Client, _data: Any, closed: Any) -> None:
        self._is_connected = False
        asyncio.get_running_loop().remove_reader(closed)
        asyncio.get_running_loop().remove_writer(closed)

    def _wants_to_write(self, client: mqtt.Client, _data: Any, sock: Any) -> None:
        asyncio.get_running_loop().add_writer(sock, client.loop_write)

    def _has_written(self, _client: mqtt.Client, _data: Any, sock: Any) -> None:
        asyncio.get_running_loop().remove_writer(sock)
