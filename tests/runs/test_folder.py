from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from lit_transformer.errors import UserError
from lit_transformer.runs.folder import new_run_folder, remove_if_empty

VARIABLE = "LIT_TRANSFORMER_RUN_FOLDER"


@pytest.fixture(autouse=True)
def first_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_zero_only, "rank", 0, raising=False)
    monkeypatch.setenv(VARIABLE, "")


def test_versions_are_counted_up(tmp_path: Path) -> None:
    made = [new_run_folder(tmp_path / "runs", name) for name in ("demo", "demo", "other", "demo")]
    assert [path.relative_to(tmp_path / "runs").as_posix() for path in made] == [
        "demo/version_0",
        "demo/version_1",
        "other/version_0",
        "demo/version_2",
    ]
    assert all(path.is_dir() and not list(path.iterdir()) for path in made)


def test_never_a_version_that_was_there(tmp_path: Path) -> None:
    for name in ("version_2", "version_10", "version_x", "version_3_old", "notes"):
        (tmp_path / "demo" / name).mkdir(parents=True)
    (tmp_path / "demo" / "version_11").touch()  # a file takes the name too
    assert new_run_folder(tmp_path, "demo").name == "version_12"


def test_a_relative_folder_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = new_run_folder("runs", "demo")
    assert folder == tmp_path / "runs" / "demo" / "version_0"


def test_runs_that_start_at_once_share_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of them looks before any of the others has made its folder.
    monkeypatch.setattr(Path, "glob", lambda path, pattern: iter(()))
    made = [new_run_folder(tmp_path, "demo") for _ in range(3)]
    assert [path.name for path in made] == ["version_0", "version_1", "version_2"]


def test_the_first_process_of_another_node_makes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_RANK", "1")
    assert new_run_folder(tmp_path, "demo") == tmp_path / "demo"
    assert not list(tmp_path.iterdir())


def test_other_processes_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_run_folder(tmp_path, "demo")
    assert os.environ[VARIABLE] == str(folder)
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    assert new_run_folder(tmp_path, "demo") == folder
    monkeypatch.delenv(VARIABLE)
    assert new_run_folder(tmp_path, "demo") == tmp_path / "demo"  # a cluster's process: the first one tells it later
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["version_0"]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a b", "-x", ".hidden", "a\n", "a\\b", "*"])
def test_a_name_that_is_no_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=r"--name .* is no name of a folder; use letters") as caught:
        new_run_folder(tmp_path / "runs", name)
    assert repr(name) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["demo", "en-de_2.1", "größe", "7", "_x", "a+b"])
def test_names_of_folders(tmp_path: Path, name: str) -> None:
    assert new_run_folder(tmp_path, name) == tmp_path / name / "version_0"


def test_an_empty_folder_goes_and_any_other_stays(tmp_path: Path) -> None:
    first, second = (new_run_folder(tmp_path / "runs", "demo") for _ in range(2))
    (second / "metrics.csv").touch()
    remove_if_empty(second)
    remove_if_empty(first)
    remove_if_empty(first)  # twice does no harm
    assert [path.name for path in (tmp_path / "runs" / "demo").iterdir()] == ["version_1"]
    alone = new_run_folder(tmp_path / "runs", "other")
    remove_if_empty(alone)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["demo"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(
        UserError, match=r"cannot make a run's folder in '.*runs/demo': Not a directory; give --runs_dir"
    ):
        new_run_folder(tmp_path / "runs", "demo")
