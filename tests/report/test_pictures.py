"""Pictures that an analysis writes: what stands in which cell, in which colour, and that they need nothing else."""

from __future__ import annotations

import io
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image

from lit_transformer.components import component_ids
from lit_transformer.report.charts.rendering import light_colours, standalone, write_picture
from lit_transformer.report.charts.vega import STEPS
from lit_transformer.report.pictures import group_ablation_curve, heat_map, runs_pictures
from lit_transformer.report.runs import read_runs
from tests.report.charts.test_charts import specs
from tests.report.making import make_run

SIX_LAYERS = {name: place / 29 for place, name in enumerate(component_ids(6, 6))}
SVG = "{http://www.w3.org/2000/svg}"


def texts(path: Path) -> list[str]:
    """Every text of an SVG, line by line."""
    return [line for element in ElementTree.parse(path).iter(f"{SVG}text") for line in element.itertext()]


def cells(path: Path) -> dict[str, tuple[str, float, float]]:
    """The text in each cell of a heat map and its place in pixels of its panel; y grows downwards."""
    found = {}
    for element in ElementTree.parse(path).iter(f"{SVG}text"):
        if component := re.search("component: ([^;]+)", element.get("aria-label", "")):
            place = re.fullmatch(r"translate\(([\d.]+),([\d.]+)\)", element.get("transform", ""))
            assert place is not None
            found[component[1]] = (str(element.text), float(place[1]), float(place[2]))
    return found


def shades(path: Path) -> dict[str, str]:
    """The colour of each cell of a heat map."""
    found = {}
    for element in ElementTree.parse(path).iter(f"{SVG}path"):
        if component := re.search("component: ([^;]+)", element.get("aria-label", "")):
            assert component[1] not in found
            found[component[1]] = element.get("fill", "")
    return found


def draw(scores: dict[str, float], path: Path) -> Path:
    heat_map(scores, path, title="Contribution", subtitle="baseline 27.50 BLEU", score="contribution")
    return path


def test_each_value_stands_in_its_layer_and_column(tmp_path: Path) -> None:
    path = draw(SIX_LAYERS, tmp_path / "new folder" / "map.svg")
    shown = cells(path)
    assert {name: text for name, (text, _, _) in shown.items()} == {
        name: f"{value:.2f}" for name, value in SIX_LAYERS.items()
    }
    heights = [shown[f"e:sa:{layer}"][2] for layer in range(1, 7)]
    assert heights == sorted(heights, reverse=True)
    across = [shown[f"{kind}:1"][1] for kind in ("e:sa", "e:ff", "d:sa", "d:ea", "d:ff")]
    assert across == sorted(across)
    assert {(name[-1], y) for name, (_, _, y) in shown.items()} == {(str(n), y) for n, y in enumerate(heights, 1)}
    assert {(name[:4], x) for name, (_, x, _) in shown.items()} == set(
        zip(("e:sa", "e:ff", "d:sa", "d:ea", "d:ff"), across, strict=True)
    )
    told = {"Contribution", "baseline 27.50 BLEU", "contribution (1: most important)", "layer", "e:sa", "d:ff"}
    assert told <= set(texts(path))
    assert "ea: attention to the encoder" in " ".join(texts(path))


def test_components_that_do_not_exist_are_no_zeros(tmp_path: Path) -> None:
    scores = dict.fromkeys(component_ids(3, 2), 0.0)
    del scores["d:ea:1"]
    path = draw(scores, tmp_path / "map.svg")
    holes = {"d:ea:1", "d:sa:3", "d:ea:3", "d:ff:3"}
    assert {name for name, (text, _, _) in cells(path).items() if text == "–"} == holes
    assert {name for name, (text, _, _) in cells(path).items() if text == "0.00"} == set(scores)
    colours = light_colours()
    assert {name for name, shade in shades(path).items() if shade == colours["--hole"]} == holes
    assert {shade for name, shade in shades(path).items() if name not in holes} == {colours["--heat-0"]}
    assert "not in the model" in " ".join(texts(path))
    assert "not in the model" not in " ".join(texts(draw(SIX_LAYERS, tmp_path / "full.svg")))


@pytest.mark.parametrize("layers", [1, 2, 24])
def test_any_depth(layers: int, tmp_path: Path) -> None:
    scores = dict.fromkeys(component_ids(layers, layers), 0.5)
    shown = cells(draw(scores, tmp_path / "map.svg"))
    assert {name: text for name, (text, _, _) in shown.items()} == dict.fromkeys(scores, "0.50")


def test_picture_has_the_colours_of_a_fixed_scale(tmp_path: Path) -> None:
    # All scores low: the darkest colour of the scale must not appear in a cell.
    path = draw(dict.fromkeys(component_ids(6, 6), 0.2), tmp_path / "map.png")
    image = Image.open(path).convert("RGB")
    assert image.width > 1100
    counts = {colour: count for count, colour in image.getcolors(maxcolors=1 << 24) or ()}

    def share(name: str) -> float:
        colour = light_colours()[name]
        return counts.get(tuple(bytes.fromhex(colour[1:])), 0) / (image.width * image.height)

    assert share("--heat-2") > 0.4
    # The legend's.
    assert 0 < share("--heat-9") < 0.01


def test_every_value_can_be_read_on_its_colour() -> None:
    def luminance(colour: str) -> float:
        parts = [part / 255 for part in bytes.fromhex(colour[1:])]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    colours = light_colours()
    shades = [luminance(colours[f"--heat-{step}"]) for step in range(STEPS)]
    # In grey: steadily darker.
    assert shades == sorted(shades, reverse=True)
    for step, shade in enumerate(shades):
        lighter, darker = sorted((shade, luminance(colours[f"--heat-ink-{step}"])), reverse=True)
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


def test_importing_the_module_starts_no_engine() -> None:
    check = "import sys, lit_transformer.report.pictures; sys.exit(bool({'altair', 'vl_convert'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_forked_process_draws_too(tmp_path: Path) -> None:
    """A run on several processes may be forked from one that has drawn already, as those of a notebook are."""
    before = draw(SIX_LAYERS, tmp_path / "before.svg").read_bytes()
    child = os.fork()
    if child == 0:
        # The engine of its parent would let it wait for ever.
        signal.alarm(60)
        draw(SIX_LAYERS, tmp_path / "forked.svg")
        draw(SIX_LAYERS, tmp_path / "forked.png")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / "forked.svg").read_bytes() == before
    assert (tmp_path / "forked.png").read_bytes() == draw(SIX_LAYERS, tmp_path / "before.png").read_bytes()


def test_a_picture_needs_no_page(tmp_path: Path) -> None:
    for name, chart in specs(tmp_path / "runs").items():
        path = tmp_path / f"{name}.svg"
        write_picture(chart, path, title=f"A title of {name} <b>", subtitle="Where it is from\nHow to read it")
        drawn = path.read_text(encoding="utf-8")
        assert "var(--" not in drawn, name
        assert "https:" not in drawn, name
        assert {f"A title of {name} <b>", "Where it is from", "How to read it"} <= set(texts(path)), name
        assert light_colours()["--page"] in drawn


def test_a_picture_is_as_wide_as_its_chart_says(tmp_path: Path) -> None:
    chart = specs(tmp_path)["matrix"]
    assert standalone(chart, "title")["width"] == chart["width"] == {"step": 46}


def test_a_long_title_is_whole(tmp_path: Path) -> None:
    words = [f"word{n}" for n in range(60)]
    path = tmp_path / "map.svg"
    heat_map({"e:sa:1": 0.5}, path, title=" ".join(words), subtitle=" ".join(reversed(words)))
    drawn = " ".join(texts(path))
    assert all(drawn.count(f"{word} ") + drawn.endswith(word) >= 2 for word in words[1:-1])


def test_long_names_of_runs_keep_both_ends(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"{'x' * 60}-{n}" / "version_0", (1, 1), seed=n) for n in range(2)]
    runs_pictures(read_runs(runs), tmp_path / "out")
    titles = [text for text in texts(tmp_path / "out" / "contribution.svg") if "…" in text]
    assert len(titles) == 2
    assert [title.endswith(f"-{n}/version_0") for n, title in enumerate(titles)] == [True, True]
    assert all(len(title) <= 40 for title in titles)


def order(name: str, *bleu: float, test: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "order": name,
            "step": step,
            "component": f"d:sa:{step}" if step else "",
            "validation_bleu": value,
            "test_bleu": value - 1 if test else "",
        }
        for step, value in enumerate(bleu)
    ]


def test_a_line_per_order_and_split(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    rows = [*order("greedy", 30, 29.5, 27), *order("random-1", 30, 20, 10), *order("random-2", 30, 25)]
    group_ablation_curve(rows, path, subtitle="average.ckpt")
    shown = texts(path)
    assert {"greedy", "random, mean of 2", "validation", "test", "average.ckpt", "BLEU"} <= set(shown)
    assert "d:sa:1" not in shown
    drawn = path.read_text(encoding="utf-8")
    lines = drawn.count('aria-roledescription="line mark"')
    assert (lines, drawn.count('stroke-dasharray="5,3"') >= 2) == (4, True)


def test_a_single_order_names_its_components(tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    group_ablation_curve(order("greedy", 30, 29.5, 27, test=False), path)
    shown = "\n".join(texts(path))
    assert "d:sa:1" in shown
    assert "d:sa:2" in shown
    assert "validation" in shown
    assert "test" not in shown


@pytest.mark.parametrize(("bleu", "from_zero"), [((30.0, 29.5, 29.0), False), ((30.0, 20.0, 5.0), True)])
def test_small_losses_can_be_seen(bleu: tuple[float, ...], from_zero: bool, tmp_path: Path) -> None:
    path = tmp_path / "curve.svg"
    group_ablation_curve([*order("greedy", *bleu), *order("contribution", *bleu)], path)
    # The labels of the axes: the number of removed components is 0 to 2.
    labels = [float(text) for text in texts(path) if re.fullmatch(r"\d+(\.\d+)?", text)]
    assert (labels.count(0) == 2) is from_zero
    assert from_zero or min(label for label in labels if label > 2) >= 27


def test_no_curve_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no curve"):
        group_ablation_curve([], tmp_path / "curve.png")


def test_a_picture_can_be_read_by_wandb(tmp_path: Path) -> None:
    content = draw({"e:sa:1": 0.5}, tmp_path / "map.png").read_bytes()
    assert Image.open(io.BytesIO(content)).format == "PNG"
