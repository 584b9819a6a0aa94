from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.tracking.names import artifact, group_of, run_name, version


def run(folder: Path, config: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    return folder


def test_the_name_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_name(tmp_path / "demo" / "version_3", "fit") == "demo-version_3-fit"
    monkeypatch.chdir(tmp_path)
    assert run_name(Path("demo/version_3"), "fit") == "demo-version_3-fit"


@pytest.mark.parametrize(
    "config", ["", "name: demo", "wandb: null", "start_from: null", "- no\n- settings", "a: [", "é: {"]
)
def test_without_a_parent_the_group_is_the_experiment(config: str, tmp_path: Path) -> None:
    assert group_of(run(tmp_path / "demo" / "version_0", config)) == "demo"


def test_the_group_of_a_run_that_is_gone(tmp_path: Path) -> None:
    assert group_of(tmp_path / "demo" / "version_0") == "demo"


def test_the_group_is_that_of_the_first_of_a_line_of_runs(tmp_path: Path) -> None:
    first = run(tmp_path / "first" / "version_0", "name: first")
    second = run(tmp_path / "second" / "version_0", f"start_from: {first}/checkpoints/average.ckpt")
    third = run(tmp_path / "third" / "version_0", f"start_from: {second}/checkpoints/best-loss.ckpt")
    assert group_of(third) == "first"
    (first / "config.yaml").write_text("wandb: {group: named}", encoding="utf-8")
    assert group_of(third) == "named"
    (second / "config.yaml").unlink()
    assert group_of(third) == "second"


def test_two_runs_that_name_each_other_end(tmp_path: Path) -> None:
    one, two = tmp_path / "one" / "version_0", tmp_path / "two" / "version_0"
    run(one, f"start_from: {two}/checkpoints/a.ckpt")
    run(two, f"start_from: {one}/checkpoints/a.ckpt")
    assert group_of(one) in ("one", "two")


def test_an_artifact_has_a_name_that_wandb_takes(tmp_path: Path) -> None:
    name = artifact(tmp_path / "a+b" / "version_0", "step=10")
    assert name == "a-b-version_0-step-10"
    assert version(name, "0123456789abcdef") == f"{name}:0123456789ab"
