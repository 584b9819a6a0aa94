"""The DataModule: what it reads for which command, what it leaves out, what a checkpoint keeps of it."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from jsonargparse import ArgumentParser
from pytorch_lightning.trainer.states import TrainerFn
from torch import Tensor

from lit_transformer.data import datamodule as module_under_test
from lit_transformer.data.batch import Batch
from lit_transformer.data.datamodule import TranslationDataModule, default_cache_dir, tokenizer_of_state
from lit_transformer.data.tokenizer import Tokenizer, TokenizerSettings, obtain_tokenizer
from lit_transformer.errors import UserError

SETTINGS = TokenizerSettings(vocab_size=24, byte_fallback=False)
WORDS = ["a", "b", "A", "C", "D", "bad", "cab", "dab", "dad", "acacia"]


def write(folder: Path, split: str, source: list[str], target: list[str]) -> None:
    for language, lines in (("en", source), ("de", target)):
        (folder / f"{split}.{language}").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def words(pairs: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, 12))) for _ in range(pairs)]


def files(folder: Path, **options: Any) -> TranslationDataModule:
    names = {split: f"{split}.{{lang}}" for split in ("train", "validation", "test")}
    return TranslationDataModule(
        **{"dataset": None, "dir": str(folder), "tokenizer": SETTINGS, "cache_dir": str(folder), **names, **options}
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.getbasetemp() / "datasets")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for number, (split, pairs) in enumerate([("train", 60), ("validation", 8), ("test", 5)]):
        write(tmp_path, split, words(pairs, number), words(pairs, number + 10))
    return tmp_path


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    import datasets

    text = datasets.Dataset.from_dict({"source": words(50, 3), "target": words(50, 4)})
    return obtain_tokenizer(dataclasses.replace(SETTINGS, vocab_size=22), text, tmp_path_factory.mktemp("tokenizer"))


def batches(loader: Any) -> list[Batch]:
    return list(loader)


def test_pairs_with_an_empty_side_are_left_out_of_training_only(
    tmp_path: Path, tokenizer: Tokenizer, caplog: pytest.LogCaptureFixture
) -> None:
    for split in ("train", "validation"):
        write(tmp_path, split, ["A", "", "C", "D"], ["a", "b", "   ", "d"])
    data = files(tmp_path)
    data.use_tokenizer(tokenizer)
    with caplog.at_level(logging.INFO):
        data.setup("fit")
    assert "Left out 2 of 4 training pairs with an empty side." in caplog.text
    assert "Training pairs: 2." in caplog.text

    training = batches(data.train_dataloader())
    rows = [row for batch in training for row in batch.index.tolist()]
    assert [data.encoded["train"].texts([row])[0] for row in sorted(rows)] == [("A", "a"), ("D", "d")]
    assert all(batch.sources == [] for batch in training)

    kept: dict[int, str] = {}
    for batch in data.val_dataloader():
        kept.update(zip(batch.index.tolist(), batch.references, strict=True))
    assert [kept[row].strip() for row in range(4)] == ["a", "b", "", "d"]


def test_long_pairs_are_left_out(corpus: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = files(corpus, max_length=4)
    data.setup("fit")
    source, target = data.encoded["train"].source_lengths, data.encoded["train"].target_lengths
    expected = np.flatnonzero((source <= 4) & (target <= 4))
    assert 0 < len(expected) < 60
    rows = torch.cat([batch.index for batch in data.train_dataloader()])
    assert sorted(rows.tolist()) == expected.tolist()
    assert f"Left out {60 - len(expected)} of 60 training pairs with more than 4 pieces (max_length)." in caplog.text
    # The evaluation keeps every pair.
    assert sum(len(batch) for batch in data.val_dataloader()) == 8


def test_nothing_left_to_train_on(tmp_path: Path, corpus: Path, tokenizer: Tokenizer) -> None:
    write(tmp_path, "train", ["A", ""], ["", "b"])
    data = files(tmp_path)
    data.use_tokenizer(tokenizer)
    with pytest.raises(UserError, match=r"no usable pair .* of 2 pairs: 2 have an empty side"):
        data.setup("fit")


def test_batches_hold_the_tokenizers_pieces(corpus: Path) -> None:
    data = files(corpus)
    data.setup("test")
    (batch,) = batches(data.test_dataloader())
    for row, source, target in zip(batch.index, batch.source.tolist(), batch.target.tolist(), strict=True):
        texts = words(5, 2)[int(row)], words(5, 12)[int(row)]
        ours = data.tokenizer.encode_source([texts[0]])[0], data.tokenizer.encode_target([texts[1]])[0]
        assert source == ours[0] + [3] + [0] * (len(source) - len(ours[0]) - 1)
        assert target == [2, *ours[1], 3] + [0] * (len(target) - len(ours[1]) - 2)


@pytest.mark.parametrize(("stage", "needed"), [("test", "test"), ("validate", "validation")])
def test_evaluation_reads_its_own_split_only(tmp_path: Path, tokenizer: Tokenizer, stage: str, needed: str) -> None:
    write(tmp_path, needed, words(3), words(3))
    tokenizer.save(tmp_path / "given.model")
    data = files(tmp_path, tokenizer=dataclasses.replace(SETTINGS, model=str(tmp_path / "given.model")))
    data.setup(stage)
    assert list(data.encoded) == [needed]
    assert data.tokenizer.digest == tokenizer.digest


def test_a_given_tokenizer_is_not_trained_again(
    corpus: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(*_: Any) -> None:
        raise AssertionError("trained")

    monkeypatch.setattr(module_under_test, "obtain_tokenizer", trained)
    data = files(corpus)
    data.use_tokenizer(tokenizer)
    data.prepare_data()
    data.setup("fit")
    assert data.tokenizer is tokenizer
    with pytest.raises(AssertionError, match="trained"):
        files(corpus).setup("fit")


def test_predict_gives_a_row_for_every_line(tmp_path: Path, tokenizer: Tokenizer) -> None:
    data = files(tmp_path, eval_max_tokens=12)
    data.use_tokenizer(tokenizer)
    data.setup("predict")
    lines = ["a b c d a b", "", "A", "   ", "c c", ""]
    data.set_inputs(lines)
    found = batches(data.predict_dataloader())
    assert len(found) > 1
    texts = {int(i): text for batch in found for i, text in zip(batch.index, batch.sources, strict=True)}
    assert [texts[i] for i in range(6)] == lines
    blank = {int(i): bool(b) for batch in found for i, b in zip(batch.index, batch.blank, strict=True)}
    assert [blank[i] for i in range(6)] == [False, True, False, True, False, True]
    assert all(batch.references == [] for batch in found)
    assert all(batch.target.tolist() == [[2, 3]] * len(batch) for batch in found)


def test_checkpoint_holds_tokenizer_and_plain_settings(tmp_path: Path, corpus: Path) -> None:
    data = files(corpus, max_tokens=99)
    data.setup("validate")
    path = tmp_path / "state.ckpt"
    torch.save({"state": data.state_dict(), "settings": dict(data.hparams)}, path)
    restored = torch.load(path, weights_only=True)
    assert restored["state"]["tokenizer"].dtype == torch.uint8
    assert tokenizer_of_state(restored["state"]).digest == data.tokenizer.digest
    assert restored["settings"]["tokenizer"]["vocab_size"] == 24
    again = TranslationDataModule(**restored["settings"])
    assert dict(again.hparams) == dict(data.hparams)
    assert again.tokenizer_settings == SETTINGS
    assert again.max_tokens == 99


def test_another_tokenizer_than_the_checkpoints(corpus: Path, tokenizer: Tokenizer) -> None:
    data = files(corpus)
    state = data.state_dict()
    data.load_state_dict(state)
    data.use_tokenizer(tokenizer)
    with pytest.raises(UserError, match=r"pieces mean other things.*--data\.tokenizer"):
        data.load_state_dict(state)


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_length", 0), ("max_tokens", 0), ("eval_max_tokens", -1), ("workers", -1), ("seed", -1)],
)
def test_settings_out_of_range(option: str, value: int) -> None:
    with pytest.raises(UserError, match=rf"--data\.{option} {value}"):
        files(Path(), **{option: value})


def test_command_line() -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(TranslationDataModule, "data")
    settings = parser.parse_args(["--data.tokenizer.vocab_size", "77", "--data.tokenizer.separate", "true"])
    assert settings.data.tokenizer.vocab_size == 77
    # The next one starts from the defaults again.
    assert parser.parse_args([]).data.tokenizer.vocab_size == TokenizerSettings().vocab_size
    documented = parser.format_help()
    for name in ("max_tokens", "workers", "cache_dir", "validation_size"):
        assert f"--data.{name}" in documented
    undocumented = [action.dest for action in parser._actions if "data." in action.dest and not action.help]
    assert undocumented == []


def test_default_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LIT_TRANSFORMER_CACHE", str(tmp_path / "own"))
    assert default_cache_dir() == tmp_path / "own"
    monkeypatch.delenv("LIT_TRANSFORMER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_dir() == tmp_path / "xdg" / "lit-transformer"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / ".cache" / "lit-transformer"


class Rows(pl.LightningModule):
    """Notes the rows of the training batches."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.rows: list[list[int]] = []

    def training_step(self, batch: Batch) -> Tensor:
        self.rows.append(batch.index.tolist())
        return self.weight.sum()

    def validation_step(self, batch: Batch) -> None:
        pass

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def trainer(folder: Path, **options: Any) -> pl.Trainer:
    quiet: dict[str, Any] = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    return pl.Trainer(accelerator="cpu", devices=1, default_root_dir=folder, **quiet, **options)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_overfit_batches_repeats_whole_batches(corpus: Path) -> None:
    module = Rows()
    trainer(corpus, max_epochs=3, overfit_batches=2).fit(module, files(corpus, max_tokens=150))
    assert len(module.rows) == 6
    assert module.rows[:2] == module.rows[2:4] == module.rows[4:]
    assert all(len(rows) > 1 for rows in module.rows)


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_fit_without_validation_reads_no_validation_split(tmp_path: Path) -> None:
    write(tmp_path, "train", words(30), words(30))
    data = files(tmp_path, validation=None)
    trainer(tmp_path, max_epochs=1, limit_val_batches=0).fit(Rows(), data)
    assert list(data.encoded) == ["train"]


@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_missing_file_is_told_before_a_tokenizer_is_trained(tmp_path: Path, split: str) -> None:
    """Which takes minutes on a large corpus."""
    for name in {"train", "validation"} - {split}:
        write(tmp_path, name, words(30), words(30))
    with (
        mock.patch("lit_transformer.data.datamodule.obtain_tokenizer", side_effect=AssertionError),
        pytest.raises(UserError, match=rf"--data\.{split}: there is no file"),
    ):
        files(tmp_path).setup("fit")


def test_prepare_data_follows_the_command(corpus: Path, tokenizer: Tokenizer) -> None:
    data = files(corpus)
    data.use_tokenizer(tokenizer)
    data.trainer = trainer(corpus)
    data.trainer.state.fn = TrainerFn.TESTING
    data.prepare_data()
    assert list(data.encoded) == ["test"]


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_predict_runs_under_the_trainer(tmp_path: Path, tokenizer: Tokenizer) -> None:
    class Echo(Rows):
        def predict_step(self, batch: Batch) -> dict[int, str]:
            return dict(zip(batch.index.tolist(), batch.sources, strict=True))

    data = files(tmp_path, eval_max_tokens=12)
    data.use_tokenizer(tokenizer)
    lines = ["a b bad cab", "", "A", "acacia dad"]
    data.set_inputs(lines)
    found = trainer(tmp_path).predict(Echo(), data)
    assert found is not None
    merged = {index: text for batch in found for index, text in batch.items()}  # type: ignore[union-attr]
    assert [merged[index] for index in range(4)] == lines
