"""Layers as they are uploaded: GeoJSON of any size, though a message of the log has a bound.

A new layer that fits into one message becomes one op. A larger one becomes several, which the log, Spark and the broker
know already: the first replaces the layer, patches set the rest. One that is changed becomes patches that set and drop
what differs. So between the first and the last of them a layer is partly the old one, and every placement sees it so.

What was uploaded is kept under the hash of its content, and a record says which content a layer has. The same upload
again changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from hashlib import sha256
from io import BytesIO
from typing import Any, NamedTuple

import msgspec
from nats.js import errors as stream_errors
from nats.js.kv import KeyValue
from nats.js.object_store import ObjectStore

from nearcast.errors import GatewayError
from nearcast.gateway.ask import Broker
from nearcast.gateway.commit import BYTES, Committer
from nearcast.gateway.link import Link
from nearcast.log.connection import PATIENCE, explained
from nearcast.log.subjects import LAYER_NAMES, LAYERS
from nearcast.model.geojson import layer_from_geojson, layer_to_geojson
from nearcast.model.layer import Layer

__all__ = ["Content", "Layers", "Stored", "Uploaded"]

HASTE = 20.0
"""Seconds for one to be read, after which the next has its turn: its connection may be gone."""
DROPS = 1000
"""Regions that one op drops."""
_encoder = msgspec.json.Encoder()


class Stored(msgspec.Struct):
    """What a layer holds."""

    hash: str
    regions: int
    sequence: int = 0
    """Of the packet that ends it; 0 while it is being written."""


class Uploaded(msgspec.Struct, omit_defaults=True):
    """The same, when it is written, and what was repaired."""

    hash: str
    regions: int
    sequence: int
    warnings: list[str] = []


class Content(NamedTuple):
    """Where the GeoJSON of a layer is, and how many bytes it has."""

    hash: str
    size: int


class Layers:
    def __init__(self, link: Link, committer: Committer, broker: Broker) -> None:
        self._link, self._committer, self._broker = link, committer, broker
        self._reading = asyncio.Lock()

    async def put(self, name: str, data: Any, time: str | float) -> Stored:
        """Make a layer what the GeoJSON says."""
        layer, content = await asyncio.to_thread(_read, name, data)
        found = sha256(content).hexdigest()
        with explained(self._link.url, LAYERS):
            names, objects = await self._names(), await self._objects()
            known, revision = await _record(names, name)
            if known is not None and known.sequence and known.hash == found:
                return known
            try:
                await objects.get_info(found)
            except stream_errors.NotFoundError:
                await objects.put(found, content)
            new = Stored(found, len(layer.regions))
            try:
                revision = await names.update(_key(name), _encoder.encode(new), last=revision)
            except stream_errors.KeyWrongLastSequenceError:
                raise GatewayError(409, f"layer {name!r} is being written by another; try again") from None
            before = await self._content(objects, known.hash) if known and known.sequence else None
        new.sequence = await self._write(name, layer, before, time) or (known.sequence if known else 0)
        with explained(self._link.url, LAYER_NAMES):
            await names.update(_key(name), _encoder.encode(new), last=revision)
        return new

    async def find(self, name: str) -> Content:
        """The GeoJSON of a layer, which has yet to be read."""
        with explained(self._link.url, LAYERS):
            known, _ = await _record(await self._names(), name)
            if known is None:
                raise GatewayError(404, f"no layer {name!r} was uploaded")
            info = await (await self._objects()).get_info(known.hash)
            return Content(known.hash, info.size or 0)

    async def read(self, content: Content) -> bytes:
        with explained(self._link.url, LAYERS):
            return await self._content(await self._objects(), content.hash)

    @asynccontextmanager
    async def disowned(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Write layers within by other means than `put`.

        What they hold is forgotten before: a record that is missing costs a whole write, while one that stays when a
        process dies in the midst would have the next upload change nothing. And after, since another may have uploaded
        one meanwhile.
        """
        names = list(names)
        await self._disown(names)
        yield
        await self._disown(names)

    async def _disown(self, names: Iterable[str]) -> None:
        with explained(self._link.url, LAYER_NAMES):
            for name in names:
                bucket = await self._names()
                if (await _record(bucket, name))[0] is not None:
                    await bucket.delete(_key(name))

    async def remove(self, name: str, time: str | float) -> int:
        line = _encoder.encode({"op": "layer", "time": time, "name": name, "remove": True})
        async with self.disowned([name]):
            placed = await self._committer.commit([line])
            await self._broker.check(placed, status=404)
        return placed.sequence

    # ---- ops -------------------------------------------------------------------------------------

    async def _write(self, name: str, layer: Layer, before: bytes | None, time: str | float) -> int:
        features = layer_to_geojson(layer)["features"]
        if before is not None:
            try:
                changes = await asyncio.to_thread(_changes, name, before, features, time, self._largest)
                return await self._append(changes)
            except GatewayError as error:
                if error.status != 422:
                    raise  # else it was not what the record says, and is made anew
        whole = await asyncio.to_thread(_chunks, name, features, time, is_patch=False, largest=self._largest)
        return await self._append(whole)

    @property
    def _largest(self) -> int:
        return min(BYTES, self._link.log.client.max_payload // 2)

    async def _append(self, lines: list[bytes]) -> int:
        sequence = 0
        for line in lines:
            placed = await self._committer.commit([line])
            await self._broker.check(placed)
            sequence = placed.sequence
        return sequence

    # ---- buckets ---------------------------------------------------------------------------------

    async def _names(self) -> KeyValue:
        return await self._link.log.bucket(LAYER_NAMES)

    async def _objects(self) -> ObjectStore:
        jetstream = self._link.log.client.jetstream(timeout=PATIENCE)
        try:
            return await jetstream.object_store(LAYERS)
        except stream_errors.BucketNotFoundError:
            return await jetstream.create_object_store(LAYERS)

    async def _content(self, objects: ObjectStore, found: str) -> bytes:
        """One after the other: it comes by the connection that also writes, on which a server hangs up if too much is
        on its way. In one piece, since a text that grows is copied with each piece that comes."""
        content = BytesIO()
        async with self._reading, asyncio.timeout(HASTE):
            await objects.get(found, writeinto=content)
        return content.getvalue()


def _read(name: str, data: Any) -> tuple[Layer, bytes]:
    """A layer may be large, and others do not wait for it."""
    layer = layer_from_geojson(name, data)
    return layer, _encoder.encode(layer_to_geojson(layer))


async def _record(names: KeyValue, name: str) -> tuple[Stored | None, int]:
    try:
        found = await names.get(_key(name))
    except stream_errors.KeyNotFoundError as error:
        return None, error.entry.revision if error.entry else 0  # one that was removed goes on counting
    return msgspec.json.decode(found.value or b"", type=Stored), found.revision or 0


def _key(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def _chunks(
    name: str, features: list[dict[str, Any]], time: str | float, *, is_patch: bool, largest: int
) -> list[bytes]:
    """The ops that set all regions. The first replaces the layer, unless it, too, is a patch."""
    lines: list[bytes] = []
    some: list[msgspec.Raw] = []
    size = 0
    for feature in features:
        written = msgspec.Raw(_encoder.encode(feature))
        if some and size + len(bytes(written)) > largest:
            lines.append(_op(name, some, time, is_patch))
            is_patch, some, size = True, [], 0
        some.append(written)
        size += len(bytes(written)) + 1
    if some or not is_patch:
        lines.append(_op(name, some, time, is_patch))
    return lines


def _changes(name: str, before: bytes, features: list[dict[str, Any]], time: str | float, largest: int) -> list[bytes]:
    """The ops that make a layer another one, by what differs."""
    known = {feature["id"]: _encoder.encode(feature) for feature in msgspec.json.decode(before)["features"]}
    gone = sorted(known.keys() - {feature["id"] for feature in features})
    new = [feature for feature in features if known.get(feature["id"]) != _encoder.encode(feature)]
    drops = [gone[at : at + DROPS] for at in range(0, len(gone), DROPS)]
    sets = _chunks(name, new, time, is_patch=True, largest=largest)
    return [*sets, *(_op(name, [], time, is_patch=True, drop=some) for some in drops)]


def _op(
    name: str, features: list[msgspec.Raw], time: str | float, is_patch: bool, drop: list[str] | None = None
) -> bytes:
    patch = {"patch": True, "drop": drop or []} if is_patch else {}
    return _encoder.encode({"op": "layer", "time": time, "name": name, **patch, "features": features})
