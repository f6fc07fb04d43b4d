"""GeoJSON (RFC 7946) → layers. A feature that cannot be a region is refused by its number and id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearcast.errors import GeometryError, ModelError
from nearcast.model.constraint import Constraint, Interval, Values, is_finite
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.region import Region
from nearcast.model.shape import Disc, Geometry, Point, Shape, polygon

__all__ = ["layer_from_geojson", "layer_to_geojson", "region_to_geojson"]


def layer_from_geojson(name: str, data: object) -> Layer:
    """A layer from a FeatureCollection, a Feature, a list of Features, or a geometry alone.

    A region's id is the feature's id, else ``properties.id``, else ``properties.name``, else its position. A Point
    with ``properties.radius``, in metres, is a disc. ``properties.floor`` (or OpenStreetMap's ``level``) and
    ``properties.altitude`` are ranges: a number, ``[low, high]``, or text such as ``"0;1"``.
    """
    return Layer(name, tuple(_region(feature, i) for i, feature in enumerate(_features(data))))


_GEOMETRIES = (
    "Point",
    "MultiPoint",
    "LineString",
    "MultiLineString",
    "Polygon",
    "MultiPolygon",
    "GeometryCollection",
)


def _features(data: object) -> Sequence[object]:
    if isinstance(data, Mapping) and data.get("type") == "FeatureCollection":
        data = data.get("features")
    elif isinstance(data, Mapping):
        data = [{"type": "Feature", "geometry": data} if data.get("type") in _GEOMETRIES else data]
    if not isinstance(data, list):
        raise GeometryError("GeoJSON regions are a FeatureCollection with a list of features")
    return data


def _region(feature: object, position: int) -> LayerRegion:
    if not isinstance(feature, Mapping) or feature.get("type") != "Feature":
        raise GeometryError(f"feature {position} is not a GeoJSON Feature")
    properties = feature.get("properties")
    if properties is None:
        properties = {}
    if not isinstance(properties, Mapping):
        raise GeometryError(f"feature {position} has properties that are not an object")
    if not _can_name(feature.get("id", "")):
        raise GeometryError(f"feature {position} has an id that is neither text nor a number")
    named = (feature.get("id"), properties.get("id"), properties.get("name"), position)
    id_ = str(next(value for value in named if value not in (None, "") and _can_name(value)))
    try:
        shape = _shape(feature.get("geometry"), properties, f"region {id_!r}")
        geometry = Geometry(shape, _range(properties, "altitude"), _range(properties, "floor", "level"))
        return LayerRegion(id_, geometry, Region(None, _attributes(properties)))
    except ModelError as error:
        raise GeometryError(f"feature {position} ({id_}): {error}") from None


def _can_name(value: object) -> bool:
    return value is None or (isinstance(value, (str, int, float)) and not isinstance(value, bool))


def _shape(geometry: object, properties: Mapping[str, Any], name: str) -> Shape:
    if not isinstance(geometry, Mapping):
        raise GeometryError("it has no geometry")
    kind, coordinates = geometry.get("type"), geometry.get("coordinates")
    if kind == "Point":
        x, y = _pair(coordinates)
        radius = properties.get("radius")
        return Point(x, y) if radius is None else Disc(x, y, _number(radius, "radius"))
    if kind == "Polygon":
        return polygon([_polygon(coordinates)], name)
    if kind == "MultiPolygon":
        return polygon([_polygon(part) for part in _list(coordinates, "a MultiPolygon")], name)
    raise GeometryError(f"{kind!r} is not an area; use Polygon, MultiPolygon, or Point with a radius")


def _polygon(coordinates: object) -> list[list[tuple[float, float]]]:
    rings = _list(coordinates, "a Polygon")
    return [[_pair(corner) for corner in _list(ring, "a ring")] for ring in rings]


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise GeometryError(f"{what} needs a list of coordinates")
    return value


def _pair(value: object) -> tuple[float, float]:
    if not isinstance(value, list) or len(value) < 2:
        raise GeometryError(f"{value!r} is not a position; it needs two numbers")
    x, y, *_ = [_number(number, what) for number, what in zip(value, _AXES, strict=False)]
    return x, y


_AXES = ("longitude", "latitude", "altitude")


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not is_finite(value):
        raise GeometryError(f"{what} {value!r:.20} is not a number")
    return float(value)


def _range(properties: Mapping[str, Any], *names: str) -> Interval | None:
    value = next((properties[name] for name in names if properties.get(name) is not None), None)
    if value is None:
        return None
    parts = value.split(";") if isinstance(value, str) else value if isinstance(value, list) else [value]
    try:
        numbers = Values(tuple(float(part) for part in parts)).items
        return Interval(numbers[0], numbers[-1])
    except (ModelError, OverflowError, TypeError, ValueError):
        raise GeometryError(f"{names[0]} {value!r} is not a number or a range") from None


def _attributes(properties: Mapping[str, Any]) -> tuple[tuple[str, Constraint], ...]:
    """The properties that conditions can use: scalars, and lists of scalars as sets. The rest is left out."""
    found: list[tuple[str, Constraint]] = []
    for name, value in properties.items():
        values = value if isinstance(value, list) else [value]
        if values and all(isinstance(v, str) or (isinstance(v, (int, float)) and is_finite(v)) for v in values):
            found.append((str(name), Values(tuple(values))))
    return tuple(found)


def layer_to_geojson(layer: Layer) -> dict[str, Any]:
    """The same layer as a FeatureCollection; reading it back gives the same regions."""
    return {"type": "FeatureCollection", "features": [region_to_geojson(r) for r in layer.regions]}


def region_to_geojson(r: LayerRegion) -> dict[str, Any]:
    """One region as a Feature."""
    shape = r.geometry.shape
    properties: dict[str, Any] = {}
    for name, held in r.attributes.constraints:
        if isinstance(held, Values):
            properties[name] = held.items[0] if len(held.items) == 1 else list(held.items)
    for names, heights in ((("altitude",), r.geometry.altitude), (("floor", "level"), r.geometry.floor)):
        # The property that it was read from, if there is one, says it as it was.
        if heights is not None and not properties.keys() & names:
            properties[names[0]] = [heights.low, heights.high]
    if isinstance(shape, (Point, Disc)):
        if isinstance(shape, Disc):
            properties["radius"] = shape.radius
        geometry: dict[str, Any] = {"type": "Point", "coordinates": [shape.x, shape.y]}
    else:
        parts = [[[list(corner) for corner in ring] for ring in rings] for rings in shape.rings()]
        geometry = {"type": "MultiPolygon", "coordinates": parts}
        if len(parts) == 1:
            geometry = {"type": "Polygon", "coordinates": parts[0]}
    return {"type": "Feature", "id": r.id, "properties": properties, "geometry": geometry}
