"""What the callbacks that score components have in common."""

from __future__ import annotations

import contextlib
import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytorch_lightning as pl

from lit_transformer.components import kind_of, layer_of, select
from lit_transformer.console.progress import EvaluationProgress
from lit_transformer.errors import UserError
from lit_transformer.importance.endless import endless_line
from lit_transformer.importance.evaluator import Observer
from lit_transformer.importance.plan import Plan
from lit_transformer.importance.score_table import Row, ScoreTable
from lit_transformer.importance.scores import RELIABLE_BASELINE
from lit_transformer.importance.variant import Variant
from lit_transformer.model.surgery import component_parameters
from lit_transformer.tracking.run import log_component_scores, others_of
from lit_transformer.tracking.wandb_tables import scored
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

log = logging.getLogger(__name__)

BASELINE = Variant().name


class ComponentScorer(pl.Callback, ABC):
    """A scoring callback over selected components.

    Args:
        components: Which components to score: ids (d:sa:3), ranges (d:sa:1-3), kinds (d:sa), sides (d:*) or all (*).
    """

    apart_by: ClassVar[tuple[str, ...] | None] = None
    """The arguments that tell apart whose results stand beside each other: one with the same takes the place of what
    another of its class has found before. None where that is not known."""

    rests_on_others: ClassVar[bool] = True
    """Whether what it finds may depend on what scorers before it have written."""

    def __init__(self, components: list[str] | None = None) -> None:
        self.components = components or ["*"]

    def check(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Refuse a selector that matches nothing now, not after days of training; called before anything is loaded.

        Raises:
            UserError: A selector matches nothing in this model.
        """
        select(trainer.analysis_settings.components or self.components, pl_module.structure.components)

    @property
    def makes(self) -> str:
        """Name of what it finds that a scorer after it may rest on: a column of the scores, or an order; or nothing."""
        return ""

    @abstractmethod
    def plan(self, analysis: Analysis) -> Plan:
        """Return what `on_analyze` will evaluate; called before anything is evaluated.

        Raises:
            UserError: It could not score, for something is missing.
        """

    @abstractmethod
    def on_analyze(self, trainer: Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
        """Score the components; called on every process, with the model on its device."""

    def selectors(self, analysis: Analysis) -> list[str]:
        """The selectors that hold."""
        return list(analysis.settings.components or self.components)

    def chosen(self, analysis: Analysis) -> list[str]:
        """Return the components to score, in canonical order.

        Raises:
            UserError: A selector matches nothing in this model.
        """
        return select(self.selectors(analysis), analysis.evaluator.components)

    def folder(self, analysis: Analysis) -> Path:
        """Where the scores go: those of some components never replace those of all."""
        partial = len(self.chosen(analysis)) < len(analysis.evaluator.components)
        return analysis.folder / "selected" if partial else analysis.folder

    def report_folder(self, analysis: Analysis) -> Path:
        """Where the pictures go."""
        return analysis.report_folder if self.folder(analysis) == analysis.folder else self.folder(analysis)

    @contextlib.contextmanager
    def progress(self, analysis: Analysis, total: int, at_most: bool = False) -> Iterator[Observer]:
        """Show each evaluation on validation as it is made, and the time left; yields what shows those of others.

        Afterwards a line warns of variants that forget to stop.

        Args:
            analysis: The analysis.
            total: Number of evaluations.
            at_most: Whether fewer may do.
        """
        before = set(analysis.evaluator.non_terminated)
        with (
            EvaluationProgress(total, shown=analysis.is_first, at_most=at_most) as shown,
            analysis.evaluator.observed(shown.advance),
        ):
            yield shown.advance
        shares = dict(analysis.evaluator.non_terminated)
        asked = {name: share for name, share in shares.items() if name not in before | {BASELINE}}
        line = endless_line(asked, shares.get(BASELINE, 1.0))
        if line is not None and analysis.is_first:
            log.warning(line)

    def table(self, analysis: Analysis) -> ScoreTable:
        """Return the table of scores, with the columns that stand for every scorer."""
        baseline = analysis.evaluator.evaluate()
        about = {
            "selectors": self.selectors(analysis),
            "baseline": {**baseline.measures, "sentences": baseline.sentences},
            "reliable": baseline.bleu >= RELIABLE_BASELINE,
            **analysis.about(),
        }
        table = ScoreTable(self.folder(analysis), about, self.report_folder(analysis))
        network = analysis.module.network
        rows = [
            {
                "component": component,
                "kind": kind_of(component),
                "layer": layer_of(component),
                "parameters": sum(p.numel() for p in component_parameters(network, component).values()),
            }
            for component in self.chosen(analysis)
        ]
        table.add_rows(rows)
        return table

    def subtitle(self, table: ScoreTable) -> str:
        """Return what the scores rest on, for a picture."""
        baseline, scoring_set = table.about["baseline"], table.about["scoring_set"]
        sample = f" (a sample of {scoring_set['sample_of']})" if "sample_of" in scoring_set else ""
        sentences = f"{scoring_set['sentences']} sentences of {scoring_set['split']}{sample}"
        return f"{table.about['checkpoint']}: baseline {baseline['bleu']:.2f} BLEU, {sentences}"


def refuse_unused(scorer: type[ComponentScorer], option: str, value: Any, used_with: str) -> None:
    """Refuse an option that was given where it can't matter; one that equals its default passes for not given.

    Args:
        scorer: The class of the callback.
        option: Name of its argument.
        value: What it is.
        used_with: The setting that it matters with, as it is typed.

    Raises:
        UserError: It was given.
    """
    if value != inspect.signature(scorer.__init__).parameters[option].default:
        raise UserError(
            f"{scorer.__name__}'s {option} is {value!r}, but matters with {used_with} only; leave {option} out, or "
            f"give {used_with}."
        )


def log_scores(
    trainer: Trainer, name: str, rows: Sequence[Row], picture: Path | None = None, bars: str | None = None
) -> None:
    """Hand scores to the loggers, as ``analysis/<name>/<component>``.

    Args:
        trainer: The Trainer.
        name: Column of the score.
        rows: The table of components.
        picture: Its heat map, for Weights & Biases.
        bars: Column that Weights & Biases draws as bars, too.
    """
    values = {f"analysis/{name}/{component}": value for component, value in scored(rows, name).items()}
    for logger in others_of(trainer.loggers):
        logger.log_metrics(values)
    log_component_scores(trainer.loggers, name, rows, picture, bars)
