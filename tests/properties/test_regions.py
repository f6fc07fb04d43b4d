"""Regions and shapes relate as sets of values do."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearcast.model.constraint import Interval
from nearcast.model.metric import EARTH, PLANE, Ground
from nearcast.model.region import Region, contains, distance, enclosed, is_valid, overlaps
from nearcast.model.shape import Box, Point, Polygon, Shape
from nearcast.model.space import (
    BOOLEAN,
    INTEGER,
    LOCATION,
    PERCENTAGE,
    REAL,
    TEXT,
    Dimension,
    Metric,
    SubjectSpace,
    enumeration,
)
from nearcast.testing import regions, scenes

MIXED = SubjectSpace(
    "mixed",
    (
        Dimension("price", REAL), Dimension("seats", INTEGER), Dimension("share", PERCENTAGE), Dimension("name", TEXT),
        Dimension("kind", enumeration("a", "b", "c")), Dimension("open", BOOLEAN),
    ),
)  # fmt: skip
INDOOR = SubjectSpace("indoor", (Dimension("x", REAL), Dimension("y", REAL), Dimension("kind", TEXT)), Metric.PLANAR)
SPACES = (MIXED, LOCATION, INDOOR)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[SubjectSpace, Region, Region]:
    """A space and two regions that are valid in it."""
    space = draw(st.sampled_from(SPACES))
    valid = regions(space).filter(lambda r: is_valid(r, space))
    return space, draw(valid), draw(valid)


@given(pairs())
def test_a_valid_region_matches_itself(pair: tuple[SubjectSpace, Region, Region]) -> None:
    space, r, _ = pair
    assert contains(r, r, space)
    assert enclosed(r, r, space)
    assert overlaps(r, r, space)
    assert distance(r, r, space) == 0


@given(pairs())
def test_relations_of_regions_are_those_of_sets(pair: tuple[SubjectSpace, Region, Region]) -> None:
    space, a, b = pair
    assert contains(a, b, space) == enclosed(b, a, space)
    assert overlaps(a, b, space) == overlaps(b, a, space)
    if contains(a, b, space):
        assert overlaps(a, b, space)


@given(pairs())
def test_distance_of_regions_is_symmetric_and_zero_where_they_overlap(
    pair: tuple[SubjectSpace, Region, Region],
) -> None:
    space, a, b = pair
    assert distance(a, b, space) == distance(b, a, space)
    if overlaps(a, b, space):
        assert distance(a, b, space) == 0


NUMBERS = SubjectSpace("numbers", (Dimension("u", REAL), Dimension("v", REAL)))


def closed(r: Region) -> bool:
    """Without open ends, which count as their limits for distance but not for overlap."""
    return all((held.low_closed and held.high_closed) for _, held in r.constraints if isinstance(held, Interval))


@given(*[regions(NUMBERS).filter(lambda r: closed(r) and is_valid(r, NUMBERS))] * 2)
def test_closed_regions_of_numbers_are_at_no_distance_only_if_they_touch(a: Region, b: Region) -> None:
    assert (distance(a, b, NUMBERS) == 0) == overlaps(a, b, NUMBERS)


@given(*[regions(MIXED)] * 3)
def test_containment_is_transitive(a: Region, b: Region, c: Region) -> None:
    for x, y, z in ((a, b, c), (b, c, a), (c, a, b)):
        if contains(x, y, MIXED) and contains(y, z, MIXED):
            assert contains(x, z, MIXED)


# ---- shapes ------------------------------------------------------------------------------------------


def neighbours(ground: Ground) -> st.SearchStrategy[tuple[Shape, Shape]]:
    """Two shapes, often of one scene, so that they meet."""
    near = st.sampled_from(scenes(ground)).flatmap(
        lambda scene: st.tuples(*[st.sampled_from(scene.shapes + scene.points)] * 2)
    )
    shapes = [shape for scene in scenes(ground) for shape in scene.shapes]
    return st.one_of(near, near, st.tuples(*[st.sampled_from(shapes)] * 2))


ON_BOTH_GROUNDS = pytest.mark.parametrize("ground", [EARTH, PLANE], ids=["earth", "plane"])


@ON_BOTH_GROUNDS
@given(st.data())
def test_a_shape_contains_and_touches_itself(ground: Ground, data: st.DataObject) -> None:
    shape, _ = data.draw(neighbours(ground))
    assert ground.overlaps(shape, shape)
    assert ground.distance(shape, shape) == 0
    assert ground.contains(shape, shape)


@ON_BOTH_GROUNDS
@given(st.data())
def test_shapes_relate_as_sets_of_points(ground: Ground, data: st.DataObject) -> None:
    a, b = data.draw(neighbours(ground))
    assert ground.overlaps(a, b) == ground.overlaps(b, a)
    assert ground.distance(a, b) == ground.distance(b, a)
    assert (ground.distance(a, b) == 0) == ground.overlaps(a, b)
    if ground.contains(a, b):
        assert ground.overlaps(a, b)


@ON_BOTH_GROUNDS
@given(st.data())
def test_depth_agrees_with_containment(ground: Ground, data: st.DataObject) -> None:
    shape, other = data.draw(neighbours(ground))
    points = (
        [Point(*corner) for corner in other.corners] if isinstance(other, (Box, Polygon)) else [Point(other.x, other.y)]
    )
    for point in points:
        inside = ground.covers(shape, point)
        assert (ground.depth(shape, point) >= 0) == inside
        assert ground.contains(shape, point) == inside
        assert ground.overlaps(shape, point) == inside


@ON_BOTH_GROUNDS
@given(st.data())
def test_a_segment_crosses_what_its_ends_are_in(ground: Ground, data: st.DataObject) -> None:
    scene = data.draw(st.sampled_from(scenes(ground)))
    shape = data.draw(st.sampled_from(scene.shapes))
    for start, end in pairwise(data.draw(st.lists(st.sampled_from(scene.points), min_size=2, max_size=4))):
        crossed = ground.crosses(shape, start, end)
        if ground.covers(shape, start) or ground.covers(shape, end):
            assert crossed
        if start != end:
            continue
        assert crossed == ground.covers(shape, start)
