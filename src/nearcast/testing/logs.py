"""Random logs of ops: a small cast in one neighbourhood, where most ops change what someone hears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from nearcast.errors import NearcastError
from nearcast.language.normalize import normalize
from nearcast.match.reference import Reference
from nearcast.model import condition as c
from nearcast.model import op as ops
from nearcast.model.fix import Position
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.metric import EARTH, PLANE
from nearcast.model.notification import Notification
from nearcast.model.place import Place
from nearcast.model.region import Region, region
from nearcast.model.shape import Geometry
from nearcast.model.space import LOCATION, REAL, TEXT, Base, Dimension, Metric, SubjectSpace, Type
from nearcast.model.statement import (
    FromLayer,
    FromRelation,
    FromSpaces,
    Options,
    Publication,
    RelationDefinition,
    Subscription,
)  # fmt: skip
from nearcast.testing import common as usual
from nearcast.testing.cast import SECOND, STARTS, Cast, small_cast
from nearcast.testing.compose import brief, maybe, weighted
from nearcast.testing.conditions import likely
from nearcast.testing.scenes import RADII, Scene, scenes
from nearcast.testing.statements import (
    PRECISIONS,
    choosers,
    expiries,
    layers,
    options,
    places,
    publications,
    relations,
    spaces,
    subscription_of,
    subscriptions,
)  # fmt: skip

__all__ = ["Log", "applied", "logs", "run"]

Strategy = SearchStrategy[Any]
Log = tuple[ops.Op, ...]

GAS = SubjectSpace("gas", (Dimension("price", REAL), Dimension("kind", TEXT)))
SHOP = SubjectSpace("shop", (Dimension("kind", TEXT), Dimension("open", Type(Base.BOOLEAN))))
_HERE, _THERE = c.Ref("#", "location"), c.Ref("&", "location")
_ENTERED: Strategy = st.sampled_from([c.Inside, c.Inside, c.Crosses])


def applied(reference: Reference, log: Iterable[ops.Op]) -> Iterable[tuple[ops.Op, list[Notification]]]:
    """The ops that the reference takes, each with its notifications; one that it refuses changes nothing."""
    for op in log:
        try:
            yield op, reference.apply(op)
        except NearcastError:
            continue


def run(log: Iterable[ops.Op], *, lateness: int = 0, thorough: bool = False) -> list[Notification]:
    """All notifications of a log, from the beginning; ops that are refused are skipped."""
    reference = Reference(lateness=lateness, thorough=thorough)
    return [notification for _, told in applied(reference, log) for notification in told]


@dataclass(frozen=True, eq=False)
class _Stage:
    scene: Scene
    start: int
    cast: Cast
    flavour: usual.Flavour | None = None
    """Of what the log has most, if it is of common forms."""


@brief
def logs(
    *,
    memory: bool = True,
    any: bool = True,  # noqa: A002  # as in the language
    disorder: bool = True,
    common: bool = False,
    max_ops: int = 25,
) -> SearchStrategy[Log]:
    """Logs of every op, predicate and option. Some ops may be refused, as in life.

    Without ``memory``, what matches depends on the present only: no τ or π, dwell, cooldown, hysteresis,
    confidence, NEAREST or choice of source. Without ``any``, a pair depends on nobody else. Without ``disorder``,
    times never go backwards and no fix is held back.

    With ``common``, nearly all publications are open and carried by their client, nearly all subscriptions ask for
    zones, own zones, spots, pairs, others within a distance or the nearest, and moves come in bursts: what an engine
    may answer in bulk. In two logs of eight, statements of any form are among them; in four, there are none, and no
    leases, windows, readings or options either. A burst counts as one of ``max_ops``.
    """
    stages = [
        _Stage(scene, start, small_cast(scene, start, memory=memory, any=any))
        for ground in (EARTH, PLANE)
        for scene in scenes(ground)
        for start in STARTS
    ]
    if common:
        clients: SearchStrategy[str] = st.sampled_from(usual.CLIENTS)
        stages = [replace(stage, cast=replace(stage.cast, clients=clients)) for stage in stages]
        stages = [replace(stage, flavour=flavour) for stage in stages for flavour in usual.FLAVOURS]
    return st.sampled_from(stages).flatmap(lambda stage: _log(stage, disorder, max_ops))


@cache
def _log(stage: _Stage, disorder: bool, max_ops: int) -> SearchStrategy[Log]:
    forward = [(12, SECOND), (8, 0), (4, 1), (6, 2 * SECOND), (2, 10 * SECOND), (1, 3600 * SECOND)]
    backward = [(1, -1), (1, -10 * SECOND)] if disorder else []
    steps = weighted(*((weight, st.just(step)) for weight, step in forward + backward))
    event: Strategy = st.tuples(steps, _events(stage, disorder)).map(lambda event: [event])
    if stage.flavour:
        event = weighted((5, event), (1, usual.bursts(stage.cast, stage.flavour, steps)))

    def timed(prologue: Sequence[ops.Op], events: list[list[tuple[int, ops.Op]]]) -> Log:
        now, log = stage.start, [replace(op, time=stage.start) for op in prologue]
        for step, op in chain.from_iterable(events):
            now += step
            log.append(replace(op, time=now))
        return tuple(log)

    short, long = (st.lists(event, min_size=least, max_size=max_ops) for least in (1, max_ops // 2))
    return st.builds(timed, _prologues(stage), weighted((1, short), (3, long)))


def _prologues(stage: _Stage) -> SearchStrategy[Sequence[ops.Op]]:
    """Definitions that most statements need, so that not every op of a short log is refused."""
    metric = Metric.EARTH if stage.scene.ground is EARTH else Metric.PLANAR
    ground = ops.DefineSpace(0, replace(LOCATION, metric=metric))
    defined = (ground, ops.DefineSpace(0, GAS), ops.DefineSpace(0, SHOP), *_premises(stage.scene))
    known = weighted((1, st.just(defined[:1])), (1, st.just(defined[:3])), (4, st.just(defined)))
    return st.builds(lambda known, opening: (*known, *opening), known, maybe(_openings(stage), 3, ()))


def _openings(stage: _Stage) -> SearchStrategy[Sequence[ops.Op]]:
    """Everyone is somewhere and something, publishes something and is subscribed to something."""
    cast, flavour = stage.cast, stage.flavour
    names = usual.CLIENTS if flavour else ("a", "b", "c")

    def all_of(kind: Strategy) -> Strategy:
        return st.tuples(*(st.builds(_owned, kind, st.just(name)) for name in names))

    moves = st.builds(ops.Move, st.just(0), cast.clients, _positions(cast))
    likes = st.builds(lambda price: ops.SetClient(0, "", {"price": price, "kind": "x"}), cast.numbers)
    said = (
        (usual.publish(cast, flavour), usual.subscribe(cast, flavour))
        if flavour
        else (_plain_publish(cast), _plain_subscribe(cast))
    )
    parts = st.tuples(all_of(moves), all_of(likes), *map(all_of, said))
    return parts.map(lambda parts: [op for part in parts for op in part])


def _owned(op: Any, client: str) -> ops.Op:
    """The same op, of another client."""
    match op:
        case ops.Publish():
            return replace(op, publication=replace(op.publication, owner=client))
        case ops.Subscribe():
            return replace(op, subscription=replace(op.subscription, owner=client))
    moved: ops.Op = replace(op, client=client)
    return moved


def _premises(scene: Scene) -> list[ops.Op]:
    disc, wide, beside, box, *_, several = scene.shapes[2:]
    rooms = (("hq", "building", wide), ("hq/1", "", None), ("hq/1/A", "room", disc))
    zones = (LayerRegion("1", Geometry(disc), region(None, {"kind": "x"})), LayerRegion("2", Geometry(box)))
    return [
        *(ops.DefinePlace(0, Place(path, level, Geometry(shape) if shape else None)) for path, level, shape in rooms),
        ops.DefineLayer(0, Layer("z", zones)),
        ops.DefineLayer(0, Layer("y", (LayerRegion("1", Geometry(several)), LayerRegion("3", Geometry(beside))))),
        ops.DefineRelation(0, RelationDefinition("r", c.Within(_THERE, RADII[0], _HERE))),
    ]


# ---- events ------------------------------------------------------------------------------------------


def _events(stage: _Stage, disorder: bool) -> SearchStrategy[ops.Op]:
    cast, flavour = stage.cast, stage.flavour
    moves = st.builds(ops.Move, st.just(0), cast.clients, usual.fixes(cast) if flavour else _positions(cast))
    of_any_form = [(4, _plain_publish(cast)), (2, _publish(cast)), (6, _plain_subscribe(cast)), (2, _subscribe(cast))]
    if flavour:
        said = [(6, usual.publish(cast, flavour)), (8, usual.subscribe(cast, flavour))]
        said += [(1, strategy) for _, strategy in of_any_form] if flavour.odd else []
    else:
        said = of_any_form
    return weighted(
        (24, moves),
        *said,
        (4, st.just(ops.Tick(0))),
        (4, _emits(cast)),
        (2, _clients(cast, disorder) if not flavour or flavour.odd else _attributes(cast)),
        *([(3, usual.definitions(cast))] if flavour else []),
        (1 if flavour else 3, _definitions(stage)),
        (1, _removals(cast)),
        (1, st.builds(ops.Retract, st.just(0), cast.clients, cast.publications)),
        (1, st.builds(ops.Unsubscribe, st.just(0), cast.clients, cast.subscriptions)),
        (1, st.builds(ops.Forget, st.just(0), cast.clients)),
    )


def _positions(cast: Cast) -> SearchStrategy[Position]:
    heights = st.sampled_from([None, None, None, 0.0, 1.0, 1.5])
    accuracies = st.sampled_from([None, None, 0.0, 1.0, 100.0])
    somewhere = st.builds(Position, cast.points, maybe(cast.paths), heights, heights, accuracies)
    placed = cast.paths.map(lambda path: Position(place=path))
    return weighted((6, st.builds(Position, cast.points)), (3, somewhere), (1, placed))


def _plain_publish(cast: Cast) -> SearchStrategy[ops.Op]:
    """Publications that most subscriptions may find: located or moving with their owner, and mostly open to all."""
    fixed = cast.points.map(lambda point: Region("location", location=Geometry(point)))
    priced = cast.numbers.map(lambda price: region("gas", {"price": price, "kind": "x"}))
    held = st.one_of(st.just(()), st.tuples(fixed), st.tuples(priced), st.tuples(fixed, priced))
    filters = maybe(likely(cast), never=c.ALWAYS)
    expires = weighted((9, st.none()), (1, expiries(cast)))

    precisions, pauses = weighted((6, st.none()), (1, PRECISIONS)), weighted((12, st.just(False)), (1, st.just(True)))

    def made(id_: str, owner: str, regions: tuple[Region, ...], *held: Any) -> ops.Op:
        *_, precision, _ = held
        kept = regions if precision is None else tuple(r for r in regions if r.location is None)
        return ops.Publish(0, normalize(Publication(id_, owner, kept, *held)))

    of = (cast.publications, cast.clients, held, filters, st.just(""), expires, precisions, pauses)
    return st.builds(made, *of)


def _plain_subscribe(cast: Cast) -> SearchStrategy[ops.Op]:
    """Subscriptions that often have something to tell, with all that can be asked of them."""
    near = likely(cast).map(lambda filter_: (FromSpaces(), filter_))
    zones = st.builds(lambda layer, kind: (FromLayer(layer), kind(_HERE, _THERE)), cast.layers, _ENTERED)
    spanned = st.builds(
        lambda layer, kind: (FromSpaces(), kind(_THERE, c.InLayer(layer, c.ALWAYS))), cast.layers, _ENTERED
    )
    watched = cast.relations.map(lambda name: (FromRelation(name), c.ALWAYS))
    above: Strategy = cast.numbers.map(lambda least: c.Compare(c.Ref("@", "value"), ">=", c.Constant(least)))
    life = maybe(likely(cast, "#"), never=c.ALWAYS)
    asked = st.fixed_dictionaries({"chooser": choosers(cast), "on": maybe(above), "life": life})
    plain = st.tuples(st.one_of(spanned, watched), st.fixed_dictionaries({"life": life}))
    wanted = weighted((5, st.tuples(near, asked)), (2, st.tuples(zones, asked)), (2, plain))

    def made(id_: str, owner: str, wanted: tuple[Any, dict[str, Any]], told: Options) -> ops.Op:
        (source, filter_), asked = wanted
        subscription = subscription_of({"source": source, "filter": filter_, "options": told, **asked})
        assert subscription is not None
        return ops.Subscribe(0, replace(normalize(subscription), id=id_, owner=owner))

    return st.builds(made, cast.subscriptions, cast.clients, wanted, options(cast))


def _publish(cast: Cast) -> SearchStrategy[ops.Op]:
    def made(publication: Publication, id_: str, owner: str) -> ops.Op:
        return ops.Publish(0, replace(publication, id=id_, owner=owner))

    return st.builds(made, publications(cast), cast.publications, cast.clients)


def _subscribe(cast: Cast) -> SearchStrategy[ops.Op]:
    def made(subscription: Subscription, id_: str, owner: str) -> ops.Op:
        return ops.Subscribe(0, replace(subscription, id=id_, owner=owner))

    return st.builds(made, subscriptions(cast), cast.subscriptions, cast.clients)


def _emits(cast: Cast) -> SearchStrategy[ops.Op]:
    measured = cast.numbers.map(lambda value: {"value": value})
    strange = st.dictionaries(st.sampled_from(["value", "price"]), cast.scalars, min_size=1)
    values = weighted((3, measured), (1, strange))
    return st.builds(ops.Emit, st.just(0), cast.clients, cast.publications, values)


def _clients(cast: Cast, disorder: bool) -> SearchStrategy[ops.Op]:
    sometimes = maybe(st.one_of(st.just(0), cast.durations))
    windows = sometimes if disorder else st.none()
    return st.builds(
        lambda op, lease, window: replace(op, lease=lease, lateness=window), _attributes(cast), sometimes, windows
    )


def _attributes(cast: Cast) -> SearchStrategy[ops.SetClient]:
    attributes = st.dictionaries(st.sampled_from(["price", "kind"]), st.one_of(st.none(), cast.scalars), max_size=2)
    return st.builds(ops.SetClient, st.just(0), cast.clients, attributes)


def _definitions(stage: _Stage) -> SearchStrategy[ops.Op]:
    cast = stage.cast
    drops = st.lists(cast.items, max_size=2, unique=True).map(tuple)
    nothing = cast.layers.map(lambda name: Layer(name, ()))
    return st.one_of(
        st.sampled_from([ops.DefineSpace(0, GAS), ops.DefineSpace(0, SHOP), *_premises(stage.scene)]),
        spaces(cast).map(lambda space: ops.DefineSpace(0, space)),
        places(cast).map(lambda place: ops.DefinePlace(0, place)),
        st.builds(ops.DefineLayer, st.just(0), st.one_of(layers(cast), nothing)),
        st.builds(ops.DefineLayer, st.just(0), st.one_of(layers(cast), nothing), st.just(True), drops),
        relations(cast).map(lambda relation: ops.DefineRelation(0, relation)),
        st.builds(
            lambda relation, where: ops.DefineRelation(0, _where(relation, where)), relations(cast), likely(cast)
        ),
    )


def _where(relation: RelationDefinition, filter_: c.Condition) -> RelationDefinition:
    asked: RelationDefinition = normalize(replace(relation, filter=filter_))
    return asked


def _removals(cast: Cast) -> SearchStrategy[ops.Op]:
    return st.one_of(
        cast.spaces.map(lambda name: ops.RemoveSpace(0, name)),
        cast.paths.map(lambda name: ops.RemovePlace(0, name)),
        cast.layers.map(lambda name: ops.RemoveLayer(0, name)),
        cast.relations.map(lambda name: ops.RemoveRelation(0, name)),
    )
