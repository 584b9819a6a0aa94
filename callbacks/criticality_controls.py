"""What criticality was derived from, as controls: the module criticality of Chatterji et al. and re-randomisation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from lit_transformer.importance.chains import single
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.module_criticality import (
    ModuleCriticality,
    grid_settings,
    module_criticality,
    most_seconds,
)
from lit_transformer.importance.module_criticality_journal import ModuleCriticalityJournal
from lit_transformer.importance.variant import Variant
from lit_transformer.model.surgery import component_parameters
from lit_transformer.training.analysis import Analysis


def rerandomized_rows(
    evaluator: Evaluator, baseline: Evaluation, components: Sequence[str], draws: int, include_norm: bool
) -> list[dict[str, Any]]:
    """Put fresh initial weights into each component, by itself (Zhang et al. 2019, method.md 2.1).

    Args:
        evaluator: Evaluates the variants.
        baseline: The evaluation of the trained model.
        components: Ids.
        draws: How many fresh initial weights to try of each.
        include_norm: Put the component's LayerNorm back to what it is in a new model too.

    Returns:
        Per component, mean and standard deviation of the drop in BLEU points over the draws.
    """
    variants = {
        component: [
            Variant(interpolated=component, alpha=0.0, draw=draw, include_norm=include_norm) for draw in range(draws)
        ]
        for component in components
    }
    evaluator.run([single(variant) for made in variants.values() for variant in made])
    rows = []
    for component, made in variants.items():
        drops = [evaluator.evaluate(variant).drop_from(baseline) for variant in made]
        spread = statistics.stdev(drops) if draws > 1 else 0.0
        rows.append(
            {"component": component, "rerandomized_drop": statistics.fmean(drops), "rerandomized_drop_sd": spread}
        )
    return rows


def module_criticality_about(analysis: Analysis, include_norm: bool, samples: int) -> dict[str, Any]:
    """Return what the scores of Chatterji et al. rest on beside what all scores do, as plain types.

    Args:
        analysis: The analysis.
        include_norm: Move the component's LayerNorm too.
        samples: Draws of the noise at each point of the grid.

    Raises:
        UserError: There is no training split.
    """
    return {
        **grid_settings(include_norm, samples),
        "training_sample": analysis.training_sample,
        "initial_weights": analysis.initial_digest,
    }


def module_criticality_seconds(
    analysis: Analysis, components: Sequence[str], include_norm: bool, samples: int
) -> float:
    """Return the seconds that `module_criticality_rows` takes at most, on one process, by the time of one pass.

    Args:
        analysis: The analysis.
        components: Ids.
        include_norm: Move the component's LayerNorm too.
        samples: Draws of the noise at each point of the grid.
    """
    journal = _journal(analysis, include_norm, samples)
    new = [component for component in components if journal.find(component) is None]
    if not new:
        return 0.0
    network, batches, initial = analysis.module.network, analysis.training_batches, analysis.initial_weights
    return len(new) * most_seconds(network, new[0], initial, batches, samples, include_norm)


def module_criticality_rows(
    analysis: Analysis, components: Sequence[str], include_norm: bool, samples: int
) -> list[dict[str, Any]]:
    """Score components by Chatterji et al. 2020 (method.md 2.2), on the loss of a fixed sample of the training split.

    Args:
        analysis: The analysis.
        components: Ids.
        include_norm: Move the component's LayerNorm too.
        samples: Draws of the noise at each point of the grid.

    Returns:
        Per component: the module criticality, and at which alpha and sigma it was found; empty where there is no such
        point.
    """
    network, batches = analysis.module.network, analysis.training_batches
    initial, journal = analysis.initial_weights, _journal(analysis, include_norm, samples)

    def score(component: str) -> ModuleCriticality:
        found = journal.find(component)
        if found is None:
            found = module_criticality(network, component, initial, batches, samples, include_norm)
            journal.add(component, found)
        return found

    work = [lambda component=component: score(component) for component in components]
    found = analysis.evaluator.share(work, [f"{component} (loss)" for component in components])
    sizes = {c: sum(p.numel() for p in component_parameters(network, c, include_norm).values()) for c in components}
    return [
        {
            "component": component,
            "module_criticality": result.criticality,
            "module_criticality_alpha": result.alpha,
            "module_criticality_sigma": result.sigma,
            "module_criticality_per_parameter": None
            if result.criticality is None
            else result.criticality / sizes[component],
        }
        for component, result in zip(components, found, strict=True)
    ]


def _journal(analysis: Analysis, include_norm: bool, samples: int) -> ModuleCriticalityJournal:
    about = analysis.about()
    rests_on = {
        **module_criticality_about(analysis, include_norm, samples),
        "weights": about["weights"],
        "tokenizer": about["tokenizer"],
        "batch_tokens": analysis.data.eval_max_tokens,
        "device": next(analysis.module.parameters()).device.type,
        "torch": about["versions"]["torch"],
    }
    return ModuleCriticalityJournal(analysis.folder / "module_criticality", rests_on)
