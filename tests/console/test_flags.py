from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lit_transformer.__main__ import COMMANDS
from tests.end_to_end.running import run, succeed

PRUNING = ["--trainer.callbacks+=callbacks.ComponentPruning", "--trainer.callbacks.by=criticality"]


def printed(command: str, *options: str, folder: Path) -> dict[str, Any]:
    """The settings of a command."""
    content: dict[str, Any] = yaml.safe_load(succeed([command, *options, "--print_config"], folder).output)
    return content


@pytest.mark.parametrize("typed", [["--dry_run"], ["--dry_run", "true"], ["--dry_run=true"]])
def test_a_flag_means_true(typed: list[str], tmp_path: Path) -> None:
    # At the end, and before another option.
    for options in ([*typed, "--limit", "5"], ["--limit", "5", *typed]):
        settings = printed("analyze", *options, folder=tmp_path)
        assert (settings["dry_run"], settings["limit"]) == (True, 5)


def test_a_value_is_still_a_value(tmp_path: Path) -> None:
    assert printed("analyze", "--dry_run", "false", folder=tmp_path)["dry_run"] is False
    refused = run(["analyze", "--dry_run", "maybe"], tmp_path)
    assert refused.errors == "lit-transformer: error: --dry_run is 'maybe'; give true or false (bool). See --help.\n"


def test_every_section_has_flags(tmp_path: Path) -> None:
    options = ["--model.chrf", "--data.tokenizer.separate", "--trainer.fast_dev_run", "--trainer.deterministic"]
    settings = printed("fit", *options, "--wandb.log_weights", folder=tmp_path)
    assert (
        settings["model"]["chrf"] is settings["data"]["tokenizer"]["separate"] is settings["trainer"]["deterministic"]
    )
    assert settings["model"]["chrf"] is settings["trainer"]["fast_dev_run"] is settings["wandb"]["log_weights"] is True
    assert settings["model"]["bleu_lowercase"] is False


def test_options_of_a_callback_are_flags_too(tmp_path: Path) -> None:
    settings = printed("fit", *PRUNING, "--trainer.callbacks.most", "--trainer.callbacks.count=3", folder=tmp_path)
    [callback] = settings["trainer"]["callbacks"]
    assert (callback["init_args"]["most"], callback["init_args"]["count"]) == (True, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*PRUNING, "--trainer.callbacks.count"], "--trainer.callbacks.count is 'true'; give a whole number (int)"),
        (["--trainer.callbacks"], "--trainer.callbacks is 'true', which names no class for it"),
        (["--model.heads", "--model.chrf"], "argument --model.heads: expected one argument"),
        (["--name"], "argument --name: expected one argument"),
    ],
)
def test_what_is_not_boolean_needs_a_value(options: list[str], message: str, tmp_path: Path) -> None:
    finished = run(["fit", *options], tmp_path)
    assert finished.status == 2
    assert message in finished.errors
    assert finished.errors.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_is_spelt_alike(command: str, tmp_path: Path) -> None:
    text = " ".join(succeed([command, "--help"], tmp_path).output.decode().split())
    assert text.startswith(f"usage: lit-transformer {command} [")
    assert text.endswith(
        "--quiet shows nothing but translations, warnings and errors; --debug shows where an error comes from."
    )
    if command != "report":
        assert "-c CONFIG, --config CONFIG" in text
        assert "--wandb.log_weights [{true,false}]" in text


def test_the_overview_waits_for_no_library() -> None:
    code = (
        "import sys; from lit_transformer.__main__ import main; main(['--help']); "
        "assert not {'jsonargparse', 'torch'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True, capture_output=True)
