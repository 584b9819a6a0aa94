"""Options and files of versions that decoded from drafts and decided early: each works, or ends in one line."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from lit_transformer import load_scores
from lit_transformer.runs.scores import read_scores
from lit_transformer.training.initial_weights import initial_weights_digest
from tests.end_to_end.running import load, of, read_csv, read_json, run, succeed
from tests.end_to_end.test_component_changes import change

REMOVED = re.compile(r"lit-transformer: error: --(\w+) was removed: [^;]+; leave it out\.\n")


@pytest.mark.parametrize("option", ["--decoding verified", "--decoding=verified", "--decoding plain"])
def test_decoding_was_removed(trained_once: Path, tmp_path: Path, option: str) -> None:
    assert removed(of("analyze", trained_once, *option.split()), tmp_path) == "decoding"


@pytest.mark.parametrize("option", ["--confidence 0.999", "--confidence=0.999"])
def test_confidence_was_removed(trained_once: Path, tmp_path: Path, option: str) -> None:
    assert removed(of("analyze", trained_once, *option.split()), tmp_path) == "confidence"


@pytest.mark.parametrize("setting", ["decoding: auto", "confidence: null"])
def test_a_configuration_of_then(trained_once: Path, tmp_path: Path, setting: str) -> None:
    (tmp_path / "old.yaml").write_text(f"{setting}\n")
    name = removed(of("analyze", trained_once, "--config", "old.yaml"), tmp_path)
    assert name == setting.partition(":")[0]


@pytest.mark.parametrize("option", ["--model.decoding.beam=many", "--decoding.beam=2", "--model.confidence=3"])
def test_other_options_of_a_similar_name(trained_once: Path, tmp_path: Path, option: str) -> None:
    finished = run(of("analyze", trained_once, option), tmp_path)
    assert finished.status == 2
    assert option.partition("=")[0] in finished.errors
    assert "removed" not in finished.errors


def removed(args: list[str], folder: Path) -> str:
    """Return the option that the command says was removed."""
    finished = run(args, folder)
    assert finished.status == 2
    found = REMOVED.fullmatch(finished.errors)
    assert found is not None, finished.errors
    return found[1]


SECTION = {"variant_search": "verified", "confidence": 0.999}
EARLY = {"early": True, "contribution_lower": None, "contribution_upper": None, "brevity_penalty": None}
CRITICALITY = {"criticality_early": 2, "criticality_drop_lower": 0.1, "criticality_drop_upper": 0.4}


@pytest.fixture
def scored_before(trained: Path, tmp_path: Path) -> Path:
    """The folder of scores as they were written then: one ablation and one criticality were decided early."""
    scorers = [f"--trainer.callbacks+=callbacks.{name}Score" for name in ("Contribution", "Criticality")]
    succeed(of("analyze", trained, *scorers), tmp_path)
    path = trained / "analysis/average/scores.json"
    scores = read_json(path)
    scores |= {"search": "verified", "confidence": 0.999}
    for name, added in (("contribution", {"early": False}), ("criticality", dict.fromkeys(CRITICALITY))):
        scores[name] |= SECTION
        scores["columns"][name] += added
        scores["components"] = [{**row, **added} for row in scores["components"]]
    scores["components"][0] |= {**EARLY, **CRITICALITY}
    path.write_text(json.dumps(scores), encoding="utf-8")
    return path.parent


def test_scores_are_read(scored_before: Path, trained: Path, tmp_path: Path) -> None:
    assert read_scores(scored_before)["components"][0]["early"] is True
    found = load_scores(trained)
    assert found.column("criticality_drop_upper") == {"e:sa:1": 0.4}
    assert len(found.column("drop")) == 8
    succeed(["report", str(trained)], tmp_path)
    assert "e:sa:1" in (trained / "report/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("by", ["contribution", "criticality"])
def test_components_are_pruned_by_such_scores(scored_before: Path, trained: Path, tmp_path: Path, by: str) -> None:
    chosen = [f"--trainer.callbacks.by={by}", "--trainer.callbacks.count=2", "--name=pruned"]
    succeed(change(trained, "prune.yaml", *chosen), tmp_path)
    gone = read_json(tmp_path / "runs/pruned/version_0/pruning.json")["components"]
    scores = load_scores(trained).column(by)
    assert sorted(scores[name] for name in gone) == sorted(scores.values())[:2]


def test_a_new_analysis_replaces_the_columns_of_its_scorer(scored_before: Path, trained: Path, tmp_path: Path) -> None:
    finished = succeed(of("analyze", trained, "--trainer.callbacks+=callbacks.ContributionScore"), tmp_path)
    assert "are replaced" not in finished.errors
    scores = read_json(scored_before / "scores.json")
    assert scores.keys().isdisjoint({"search", "confidence"})
    assert scores["contribution"].keys().isdisjoint(SECTION)
    assert SECTION.items() <= scores["criticality"].items()
    rows = read_csv(scored_before / "scores.csv")
    assert "early" not in rows[0]
    assert [row["criticality_early"] for row in rows] == ["2"] + [""] * 7
    assert all(row["contribution_lower"] and row["criticality"] for row in rows)


def key_of_then(run_folder: Path, variant: dict[str, Any]) -> str:
    """Return the key of a plain evaluation as versions with drafts made it."""
    checkpoint = run_folder / "checkpoints/average.ckpt"
    content, scores = load(checkpoint), read_json(run_folder / "analysis/average/selected/scores.json")
    about = {
        "engine": 2,
        "torch": str(torch.__version__),
        **{name: scores[name] for name in ("weights", "tokenizer", "signature", "decoding")},
        "batch_tokens": content["datamodule_hyper_parameters"]["eval_max_tokens"],
        "seed": content["hyper_parameters"]["seed"],
        "set": scores["scoring_set"]["digest"],
        "device": "cpu",
        "search": "plain",
        "variant": variant,
    }
    if "interpolated" in variant:
        about["initial_weights"] = initial_weights_digest(checkpoint)
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]


def test_plain_evaluations_of_then_are_found_again(trained: Path, tmp_path: Path) -> None:
    more = ["--config", "analysis.yaml", "--trainer.callbacks.k=2", "--components=d:ff"]
    succeed(of("analyze", trained, *more), tmp_path)
    journal = trained / "analysis/average/evaluations.jsonl"
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    for variant in ({}, {"ablated": ["d:ff:1"]}, {"interpolated": "d:ff:2", "alpha": 0.0}):
        assert key_of_then(trained, variant) in {line["key"] for line in lines if line["variant"] == variant}
    for line in lines:
        line["held"], variant = 3, line["variant"]
        if "interpolated" in variant:
            variant |= {"path": [0.5], "plain": True}
        elif len(variant.get("ablated", ())) > 1:
            variant |= {"draft": variant["ablated"][:1], "plain": True}
    asked_early = {"key": "0" * 32, "decision": {"answer": "above", "estimate": 1.0}, "variant": {"plain": True}}
    text = "".join(json.dumps(line) + "\n" for line in [*lines, {**lines[1], **asked_early}])
    journal.write_text(text, encoding="utf-8")
    before = read_csv(trained / "analysis/average/selected/scores.csv")
    with mock.patch(
        "lit_transformer.importance.variant_decoder.VariantDecoder.decode", side_effect=AssertionError("known")
    ):
        succeed(of("analyze", trained, *more), tmp_path)
    assert journal.read_text(encoding="utf-8") == text
    assert read_csv(trained / "analysis/average/selected/scores.csv") == before


def test_a_checkpoint_that_lacks_later_settings_of_the_structure(trained: Path, tmp_path: Path) -> None:
    path = trained / "checkpoints/average.ckpt"
    content = load(path)
    for settings in (content["hyper_parameters"], content["lit_transformer"]["config"]["model"]):
        for name in ("pruned", "feed_forward_sizes", "layer_drop", "attention"):
            del settings[name]
    torch.save(content, path)
    assert "pruned" not in load(path)["hyper_parameters"]
    succeed(of("validate", trained), tmp_path)
    succeed(of("analyze", trained, "--components=d:ff"), tmp_path)
    succeed(change(trained, "prune.yaml", "--trainer.callbacks.components=[d:ff:2]", "--name=pruned"), tmp_path)
    pruned = load(tmp_path / "runs/pruned/version_0/checkpoints/last.ckpt")["hyper_parameters"]
    assert (pruned["pruned"], pruned["feed_forward_sizes"]) == (["d:ff:2"], {})
    finished = run(of("validate", trained, "--model.pruned=[d:ff:2]"), tmp_path)
    assert finished.status == 2
    assert "--model.pruned is ['d:ff:2'], but" in finished.errors
