"""Draw the pictures of the pipeline's page from what its commands wrote: ``make.py OUT [FOLDER]``."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow.parquet as pq

__all__ = ["encounters", "shares", "stops"]

DATA = Path(__file__).parents[2] / "src" / "nearcast" / "data"
STYLE = """
    text { fill: #1f2328; }
    .small { font-size: 12px; fill: #57606a; }
    .bg { fill: #ffffff; }
    .box { fill: #f6f8fa; stroke: #57606a; stroke-width: 1.3; rx: 7; }
    .shard { fill: #ddf4ff; stroke: #0969da; }
    .slice { fill: #fbefff; stroke: #8250df; }
    .way { fill: none; stroke: #57606a; stroke-width: 1.3; marker-end: url(#tip); }
    .all { stroke: #8250df; }
    .trace { fill: none; stroke: #8c959f; stroke-width: 1.2; stroke-opacity: 0.7; }
    .fix { fill: #8c959f; }
    .stop { fill: #ddf4ff; fill-opacity: 0.6; stroke: #0969da; }
    .enter { fill: #cf222e; }
    .bar { fill: #0969da; }
    .grid { stroke: #d0d7de; }
"""
TIP = (
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 L10 5 L0 10 z" fill="#57606a"/></marker></defs>'
)
MINUTE = timedelta(minutes=1)
METRES = 111_320
"""A degree of latitude, near enough to draw."""


def main() -> None:
    out = Path(sys.argv[1])
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent
    for draw in (stops, encounters, shares):
        (folder / f"{draw.__name__}.svg").write_text(draw(out), encoding="utf-8")


# ---- the map -------------------------------------------------------------------------------------------


def stops(out: Path) -> str:
    """The buses downtown, the stops, and the fixes that were told as enters."""
    zones = json.loads((DATA / "austin_stops.geojson").read_text(encoding="utf-8"))["features"]
    west, east, south, north = -97.7545, -97.7385, 30.2535, 30.2785
    height, scale = 560.0, 560.0 / (north - south)
    shrink = math.cos(math.radians((south + north) / 2))
    width = (east - west) * scale * shrink

    def at(lon: float, lat: float) -> tuple[float, float]:
        return (lon - west) * scale * shrink, (north - lat) * scale

    def drawn(rows: Iterable[Mapping[str, str]]) -> Iterator[str]:
        points = [at(float(row["lon"]), float(row["lat"])) for row in rows]
        yield f'<polyline class="trace" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
        yield from (_dot(x, y, 2, "fix") for x, y in points if 0 <= x <= width and 0 <= y <= height)

    fixes = list(csv.DictReader((DATA / "austin_buses.csv").read_text(encoding="utf-8").splitlines()))
    by_bus = groupby(sorted(fixes, key=lambda row: (row["client"], row["time"])), key=lambda row: row["client"])
    where = {(row["client"], datetime.fromisoformat(row["time"])): (row["lon"], row["lat"]) for row in fixes}
    enters = pq.read_table(out / "stops", columns=["time", "kind", "publisher"]).to_pylist()
    places = {where[row["publisher"], row["time"]] for row in enters if row["kind"] == "enter"}
    parts = [part for _, rows in by_bus for part in drawn(rows)]
    for zone in zones:
        x, y = at(*zone["geometry"]["coordinates"])
        parts.append(_dot(x, y, zone["properties"]["radius"] / METRES * scale, "stop"))
    parts += [_dot(*at(float(lon), float(lat)), 3, "enter") for lon, lat in sorted(places)]
    note = [
        _text(width + 16, 30, "Buses downtown"),
        _dot(width + 22, 52, 2, "fix"), _text(width + 36, 56, "a fix", "small"),
        _dot(width + 22, 74, 6, "stop"), _text(width + 36, 78, "a stop, 60 m", "small"),
        _dot(width + 22, 96, 3, "enter"), _text(width + 36, 100, f"an enter, at {len(places)} fixes", "small"),
    ]  # fmt: skip
    clipped = f'<svg width="{width:.0f}" height="{height:.0f}">{_lines(parts)}</svg>'
    return _svg("Buses downtown, the stops, and where an enter was told", width + 190, height, [clipped, *note])


# ---- the timeline --------------------------------------------------------------------------------------


def encounters(out: Path) -> str:
    """A row for each two buses that met, a bar for each time that they did."""
    met = sorted(pq.read_table(out / "met").to_pylist(), key=lambda row: (row["publisher"], row["peer"], row["start"]))
    pairs = sorted({(row["publisher"], row["peer"]) for row in met}, key=lambda pair: _first(met, pair))
    start = datetime(2015, 3, 7, 18, tzinfo=UTC)
    left, row_height, minute, top = 150, 17, 16, 34
    width, height = left + 40 * minute + 20, top + row_height * len(pairs) + 14
    parts = []
    for tens in range(0, 41, 10):
        x = left + tens * minute
        parts.append(f'<line class="grid" x1="{x}" y1="{top - 8}" x2="{x}" y2="{height - 10}"/>')
        parts.append(_text(x, 18, f"{start + timedelta(minutes=tens):%H:%M}", "small", "middle"))
    for at, pair in enumerate(pairs):
        y = top + at * row_height
        parts.append(_text(left - 10, y + 10, " and ".join(name.removeprefix("bus-") for name in pair), "small", "end"))
        for row in met:
            if (row["publisher"], row["peer"]) == pair:
                end = row["end"] or start + timedelta(minutes=40)
                x, long = ((row["start"] - start) / MINUTE * minute, (end - row["start"]) / MINUTE * minute)
                parts.append(f'<rect class="bar" x="{left + x:.1f}" y="{y}" width="{long:.1f}" height="11" rx="2"/>')
    return _svg("When two buses were within 100 m of each other", width, height, parts)


def _first(met: Iterable[Mapping[str, Any]], pair: tuple[str, str]) -> tuple[datetime, tuple[str, str]]:
    return min(row["start"] for row in met if (row["publisher"], row["peer"]) == pair), pair


# ---- the shares ----------------------------------------------------------------------------------------


def shares(_: Path) -> str:
    """How rows go to shards and slices."""
    parts = [TIP]
    rows = ["fix of bus-7", "fix of bus-2", "the dispatcher's op", "a tick, a layer"]
    for at, row in enumerate(rows):
        parts += [_box(20, 30 + at * 62, 170, 40), _text(105, 55 + at * 62, row, anchor="middle")]
    for at, (name, has) in enumerate([("shard 0", "bus-2, bus-5, …"), ("shard 1", "bus-7, bus-9, …")]):
        y = 20 + at * 84
        parts += [
            _box(400, y, 190, 64, "shard"),
            _text(495, y + 27, name, anchor="middle"),
            _text(495, y + 47, has, "small", "middle"),
        ]
    parts += [
        _box(400, 198, 190, 78, "slice"),
        _text(495, 225, "slice 0", anchor="middle"),
        _text(495, 245, "everyone; answers for", "small", "middle"),
        _text(495, 262, "pairs, nearest, the past", "small", "middle"),
    ]
    homes = {0: (136,), 1: (52,), 2: (52, 136), 3: (52, 136)}
    for at, targets in homes.items():
        parts += [f'<path class="way" d="M190 {50 + at * 62} L398 {y - 8 + at * 6}"/>' for y in targets]
        parts.append(f'<path class="way all" d="M190 {50 + at * 62} L398 {220 + at * 12}"/>')
    parts += [_box(690, 110, 150, 64), _text(765, 138, "notifications", anchor="middle")]
    parts.append(_text(765, 158, "Parquet, by day", "small", "middle"))
    parts += [f'<path class="way" d="M590 {y} L688 {to}"/>' for y, to in ((52, 128), (136, 142), (236, 156))]
    return _svg("Rows go to the shard that has their client, and to every slice", 860, 296, parts)


# ---- shared --------------------------------------------------------------------------------------------


def _svg(title: str, width: float, height: float, parts: Iterable[str]) -> str:
    box = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="system-ui, sans-serif" font-size="15">'
    ground = f'<rect class="bg" width="{width:.0f}" height="{height:.0f}"/>'
    return _lines([head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", ground, *parts, "</svg>", ""])


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(parts)


def _dot(x: float, y: float, radius: float, kind: str) -> str:
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'


def _box(x: int, y: int, width: int, height: int, kind: str = "") -> str:
    return f'<rect class="{f"box {kind}".strip()}" x="{x}" y="{y}" width="{width}" height="{height}"/>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    main()
