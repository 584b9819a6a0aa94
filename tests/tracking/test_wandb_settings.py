from __future__ import annotations

import os
from pathlib import Path

import pytest

from lit_transformer.errors import UserError
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
        WandbSettings().ready(Path("runs"))


def test_online_without_a_key_says_what_to_do_at_once(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"no API key here; log in with `wandb login` or set WANDB_API_KEY.*--wandb\.mode"
    ):
        WandbSettings(mode="online").ready(tmp_path)
    assert "WANDB_MODE" not in os.environ


def test_what_waits_for_its_upload_lies_in_the_folder_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WandbSettings().ready(tmp_path)
    assert os.environ["WANDB_DATA_DIR"] == str(tmp_path / "wandb")
    monkeypatch.setenv("WANDB_DATA_DIR", "elsewhere")
    assert WandbSettings().ready(tmp_path)
    assert os.environ["WANDB_DATA_DIR"] == "elsewhere"


def test_disabled_leaves_the_environment_alone(tmp_path: Path) -> None:
    assert not WandbSettings(mode="disabled").ready(tmp_path)
    assert not {"WANDB_MODE", "WANDB_SILENT", "WANDB_DATA_DIR"} & os.environ.keys()


@pytest.mark.parametrize("name", ["project", "entity", "group"])
def test_a_name_is_the_one_given_else_that_of_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert WandbSettings().told(name) is None
    monkeypatch.setenv(VARIABLES[name], "")
    assert WandbSettings().told(name) is None
    monkeypatch.setenv(VARIABLES[name], "theirs")
    assert WandbSettings().told(name) == "theirs"
    assert WandbSettings(**{name: "mine"}).told(name) == "mine"  # type: ignore[arg-type]


def test_there_is_always_a_project() -> None:
    assert WandbSettings().effective_project == "lit-transformer"
    assert WandbSettings(project="mine").effective_project == "mine"


def test_the_environment_tells_another_command_all_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert WandbSettings().variables() == {"WANDB_MODE": "offline"}
    given = WandbSettings(mode="offline", project="p", entity="e", group="g", tags=["a", "b"])
    for name, value in given.variables().items():
        monkeypatch.setenv(name, value)
    there = WandbSettings()
    assert there.effective_mode == "offline"
    assert [there.told(name) for name in ("project", "entity", "group")] == ["p", "e", "g"]
    # Those are read by the wandb package itself.
    assert os.environ["WANDB_TAGS"] == "a,b"
