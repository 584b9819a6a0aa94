"""What can be claimed of an arm: t intervals over seeds with Holm's correction, and resampled sentences of one run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal

from scipy import stats

from lit_transformer.importance.intervals import LEVEL, simultaneous_intervals
from lit_transformer.importance.resampling import RESAMPLES, Array, bleu, resample_counts, resampled_bleu

Verdict = Literal["better", "worse", "not decidable"]


@dataclass(frozen=True)
class Comparison:
    """An arm against the control of its family, over the seeds.

    Args:
        arm: Name of the arm.
        differences: BLEU(arm) - BLEU(control) of each seed, in BLEU points.
        mean: Their mean.
        p: Probability of a mean at least as far from 0 if there is no difference, two-sided; None with one seed.
        corrected_p: The same with Holm's correction over the arms.
        lower: Lower bound of the mean at the level that Holm's correction leaves; None with one seed.
        upper: Upper bound of it.
        verdict: What the interval allows to say.
    """

    arm: str
    differences: tuple[float, ...]
    mean: float
    p: float | None = None
    corrected_p: float | None = None
    lower: float | None = None
    upper: float | None = None
    verdict: Verdict = "not decidable"


@dataclass(frozen=True)
class SentenceInterval:
    """The difference of two runs, and where it lies for other sentences of the same kind: of these checkpoints only.

    Args:
        difference: BLEU(arm) - BLEU(control) on the set itself.
        lower: Lower bound, in BLEU points.
        upper: Upper bound, in BLEU points.
    """

    difference: float
    lower: float
    upper: float


def t_test(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of a mean of 0: Student's t test of paired differences.

    Args:
        differences: At least two.

    Raises:
        ValueError: There are fewer.
    """
    if len(differences) < 2:
        raise ValueError(f"a t test needs two differences; got {list(differences)}")
    mean, spread = fmean(differences), stdev(differences)
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * stats.t.sf(abs(mean) / (spread / math.sqrt(len(differences))), len(differences) - 1))


def t_interval(differences: Sequence[float], alpha: float) -> tuple[float, float]:
    """Return the t interval of a mean.

    Args:
        differences: At least two.
        alpha: Probability that it misses the mean, such as 0.05.

    Raises:
        ValueError: There are fewer.
    """
    if len(differences) < 2:
        raise ValueError(f"a t interval needs two differences; got {list(differences)}")
    mean = fmean(differences)
    reach = float(stats.t.isf(alpha / 2.0, len(differences) - 1)) * stdev(differences) / math.sqrt(len(differences))
    return mean - reach, mean + reach


def holm(p_values: Sequence[float], alpha: float) -> tuple[list[float], list[float]]:
    """Return Holm's corrected p-values, and the level that each interval has so that it agrees with them (Holm 1979).

    The smallest of m p-values is held against alpha / m, the next one against alpha / (m - 1), and so on; after the
    first that is too large none is significant, and the others keep its level. So an interval at its level excludes 0
    exactly where the corrected p-value is at most alpha.

    Args:
        p_values: One for each question.
        alpha: Probability that any of them is wrongly answered.

    Example:
        >>> holm([0.01, 0.04, 0.03], 0.05)[0]
        [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected, levels = [0.0] * len(p_values), [0.0] * len(p_values)
    largest, stopped = 0.0, None
    for rank, place in enumerate(order):
        left = len(p_values) - rank
        largest = max(largest, min(1.0, left * p_values[place]))
        corrected[place] = largest
        levels[place] = alpha / left if stopped is None else stopped
        if stopped is None and p_values[place] > alpha / left:
            stopped = alpha / left
    return corrected, levels


def compare(differences: Mapping[str, Sequence[float]], level: float = LEVEL) -> list[Comparison]:
    """Compare the arms of a family with their control; the unit is the seed.

    Args:
        differences: By arm, BLEU(arm) - BLEU(control) of each seed.
        level: Joint coverage of all intervals.

    Returns:
        A comparison for each arm that has a difference, in the given order.
    """
    given = {arm: tuple(values) for arm, values in differences.items() if values}
    tested = {arm: values for arm, values in given.items() if len(values) > 1}
    p_values = [t_test(values) for values in tested.values()]
    corrected, alphas = holm(p_values, 1.0 - level)
    found = {}
    for arm, p, corrected_p, alpha in zip(tested, p_values, corrected, alphas, strict=True):
        lower, upper = t_interval(tested[arm], alpha)
        verdict: Verdict = "better" if lower > 0 else "worse" if upper < 0 else "not decidable"
        mean = fmean(tested[arm])
        found[arm] = Comparison(arm, tested[arm], mean, p, corrected_p, lower, upper, verdict)
    return [found.get(arm, Comparison(arm, values, fmean(values))) for arm, values in given.items()]


def over_sentences(
    arm: Array, control: Array, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 1
) -> SentenceInterval:
    """Return the paired bootstrap interval of the difference of two runs over sentences (Koehn 2004).

    It tells what other sentences would have given with these two checkpoints, and nothing of other training runs.

    Args:
        arm: BLEU statistics of each sentence ``(sentences, 10)``.
        control: The same of the control, on the same sentences.
        level: Coverage.
        resamples: Number of resamples.
        seed: Seed of the resamples.
    """
    counts = resample_counts(len(arm), resamples, seed)
    scores = resampled_bleu(counts, [arm, control])
    lower, upper = simultaneous_intervals(scores[:, :1] - scores[:, 1:], level)
    points = bleu([arm.sum(axis=0), control.sum(axis=0)])
    return SentenceInterval(float(points[0] - points[1]), float(lower[0]), float(upper[0]))
