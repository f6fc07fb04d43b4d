"""What each route does. A door is a function of a call; `app` gives it a path and says what went wrong."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.responses import Response

from nearcast.errors import GatewayError, LanguageError, NearcastError
from nearcast.gateway.bodies import LONGEST, Heard, Particulars, Reading, Taken, Written
from nearcast.gateway.call import Call, Gateway, answer, written
from nearcast.gateway.events import events_of
from nearcast.gateway.formats import Lines, read_lines
from nearcast.gateway.grants import Action
from nearcast.gateway.layers import Uploaded
from nearcast.gateway.phones import forget_phones
from nearcast.gateway.seal import BEGINNING
from nearcast.language.format import statement_text
from nearcast.language.oplog import decode_op
from nearcast.language.parse import parse_publication
from nearcast.log.subjects import out_subject
from nearcast.model.moment import MICROS, parse_time
from nearcast.model.repair import brief, repairs

__all__ = [
    "Door",
    "delete_client",
    "delete_definition",
    "delete_layer",
    "delete_statement",
    "get_client",
    "get_clients",
    "get_cursor",
    "get_explanation",
    "get_inside",
    "get_layer",
    "get_layers",
    "get_metrics",
    "get_nearest",
    "get_notifications",
    "get_places",
    "get_statements",
    "get_staying",
    "patch_client",
    "post_pause",
    "post_positions",
    "post_query",
    "post_readings",
    "put_cursor",
    "put_definition",
    "put_layer",
    "put_statement",
]

PAGE = 1000
"""The most notifications of one answer,"""
LISTED = 10_000
"""and the most clients."""
_encoder = msgspec.json.Encoder()
Door = Callable[[Call], Awaitable[Response]]


# ---- positions, readings, clients ----------------------------------------------------------------------


async def post_positions(call: Call) -> Response:
    body, gateway = await call.body(), call.gateway
    now, ahead = time.time_ns() // 1000, round(gateway.settings.ahead * MICROS)
    if "ndjson" in call.request.headers.get("content-type", ""):
        call.who.must(Action.APPEND)
        return answer(await _appended(call, read_lines(body, now, ahead)), 202)
    read = gateway.positions(call.who, body, call.query.get("client"))
    return answer(await gateway.taken(call.who, read), 202)


async def _appended(call: Call, read: Lines) -> Taken:
    """Lines of ops, and what goes with them. Of a client that they forget the webhooks go once they are on disk."""
    gateway = call.gateway
    async with gateway.layers.disowned(read.layers if read.lines else ()):
        taken = await gateway.taken(call.who, read)
    for client in read.forgotten:
        await _forget(gateway, client)
    return taken


async def _forget(gateway: Gateway, client: str) -> bool:
    """What is kept of a client beside the log: its webhooks and its phones. Whether there was something."""
    had_hooks = await gateway.hooks.forget(client)
    return await forget_phones(gateway.link, client) or had_hooks


async def post_readings(call: Call) -> Response:
    found = await call.decoded(list[Reading] | Reading)
    readings = found if isinstance(found, list) else [found]
    if len(readings) > (most := call.gateway.most(call.who)):
        raise GatewayError(413, f"{len(readings):,} readings at once are too many; {most:,} is the most")
    if len(readings) > 1:
        call.gateway.count(call.who, len(readings))
    ops = []
    for reading in readings:
        op = {
            "op": "emit",
            "time": call.gateway.moment(reading.time),
            "client": call.who.acting_for(reading.client or call.query.get("client")),
            "publication": reading.publication,
        }
        value = {} if reading.value is None else {"value": reading.value}
        ops.append({**op, **value, "values": reading.values})
        call.gateway.check_reading(call.who, _encoder.encode(ops[-1]))
    if len(ops) == 1:
        return answer(await call.gateway.write(call.who, ops[0], status=404))
    if not ops:
        raise GatewayError(422, "there is nothing in it")
    read = Lines([written(op) for op in ops], len(ops))
    return answer(
        await call.gateway.taken(call.who, read, call.gateway.committer.enqueue(read.lines, call.who.client)), 202
    )


async def get_client(call: Call) -> Response:
    """Who one is, what one said of oneself, and where one is."""
    found = msgspec.json.decode(await call.gateway.ask(call.who, "client", client=call.client))
    return answer({"client": call.client, "role": call.who.role, **found})


async def patch_client(call: Call) -> Response:
    said = await call.decoded(Particulars)
    durations = {name: v for name in ("lease", "lateness") if (v := getattr(said, name)) is not None}
    op = {"op": "client", "time": call.gateway.moment(), "client": call.client, "attributes": said.attributes}
    return answer(await call.gateway.write(call.who, {**op, **durations}))


async def delete_client(call: Call) -> Response:
    """Then its webhooks, so that nothing that waits is delivered any more, and what is known of its phones.

    If we die in between, whoever asked tries again: so these also go where the client is not known any more, and it is
    a 404 only if there is nothing at all. That says no more than one may ask, as nobody but an operator comes here for
    another.
    """
    gateway, client = call.gateway, call.client
    gateway.count(call.who, 1)
    op = {"op": "client", "time": gateway.moment(), "client": client, "forget": True}
    placed = await gateway.committer.commit([written(op)], call.who.client)
    try:
        await gateway.broker.check(placed, status=404)
    except GatewayError as error:
        if error.status != 404 or not await _forget(gateway, client):
            raise
    else:
        await _forget(gateway, client)
    return answer(Written(placed.sequence))


# ---- statements ----------------------------------------------------------------------------------------


def put_statement(op: str, kind: str) -> Door:
    """``kind`` is what the op's statement is: a publication or a subscription."""

    async def put(call: Call) -> Response:
        text = await call.text()
        call.gateway.check_text(call.who, text)
        id_ = _id(call)
        said = {"op": op, "time": call.gateway.moment(), "client": call.client, "id": id_, "text": text}
        written(said)
        gateway, client = call.gateway, call.client
        async with gateway.changing(client, id_), gateway.admitted(call.who, client, op, id_, text):
            return answer(await gateway.write(call.who, said, statement={kind: id_, "client": client}))

    return put


def _id(call: Call) -> str:
    """Of a statement. It is in the log, and in the reason if that is refused."""
    id_ = call.named("id")
    if len(id_) > LONGEST:
        raise GatewayError(422, f"an id has at most {LONGEST} characters", "id")
    return id_


def delete_statement(op: str) -> Door:
    async def delete(call: Call) -> Response:
        id_ = _id(call)
        said = {"op": op, "time": call.gateway.moment(), "client": call.client, "id": id_}
        async with call.gateway.changing(call.client, id_):
            return answer(await call.gateway.write(call.who, said, status=404))

    return delete


def get_statements(kind: str) -> Door:
    """``kind`` is the plural that the broker's answer has."""

    async def get(call: Call) -> Response:
        found = msgspec.json.decode(await call.gateway.ask(call.who, "statements", client=call.client))[kind]
        if "id" not in call.request.path_params:
            return answer({kind: found})
        wanted = call.named("id")
        for statement in found:
            if statement["id"] == wanted:
                return answer(statement)
        raise GatewayError(404, f"there is no {kind.removesuffix('s')} {wanted!r}", "id")

    return get


def post_pause(*, paused: bool) -> Door:
    """A publication as it is, with or without the word that keeps it from everyone. It ends when it would have."""

    async def post(call: Call) -> Response:
        gateway, client, id_ = call.gateway, call.client, _id(call)
        async with gateway.changing(client, id_):
            found = msgspec.json.decode(await gateway.ask(call.who, "statements", client=client, id=id_))
            texts = [statement["text"] for statement in found["publications"] if statement["id"] == id_]
            if not texts:
                raise GatewayError(404, f"there is no publication {id_!r}", "id")
            text = statement_text(replace(parse_publication(texts[0]), paused=paused))
            said = {"op": "publish", "time": gateway.moment(), "client": client, "id": id_, "text": text}
            return answer(await gateway.write(call.who, said))

    return post


# ---- definitions ---------------------------------------------------------------------------------------


def put_definition(op: str) -> Door:
    async def put(call: Call) -> Response:
        said = {"op": op, "time": call.gateway.moment(), "text": await call.text()}
        name = call.named("name")
        _check_name(said, op, name)
        return answer(await call.gateway.write(call.who, said, statement={op: name} if op == "relation" else None))

    return put


def _check_name(said: dict[str, Any], op: str, name: str) -> None:
    """The statement names what it defines, and so does the path."""
    try:
        defined = getattr(decode_op(_encoder.encode(said)), op)
    except LanguageError as error:
        raise GatewayError(422, str(error), "text") from None
    given = getattr(defined, "path", None) or defined.name
    if given != name:
        raise GatewayError(422, f"the statement defines {given!r}, the path says {name!r}", "name")


def delete_definition(op: str) -> Door:
    async def delete(call: Call) -> Response:
        said = {"op": op, "time": call.gateway.moment(), "name": call.named("name"), "remove": True}
        return answer(await call.gateway.write(call.who, said, status=404))

    return delete


async def put_layer(call: Call) -> Response:
    data = await call.decoded(Any)
    with repairs() as repaired:
        stored = await call.gateway.layers.put(call.named("name"), data, call.gateway.moment())
    return answer(Uploaded(stored.hash, stored.regions, stored.sequence, warnings=brief(repaired)))


async def get_layer(call: Call) -> Response:
    """As it was uploaded; if it came by ops, as the broker has it."""
    name = call.named("name")
    try:
        stored = await call.gateway.layers.find(name)
    except GatewayError as missing:
        if missing.status != 404:
            raise
        try:
            found = await call.gateway.ask(call.who, "layer", layer=name)
        except GatewayError as error:
            raise (error if error.status == 503 else missing) from None
    else:
        call.expect(stored.size)
        found = await call.gateway.layers.read(stored)
    return Response(found, media_type="application/geo+json")


async def get_layers(call: Call) -> Response:
    return answer(await call.gateway.ask(call.who, "layers"))


async def get_places(call: Call) -> Response:
    return Response(await call.gateway.ask(call.who, "places"), media_type="application/geo+json")


async def delete_layer(call: Call) -> Response:
    return answer(Written(await call.gateway.layers.remove(call.named("name"), call.gateway.moment())))


# ---- the present ---------------------------------------------------------------------------------------


async def post_query(call: Call) -> Response:
    return await _queried(call, await call.text())


async def get_nearest(call: Call) -> Response:
    """The k nearest that the client may see, to itself or to a point, of a space or a layer, under a condition."""
    text = f"SELECT{_source(call)}{_at(call)}{_where(call)} NEAREST {call.number('k', 1, 1, 1000)}"
    return await _queried(call, text)


async def get_inside(call: Call) -> Response:
    """Who or what is in a place."""
    if "place" not in call.query:
        raise GatewayError(422, "name a place", "place")
    inside = f"&location IN PLACE {_quoted(call.query['place'])}"
    return await _queried(call, f"SELECT{_source(call)}{_where(call, inside)}")


async def _queried(call: Call, text: str) -> Response:
    call.gateway.check_text(call.who, text)
    cost = call.gateway.cost(call.who)
    return answer(await call.gateway.ask(call.who, "query", client=call.client, text=text, cost=cost))


def _source(call: Call) -> str:
    if "layer" in call.query:
        return f" FROM LAYER {_quoted(call.query['layer'])}"
    return f" FROM {_quoted(call.query['from'])}" if "from" in call.query else ""


def _at(call: Call) -> str:
    numbers = [call.query.get(name) for name in ("lon", "lat")]
    if numbers == [None, None]:
        return ""
    try:
        lon, lat = (float(number or "") for number in numbers)
    except ValueError:
        raise GatewayError(422, "a point has a lon and a lat", "lon") from None
    return f" AT POINT({lon!r} {lat!r})"


def _where(call: Call, *conditions: str) -> str:
    given = [f"({call.query['where']})"] if "where" in call.query else []
    return f" WHERE {' AND '.join([*conditions, *given])}" if conditions or given else ""


def _quoted(name: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", name) + "'"


async def get_explanation(call: Call) -> Response:
    """Of all pairs, or of those with a publisher, publication, region or peer."""
    meant = {name: call.query[name] for name in ("publisher", "publication", "region", "peer") if name in call.query}
    asked = {"client": call.client, "subscription": call.named("subscription"), **meant}
    return answer(await call.gateway.ask(call.who, "explain", **asked))


async def get_clients(call: Call) -> Response:
    limit = call.number("limit", LISTED, 1, LISTED)
    return answer(await call.gateway.ask(call.who, "clients", client=call.client, box=_box(call), limit=limit))


async def get_staying(call: Call) -> Response:
    found = await call.gateway.ask(call.who, "staying", client=call.client)
    return Response(found, media_type="application/geo+json")


def _box(call: Call) -> tuple[float, ...] | None:
    if "box" not in call.query:
        return None
    try:
        box = tuple(float(number) for number in call.query["box"].split(","))
    except ValueError:
        box = ()
    if len(box) != 4 or not all(map(math.isfinite, box)):
        raise GatewayError(422, "a box is four numbers: least x, least y, greatest x, greatest y", "box")
    return box


# ---- the past ------------------------------------------------------------------------------------------


async def get_notifications(call: Call) -> Response:
    """Own notifications, in order: after a cursor, or since a time; ``next`` is the cursor to go on after, also if
    there are fewer than were asked for, as they are large.

    Whoever has them all goes on with events after ``at``. What was heard before it was on disk is waited for.
    """
    hub, most = call.gateway.hub, call.number("limit", 100, 1, PAGE)
    seal = hub.seal
    after = seal.known(call.query.get("after", BEGINNING))
    call.gateway.count(call.who, 1)
    at = await hub.on_disk()
    page = await hub.outbox.page(out_subject(call.client), after, most, _since(call.query.get("since")))
    call.gateway.owe_bytes(call.who, sum(len(message.payload) for message in page.told))
    events = [msgspec.Raw(event.body) for event in events_of(page.told, seal)]
    next_ = None if page.is_last else seal.event(page.told[-1].sequence)
    at = max(at, page.told[-1].sequence) if page.told else at
    return answer({"events": events, "next": next_, "at": seal.now(at)})


def _since(given: str | None) -> str | None:
    """As the server reads it: RFC 3339."""
    if given is None:
        return None
    try:
        moment = parse_time(float(given) if re.fullmatch(r"-?\d+(\.\d*)?", given) else given)
        return datetime.fromtimestamp(moment / MICROS, UTC).isoformat().replace("+00:00", "Z")
    except (NearcastError, ValueError, OverflowError, OSError) as error:
        raise GatewayError(422, str(error), "since") from None


async def get_cursor(call: Call) -> Response:
    return answer(Heard(call.gateway.hub.seal.now(await call.gateway.cursors.read(call.client))))


async def put_cursor(call: Call) -> Response:
    heard = await call.decoded(Heard)
    await call.gateway.cursors.write(call.client, call.gateway.hub.seal.known(heard.cursor, "cursor"))
    return await get_cursor(call)


# ---- operation -----------------------------------------------------------------------------------------


async def get_metrics(call: Call) -> Response:
    return Response(call.gateway.metrics.text(), media_type="text/plain; version=1.0.0; charset=utf-8")
