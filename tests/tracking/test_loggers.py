from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pytorch_lightning.loggers import WandbLogger

from lit_transformer.errors import UserError
from lit_transformer.runs.metrics_log import MetricsLog
from lit_transformer.tracking.loggers import run_loggers
from lit_transformer.tracking.run import runs_of
from lit_transformer.tracking.wandb_settings import VARIABLES, WandbSettings


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user without any account."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in (*VARIABLES.values(), "WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_SILENT", "WANDB_DATA_DIR", "NETRC"):
        monkeypatch.setenv(name, "")  # so that what the code sets is undone afterwards
        monkeypatch.delenv(name)
    return home


def test_disabled_leaves_the_table_of_metrics_alone(tmp_path: Path) -> None:
    (only,) = run_loggers(WandbSettings(mode="disabled"), tmp_path / "demo" / "version_0", "fit")
    assert isinstance(only, MetricsLog)
    assert only.path == tmp_path / "demo" / "version_0" / "metrics.csv"
    assert list(tmp_path.iterdir()) == []


def test_offline_is_the_default_and_needs_no_account(tmp_path: Path) -> None:
    folder = tmp_path / "demo" / "version_0"
    table, wandb = run_loggers(WandbSettings(tags=["a"]), folder, "analyze")
    assert isinstance(table, MetricsLog)
    assert isinstance(wandb, WandbLogger)
    options = wandb._wandb_init
    assert options["name"] == "demo-version_0-analyze"
    assert (options["project"], options["group"], options["job_type"]) == ("lit-transformer", "demo", "analyze")
    assert (options["tags"], options["entity"]) == (["a"], None)
    assert wandb.save_dir == str(folder)
    assert os.environ["WANDB_MODE"] == "offline"


def test_names_that_were_given(tmp_path: Path) -> None:
    settings = WandbSettings(mode="offline", project="p", entity="e", group="g")
    _, wandb = run_loggers(settings, tmp_path / "demo" / "version_0", "fit")
    assert isinstance(wandb, WandbLogger)
    assert [wandb._wandb_init[name] for name in ("project", "entity", "group")] == ["p", "e", "g"]


def test_names_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("project", "entity", "group"):
        monkeypatch.setenv(VARIABLES[name], name[0])
    _, wandb = run_loggers(WandbSettings(mode="offline"), tmp_path / "demo" / "version_0", "fit")
    assert isinstance(wandb, WandbLogger)
    assert [wandb._wandb_init[name] for name in ("project", "entity", "group")] == ["p", "e", "g"]


def test_online_without_a_key_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no API key here"):
        run_loggers(WandbSettings(mode="online"), tmp_path / "demo" / "version_0", "fit")
    assert list(tmp_path.iterdir()) == []


def options(folder: Path, command: str, given: Path | None = None, **settings: Any) -> dict[str, Any]:
    _, wandb = run_loggers(WandbSettings(mode="offline", **settings), folder, command, given)
    assert isinstance(wandb, WandbLogger)
    return wandb._wandb_init


def test_a_run_that_starts_from_another_one_belongs_to_its_group(tmp_path: Path) -> None:
    parent, tuned = tmp_path / "demo" / "version_0", tmp_path / "tuned" / "version_0"
    checkpoint = parent / "checkpoints" / "average.ckpt"
    made = options(tuned, "fit", checkpoint)
    assert (made["group"], made["job_type"], made["name"]) == ("demo", "fine-tune", "tuned-version_0-fit")
    (tuned / "config.yaml").write_text(f"start_from: {checkpoint}\n")
    # Resumed, analysed, and tuned again.
    own = tuned / "checkpoints" / "last.ckpt"
    assert (options(tuned, "fit", own)["group"], options(tuned, "fit", own)["job_type"]) == ("demo", "fine-tune")
    assert options(tuned, "analyze", own)["group"] == "demo"
    assert options(tmp_path / "again" / "version_0", "fit", own)["group"] == "demo"
    assert options(tuned, "fit", own, group="mine")["group"] == "mine"


def test_a_resumed_run_is_no_fine_tuning(tmp_path: Path) -> None:
    folder = tmp_path / "demo" / "version_0"
    made = options(folder, "fit", folder / "checkpoints" / "last.ckpt")
    assert (made["group"], made["job_type"]) == ("demo", "fit")


def test_an_analysis_that_writes_elsewhere_belongs_to_the_run_of_its_checkpoint(tmp_path: Path) -> None:
    made = options(tmp_path / "elsewhere", "analyze", tmp_path / "demo" / "version_3" / "checkpoints" / "a.ckpt")
    assert (made["group"], made["name"]) == ("demo", "demo-version_3-analyze")
    assert made["dir"] == str(tmp_path / "elsewhere")


def test_a_run_that_does_not_begin_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    def refused(**_: Any) -> None:
        raise wandb.errors.CommError("no such host")

    monkeypatch.setattr(wandb, "init", refused)
    _, logger = run_loggers(WandbSettings(mode="offline"), tmp_path / "demo" / "version_0", "fit")
    with pytest.raises(UserError, match=r"did not begin a run: no such host\. Go offline with --wandb.mode offline"):
        runs_of([logger])
