"""Everything about the data of a run: corpora, tokenizer, encoded tables and batches."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader
from typing_extensions import override

from lit_transformer.data.batch import Batch
from lit_transformer.data.batching import (
    Integers,
    TrainingBatchSampler,
    evaluation_batches,
    training_batches,
)
from lit_transformer.data.corpora import CorpusSettings, load_corpus
from lit_transformer.data.encoded import EncodedCorpus, encode_corpus
from lit_transformer.data.loader import BatchDataset, Lines, TrainingLoader, evaluation_loader, loader_arguments
from lit_transformer.data.tokenizer import Tokenizer, TokenizerSettings, obtain_tokenizer
from lit_transformer.errors import UserError

if TYPE_CHECKING:
    import datasets

log = logging.getLogger(__name__)

_DEFAULT_TOKENIZER = TokenizerSettings()
# The splits that a stage reads.
_SPLITS = {"fit": ("train", "validation"), "validate": ("validation",), "test": ("test",), "predict": ()}


class TranslationDataModule(pl.LightningDataModule):
    """Parallel text as batches of similar length.

    Args:
        source_language: Code of the language to translate from, such as en.
        target_language: Code of the language to translate into, such as de.
        dataset: grammar (the built-in synthetic corpus), the name or local folder of a Hugging Face data set, or null
            to read the files given as train, validation and test. On the command line, naming files is enough.
        dataset_config: Configuration of the Hugging Face data set, such as de-en.
        dir: Folder put before relative file names.
        train: Training split: a file name, or a split name of the data set. In a file name {lang} stands for the
            language code (aligned text, plain or .gz); otherwise it is one .tsv, .jsonl, .json or .parquet file.
        validation: Validation split, in the same way.
        test: Test split, in the same way.
        train_size: Use the first so many pairs; the number generated for the grammar corpus (default 20,000).
        validation_size: The same for the validation split (grammar corpus: 500).
        test_size: The same for the test split (grammar corpus: 500).
        tokenizer: How the SentencePiece model is trained, or where it is.
        max_length: Training pairs with more pieces than this on one side are left out; evaluation keeps every pair.
        max_tokens: Token budget of a training batch: sentences times longest padded side.
        eval_max_tokens: Token budget of an evaluation batch: sentences times padded source length.
        workers: Processes that prepare batches beside each training process; 0 does it in the training process.
        seed: Seed of the grammar corpus and of the order of training batches.
        cache_dir: Folder for tokenizers and other files made from the data. Default: $LIT_TRANSFORMER_CACHE, else
            lit-transformer in the user's cache folder.

    Raises:
        UserError: A setting is out of its range.
    """

    # A process may be left without an evaluation batch; see lit_transformer.data.batching.EvaluationBatchSampler.
    allow_zero_length_dataloader_with_multiple_devices = True

    def __init__(
        self,
        source_language: str = "en",
        target_language: str = "de",
        dataset: str | None = "grammar",
        dataset_config: str | None = None,
        dir: str | None = None,
        train: str | None = None,
        validation: str | None = None,
        test: str | None = None,
        train_size: int | None = None,
        validation_size: int | None = None,
        test_size: int | None = None,
        tokenizer: TokenizerSettings = _DEFAULT_TOKENIZER,
        max_length: int = 256,
        max_tokens: int = 4096,
        eval_max_tokens: int = 8192,
        workers: int = 0,
        seed: int = 1,
        cache_dir: str | None = None,
    ) -> None:
        super().__init__()
        if isinstance(tokenizer, dict):  # from the hyper-parameters in a checkpoint
            tokenizer = TokenizerSettings(**tokenizer)
        limits = {"max_length": 1, "max_tokens": 1, "eval_max_tokens": 1, "workers": 0, "seed": 0}
        given = {"max_length": max_length, "max_tokens": max_tokens, "eval_max_tokens": eval_max_tokens}
        for name, value in {**given, "workers": workers, "seed": seed}.items():
            if value < limits[name]:
                raise UserError(f"--data.{name} {value!r} is too small: give {limits[name]} or more.")
        self.corpus_settings = CorpusSettings(
            source_language=source_language,
            target_language=target_language,
            dataset=dataset,
            dataset_config=dataset_config,
            dir=dir,
            train=train,
            validation=validation,
            test=test,
            train_size=train_size,
            validation_size=validation_size,
            test_size=test_size,
            seed=seed,
        )
        self.tokenizer_settings = tokenizer
        self.max_length = max_length
        self.max_tokens = max_tokens
        self.eval_max_tokens = eval_max_tokens
        self.workers = workers
        self.seed = seed
        self.cache_dir = Path(cache_dir) if cache_dir else default_cache_dir()
        # Plain types only: checkpoints are read with weights_only=True.
        self.save_hyperparameters(
            {
                **dataclasses.asdict(self.corpus_settings),
                **given,
                "tokenizer": dataclasses.asdict(tokenizer),
                "workers": workers,
                "cache_dir": cache_dir,
            }
        )
        self.encoded: dict[str, EncodedCorpus] = {}
        self._tokenizer: Tokenizer | None = None
        self._corpora: dict[str, datasets.Dataset] = {}
        self._training_rows: Integers | None = None
        self._inputs: list[str] | None = None

    @classmethod
    def of_checkpoint(cls, checkpoint: Mapping[str, Any], **options: Any) -> Self:
        """Return the data of a trained model, with its tokenizer.

        Args:
            checkpoint: The checkpoint, as `lit_transformer.runs.checkpoints.read_checkpoint` returns it.
            options: Settings that take the place of the checkpoint's own, such as ``dir``.
        """
        settings = {**checkpoint["datamodule_hyper_parameters"], **options}
        # The tokenizer comes from the checkpoint itself; the file it once came from may be gone.
        settings["tokenizer"] = {**settings["tokenizer"], "model": None}
        made = cls(**settings)
        made.use_tokenizer(tokenizer_of_state(checkpoint[cls.__qualname__]))
        return made

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer: one handed over, one read from its file, or one trained on the training split."""
        if self._tokenizer is None:
            settings = self.tokenizer_settings
            if settings.model is not None:
                # Needs no text, so the training split may be missing.
                self._tokenizer = Tokenizer.load(settings.model)
            else:
                self._tokenizer = obtain_tokenizer(settings, self._corpus("train"), self.cache_dir)
        return self._tokenizer

    def use_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Use this tokenizer, usually a checkpoint's, instead of training one or reading one from a file."""
        if self._tokenizer is not None and self._tokenizer.digest != tokenizer.digest:
            self.encoded.clear()
        self._tokenizer = tokenizer

    def set_inputs(self, lines: list[str]) -> None:
        """Set the lines to translate in ``predict``; :attr:`Batch.index` is then the line's number."""
        self._inputs = list(lines)

    def describe(self, split: str, rows: Integers | None = None) -> dict[str, str | int]:
        """Return what tells one scoring set from another: name, split, sentences, SHA-256 of the texts in their order.

        Args:
            split: A split that is open, such as ``validation``.
            rows: Only these sentences, a sample; then the size of the whole split is told too.
        """
        corpus = self.encoded[split]
        digest = hashlib.sha256()
        for source, target in corpus.texts(range(len(corpus)) if rows is None else rows):
            digest.update(f"{source}\n{target}\n".encode())
        return {
            "name": self.set_name(split),
            "split": split,
            "sentences": len(corpus) if rows is None else len(rows),
            "digest": digest.hexdigest(),
            **({} if rows is None else {"sample_of": len(corpus)}),
        }

    def open_split(self, split: str) -> EncodedCorpus:
        """Make or find a split in the caches, and return it."""
        if split not in self.encoded:
            self.encoded[split] = encode_corpus(self._corpus(split), self.tokenizer)
        return self.encoded[split]

    def sample_rows(self, split: str, size: int) -> Integers:
        """Return the rows of a sample of a split, drawn from the seed, in rising order.

        Args:
            split: A split that is open; of the training split only pairs that can be trained on are drawn.
            size: How many; all where there are no more.
        """
        corpus = self.encoded[split]
        rows = corpus.usable_for_training(self.max_length)[0] if split == "train" else np.arange(len(corpus))
        return np.sort(np.random.default_rng(self.seed).permutation(rows)[:size])

    def whole_batches(self, split: str, rows: Integers | None = None) -> list[Batch]:
        """Return the evaluation batches of a split, all of them on every process.

        Args:
            split: A split that is open.
            rows: Only these sentences.
        """
        corpus = self.encoded[split]
        lengths = corpus.source_lengths if rows is None else corpus.source_lengths[rows]
        dataset = BatchDataset(corpus, rows)
        return [dataset[batch] for batch in evaluation_batches(lengths, self.eval_max_tokens)]

    def set_name(self, split: str) -> str:
        """Return the name of what a split was read from: that of the file or of the data set's split.

        Example:
            >>> files = TranslationDataModule(dataset=None, test="test_2016_flickr.{lang}.gz")
            >>> files.set_name("test"), TranslationDataModule().set_name("test")
            ('test_2016_flickr', 'test')
        """
        given = getattr(self.corpus_settings, split)
        name = Path(given).name.replace("{lang}", "").partition(".")[0] if given else ""
        return re.sub(r"[^\w-]+", "-", name).strip("-") or split

    @override
    def prepare_data(self) -> None:
        stage = self.trainer.state.fn if self.trainer is not None else None
        self._open(stage.value if stage is not None else "fit")

    @override
    def setup(self, stage: str | None = None) -> None:
        self._open(stage or "fit")
        if stage in (None, "fit"):
            self._training_rows = self._usable_rows()

    @override
    def train_dataloader(self) -> DataLoader[Batch]:
        rows = self._training_rows
        if rows is None:
            raise RuntimeError("call setup('fit') first")
        corpus = self.encoded["train"]
        dataset = BatchDataset(corpus, rows, with_texts=False)
        lengths = corpus.source_lengths[rows], corpus.target_lengths[rows]
        if getattr(self.trainer, "overfit_batches", 0) > 0:
            fixed = training_batches(*lengths, self.max_tokens, self.seed, 0, self._world_size)
            return evaluation_loader(dataset, fixed, self._rank, self._world_size, **self._loader_arguments())
        sampler = TrainingBatchSampler(
            *lengths,
            max_tokens=self.max_tokens,
            seed=self.seed,
            progress=self._progress,
            accumulated=1 if self.trainer is None else self.trainer.accumulate_grad_batches,
            rank=self._rank,
            world_size=self._world_size,
        )
        return TrainingLoader(dataset, sampler=sampler, **self._loader_arguments())

    @override
    def val_dataloader(self) -> DataLoader[Batch]:
        return self._evaluation_loader(BatchDataset(self.encoded["validation"]), self.encoded["validation"])

    @override
    def test_dataloader(self) -> DataLoader[Batch]:
        return self._evaluation_loader(BatchDataset(self.encoded["test"]), self.encoded["test"])

    @override
    def predict_dataloader(self) -> DataLoader[Batch]:
        if self._inputs is None:
            raise RuntimeError("call set_inputs first")
        lines = Lines(self._inputs, self.tokenizer)
        return self._evaluation_loader(BatchDataset(lines, with_references=False), lines)

    @override
    def state_dict(self) -> dict[str, Any]:
        return {"tokenizer": torch.frombuffer(bytearray(self.tokenizer.to_bytes()), dtype=torch.uint8)}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        restored = tokenizer_of_state(state_dict)
        if restored.digest != self.tokenizer.digest:
            raise UserError(
                f"the checkpoint was trained with the tokenizer {restored.digest[:12]}, but the data settings give "
                f"{self.tokenizer.digest[:12]}, whose pieces mean other things: leave the --data.tokenizer settings "
                "and the training data as they were."
            )

    def _corpus(self, split: str) -> datasets.Dataset:
        if split not in self._corpora:
            self._corpora[split] = load_corpus(self.corpus_settings, split)  # type: ignore[arg-type]
        return self._corpora[split]

    def _open(self, stage: str) -> None:
        """Make or find in the caches what the stage needs: the tokenizer and the encoded splits."""
        unread = stage == "fit" and self.trainer is not None and self.trainer.limit_val_batches == 0
        splits = [split for split in _SPLITS[stage] if not (unread and split == "validation")]
        # A small one that is missing or torn is told before a tokenizer is trained on the large one.
        for split in sorted(splits, key=lambda split: split == "train"):
            self._corpus(split)
        # Needed where no split is read, too.
        _ = self.tokenizer
        for split in splits:
            self.open_split(split)

    def _usable_rows(self) -> Integers:
        """Rows of the training split with text on both sides and at most ``max_length`` pieces on each."""
        corpus = self.encoded["train"]
        rows, left_out = corpus.usable_for_training(self.max_length)
        if len(rows) == 0:
            raise UserError(
                f"no usable pair in the training split of {len(corpus)} pairs: {left_out['empty']} have an empty side, "
                f"{left_out['too_long']} more than --data.max_length {self.max_length} pieces. Check the files, or "
                "raise --data.max_length."
            )
        if self._rank == 0:
            reasons = {"empty": "an empty side", "too_long": f"more than {self.max_length} pieces (max_length)"}
            for reason, count in left_out.items():
                if count:
                    log.warning("Left out %d of %d training pairs with %s.", count, len(corpus), reasons[reason])
            log.info("Training pairs: %d.", len(rows))
        return rows

    def _evaluation_loader(self, dataset: BatchDataset, table: EncodedCorpus | Lines) -> DataLoader[Batch]:
        batches = evaluation_batches(table.source_lengths, self.eval_max_tokens)
        return evaluation_loader(dataset, batches, self._rank, self._world_size, **self._loader_arguments())

    def _loader_arguments(self) -> dict[str, Any]:
        on_gpu = self.trainer is not None and self.trainer.strategy.root_device.type == "cuda"
        return loader_arguments(self.workers, pin_memory=on_gpu)

    def _progress(self) -> tuple[int, int]:
        """The Trainer's epoch and the number of this process's batches of it that are already done."""
        if self.trainer is None:
            return 0, 0
        return self.trainer.current_epoch, self.trainer.fit_loop.batch_idx + 1

    @property
    def _rank(self) -> int:
        return 0 if self.trainer is None else self.trainer.global_rank

    @property
    def _world_size(self) -> int:
        return 1 if self.trainer is None else self.trainer.world_size


def default_cache_dir() -> Path:
    """Return $LIT_TRANSFORMER_CACHE, else ``lit-transformer`` in the user's cache folder."""
    if own := os.environ.get("LIT_TRANSFORMER_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lit-transformer"


def tokenizer_of_state(state: dict[str, Any]) -> Tokenizer:
    """Return the tokenizer that :meth:`TranslationDataModule.state_dict` put into a checkpoint.

    A checkpoint holds the state under the key ``TranslationDataModule``.
    """
    return Tokenizer.from_bytes(state["tokenizer"].numpy().tobytes())
