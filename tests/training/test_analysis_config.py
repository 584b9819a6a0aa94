from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lit_transformer.structure import Structure
from lit_transformer.training.analysis_config import analysis_config

ABOUT = {"weights": "w", "tokenizer": "t", "scoring_set": {"digest": "d"}, "signature": "s", "decoding": {"beam": 1}}
CONTRIBUTION = {"class_path": "callbacks.ContributionScore", "init_args": {"value": "zero"}}
MEAN = {"class_path": "callbacks.ContributionScore", "init_args": {"value": "mean"}}
LAYERS = {"class_path": "callbacks.LayerAblation", "init_args": {"count": 1}}
PRUNING = {"class_path": "callbacks.ComponentPruning", "init_args": {"count": 1}}
STRUCTURE = Structure(encoder_layers=1, decoder_layers=2, heads=4, pruned=("d:sa:1",))
GONE = {"class_path": "mine.Scorer", "init_args": {}}
CHECKPOINT = Path("runs/demo/version_0/checkpoints/average.ckpt")


def write_analysis(folder: Path, callbacks: Any, **about: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {"format": 2, **ABOUT, **about, "components": [{"component": "d:sa:1"}]}
    (folder / "scores.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "config.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": callbacks}}), encoding="utf-8")


def callbacks_of(folder: Path, own: Any, **config: Any) -> Any:
    given = {"trainer": {"callbacks": own, "devices": 1}, **config}
    made = analysis_config(given, CHECKPOINT, STRUCTURE, folder, ABOUT)
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


def scorer(name: str, **arguments: Any) -> dict[str, Any]:
    return {"class_path": f"callbacks.{name}", "init_args": arguments}


HALF, MORE = scorer("ContributionScore", epsilon=0.5), scorer("ContributionScore", epsilon=1.5)
MOVED = [scorer("CriticalityScore", epsilon=epsilon) for epsilon in (0.5, 1.5)]
BY_CRITICALITY = scorer("GroupAblation", order="criticality")
SOME = [scorer("ContributionScore", components=[name]) for name in ("d:sa", "d:ff")]
RANDOM = [scorer("GroupAblation", order="random", seeds=seeds) for seeds in ([1, 2], [1])]


@pytest.mark.parametrize(
    ("analyses", "left"),
    [
        # The last one's scores stand there, however often they were made otherwise in between.
        ([[HALF], [MORE]], [MORE]),
        ([[HALF], [MORE], [HALF]], [HALF]),
        ([[MOVED[0]], [MOVED[1]], [MOVED[0]]], [MOVED[0]]),
        ([[scorer("LayerAblation", count=1)], [LAYERS], [HALF]], [LAYERS, HALF]),
        ([[HALF], [LAYERS], [MORE]], [LAYERS, MORE]),
        ([[HALF, LAYERS], [MORE, LAYERS]], [LAYERS, MORE]),
        ([[scorer("GroupAblation", k=1)], [scorer("GroupAblation", k=2)]], [scorer("GroupAblation", k=2)]),
        # What stands beside each other is all made again.
        ([[HALF], [MEAN], [MORE]], [MEAN, MORE]),
        ([[MOVED[0]], [scorer("CriticalityScore", variant="rerandomize")]], None),
        ([[scorer("GroupAblation", order="greedy")], [BY_CRITICALITY], [RANDOM[0]], [RANDOM[1]]], None),
        ([[RANDOM[0]], [scorer("GroupAblation", order="random", matched=True, seeds=[1, 2])]], None),
        ([[HALF], [SOME[0]]], None),
        ([[SOME[0]], [SOME[1]]], [SOME[1]]),
        ([[scorer("ContributionScore", components=["*"])], [HALF]], [HALF]),
        # An order was made from the scores that stood there then.
        ([[MOVED[0], BY_CRITICALITY], [MOVED[1]]], [MOVED[0], BY_CRITICALITY, MOVED[1]]),
        ([[MOVED[0], BY_CRITICALITY], [MOVED[1]], [MOVED[0]]], [MOVED[0], BY_CRITICALITY, MOVED[0]]),
        ([[MOVED[0], BY_CRITICALITY], [MOVED[1], BY_CRITICALITY]], [MOVED[1], BY_CRITICALITY]),
        ([[MOVED[0], BY_CRITICALITY], [MOVED[0]]], [MOVED[0], BY_CRITICALITY]),
        ([[MOVED[0], BY_CRITICALITY], [MOVED[0], BY_CRITICALITY]], [MOVED[0], BY_CRITICALITY]),
    ],
)
def test_made_again_they_end_as_they_stand(analyses: Any, left: Any, tmp_path: Path) -> None:
    (tmp_path / "selected").mkdir()
    write_analysis(tmp_path / "selected", None)
    found = None
    for own in analyses:
        write_analysis(tmp_path, found)
        found = callbacks_of(tmp_path, own)
    assert found == ([entry for own in analyses for entry in own] if left is None else left)


def test_what_another_class_of_the_users_own_wrote_is_not_known(tmp_path: Path) -> None:
    """Such a one is replaced by the very same only."""
    mine = [{"class_path": f"{__name__}.Mine", "init_args": {"size": size}} for size in (1, 2)]
    write_analysis(tmp_path, [HALF, mine[0]])
    assert callbacks_of(tmp_path, [mine[1]]) == [HALF, *mine]
    assert callbacks_of(tmp_path, [MORE]) == [HALF, mine[0], MORE]
    assert callbacks_of(tmp_path, [mine[0]]) == [HALF, mine[0]]


class Mine:
    """A scorer of the user's own."""

    def on_analyze(self, *_: Any) -> None:
        """Score nothing."""


def test_of_each_folder_the_scores_must_be_of_the_same_sentences(tmp_path: Path) -> None:
    write_analysis(tmp_path, [HALF, SOME[0]], scoring_set={"digest": "another"})
    write_analysis(tmp_path / "selected", None)
    assert callbacks_of(tmp_path, [LAYERS]) == [SOME[0], LAYERS]


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
    write_analysis(tmp_path, [CONTRIBUTION, SOME[0]])
    (tmp_path / "selected").mkdir()
    (tmp_path / "scores.json").rename(tmp_path / "selected/scores.json")
    assert callbacks_of(tmp_path, [LAYERS]) == [SOME[0], LAYERS]


def test_of_a_fit_only_its_scorers_are_left(tmp_path: Path) -> None:
    given = {
        "start_from": "runs/demo/version_0/checkpoints/last.ckpt",
        "model": {"pruned": None, "heads": 8, "dropout": 0.5},
        "trainer": {"callbacks": [PRUNING, CONTRIBUTION]},
    }
    made = analysis_config(given, CHECKPOINT, STRUCTURE, tmp_path, ABOUT)
    assert made["trainer"]["callbacks"] == [CONTRIBUTION]
    assert "start_from" not in made
    assert made["model"] == {"pruned": ["d:sa:1"], "heads": 4, "dropout": 0.5}
    assert given["model"] == {"pruned": None, "heads": 8, "dropout": 0.5}
