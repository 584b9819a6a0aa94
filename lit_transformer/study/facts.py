"""What the files of a run say of it: where it began, what it costs, how good it is."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lit_transformer.errors import UserError
from lit_transformer.importance.resampling import Array
from lit_transformer.importance.sizes import model_size
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.model import tensors_digest
from lit_transformer.runs.changes import changed_components
from lit_transformer.runs.checkpoints import FOLDER, find_checkpoint, read_checkpoint, run_folder_of
from lit_transformer.runs.config import read_config
from lit_transformer.runs.metrics import read_metrics
from lit_transformer.runs.scores import SCORES_FILE
from lit_transformer.runs.translations import read_split_scores, read_texts
from lit_transformer.structure import Structure
from lit_transformer.study.arms import Base
from lit_transformer.study.tokens import batches_of, target_tokens

log = logging.getLogger(__name__)

AVERAGE = "average.ckpt"


@dataclass(frozen=True)
class SplitScores:
    """Scores of a checkpoint on one split.

    Args:
        bleu: BLEU points.
        loss: Label-smoothed cross-entropy in nats per piece.
        signature: sacreBLEU's signature.
        scoring_set: The sentences, in words.
        folder: Where the translations are.
    """

    bleu: float
    loss: float
    signature: str
    scoring_set: str
    folder: Path


@dataclass(frozen=True)
class Facts:
    """What there is to tell of a run.

    Args:
        components: The components that were changed.
        parameters: Parameters of the model.
        file_size: Bytes of the checkpoint; None for one that holds the optimizer's state too.
        updates: Optimizer steps, those of the model that it started from included.
        target_tokens: Target pieces and ends of sentences that it was trained on, in the same way; None where the text
            is gone.
        validation: Scores on the validation split.
        test: Scores on the test split; None where there is none.
    """

    components: tuple[str, ...]
    parameters: int
    file_size: int | None
    updates: int
    target_tokens: int | None
    validation: SplitScores | None
    test: SplitScores | None


class Reader(Protocol):
    """Reads the files of runs."""

    def base(self, run: Path) -> Base:
        """Return a trained model to start from."""
        ...

    def updates(self, run: Path) -> int:
        """Return how many optimizer steps a run made."""
        ...

    def scores(self, checkpoint: Path, split: str) -> SplitScores | None:
        """Return the scores of a checkpoint on a split, where they are written."""
        ...

    def facts(self, checkpoint: Path, began: Base | None) -> Facts:
        """Return what there is to tell of a run, which went on from the training of another or did not."""
        ...

    def statistics(self, checkpoint: Path, scores: SplitScores) -> Array:
        """Return the BLEU statistics of each sentence ``(sentences, 10)``."""
        ...

    def seconds_of(self, run: Path) -> float:
        """Return the elapsed seconds of an interrupted run."""
        ...

    def validations(self, run: Path) -> int | None:
        """Return how often a run was validated while it was trained; None where that was not logged."""
        ...


class FileReader:
    """Reads the files of runs."""

    def __init__(self) -> None:
        self._tokens: dict[str, int | None] = {}

    def base(self, run: Path) -> Base:
        """Return a trained model to start from.

        Args:
            run: Folder of its run, or one of its checkpoints.

        Raises:
            UserError: It is no run of this program, or its configuration is gone.
        """
        checkpoint = find_checkpoint(run)
        content, folder = read_checkpoint(checkpoint), run_folder_of(checkpoint)
        hparams, state = content["hyper_parameters"], content["state_dict"]
        return Base(
            folder,
            checkpoint,
            seed=int(hparams["seed"]),
            structure=Structure.of(hparams),
            config=read_config(folder),
            updates=int(content["global_step"]),
            learning_rate=float(hparams["learning_rate"]),
            warmup_steps=int(hparams["warmup_steps"]),
            weights=tensors_digest({name.removeprefix("network."): each for name, each in state.items()}),
        )

    def updates(self, run: Path) -> int:
        """Return how many optimizer steps a run made."""
        return int(read_checkpoint(run / FOLDER / AVERAGE)["global_step"])

    def scores(self, checkpoint: Path, split: str) -> SplitScores | None:
        """Return the scores of a checkpoint on a split, where they are written."""
        about = read_checkpoint(checkpoint)
        bleu, loss = (f"{'val' if split == 'validation' else 'test'}/{name}" for name in ("bleu", "loss"))
        for folder, content in read_split_scores(run_folder_of(checkpoint), checkpoint.stem):
            scoring_set, scores = content["scoring_set"], content["scores"]
            if scoring_set["split"] != split or not _is_of(content, about, split):
                continue
            if not {bleu, loss} <= scores.keys() or (folder / SCORES_FILE).stat().st_mtime < checkpoint.stat().st_mtime:
                continue
            return SplitScores(
                bleu=scores[bleu],
                loss=scores[loss],
                signature=content["signature"],
                scoring_set=f"{scoring_set['name']}, {scoring_set['sentences']} sentences",
                folder=folder,
            )
        return None

    def facts(self, checkpoint: Path, began: Base | None) -> Facts:
        """Return what there is to tell of a run.

        Args:
            checkpoint: The checkpoint that is scored.
            began: The model whose training it went on from; None for a run from scratch.
        """
        content, run = read_checkpoint(checkpoint), run_folder_of(checkpoint)
        updates = int(content["global_step"])
        tokens = self._tokens_of(checkpoint, content, updates)
        if began is not None:
            updates += began.updates
            before = self._tokens_of(began.checkpoint, read_checkpoint(began.checkpoint), began.updates)
            tokens = None if tokens is None or before is None else tokens + before
        return Facts(
            components=changed_components(run),
            parameters=model_size(Structure.of(content["hyper_parameters"])),
            file_size=None if "optimizer_states" in content else checkpoint.stat().st_size,
            updates=updates,
            target_tokens=tokens,
            validation=self.scores(checkpoint, "validation"),
            test=self.scores(checkpoint, "test"),
        )

    def statistics(self, checkpoint: Path, scores: SplitScores) -> Array:
        """Return the BLEU statistics of each sentence of written translations ``(sentences, 10)``."""
        hparams = read_checkpoint(checkpoint)["hyper_parameters"]
        metric = CorpusBLEU(tokenize=hparams["bleu_tokenize"], lowercase=hparams["bleu_lowercase"])
        return metric.sentence_statistics(*read_texts(scores.folder)).numpy()

    def seconds_of(self, run: Path) -> float:
        """Return the elapsed seconds of an interrupted run, from the times of its metrics."""
        times = [logged.time for logged in read_metrics(run)]
        # The last line may be torn within its time, which is then too early.
        return max(times) - times[0] if times else 0.0

    def validations(self, run: Path) -> int | None:
        """Return how often a run was validated while it was trained; None where that was not logged."""
        found = list(read_metrics(run))
        # A run that was resumed may have come by a step twice.
        return len({logged.step for logged in found if logged.metric == "val/loss"}) if found else None

    def _tokens_of(self, checkpoint: Path, content: Mapping[str, Any], updates: int) -> int | None:
        trainer = read_config(run_folder_of(checkpoint))["trainer"]
        # Arms that train on the same batches.
        key = json.dumps([content["datamodule_hyper_parameters"], batches_of(trainer), updates], sort_keys=True)
        if key not in self._tokens:
            try:
                self._tokens[key] = target_tokens(content, trainer, updates)
            except UserError as error:
                log.warning("The tokens that %s was trained on can't be counted: %s", checkpoint, error)
                self._tokens[key] = None
        return self._tokens[key]


def _is_of(scores: Mapping[str, Any], checkpoint: Mapping[str, Any], split: str) -> bool:
    """Whether scores are of the checkpoint's own split and search, and not of others that somebody asked for."""
    data = checkpoint["datamodule_hyper_parameters"]
    same = all(scores["data"].get(name) == data.get(name) for name in ("dataset", split, f"{split}_size"))
    return bool(same and scores["decoding"] == checkpoint["hyper_parameters"]["decoding"])
