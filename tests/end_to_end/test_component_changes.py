"""Pruning, rewinding and Theseus through the commands."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from lit_transformer.training.module import LitTransformer
from tests.end_to_end.forking import run_on_two
from tests.end_to_end.running import (
    COMPONENTS,
    QUIET,
    config_of,
    files_of,
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
    tiny_fit,
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


@pytest.fixture(scope="module")
def changed(analysed: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Path]:
    """A function that returns the folder of a run with a change in it, after its first step."""

    @functools.cache
    def made(name: str, arguments: str) -> Path:
        root = tmp_path_factory.mktemp("changed")
        typed = [callbacks((name, json.loads(arguments))), *options("trainer", {**STEPS, "max_steps": 1})]
        succeed(["fit", "--start_from", str(analysed), *typed, "--checkpoint.average=0"], root)
        [folder] = (root / "runs").glob("*/version_0")
        return folder

    return lambda given: made(given[0], json.dumps(given[1]))


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


def test_learning_rate_rewinding_is_the_end_of_the_schedule_again(analysed: Path, tmp_path: Path) -> None:
    # By hand, and as it comes: the model made 60 steps, and goes back so many as it makes now.
    more = ["--model.learning_rate=0.02", "--model.warmup_steps=10", "--model.schedule_start=56"]
    succeed(change(analysed, "continue.yaml", *more), tmp_path)
    expected = metric(analysed, "train/learning_rate")
    for steps in (4, 6):
        told = succeed(change(analysed, "lr_rewind.yaml", "--model.warmup_steps=3", max_steps=steps), tmp_path).errors
        assert f"Steps {61 - steps} to 60 of the first run's schedule again" in told
    runs = {"continued/version_0": 4, "lr-rewound/version_0": 4, "lr-rewound/version_1": 6}
    for name, steps in runs.items():
        found = metric(tmp_path / "runs" / name, "train/learning_rate")
        last = [expected[step] for step in range(60 - steps, 60)]
        assert [found[step] for step in range(steps)] == pytest.approx(last)
    states = [load(tmp_path / "runs" / name / "checkpoints/last.ckpt")["state_dict"] for name in list(runs)[:2]]
    assert same_tensors(*states)
    # Resumed, by whatever command, and replayed from: the schedule goes on where it is.
    folder = tmp_path / "runs/lr-rewound/version_0"
    again = ["fit", "--config", "lr_rewind.yaml", "--ckpt_path", str(folder), "--trainer.max_steps=5"]
    succeed([*again, "--model.learning_rate=0.5", "--model.schedule_start=0"], tmp_path)
    assert metric(folder, "train/learning_rate")[4] == pytest.approx(0.02 * (10 / 61) ** 0.5)
    succeed(change(folder, "lr_rewind.yaml", max_steps=1), tmp_path)
    # Its average has the four steps of its last validation behind it.
    found = metric(tmp_path / "runs/lr-rewound/version_2", "train/learning_rate")
    assert found[0] == pytest.approx(0.02 * (10 / 60) ** 0.5)


def test_two_processes_train_it_as_one(analysed: Path, tmp_path: Path) -> None:
    """cases.md A12: nothing that was pruned is waited for."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    more = ["--trainer.callbacks.components=[e:ff:1,d:sa:2]", "--model.dropout=0", "--trainer.max_steps=3"]
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


def test_a_run_from_before_there_was_among_is_resumed(analysed: Path, tmp_path: Path) -> None:
    """`components` together with `by` named those that may be chosen, in its configuration and in its record."""
    more = ["--trainer.callbacks.among=[d:*]", "--trainer.callbacks.count=1"]
    succeed(change(analysed, "prune.yaml", *more, max_steps=2), tmp_path)
    folder = tmp_path / "runs/pruned/version_0"
    path = folder / "checkpoints/last.ckpt"
    checkpoint = load(path)
    [callback] = checkpoint["lit_transformer"]["config"]["trainer"]["callbacks"]
    [record] = [state["record"] for state in checkpoint["callbacks"].values() if "record" in state]
    for selection in (callback["init_args"], record["selection"]):
        assert selection["components"] is None
        selection["components"] = selection.pop("among")
    torch.save(checkpoint, path)
    for steps in (3, 4):
        told = succeed(["fit", "--ckpt_path", str(folder), f"--trainer.max_steps={steps}"], tmp_path).errors
        assert f"Resuming without {record['components'][0]}" in told
        assert "among" not in told
    [callback] = load(path)["lit_transformer"]["config"]["trainer"]["callbacks"]
    assert callback["init_args"]["among"] == ["d:*"]


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


PRUNING = ("ComponentPruning", {"components": ["d:sa:1"]})
REWINDING = ("ComponentRewinding", {"components": ["d:ff"], "only_rewound": True})
THESEUS = ("Theseus", {"components": ["d:ff"], "successor": "narrow", "size": 8})
LAYER_THESEUS = ("LayerTheseus", {"until": 3})


def callbacks(*given: tuple[str, dict[str, Any]]) -> str:
    """Return callbacks and their arguments as they are typed."""
    specified = [{"class_path": f"callbacks.{name}", "init_args": arguments} for name, arguments in given]
    return f"--trainer.callbacks={json.dumps(specified)}"


@pytest.mark.parametrize(
    "pair",
    [
        (PRUNING, ("ComponentPruning", {"components": ["d:ff:1"]})),
        (("ComponentRewinding", {"components": ["d:sa:1"]}), PRUNING),
        (THESEUS, PRUNING),
        (PRUNING, LAYER_THESEUS),
    ],
    ids=lambda pair: "-".join(name for name, _ in pair),
)
def test_two_changes_in_a_run(analysed: Path, tmp_path: Path, pair: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    typed = [callbacks(*pair), *options("trainer", STEPS)]
    finished = run(["fit", "--start_from", str(analysed), *typed], tmp_path)
    assert finished.status == 2
    line = finished.errors.splitlines()[-1]
    assert line.startswith("lit-transformer: error: --trainer.callbacks has ")
    assert all(name in line for name, _ in pair)
    # Neither was begun with, and no text was read.
    assert "Training pairs" not in finished.errors


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        pytest.param(PRUNING, "callbacks.ContributionScore", id="pruning"),
        pytest.param(REWINDING, "null", id="rewinding"),
        pytest.param(THESEUS, "[]", id="theseus"),
        pytest.param(LAYER_THESEUS, "null", id="layer_theseus"),
    ],
)
def test_resumed_without_what_changed_the_run(
    changed: Callable[[Any], Path], given: tuple[str, dict[str, Any]], typed: str
) -> None:
    folder = changed(given)
    before = files_of(folder)
    finished = run(["fit", "--ckpt_path", str(folder), f"--trainer.callbacks={typed}"], folder.parent)
    assert finished.status == 2
    line = finished.errors.splitlines()[-1]
    assert f"is of a run of {given[0]}" in line
    assert "leave --trainer.callbacks out" in line
    assert files_of(folder) == before


def test_resumed_with_another_callback_as_the_line_advises(changed: Callable[[Any], Path]) -> None:
    folder = changed(REWINDING)
    more = ["--trainer.callbacks+=callbacks.ContributionScore", "--trainer.max_steps=2"]
    succeed(["fit", "--ckpt_path", str(folder), *more], folder.parent)
    assert load(folder / "checkpoints/last.ckpt")["global_step"] == 2
    assert (folder / "analysis/best-loss/scores.csv").is_file()


def test_a_shallow_decoder_of_the_size_of_a_pruned_model(analysed: Path, text: Path, tmp_path: Path) -> None:
    """The commands of shallow.yaml: from scratch, and cut from the trained model."""
    layer = "--trainer.callbacks.components=[d:sa:1,d:ea:2,d:ff:2]"
    succeed(change(analysed, "prune.yaml", layer, max_steps=2), tmp_path)
    pruned = tmp_path / "runs/pruned/version_0"
    like = ["--config", "shallow.yaml", f"--trainer.callbacks.like={pruned}"]
    finished = succeed(tiny_fit(text, *like, max_steps=3), tmp_path)
    assert "1 of 2 decoder layers stay: 3 components" in finished.errors
    shallow = tmp_path / "runs/shallow/version_0"
    shutil.rmtree(pruned)
    succeed(["fit", "--ckpt_path", str(shallow), "--trainer.max_steps=6"], tmp_path)
    succeed(of("test", shallow), tmp_path)
    # Its configuration trains it anew, from the depth of the base and the components.
    assert config_of(shallow)["model"]["decoder_layers"] == 2
    assert load(shallow / "checkpoints/last.ckpt")["hyper_parameters"]["decoder_layers"] == 1

    base = tmp_path / "base"
    shutil.copytree(analysed, base)
    ablation = ["--trainer.callbacks", "callbacks.LayerAblation", "--trainer.callbacks.count=1"]
    succeed(of("analyze", base, *ablation), tmp_path)
    by = ["--trainer.callbacks.by=layers", "--trainer.callbacks.count=1", "--name=cut"]
    succeed(change(base, "prune.yaml", *by, max_steps=2), tmp_path)
    states = [load(tmp_path / f"runs/{name}/version_0/checkpoints/last.ckpt") for name in ("cut", "shallow")]
    sizes = [sum(tensor.numel() for tensor in state["state_dict"].values()) for state in states]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("continue.yaml", "leaves --start_from open"),
        ("lr_rewind.yaml", "leaves --start_from open"),
        ("prune.yaml", "init trained keeps the weights of a trained model"),
        ("rewind.yaml", "it needs a trained model"),
        ("theseus.yaml", "it replaces components of a trained model"),
        ("theseus_layers.yaml", "it replaces layers of a trained model"),
    ],
)
def test_what_goes_on_from_a_trained_model_is_not_trained_from_scratch(text: Path, config: str, why: str) -> None:
    # Where there is no text, because none is read.
    args = tiny_fit(text / "nowhere", "--config", config)
    finished = run(args, text)
    assert finished.status == 2
    assert finished.errors.count("\n") == 1
    assert why in finished.errors
    assert "give --start_from" in finished.errors
    assert not list((text / "runs").glob("*"))


def test_continued_training_is_resumed_by_the_whole_command(analysed: Path, tmp_path: Path) -> None:
    printed = succeed(["fit", "--config", "continue.yaml", "--print_config"], tmp_path).output.decode()
    assert "start_from: RUN" in printed
    succeed(change(analysed, "continue.yaml", max_steps=1), tmp_path)
    folder = tmp_path / "runs/continued/version_0"
    succeed(["fit", "--config", "continue.yaml", "--ckpt_path", str(folder), "--trainer.max_steps=2"], tmp_path)
    assert load(folder / "checkpoints/last.ckpt")["global_step"] == 2
    assert config_of(folder)["start_from"] == str((analysed / "checkpoints/average.ckpt").absolute())


def test_another_structure_typed(analysed: Path, tmp_path: Path) -> None:
    finished = run(change(analysed, "continue.yaml", "--model.pruned=[d:sa:1]"), tmp_path)
    assert finished.status == 2
    assert "--model.pruned" in finished.errors
