"""Contribution: how much BLEU is lost when a component is ablated (Wang & Tu 2020, method.md 1.3)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytorch_lightning as pl

from lit_transformer.components import component_ids, kind_of, layer_of, select
from lit_transformer.importance.evaluator import Evaluation, Evaluator
from lit_transformer.importance.scores import RELIABLE_BASELINE, contribution_scores
from lit_transformer.importance.tables import write_scores
from lit_transformer.module import LitTransformer
from lit_transformer.progress import EvaluationProgress, print_scores
from lit_transformer.report.figures import contribution_heat_map
from lit_transformer.trainer import Trainer


class ContributionScore(pl.Callback):
    """Ablates every component of the trained model by itself and scores it by the BLEU that this costs.

    Writes ``analysis/<checkpoint>/scores.csv``, ``scores.json`` and ``report/contribution.png``; all three into
    ``analysis/<checkpoint>/selected`` where only some components are scored.

    Args:
        components: Which components to score: ids (d:sa:3), ranges (d:sa:1-3), kinds (d:sa), sides (d:*) or all (*).
    """

    def __init__(self, components: list[str] | None = None) -> None:
        self.components = components or ["*"]

    def check(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Refuse a selector that matches nothing now, not after days of training; called before anything is loaded.

        Raises:
            UserError: A selector matches nothing in this model.
        """
        layers = pl_module.hparams["encoder_layers"], pl_module.hparams["decoder_layers"]
        select(trainer.selectors or self.components, component_ids(*layers))

    def on_analyze(self, trainer: Trainer, pl_module: LitTransformer, evaluator: Evaluator) -> None:
        """Evaluate the baseline and each ablation, and write the scores.

        Raises:
            UserError: A selector matches nothing in this model.
        """
        selectors = trainer.selectors or self.components
        chosen = select(selectors, evaluator.components)
        with EvaluationProgress(1 + len(chosen), shown=trainer.is_global_zero) as progress:
            baseline = evaluator.evaluate()
            progress.advance("baseline", baseline.bleu)
            ablations: dict[str, Evaluation] = {}
            for component in chosen:
                ablations[component] = evaluator.evaluate([component])
                progress.advance(component, ablations[component].bleu)
        if trainer.is_global_zero:
            self._write(trainer, pl_module, selectors, baseline, ablations)

    def _write(
        self,
        trainer: Trainer,
        pl_module: LitTransformer,
        selectors: list[str],
        baseline: Evaluation,
        ablations: dict[str, Evaluation],
    ) -> None:
        rows = contribution_rows(pl_module, baseline, ablations)
        checkpoint = trainer.analysed_checkpoint.name if trainer.analysed_checkpoint else "the model"
        about = {
            "checkpoint": checkpoint,
            "selectors": selectors,
            "baseline": {key: value for key, value in asdict(baseline).items() if key != "ablated"},
            "reliable": baseline.bleu >= RELIABLE_BASELINE,
            **pl_module.scoring_settings("validation"),
        }
        # Some of the components: their contributions are relative to each other, and never replace those of all.
        partial = len(rows) < len(pl_module.network.components())
        folder = trainer.analysis_folder / "selected" if partial else trainer.analysis_folder
        write_scores(folder, rows, about)
        picture = (folder if partial else trainer.output_folder / "report") / "contribution.png"
        contribution_heat_map(
            {str(row["component"]): float(row["contribution"]) for row in rows},
            picture,
            title=f"Contribution among {len(rows)} components" if partial else "Contribution",
            subtitle=f"{checkpoint}: baseline {baseline.bleu:.2f} BLEU, {baseline.sentences} sentences of validation",
        )
        print_scores(rows, about, folder, picture)
        for logger in trainer.loggers:
            logger.log_metrics({f"analysis/contribution/{row['component']}": row["contribution"] for row in rows})


def contribution_rows(
    pl_module: LitTransformer, baseline: Evaluation, ablations: dict[str, Evaluation]
) -> list[dict[str, Any]]:
    """Return a row of the table of scores per component, in canonical order.

    Args:
        pl_module: The model, for the number of parameters.
        baseline: The evaluation of the whole model.
        ablations: The evaluation without each component, by id.
    """
    results = contribution_scores(baseline.bleu, {component: made.bleu for component, made in ablations.items()})
    sublayers = pl_module.network.components()
    return [
        {
            "component": component,
            "kind": kind_of(component),
            "layer": layer_of(component),
            "parameters": sum(parameter.numel() for parameter in sublayers[component].function.parameters()),
            "baseline_bleu": baseline.bleu,
            "ablated_bleu": made.bleu,
            "drop": results[component].drop,
            "relative_drop": results[component].relative_drop,
            "contribution": results[component].contribution,
            "rank": results[component].rank,
            "brevity_penalty": made.brevity_penalty,
            "length_ratio": made.length_ratio,
            "non_terminated": made.non_terminated,
            "sentences": made.sentences,
            "seconds": round(made.seconds, 3),
        }
        for component, made in ablations.items()
    ]
