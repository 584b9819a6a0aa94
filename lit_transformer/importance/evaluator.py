"""One evaluator for every score: BLEU of a variant of the model on the scoring set."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lit_transformer.bleu import CorpusBLEU, bleu_from_statistics
from lit_transformer.data.batch import Batch
from lit_transformer.decoding import DecodingSettings, in_precision, translate
from lit_transformer.model import Transformer
from lit_transformer.surgery import ablated


@dataclass(frozen=True)
class Evaluation:
    """What one variant of the model scores on the scoring set.

    Args:
        ablated: The components that were ablated; none for the baseline.
        bleu: Corpus BLEU, in BLEU points from 0 to 100.
        brevity_penalty: BLEU's factor for output that is too short, from 0 to 1.
        length_ratio: Length of the hypotheses over length of the references, in tokens.
        non_terminated: Number of sentences whose hypothesis ran to the length limit.
        sentences: Size of the scoring set.
        seconds: Time it took.
    """

    ablated: tuple[str, ...]
    bleu: float
    brevity_penalty: float
    length_ratio: float
    non_terminated: int
    sentences: int
    seconds: float


class Evaluator:
    """Decodes the scoring set with a variant of the model.

    Args:
        model: The trained model. It is left as it is.
        batches: This process's share of the scoring set, on the model's device.
        detokenize: From target pieces to text.
        decoding: How to search, in which precision.
        metric: BLEU with the tokenisation wanted; reset by each evaluation, and added up over all processes.
        total: Adds a tensor up over all processes.
    """

    def __init__(
        self,
        model: Transformer,
        batches: Sequence[Batch],
        detokenize: Callable[[Sequence[int]], str],
        decoding: DecodingSettings,
        metric: CorpusBLEU,
        total: Callable[[Tensor], Tensor],
    ) -> None:
        self._model = in_precision(model, decoding.precision)
        self._batches = batches
        self._detokenize = detokenize
        self._decoding = decoding
        self._metric = metric
        self._total = total

    @property
    def components(self) -> list[str]:
        """The components of the model, in canonical order."""
        return list(self._model.components())

    @property
    def signature(self) -> str:
        """sacreBLEU's signature."""
        return self._metric.signature

    def evaluate(self, components: Collection[str] = ()) -> Evaluation:
        """Return what the model scores without these components.

        Args:
            components: Ids to ablate; none for the baseline.

        Raises:
            UserError: A component does not exist.
        """
        started = time.perf_counter()
        statistics = torch.zeros(len(self._metric.statistics), dtype=torch.int64)
        counts = torch.zeros(2, dtype=torch.int64)
        with ablated(self._model, components) as chosen:
            for batch in self._batches:
                texts, non_terminated = translate(self._model, batch, self._decoding, self._detokenize)
                statistics += self._metric.sentence_statistics(texts, batch.references).sum(dim=0)
                counts += torch.tensor([int(non_terminated.sum()), len(texts)])
        sums = self._total(torch.cat([statistics, counts])).tolist()
        score = bleu_from_statistics(sums[:-2])
        return Evaluation(
            ablated=tuple(chosen),
            bleu=score.bleu,
            brevity_penalty=score.brevity_penalty,
            length_ratio=score.length_ratio,
            non_terminated=sums[-2],
            sentences=sums[-1],
            seconds=time.perf_counter() - started,
        )
