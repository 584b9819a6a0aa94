from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

import lit_transformer
from lit_transformer.errors import UserError
from lit_transformer.importance.score_table import ScoreTable
from lit_transformer.runs.score_checks import NUMBERS, SECTIONS
from lit_transformer.runs.scores import SCORES_FORMAT, differing, read_scores, shown_scores
from tests.report.making import scores_of

ROOT = Path(__file__).parents[2]
MISSING = object()


def content() -> dict[str, Any]:
    """What an analysis writes, with every section."""
    found = scores_of({"e:sa:1": 3.0, "d:ff:1": 1.0})
    return {**found, "correlations": {"contribution_and_criticality": 0.5}, "columns": {"contribution": ["drop"]}}


def put(where: str, value: Any) -> dict[str, Any]:
    """Put a value in place of another one, whose place is told as ``components.0.drop``."""
    changed = copy.deepcopy(content())
    inner: Any = changed
    *path, last = [int(name) if name.isdigit() else name for name in where.split(".")]
    for name in path:
        inner = inner[name]
    if value is MISSING:
        del inner[last]
    else:
        inner[last] = value
    return changed


def refused(folder: Path, text: str) -> str:
    """Return the line that all readers say of a file."""
    (folder / "scores.json").write_text(text, encoding="utf-8")
    (folder / "metrics.csv").touch()
    with pytest.raises(UserError) as told:
        read_scores(folder)
    for reader in (lit_transformer.load_scores, lambda folder: ScoreTable(folder, {})):
        with pytest.raises(UserError, match=re.escape(str(told.value))):
            reader(folder)
    assert "\n" not in str(told.value)
    return str(told.value)


def test_what_an_analysis_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(json.dumps(content()))
    (tmp_path / "metrics.csv").touch()
    assert read_scores(tmp_path) == read_scores(tmp_path / "scores.json") == shown_scores(tmp_path) == content()
    assert list(lit_transformer.load_scores(tmp_path).to_pandas().index) == ["e:sa:1", "d:ff:1"]


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("value", [[], "x", 3, None])
def test_a_section_that_is_no_object(tmp_path: Path, section: str, value: Any) -> None:
    assert f"{section} is no object" in refused(tmp_path, json.dumps({**content(), section: value}))


@pytest.mark.parametrize("column", NUMBERS)
def test_a_column_that_is_no_number(tmp_path: Path, column: str) -> None:
    values: list[Any] = ["abc", [], True]
    for value in values:
        text = json.dumps(put(f"components.0.{column}", value))
        assert f"{column} of e:sa:1 is {value!r}, no number" in refused(tmp_path, text)


@pytest.mark.parametrize("where", ["components.1.drop", "components.0.contribution", "baseline.bleu", "data.x"])
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
def test_a_number_that_is_not_finite(tmp_path: Path, where: str, value: str) -> None:
    text = json.dumps(put(where, "HERE")).replace('"HERE"', value)
    assert "is no finite number" in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("components", [], "there is no component"),
        ("components", {}, "components is no list"),
        ("components.0", "x", "one of components is no object"),
        ("components.0.component", "zz:1", "'zz:1' is no component"),
        ("components.0.component", "d:sa:x", "'d:sa:x' is no component"),
        ("components.0.component", "d:ff:1", "a component has two rows"),
        ("components.0.component", MISSING, "None is no component"),
        ("components.0.drop", None, "drop of e:sa:1 is None"),
        ("group_ablation.rows", "x", "rows of group_ablation is no list"),
        ("group_ablation.rows", ["x"], "one of rows of group_ablation is no object"),
        ("group_ablation.rows.1.component", MISSING, "component of a row of group_ablation is None"),
        ("group_ablation.rows.1.component", ["x"], "component of a row of group_ablation is ['x']"),
        ("group_ablation.rows.1.validation_drop", "x", "validation_drop of a row of group_ablation is 'x'"),
        ("group_ablation.rows.1.test_bleu", "x", "test_bleu of a row of group_ablation is 'x'"),
        ("layer_ablation.rows", {}, "rows of layer_ablation is no list"),
        ("layer_ablation.rows.1.components", [1], "components of a row of layer_ablation is no list of names"),
        ("correlations.contribution_and_criticality", "x", "contribution_and_criticality of correlations is 'x'"),
        ("scoring_set.sample_of", "x", "sample_of of scoring_set is 'x'"),
        ("scoring_set.sentences", 1.5, "sentences of scoring_set is 1.5"),
        ("baseline.bleu", "x", "bleu of baseline is 'x'"),
        ("criticality.epsilon", "x", "epsilon of criticality is 'x'"),
        ("columns.contribution", "drop", "columns of contribution is no list of names"),
    ],
)
def test_what_means_nothing(tmp_path: Path, where: str, value: Any, message: str) -> None:
    told = refused(tmp_path, json.dumps(put(where, value)))
    assert message in told
    assert "remove it and analyze again" in told


@pytest.mark.parametrize("depth", [30, 800, 100_000])
@pytest.mark.parametrize("brackets", ["[]", ('{"a":', "}")])
def test_a_file_nested_deep(tmp_path: Path, depth: int, brackets: tuple[str, str]) -> None:
    nested = brackets[0] * depth + "1" + brackets[1] * depth
    told = refused(tmp_path, json.dumps(put("data.x", "HERE")).replace('"HERE"', nested))
    assert "it is nested too deep" in told


def test_that_of_a_newer_program_is_not_to_be_replaced(tmp_path: Path) -> None:
    told = refused(tmp_path, json.dumps({"format": SCORES_FORMAT + 1, "components": "elsewhere"}))
    expected = f"has format {SCORES_FORMAT + 1}, this version reads up to {SCORES_FORMAT}; install a newer"
    assert told.endswith(f"{expected} lit-transformer.")
    assert "analyze again" not in told


def test_every_documented_column_of_numbers_is_checked() -> None:
    text = (ROOT / "docs/files.md").read_text(encoding="utf-8")
    table = text.partition("## `scores.csv`")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    kinds = {name: row[1] for row in rows for name in re.findall(r"`([^`]+)`", row[0])}
    told = {name for name, kind in kinds.items() if kind not in ("id", "text", "boolean") and "<" not in name}
    assert told - {"kind"} == {name for name in NUMBERS if not name.startswith("mean_")}


def test_no_scores(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no scores in .*; run `lit-transformer analyze` first"):
        read_scores(tmp_path)
    assert read_scores(tmp_path, missing_ok=True) == {}
    (tmp_path / "scores.json").write_text("{")
    with pytest.raises(UserError, match="holds no scores that can be read"):
        read_scores(tmp_path, missing_ok=True)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("baseline", {}, "bleu of baseline is None"),
        ("scoring_set.split", MISSING, "split of scoring_set is None"),
        ("components.0.component", "e:sa:1001", "e:sa:1001 is no component"),
        ("components.0.contribution", 1.5, "contribution of e:sa:1 is 1.5, not from 0 to 1"),
        ("components.0.own_drop", "x", "own_drop of e:sa:1 is no number"),
        ("components.0.own", [], "own of e:sa:1 is no number"),
        ("components.0.drop", 1e15, "drop holds 1000000000000000.0, which is no number that can be shown"),
        ("group_ablation.rows.1.parameters_removed", MISSING, "parameters_removed of a row of group_ablation is None"),
        ("layer_ablation.rows.1.validation_bleu", "x", "validation_bleu of a row of layer_ablation is 'x'"),
        ("contribution.exact_match", [], "exact_match is no object"),
        ("contribution.exact_match.baseline", 3, "exact_match of baseline is no object"),
        ("contribution.exact_match.baseline.past", "x", "exact_match of baseline holds 'x'"),
    ],
)
def test_scores_that_only_a_report_refuses(tmp_path: Path, where: str, value: Any, message: str) -> None:
    (tmp_path / "scores.json").write_text(json.dumps(put(where, value)))
    assert read_scores(tmp_path)
    with pytest.raises(UserError, match=f"scores.json' can't be shown: {re.escape(message)}; remove it and analyze"):
        shown_scores(tmp_path)


def test_what_scores_rest_on(tmp_path: Path) -> None:
    about = {name: value for name, value in content().items() if name != "format"}
    assert differing(content(), about) == []
    assert differing({**content(), "format": 1, "weights": "other"}, about) == ["format", "weights"]
