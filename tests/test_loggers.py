from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytorch_lightning.loggers import WandbLogger

from lit_transformer.errors import UserError
from lit_transformer.loggers import WandbSettings, has_wandb_key, run_loggers
from lit_transformer.metrics_log import MetricsLog


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user without any account."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_SILENT", "NETRC"):
        monkeypatch.setenv(name, "")  # so that what the code sets is undone afterwards
        monkeypatch.delenv(name)
    return home


@pytest.mark.parametrize(
    ("setting", "variable", "mode"),
    [
        (None, None, "offline"),
        (None, "", "offline"),
        (None, "online", "online"),
        (None, "dryrun", "offline"),
        (None, "run", "online"),
        ("offline", "online", "offline"),
        ("disabled", "nonsense", "disabled"),
    ],
)
def test_the_mode(setting: str | None, variable: str | None, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable is not None:
        monkeypatch.setenv("WANDB_MODE", variable)
    assert WandbSettings(mode=setting).effective_mode == mode  # type: ignore[arg-type]


def test_a_mode_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "Offline")
    with pytest.raises(UserError, match="WANDB_MODE is 'Offline'; give one of online, offline, disabled"):
        run_loggers(WandbSettings(), Path("runs"), "fit")


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


def test_online_without_a_key_says_what_to_do_at_once(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no API key here; log in with `wandb login` or set WANDB_API_KEY.*--wandb\.mode"
    ):
        run_loggers(WandbSettings(mode="online"), tmp_path / "demo" / "version_0", "fit")
    assert list(tmp_path.iterdir()) == []


def test_a_key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_wandb_key()
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    assert has_wandb_key()


@pytest.mark.parametrize(
    ("content", "address", "found"),
    [
        ("machine api.wandb.ai login user password 0123", None, True),
        ("machine example.org login user password 0123", None, False),
        ("machine wandb.example.org login user password 0123", "https://wandb.example.org/", True),
        ("machine api.wandb.ai login user password 0123", "https://wandb.example.org", False),
        ("this is no netrc file", None, False),
        ("", None, False),
    ],
)
def test_a_key_in_the_users_netrc(
    nobody: Path, content: str, address: str | None, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nobody / ".netrc").write_text(content)
    (nobody / ".netrc").chmod(0o600)
    if address is not None:
        monkeypatch.setenv("WANDB_BASE_URL", address)
    assert has_wandb_key() is found


def test_a_netrc_of_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keys").write_text("machine api.wandb.ai login user password 0123")
    monkeypatch.setenv("NETRC", str(tmp_path / "keys"))
    assert has_wandb_key()
