from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lit_transformer.tracking import key
from lit_transformer.tracking.key import has_wandb_key

# The form of a real key.
KEY = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user without any account."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in [*(name for name in os.environ if name.startswith("WANDB_")), "NETRC"]:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ["WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE"])
def test_a_key_in_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_wandb_key()
    monkeypatch.setenv(name, KEY)
    assert has_wandb_key()


@pytest.mark.parametrize("where", [[], ["--host", "https://wandb.example.org"]])
@pytest.mark.parametrize("file", [None, "keys"])
def test_whoever_logged_in_has_a_key(where: list[str], file: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if file is not None:
        monkeypatch.setenv("NETRC", str(Path.home() / file))
    command = "import sys; from wandb.cli.cli import cli; cli(sys.argv[1:])"
    login = [sys.executable, "-c", command, "login", "--relogin", "--no-verify", *where, KEY]
    subprocess.run(login, check=True, capture_output=True, timeout=300)
    assert has_wandb_key()
    monkeypatch.setenv("WANDB_BASE_URL", "https://elsewhere.example.org")
    assert not has_wandb_key()


def test_a_key_in_the_settings_of_the_user(nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nobody / "config").mkdir()
    (nobody / "config/settings").write_text(f"[default]\napi_key = {KEY}\n")
    assert not has_wandb_key()
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(nobody / "config"))
    assert has_wandb_key()


@pytest.mark.parametrize("release", ["this", "another"])
@pytest.mark.parametrize(
    ("content", "address", "found"),
    [
        (f"machine example.org login user password {KEY}", None, False),
        (f"machine wandb.example.org login user password {KEY}", "https://wandb.example.org/", True),
        (f"machine api.wandb.ai login user password {KEY}", None, True),
        (f"machine api.wandb.ai login user password {KEY}", "https://wandb.example.org", False),
        (f"machine api.wandb.ai login user password {KEY}", "no address", False),
        ("this is no netrc file", None, False),
        ("", None, False),
    ],
)
def test_a_key_in_the_users_netrc(
    nobody: Path, content: str, address: str | None, found: bool, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nobody / ".netrc").write_text(content)
    (nobody / ".netrc").chmod(0o600)
    if address is not None:
        monkeypatch.setenv("WANDB_BASE_URL", address)
    if release == "another":
        # One that has neither such settings nor such a reading of keys.
        monkeypatch.delattr("wandb.Settings.update_from_system_settings")
        monkeypatch.setitem(sys.modules, "wandb.sdk.lib.wbauth", None)
    assert has_wandb_key() is found


def test_nothing_of_the_process_is_settled_by_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wandb.sdk.wandb_setup.singleton", lambda: pytest.fail("the settings of the process are made"))
    assert key._configured()[1] is False
