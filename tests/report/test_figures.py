from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib import colormaps, image

from lit_transformer.components import component_ids
from lit_transformer.report.figures import _ink_on, heat_map

SIX_LAYERS = {name: place / 29 for place, name in enumerate(component_ids(6, 6))}


def texts(path: Path) -> list[tuple[str, float, float]]:
    """Every text of an SVG with the place of its anchor in points; y grows downwards."""
    found = []
    for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text"):
        place = re.search(r"rotate\(\S+ (\S+) (\S+)\)", element.get("transform", ""))
        assert place is not None
        found.append((str(element.text), float(place[1]), float(place[2])))
    return found


def cells(path: Path) -> dict[str, str]:
    """The text in each cell, found by the axis labels that it stands above and beside."""
    everything = texts(path)
    columns = {text.lower(): x for text, x, _ in everything if re.fullmatch(r"[ED]:(SA|EA|FF)", text)}
    rows = {text: y for text, _, y in everything if re.fullmatch(r"\d+", text)}
    inside = [(text, x, y) for text, x, y in everything if re.fullmatch(r"\d\.\d\d|n/a", text)]
    inside = [each for each in inside if each[1] < max(columns.values()) + 30]
    return {
        f"{kind}:{layer}": text
        for text, x, y in inside
        for kind, column in columns.items()
        for layer, row in rows.items()
        if abs(x - column) < 1 and abs(y - row) < 3
    }


def draw(scores: dict[str, float], path: Path) -> Path:
    heat_map(scores, path, title="Contribution", subtitle="baseline 27.50 BLEU", score="contribution")
    return path


def test_each_value_stands_in_its_layer_and_column(tmp_path: Path) -> None:
    path = draw(SIX_LAYERS, tmp_path / "new folder" / "map.svg")
    assert cells(path) == {name: f"{value:.2f}" for name, value in SIX_LAYERS.items()}
    shown = {text: (x, y) for text, x, y in texts(path)}
    assert shown["6"][1] < shown["5"][1] < shown["1"][1]
    assert shown["E:SA"][0] < shown["E:FF"][0] < shown["D:SA"][0] < shown["D:EA"][0] < shown["D:FF"][0]
    assert {"Contribution", "baseline 27.50 BLEU", "contribution (1: most important)"} <= shown.keys()


def test_components_that_do_not_exist_are_no_zeros(tmp_path: Path) -> None:
    scores = dict.fromkeys(component_ids(3, 2), 0.0)
    del scores["d:ea:1"]
    shown = cells(draw(scores, tmp_path / "map.svg"))
    holes = {"d:ea:1", "d:sa:3", "d:ea:3", "d:ff:3"}
    assert {name for name, text in shown.items() if text == "n/a"} == holes
    assert {name for name, text in shown.items() if text == "0.00"} == set(scores)
    full = draw(dict.fromkeys(component_ids(2, 2), 0.0), tmp_path / "full.svg").read_text()
    assert "n/a" not in full


@pytest.mark.parametrize("layers", [1, 2, 24])
def test_any_depth(layers: int, tmp_path: Path) -> None:
    scores = dict.fromkeys(component_ids(layers, layers), 0.5)
    assert cells(draw(scores, tmp_path / "map.svg")) == dict.fromkeys(scores, "0.50")


def test_picture_has_the_colours_of_a_fixed_scale(tmp_path: Path) -> None:
    # All scores low: the darkest colour of the scale must not appear in a cell.
    pixels = image.imread(draw(dict.fromkeys(component_ids(6, 6), 0.2), tmp_path / "map.png"))[..., :3]
    assert pixels.shape[1] == 1280
    pale = abs(pixels - colormaps["Blues"](0.2)[:3]).max(axis=-1) < 0.01
    dark = abs(pixels - colormaps["Blues"](1.0)[:3]).max(axis=-1) < 0.01
    assert pale.mean() > 0.4
    assert dark.mean() < 0.01


def test_every_value_can_be_read_on_its_colour() -> None:
    def luminance(colour: tuple[float, ...]) -> float:
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    shades = [tuple(colormaps["Blues"](score / 100)[:3]) for score in range(101)]
    # In grey: steadily darker.
    assert [luminance(shade) for shade in shades] == sorted(map(luminance, shades), reverse=True)
    for shade in shades:
        lighter, darker = sorted((luminance(shade), float(_ink_on(shade) == "white")), reverse=True)
        # WCAG 2.1, level AA.
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def test_same_scores_give_the_same_bytes(tmp_path: Path) -> None:
    for suffix in (".png", ".svg"):
        first, second = (draw(SIX_LAYERS, tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
        assert first == second


@pytest.mark.parametrize(
    ("scores", "name", "message"),
    [
        ({"e:sa:1": math.nan}, "map.png", "score of e:sa:1 is nan"),
        ({"e:sa:1": 0.5, "e:ff:1": 1.5}, "map.png", r"score of e:ff:1 is 1\.5"),
        ({"e:sa:1": -0.1}, "map.png", "score of e:sa:1"),
        ({}, "map.png", "no scores"),
        ({"e:sa:1": 0.5}, "map.gif", r"'map\.gif'; the name has to end in \.png or \.svg"),
    ],
)
def test_what_cannot_be_drawn_leaves_no_file(scores: dict[str, float], name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        draw(scores, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_importing_the_module_does_not_import_matplotlib() -> None:
    check = "import sys, lit_transformer.report.figures; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
