"""Other projects' fixtures, where they are at hand: geojsonhint for reading, Turf for planar geometry."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nearcast.errors import GeometryWarning, NearcastError
from nearcast.model.geojson import layer_from_geojson
from nearcast.model.layer import Layer
from nearcast.model.metric import PLANE
from nearcast.model.shape import Point, Shape

SUITES = Path(__file__).parents[2].parent / "shared" / "suites"
HINT, TURF = SUITES / "geojsonhint", SUITES / "turf_boolean_fixtures"


def files(folder: Path, pattern: str = "*.geojson") -> list[object]:
    """One case a file; where the suite is absent, one that says so."""
    found = sorted(folder.rglob(pattern))
    if not found:
        suite = folder.relative_to(SUITES).parts[0]
        reason = f"the suite {suite} is not in shared/suites beside the repository"
        return [pytest.param(folder, marks=pytest.mark.skip(reason=reason))]
    return [pytest.param(path, id=str(path.relative_to(folder).with_suffix(""))) for path in found]


def read(path: Path) -> Layer:
    return layer_from_geojson("suite", json.loads(path.read_text(encoding="utf-8")))


# ---- geojsonhint -------------------------------------------------------------------------------------

TOLERATED = {
    "bad-polygon-interiorring-rhr": "winding order says nothing to us",
    "polygon_winding_order": "winding order says nothing to us",
    "bbox-4or6elements": "a bounding box is not used",
    "bbox-contains-string": "a bounding box is not used",
    "bbox-string": "a bounding box is not used",
    "different-first-size": "the ring is closed in the plane; heights of corners are not used",
    "point-toomany": "what follows the height is not used",
    "feature_changed_semantics": "foreign members are not used",
    "geometry_changed_semantics": "foreign members are not used",
}
REPAIRED = {
    "different-first-last": "the ring is closed, with a warning",
    "short-linearring": "the ring is closed, with a warning",
}
NOT_AREAS = {
    "good-featurecollection": "LineString", "good-featurecollection-extensions": "LineString",
    "good-geometrycollection": "GeometryCollection", "good-linestring": "LineString",
    "good-multilinestring": "MultiLineString", "good-multipoint": "MultiPoint", "nullgeometry": "no geometry",
}  # fmt: skip


@pytest.mark.parametrize("path", files(HINT / "bad"))
def test_bad_geojson_is_refused_or_tolerated_on_purpose(path: Path) -> None:
    if path.stem == "bad-json":
        with pytest.raises(ValueError, match="line 3"):
            read(path)
    elif path.stem in TOLERATED:
        assert read(path).regions
    elif path.stem in REPAIRED:
        with pytest.warns(GeometryWarning, match="not closed"):
            assert read(path).regions
    else:
        with pytest.raises(NearcastError):
            read(path)


@pytest.mark.parametrize("path", files(HINT / "good"))
def test_good_geojson_is_read_unless_it_is_no_area(path: Path) -> None:
    if path.stem in NOT_AREAS:
        with pytest.raises(NearcastError, match=NOT_AREAS[path.stem]):
            read(path)
    else:
        assert read(path).regions


# ---- Turf --------------------------------------------------------------------------------------------

AREAS = ("Point", "Polygon", "MultiPolygon")
ON_BOUNDARY = ("PointOnPolygonBoundary", "PointOnBoundary")
"""Turf's contains and within leave out the boundary; ours are closed (decision 13)."""
WITHOUT_AREA = "false/Polygon/Polygon/Polygon-Polygon"
"""One of the two is a line back and forth, which we refuse."""


def turf(operation: str) -> list[object]:
    """The fixtures of an operation whose two geometries are shapes of ours, with the answer of their folder."""
    made: list[object] = []
    for case in files(TURF / f"turf-boolean-{operation}" / "test"):
        path = case.values[0]  # type: ignore[attr-defined]
        if path.suffix and path.parts[-3] in AREAS and path.parts[-2] in AREAS:
            made.append(pytest.param(path, "true" in path.parts, id=case.id))  # type: ignore[attr-defined]
        elif not path.suffix:
            made.append(pytest.param(path, True, marks=case.marks))  # type: ignore[attr-defined]
    return made


def pair(path: Path) -> tuple[Shape, Shape]:
    features = json.loads(path.read_text(encoding="utf-8"))["features"]
    first, second = (layer_from_geojson("turf", [f]).regions[0].geometry.shape for f in features)
    return first, second


def check_contained(path: Path, outer: int, answer: bool) -> None:
    if path.with_suffix("").as_posix().endswith(WITHOUT_AREA):
        with pytest.raises(NearcastError, match="no area"):
            pair(path)
        return
    shapes = pair(path)
    expected = answer or path.stem in ON_BOUNDARY
    assert PLANE.contains(shapes[outer], shapes[1 - outer]) is expected
    if path.stem in ON_BOUNDARY:
        assert PLANE.distance(*shapes) == 0


@pytest.mark.parametrize(("path", "answer"), turf("contains"))
def test_contains(path: Path, answer: bool) -> None:
    """The container comes first in the file, whatever the folders say."""
    check_contained(path, 0, answer)


@pytest.mark.parametrize(("path", "answer"), turf("within"))
def test_within(path: Path, answer: bool) -> None:
    check_contained(path, 1, answer)


@pytest.mark.parametrize(("path", "answer"), turf("intersects"))
def test_intersects(path: Path, answer: bool) -> None:
    a, b = pair(path)
    assert PLANE.overlaps(a, b) is PLANE.overlaps(b, a) is answer


@pytest.mark.parametrize(("path", "answer"), turf("disjoint"))
def test_disjoint(path: Path, answer: bool) -> None:
    a, b = pair(path)
    assert PLANE.overlaps(a, b) is PLANE.overlaps(b, a) is not answer
    assert (PLANE.distance(a, b) > 0) is answer


# Where Turf's own test says that points are, by file.
HOLED = {
    "poly-with-hole": {
        (-86.69208526611328, 36.20373274711739): False,
        (-86.72229766845702, 36.20258997094334): True,
        (-86.75079345703125, 36.18527313913089): False,
    },
    "multipoly-with-hole": {
        (-86.69208526611328, 36.20373274711739): False,
        (-86.72229766845702, 36.20258997094334): True,
        (-86.75079345703125, 36.18527313913089): True,
        (-86.75302505493164, 36.23015046460186): False,
    },
}


@pytest.mark.parametrize("path", files(TURF / "turf-boolean-point-in-polygon"))
def test_points_in_polygons_with_holes(path: Path) -> None:
    shape = read(path).regions[0].geometry.shape
    assert {at: PLANE.covers(shape, Point(*at)) for at in HOLED[path.stem]} == HOLED[path.stem]
