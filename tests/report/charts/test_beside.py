from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from lit_transformer.report.charts import marks
from lit_transformer.report.charts.beside import APART, HIDDEN, MOST, Place, beside, reach
from lit_transformer.report.html.run_sections import run_sections
from lit_transformer.report.pictures import run_pictures
from lit_transformer.report.runs import read_run
from tests.report.making import component_rows, make_run


def nearest(places: list[Place]) -> float:
    """The distance of the nearest two, in the units of `APART`."""
    scaled = [(x / APART[0], y / APART[1]) for x, y in places]
    return min(math.dist(one, other) for one, other in itertools.combinations(scaled, 2))


def test_marks_that_hide_none_stay() -> None:
    places = {"a": (0.0, 0.0), "b": (0.1 + 0.2, 1.0), "c": (0.1, 0.0)}
    assert beside(places) == places
    assert reach(places.values()) == [(-0.02, 1.02), (-0.035, 1.035)]


@pytest.mark.parametrize("count", [2, 7, 30, 200])
def test_marks_at_one_place_stand_around_it(count: int) -> None:
    places = {f"d:ff:{n}": (0.0, 0.0) for n in range(count)} | {"e:sa:1": (0.05, 0.0), "e:sa:2": (1.0, 1.0)}
    drawn = beside(places)
    assert nearest(list(drawn.values())) >= HIDDEN
    assert drawn["d:ff:0"] == (0.0, 0.0)
    assert {name: drawn[name] for name in ("e:sa:1", "e:sa:2")} == {"e:sa:1": (0.05, 0.0), "e:sa:2": (1.0, 1.0)}
    # As near as they can be: rings of six, twelve ... hold all of them, and those that found a place taken.
    farthest = max(math.dist((0, 0), (x / APART[0], y / APART[1])) for name, (x, y) in drawn.items() if "d:ff" in name)
    assert farthest <= math.sqrt(count / 3) + 2
    assert beside(places) == drawn
    (left, right), (low, high) = reach(drawn.values())
    assert all(left < x < right and low < y < high for x, y in drawn.values())


def test_too_many_stay_where_they_are() -> None:
    places = {str(n): (0.0, 0.0) for n in range(MOST + 1)}
    assert beside(places) == places


def test_page_and_picture_show_every_component(tmp_path: Path) -> None:
    rows = component_rows({f"{kind}:{layer}": 0.0 for kind in ("e:ff", "d:ff") for layer in range(1, 7)})
    rows = [row | {"contribution": 0.0, "criticality": 0.0} for row in rows]
    run = read_run(make_run(tmp_path / "run", drops={"e:ff:1": 0.1}, components=rows))
    shown = marks.scatter(run)["data"]["values"]
    assert nearest([(mark["across"], mark["up"]) for mark in shown]) >= 0.99
    assert {(mark["contribution"], mark["criticality"]) for mark in shown} == {(0.0, 0.0)}
    tooltip = marks.scatter(run)["encoding"]["tooltip"]
    assert [each["field"] for each in tooltip] == ["component", "contribution", "criticality"]
    [section] = [each for each in run_sections(run) if each.key == "agreement"]
    assert "side by side" in section.figures[0].note
    [path] = [path for path in run_pictures(run, tmp_path) if path.name == "scatter.svg"]
    text = path.read_text(encoding="utf-8")
    assert text.count("component: ") == len(rows)
    assert "side by side" in text
