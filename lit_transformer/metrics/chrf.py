"""Corpus chrF (Popovic 2015), computed like BLEU from statistics that add up over sentences and processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics import CHRF

from lit_transformer.metrics.bleu import AdditiveMetric

ORDERS = CHRF.CHAR_ORDER
"""The longest character n-gram that counts."""


def chrf_from_statistics(statistics: Sequence[int]) -> float:
    """Return the corpus chrF2, from 0 to 100, of statistics that are summed over all sentences.

    Args:
        statistics: The 18 sums, in the order that `CorpusChrF` gives them.
    """
    # sacreBLEU shows the statistics of chrF only to its own metrics; the test against `sacrebleu.corpus_chrf` tells
    # when a release changes this method or the one below.
    return float(_SCORER._compute_score_from_stats(list(statistics)).score)


_SCORER = CHRF()


class CorpusChrF(AdditiveMetric):
    """sacreBLEU's corpus chrF2 on detokenised text, one reference per sentence, from 0 to 100.

    Its statistics are, for character n-grams of length 1 to 6 in turn, those of the hypothesis, those of the reference
    and those that match.

    Args:
        lowercase: Ignore case.
        kwargs: Options of `torchmetrics.Metric`.

    Example:
        >>> metric = CorpusChrF()
        >>> metric.update(["the cat sat"], ["the cat sat"])
        >>> f"{metric.compute():.1f}"
        '100.0'
    """

    def __init__(self, lowercase: bool = False, **kwargs: Any) -> None:
        super().__init__(3 * ORDERS, **kwargs)
        self._scorer = CHRF(lowercase=lowercase)
        # sacreBLEU knows its signature only after it has seen references.
        self._scorer.corpus_score([""], [[""]])
        self.signature = str(self._scorer.get_signature())
        """sacreBLEU's signature, to be kept with every number."""

    def _statistics_of(self, hypothesis: str, reference: str) -> list[int]:
        return self._scorer._extract_corpus_statistics([hypothesis], [[reference]])[0]

    def _score_of(self, sums: list[int]) -> float:
        return chrf_from_statistics(sums)
