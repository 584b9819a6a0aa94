"""Contribution: how much BLEU is lost when a component is ablated (Wang & Tu 2020, method.md 1.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal

from typing_extensions import override

from callbacks.component_scorer import ComponentScorer, log_scores
from lit_transformer.console.tables import print_contributions
from lit_transformer.console.terminal import say
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.importance.chains import single
from lit_transformer.importance.contribution import contribution_table
from lit_transformer.importance.criticality import rank_by_criticality
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.examples import examples
from lit_transformer.importance.intervals import EPSILON
from lit_transformer.importance.plan import Plan
from lit_transformer.importance.score_table import ScoreTable
from lit_transformer.importance.variant import Value, Variant, ablation
from lit_transformer.metrics.chrf import CorpusChrF
from lit_transformer.report.pictures import heat_map
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer


class ContributionScore(ComponentScorer):
    """Ablates every component of the trained model by itself and scores it by the BLEU that this costs.

    Writes its columns of ``analysis/<checkpoint>/scores.csv`` and ``scores.json``, ``examples.json`` (translations with
    and without the most and the least important component) and ``report/contribution.png``; all into
    ``analysis/<checkpoint>/selected`` where only some components are scored.

    Args:
        components: Which components to score: ids (d:sa:3), ranges (d:sa:1-3), kinds (d:sa), sides (d:*) or all (*).
        value: What takes the place of a component's output: zero (the paper) or mean, its mean over training tokens.
        epsilon: BLEU points below which a drop makes no difference, for the labels.
        least: How many least important components to tell the stability of under resampling.

    Raises:
        UserError: A setting is out of its range.
    """

    apart_by, rests_on_others = ("value",), False

    def __init__(
        self,
        components: list[str] | None = None,
        value: Literal["zero", "mean"] = "zero",
        epsilon: float = EPSILON,
        least: int = 5,
    ) -> None:
        super().__init__(components)
        if epsilon <= 0:
            raise UserError(f"ContributionScore's epsilon is {epsilon!r}; give BLEU points above 0, such as 0.5.")
        if least < 1:
            raise UserError(f"ContributionScore's least is {least!r}; give a number of components from 1 up.")
        self.value: Value = value
        # Columns of mean ablation stand beside those of the paper's.
        self._prefix = "" if value == "zero" else "mean_"
        self.epsilon, self.least = epsilon, least

    @property
    @override
    def makes(self) -> str:
        return f"{self._prefix}contribution"

    @override
    def plan(self, analysis: Analysis) -> Plan:
        return Plan([Variant(), *(ablation(component, value=self.value) for component in self.chosen(analysis))])

    @override
    def on_analyze(self, trainer: Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
        """Evaluate the baseline and each ablation, and write the scores.

        Raises:
            UserError: A selector matches nothing in this model.
        """
        evaluator, chosen = analysis.evaluator, self.chosen(analysis)
        variants = [ablation(component, value=self.value) for component in chosen]
        with self.progress(analysis, 1 + len(chosen)):
            [baseline] = evaluator.run([single(Variant())])
            ablations = evaluator.run([single(variant) for variant in variants])
        if analysis.is_first:
            self._write(trainer, analysis, baseline, dict(zip(chosen, ablations, strict=True)))

    def _write(
        self, trainer: Trainer, analysis: Analysis, baseline: Evaluation, ablations: Mapping[str, Evaluation]
    ) -> None:
        made = contribution_table(baseline, ablations, self.epsilon, self.least, self._prefix)
        exact = {name: analysis.evaluator.exact_matches(found) for name, found in ablations.items()}
        exact = {"baseline": analysis.evaluator.exact_matches(baseline), **exact}
        section = {**made.about, **({"exact_match": exact} if exact["baseline"] else {})}
        if any("chrf" in found.measures for found in (baseline, *ablations.values())):
            section["chrf_signature"] = CorpusChrF().signature
        table = self.table(analysis)
        table.add(f"{self._prefix}contribution", section, made.rows)
        # Equal ones rank by the drop, which is another now.
        rank_by_criticality(table)
        table.correlate("drop_and_mean_drop", "drop", "mean_drop")
        table.correlate(f"{self._prefix}drop_and_loss_rise", f"{self._prefix}drop", f"{self._prefix}loss_rise")
        # Those with other scorers' columns are of an earlier analysis otherwise.
        table.correlate("contribution_and_criticality", "contribution", "criticality")
        table.correlate("drop_and_rerandomized_drop", "drop", "rerandomized_drop")
        table.write()
        if not self._prefix:
            self._write_examples(analysis, table, baseline, ablations)
        self._show(trainer, analysis, table)

    def _write_examples(
        self, analysis: Analysis, table: ScoreTable, baseline: Evaluation, ablations: Mapping[str, Evaluation]
    ) -> None:
        path = self.folder(analysis) / "examples.json"
        found = examples(baseline, ablations, analysis.texts("validation"), analysis.data.tokenizer.decode)
        text = json.dumps({**found, "weights": table.about["weights"]}, indent=1, ensure_ascii=False)
        write_text(path, text + "\n")

    def _show(self, trainer: Trainer, analysis: Analysis, table: ScoreTable) -> None:
        name, folder = f"{self._prefix}contribution", self.folder(analysis)
        scores = {str(row["component"]): float(row[name]) for row in table.rows if name in row}
        picture = self.report_folder(analysis) / f"{name}.png"
        title = "Contribution" + (" (mean ablation)" if self._prefix else "")
        if len(scores) < len(analysis.evaluator.components):
            title += f" among {len(scores)} components"
        heat_map(scores, picture, title=title, subtitle=self.subtitle(table), score="contribution")
        print_contributions(table.rows, table.about, self._prefix)
        for path in (folder / "scores.csv", folder / "scores.json", picture):
            say(path)
        log_scores(trainer, name, table.rows, picture, bars=f"{self._prefix}drop")
        log_scores(trainer, f"{self._prefix}non_terminated", table.rows)
