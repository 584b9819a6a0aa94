"""An analysis that decodes one variant after another, timed against one that decodes several side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import torch

from benchmarks.support.clock import seconds
from benchmarks.support.subject import Subject
from lit_transformer.importance.chains import Steps, single
from lit_transformer.importance.criticality import EPSILON, scan
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.evaluator import Evaluator
from lit_transformer.importance.variant import Variant, ablation

Evaluations: TypeAlias = Mapping[Variant, Evaluation]


@dataclass(frozen=True)
class Comparison:
    """The time that the evaluations of one score take in two ways, and how far their results agree.

    Args:
        score: Name of the score.
        size: Maximum number of variants in a batch.
        naive: Seconds of decoding one variant after another, with the baseline.
        side_by_side: Seconds of decoding several variants in one batch, with the baseline.
        evaluations: Number of evaluations of the naive way, without the baseline.
        sentences: Number of sentences, over all evaluations that both made.
        differing: Number of sentences with another hypothesis side by side.
        gaps: BLEU side by side minus naive BLEU, of each evaluation that both made.
    """

    score: str
    size: int
    naive: float
    side_by_side: float
    evaluations: int
    sentences: int
    differing: int
    gaps: tuple[float, ...]


def compare(subject: Subject, score: str, size: int | None, k: int) -> Comparison:
    """Time a score in both ways.

    Args:
        subject: The model.
        score: ``contribution``, ``criticality`` or ``group``.
        size: Maximum number of variants in a batch; None for as many as an analysis would take.
        k: Number of components that group ablation removes.
    """
    one_by_one, together = (subject.analysis(side_by_side=each).evaluator for each in (1, size))
    naive, expected = seconds(lambda: evaluations(one_by_one, score, k))
    spent, found = seconds(lambda: evaluations(together, score, k))
    # Where rounding changed a decision of a search, some variants were evaluated in one way only.
    pairs = [(made, expected[variant]) for variant, made in found.items() if variant in expected]
    return Comparison(
        f"group ablation, k = {k}" if score == "group" else score,
        together.side_by_side,
        naive,
        spent,
        len(expected),
        sum(one.sentences for one, _ in pairs),
        sum(differing(*pair) for pair in pairs),
        tuple(one.bleu - other.bleu for one, other in pairs),
    )


def evaluations(evaluator: Evaluator, score: str, k: int) -> Evaluations:
    """Make all evaluations of a score; return those of variants, without the baseline.

    Args:
        evaluator: Makes them.
        score: See `compare`.
        k: Number of components that group ablation removes.
    """
    baseline, components = evaluator.evaluate(), evaluator.components
    found: list[Evaluation] = []
    if score == "contribution":
        found = evaluator.run([single(ablation(name)) for name in components])
    elif score == "criticality":
        scans = evaluator.run([partial(_scan, name, baseline) for name in components])
        found = [made for each in scans for made in each]
    else:
        removed: list[str] = []
        for _ in range(k):
            left = [name for name in components if name not in removed]
            made = evaluator.run([single(ablation(*removed, name)) for name in left])
            removed.append(max(zip(left, made, strict=True), key=lambda pair: pair[1].bleu)[0])
            found += made
    return {each.variant: each for each in found}


def _scan(component: str, baseline: Evaluation) -> Steps:
    """Yield the variants that `callbacks.CriticalityScore` evaluates; return their evaluations."""
    search, found = scan(EPSILON), list[Evaluation]()
    try:
        alpha = next(search)
        while True:
            found.append((yield Variant(interpolated=component, alpha=alpha)))
            alpha = search.send(found[-1].drop_from(baseline))
    except StopIteration:
        return found


def differing(first: Evaluation, second: Evaluation) -> int:
    """Return the number of sentences whose hypotheses differ."""
    pairs: Iterator[tuple[torch.Tensor, torch.Tensor]] = zip(
        first.pieces.split(first.lengths.tolist()), second.pieces.split(second.lengths.tolist()), strict=True
    )
    return sum(not torch.equal(one, other) for one, other in pairs)
