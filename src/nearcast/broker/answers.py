"""What a broker answers, from the state between two packets. Asking changes nothing.

A client learns only what publishers let it see: a client that there is not and one that it may not see look alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import msgspec

from nearcast.broker.unknown import missing, unknown_in
from nearcast.broker.weighing import Scales
from nearcast.errors import OpError, UnknownName
from nearcast.language.format import condition_text, statement_text
from nearcast.language.oplog import encode_notification, json_text
from nearcast.language.parse import parse
from nearcast.match.explain import Explanation, explanations
from nearcast.match.kernel import Kernel
from nearcast.match.present import query, state, visible
from nearcast.match.verdict import Candidate, Verdict
from nearcast.match.world import Key, Subscribed
from nearcast.model.condition import Instant
from nearcast.model.fix import Fix
from nearcast.model.geojson import region_to_geojson
from nearcast.model.layer import LayerRegion
from nearcast.model.moment import FOREVER, LIMIT, Moment, time_text
from nearcast.model.notification import Notification
from nearcast.model.repair import brief, repairs
from nearcast.model.space import Metric
from nearcast.model.statement import Publication, Subscription

__all__ = [
    "Asked",
    "clients_of",
    "explained_to",
    "found_by",
    "layer_of",
    "layers_of",
    "oneself",
    "places_of",
    "state_of",
    "statements_of",
    "staying",
    "warnings_of",
]

LISTED = 10_000
"""Clients, regions or places in an answer, at the most."""
EXPLAINED = 100
"""Pairs in an answer, at the most."""

Owned = Publication | Subscription


class Asked(msgspec.Struct):
    """What may be in a request."""

    after: int | None = None
    """A packet that must be applied first."""
    client: str = ""
    text: str = ""
    subscription: str = ""
    publisher: str | None = None
    """Of explanations, only those of pairs with this publisher,"""
    publication: str | None = None
    region: str | None = None
    peer: str | None = None
    layer: str = ""
    relation: str = ""
    box: tuple[float, float, float, float] | None = None
    """Only clients between these coordinates: least x, least y, greatest x, greatest y."""
    limit: int | None = None
    id: str = ""
    """Of a statement that is to be taken, or that is asked for."""
    cost: int | None = None
    """What a statement may cost, at the most,"""
    weight: int | None = None
    """and all that its client has."""


def state_of(kernel: Kernel, asked: Asked, number: int) -> list[msgspec.Raw]:
    """What matches now for each subscription of a client."""
    return _lines(kernel, state(kernel, _client(asked), number))


def found_by(kernel: Kernel, scales: Scales, asked: Asked, number: int) -> dict[str, Any]:
    """What a client would be told at once if it subscribed to a text."""
    with repairs() as repaired:
        subscription = parse(asked.text)
    if not isinstance(subscription, Subscription):
        raise OpError(f"the statement is a {type(subscription).__name__}, not a Subscription", "text")
    if subscription.owner and subscription.owner != asked.client:
        raise OpError(f"the statement says {subscription.owner!r}, the client is {asked.client!r}", "text")
    scales.check_cost(subscription, asked.cost)
    found = _lines(kernel, query(kernel, replace(subscription, owner=_client(asked)), number))
    return {"notifications": found, **_warning(brief(repaired) + unknown_in(kernel.world, subscription))}


def warnings_of(kernel: Kernel, asked: Asked) -> list[str]:
    """What is to be said of a statement that was taken."""
    world, client = kernel.world, asked.client
    subscribed = kernel.subscriptions.get((client, asked.subscription))
    published = world.publications.get((client, asked.publication or ""))
    related = world.relations.get(asked.relation)
    statement = subscribed.subscription if subscribed else published.publication if published else related
    return [] if statement is None else unknown_in(world, statement)


def _warning(said: list[str]) -> dict[str, list[str]]:
    return {"warnings": said} if said else {}


def statements_of(kernel: Kernel, asked: Asked) -> dict[str, list[dict[str, str]]]:
    """What a client publishes and subscribes to, as text. If it is asked for those of an id, the text says when they
    end and not how long they last: whoever says it again later does not have them last longer."""
    publications, subscriptions = kernel.owned(_client(asked))
    published = [_lasting(p.publication, p.expires, asked) for p in publications.values()]
    subscribed = [_lasting(s.subscription, s.expires, asked) for s in subscriptions.values()]
    return {
        name: [
            {"id": one.id, "text": statement_text(replace(one, id="", owner=""))}
            for one in statements
            if asked.id in ("", one.id)
        ]
        for name, statements in (("publications", published), ("subscriptions", subscribed))
    }


def _lasting(statement: Owned, ends: Moment, asked: Asked) -> Owned:
    if not asked.id or ends == FOREVER:
        return statement
    end = Instant(min(int(ends), LIMIT))
    if isinstance(statement, Publication):
        return replace(statement, expires=end)
    return replace(statement, options=replace(statement.options, expires=end))


def clients_of(kernel: Kernel, asked: Asked) -> dict[str, Any]:
    """Where those are whose publications let a client see them."""
    axes = _axes(kernel)
    limit = min(asked.limit or LISTED, LISTED)
    seen: dict[str, dict[str, Any]] = {}
    owners = None if asked.box is None else frozenset(kernel.clients.within(*asked.box))
    for found in visible(kernel, _client(asked), owners):
        if found.fix is None:
            continue
        known = seen.setdefault(
            found.client, {"client": found.client, "publications": [], **_position(found.fix, axes)}
        )
        known["publications"].append(found.publication)
        if len(seen) > limit:
            del seen[found.client]
            return {"clients": list(seen.values()), "more": True}
    return {"clients": list(seen.values()), "more": False}


def staying(kernel: Kernel, asked: Asked) -> dict[str, Any]:
    """What is where it said, and not where its client is, of what a client may see: GeoJSON, a feature a place."""
    limit = min(asked.limit or LISTED, LISTED)
    features: list[dict[str, Any]] = []
    for found in visible(kernel, _client(asked), is_staying=True):
        for at in found.stays:
            if at.geometry is None:
                continue
            feature = region_to_geojson(LayerRegion(found.publication, at.geometry))
            feature["properties"] |= {"client": found.client, "publication": found.publication}
            features.append(feature)
        if len(features) > limit:
            return _collection(features[:limit], more=True)
    return _collection(features)


def oneself(kernel: Kernel, asked: Asked) -> dict[str, Any]:
    """What is known of a client that asks about itself, and how places are measured here."""
    metric = kernel.world.metric
    known = kernel.world.clients.get(_client(asked))
    at = {} if known is None or known.fix is None else _position(known.fix, _axes(kernel))
    return {"metric": metric, "attributes": dict(known.attributes) if known else {}, **at}


def layers_of(kernel: Kernel) -> dict[str, Any]:
    """Layers are open to all."""
    return {"layers": [{"name": name, "regions": len(of.regions)} for name, of in sorted(kernel.world.layers.items())]}


def layer_of(kernel: Kernel, asked: Asked) -> dict[str, Any]:
    """The regions of a layer, as GeoJSON."""
    found = kernel.world.layers.get(asked.layer)
    if found is None:
        raise UnknownName("layer", asked.layer)
    features = [region_to_geojson(r) for r in islice(found.regions, LISTED)]
    return _collection(features, more=len(found.regions) > LISTED)


def places_of(kernel: Kernel) -> dict[str, Any]:
    """Places, by path. They are open to all, as anyone may name them; one without a geometry has none here, too."""
    features: list[dict[str, Any]] = []
    for place in islice(kernel.world.ordered_places(), LISTED):
        known: dict[str, Any] = {"type": "Feature", "id": place.path, "properties": {}, "geometry": None}
        feature = region_to_geojson(LayerRegion(place.path, place.geometry)) if place.geometry else known
        feature["properties"] |= {"kind": place.level, "name": place.name}
        features.append(feature)
    return _collection(features, more=len(kernel.world.places) > LISTED)


def _collection(features: list[dict[str, Any]], *, more: bool = False) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": features, "more": more}


def explained_to(kernel: Kernel, asked: Asked) -> dict[str, Any]:
    """Why a client was told of what it may see, or was not. Conditions of publishers stay with them."""
    s = kernel.subscriptions.get((_client(asked), asked.subscription))
    if s is None:
        known = (id_ for _, id_ in kernel.owned(asked.client)[1])
        return {"explanations": [], "more": False, **_warning([missing("subscription", asked.subscription, known)])}
    told = {key for key, _ in kernel.told(s)}
    wanted = (asked.publication, asked.publisher, asked.region, asked.peer)
    may_know = _knowing(kernel, s)

    def pairs(*, was_told: bool) -> Iterator[Explanation]:
        def is_meant(key: Key) -> bool:
            if (key in told) != was_told or any(w not in (None, is_) for w, is_ in zip(wanted, key, strict=True)):
                return False
            return was_told or may_know(key)

        return explanations(kernel, asked.client, asked.subscription, is_meant)

    limit = min(asked.limit or EXPLAINED, EXPLAINED)
    allowed = (e for e in chain(pairs(was_told=True), pairs(was_told=False)) if e.allowed)
    shown = list(islice(allowed, limit + 1))
    return {"explanations": [_explanation(e, told=e.key in told) for e in shown[:limit]], "more": len(shown) > limit}


def _knowing(kernel: Kernel, s: Subscribed) -> Callable[[Key], bool]:
    """Whether a subscriber may know of a pair. Nothing of the pairs that it may not know of is counted, and each
    publisher's filter is asked once, not for every region: else what is hidden would show by how long it takes."""
    known: dict[Key, bool] = {}

    def may_know(key: Key) -> bool:
        publication, publisher, _, peer = key
        if not publisher:
            return True  # a layer is open to all
        of = (publication, publisher, "", peer)
        if of not in known:
            now = kernel.time_of(s, of)
            theirs = kernel.judge.questions(s, Candidate(of), now).theirs
            is_over = not peer and now >= kernel.world.ends((publisher, publication))
            known[of] = not is_over and bool(Verdict.holding(theirs))
        return known[of]

    return may_know


def _explanation(e: Explanation, *, told: bool) -> dict[str, Any]:
    publication, publisher, region, peer = e.key
    return {
        "subscription": e.subscription,
        "publication": publication,
        "publisher": publisher or None,
        "region": region or None,
        "peer": peer or None,
        "told": told,
        "summary": "matches, and was told" if told else e.summary,
        "time": time_text(e.time),
        "conditions": [
            {
                "clause": finding.clause,
                "text": condition_text(finding.condition),
                "holds": finding.answer,
                "depth": msgspec.Raw(json_text(finding.depth).encode()),
            }
            for finding in e.findings
            if finding.clause != "TO"
        ],
    }


def _client(asked: Asked) -> str:
    if not asked.client:
        raise OpError("is missing", "client")
    return asked.client


def _lines(kernel: Kernel, told: Iterable[Notification]) -> list[msgspec.Raw]:
    lines = []
    for n in told:
        kernel.world.pace()
        lines.append(msgspec.Raw(encode_notification(n)))
    return lines


def _axes(kernel: Kernel) -> tuple[str, str]:
    return ("lon", "lat") if kernel.world.metric is Metric.EARTH else ("x", "y")


def _position(fix: Fix, axes: tuple[str, str]) -> dict[str, Any]:
    at = fix.position
    known = {
        axes[0]: at.point and at.point.x, axes[1]: at.point and at.point.y, "alt": at.altitude, "floor": at.floor,
        "accuracy": at.accuracy, "place": at.place,
    }  # fmt: skip
    return {"time": time_text(fix.time), **{name: value for name, value in known.items() if value is not None}}
