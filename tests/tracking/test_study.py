from __future__ import annotations

import os
from pathlib import Path

import pytest

from lit_transformer.tracking.study import group_of_study, log_study
from lit_transformer.tracking.wandb_settings import WandbSettings
from tests.wandb_records import runs_below

TABLE = "family,arm,seed,test_bleu,draw\nbase,trained,1,30.5,\ntrained,pruned,1,,2\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "studies" / "s"
    folder.mkdir(parents=True)
    (folder / "study.csv").write_text(TABLE, encoding="utf-8")
    (folder / "study.md").write_text("# Study s\n", encoding="utf-8")
    return folder


def test_a_study_is_one_run_with_its_table(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_MODE", "WANDB_SILENT", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    base = tmp_path / "runs" / "demo" / "version_0"
    log_study(WandbSettings(mode="offline"), study, {"count": 3}, [base])
    [made] = runs_below(study)
    assert (made.about.run_group, made.about.job_type, made.about.display_name) == ("demo", "study", "s-study")
    table = made.table("study/runs")
    assert table["columns"] == ["family", "arm", "seed", "test_bleu", "draw"]
    assert table["data"] == [["base", "trained", 1, 30.5, None], ["trained", "pruned", 1, None, 2]]
    [artifact] = made.artifacts("study")
    assert artifact.name == "s-study"
    assert {Path(file.local_path) for file in artifact.manifest.contents} == {study / "study.csv", study / "study.md"}
    assert (made.config["count"], made.config["base_runs"]) == (3, ["demo-version_0-fit"])


def test_disabled_makes_nothing(study: Path) -> None:
    before = set(os.environ.items())
    log_study(WandbSettings(mode="disabled"), study, {})
    assert {path.name for path in study.iterdir()} == {"study.csv", "study.md"}
    assert set(os.environ.items()) == before


def test_the_group_of_a_study(tmp_path: Path) -> None:
    runs = [tmp_path / name / "version_0" for name in ("one", "two")]
    assert group_of_study("s", runs[:1]) == "one"
    assert group_of_study("s", runs) == "s"
    assert group_of_study("s", []) == "s"
