from __future__ import annotations

from pathlib import Path

import pytest

from lit_transformer.errors import UserError
from lit_transformer.runs.config import config_of, read_config, read_settings, section_of

WHOLE = b"name: demo\ntrainer: {max_epochs: 2}\nmodel: {d_model: 8}\n"
UNREADABLE = {
    b"- 1\n": "holds list, not settings",
    b"3": "holds int, not settings",
    b"a: b: c": "mapping values are not allowed",
    b"name: [": "while parsing",
    b"\xff\xfe\x00": "can't decode",
    b"day: 2001-99-99": "month must be in 1..12",
    b"[" * 5000: "recursion",
}
WITHOUT_SECTIONS = {
    b"": "it has no section trainer",
    b"trainer: 5\nmodel: foo\n": "it has no section trainer",
    b"trainer: {}": "no section model",
}


def test_a_whole_one(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(WHOLE)
    assert read_config(tmp_path) == config_of(tmp_path)
    assert config_of(tmp_path) == {"name": "demo", "trainer": {"max_epochs": 2}, "model": {"d_model": 8}}


@pytest.mark.parametrize(("content", "reason"), [*UNREADABLE.items(), *WITHOUT_SECTIONS.items()])
def test_one_that_a_run_did_not_write(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(UserError) as told:
        read_config(tmp_path)
    assert "config.yaml' can't be read (" in str(told.value)
    assert reason in str(told.value)
    assert str(told.value).endswith("give the folder of a run that fit wrote.")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", UNREADABLE)
def test_one_that_is_not_needed(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    assert config_of(tmp_path) == {}


def test_none(tmp_path: Path) -> None:
    assert config_of(tmp_path) == {}
    with pytest.raises(UserError, match="No such file"):
        read_config(tmp_path)


@pytest.mark.parametrize("value", [None, 5, "x", [1]])
def test_a_section_that_is_none(value: object) -> None:
    assert section_of({"wandb": value}, "wandb") == {}
    assert section_of({"wandb": {"group": "mine"}}, "wandb") == {"group": "mine"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\n: x: [", ", line 2 is no YAML: "),
        (b"- 1\n", " holds list, not settings; write lines such as 'name: demo'."),
        (b"\xff", " cannot be read: "),
        (b"[" * 5000, "; write lines such as 'name: demo'."),
    ],
)
def test_a_file_that_holds_no_settings(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError) as told:
        read_settings(path, "--config 'my.yaml'")
    assert str(told.value).startswith("--config 'my.yaml'")
    assert message in str(told.value)


def test_a_file_of_nothing_has_no_settings(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("# Nothing yet.\n")
    assert read_settings(tmp_path / "my.yaml", "--config") == {}
