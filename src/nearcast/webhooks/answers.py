"""What an endpoint may send: an answer to each request, which begins soon, and nothing that was not asked for.

Before an answer others may come that say that it will (``100 Continue``), as many as an endpoint likes. aiohttp keeps
each until it is read, also those that come while a connection waits for its next request, so one endpoint could fill
the process and keep all others waiting.
"""

from __future__ import annotations

import functools
from typing import Any, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError

__all__ = ["Connector"]

HEAD = 64 * 2**10
"""Bytes that may come before the head of an answer has ended; and bytes that are read at a time, since what is read at
once keeps all others waiting."""
LAST_INTERIM = 199


class Connector(aiohttp.TCPConnector):
    """Connections of which none takes more than that, with TLS or without."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        made = functools.partial(_Answers, loop=self._loop)
        self._factory = cast("functools.partial[ResponseHandler]", made)


class _Answers(ResponseHandler):
    """The answers of one connection."""

    _left = HEAD
    """Bytes in which the answer has to begin."""
    _has_begun = False
    """The head of the answer is there."""

    def set_response_params(self, **params: Any) -> None:
        """A request begins."""
        self._left, self._has_begun = HEAD, False
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        if len(data) <= HEAD:
            self._take(data)
            return
        for start in range(0, len(data), HEAD):
            self._take(data[start : start + HEAD])

    def _take(self, data: bytes) -> None:
        if self._exception is not None:
            return  # of what was nonsense before the rest is not looked at
        if data and self._is_over:
            self._refuse()
            return
        super().data_received(data)
        if not self._has_begun:
            self._left -= len(data)
            if self._left < 0:
                self._refuse()

    @property
    def _is_over(self) -> bool:
        """The answer is there, to its end."""
        return self._has_begun and (self._payload is None or self._payload.is_eof())

    def feed_data(self, data: tuple[RawResponseMessage, aiohttp.StreamReader], size: int = 0) -> None:
        """What the parser found: a head, and what will give the rest."""
        if self._has_begun:
            self._refuse()
            return
        # A switch of protocols is not asked for, and is the last that is read as HTTP.
        code = data[0].code
        self._has_begun = code > LAST_INTERIM or code == 101
        super().feed_data(data, size)

    def _refuse(self) -> None:
        """Nothing more is read, and not even TLS is ended as it should be: for that an endpoint could take its time."""
        self.set_exception(HttpProcessingError())
        if self.transport is not None:
            self.transport.abort()
