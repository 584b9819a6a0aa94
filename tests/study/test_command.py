from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.study.command import settings_of
from tests.end_to_end.running import run, succeed

CONFIG = ["--config", str(Path(__file__).parents[2] / "configs/study_demo.yaml")]


@pytest.mark.parametrize(
    "typed",
    [
        ["a", "b", *CONFIG, "--name=x"],
        [*CONFIG, "--name", "x", "a", "b"],
        [*CONFIG, "--name", "x", "--base_runs", "[a, b]"],
        [*CONFIG, "--name", "x", "--base_runs=[a]", "--base_runs+=b"],
    ],
)
def test_the_runs_to_start_from_are_named_by_themselves_or_by_their_option(typed: list[str]) -> None:
    settings = settings_of(typed)
    assert (settings.base_runs, settings.name, settings.seeds) == (["a", "b"], "x", [1])


def test_runs_that_are_named_win_over_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("base_runs: [c]\naverage: 2\nfinetune_epochs: 2\n", encoding="utf-8")
    config = ["--config", str(tmp_path / "study.yaml")]
    assert settings_of(config).base_runs == ["c"]
    assert settings_of(["a", *config]).base_runs == ["a"]


def test_a_run_alone_is_enough_to_start_from() -> None:
    assert settings_of(["a", "--average=2", "--finetune_epochs=2"]).base_runs == ["a"]
    with pytest.raises(UserError, match="needs trained models; name their runs, or give --base_config FILE"):
        settings_of(["--average=2", "--finetune_epochs=2"])


def test_runs_in_both_ways_are_refused() -> None:
    with pytest.raises(UserError, match="given twice; name them before the options, or by --base_runs"):
        settings_of(["a", *CONFIG, "--base_runs=[b]"])


def test_a_named_run_that_is_not_there_is_told(tmp_path: Path) -> None:
    finished = run(["study", "a", *CONFIG], tmp_path)
    assert finished.status == 2
    assert "'a' does not exist" in finished.errors


def test_printed_settings_are_those_of_a_study(tmp_path: Path) -> None:
    printed = succeed(["study", *CONFIG, "--print_config"], tmp_path).output.decode()
    assert "\nruns:" not in f"\n{printed}"
