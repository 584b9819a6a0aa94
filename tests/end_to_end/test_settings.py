"""What was typed wins; what nobody typed comes from the checkpoint, which needs nothing beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import datasets
import pytest
import yaml

from tests.end_to_end.running import (
    config_of,
    files_of,
    lines_of,
    load,
    metric,
    of,
    read_csv,
    read_json,
    run,
    same_tensors,
    succeed,
    tiny_fit,
    write_text,
)

COMMANDS = ("fit", "validate", "test", "predict", "analyze")


# Checkpoints that stand on their own


def test_test_needs_nothing_but_the_checkpoint_and_the_test_text(tmp_path: Path) -> None:
    text, elsewhere = write_text(tmp_path / "text"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    succeed(tiny_fit(text), tmp_path)
    for gone in (*text.glob("train.*"), *text.glob("validation.*"), tmp_path / "runs/run/version_0/tokenizer.model"):
        gone.unlink()
    checkpoint = tmp_path / "runs/run/version_0/checkpoints/last.ckpt"
    env = {"LIT_TRANSFORMER_CACHE": str(tmp_path / "empty")}
    # The library reads its variable once, when it is imported.
    with mock.patch.object(datasets.config, "HF_DATASETS_CACHE", tmp_path / "huggingface"):
        succeed(["test", "--ckpt_path", str(checkpoint)], elsewhere, env=env)
    assert len(lines_of(tmp_path / "runs/run/version_0/translations/last/test/hypothesis.txt")) == 12
    assert files_of(elsewhere) == set()
    assert not (tmp_path / "empty").exists()


def test_the_folder_of_a_run_is_a_checkpoint(trained: Path, tmp_path: Path) -> None:
    succeed(of("validate", trained), tmp_path)
    assert (trained / "translations/average/validation").is_dir()
    (trained / "checkpoints/average.ckpt").unlink()
    succeed(of("validate", trained), tmp_path)
    assert (trained / "translations/best-loss/validation").is_dir()


def test_start_from_begins_a_new_run_with_the_weights(trained: Path, tmp_path: Path) -> None:
    # Steps too small to change any weight show the weights before the first step.
    still = ["--model.learning_rate=1e-30", "--model.warmup_steps=0", "--model.dropout=0.3"]
    options = ["--trainer.accelerator=cpu", "--trainer.max_steps=2", "--trainer.log_every_n_steps=1", *still]
    succeed(["fit", "--start_from", str(trained), *options], tmp_path)
    folder = tmp_path / "runs/run/version_1"
    child = load(folder / "checkpoints/last.ckpt")
    parent = load(trained / "checkpoints/average.ckpt")
    assert same_tensors(child["state_dict"], parent["state_dict"])
    assert child["global_step"] == 2
    assert {float(state["step"]) for state in child["optimizer_states"][0]["state"].values()} == {2.0}
    assert config_of(folder)["start_from"] == str(trained / "checkpoints/average.ckpt")
    assert child["hyper_parameters"]["dropout"] == 0.3
    assert (folder / "tokenizer.model").read_bytes() == (trained / "tokenizer.model").read_bytes()
    assert read_csv(folder / "metrics.csv")[0]["step"] == "0"
    succeed(["fit", "--ckpt_path", str(folder), "--trainer.max_steps=3"], tmp_path)
    assert load(folder / "checkpoints/last.ckpt")["global_step"] == 3
    resumed = config_of(folder)
    assert resumed["start_from"] == str(trained / "checkpoints/average.ckpt")
    assert resumed["ckpt_path"] is None


# What was typed wins


def test_a_typed_learning_rate_reaches_optimizer_scheduler_and_configuration(trained: Path, tmp_path: Path) -> None:
    """cases.md A11."""
    checkpoint = trained / "checkpoints/last.ckpt"
    succeed(["fit", "--ckpt_path", str(checkpoint), "--model.learning_rate=0.5", "--trainer.max_steps=61"], tmp_path)
    made = load(checkpoint)
    expected = 0.5 * (10 / 61) ** 0.5
    assert metric(trained, "train/learning_rate")[60] == pytest.approx(expected)
    assert made["lr_schedulers"][0]["base_lrs"] == [0.5]
    assert made["optimizer_states"][0]["param_groups"][0]["initial_lr"] == 0.5
    assert made["hyper_parameters"]["learning_rate"] == 0.5
    model = config_of(trained)["model"]
    assert model["learning_rate"] == 0.5
    assert model["warmup_steps"] == 10
    assert metric(trained, "train/learning_rate")[59] == pytest.approx(0.02 * (10 / 60) ** 0.5)


def test_typed_settings_of_adam_reach_the_restored_optimizer(trained: Path, tmp_path: Path) -> None:
    checkpoint = trained / "checkpoints/last.ckpt"
    adam = ["--model.adam_betas=[0.5,0.6]", "--model.adam_epsilon=0.001"]
    succeed(["fit", "--ckpt_path", str(checkpoint), *adam, "--trainer.max_steps=61"], tmp_path)
    [group] = load(checkpoint)["optimizer_states"][0]["param_groups"]
    assert (tuple(group["betas"]), group["eps"]) == ((0.5, 0.6), 0.001)


def test_a_resumed_run_stays_where_it_is(trained: Path, tmp_path: Path) -> None:
    before = config_of(trained)
    more = ["--name=other", "--runs_dir=elsewhere", "--trainer.max_steps=61"]
    finished = succeed(["fit", "--ckpt_path", str(trained), *more], tmp_path)
    assert finished.errors.count("changes nothing: a run that goes on stays where it is") == 2
    after = config_of(trained)
    assert (after["name"], after["runs_dir"]) == (before["name"], before["runs_dir"])
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("command", ["validate", "test", "analyze"])
def test_a_language_that_the_model_was_not_trained_for_is_told(command: str, trained: Path, tmp_path: Path) -> None:
    """English for German, of files that are there."""
    typed = ["--data.source_language=de", "--data.target_language=en"]
    finished = succeed(of(command, trained, *typed), tmp_path)
    for side, typed_code, code in (("source", "de", "en"), ("target", "en", "de")):
        assert f"{side}_language is {typed_code}, but " in finished.errors
        assert f"was trained with {code}." in finished.errors


def test_a_rate_in_a_configuration_file_wins_over_the_checkpoint(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text("model:\n  learning_rate: 0.125\ntrainer:\n  max_steps: 61\n")
    succeed(["fit", "--config", "slow.yaml", "--ckpt_path", str(trained)], tmp_path)
    assert load(trained / "checkpoints/last.ckpt")["lr_schedulers"][0]["base_lrs"] == [0.125]


@pytest.mark.parametrize("command", ["fit", "validate", "analyze"])
def test_a_typed_structure_is_refused(command: str, trained: Path, tmp_path: Path) -> None:
    before = files_of(trained)
    finished = run([command, "--ckpt_path", str(trained), "--model.encoder_layers=3"], tmp_path)
    assert finished.status == 2
    assert finished.output == b""
    assert finished.errors.count("\n") == 1
    assert "--model.encoder_layers is 3" in finished.errors
    assert files_of(trained) == before


@pytest.mark.parametrize(
    ("how", "option", "value", "trained_with"),
    [
        ("fit --start_from", "vocab_size", 90, "100"),
        ("fit --start_from", "byte_fallback", True, "False"),
        ("fit --ckpt_path", "separate", True, "False"),
        ("validate --ckpt_path", "normalization", "nfkc", "'nmt_nfkc'"),
    ],
)
def test_options_of_the_tokenizer_that_would_not_be_heeded_are_refused(
    how: str, option: str, value: Any, trained_with: str, trained: Path, tmp_path: Path
) -> None:
    before = files_of(tmp_path)
    finished = run([*how.split(), str(trained), f"--data.tokenizer.{option}={value}"], tmp_path)
    assert finished.status == 2
    assert finished.errors.count("\n") == 1
    assert f"--data.tokenizer.{option} is {value!r}, but " in finished.errors
    assert f"was trained with {trained_with} and brings" in finished.errors
    assert files_of(tmp_path) == before
    the_same = trained_with.strip("'")
    succeed([*of("validate", trained), f"--data.tokenizer.{option}={the_same}"], tmp_path)


def test_the_size_of_a_tokenizer_that_was_given_as_a_file_is_known(trained: Path, text: Path, tmp_path: Path) -> None:
    # The option that nobody typed says 4000 pieces, the file holds 100.
    given = ["--data.tokenizer.model", str(trained / "tokenizer.model"), "--data.tokenizer.vocab_size=4000"]
    succeed(tiny_fit(text, *given, max_steps=1, val_check_interval=1), tmp_path)
    folder = tmp_path / "runs/run/version_1"
    for size, status in ((100, 0), (4000, 0), (90, 2)):
        assert run([*of("validate", folder), f"--data.tokenizer.vocab_size={size}"], tmp_path).status == status


def test_typed_decoding_and_data_win_and_the_rest_comes_from_the_checkpoint(trained: Path, tmp_path: Path) -> None:
    succeed(of("validate", trained, "--model.decoding.beam=3", "--data.validation_size=7"), tmp_path)
    about = read_json(trained / "translations/average/validation/scores.json")
    assert about["decoding"] == {"beam": 3, "length_penalty": 0.6, "max_extra_pieces": 5, "precision": "float32"}
    assert about["scoring_set"]["sentences"] == 7


# Help


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps(command: str, tmp_path: Path) -> None:
    finished = succeed([command, "--help"], tmp_path)
    assert "--model.encoder_layers" in finished.output.decode()
    assert files_of(tmp_path) == set()


def test_the_program_lists_its_commands(tmp_path: Path) -> None:
    text = succeed(["--help"], tmp_path).output.decode()
    assert all(command in text for command in COMMANDS)


def test_printed_configuration_can_be_used(text: Path, tmp_path: Path) -> None:
    args = tiny_fit(text, max_steps=2)
    printed = succeed([*args, "--print_config"], tmp_path).output
    (tmp_path / "printed.yaml").write_bytes(printed)
    assert yaml.safe_load(printed)["model"]["d_model"] == 32
    assert files_of(tmp_path) == {"printed.yaml"}
    succeed(["fit", "--config", "printed.yaml"], tmp_path)
    assert load(tmp_path / "runs/run/version_0/checkpoints/last.ckpt")["global_step"] == 2


def test_printed_configuration_of_a_checkpoint_is_the_effective_one(trained: Path, tmp_path: Path) -> None:
    printed = yaml.safe_load(succeed([*of("validate", trained), "--print_config"], tmp_path).output)
    assert printed["model"]["d_model"] == 32
    assert printed["data"]["max_tokens"] == 500
