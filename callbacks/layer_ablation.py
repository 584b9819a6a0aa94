"""Layer ablation: whole decoder layers are removed one after another, which makes a shallow decoder without scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from callbacks.component_scorer import ComponentScorer
from lit_transformer.components import layer_of, select
from lit_transformer.console.tables import print_layer_ablation
from lit_transformer.console.terminal import say
from lit_transformer.errors import UserError
from lit_transformer.importance.chains import single
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.plan import Plan
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.model.surgery import component_parameters
from lit_transformer.tracking.run import log_layer_ablation, others_of
from lit_transformer.training.analysis import Analysis
from lit_transformer.training.module import LitTransformer
from lit_transformer.training.trainer import Trainer

SECTION = "layer_ablation"


class LayerAblation(ComponentScorer):
    """Removes whole decoder layers of the trained model one after another, each time the one that costs least.

    The shallow decoder that this gives is what pruning by component is held against (method.md 1.7). In each step every
    layer that is left is tried, given those that are gone; what counts is BLEU on validation, always over all of its
    sentences. Writes its section of ``scores.json``, which `callbacks.ComponentPruning` reads with ``by: layers``.

    Args:
        components: Which components may go; a layer may go if all that the model still has of it may. Ids (d:sa:3),
            ranges (d:*:1-3), kinds (d:sa), sides (d:*) or all (*).
        count: How many layers to remove; one decoder layer at least stays.

    Raises:
        UserError: The count is below 1.
    """

    apart_by, rests_on_others = (), False

    def __init__(self, components: list[str] | None = None, count: int = 1) -> None:
        super().__init__(components)
        if count < 1:
            raise UserError(f"LayerAblation's count is {count!r}; give a number of decoder layers from 1 up.")
        self.count = count

    @override
    def check(self, trainer: Trainer, pl_module: LitTransformer) -> None:
        """Refuse what can't be removed now, not after days of training.

        Raises:
            UserError: A selector matches nothing, or there are too few layers.
        """
        super().check(trainer, pl_module)
        existing = pl_module.structure.components
        self._layers(existing, select(trainer.analysis_settings.components or self.components, existing))

    @override
    def plan(self, analysis: Analysis) -> Plan:
        layers = self._layers(analysis.evaluator.components, self.chosen(analysis))
        first = [ablation(*layer) for layer in layers.values()]
        return Plan([Variant(), *first], sum(len(layers) - gone for gone in range(1, self.count)))

    @override
    def on_analyze(self, trainer: Trainer, pl_module: LitTransformer, analysis: Analysis) -> None:
        """Choose the layers, and write what their removal costs.

        Raises:
            UserError: A selector matches nothing, or there are too few layers.
        """
        evaluator, plan = analysis.evaluator, self.plan(analysis)
        layers = self._layers(evaluator.components, self.chosen(analysis))
        with self.progress(analysis, len(plan.variants) + plan.at_most, plan.at_most > 0):
            [baseline] = evaluator.run([single(Variant())])
            steps = self._greedy(analysis, layers)
        if analysis.is_first:
            self._write(trainer, analysis, self._rows(analysis, layers, baseline, steps))

    def _layers(self, existing: Sequence[str], chosen: Sequence[str]) -> dict[int, list[str]]:
        """Return the components of each decoder layer that may go, by its number, from the lowest layer up.

        Raises:
            UserError: There are too few.
        """
        decoder: dict[int, list[str]] = {}
        for component in existing:
            if component.startswith("d:"):
                decoder.setdefault(layer_of(component), []).append(component)
        layers = {layer: decoder[layer] for layer in sorted(decoder) if set(decoder[layer]) <= set(chosen)}
        most = min(len(layers), len(decoder) - 1)
        if self.count > most:
            raise UserError(
                f"LayerAblation's count is {self.count}, but of {len(decoder)} decoder layers with components its "
                f"selectors leave {len(layers)} as a whole, and one layer at least has to stay; "
                + (f"choose a count up to {most}." if most else "choose other components, or a deeper model.")
            )
        return layers

    def _greedy(self, analysis: Analysis, layers: dict[int, list[str]]) -> list[tuple[int, Evaluation]]:
        """Return the layer of each step with the evaluation of what is left."""
        steps: list[tuple[int, Evaluation]] = []
        gone: list[str] = []
        while len(steps) < self.count:
            left = [layer for layer in layers if layer not in {done for done, _ in steps}]
            chains = [single(ablation(*gone, *layers[layer])) for layer in left]
            found = dict(zip(left, analysis.evaluator.run(chains), strict=True))
            # Of layers that cost the same, the lowest one.
            best = min(left, key=lambda layer: (-found[layer].bleu, layer))
            steps.append((best, found[best]))
            gone += layers[best]
        return steps

    def _rows(
        self,
        analysis: Analysis,
        layers: dict[int, list[str]],
        baseline: Evaluation,
        steps: Sequence[tuple[int, Evaluation]],
    ) -> list[dict[str, Any]]:
        network = analysis.module.network
        sizes = {
            layer: sum(p.numel() for name in names for p in component_parameters(network, name).values())
            for layer, names in layers.items()
        }
        scores = {"validation_bleu": baseline.bleu, "validation_drop": 0.0}
        rows: list[dict[str, Any]] = [{"step": 0, "layer": None, "components": [], **scores, "parameters_removed": 0}]
        for step, (layer, evaluation) in enumerate(steps, start=1):
            rows.append(
                {
                    "step": step,
                    "layer": layer,
                    "components": layers[layer],
                    "validation_bleu": evaluation.bleu,
                    "validation_drop": evaluation.drop_from(baseline),
                    "parameters_removed": rows[-1]["parameters_removed"] + sizes[layer],
                }
            )
        return rows

    def _write(self, trainer: Trainer, analysis: Analysis, rows: list[dict[str, Any]]) -> None:
        table = self.table(analysis)
        table.add(SECTION, {"chosen_on": "validation", "rows": rows}, [])
        table.write()
        print_layer_ablation(rows, analysis.about())
        say(self.folder(analysis) / "scores.json")
        for logger in others_of(trainer.loggers):
            for row in rows:
                logger.log_metrics({f"analysis/{SECTION}/{row['step']}": row["validation_bleu"]})
        log_layer_ablation(trainer.loggers, rows)
