"""An analysis timed against the naive one, which decodes every variant by itself: evaluation by evaluation, in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from benchmarks.support.clock import seconds
from benchmarks.support.subject import BASELINE, Subject, TimedAnalysis
from callbacks.group_ablation import GroupAblation
from lit_transformer.importance.chains import Chain, Steps
from lit_transformer.importance.criticality import EPSILON, Criticality, is_close, scan
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.scores import CAP
from lit_transformer.importance.variant import Variant, ablation
from lit_transformer.importance.variant_decoder import VariantDecoder


@dataclass
class Comparison:
    """What the evaluations of one score cost, and whether they agree.

    Args:
        score: Its name.
        naive: Seconds of plain decoding.
        engine: Seconds of this project's evaluator.
        floor: Seconds of the parallel pass alone.
        evaluations: Their number, without the baseline.
        held: Number of sentences whose draft held, over all evaluations.
        differing: Number of sentences whose hypothesis is not that of plain decoding.
        sentences: Number of sentences, over all evaluations.
        gaps: The engine's BLEU minus that of plain decoding, of each evaluation.
        bleu: The engine's BLEU of each variant.
    """

    score: str
    naive: float = 0.0
    engine: float = 0.0
    floor: float = 0.0
    evaluations: int = 0
    held: int = 0
    differing: int = 0
    sentences: int = 0
    gaps: list[float] = field(default_factory=list)
    bleu: dict[Variant, float] = field(default_factory=dict)
    result: Any = None


@dataclass(frozen=True)
class Early:
    """What early decisions cost, and whether they agree with the exact ones.

    Args:
        score: Name of the score.
        seconds: What it took, with the baseline.
        asked: Number of decisions.
        early: How many were made before all sentences were decoded.
        wrong: How many differ from the exact ones.
        result: What the score gives.
    """

    score: str
    seconds: float
    asked: int
    early: int
    wrong: int
    result: Any

    def changed(self, exact: Comparison) -> int:
        """Return in how many places the result is not the exact one."""
        mine, other = (list(each.values()) if isinstance(each, dict) else each for each in (self.result, exact.result))
        return sum(
            not math.isclose(one, two, abs_tol=1e-9) if isinstance(one, float) else one != two
            for one, two in zip(mine, other, strict=True)
        )


class _Order(GroupAblation):
    def greedy(self, analysis: TimedAnalysis) -> list[str]:
        return self._greedy(analysis, self.chosen(analysis))


def scan_steps(analysis: TimedAnalysis, component: str, baseline: Evaluation) -> Steps:
    """Ask for what `callbacks.CriticalityScore` asks for; returns the component's `Criticality`."""
    search, path = scan(EPSILON), list[float]()
    try:
        alpha = next(search)
        while True:
            before = tuple(path) if analysis.drafts_along_path else ()
            path.append(alpha)
            variant = Variant(interpolated=component, alpha=alpha, path=before)
            made = yield analysis.question(variant, EPSILON)
            if not made.early and is_close(made.drop_from(baseline), EPSILON):
                made = yield Variant(interpolated=component, alpha=alpha, plain=True)
            alpha = search.send(made.drop_from(baseline))
    except StopIteration as end:
        return end.value


class Timed:
    """Makes evaluations of one score, naively and with the engine.

    Args:
        subject: The model.
        score: Name of the score.
    """

    def __init__(self, subject: Subject, score: str) -> None:
        self.plain, self.fast = subject.analysis(plain=True), subject.analysis()
        self.decoder = decoder_of(self.fast)
        self.found = Comparison(score)
        self.baseline = self.both(BASELINE)

    def both(self, variant: Variant) -> Evaluation:
        """Evaluate a variant in both ways, now one and now the other first; return the engine's evaluation."""
        found, made = self.found, {}
        ways = [("naive", self.plain), ("engine", self.fast)]
        for name, analysis in ways if len(found.gaps) % 2 else reversed(ways):
            if name == "naive" and variant.plain:
                continue
            spent, made[name] = seconds(lambda analysis=analysis: analysis.evaluator.evaluate(variant))  # type: ignore[misc]
            setattr(found, name, getattr(found, name) + spent)
        fast = made["engine"]
        found.bleu[variant] = fast.bleu
        if variant in (BASELINE,) or variant.plain:
            return fast
        before = self.fast.evaluator._before(variant)
        found.floor += seconds(lambda: self.decoder.start(variant, before))[0]
        found.evaluations += 1
        found.held += fast.held
        found.sentences += fast.sentences
        found.differing += differing(fast, made["naive"])
        found.gaps.append(fast.bleu - made["naive"].bleu)
        return fast


def contribution(subject: Subject) -> Comparison:
    """Time all single ablations."""
    timed = Timed(subject, "contribution")
    made = [timed.both(ablation(component)) for component in timed.fast.evaluator.components]
    timed.found.result = _contributions(timed.baseline, made)
    return timed.found


def criticality(subject: Subject) -> Comparison:
    """Time the exact scan of alphas, naively at the same ones."""
    timed, results = Timed(subject, "criticality"), {}
    for component in timed.fast.evaluator.components:
        steps = scan_steps(timed.fast, component, timed.baseline)
        try:
            asked = next(steps)
            while True:
                assert isinstance(asked, Variant)
                asked = steps.send(timed.both(asked))
        except StopIteration as end:
            found: Criticality = end.value
            results[component] = found.criticality
    timed.found.result = results
    return timed.found


def group_ablation(subject: Subject, k: int) -> Comparison:
    """Time the exact choice of the k components whose removal costs least, one after another."""
    timed = Timed(subject, f"group ablation, k = {k}")
    gone: list[str] = []
    for _ in range(k):
        left = [component for component in timed.fast.evaluator.components if component not in gone]
        made = {name: timed.both(ablation(*gone, name, draft=gone)).bleu for name in left}
        gone.append(max(left, key=made.__getitem__))
    timed.found.result = gone
    return timed.found


def early(subject: Subject, score: str, confidence: float, exact: Comparison, k: int) -> Early:
    """Time a score with early decisions.

    Args:
        subject: The model.
        score: ``contribution``, ``criticality`` or ``group``.
        confidence: That of all decisions together.
        exact: What was measured without.
        k: How many components group ablation removes.
    """
    components = len(subject.module.network.components())
    decisions = {"contribution": exact.evaluations, "criticality": 10 * components, "group": k * components}
    analysis = subject.analysis(confidence=confidence, decisions=decisions[score])
    return _early(analysis, exact, lambda: scored(analysis, score, k))


def side_by_side(subject: Subject, score: str, size: int | None, exact: Comparison, k: int) -> tuple[int, float, float]:
    """Time a score whose variants are decoded side by side.

    Args:
        subject: The model.
        score: See `early`.
        size: How many at most; None for as many as an analysis would take.
        exact: What was measured of the engine.
        k: How many components group ablation removes.

    Returns:
        How many variants are decoded side by side, the seconds, and the largest difference of BLEU to the engine.
    """
    analysis = subject.analysis(plain=True, side_by_side=size)
    spent, _ = seconds(lambda: scored(analysis, score, k))
    variants = [variant for variant in exact.bleu if not variant.plain]
    gaps = [abs(analysis.evaluator.evaluate(variant).bleu - exact.bleu[variant]) for variant in variants]
    return analysis.evaluator.side_by_side, spent, max(gaps)


def scored(analysis: TimedAnalysis, score: str, k: int) -> Any:
    """Return what a score gives, with all evaluations that it takes.

    Args:
        analysis: The analysis.
        score: See `early`.
        k: How many components group ablation removes.
    """
    evaluator = analysis.evaluator
    baseline, components = evaluator.evaluate(), evaluator.components
    if score == "contribution":
        asked = [analysis.question(ablation(name), CAP * baseline.bleu, ("above",)) for name in components]
        return _contributions(baseline, evaluator.run([Chain.of(question) for question in asked]))
    if score == "group":
        return _Order(k=k, test=False).greedy(analysis)
    chains = [Chain(lambda name=name: scan_steps(analysis, name, baseline)) for name in components]  # type: ignore[misc]
    return {name: each.criticality for name, each in zip(components, evaluator.run(chains), strict=True)}


def _early(analysis: TimedAnalysis, exact: Comparison, made: Callable[[], Any]) -> Early:
    spent, result = seconds(made)
    early = wrong = 0
    # A chain is followed once to make its evaluations and once to read them.
    asked = list(dict.fromkeys(analysis.asked))
    for question in asked:
        found = analysis.evaluator.evaluate(question)
        early += found.early
        # What the exact analysis never asked was asked because of a decision that is counted already.
        if question.variant in exact.bleu and question.against in exact.bleu:
            drop = exact.bleu[question.against] - exact.bleu[question.variant]
            under = (found.decision or {}).get("answer") == "under"
            wrong += found.early and under != (drop < question.threshold)
    return Early(exact.score, spent, len(asked), early, wrong, result)


def _contributions(baseline: Evaluation, ablations: Sequence[Evaluation]) -> list[float]:
    cap = CAP * baseline.bleu
    return [min(max(each.drop_from(baseline), 0.0), cap) for each in ablations]


def decoder_of(analysis: TimedAnalysis) -> VariantDecoder:
    """Return what an analysis decodes with."""
    return analysis.evaluator._decoder


def differing(first: Evaluation, second: Evaluation) -> int:
    """Return the number of sentences whose hypotheses differ."""
    pairs: Iterator[tuple[torch.Tensor, torch.Tensor]] = zip(
        first.pieces.split(first.lengths.tolist()), second.pieces.split(second.lengths.tolist()), strict=True
    )
    return sum(not torch.equal(one, other) for one, other in pairs)
