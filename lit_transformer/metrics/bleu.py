"""Corpus BLEU, computed from statistics that add up over sentences and processes.

The number is sacreBLEU's (Post 2018), in BLEU points from 0 to 100, and equals that of the ``sacrebleu`` command on the
same text. torchmetrics' own BLEU is 0 where a damaged model has no 4-gram match left, which is where the scores of
ablated models lie (method.md 0.12).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from torch import LongTensor, Tensor
from torchmetrics import Metric

from lit_transformer.errors import UserError

ORDERS = 4
"""The longest n-gram that counts."""

STATISTICS = (
    *(f"matches_{n}" for n in range(1, ORDERS + 1)),
    *(f"totals_{n}" for n in range(1, ORDERS + 1)),
    "hypothesis_length",
    "reference_length",
)
"""The order of the statistics: matched n-grams and n-grams of the hypothesis (n from 1 to 4), lengths in tokens."""


@dataclass(frozen=True)
class BLEUScore:
    """Corpus BLEU and what it is made of.

    Args:
        bleu: The score, in BLEU points from 0 to 100.
        brevity_penalty: The factor for hypotheses that are too short, from 0 to 1.
        length_ratio: Length of the hypotheses over length of the references; 0 without references.
        precisions: Smoothed precision of 1-grams to 4-grams, in percent.
        hypothesis_length: Tokens of all hypotheses.
        reference_length: Tokens of all references.
    """

    bleu: float
    brevity_penalty: float
    length_ratio: float
    precisions: tuple[float, ...]
    hypothesis_length: int
    reference_length: int


def bleu_from_statistics(statistics: Sequence[int]) -> BLEUScore:
    """Return the corpus BLEU of statistics that are summed over all sentences, with exponential smoothing.

    Args:
        statistics: The 10 sums, in the order of `STATISTICS`.

    Raises:
        ValueError: There are not 10 of them.

    Example:
        >>> bleu_from_statistics([6, 4, 2, 0, 7, 5, 3, 1, 7, 7]).precisions
        (85.71428571428571, 80.0, 66.66666666666667, 50.0)
    """
    if len(statistics) != len(STATISTICS):
        raise ValueError(f"expected the {len(STATISTICS)} sums {', '.join(STATISTICS)}; got {len(statistics)} numbers")
    sums = [int(value) for value in statistics]
    score = BLEU.compute_bleu(
        correct=sums[:ORDERS],
        total=sums[ORDERS : 2 * ORDERS],
        sys_len=sums[-2],
        ref_len=sums[-1],
        smooth_method="exp",
        max_ngram_order=ORDERS,
    )
    return BLEUScore(
        bleu=float(score.score),
        brevity_penalty=float(score.bp),
        length_ratio=float(score.ratio),
        precisions=tuple(float(precision) for precision in score.precisions),
        hypothesis_length=sums[-2],
        reference_length=sums[-1],
    )


class AdditiveMetric(Metric, ABC):
    """A corpus score that is a function of integer statistics, summed over sentences, batches and processes.

    Args:
        size: How many statistics there are.
        kwargs: Options of `torchmetrics.Metric`.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    statistics: Tensor

    def __init__(self, size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("statistics", torch.zeros(size, dtype=torch.int64), dist_reduce_fx="sum")

    def sentence_statistics(self, hypotheses: Sequence[str], references: Sequence[str]) -> LongTensor:
        """Return the statistics of each sentence by itself; their sum gives the score of the corpus.

        Args:
            hypotheses: Detokenised text.
            references: Detokenised text, one reference per hypothesis.

        Returns:
            Statistics ``(sentences, statistics)``, on the CPU.

        Raises:
            ValueError: There are not as many references as hypotheses.
        """
        if len(hypotheses) != len(references):
            raise ValueError(f"{len(hypotheses)} hypotheses, but {len(references)} references; each needs one")
        rows = [self._statistics_of(*pair) for pair in zip(hypotheses, references, strict=True)]
        return torch.tensor(rows, dtype=torch.int64).reshape(len(rows), len(self.statistics))  # type: ignore[return-value]

    def update(self, hypotheses: Sequence[str], references: Sequence[str]) -> None:
        """Add sentences.

        Args:
            hypotheses: Detokenised text.
            references: Detokenised text, one reference per hypothesis.

        Raises:
            ValueError: There are not as many references as hypotheses.
        """
        self._add(self.sentence_statistics(hypotheses, references))

    def update_statistics(self, statistics: Tensor) -> None:
        """Add sentences whose statistics are known already.

        Args:
            statistics: What `sentence_statistics` returned ``(sentences, statistics)``.

        Raises:
            ValueError: The shape is another.
        """
        if statistics.ndim != 2 or statistics.shape[1] != len(self.statistics):
            raise ValueError(
                f"expected statistics of shape (sentences, {len(self.statistics)}); got {tuple(statistics.shape)}"
            )
        # What torchmetrics does around `update`: without it, `compute` would return the value of the last call.
        self._computed = None
        self._update_count += 1
        self._add(statistics)

    def compute(self) -> Tensor:
        """Return the score of all sentences so far, of all processes: a tensor without dimensions, from 0 to 100."""
        # Apple's GPUs know no float64.
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        return torch.tensor(self._score_of(self.statistics.tolist()), dtype=dtype, device=self.device)

    def _add(self, statistics: Tensor) -> None:
        self.statistics = self.statistics + statistics.sum(dim=0).to(self.statistics)

    @abstractmethod
    def _statistics_of(self, hypothesis: str, reference: str) -> list[int]:
        """Return the statistics of one sentence."""

    @abstractmethod
    def _score_of(self, sums: list[int]) -> float:
        """Return the score from 0 to 100 of summed statistics."""


class CorpusBLEU(AdditiveMetric):
    """sacreBLEU's corpus BLEU on detokenised text, one reference per sentence.

    The value depends neither on how the sentences are spread over batches and processes nor on their order.

    Args:
        tokenize: sacreBLEU's name of the tokenisation: ``13a`` (default), ``intl``, ``char``, ``zh``, ``none`` ...
        lowercase: Ignore case.
        kwargs: Options of `torchmetrics.Metric`.

    Raises:
        UserError: The tokenisation does not exist or can't be used here.

    Example:
        >>> metric = CorpusBLEU()
        >>> metric.update(["the cat sat", "a dog ran fast"], ["the cat slept", "a dog ran slow"])
        >>> f"{metric.compute():.2f}"
        '51.70'
    """

    def __init__(self, tokenize: str = "13a", lowercase: bool = False, **kwargs: Any) -> None:
        super().__init__(len(STATISTICS), **kwargs)
        if tokenize not in BLEU.TOKENIZERS:
            raise UserError(f"--model.bleu_tokenize {tokenize!r} is unknown; give one of {', '.join(BLEU.TOKENIZERS)}.")
        try:
            self._scorer = BLEU(tokenize=tokenize, lowercase=lowercase, force=True, max_ngram_order=ORDERS)
        except (ImportError, OSError, RuntimeError) as error:
            raise UserError(
                f"--model.bleu_tokenize {tokenize!r} can't be used here: {error}; "
                "install what it needs or choose another, such as '13a'."
            ) from error
        # sacreBLEU knows its signature only after it has seen references.
        self._scorer.corpus_score([""], [[""]])
        self.signature = str(self._scorer.get_signature())
        """sacreBLEU's signature, to be kept with every number."""

    def score(self) -> BLEUScore:
        """Return the BLEU of this process's sentences so far, with precisions and lengths."""
        return bleu_from_statistics(self.statistics.tolist())

    def _statistics_of(self, hypothesis: str, reference: str) -> list[int]:
        score = self._scorer.corpus_score([hypothesis], [[reference]])
        return [*score.counts, *score.totals, score.sys_len, score.ref_len]

    def _score_of(self, sums: list[int]) -> float:
        return bleu_from_statistics(sums).bleu
