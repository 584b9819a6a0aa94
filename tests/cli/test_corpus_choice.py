from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lit_transformer.cli.corpus_choice import files_instead

FILES = ["--data.train=t.{lang}", "--data.validation", "v.{lang}"]
SIZES = {"train_size": 5, "validation_size": 5, "test_size": 5}
ALL = [f"--data.{name}=null" for name in ("dataset", *SIZES)]


def settings(**options: Any) -> dict[str, Any]:
    """Data settings of a command line that names files."""
    return {"dataset": "grammar", "train": "t.{lang}", "validation": "v.{lang}", "test": None, **options}


@pytest.fixture
def config(tmp_path: Path) -> str:
    """A configuration such as the demo's."""
    path = tmp_path / "demo.yaml"
    path.write_text("data:\n  dataset: grammar\n  train: null\n  train_size: 5\n  test_size: 5\n", encoding="utf-8")
    return str(path)


def test_files_win_over_an_earlier_source(config: str) -> None:
    assert files_instead(settings(), ["fit", *FILES]) == ALL
    for named in (["--config", config], [f"--config={config}"], ["-c", config]):
        assert files_instead(settings(), ["fit", *named, *FILES]) == ALL
    assert files_instead(settings(), ["fit", "--config", config, "--data", "{train: t.tsv}"]) == ALL


def test_a_later_file_of_settings_wins_too(config: str, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("data: {train: t.tsv, train_size: 7}\n", encoding="utf-8")
    both = [f"--config={config}", f"--config={own}"]
    assert files_instead(settings(), ["fit", *both]) == [option for option in ALL if "train_size" not in option]
    assert files_instead(settings(), ["fit", *both[::-1]]) == []


def test_a_size_that_is_given_with_the_files_stays(config: str) -> None:
    typed = ["fit", "--config", config, *FILES, "--data.train_size", "3"]
    assert files_instead(settings(), typed) == [option for option in ALL if "train_size" not in option]


def test_a_corpus_of_the_same_source_or_a_later_one_stays(config: str) -> None:
    assert files_instead(settings(), ["fit", *FILES, "--data.dataset", "grammar"]) == []
    assert files_instead(settings(), ["fit", *FILES, "--config", config]) == []


def test_a_data_set_with_its_splits_stays() -> None:
    assert files_instead(settings(dataset="name/of"), ["fit", "--data.dataset=name/of", *FILES]) == []
    before = {"dataset": "name/of"}
    assert files_instead(settings(), ["test", "--data.test=other"], before) == []


def test_files_that_nobody_names_change_nothing() -> None:
    nothing = settings(train=None, validation=None)
    assert files_instead(nothing, ["fit", "--data.train=null"]) == []
    assert files_instead({**nothing, "dir": "d"}, ["fit", "--data.dir=d"]) == []
    assert files_instead(nothing, ["analyze", "--dry_run", "--limit", "-1"], {"dataset": "grammar"}) == []


@pytest.mark.parametrize("content", [b"data: [", b"\xff\xfe", b"- 1\n", b"data: 3\n"])
def test_a_file_that_holds_no_settings_is_left_to_the_parser(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_bytes(content)
    assert files_instead(settings(), ["fit", "--config", str(tmp_path / "odd.yaml"), *FILES]) == ALL
    assert files_instead(settings(), ["fit", "--config", str(tmp_path / "none.yaml"), *FILES]) == ALL
