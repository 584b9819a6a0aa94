from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lit_transformer.analysis_config import analysis_config

ABOUT = {"weights": "w", "tokenizer": "t", "scoring_set": {"digest": "d"}, "signature": "s", "decoding": {"beam": 1}}
CONTRIBUTION = {"class_path": "callbacks.ContributionScore", "init_args": {"value": "zero"}}
MEAN = {"class_path": "callbacks.ContributionScore", "init_args": {"value": "mean"}}
LAYERS = {"class_path": "callbacks.LayerAblation", "init_args": {"count": 1}}
PRUNING = {"class_path": "callbacks.ComponentPruning", "init_args": {"count": 1}}
GONE = {"class_path": "mine.Scorer", "init_args": {}}
CHECKPOINT = Path("runs/demo/version_0/checkpoints/average.ckpt")


def write_analysis(folder: Path, callbacks: Any, **about: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {"format": 2, **ABOUT, **about, "components": [{"component": "d:sa:1"}]}
    (folder / "scores.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": callbacks}}), encoding="utf-8")


def callbacks_of(folder: Path, own: Any, **config: Any) -> Any:
    given = {"trainer": {"callbacks": own, "devices": 1}, **config}
    made = analysis_config(given, CHECKPOINT, {"pruned": ["d:sa:1"]}, folder, ABOUT)
    assert made["ckpt_path"] == str(CHECKPOINT)
    assert made["trainer"]["devices"] == 1
    return made["trainer"]["callbacks"]


@pytest.mark.parametrize(
    ("earlier", "own", "expected"),
    [
        ([CONTRIBUTION], [LAYERS], [CONTRIBUTION, LAYERS]),
        ([CONTRIBUTION, LAYERS], [CONTRIBUTION], [CONTRIBUTION, LAYERS]),
        ([CONTRIBUTION], [MEAN], [CONTRIBUTION, MEAN]),
        ([CONTRIBUTION, PRUNING, GONE], [LAYERS], [CONTRIBUTION, LAYERS]),
        (CONTRIBUTION, LAYERS, [CONTRIBUTION, LAYERS]),
        (None, [LAYERS], [LAYERS]),
        ("nonsense", [LAYERS], [LAYERS]),
    ],
)
def test_what_stands_in_the_scores_can_be_made_again(earlier: Any, own: Any, expected: Any, tmp_path: Path) -> None:
    write_analysis(tmp_path, earlier)
    assert callbacks_of(tmp_path, own) == expected


def test_scorers_of_other_components_would_score_those_of_now(tmp_path: Path) -> None:
    write_analysis(tmp_path, [CONTRIBUTION])
    assert callbacks_of(tmp_path, [LAYERS], components="e:ff:1") == [LAYERS]
    (tmp_path / "config.yaml").write_text(
        yaml.safe_dump({"components": "e:ff:1", "trainer": {"callbacks": [CONTRIBUTION]}}), encoding="utf-8"
    )
    assert callbacks_of(tmp_path, [LAYERS]) == [LAYERS]
    assert callbacks_of(tmp_path, [LAYERS], components="e:ff:1") == [CONTRIBUTION, LAYERS]


def test_the_scores_of_another_model_are_replaced(tmp_path: Path) -> None:
    write_analysis(tmp_path, [CONTRIBUTION], weights="others")
    assert callbacks_of(tmp_path, [LAYERS]) == [LAYERS]
    (tmp_path / "scores.json").write_text("nonsense")
    assert callbacks_of(tmp_path, [LAYERS]) == [LAYERS]


def test_scores_of_some_components_stand_in_a_folder_within(tmp_path: Path) -> None:
    write_analysis(tmp_path, [CONTRIBUTION])
    (tmp_path / "selected").mkdir()
    (tmp_path / "scores.json").rename(tmp_path / "selected/scores.json")
    assert callbacks_of(tmp_path, [LAYERS]) == [CONTRIBUTION, LAYERS]


def test_of_a_fit_only_its_scorers_are_left(tmp_path: Path) -> None:
    given = {
        "start_from": "runs/demo/version_0/checkpoints/last.ckpt",
        "model": {"pruned": None, "heads": 4},
        "trainer": {"callbacks": [PRUNING, CONTRIBUTION]},
    }
    made = analysis_config(given, CHECKPOINT, {"pruned": ["d:sa:1"], "heads": 4}, tmp_path, ABOUT)
    assert made["trainer"]["callbacks"] == [CONTRIBUTION]
    assert "start_from" not in made
    assert made["model"] == {"pruned": ["d:sa:1"], "heads": 4}
    assert given["model"] == {"pruned": None, "heads": 4}
