"""What a run of Weights & Biases is told that no single callback knows: settings, origins, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from typing_extensions import override

from callbacks.component_scorer import ComponentScorer
from callbacks.hooks import typed_hook
from lit_transformer.importance.score_table import BESIDE
from lit_transformer.model import weights_digest
from lit_transformer.runs.checkpoints import run_folder_of
from lit_transformer.runs.scores import read_scores
from lit_transformer.tracking import names
from lit_transformer.tracking.run import describe, harmless, log_components, log_files, runs_of, start, use
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.initial_weights import FILE
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

FILES = ("scores.json", "scores.csv", *BESIDE)
RESTS_ON = (
    "checkpoint",
    "scoring_set",
    "signature",
    "decoding",
    "baseline",
    "reliable",
    "weights",
    "tokenizer",
    "versions",
)
"""What of ``scores.json`` is told of the scores as a whole."""


class WandbTracking(pl.Callback):
    """Gives the W&B run of a command its configuration, its axes, its artifacts and their lineage.

    Without a WandbLogger it does nothing.

    Args:
        log_weights: Log initial weights and the analysed checkpoint too, not only tokenizer and scores.
    """

    def __init__(self, log_weights: bool = True) -> None:
        self.log_weights = log_weights
        self._started = self._trained = False

    @override
    @typed_hook
    def setup(self, trainer: Trainer, pl_module: LitTransformer, stage: str) -> None:
        if self._started:
            # The analysis after a fit belongs to the same run.
            return
        self._started = True
        for run in runs_of(trainer.loggers):
            with harmless("the configuration"):
                # The run's own configuration trains it anew; its W&B run is of this command.
                resumed = {} if trainer.resumed_from is None else {"ckpt_path": str(trainer.resumed_from)}
                start(run, {**(trainer.config or {}), **resumed})

    @override
    @typed_hook
    def on_train_start(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        # Every callback's `on_fit_start` has written its files.
        self._trained = True
        for run in runs_of(trainer.loggers):
            with harmless("the origins of the run"):
                self._log_origins(run, trainer, pl_module)

    def _log_origins(self, run: Any, trainer: Trainer, module: LitTransformer) -> None:
        folder, tokenizer, record = trainer.run_folder, trainer.datamodule.tokenizer, module.initial_weights
        scored = {} if not trainer.limit_val_batches else {"scoring_set": trainer.datamodule.describe("validation")}
        describe(
            run,
            signature=module.bleu.signature,
            parameters=sum(parameter.numel() for parameter in module.network.parameters()),
            pruned=list(module.structure.pruned),
            vocabulary={"source": tokenizer.source_vocab_size, "target": tokenizer.target_vocab_size},
            tokenizer=tokenizer.digest,
            initial_weights=None if record is None else record["digest"],
            **scored,
        )
        for origin, digest in (
            (trainer.started_from, trainer.started_weights),
            # Nothing is trained yet: these are the weights of the checkpoint.
            (trainer.resumed_from, weights_digest(module.network)),
        ):
            if origin is not None:
                name = names.artifact(run_folder_of(origin), origin.stem)
                use(run, {"checkpoint": names.version(name, str(digest))})
        files = sorted(folder.glob("tokenizer*.model"))
        if files:
            log_files(run, names.artifact(folder, "tokenizer"), "tokenizer", files, tokenizer.digest, {})
        if self.log_weights and record is not None and (folder / FILE).is_file():
            name = names.artifact(folder, "initial-weights")
            log_files(run, name, "initial-weights", [folder / FILE], record["digest"], {})

    @override
    @typed_hook
    def on_test_end(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        for run in runs_of(trainer.loggers):
            with harmless("the settings of the test"):
                about = pl_module.scoring_settings("test")
                describe(run, test={name: value for name, value in about.items() if name != "data"})
                if trainer.ckpt_path is not None:
                    use(run, _origins(Path(trainer.ckpt_path), about, None))

    def on_analysis_finished(self, trainer: Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
        """Log the table of all scores, and what they rest on; called on every process."""
        for run in runs_of(trainer.loggers):
            with harmless("the table of scores"):
                self._log_checkpoint(run, analysis)
                scorers = [callback for callback in trainer.callbacks if isinstance(callback, ComponentScorer)]
                for place in dict.fromkeys(scorer.folder(analysis) for scorer in scorers):
                    self._log_scores(run, analysis, place)

    def _log_checkpoint(self, run: Any, analysis: Analysis) -> None:
        about, checkpoint = analysis.about(), analysis.checkpoint
        unknown = ["checkpoint"]
        if not self._trained:
            unknown = use(run, _origins(checkpoint, about, analysis.initial_digest))
        if self.log_weights and "checkpoint" in unknown:
            name, digest = names.artifact(run_folder_of(checkpoint), checkpoint.stem), str(about["weights"])
            log_files(run, name, "checkpoint", [checkpoint], digest, {"signature": about["signature"]})

    def _log_scores(self, run: Any, analysis: Analysis, place: Path) -> None:
        scores = read_scores(place, missing_ok=True)
        if not scores:
            return
        told = {name: scores[name] for name in RESTS_ON if name in scores}
        describe(run, analysis=told)
        log_components(run, scores["components"])
        files = [path for path in (place / name for name in FILES) if path.is_file()]
        what = "-".join([*place.relative_to(analysis.output_folder / "analysis").parts, "scores"])
        name = names.artifact(run_folder_of(analysis.checkpoint), what)
        log_files(run, name, "scores", files, str(scores["weights"]), told)


def _origins(checkpoint: Path, about: dict[str, Any], initial: str | None) -> dict[str, str]:
    """Return the artifacts that a score rests on, by what they are."""
    folder = run_folder_of(checkpoint)
    made = {
        "checkpoint": names.version(names.artifact(folder, checkpoint.stem), str(about["weights"])),
        "tokenizer": names.version(names.artifact(folder, "tokenizer"), str(about["tokenizer"])),
    }
    if initial is not None:
        made["initial_weights"] = names.version(names.artifact(folder, "initial-weights"), initial)
    return made
