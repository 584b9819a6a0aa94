"""Pruning, rewinding and Theseus through the commands."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from lit_transformer.module import LitTransformer
from tests.end_to_end.forking import run_on_two
from tests.end_to_end.running import (
    COMPONENTS,
    QUIET,
    config_of,
    lines_of,
    load,
    metric,
    of,
    options,
    read_csv,
    read_json,
    run,
    run_process,
    same_tensors,
    succeed,
)

STEPS: dict[str, Any] = {
    **QUIET,
    "enable_model_summary": False,
    "log_every_n_steps": 1,
    "check_val_every_n_epoch": "null",
    "max_steps": 4,
    "max_epochs": 100,
    "val_check_interval": 2,
}


def change(parent: Path, config: str, *more: str, **trainer: Any) -> list[str]:
    """Return the command that changes components of a trained model and trains it on."""
    start = ["fit", "--config", config, "--start_from", str(parent), "--checkpoint.average=2"]
    return [*start, *options("trainer", {**STEPS, **trainer}), *more]


@pytest.fixture(scope="module")
def analysed(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained and analysed run; nothing may change it."""
    root = tmp_path_factory.mktemp("analysed")
    folder = root / "runs/run/version_0"
    folder.parent.mkdir(parents=True)
    shutil.copytree(trained_once, folder)
    succeed(of("analyze", folder), root)
    return folder


def least(analysed: Path, count: int) -> list[str]:
    rows = read_csv(analysed / "analysis/average/scores.csv")
    order = sorted(rows, key=lambda row: (float(row["contribution"]), float(row["drop"])))
    return [row["component"] for row in order[:count]]


def test_pruned_by_a_config_on_top_and_used_with_no_extra_flag(analysed: Path, tmp_path: Path) -> None:
    """cases.md A15."""
    finished = succeed(change(analysed, "prune.yaml", "--trainer.callbacks.count=2"), tmp_path)
    folder = tmp_path / "runs/pruned/version_0"
    gone = least(analysed, 2)
    assert all(name in finished.errors for name in ("Pruned:", *gone))
    checkpoint = load(folder / "checkpoints/last.ckpt")
    assert set(checkpoint["hyper_parameters"]["pruned"]) == set(gone)
    assert config_of(folder)["start_from"] == str((analysed / "checkpoints/average.ckpt").absolute())
    assert read_json(folder / "pruning.json")["components"] == gone
    before = metric(folder, "pruning/bleu_before")
    assert before == {0: pytest.approx(read_json(folder / "pruning.json")["bleu_before"])}

    succeed(of("test", folder), tmp_path)
    succeed(of("predict", folder, "--input=-"), tmp_path, stdin=b"The old cat sees the young duck.\n")
    succeed(of("analyze", folder), tmp_path)
    rows = read_csv(folder / "analysis/average/scores.csv")
    assert [row["component"] for row in rows] == [name for name in COMPONENTS if name not in gone]


def test_the_same_translations_in_a_fresh_process(analysed: Path, tmp_path: Path) -> None:
    succeed(change(analysed, "prune.yaml", "--trainer.callbacks.count=3"), tmp_path)
    folder = tmp_path / "runs/pruned/version_0"
    succeed(of("test", folder), tmp_path)
    hypotheses = lines_of(folder / "translations/average/test/hypothesis.txt")
    source = (folder / "translations/average/test/source.txt").read_bytes()
    there = run_process(of("predict", folder, "--input=-"), tmp_path, stdin=source)
    assert there.status == 0, there.errors
    assert there.output.decode().splitlines() == hypotheses
    module = LitTransformer.load_from_checkpoint(folder / "checkpoints/average.ckpt", weights_only=True)
    assert len(hypotheses) == 12
    assert len(module.network.config.pruned) == 3


def test_what_was_typed_wins_over_the_checkpoint(analysed: Path, tmp_path: Path) -> None:
    """cases.md A11."""
    rate = ["--model.learning_rate=0.07", "--model.warmup_steps=0"]
    succeed(change(analysed, "prune.yaml", "--trainer.callbacks.count=1", *rate), tmp_path)
    folder = tmp_path / "runs/pruned/version_0"
    assert metric(folder, "train/learning_rate")[0] == pytest.approx(0.07)
    assert config_of(folder)["model"]["learning_rate"] == 0.07


@pytest.mark.parametrize("config", ["prune.yaml", "rewind.yaml", "theseus.yaml"])
def test_interrupted_and_resumed(analysed: Path, tmp_path: Path, config: str) -> None:
    """The parent and its scores are gone by then, and nothing is changed again."""
    whole, half, parent = tmp_path / "whole", tmp_path / "half", tmp_path / "parent"
    for folder in (whole, half):
        folder.mkdir()
    shutil.copytree(analysed, parent)
    more = ["--trainer.callbacks.count=2", "--model.warmup_steps=1"]
    succeed(change(parent, config, *more), whole)
    succeed(change(parent, config, *more, max_steps=2), half)
    shutil.rmtree(parent)
    [run_folder] = (half / "runs").glob("*/version_0")
    succeed(["fit", "--ckpt_path", str(run_folder), "--trainer.max_steps=4"], half)
    [expected] = (whole / "runs").glob("*/version_0")
    states = [load(folder / "checkpoints/last.ckpt")["state_dict"] for folder in (expected, run_folder)]
    assert same_tensors(*states)


def test_continued_with_the_end_of_the_schedule(analysed: Path, tmp_path: Path) -> None:
    more = ["--model.learning_rate=0.02", "--model.warmup_steps=10", "--model.schedule_start=56"]
    succeed(change(analysed, "continue.yaml", *more), tmp_path)
    found = metric(tmp_path / "runs/continued/version_0", "train/learning_rate")
    expected = metric(analysed, "train/learning_rate")
    assert [found[step] for step in range(4)] == pytest.approx([expected[step] for step in range(56, 60)])


def test_two_processes_train_it_as_one(analysed: Path, tmp_path: Path) -> None:
    """cases.md A12: nothing that was pruned is waited for."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    more = ["--trainer.callbacks.components=[e:ff:1,d:sa:2]", "--trainer.callbacks.by=null"]
    more += ["--trainer.callbacks.count=null", "--model.dropout=0", "--trainer.max_steps=3"]
    succeed(change(analysed, "prune.yaml", *more, accumulate_grad_batches=2), one)
    run_on_two(change(analysed, "prune.yaml", *more), two)
    states = [load(root / "runs/pruned/version_0/checkpoints/last.ckpt")["state_dict"] for root in (one, two)]
    assert states[0].keys() == states[1].keys()
    # Adam turns rounding into steps where the true gradient is zero.
    different = [float((states[0][name] - states[1][name]).abs().mean()) for name in states[0]]
    assert max(different) < 1e-3
    before = load(analysed / "checkpoints/average.ckpt")["state_dict"]
    moved = [float((states[0][name] - before[name]).abs().mean()) for name in states[0]]
    assert sum(different) < 0.05 * sum(moved)
    assert torch.isfinite(torch.tensor(different)).all()


@pytest.mark.parametrize(
    ("config", "more", "message"),
    [
        ("prune.yaml", ["count=99"], "there are 8 components"),
        ("prune.yaml", ["by=criticality"], "no criticality"),
        ("rewind.yaml", ["to=nowhere"], "give initial, random, or step:N"),
        ("theseus.yaml", ["learn=successors"], "nothing would learn"),
        ("prune.yaml", ["components=[d:xx]"], "'d:xx' matches nothing"),
    ],
)
def test_bad_input_ends_with_one_line(
    analysed: Path, tmp_path: Path, config: str, more: list[str], message: str
) -> None:
    finished = run(change(analysed, config, *(f"--trainer.callbacks.{option}" for option in more)), tmp_path)
    assert finished.status == 2
    assert "Traceback" not in finished.errors
    assert message in finished.errors.splitlines()[-1]
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/*"))


def test_another_structure_typed(analysed: Path, tmp_path: Path) -> None:
    finished = run(change(analysed, "continue.yaml", "--model.pruned=[d:sa:1]"), tmp_path)
    assert finished.status == 2
    assert "--model.pruned" in finished.errors
