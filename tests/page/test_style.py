"""Whatever is written on the map's page can be read, in the light and in the dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nearcast

STYLE = (Path(nearcast.__file__).parent / "page" / "style.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[:2]
)
WRITTEN = [
    *((ink, paper) for ink in ("text", "muted", "accent") for paper in ("panel", "raised")),
    *((ink, "ground") for ink in ("text", "line-text", "zone", "place")),
    *((kind, f"{kind}-soft") for kind in ("enter", "leave", "warn")),
    *(("text", f"{kind}-soft") for kind in ("accent", "enter", "warn")),
    ("accent-text", "accent"),
    ("enter", "panel"),
    ("leave", "panel"),
    ("panel", "leave"),
]
DRAWN = ["mover", "inside", "me", "enter", "leave", "zone", "place", "staying", *(f"layer-{n}" for n in range(1, 7))]


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """As the Web Content Accessibility Guidelines measure it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, {**LIGHT, **DARK}], ids=["light", "dark"])
def test_contrast(colours: dict[str, str]) -> None:
    assert LIGHT.keys() == DARK.keys()
    text = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in WRITTEN}
    assert {pair: ratio for pair, ratio in text.items() if ratio < 4.5} == {}
    shapes = {name: contrast(colours[name], colours["ground"]) for name in DRAWN}
    assert {name: ratio for name, ratio in shapes.items() if ratio < 3} == {}
