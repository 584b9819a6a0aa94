"""Translations to read: what the model says as it is, and what it says without a component."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.resampling import bleu

EXAMPLES = 6
"""Sentences that are shown for a component."""

EXAMPLES_FORMAT = 1


def examples(
    baseline: Evaluation,
    ablations: Mapping[str, Evaluation],
    texts: Sequence[tuple[str, str]],
    decode: Callable[[Sequence[int]], str],
    count: int = EXAMPLES,
) -> dict[str, Any]:
    """Return sentences that change most without the most and without the least important component.

    Args:
        baseline: The evaluation of the whole model.
        ablations: The evaluation without each component, by id.
        texts: Source and reference of each sentence, in the order of the scoring set.
        decode: Returns the text of target ids.
        count: How many sentences to show, at most.

    Returns:
        ``most`` and ``least``, each with ``component``, ``drop`` (BLEU points), ``changed`` (hypotheses that differ)
        and ``sentences``: ``source``, ``reference``, ``baseline``, ``ablated``, and ``fall``, the drop of the
        sentence's own BLEU.
    """
    drop = {name: made.drop_from(baseline) for name, made in ablations.items()}
    said = _hypotheses(baseline, decode)
    chosen = {"most": max(drop, key=drop.__getitem__), "least": min(drop, key=drop.__getitem__)}
    found: dict[str, Any] = {"format": EXAMPLES_FORMAT, "of": len(texts)}
    for place, component in chosen.items():
        ablated = _hypotheses(ablations[component], decode)
        falls = bleu(baseline.statistics.numpy()) - bleu(ablations[component].statistics.numpy())
        changed = [number for number, text in enumerate(ablated) if text != said[number]]
        # Of the least important component a gain is as telling as a loss.
        telling = np.abs(falls) if place == "least" else falls
        shown = sorted(changed, key=lambda number: (-telling[number], number))[:count]
        found[place] = {
            "component": component,
            "drop": drop[component],
            "changed": len(changed),
            "sentences": [
                {
                    "source": texts[number][0],
                    "reference": texts[number][1],
                    "baseline": said[number],
                    "ablated": ablated[number],
                    "fall": float(falls[number]),
                }
                for number in shown
            ],
        }
    return found


def _hypotheses(evaluation: Evaluation, decode: Callable[[Sequence[int]], str]) -> list[str]:
    return [decode(ids) for ids in evaluation.ids()]
