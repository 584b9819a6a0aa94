"""One's own text: the names of its files are all that has to be given, whatever a configuration says of the corpus."""

from __future__ import annotations

import gzip
import itertools
import os
from pathlib import Path

import pytest
import yaml

from lit_transformer import grammar
from tests.end_to_end.running import (
    MODEL,
    TRAINER,
    Finished,
    config_of,
    lines_of,
    load,
    of,
    options,
    read_csv,
    read_json,
    run,
    succeed,
)

SPLITS = {"corpus": ("train", 300), "dev": ("val", 20), "test": ("test_2016_flickr", 12)}
NAMES = ["--data.train", "corpus.{lang}", "--data.validation", "dev.{lang}"]
TINY = [*options("model", MODEL), "--data.tokenizer.vocab_size=500", "--data.max_tokens=1000"]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of real text: the first captions of Multi30k, as files of other names."""
    data = os.environ.get("LIT_TRANSFORMER_DATA")
    if not data:
        pytest.skip("LIT_TRANSFORMER_DATA names no folder of real text")
    folder = tmp_path_factory.mktemp("own")
    for name, (split, size) in SPLITS.items():
        for language in ("en", "de"):
            with gzip.open(Path(data) / f"multi30k/{split}.{language}.gz", "rt", encoding="utf-8") as lines:
                (folder / f"{name}.{language}").write_text("".join(itertools.islice(lines, size)), encoding="utf-8")
    return folder


def fit(config: str, own: Path, folder: Path, *more: str) -> Path:
    """Train on the text by a configuration that comes with the program, and return the folder of the run."""
    trainer = {**TRAINER, "max_epochs": 100, "max_steps": 4, "val_check_interval": 2, "precision": 32}
    command = ["fit", "--config", config, "--data.dir", str(own), *NAMES, *more]
    succeed([*command, *TINY, *options("trainer", trainer), "--name=own"], folder)
    return folder / "runs/own/version_0"


def translated(made: Path, split: str) -> list[str]:
    [path] = made.glob(f"translations/*/{split}/source.txt")
    return lines_of(path)


@pytest.mark.parametrize("config", ["multi30k.yaml", "demo.yaml"])
def test_every_command_works_on_text_of_ones_own(config: str, own: Path, tmp_path: Path) -> None:
    made = fit(config, own, tmp_path, "--data.test", "test.{lang}")
    data = config_of(made)["data"]
    assert {name: data[name] for name in ("dataset", "train", "train_size", "test_size")} == {
        "dataset": None,
        "train": "corpus.{lang}",
        "train_size": None,
        "test_size": None,
    }
    assert load(made / "checkpoints/last.ckpt")["datamodule_hyper_parameters"]["dataset"] is None
    succeed(of("validate", made), tmp_path)
    succeed(of("test", made), tmp_path)
    assert translated(made, "dev") == lines_of(own / "dev.en")
    assert translated(made, "test") == lines_of(own / "test.en")
    succeed(of("analyze", made, "--components=d:ff"), tmp_path)
    [scores] = made.glob("analysis/*/selected/scores.csv")
    assert [row["component"] for row in read_csv(scores)] == ["d:ff:1", "d:ff:2"]
    predicted = succeed(of("predict", made, "--input", str(own / "dev.en")), tmp_path).output.decode()
    assert predicted.count("\n") == 20
    # What is written makes the run anew.
    again = ["fit", "--config", str(made / "config.yaml"), "--name=again", "--trainer.max_steps=2"]
    succeed(again, tmp_path)
    assert config_of(tmp_path / "runs/again/version_0")["data"] == data


@pytest.mark.parametrize("config", ["multi30k.yaml", "demo.yaml"])
def test_a_test_split_is_needed_by_test_alone(config: str, own: Path, tmp_path: Path) -> None:
    made = fit(config, own, tmp_path)
    succeed(of("analyze", made, "--components=d:ff:1"), tmp_path)
    succeed(of("predict", made, "--input", str(own / "dev.en")), tmp_path)
    refused = run(of("test", made), tmp_path)
    assert refused.status == 2
    assert refused.errors.count("\n") == 1
    assert "--data.test" in refused.errors
    succeed(of("test", made, "--data.test", "test.{lang}"), tmp_path)
    assert translated(made, "test") == lines_of(own / "test.en")


def grammar_run(folder: Path) -> Path:
    """A run on the built-in corpus."""
    sizes = {"train_size": 200, "validation_size": 10, "test_size": 5}
    trainer = {**TRAINER, "max_steps": 2, "val_check_interval": 2}
    command = ["fit", *TINY, *options("data", sizes), *options("trainer", trainer)]
    succeed(command, folder)
    return folder / "runs/run/version_0"


def test_a_model_of_the_built_in_corpus_is_tested_on_a_file(own: Path, tmp_path: Path) -> None:
    """All of it, though the corpus that it was trained on had a size."""
    made = grammar_run(tmp_path)
    succeed(of("test", made), tmp_path)
    [first, *_] = grammar.generate("en", "de", "test", 5, 1)
    assert translated(made, "test")[0] == first.source
    assert len(translated(made, "test")) == 5
    succeed(of("test", made, "--data.test", str(own / "test.{lang}")), tmp_path)
    assert translated(made, "test") == lines_of(own / "test.en")
    [scores] = made.glob("translations/*/test/scores.json")
    assert read_json(scores)["data"]["dataset"] is None


def printed(folder: Path, *typed: str) -> dict[str, str | None]:
    content: dict[str, str | None] = yaml.safe_load(succeed(["fit", *typed, "--print_config"], folder).output)["data"]
    return content


def test_what_is_printed_is_what_is_done(tmp_path: Path) -> None:
    data = printed(tmp_path, "--config", "demo.yaml", *NAMES)
    assert (data["dataset"], data["train"], data["train_size"]) == (None, "corpus.{lang}", None)
    assert printed(tmp_path, "--config", "demo.yaml")["dataset"] == "grammar"


def check_refused(finished: Finished, *named: str) -> None:
    assert finished.status == 2
    assert finished.errors.count("\n") == 1
    assert all(name in finished.errors for name in named)


@pytest.mark.parametrize(
    "typed",
    [
        [*NAMES, "--data.dataset", "grammar"],
        ["--config", "multi30k.yaml", "--data.dataset", "grammar"],
        ["--config", "demo.yaml", "--data.dir", "."],
    ],
)
def test_a_contradiction_is_refused(typed: list[str], tmp_path: Path) -> None:
    check_refused(run(["fit", *typed], tmp_path), "the built-in grammar corpus has no files", "--data.dataset")


def test_files_beside_a_data_set_are_refused(own: Path, tmp_path: Path) -> None:
    typed = ["--data.dataset", str(own), "--data.train", "corpus.{lang}", "--data.validation", "dev.{lang}"]
    check_refused(run(["fit", *typed], tmp_path), "--data.")
