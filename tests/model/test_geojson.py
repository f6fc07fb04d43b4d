from __future__ import annotations

import json
from typing import Any

import pytest

from nearcast.errors import GeometryError, GeometryWarning, ModelError
from nearcast.model.constraint import Interval, Values
from nearcast.model.geojson import layer_from_geojson, layer_to_geojson
from nearcast.model.layer import Layer, LayerRegion
from nearcast.model.region import region
from nearcast.model.shape import Box, Disc, Geometry, Point, Polygon

RING = [[0, 0], [1, 0], [1, 1], [0, 0]]
POINT = {"type": "Point", "coordinates": [3, 4]}


def feature(geometry: object = None, **members: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": {}, "geometry": geometry or POINT, **members}


def one(data: object) -> LayerRegion:
    (found,) = layer_from_geojson("zones", data).regions
    return found


def test_a_region_is_named_by_the_first_thing_that_names_it() -> None:
    properties = {"id": "second", "name": "third"}
    assert one(feature(id="first", properties=properties)).id == "first"
    assert one(feature(properties=properties)).id == "second"
    assert one(feature(properties={"name": "third"})).id == "third"
    assert one(feature()).id == "0"
    assert one(feature(id="", properties={"id": None, "name": ""})).id == "0"
    assert one(feature(id=0)).id == "0"
    assert one(feature(id=7)).id == "7"
    assert one(feature(properties={"id": ["no"], "name": "name"})).id == "name"


def test_two_regions_of_one_id_are_refused() -> None:
    with pytest.raises(ModelError, match="two regions with the id 'a'"):
        layer_from_geojson("zones", [feature(id="a"), feature(id="a")])


def test_ids_that_are_none_are_refused() -> None:
    unnamed: list[object] = [{}, [], True]
    for bad in unnamed:
        with pytest.raises(GeometryError, match="feature 0 has an id"):
            one(feature(id=bad))


def test_all_forms_of_a_collection() -> None:
    features = [feature(id="a"), feature(id="b")]
    expected = layer_from_geojson("zones", features)
    assert layer_from_geojson("zones", {"type": "FeatureCollection", "features": features}) == expected
    assert [r.id for r in expected.regions] == ["a", "b"]
    assert one(POINT) == LayerRegion("0", Geometry(Point(3, 4)))
    assert layer_from_geojson("zones", []) == Layer("zones", ())


def test_geometries() -> None:
    def shape(kind: str, coordinates: object, **properties: object) -> object:
        return one(feature({"type": kind, "coordinates": coordinates}, properties=properties)).geometry.shape

    ring = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 0.0))
    assert shape("Point", [3, 4]) == Point(3, 4)
    assert shape("Point", [3, 4, 5]) == Point(3, 4)
    assert shape("Point", [3, 4], radius=250) == Disc(3, 4, 250)
    assert shape("Point", [3, 4], radius=0) == Disc(3, 4, 0)
    assert shape("Polygon", [RING]) == Polygon(((ring,),))
    assert shape("MultiPolygon", [[RING], [[[5, 5], [6, 5], [6, 6], [5, 5]]]]) == Polygon(
        ((ring,), (((5.0, 5.0), (6.0, 5.0), (6.0, 6.0), (5.0, 5.0)),))
    )


def test_floors_levels_and_altitudes_are_ranges() -> None:
    def geometry(**properties: object) -> Geometry:
        return one(feature(properties=properties)).geometry

    assert geometry(floor=2).floor == Interval(2, 2)
    assert geometry(level="2").floor == Interval(2, 2)
    assert geometry(level="0;1;-1").floor == Interval(-1, 1)
    assert geometry(floor=[3, 1]).floor == Interval(1, 3)
    assert geometry(floor=1, level=9).floor == Interval(1, 1)
    assert geometry(floor=None, level=9).floor == Interval(9, 9)
    assert geometry(altitude=[10, 20.5]).altitude == Interval(10, 20.5)
    assert geometry().floor is geometry().altitude is None


def test_properties_become_attributes() -> None:
    properties = {"kind": "school", "open": True, "tags": ["a", "b"], "nested": {"x": 1}, "no": None, "few": []}
    found = one(feature(properties=properties))
    assert found.attributes == region(None, {"kind": "school", "open": True, "tags": Values(("a", "b"))})


def test_a_repaired_feature_is_named_in_the_warning() -> None:
    bowtie = [[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
    with pytest.warns(GeometryWarning, match="region 'yard' was repaired"):
        layer_from_geojson("zones", [feature({"type": "Polygon", "coordinates": [bowtie]}, id="yard")])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (feature({"type": "LineString", "coordinates": RING}), "'LineString' is not an area"),
        (feature({"type": "Circle"}), "'Circle' is not an area"),
        (feature({"type": ["Point"]}), "not an area"),
        (feature(5), "no geometry"),
        (feature({"type": "Point", "coordinates": [1]}), "needs two numbers"),
        (feature({"type": "Point", "coordinates": ["1", 2]}), "longitude '1'"),
        (feature({"type": "Point", "coordinates": [1, True]}), "latitude True"),
        (feature({"type": "Point", "coordinates": [1, None]}), "latitude None"),
        (feature({"type": "Point", "coordinates": [1, 2, "high"]}), "altitude 'high'"),
        (feature({"type": "Point", "coordinates": [10**400, 2]}), "longitude 1000"),
        (feature({"type": "Polygon", "coordinates": []}), "list of coordinates"),
        (feature({"type": "Polygon", "coordinates": [[]]}), "list of coordinates"),
        (feature({"type": "Polygon", "coordinates": [[1, 2]]}), "1 is not a position"),
        (feature({"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}), "at least three"),
        (feature({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [2, 2], [0, 0]]]}), "no area"),
        (feature({"type": "MultiPolygon", "coordinates": [1]}), "list of coordinates"),
        (feature(properties={"radius": -1}), "radius"),
        (feature(properties={"radius": "wide"}), "radius 'wide'"),
        (feature(properties={"floor": "ground"}), "floor 'ground'"),
        (feature(properties={"floor": []}), "floor"),
        (feature(properties={"floor": {}}), "floor"),
        (feature(properties={"altitude": 10**400}), "altitude"),
        (feature(properties={"floor": [1, float("nan")]}), "floor"),
    ],
)  # fmt: skip
def test_errors_name_the_feature(bad: dict[str, Any], reason: str) -> None:
    named = {**bad, "id": "yard"}
    with pytest.raises(GeometryError, match=rf"^feature 1 \(yard\): .*{reason}"):
        layer_from_geojson("zones", [feature(), named])


@pytest.mark.parametrize(
    "bad",
    [None, 5, "text", {"type": "FeatureCollection"}, {"type": "FeatureCollection", "features": {}}, {}, {"type": []}],
)
def test_what_is_no_geojson_is_refused(bad: object) -> None:
    with pytest.raises(GeometryError):
        layer_from_geojson("zones", bad)


def test_features_that_are_none() -> None:
    strange: list[object] = [5, {}, {"type": "feature"}, [], feature(properties=[])]
    for bad in strange:
        with pytest.raises(GeometryError, match="feature 1 "):
            layer_from_geojson("zones", [feature(), bad])


def test_writing_and_reading_gives_the_same_layer() -> None:
    layer = layer_from_geojson("zones", [
        feature(id="a", properties={"kind": "school", "tags": [1, "x", True], "floor": "0;1", "altitude": 5}),
        feature(id="b", properties={"radius": 12.5, "name": "other"}),
        feature({"type": "Polygon", "coordinates": [RING]}, id="c"),
        feature({"type": "MultiPolygon", "coordinates": [[RING], [[[5, 5], [6, 5], [6, 6], [5, 5]]]]}, id="d"),
    ])  # fmt: skip
    written = json.loads(json.dumps(layer_to_geojson(layer)))
    again = layer_from_geojson("zones", written)
    assert {r.id: r.geometry for r in again.regions} == {r.id: r.geometry for r in layer.regions}
    assert layer_to_geojson(again) == layer_to_geojson(layer)


def test_a_box_over_the_antimeridian_is_written_split() -> None:
    box = Layer("zones", (LayerRegion("a", Geometry(Box(170, 0, -170, 10))),))
    written = layer_to_geojson(box)["features"][0]["geometry"]
    assert written["type"] == "MultiPolygon"
    assert len(written["coordinates"]) == 2
