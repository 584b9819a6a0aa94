"""A foreign file is told of in a line, wherever it is wrong, and nothing else is lost by it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lit_transformer.report.html.page import page
from lit_transformer.report.html.run_sections import examples_section, run_sections
from lit_transformer.report.html.summary import run_summary
from lit_transformer.report.runs import read_run
from tests.report.making import make_run

FOREIGN: list[Any] = [None, "text", [], [1], {}, {"a": 1}, -1, 10**400, float("nan"), True]


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Each place in nested content; of a list the first element stands for all."""
    if path:
        yield path
    children = (
        content.items() if isinstance(content, dict) else enumerate(content[:1]) if isinstance(content, list) else ()
    )
    for key, each in children:
        yield from places(each, (*path, key))


def with_value(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    changed = copy.deepcopy(content)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


@pytest.mark.parametrize("name", ["scores.json", "examples.json"])
def test_any_wrong_value_anywhere(name: str, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", (1, 1))
    path = folder / "analysis" / "average" / name
    content = json.loads(path.read_text(encoding="utf-8"))
    found = list(places(content))
    assert len(found) > 15
    refused = 0
    for number, place in enumerate(found):
        # All values in all places would take a minute; neighbours get the others.
        for value in FOREIGN[number % len(FOREIGN) :][:1]:
            path.write_text(json.dumps(with_value(content, place, value)), encoding="utf-8")
            run = read_run(folder)
            refused += run.analysis is None or not run.examples
            sections = run_sections(run) if name == "scores.json" else [examples_section(run)]
            for section in sections:
                # What a template does with them.
                assert section.title
                json.dumps([figure.spec for figure in section.figures], allow_nan=False)
            assert run_summary(run)
            assert run.analysis is not None or run.problems
    assert refused > len(found) / 4


def test_what_is_refused_is_named(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", baseline={"sentences": 500})
    run = read_run(folder)
    assert run.analysis is None
    assert "can't be shown: bleu of baseline is None; remove it and analyze again" in run.problems[0]
    assert "can&#39;t be shown" in page("run", run_summary(run), run.problems, list(run_sections(run)))


def test_components_that_were_not_decoded_to_their_end_show_no_phenomenon(tmp_path: Path) -> None:
    """As in scores of versions that decided some of them early."""
    shares = {"baseline": {"past": 0.5}, "e:sa:1": {}}
    run = read_run(make_run(tmp_path / "run", contribution={"cap": 0.1, "exact_match": shares}))
    assert "phenomena" not in [section.key for section in run_sections(run)]


def test_nothing_is_lost_in_any_phenomenon(tmp_path: Path) -> None:
    shares = {"baseline": {"past": 0.5}, "e:sa:1": {"past": 0.75}}
    run = read_run(make_run(tmp_path / "run", contribution={"cap": 0.1, "exact_match": shares}))
    [section] = [section for section in run_sections(run) if section.key == "phenomena"]
    domain = str(section.figures[0].spec).partition("'domain': [")[2].partition("]")[0]
    thresholds = [float(each) for each in domain.split(",")]
    assert thresholds == sorted(set(thresholds))


def test_half_a_character_can_be_written(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path / "run", sentence="ok"))
    run.examples["most"]["sentences"][0]["source"] = "\ud83d"
    assert page("run", [], [], list(run_sections(run))).encode("utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "model: foo\ntrainer: 5\n"),
        ("config.yaml", "- 1\n"),
        ("config.yaml", "a: b: c"),
        ("metrics.csv", 'step,epoch,metric,value,time\n1,0,"train/loss,2.0,1.0\n' + "x" * 200_000),
        ("metrics.csv", "step,epoch,metric,value,time\n1,0,train/loss,nan,1.0\n2,0,train/loss,inf,1.0\n"),
        ("metrics.csv", "\0\0\0"),
    ],
)
def test_other_files(name: str, text: str, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    (folder / name).write_text(text)
    run = read_run(folder)
    for section in run_sections(run):
        json.dumps([figure.spec for figure in section.figures], allow_nan=False)
    assert run.column("drop")
