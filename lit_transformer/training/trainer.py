"""The Trainer: Lightning's, and `analyze`; it owns the folder of the run."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.accelerators import CPUAccelerator
from pytorch_lightning.utilities.exceptions import SIGTERMException
from typing_extensions import override

from lit_transformer.console.signals import ended_by_sigterm
from lit_transformer.console.tables import print_scores
from lit_transformer.data.datamodule import TranslationDataModule, tokenizer_of_state
from lit_transformer.errors import UserError
from lit_transformer.files import make_folder, write_text
from lit_transformer.model import weights_digest
from lit_transformer.runs.checkpoints import AtomicCheckpointIO, find_checkpoint, read_checkpoint, run_folder_of
from lit_transformer.training.analysis import Analysis, AnalysisSettings
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.scoring import ScoringCallback, score
from lit_transformer.training.trainer_checks import check_callbacks, check_resumable, interval_checked, options_checked
from lit_transformer.training.translations import read_input, write_lines, write_translations

log = logging.getLogger(__name__)


class Trainer(pl.Trainer):
    """Lightning's Trainer with `analyze`, whose ``default_root_dir`` is the folder of one run.

    Args:
        args: Options of Lightning's Trainer.
        kwargs: Options of Lightning's Trainer.

    Raises:
        UserError: The precision can't be used on this device, or a callback is there twice.
    """

    # Lightning sets these where a type checker does not see it.
    callbacks: list[pl.Callback]
    datamodule: TranslationDataModule
    fast_dev_run: bool | int
    log_every_n_steps: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = kwargs.get("callbacks") or []
        check_callbacks(given if isinstance(given, list) else [given])
        # Our own batch samplers know the processes; a sampler that pads would score sentences twice.
        with options_checked(kwargs):
            super().__init__(*args, use_distributed_sampler=False, **kwargs)
        if isinstance(self.accelerator, CPUAccelerator) and str(kwargs.get("precision")) in ("16", "16-mixed"):
            raise UserError("--trainer.precision 16-mixed needs a GPU; on the CPU give 32 or bf16-mixed.")
        self.strategy.checkpoint_io = AtomicCheckpointIO()
        # Lightning's handler tells the other processes by a collective that may fall between those of a step, and then
        # all wait for each other (pytorch-lightning 2.6.6); its loops ask the first one before each batch anyway.
        self._signal_connector._sigterm_notifier_fn = self._note_sigterm  # type: ignore[assignment, method-assign]
        self.config: dict[str, Any] | None = None
        self.started_from: Path | None = None
        self.started_weights: str | None = None
        """Digest of the weights that the run started from, before anything was changed in them."""
        self.resumed_from: Path | None = None
        self.carries_initial_weights = True
        """Whether a run that starts from another's weights began, in the end, with that one's initial weights."""
        self.analysis_settings = AnalysisSettings()

    def _note_sigterm(self, *_: Any) -> None:
        self._signal_connector.received_sigterm = True

    @property
    def run_folder(self) -> Path:
        """The folder of this run: configuration, metrics, checkpoints, analysis, report."""
        return Path(self.default_root_dir)

    @override
    def fit(  # type: ignore[override]
        self,
        model: LitTransformer,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        datamodule: TranslationDataModule | None = None,
        ckpt_path: str | None = None,
        weights_only: bool | None = None,
        start_from: str | None = None,
    ) -> None:
        """Train a model; then run the scoring callbacks, if the configuration has any.

        Args:
            model: The model.
            train_dataloaders: In place of a data module.
            val_dataloaders: In place of a data module.
            datamodule: The corpus.
            ckpt_path: Go on with this checkpoint (or the last one of this run's folder): same folder, same data.
            weights_only: See Lightning.
            start_from: Start a new run from the weights of this checkpoint (or run's folder): step 0, fresh optimizer.
        """
        if ckpt_path is not None:
            self.resumed_from = find_checkpoint(ckpt_path, "resume")
            ckpt_path = str(self.resumed_from)
            self._adopt(ckpt_path, datamodule)
            check_resumable(read_checkpoint(ckpt_path), self.callbacks, ckpt_path)
        if start_from is not None:
            self._start_from(find_checkpoint(start_from), model, datamodule)
        for callback in self.callbacks:
            if (check := getattr(callback, "check", None)) is not None:
                check(self, model)
        with interval_checked(self):
            super().fit(model, train_dataloaders, val_dataloaders, datamodule, ckpt_path, True)
        if self.fast_dev_run or not self.state.finished:
            return
        for callback in self.callbacks:
            if (finish := getattr(callback, "on_fit_finished", None)) is not None:
                finish(self, model)
        self.strategy.barrier()
        if any(isinstance(callback, ScoringCallback) for callback in self.callbacks):
            # Processes that a cluster started do not know the version that the first one chose.
            self.analyze(model, datamodule, ckpt_path=str(self.strategy.broadcast(str(self.run_folder))))

    @override
    def validate(  # type: ignore[override]
        self,
        model: LitTransformer,
        dataloaders: Any = None,
        ckpt_path: str | None = None,
        verbose: bool = True,
        datamodule: TranslationDataModule | None = None,
        weights_only: bool | None = None,
    ) -> Any:
        """Score a checkpoint on the validation split, and write its translations.

        Args:
            model: The model.
            dataloaders: In place of a data module.
            ckpt_path: A checkpoint, or the folder of a run.
            verbose: Print the scores.
            datamodule: The corpus.
            weights_only: See Lightning.
        """
        ckpt_path = self._adopt(ckpt_path, datamodule)
        results = super().validate(model, dataloaders, ckpt_path, False, datamodule, True)
        self._write_split("validation", model, ckpt_path, verbose)
        return results

    @override
    def test(  # type: ignore[override]
        self,
        model: LitTransformer,
        dataloaders: Any = None,
        ckpt_path: str | None = None,
        verbose: bool = True,
        datamodule: TranslationDataModule | None = None,
        weights_only: bool | None = None,
    ) -> Any:
        """Score a checkpoint on the test split, and write its translations.

        Args:
            model: The model.
            dataloaders: In place of a data module.
            ckpt_path: A checkpoint, or the folder of a run.
            verbose: Print the scores.
            datamodule: The corpus.
            weights_only: See Lightning.
        """
        ckpt_path = self._adopt(ckpt_path, datamodule)
        results = super().test(model, dataloaders, ckpt_path, False, datamodule, True)
        self._write_split("test", model, ckpt_path, verbose)
        return results

    @override
    def predict(  # type: ignore[override]
        self,
        model: LitTransformer,
        dataloaders: Any = None,
        datamodule: TranslationDataModule | None = None,
        return_predictions: bool | None = None,
        ckpt_path: str | None = None,
        weights_only: bool | None = None,
        input: str | None = None,
        output: str | None = None,
    ) -> None:
        """Translate a file or standard input, one sentence per line, to standard output.

        Args:
            model: The model.
            dataloaders: In place of a data module.
            datamodule: The corpus whose tokenizer and languages are used.
            return_predictions: Ignored; the translations are in the model's ``translations``.
            ckpt_path: A checkpoint, or the folder of a run.
            weights_only: See Lightning.
            input: A text file, plain or .gz; - is standard input.
            output: A text file in place of standard output.
        """
        if dataloaders is None and input is None:
            raise UserError("predict has nothing to translate; give --input FILE, or --input - for standard input.")
        if output is not None:
            make_folder(Path(output).parent)
            if Path(output).is_dir():
                raise UserError(f"--output {output!r} is a folder; give the name of a file.")
        ckpt_path = self._adopt(ckpt_path, datamodule)
        if datamodule is not None and input is not None:
            if input == "-" and self.world_size > 1:
                raise UserError("--input - works on one process only; give a file, or --trainer.devices 1.")
            datamodule.set_inputs(read_input(input))
        super().predict(model, dataloaders, datamodule, False, ckpt_path, True)
        if self.is_global_zero:
            write_lines(output, [translation.hypothesis for translation in model.translations])

    def analyze(
        self,
        model: LitTransformer,
        datamodule: TranslationDataModule | None = None,
        ckpt_path: str | None = None,
        output: str | None = None,
        components: str | None = None,
        limit: int | None = None,
        record: list[str] | None = None,
        dry_run: bool = False,
        side_by_side: int | None = None,
    ) -> None:
        """Score the components of a trained model with the scoring callbacks.

        What was evaluated before is not evaluated again, so that an analysis that was interrupted goes on where it was.

        Args:
            model: The model.
            datamodule: The corpus; its validation split is the scoring set.
            ckpt_path: A checkpoint, or the folder of a run.
            output: Folder to write into, in place of the run's own.
            components: Score only these, separated by commas: ids (d:sa:3), ranges (d:sa:1-3), kinds (d:sa), sides
                (d:*).
            limit: Score a sample of so many sentences, drawn from the seed; written apart, and marked as such.
            record: Record loss (teacher-forced, with the accuracy of pieces) and chrf of every variant too.
            dry_run: Only print what would be evaluated, and how long it may take.
            side_by_side: How many variants are decoded in one batch; null: as many as fit into a GPU's memory, one on a
                CPU.

        Raises:
            UserError: There is no checkpoint, no data module or no scoring callback, or a setting is out of range.
        """
        scoring = [callback for callback in self.callbacks if isinstance(callback, ScoringCallback)]
        if not scoring:
            raise UserError("no scoring callback; add one, such as --trainer.callbacks+=callbacks.ContributionScore.")
        if ckpt_path is None or datamodule is None:
            raise UserError("analyze needs a data module and a trained model; give --ckpt_path CHECKPOINT.")
        path = find_checkpoint(ckpt_path)
        self.analysis_settings = AnalysisSettings(
            None if components is None else tuple(selector.strip() for selector in components.split(",")),
            limit,
            tuple(record or ()),
            dry_run,
            side_by_side,
        )
        for callback in scoring:
            if (check := getattr(callback, "check", None)) is not None:
                check(self, model)
        if self.limit_val_batches != 1.0:
            log.warning("The whole validation split is scored; --limit N scores a sample of N sentences.")
        self._adopt(str(path), datamodule)
        with self._without_batches():
            super().validate(model, None, str(path), False, datamodule, True)
        if self.received_sigterm:
            raise SIGTERMException
        training = model.training
        model.to(self.strategy.root_device).eval()
        try:
            analysis = Analysis(model, datamodule, path, output, self.analysis_settings)
            with analysis.dealer.alive(), ended_by_sigterm():
                score(self, model, analysis, scoring, self.config)
                for other in () if dry_run else self.callbacks:
                    if (finish := getattr(other, "on_analysis_finished", None)) is not None:
                        finish(self, model, analysis)
                analysis.dealer.gather([])
        finally:
            model.train(training)
            model.cpu()

    def _adopt(self, ckpt_path: str | None, datamodule: TranslationDataModule | None) -> str | None:
        """Resolve a checkpoint and hand its tokenizer to the data module, before that trains one of its own."""
        if ckpt_path is None:
            return None
        path = find_checkpoint(ckpt_path)
        checkpoint = read_checkpoint(path)
        # A tokenizer that the user named is compared with the checkpoint's when Lightning restores the data module.
        if datamodule is not None and datamodule.tokenizer_settings.model is None:
            datamodule.use_tokenizer(tokenizer_of_state(checkpoint[type(datamodule).__qualname__]))
        if datamodule is not None:
            before = checkpoint.get("datamodule_hyper_parameters", {})
            for name in ("source_language", "target_language"):
                if before.get(name, datamodule.hparams[name]) != datamodule.hparams[name]:
                    log.warning(
                        "%s is %s, but %s was trained with %s.", name, datamodule.hparams[name], path, before[name]
                    )
        return str(path)

    def _start_from(self, path: Path, model: LitTransformer, datamodule: TranslationDataModule | None) -> None:
        self._adopt(str(path), datamodule)
        checkpoint = read_checkpoint(path)
        if datamodule is not None:
            # A tokenizer that the user named must be the parent's; Lightning compares them only when it resumes.
            datamodule.load_state_dict(checkpoint[type(datamodule).__qualname__])
        sizes = checkpoint["hyper_parameters"]
        if not hasattr(model, "network"):
            model.build(sizes["source_vocab_size"], sizes["target_vocab_size"])
        try:
            model.load_state_dict(checkpoint["state_dict"], strict=True)
        except RuntimeError as error:
            raise UserError(
                f"--start_from {str(path)!r} has another structure than this model ({error}); "
                "leave the --model options for the structure out."
            ) from error
        self.started_from, model.initial_weights = path, None
        self.started_weights = weights_digest(model.network)
        log.info("Starting from the weights of %s.", path)

    @contextmanager
    def _without_batches(self) -> Iterator[None]:
        """Let Lightning set up devices, processes, data and weights, and then return without a validation."""
        limit, self.limit_val_batches = self.limit_val_batches, 0
        try:
            yield
        finally:
            self.limit_val_batches = limit

    def _write_split(self, split: str, model: LitTransformer, ckpt_path: str | None, verbose: bool) -> None:
        if not self.is_global_zero or ckpt_path is None or self.sanity_checking:
            return
        about = model.scoring_settings(split)
        if verbose:
            print_scores(self._scores(), about, Path(ckpt_path).name, len(model.translations))
        if len(model.translations) < about["scoring_set"]["sentences"]:
            log.warning("Only %d sentences were scored, so nothing is written.", len(model.translations))
            return
        folder = run_folder_of(ckpt_path) / "translations" / Path(ckpt_path).stem / self.datamodule.set_name(split)
        write_translations(folder, model.translations)
        content = {"scores": self._scores(), **about}
        write_text(folder / "scores.json", json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        log.info("Translations and scores are in %s.", folder)

    def _scores(self) -> dict[str, float]:
        return {name: round(float(value), 6) for name, value in self.callback_metrics.items()}


def logging_interval(trainer: pl.Trainer) -> int:
    """Return the number of optimizer steps between two logs of a Trainer."""
    return max(getattr(trainer, "log_every_n_steps", 1), 1)
