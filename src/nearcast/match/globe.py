"""Positions for compiled loops: straight-line distances that bound geodesic ones, and a flat grid without seams.

A position on the earth becomes a point of space (metres from the earth's centre, on the WGS 84 ellipsoid); one on a
plane keeps its coordinates. The straight line between two points bounds the geodesic from both sides:

- it is never longer: ``chord <= geodesic``;
- a geodesic bends, as a curve in space, nowhere more than the ellipsoid does anywhere, which is 1/R with
  R = a(1 - e²) = 6,335,439.3 m, the meridian at the equator. By Schur's theorem its chord is at least that of a
  circle of radius R with the same length: ``chord >= 2 R sin(geodesic / 2R)`` (for less than half that circle).

So a disc of radius r holds every point with ``chord <= 2 R sin(r / 2R)`` and none with ``chord > r``. Between the two
lies a band of about r³/24R²: a micrometre at 1 km, a metre at 100 km. To that is added `SLACK` for rounding and for
the geodesic solver's own error (15 nm). What falls in the band is *unsure* and goes to the solver.

For the grid, the globe is seen through the six faces of a cube (gnomonic projection): no pole, no antimeridian.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from nearcast.match.compiled import njit

__all__ = [
    "FLAT",
    "HIGHEST",
    "IN",
    "LOWEST",
    "OUT",
    "PER_METRE",
    "SLACK",
    "SPAN",
    "TIGHTEST",
    "UNSURE",
    "A",
    "band",
    "cell_from",
    "cell_key",
    "cell_of",
    "face_of",
    "face_point",
    "in_space",
    "spread",
    "to_space",
]  # fmt: skip

OUT, IN, UNSURE = 0, 1, 2

A = 6378137.0
F = 1 / 298.257223563
E2 = F * (2 - F)
TIGHTEST = A * (1 - E2)
"""The least radius of curvature anywhere on the ellipsoid."""
SLACK = 1e-6
"""Metres. Rounding of coordinates in space stays below 10 nm, and so does the solver's error."""
FAR = 15e6
"""Metres. Beyond, the bound is not used: what is not certainly outside is unsure."""

FLAT = 6
"""The face of a plane; 0 to 5 are those of the globe."""
LOWEST, HIGHEST = -3, 58
"""Levels of the grid: cells of 2**level metres, from 12 cm, so small that no coordinate of the globe is clipped yet."""
PER_METRE = np.array([2.0**-level for level in range(LOWEST, HIGHEST + 1)])
"""Cells a metre, by level."""
SPAN = 2.0**26
"""A coordinate is clipped to so many cells from the origin. Clipping keeps order, so nothing inside gets outside."""


@njit
def in_space(x: float, y: float) -> tuple[float, float, float]:
    """A position on the earth, in metres from its centre."""
    lon, lat = math.radians(x), math.radians(y)
    s, c = math.sin(lat), math.cos(lat)
    n = A / math.sqrt(1.0 - E2 * s * s)
    return n * c * math.cos(lon), n * c * math.sin(lon), n * (1.0 - E2) * s


@njit
def to_space(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], earth: bool, out: npt.NDArray[np.float64]) -> None:
    """Many positions, a row of three each."""
    for i in range(len(x)):
        if earth:
            out[i, 0], out[i, 1], out[i, 2] = in_space(x[i], y[i])
        else:
            out[i, 0], out[i, 1], out[i, 2] = x[i], y[i], 0.0


@njit
def band(radius: float, earth: bool) -> tuple[float, float]:
    """The chords up to which a point is certainly inside, and beyond which it is certainly outside."""
    if not earth:
        return radius * (1 - 1e-12), radius * (1 + 1e-12)
    inner = 2 * TIGHTEST * math.sin(min(radius, FAR) / (2 * TIGHTEST)) - SLACK
    return inner, radius + SLACK


@njit
def face_of(px: float, py: float, pz: float) -> int:
    """The face of the cube through which a point of the globe is seen from the centre."""
    ax, ay, az = abs(px), abs(py), abs(pz)
    if ax >= ay and ax >= az:
        return 0 if px > 0 else 1
    if ay >= az:
        return 2 if py > 0 else 3
    return 4 if pz > 0 else 5


@njit
def turned(face: int, px: float, py: float, pz: float) -> tuple[float, float, float]:
    """The point as seen through a face: depth, right, up."""
    if face == 0:
        return px, py, pz
    if face == 1:
        return -px, py, pz
    if face == 2:
        return py, px, pz
    if face == 3:
        return -py, px, pz
    if face == 4:
        return pz, px, py
    return -pz, px, py


@njit
def face_point(face: int, px: float, py: float, pz: float) -> tuple[float, float]:
    """Where a point is on a face, in metres near the middle of it; a point of a plane is where it is."""
    if face == FLAT:
        return px, py
    w, s, t = turned(face, px, py, pz)
    return s / w * A, t / w * A


@njit
def spread(face: int, px: float, py: float, pz: float, chord: float) -> tuple[float, float, float, float]:
    """The least and greatest coordinates on a face of all points of the globe within a chord; empty if none is seen.

    With ``e`` the way from the centre of the chord, ``u = s/w``, and ``p`` a point that it reaches:
    ``|u(p) - u| = |e_s w - s e_w| / (p_w w) <= chord · sqrt(w² + s²) / (p_w w)``.
    """
    if face == FLAT:
        return px - chord, py - chord, px + chord, py + chord
    w, s, t = turned(face, px, py, pz)
    if w + chord < 3.6e6:  # every point seen through a face is at least so deep
        return 1.0, 1.0, 0.0, 0.0
    nearest = max(w - chord, 3.6e6)
    u, v = s / w * A, t / w * A
    du = chord * math.sqrt(w * w + s * s) / (nearest * w) * A * (1 + 1e-9) + SLACK
    dv = chord * math.sqrt(w * w + t * t) / (nearest * w) * A * (1 + 1e-9) + SLACK
    edge = A * (1 + 1e-9)
    return max(u - du, -edge), max(v - dv, -edge), min(u + du, edge), min(v + dv, edge)


@njit
def cell_of(coordinate: float, level: int) -> int:
    cells: float = coordinate * PER_METRE[level - LOWEST]
    return math.floor(min(max(cells, -SPAN), SPAN - 1))


@njit
def cell_key(face: int, level: int, ix: int, iy: int) -> int:
    """A cell of the grid, in 63 bits."""
    return (level - LOWEST) << 57 | face << 54 | (ix + (1 << 26)) << 27 | (iy + (1 << 26))


@njit
def cell_from(key: int) -> tuple[int, int, int, int]:
    """The face, the level and the two numbers of a cell."""
    last = (1 << 27) - 1
    return key >> 54 & 7, (key >> 57) + LOWEST, (key >> 27 & last) - (1 << 26), (key & last) - (1 << 26)
