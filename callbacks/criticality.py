"""Criticality: how far a component can go back to its initial weights (Wang & Tu 2020, method.md 1.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from typing_extensions import override

from callbacks.component_scorer import ComponentScorer, log_scores, refuse_unused
from callbacks.criticality_controls import (
    module_criticality_about,
    module_criticality_rows,
    module_criticality_seconds,
    rerandomized_rows,
)
from lit_transformer.console.tables import print_criticalities
from lit_transformer.console.terminal import say
from lit_transformer.errors import UserError
from lit_transformer.files import write_text
from lit_transformer.importance.chains import Steps, single
from lit_transformer.importance.criticality import (
    GRID,
    Criticality,
    Search,
    bisect,
    criticality_distribution,
    full,
    rank_by_criticality,
    scan,
    threshold,
)
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.plan import Plan
from lit_transformer.importance.resampling import resample_counts
from lit_transformer.importance.score_table import ScoreTable, table_text
from lit_transformer.importance.variant import Variant
from lit_transformer.importance.weight_change import WeightChange, weight_change
from lit_transformer.model.surgery import component_parameters
from lit_transformer.report.pictures import heat_map
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

CURVES = "criticality_curves.csv"
CONTROL_SCORES = {"chatterji": "module_criticality", "rerandomize": "rerandomized_drop"}
USED_WITH = {
    **dict.fromkeys(("epsilon", "search", "grid"), "interpolate"),
    "draws": "rerandomize",
    "samples": "chatterji",
}
"""The only variant that an option matters with."""


@dataclass(frozen=True)
class _Found:
    """The search of one component, with the evaluation at each alpha that was asked for."""

    result: Criticality
    evaluations: Mapping[float, Evaluation]


class CriticalityScore(ComponentScorer):
    """Moves every component of the trained model back towards its initial weights, by itself, until BLEU is lost.

    The score is the least alpha of 0, 0.1 ... 1 at which the drop in BLEU is below epsilon, where the component's
    weights are ``(1 - alpha) * initial + alpha * trained``. Writes its columns of ``scores.csv`` and ``scores.json``,
    the drops at every alpha that was evaluated to ``criticality_curves.csv``, and ``report/criticality.png``.

    Args:
        components: Which components to score: ids (d:sa:3), ranges (d:sa:1-3), kinds (d:sa), sides (d:*) or all (*).
        epsilon: For interpolate, BLEU points that may be lost, such as 0.5 (the paper's), or a share of the baseline,
            such as "2%".
        search: For interpolate, scan (from 0 upwards, the paper's minimum) or bisect (fewer evaluations, if the drop
            never rises with alpha).
        grid: For interpolate, needed (only what the search asks for) or full (every alpha: whole curves, whether they
            are monotone, and how the score spreads over the choice of sentences).
        include_norm: Move the component's LayerNorm too.
        variant: interpolate (the paper's); or one of what it was derived from, as a control, with columns of its own in
            the table: chatterji (the original module criticality with noise and distance, on the loss of a fixed
            training sample; minutes per component) or rerandomize (fresh initial weights instead of interpolated
            ones, and BLEU).
        draws: For rerandomize, how many fresh initial weights are tried of each component.
        samples: For chatterji, draws of the noise at each point of its grid.

    Raises:
        UserError: A setting is out of its range, or was given where it can't matter.
    """

    apart_by, rests_on_others = ("variant",), False

    def __init__(
        self,
        components: list[str] | None = None,
        epsilon: float | str = 0.5,
        search: Literal["scan", "bisect"] = "scan",
        grid: Literal["needed", "full"] = "needed",
        include_norm: bool = False,
        variant: Literal["interpolate", "chatterji", "rerandomize"] = "interpolate",
        draws: int = 5,
        samples: int = 10,
    ) -> None:
        super().__init__(components)
        # A share of a baseline that is not known yet is checked for its form.
        threshold(epsilon, 100.0, "CriticalityScore's epsilon")
        if draws < 1 or samples < 1:
            raise UserError(f"CriticalityScore's draws are {draws!r} and samples {samples!r}; give numbers from 1 up.")
        self.epsilon, self.search, self.grid, self.include_norm = epsilon, search, grid, include_norm
        self.variant, self.draws, self.samples = variant, draws, samples
        for option, needed in USED_WITH.items():
            if variant != needed:
                refuse_unused(CriticalityScore, option, getattr(self, option), f"variant: {needed}")
        if grid == "full":
            refuse_unused(CriticalityScore, "search", search, "grid: needed")

    @property
    @override
    def makes(self) -> str:
        return "criticality" if self.variant == "interpolate" else self.variant

    @override
    def plan(self, analysis: Analysis) -> Plan:
        if self.variant != "rerandomize":
            # Loaded now, so that a dry run tells whether they are there.
            _ = analysis.initial_weights
        chosen = self.chosen(analysis)
        if self.variant == "rerandomize":
            return Plan([Variant()], len(chosen) * self.draws)
        if self.variant == "chatterji":
            # Opened now too, and on every process.
            _ = analysis.training_batches
            given = (chosen, self.include_norm, self.samples)
            return Plan([Variant()], other_seconds=lambda: module_criticality_seconds(analysis, *given))
        if self.grid == "full":
            return Plan([Variant(), *(self._variant(name, alpha) for name in chosen for alpha in GRID[:-1])])
        if self.search == "bisect":
            return Plan([Variant()], at_most=len(chosen) * (len(GRID) - 1).bit_length())
        return Plan([Variant(), *(self._variant(name, 0.0) for name in chosen)], len(chosen) * (len(GRID) - 2))

    @override
    def on_analyze(self, trainer: Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
        """Search the alpha of each component, and write the scores.

        Raises:
            UserError: The initial weights are missing or another run's, or a selector matches nothing.
        """
        evaluator, chosen, plan = analysis.evaluator, self.chosen(analysis), self.plan(analysis)
        others = len(chosen) if self.variant == "chatterji" else 0
        with self.progress(analysis, len(plan.variants) + plan.at_most + others, plan.at_most > 0):
            [baseline] = evaluator.run([single(Variant())])
            if self.variant != "interpolate":
                self._control(trainer, analysis, baseline)
                return
            epsilon = threshold(self.epsilon, baseline.bleu)
            chains = [partial(self._steps, name, baseline, epsilon) for name in chosen]
            found: dict[str, _Found] = dict(zip(chosen, evaluator.run(chains), strict=True))
        if analysis.is_first:
            self._write(trainer, analysis, baseline, epsilon, found)

    def _control(self, trainer: Trainer, analysis: Analysis, baseline: Evaluation) -> None:
        chosen = self.chosen(analysis)
        if self.variant == "chatterji":
            rows = module_criticality_rows(analysis, chosen, self.include_norm, self.samples)
            about = {**module_criticality_about(analysis, self.include_norm, self.samples)}
        else:
            rows = rerandomized_rows(analysis.evaluator, baseline, chosen, self.draws, self.include_norm)
            about = {"draws": self.draws, "include_norm": self.include_norm}
        if analysis.is_first:
            table = self.table(analysis)
            table.add(self.variant, about, rows)
            table.correlate("criticality_and_module_criticality", "criticality", "module_criticality")
            table.correlate("drop_and_rerandomized_drop", "drop", "rerandomized_drop")
            table.write()
            say(self.folder(analysis) / "scores.csv")
            log_scores(trainer, CONTROL_SCORES[self.variant], rows)

    def _variant(self, component: str, alpha: float) -> Variant:
        return Variant(interpolated=component, alpha=alpha, include_norm=self.include_norm)

    def _steps(self, component: str, baseline: Evaluation, epsilon: float) -> Steps:
        """Ask for the evaluations of one component; returns what was `_Found`."""
        search: Search = full(epsilon) if self.grid == "full" else (scan if self.search == "scan" else bisect)(epsilon)
        evaluations: dict[float, Evaluation] = {}
        try:
            alpha = next(search)
            while True:
                evaluations[alpha] = yield self._variant(component, alpha)
                alpha = search.send(evaluations[alpha].drop_from(baseline))
        except StopIteration as end:
            return _Found(end.value, evaluations)

    def _write(
        self,
        trainer: Trainer,
        analysis: Analysis,
        baseline: Evaluation,
        epsilon: float,
        found: Mapping[str, _Found],
    ) -> None:
        table, folder = self.table(analysis), self.folder(analysis)
        changes = {component: self._change(analysis, component) for component in found}
        rows = [
            {
                "component": component,
                "criticality": made.result.criticality,
                # Among all of them, below.
                "criticality_rank": None,
                "criticality_drop": made.result.curve[made.result.criticality],
                **({} if made.result.monotone is None else {"monotone": made.result.monotone}),
                "relative_distance": changes[component].relative_distance,
                "cosine": changes[component].cosine,
                "moved_little": changes[component].moved_little,
            }
            for component, made in found.items()
        ]
        table.add("criticality", self._about(analysis, baseline, epsilon, found), rows)
        rank_by_criticality(table)
        table.correlate("contribution_and_criticality", "contribution", "criticality")
        table.correlate("criticality_and_module_criticality", "criticality", "module_criticality")
        table.write()
        curves = [
            {
                "component": component,
                "alpha": alpha,
                "bleu": baseline.bleu - drop,
                "drop": drop,
            }
            for component, made in found.items()
            for alpha, drop in made.result.curve.items()
        ]
        write_text(folder / CURVES, table_text(list(curves[0]), curves))
        self._show(trainer, analysis, table, epsilon)

    def _about(
        self, analysis: Analysis, baseline: Evaluation, epsilon: float, found: Mapping[str, _Found]
    ) -> dict[str, Any]:
        about: dict[str, Any] = {
            "epsilon": epsilon,
            "epsilon_given": self.epsilon,
            "search": self.search,
            "grid": self.grid,
            "include_norm": self.include_norm,
            "initial_weights": analysis.initial_digest,
        }
        if self.search == "bisect" and self.grid == "needed":
            about["assumes"] = "a drop that never rises with alpha"
        if self.grid == "full":
            counts = resample_counts(baseline.sentences)
            about["distribution"] = {
                component: {
                    f"{alpha:g}": share
                    for alpha, share in criticality_distribution(
                        baseline.statistics.numpy(),
                        {alpha: made.statistics.numpy() for alpha, made in found[component].evaluations.items()},
                        epsilon,
                        counts,
                    ).items()
                }
                for component in found
            }
        return about

    def _change(self, analysis: Analysis, component: str) -> WeightChange:
        trained = component_parameters(analysis.module.network, component, self.include_norm)
        initial = analysis.initial_weights
        return weight_change(
            [initial[name].detach().cpu().numpy() for name in trained],
            [tensor.detach().cpu().numpy() for tensor in trained.values()],
        )

    def _show(self, trainer: Trainer, analysis: Analysis, table: ScoreTable, epsilon: float) -> None:
        scores = {str(row["component"]): float(row["criticality"]) for row in table.rows if "criticality" in row}
        picture, folder = self.report_folder(analysis) / "criticality.png", self.folder(analysis)
        heat_map(
            scores,
            picture,
            title=f"Criticality: the least alpha that costs less than {epsilon:.2f} BLEU",
            subtitle=self.subtitle(table),
            score="criticality",
        )
        print_criticalities(table.rows, table.about, epsilon)
        for path in (folder / "scores.csv", folder / "scores.json", folder / CURVES, picture):
            say(path)
        log_scores(trainer, "criticality", table.rows, picture)
