"""The gateway as an ASGI application: routes, who may use them, and what went wrong, as HTTP says it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from nearcast.errors import GatewayError, LanguageError, LogError, ModelError, NearcastError, OpError
from nearcast.gateway.ask import PATIENCE, Broker
from nearcast.gateway.bodies import Problem
from nearcast.gateway.call import Call, Gateway, Settings, answer
from nearcast.gateway.commit import Committer
from nearcast.gateway.delivery import Hub
from nearcast.gateway.grants import Action
from nearcast.gateway.hooks import Hooks
from nearcast.gateway.identity import Identities, Identity
from nearcast.gateway.layers import Layers
from nearcast.gateway.limits import Rates
from nearcast.gateway.link import Link
from nearcast.gateway.metrics import Metrics
from nearcast.gateway.openapi import openapi
from nearcast.gateway.outbox import Cursors
from nearcast.gateway.pace import Pace
from nearcast.gateway.page import page_routes
from nearcast.gateway.resolving import Lookups, Resolver
from nearcast.gateway.routes import ROUTES, Way
from nearcast.gateway.streams import EVENT_HEADERS, Talk, is_heard, send_events, start_after
from nearcast.log.ending import end
from nearcast.log.memory import give_back
from nearcast.model.repair import repairs

__all__ = ["create_app", "open_gateway"]

BEARER = "bearer."
"""What a token begins with where a browser can only name a subprotocol."""
PROTOCOL = "nearcast"
ROOM = 2 * 2**20
"""Bytes of events that wait for one socket before it is left to the stream on disk."""
REQUESTS = 100.0
"""Requests a second that a client may make in any case, however few ops it may write: a page asks often."""
BROKER = PATIENCE
"""Seconds for a broker to answer."""
TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
"""As RFC 9110 has them, which Python's own followed only of late."""
logger = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


@asynccontextmanager
async def open_gateway(url: str, identities: Identities, settings: Settings) -> AsyncIterator[Gateway]:
    """Connected to NATS: one connection to write and ask, one to listen."""
    metrics = Metrics()
    link = Link(url)
    broker = Broker(link, BROKER)
    pace = Pace(broker.pace)
    committer = Committer(link, metrics, pace)
    link.lost = committer.lost
    resolver = Resolver(private=settings.private)
    async with link, Hub(url, broker, metrics, settings.queue, room=ROOM) as hub:
        layers = Layers(link, committer, broker)
        gateway = Gateway(
            settings,
            identities,
            metrics,
            link,
            committer,
            broker,
            hub,
            Cursors(link),
            layers,
            Rates(settings.rate),
            Hooks(link, settings.webhooks),
            Rates(max(settings.rate, REQUESTS)),
            Lookups(resolver),
        )
        hub.rates = gateway.rates
        works = (gateway.watch(), pace.run(), give_back())
        tasks = [asyncio.create_task(work, name="nearcast gateway") for work in works]
        try:
            yield gateway
        finally:
            await end(*tasks)
            resolver.close()
        await committer.close()


def create_app(url: str, identities: Identities, settings: Settings | None = None) -> Starlette:
    """An application that connects when it starts."""
    held: list[Gateway] = []
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_gateway(url, identities, settings) as gateway:
            held[:] = [gateway]
            app.state.gateway = gateway
            yield

    document = _encoder.encode(openapi())

    async def describe(_request: Request) -> Response:
        return answer(document)

    async def health(request: Request) -> Response:
        return await _health(held[0], request)

    routes: list[BaseRoute] = [
        *(Route(way.path, _Door(held, way), methods=[way.method]) for way in ROUTES),
        Route("/v1/events", _Events(held), methods=["GET"]),
        WebSocketRoute("/v1/ws", _Socket(held)),
        Route("/v1/health", health),
        Route("/v1/openapi.json", describe),
        *page_routes(settings.tiles, settings.tiles_credit),
    ]
    return Starlette(routes=_merged(routes), lifespan=lifespan, exception_handlers={HTTPException: _no_such})


def _merged(routes: list[BaseRoute]) -> list[BaseRoute]:
    """Routes of one path as one, so that a method that there is not is a 405."""
    merged: dict[str, BaseRoute] = {}
    for route in routes:
        assert isinstance(route, (Route, WebSocketRoute))
        there = merged.get(route.path)
        if isinstance(there, Route) and isinstance(route, Route) and isinstance(route.app, _Door):
            assert isinstance(there.app, _Door)
            assert there.methods is not None
            assert route.methods is not None
            there.app.doors.update(route.app.doors)
            there.methods |= route.methods
        else:
            merged[route.path] = route
    return list(merged.values())


# ---- doors ---------------------------------------------------------------------------------------------


class _Door:
    """The routes of one path."""

    def __init__(self, held: list[Gateway], way: Way) -> None:
        self._held, self.doors = held, {way.method: way}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gateway, request = self._held[0], Request(scope, receive)
        way = self.doors["GET" if scope["method"] == "HEAD" else scope["method"]]
        began = time.perf_counter()
        with ExitStack() as stack:  # in hand until it is sent
            stack.enter_context(repairs())  # which are said by whoever reads a statement to be taken
            try:
                who = identified(gateway, request.headers.get("authorization"))
                who.must(way.action)
                gateway.count_request(who)
                held = stack.enter_context(gateway.holding(who))
                response = await way.door(Call(gateway, request, who, held))
                if held is not None:
                    held.answer(len(response.body))
            except ClientDisconnect:
                return
            except Exception as error:  # noqa: BLE001  # whatever it is, the client is told in the same form
                response = problem(error)
            gateway.metrics.requests.labels(way.name, response.status_code).inc()
            gateway.metrics.request_seconds.labels(way.name).observe(time.perf_counter() - began)
            await response(scope, receive, send)


def identified(gateway: Gateway, header: str | None) -> Identity:
    """Whoever the bearer token is of."""
    scheme, _, token = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise GatewayError(401, "send a token: Authorization: Bearer …", "Authorization")
    who = gateway.identities.identify(token.strip())
    if who is None:
        raise GatewayError(401, "this token is not known", "Authorization")
    return who


def problem(error: Exception) -> Response:
    """What went wrong, as RFC 9457 has it. What was not foreseen is in the log, not in the answer."""
    refusal = _refusal(error)
    title = TITLES.get(refusal.status) or HTTPStatus(refusal.status).phrase
    body = Problem(title, refusal.status, refusal.reason, refusal.field)
    headers = {} if refusal.retry_after is None else {"Retry-After": f"{refusal.retry_after:g}"}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(_encoder.encode(body), refusal.status, headers, "application/problem+json")


def _refusal(error: Exception) -> GatewayError:
    match error:
        case GatewayError():
            return error
        case LogError():
            logger.warning("%s", error)
            return GatewayError(503, "the log did not answer; try again", retry_after=1)
        case OpError():
            return GatewayError(422, error.reason, error.field)
        case LanguageError() | ModelError():
            return GatewayError(422, str(error), "text" if isinstance(error, LanguageError) else "")
        case NearcastError():
            return GatewayError(422, str(error))
    logger.error("unforeseen", exc_info=error)
    return GatewayError(500, "something went wrong that should not have")


async def _no_such(request: Request, error: Exception) -> Response:
    """No route, or not this method."""
    assert isinstance(error, HTTPException)
    refused = problem(GatewayError(error.status_code, f"there is no {request.method} {request.url.path}"))
    refused.headers.update(error.headers or {})
    return refused


async def _health(gateway: Gateway, request: Request) -> Response:
    """Whether the log and a broker answer. An operator is also told how they are."""
    found = await gateway.broker.health()
    is_well = found is not None
    said: dict[str, Any] = {
        "status": "ok" if is_well else "unavailable",
        "log": gateway.link.is_open,
        "broker": is_well,
    }
    with suppress(GatewayError):
        if found is not None and identified(gateway, request.headers.get("authorization")).may(Action.MEASURE):
            said["details"] = msgspec.Raw(found)
    found_out = answer(said, 200 if is_well else 503)
    if not is_well:
        found_out.headers["Retry-After"] = "2"
    return found_out


# ---- streams -------------------------------------------------------------------------------------------


class _Events:
    """Server-sent events."""

    def __init__(self, held: list[Gateway]) -> None:
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gateway, request = self._held[0], Request(scope, receive)
        try:
            call = Call(gateway, request, identified(gateway, request.headers.get("authorization")))
            call.who.must(Action.LISTEN)
            gateway.count_request(call.who)
            if scope["method"] == "HEAD":
                await Response(headers=EVENT_HEADERS)(scope, receive, send)
            else:
                await send_events(call, receive, send)
        except (NearcastError, ClientDisconnect) as error:
            await problem(error)(scope, receive, send)


class _Socket:
    """WebSocket. Who may not come in is told so over HTTP, before there is one."""

    def __init__(self, held: list[Gateway]) -> None:
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gateway = self._held[0]
        await receive()
        try:
            call = Call(gateway, Request({**scope, "type": "http", "method": "GET"}), _named(gateway, scope))
            call.who.must(Action.LISTEN)
            gateway.count_request(call.who)
            client = call.client
            after, keeps_cursor = await start_after(gateway, client, call.query.get("after")), is_heard(call)
            feed = gateway.listen(call.who, client, after)
        except NearcastError as error:
            await _denied(problem(error), send)
            return
        protocol = PROTOCOL if PROTOCOL in scope["subprotocols"] else None
        with feed:
            await send({"type": "websocket.accept", "subprotocol": protocol})
            await Talk(gateway, call.who, client, feed, send, keeps_cursor=keeps_cursor).run(receive)


def _named(gateway: Gateway, scope: Scope) -> Identity:
    """A browser cannot send headers with a WebSocket, but it can name subprotocols."""
    token = next((name for name in scope["subprotocols"] if name.startswith(BEARER)), None)
    if token is not None:
        return identified(gateway, f"Bearer {token.removeprefix(BEARER)}")
    return identified(gateway, dict(scope["headers"]).get(b"authorization", b"").decode("latin-1"))


async def _denied(response: Response, send: Send) -> None:
    await send(
        {"type": "websocket.http.response.start", "status": response.status_code, "headers": response.raw_headers}
    )
    await send({"type": "websocket.http.response.body", "body": response.body})
