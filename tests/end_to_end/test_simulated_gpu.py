"""The commands on a GPU that is simulated, see tests/simulated_gpu.py, beside the same ones on the CPU."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from tests.end_to_end.running import (
    EVERYTHING,
    RESULTS,
    lines_of,
    load,
    metric,
    of,
    options,
    read_csv,
    read_json,
    succeed,
    tiny_fit,
    with_checkout,
)
from tests.end_to_end.test_component_changes import change

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")

GPU = {"accelerator": "gpu", "precision": "16-mixed"}

# So large a scale that gradients overflow until it was halved six times.
FIRST_SCALE, SKIPPED = 2.0**24, 6
SCALER = {"class_path": "torch.amp.GradScaler", "init_args": {"device": "cuda", "init_scale": FIRST_SCALE}}
PRECISION = {"precision": "16-mixed", "device": "cuda", "scaler": SCALER}
PLUGIN = [{"class_path": "pytorch_lightning.plugins.precision.MixedPrecision", "init_args": PRECISION}]
OVERFLOWING = {"accelerator": "gpu", "gradient_clip_val": 1.0, "plugins": json.dumps(PLUGIN)}

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TIMED = ("--limit=3", "--beams=1", "--scores=group", "--k=1", "--runs=1", "--threads=1")

STEPS, MORE_STEPS = 36, 42
BEAM = ("--model.decoding.beam=4", "--trainer.callbacks=callbacks.ContributionScore", "--components=d:*")
CHOSEN = ("--model.warmup_steps=2",)
GONE = ["d:sa:1", "d:ff:1", "d:ea:2"]


def on_gpu(commands: Sequence[Sequence[str]], folder: Path) -> str:
    """Run commands in one process with a simulated GPU; return what it writes and says."""
    joined = [word for command in commands for word in ("--then", *command)][1:]
    made = subprocess.run(
        [sys.executable, "-m", "tests.simulated_gpu", *joined],
        cwd=folder,
        env=with_checkout(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, made.stdout.decode()
    return made.stdout.decode()


@pytest.fixture(scope="module")
def trained_there(text: Path, trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What is said of runs on the GPU, and the folder of all of them."""
    root = tmp_path_factory.mktemp("gpu")
    fit = {"max_steps": STEPS, "val_check_interval": 12, "max_epochs": 100}
    chosen = [*CHOSEN, f"--trainer.callbacks.components=[{','.join(GONE)}]"]
    gradual = [*chosen, "--trainer.callbacks.every_n_steps=1"]
    shutil.copytree(trained_once, root / "runs/run/version_0")
    go_on = {**GPU, "max_steps": 62, "gradient_clip_val": 1.0}
    errors = on_gpu(
        [
            tiny_fit(text, "--name=whole", **fit, **OVERFLOWING),
            ["fit", "--ckpt_path", "runs/whole/version_0", f"--trainer.max_steps={MORE_STEPS}"],
            change(trained_once, "prune.yaml", *gradual, max_steps=10, **OVERFLOWING),
            change(trained_once, "rewind.yaml", *chosen, **GPU),
            change(trained_once, "theseus.yaml", *chosen, "--trainer.callbacks.until=3", **GPU),
            ["fit", "--ckpt_path", "runs/run/version_0", *options("trainer", go_on)],
        ],
        root,
    )
    return errors, root / "runs"


@pytest.fixture(scope="module")
def scored_there(trained_once: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What is said of a run that was trained on the CPU and scored on the GPU, and the current folder of both."""
    root = tmp_path_factory.mktemp("gpu")
    run = root / "runs/run/version_0"
    shutil.copytree(trained_once, run)
    (root / "source.txt").write_text("The old cat sees the young duck.\nThe red goat helps the green cat.\n")
    commands = [
        of("analyze", run, *EVERYTHING, "--output=greedy", accelerator="gpu"),
        of("analyze", run, *BEAM, "--output=beam", accelerator="gpu"),
        of("validate", run, accelerator="gpu"),
        of("test", run, accelerator="gpu"),
        of("predict", run, "--input=source.txt", "--output=hypothesis.txt", accelerator="gpu"),
        [str(BENCHMARKS / "analysis.py"), "--accelerator=gpu", f"--checkpoint={run}", *TIMED],
        [str(BENCHMARKS / "gpu_launches.py"), f"--checkpoint={run}", "--limit=3", "--beams=1"],
    ]
    return on_gpu(commands, root), root


def test_half_precision_learns(trained_there: tuple[str, Path], trained_once: Path) -> None:
    errors, runs = trained_there
    run = runs / "whole/version_0"
    losses = list(metric(run, "val/loss").values())
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 3
    assert losses[-1] < 0.5 * metric(run, "train/loss")[0]
    assert list(metric(run, "val/bleu").values())[-1] > 1.0
    assert "lr_scheduler.step" not in errors
    first = "initial_weights.safetensors"
    assert (run / first).read_bytes() == (trained_once / first).read_bytes()


def test_steps_that_overflow_change_nothing_and_are_counted(trained_there: tuple[str, Path]) -> None:
    run = trained_there[1] / "whole/version_0"
    norms = metric(run, "train/gradient_norm")
    assert list(norms) == list(range(MORE_STEPS))
    # None of them after resuming: the scale went on from where it was.
    assert [step for step, norm in norms.items() if not math.isfinite(norm)] == list(range(SKIPPED))
    assert not any(math.isnan(float(row["value"])) for row in read_csv(run / "metrics.csv"))
    # The schedule counts them too: after ten steps of warming up, the peak.
    assert max(metric(run, "train/learning_rate").items(), key=lambda item: item[1])[0] == 9
    last = load(run / "checkpoints/last.ckpt")
    assert last["global_step"] == MORE_STEPS
    assert last["MixedPrecision"]["scale"] == FIRST_SCALE / 2**SKIPPED
    assert {int(state["step"]) for state in last["optimizer_states"][0]["state"].values()} == {MORE_STEPS - SKIPPED}
    assert all(bool(tensor.isfinite().all()) for tensor in last["state_dict"].values())
    kept = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert {"average.ckpt", "best-bleu.ckpt", "best-loss.ckpt", "last.ckpt"} <= set(kept)


def test_gradual_pruning_while_steps_overflow(trained_there: tuple[str, Path]) -> None:
    run = trained_there[1] / "pruned/version_0"
    assert all(math.isinf(metric(run, "train/gradient_norm")[step]) for step in range(len(GONE)))
    last = load(run / "checkpoints/last.ckpt")
    assert set(last["hyper_parameters"]["pruned"]) == set(GONE)
    assert math.isfinite(metric(run, "train/gradient_norm")[9])
    assert math.isfinite(metric(run, "val/loss")[9])


@pytest.mark.parametrize("name", ["rewound", "theseus"])
def test_changes_of_components(trained_there: tuple[str, Path], trained_once: Path, name: str) -> None:
    run = trained_there[1] / name / "version_0"
    assert all(map(math.isfinite, metric(run, "train/gradient_norm").values()))
    states = [load(folder / "checkpoints/last.ckpt")["state_dict"] for folder in (run, trained_once)]
    moved = [not torch.equal(tensor, states[1][key]) for key, tensor in states[0].items()]
    assert all(moved)
    assert list(metric(run, "val/loss"))[-1] == 3


def test_a_run_goes_on_from_the_cpu_to_the_gpu_and_back(trained_there: tuple[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "runs/run/version_0"
    shutil.copytree(trained_there[1] / "run/version_0", run)
    last = run / "checkpoints/last.ckpt"
    # As a GPU writes it: a CPU reads it only when it is told to have it there.
    assert b"cuda:0" in last.read_bytes()
    assert load(last)["global_step"] == 62
    back = {"accelerator": "cpu", "precision": "32-true", "max_steps": 63}
    succeed(["fit", "--ckpt_path", str(run), *options("trainer", back)], tmp_path)
    state = load(last)
    assert state["global_step"] == 63
    assert {int(each["step"]) for each in state["optimizer_states"][0]["state"].values()} == {63}
    norms = metric(run, "train/gradient_norm")
    assert list(norms) == list(range(63))
    # What was learned is not lost on the way: the gradient is not that of a new model.
    assert max(norms[step] for step in (60, 61, 62)) < 0.5 * norms[0]


@pytest.mark.parametrize("name", RESULTS)
def test_every_score_is_that_of_the_cpu(scored_there: tuple[str, Path], whole: Path, name: str) -> None:
    outputs = (scored_there[1] / "greedy", whole)
    found, expected = ((output / "analysis/average/selected" / name).read_bytes() for output in outputs)
    assert found == expected


def test_scores_with_a_beam_are_those_of_the_cpu(
    scored_there: tuple[str, Path], trained_once: Path, tmp_path: Path
) -> None:
    succeed(of("analyze", trained_once, *BEAM, "--output", str(tmp_path)), tmp_path)
    # There, several variants are decoded in one batch.
    found, expected = (
        [(output / "analysis/average/selected" / name).read_bytes() for name in ("scores.csv", "scores.json")]
        for output in (scored_there[1] / "beam", tmp_path)
    )
    assert found == expected


def test_translations_are_those_of_the_cpu(scored_there: tuple[str, Path], trained: Path, tmp_path: Path) -> None:
    for command in ("validate", "test"):
        succeed(of(command, trained), tmp_path)
    succeed(of("predict", trained, f"--input={scored_there[1]}/source.txt", "--output=hypothesis.txt"), tmp_path)
    assert lines_of(scored_there[1] / "hypothesis.txt") == lines_of(tmp_path / "hypothesis.txt")
    for split in ("validation", "test"):
        folder = f"translations/average/{split}"
        there = scored_there[1] / "runs/run/version_0" / folder
        assert lines_of(there / "hypothesis.txt") == lines_of(trained / folder / "hypothesis.txt")
        scores = [read_json(place / "scores.json")["scores"] for place in (there, trained / folder)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_the_benchmark_measures_the_gpu(scored_there: tuple[str, Path]) -> None:
    said = scored_there[0]
    assert "float32; a GPU that is not there with " in said
    assert "| group ablation, k = 1 | 8 | " in said
    assert "| 0 of 24 | 0.0000 | +0.00000 |" in said


def test_variants_side_by_side_ask_less_of_a_gpu(scored_there: tuple[str, Path]) -> None:
    cells = re.search(
        r"\| greedy, side by side \| [\d,]+ \| ([\d.]+) \| [\d,]+ \| ([\d.]+) \| (.*) \|", scored_there[0]
    )
    assert cells is not None
    kernels, waits, differing = cells.groups()
    assert 0 < float(kernels) < 0.5
    assert 0 < float(waits) < 0.5
    assert differing == "0 of 24"
