"""Straight lines bound geodesics as they are said to, and no point gets out of its cell of the grid."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyproj
import pytest

from nearcast.match.globe import (
    FAR,
    FLAT,
    HIGHEST,
    LOWEST,
    SLACK,
    SPAN,
    TIGHTEST,
    A,
    band,
    cell_key,
    cell_of,
    face_of,
    face_point,
    in_space,
    spread,
    to_space,
)  # fmt: skip

Reals = npt.NDArray[np.float64]
PAIRS = 100_000
_WGS84 = pyproj.Geod(ellps="WGS84")


def anywhere(dice: np.random.Generator, n: int) -> tuple[Reals, Reals]:
    """Points of the globe, many of them at the poles, the equator, the antimeridian and corners of the grid."""
    x, y = dice.uniform(-180, 180, n), np.degrees(np.arcsin(dice.uniform(-1, 1, n)))
    x[::7], y[::11] = dice.choice([-180.0, 180.0, 0.0, 45.0, -90.0], len(x[::7])), dice.normal(0, 1e-6, len(y[::11]))
    y[::13] = dice.choice([-90.0, 90.0, 89.9999, 35.26438968], len(y[::13]))
    return x, y


def away(dice: np.random.Generator, x: Reals, y: Reals, least: float, most: float) -> tuple[Reals, Reals, Reals]:
    """Other points, at distances of every order of magnitude."""
    metres = 10 ** dice.uniform(math.log10(least), math.log10(most), len(x))
    other_x, other_y, _ = _WGS84.fwd(x, y, dice.uniform(0, 360, len(x)), metres)
    return np.asarray(other_x), np.asarray(other_y), np.asarray(_WGS84.inv(x, y, other_x, other_y)[2])


def chords(x: Reals, y: Reals, other_x: Reals, other_y: Reals) -> Reals:
    one, other = np.empty((len(x), 3)), np.empty((len(x), 3))
    to_space(x, y, True, one)
    to_space(other_x, other_y, True, other)
    return np.asarray(np.sqrt(np.sum((one - other) ** 2, axis=1)))


@pytest.mark.parametrize(("least", "most"), [(1e-3, 1e4), (1e4, 2e7)])
def test_a_chord_bounds_the_geodesic(least: float, most: float) -> None:
    dice = np.random.default_rng(17)
    x, y = anywhere(dice, PAIRS)
    other_x, other_y, geodesic = away(dice, x, y, least, most)
    chord = chords(x, y, other_x, other_y)
    assert np.all(chord <= geodesic + SLACK / 10)
    valid = geodesic <= FAR
    assert valid.mean() > 0.9
    assert np.all(chord[valid] >= 2 * TIGHTEST * np.sin(geodesic[valid] / (2 * TIGHTEST)) - SLACK / 10)


def test_what_is_nearly_antipodal_is_never_called_certain() -> None:
    dice = np.random.default_rng(19)
    x, y = anywhere(dice, PAIRS // 10)
    off = 10 ** dice.uniform(-9, 0.5, len(x))
    other_x = np.clip(np.where(x > 0, x - 180, x + 180) + off, -180, 180)
    other_y = np.clip(-y + off * dice.choice([-1, 0, 1], len(y)), -90, 90)
    geodesic = np.asarray(_WGS84.inv(x, y, other_x, other_y)[2])
    chord = chords(x, y, other_x, other_y)
    assert geodesic.max() > 2.0003e7
    for radius in (*10 ** dice.uniform(6, 7.4, 200), FAR, FAR + 1, 2e7, 20003931.4):
        inner, outer = band(radius, True)
        assert np.all(geodesic[chord < inner] <= radius)
        assert np.all(geodesic[chord > outer] > radius)


@pytest.mark.parametrize("earth", [True, False])
def test_a_band_is_thin_and_right(earth: bool) -> None:
    dice = np.random.default_rng(23)
    x, y = anywhere(dice, 20_000) if earth else dice.normal(0, 1e6, (2, 20_000))
    for radius in (0.0, 1e-3, 1.0, 50.0, 1e3, 3e4, 1e6, 5e6):
        metres = radius * (1 + dice.normal(0, 1e-9, len(x))) + dice.normal(0, 1e-6, len(x))
        if earth:
            other_x, other_y, _ = map(np.asarray, _WGS84.fwd(x, y, dice.uniform(0, 360, len(x)), metres))
            geodesic, chord = np.asarray(_WGS84.inv(x, y, other_x, other_y)[2]), chords(x, y, other_x, other_y)
        else:
            angle = dice.uniform(0, 2 * math.pi, len(x))
            dx, dy = metres * np.cos(angle), metres * np.sin(angle)
            geodesic = np.array([math.hypot(a, b) for a, b in zip(dx, dy, strict=True)])
            chord = np.sqrt(dx * dx + dy * dy)
        inner, outer = band(radius, earth)
        assert np.all(geodesic[chord < inner] <= radius)
        assert np.all(geodesic[chord > outer] > radius)
        assert outer - inner <= 2 * SLACK + radius**3 / (20 * TIGHTEST**2) + 1e-11 * radius


def test_many_positions_are_as_one_by_one() -> None:
    x, y = anywhere(np.random.default_rng(29), 300)
    for earth in (True, False):
        many = np.empty((len(x), 3))
        to_space(x, y, earth, many)
        alone = [in_space(a, b) if earth else (a, b, 0.0) for a, b in zip(x, y, strict=True)]
        assert many.tolist() == [list(point) for point in alone]


def test_a_point_is_seen_through_one_face_within_its_edges() -> None:
    x, y = anywhere(np.random.default_rng(31), 5000)
    faces = set()
    for point in zip(x, y, strict=True):
        space = in_space(*point)
        face = face_of(*space)
        u, v = face_point(face, *space)
        faces.add(face)
        assert max(abs(u), abs(v)) <= A * (1 + 1e-9)
    assert faces == set(range(6))


def test_what_a_chord_reaches_is_within_its_spread() -> None:
    """Through whichever face it is seen."""
    dice = np.random.default_rng(37)
    x, y = anywhere(dice, 4000)
    other_x, other_y, _ = away(dice, x, y, 1e-2, 1e6)
    reach = chords(x, y, other_x, other_y)
    seen = set()
    for i in range(len(x)):
        centre, point = in_space(x[i], y[i]), in_space(other_x[i], other_y[i])
        face = face_of(*point)
        west, south, east, north = spread(face, *centre, reach[i] + SLACK)
        u, v = face_point(face, *point)
        assert west <= u <= east
        assert south <= v <= north
        seen.add((face, face_of(*centre)))
    assert len(seen) > 6, "some are seen through another face than the centre"


def test_a_cell_has_a_key_of_its_own() -> None:
    corners = [0, 1, -1, int(SPAN) - 1, -int(SPAN)]
    keys = {
        cell_key(face, level, ix, iy)
        for face in range(FLAT + 1)
        for level in (LOWEST, 0, 11, HIGHEST)
        for ix in corners
        for iy in corners
    }
    assert len(keys) == (FLAT + 1) * 4 * 25
    assert all(0 <= key < 2**63 for key in keys)


def test_cells_keep_the_order_of_coordinates() -> None:
    coordinates = np.sort(np.concatenate([10.0 ** np.arange(-9, 60), -(10.0 ** np.arange(-9, 60)), [0.0]]))
    for level in range(LOWEST, HIGHEST + 1):
        cells = [cell_of(float(coordinate), level) for coordinate in coordinates]
        assert cells == sorted(cells)
        assert -SPAN <= cells[0] <= cells[-1] <= SPAN - 1
