"""The scorers of one analysis: what they are going to evaluate, and then one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pytorch_lightning as pl
import yaml

from lit_transformer.console.tables import print_plans
from lit_transformer.files import make_folder, write_text
from lit_transformer.importance.plan import Plan
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.analysis_config import analysis_config
from lit_transformer.training.module import LitTransformer


@runtime_checkable
class ScoringCallback(Protocol):
    """A callback that scores components of a trained model.

    It may have a method ``plan(analysis) -> Plan`` too, for dry runs, which refuses
    what it could not score later: it is called before anything is evaluated.
    """

    def on_analyze(self, trainer: pl.Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
        """Score components; called on every process, with the model on its device."""
        ...


def score(
    trainer: pl.Trainer,
    model: LitTransformer,
    analysis: Analysis,
    scoring: Sequence[ScoringCallback],
    config: Mapping[str, Any] | None,
) -> None:
    """Let the scorers of an analysis score, or say what they would evaluate.

    Args:
        trainer: The Trainer.
        model: The trained model, on its device.
        analysis: What the scorers share.
        scoring: The scorers, in their order.
        config: The configuration of the command, which is written beside the scores; None where there is none.

    Raises:
        UserError: A scorer can't score; before any of them has begun where its plan can tell.
    """
    analysis.scorers = tuple(scoring)
    plans = [(type(scorer).__name__, scorer.plan(analysis)) for scorer in scoring if hasattr(scorer, "plan")]
    if analysis.settings.dry_run:
        if analysis.is_first:
            _print(plans, analysis)
        return
    # One of some components by the command's own option stands apart, like its scores.
    place = analysis.folder / "selected" if analysis.is_partial else analysis.folder
    make_folder(place)
    if config is not None and analysis.is_first:
        known = analysis_config(config, analysis.checkpoint, model.structure, place, analysis.about())
        write_text(place / "config.yaml", yaml.safe_dump(known, sort_keys=False, allow_unicode=True))
    for scorer in scoring:
        scorer.on_analyze(trainer, model, analysis)
        # The next one may read what the first process has written. No barrier: where a process is gone, this tells.
        analysis.dealer.gather([])


def _print(plans: Sequence[tuple[str, Plan]], analysis: Analysis) -> None:
    evaluator = analysis.evaluator
    rows = [(name, len(plan.variants), sum(map(evaluator.known, plan.variants)), plan.at_most) for name, plan in plans]
    # Beside the baseline, those that are known beforehand are made at a time.
    at_a_time = max((variants for _, variants, _, _ in rows), default=1) - 1
    other = sum(plan.other_seconds() for _, plan in plans)
    print_plans(rows, analysis.about(), evaluator.expected_seconds(at_a_time), other)
