"""What the commands make, and that all of them give the same numbers."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from tests.end_to_end.running import (
    COMPONENTS,
    config_of,
    files_of,
    finite,
    lines_of,
    load,
    metric,
    of,
    read_csv,
    read_json,
    run_process,
    same_tensors,
    succeed,
    tiny_fit,
)


def sacrebleu(folder: Path) -> float:
    """What the command of sacreBLEU says about the files that we wrote."""
    command = [sys.executable, "-m", "sacrebleu", "reference.txt", "-i", "hypothesis.txt", "-b", "-w", "4"]
    return float(subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=300).stdout)


# The folder of a run


def test_fit_writes_a_run_folder(trained_once: Path) -> None:
    recent = {f"checkpoints/step={step}.ckpt" for step in (12, 24, 36, 48, 60)}
    named = {f"checkpoints/{name}.ckpt" for name in ("best-loss", "best-bleu", "last", "average")}
    assert (
        files_of(trained_once)
        == {"config.yaml", "metrics.csv", "tokenizer.model", "initial_weights.safetensors"} | recent | named
    )
    logged = {row["metric"] for row in read_csv(trained_once / "metrics.csv")}
    assert logged == {
        "train/loss",
        "train/learning_rate",
        "train/gradient_norm",
        "train/target_tokens_per_second",
        "train/padding",
        "train/memory",
        "val/loss",
        "val/perplexity",
        "val/bleu",
        "val/non_terminated",
    }


def test_the_best_checkpoints_are_the_best(trained_once: Path) -> None:
    losses, scores = metric(trained_once, "val/loss"), metric(trained_once, "val/bleu")
    best_loss = load(trained_once / "checkpoints" / "best-loss.ckpt")["global_step"]
    best_bleu = load(trained_once / "checkpoints" / "best-bleu.ckpt")["global_step"]
    assert losses[best_loss - 1] == min(losses.values())
    assert scores[best_bleu - 1] == max(scores.values()) > 20
    assert load(trained_once / "checkpoints" / "last.ckpt")["global_step"] == 60


def test_the_average_is_the_mean_of_the_last_checkpoints(trained_once: Path) -> None:
    folder = trained_once / "checkpoints"
    states = [load(folder / f"step={step}.ckpt")["state_dict"] for step in (12, 24, 36, 48, 60)]
    average = load(folder / "average.ckpt")
    for name, tensor in average["state_dict"].items():
        mean = torch.stack([state[name].double() for state in states]).mean(dim=0)
        assert torch.allclose(tensor.double(), mean, rtol=0, atol=1e-7), name
    assert "optimizer_states" not in average


def test_without_averaging_there_is_no_average(text: Path, tmp_path: Path) -> None:
    succeed(tiny_fit(text, "--checkpoint.average", "1"), tmp_path)
    names = {path.name for path in (tmp_path / "runs/run/version_0/checkpoints").iterdir()}
    assert names == {"best-loss.ckpt", "best-bleu.ckpt", "last.ckpt"}
    analyzed = succeed(of("analyze", "runs/run/version_0"), tmp_path)
    assert "analysis/best-loss/scores.csv" in analyzed.output.decode()


def test_everything_written_is_plain(trained: Path, tmp_path: Path) -> None:
    """cases.md A14."""
    for command in ("analyze", "validate", "test"):
        succeed(of(command, trained), tmp_path)
    kinds = set()
    for path in trained.rglob("*"):
        kinds.add(path.suffix)
        if path.suffix == ".ckpt":
            assert load(path)["lit_transformer"]["format"] == 1
        elif path.suffix == ".safetensors":
            load_file(path)
        elif path.suffix == ".json":
            assert finite(read_json(path))
        elif path.suffix == ".yaml":
            assert yaml.safe_load(path.read_text(encoding="utf-8"))
        elif path.suffix == ".csv":
            assert read_csv(path)
    assert kinds >= {".ckpt", ".json", ".yaml", ".csv", ".png", ".txt"}


def test_the_written_configuration_repeats_the_run(text: Path, tmp_path: Path) -> None:
    """cases.md A10: the second run gets a folder of its own."""
    succeed(tiny_fit(text), tmp_path)
    first = tmp_path / "runs/run/version_0"
    succeed(["fit", "--config", str(first / "config.yaml")], tmp_path)
    second = tmp_path / "runs/run/version_1"
    assert config_of(first) == config_of(second)
    states = [load(folder / "checkpoints" / "last.ckpt")["state_dict"] for folder in (first, second)]
    assert same_tensors(*states)


def test_fit_fit_analyze_in_one_place(text: Path, tmp_path: Path) -> None:
    """cases.md A10."""
    for seed in ("1", "2"):
        succeed(tiny_fit(text, "--seed_everything", seed, max_steps=3), tmp_path)
    succeed(of("analyze", "runs/run/version_0"), tmp_path)
    seeds = [config_of(tmp_path / f"runs/run/version_{version}")["seed_everything"] for version in (0, 1)]
    assert seeds == [1, 2]
    weights = [load(tmp_path / f"runs/run/version_{version}/checkpoints/last.ckpt") for version in (0, 1)]
    assert not same_tensors(weights[0]["state_dict"], weights[1]["state_dict"])


# The same number everywhere


@pytest.mark.parametrize("name", ["best-bleu", "last"])
def test_fit_validate_analyze_and_sacrebleu_agree(name: str, trained: Path, tmp_path: Path) -> None:
    checkpoint = trained / "checkpoints" / f"{name}.ckpt"
    logged = metric(trained, "val/bleu")[load(checkpoint)["global_step"] - 1]
    succeed(of("validate", checkpoint), tmp_path)
    succeed(of("analyze", checkpoint), tmp_path)
    written = trained / "translations" / name / "validation"
    about = read_json(written / "scores.json")
    analysis = read_json(trained / "analysis" / name / "scores.json")
    assert about["scores"]["val/bleu"] == pytest.approx(logged, abs=1e-5)
    assert analysis["baseline"]["bleu"] == pytest.approx(logged, abs=1e-5)
    assert sacrebleu(written) == pytest.approx(logged, abs=6e-5)
    assert about["signature"] == analysis["signature"]
    assert about["weights"] == analysis["weights"]
    assert logged > 20


def test_test_and_sacrebleu_agree(trained: Path, tmp_path: Path, text: Path) -> None:
    succeed(of("test", trained), tmp_path)
    written = trained / "translations" / "average" / "test"
    assert sacrebleu(written) == pytest.approx(read_json(written / "scores.json")["scores"]["test/bleu"], abs=6e-5)
    assert lines_of(written / "reference.txt") == lines_of(text / "test.de")
    assert lines_of(written / "source.txt") == lines_of(text / "test.en")


def test_the_score_does_not_depend_on_the_batches(trained: Path, tmp_path: Path) -> None:
    """cases.md A06."""
    scores = []
    for tokens in (1, 50, 100_000):
        succeed(of("validate", trained, f"--data.eval_max_tokens={tokens}"), tmp_path)
        scores.append(read_json(trained / "translations/average/validation/scores.json")["scores"])
    for other in scores[1:]:
        assert other["val/bleu"] == pytest.approx(scores[0]["val/bleu"], abs=1e-4)
        assert other["val/loss"] == pytest.approx(scores[0]["val/loss"], abs=1e-5)
    assert scores[0]["val/bleu"] > 20


def test_greedy_validation_has_a_name_of_its_own(text: Path, tmp_path: Path) -> None:
    more = ["--model.decoding.beam=2", "--model.validation_decoding=greedy", "--model.chrf=true"]
    succeed(tiny_fit(text, *more), tmp_path)
    folder = tmp_path / "runs/run/version_0"
    logged = {row["metric"] for row in read_csv(folder / "metrics.csv")}
    assert {"val/bleu_greedy", "val/chrf_greedy"} < logged
    assert "val/bleu" not in logged
    assert (folder / "checkpoints" / "best-bleu.ckpt").is_file()
    succeed(of("validate", folder), tmp_path)
    about = read_json(folder / "translations/average/validation/scores.json")
    assert {"val/bleu", "val/chrf"} < about["scores"].keys()
    assert about["decoding"]["beam"] == 2
    assert about["chrf_signature"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0")


def test_a_part_of_a_split_never_replaces_the_scores_of_all(trained: Path, tmp_path: Path) -> None:
    command = of("validate", trained, "--data.eval_max_tokens=60")
    succeed(command, tmp_path)
    before = (trained / "translations/average/validation/scores.json").read_bytes()
    finished = succeed([*command, "--trainer.limit_val_batches=1"], tmp_path)
    assert "sentences were scored, so nothing is written" in finished.errors
    assert (trained / "translations/average/validation/scores.json").read_bytes() == before


def test_fit_analyses_after_training_and_when_nothing_is_left_to_train(text: Path, tmp_path: Path) -> None:
    succeed(tiny_fit(text, "--trainer.callbacks+=callbacks.ContributionScore"), tmp_path)
    folder = tmp_path / "runs/run/version_0"
    table = folder / "analysis/average/scores.csv"
    first = read_csv(table)
    assert [row["component"] for row in first] == COMPONENTS
    rows = read_csv(folder / "metrics.csv")
    assert {f"analysis/contribution/{component}" for component in COMPONENTS} < {row["metric"] for row in rows}
    weights = load(folder / "checkpoints/last.ckpt")["state_dict"]
    average = load(folder / "checkpoints/average.ckpt")["state_dict"]
    table.unlink()
    succeed(["fit", "--ckpt_path", str(folder)], tmp_path)
    assert read_csv(table) == first
    assert same_tensors(load(folder / "checkpoints/last.ckpt")["state_dict"], weights)
    assert same_tensors(load(folder / "checkpoints/average.ckpt")["state_dict"], average)
    assert files_of(tmp_path / "runs/run") == {f"version_0/{name}" for name in files_of(folder)}


# Translation


def test_predict_gives_a_line_for_a_line(trained: Path, tmp_path: Path) -> None:
    lines = [
        "The red cat sees the old goat.",
        "",
        "The old\u2028duck\x0b hears",
        "   ",
        "The young woman likes the duck.",
    ]
    content = "\n".join(lines).encode()
    (tmp_path / "input.txt").write_bytes(content)
    (tmp_path / "input.txt.gz").write_bytes(gzip.compress(content + b"\n"))
    made = [
        succeed(of("predict", trained, "--input", "input.txt"), tmp_path).output,
        succeed(of("predict", trained, "--input", "input.txt.gz"), tmp_path).output,
        succeed(of("predict", trained, "--input", "-"), tmp_path, stdin=content).output,
    ]
    succeed(of("predict", trained, "--input", "input.txt", "--output", "output.txt"), tmp_path)
    made.append((tmp_path / "output.txt").read_bytes())
    translations = made[0].decode().split("\n")
    assert len(translations) == len(lines) + 1
    assert translations[0].startswith("Die ")
    assert translations[1] == translations[3] == translations[-1] == ""
    assert all(other == made[0] for other in made[1:])


def test_predict_agrees_with_test(trained: Path, tmp_path: Path, text: Path) -> None:
    succeed(of("test", trained), tmp_path)
    predicted = succeed(of("predict", trained, "--input", str(text / "test.en")), tmp_path).output.decode()
    assert predicted == (trained / "translations/average/test/hypothesis.txt").read_text(encoding="utf-8")


def test_predict_as_a_process_writes_translations_only(trained: Path, tmp_path: Path) -> None:
    args = ["predict", "--ckpt_path", str(trained), "--input", "-"]
    finished = run_process(args, tmp_path, stdin=b"The red cat sees the old goat.\n\n")
    assert finished.status == 0, finished.errors
    first, second, end = finished.output.decode().split("\n")
    assert first.startswith("Die ")
    assert second == end == ""
