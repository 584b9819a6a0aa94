from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import pytest

from lit_transformer.report.charts import curves, heat_maps, marks
from lit_transformer.report.html.run_sections import MOST_POINTS, thinned
from lit_transformer.report.runs import read_run, read_runs
from tests.report.making import make_run, steps_of


def specs(folder: Path) -> dict[str, dict[str, Any]]:
    runs = read_runs([make_run(folder / f"run/{n}", seed=n) for n in range(2)])
    pair = [{"first": "a", "second": "b", "value": 0.5, "shared": 3}]
    steps = [*steps_of("greedy", ["e:sa:1"], 1.0), *steps_of("random-1", ["e:sa:1"], 2.0)]
    differences = [{"arm": "pruned", "seed": 1, "difference": -0.5}, {"arm": "pruned", "lower": -1.0, "upper": 0.5}]
    return {
        "heat map": heat_maps.heat_map(runs[0].column("contribution"), 4),
        "matrix": heat_maps.matrix(pair, ["a", "b"], "Spearman"),
        "all runs": heat_maps.all_runs(runs, "criticality"),
        "losses": heat_maps.losses({"past": {"e:sa:1": 0.5, "d:ff:1": -0.1}}),
        "drops": marks.drops(runs[0], 0.5),
        "scatter": marks.scatter(runs[0]),
        "differences": marks.differences(differences, "continued"),
        "group ablation": curves.group_ablation(steps),
        "curves": curves.curves({"train/loss": [(1, 2.0), (2, 1.0)]}, "loss"),
    }


def test_every_chart_is_vega_lite_with_a_description_and_the_colours_of_the_page(tmp_path: Path) -> None:
    for name, spec in specs(tmp_path).items():
        alt.Chart.from_dict(spec, validate=True)
        assert "description" in str(spec), name
        assert "var(--" in str(spec), name


def test_a_cell_for_each_place_of_a_heat_map() -> None:
    rows = heat_maps.heat_map_rows({"e:sa:1": 0.25, "d:ff:2": 1.0})
    assert len(rows) == 2 * 5
    assert {row["component"]: row["text"] for row in rows if row["score"] is not None} == {
        "e:sa:1": "0.25",
        "d:ff:2": "1.00",
    }
    assert len(heat_maps.heat_map_rows({"e:sa:1": 0.25}, layers=6)) == 30


@pytest.mark.parametrize(("score", "step"), [(0.0, 0), (0.099, 0), (0.1, 1), (0.3, 3), (0.95, 9), (1.0, 9)])
def test_shades(score: float, step: int) -> None:
    [scale] = [
        layer["encoding"]["color"]["scale"]
        for layer in heat_maps.heat_map({"e:sa:1": score})["layer"]
        if layer["mark"]["type"] == "rect" and "color" in layer["encoding"]
    ]
    below = sum(score >= threshold for threshold in scale["domain"])
    assert scale["range"][below] == f"var(--heat-{step})"


def test_random_orders_become_a_mean_with_its_range() -> None:
    rows = [
        *steps_of("greedy", ["e:sa:1", "e:sa:2"], 0.5),
        *steps_of("random-1", ["e:sa:1", "e:sa:2"], 1.0),
        *steps_of("random-2", ["e:ff:1"], 3.0),
    ]
    points = [point for point in curves.group_ablation_rows(rows) if point["split"] == "validation"]
    greedy = [point for point in points if point["order"] == "greedy"]
    assert [point["bleu"] for point in greedy] == [30.0, 29.5, 29.0]
    assert [point["removed"] for point in greedy] == ["nothing", "e:sa:1", "e:sa:2"]
    # As far as all of them go.
    random = [point for point in points if point["order"] == "random, mean of 2"]
    assert [(point["bleu"], point["lowest"], point["highest"]) for point in random] == [(30, 30, 30), (28, 27, 29)]


def test_steps_without_bleu_are_no_error() -> None:
    [row] = steps_of("greedy", [], 1.0)
    spec = curves.group_ablation([row | {"validation_bleu": None, "test_bleu": ""}])
    assert all(layer.get("data", spec.get("data"))["values"] == [] for layer in spec["layer"])


def test_random_bands_of_two_splits_are_two() -> None:
    rows = [*steps_of("random-1", ["e:sa:1"], 1.0), *steps_of("random-2", ["e:ff:1"], 3.0)]
    [band] = [layer for layer in curves.group_ablation(rows)["layer"] if layer.get("mark", {}).get("type") == "area"]
    assert band["encoding"]["detail"]["field"] == "split"


@pytest.mark.parametrize(
    ("value", "colour"), [(-0.2, "var(--negative)"), (0.0, "var(--heat-0)"), (0.55, "var(--heat-5)")]
)
def test_below_zero_is_no_zero(value: float, colour: str) -> None:
    spec = heat_maps.matrix([{"first": "a", "second": "b", "value": value, "shared": 3}], ["a", "b"], "Spearman")
    [scale] = [layer["encoding"]["color"]["scale"] for layer in spec["layer"] if layer["mark"]["type"] == "rect"]
    assert scale["range"][sum(value >= threshold for threshold in scale["domain"])] == colour


def test_a_long_curve_is_thinned_to_its_end() -> None:
    points = [(step, float(step)) for step in range(100_000)]
    shown = thinned(points)
    assert len(shown) <= MOST_POINTS
    assert shown[-1] == points[-1]
    assert thinned(points[:300]) == points[:300]


def test_a_component_without_an_interval_has_a_mark(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", drops={"e:sa:1": 1.5}))
    del run.components[0]["drop_lower"], run.components[0]["drop_upper"]
    data = str(marks.drops(run, 0.5))
    assert "'lower': None, 'upper': None" in data
    assert "'drop': 1.5" in data
    assert "x2" not in data


@pytest.mark.parametrize(("most", "form"), [(0.43, ".0%"), (0.02, ".1%")])
def test_no_two_bounds_of_a_legend_read_the_same(most: float, form: str) -> None:
    spec = heat_maps.losses({"past": {"e:sa:1": most, "d:ff:1": -0.1}})
    colour = spec["encoding"]["color"]
    told = [format(max(bound, 0.0), form) for bound in colour["scale"]["domain"]]
    assert len(set(told)) == len(told) == 10
    assert form in colour["legend"]["labelExpr"]
    # The step below zero has no bound, but a name.
    assert "? 'gain' :" in colour["legend"]["labelExpr"]
