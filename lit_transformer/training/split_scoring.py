"""Scores a split: the one path of fit's validation, validate, test and predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lit_transformer.data.batch import Batch
from lit_transformer.decoding import DecodingSettings, in_precision, translate
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.metrics.chrf import CorpusChrF
from lit_transformer.model import Transformer, teacher_forced_losses
from lit_transformer.training.translations import Translation, gather_translations


class SplitScoring:
    """One pass over a split: translations, BLEU, chrF and losses, added up over batches and processes.

    Args:
        network: The model, with no dropout.
        search: How to decode, and in which precision.
        detokenize: From target pieces to text.
        label_smoothing: As in training.
        bleu: The metric; empty again afterwards.
        chrf: The same, where it is wanted.
    """

    def __init__(
        self,
        network: Transformer,
        search: DecodingSettings,
        detokenize: Callable[[Sequence[int]], str],
        label_smoothing: float,
        bleu: CorpusBLEU,
        chrf: CorpusChrF | None,
    ) -> None:
        self._decoder = in_precision(network, search.precision)
        self._search, self._detokenize, self._label_smoothing = search, detokenize, label_smoothing
        self._bleu, self._chrf = bleu, chrf
        self._translations: list[Translation] = []
        self._sums = torch.zeros(3, dtype=torch.float64)

    def translate(self, batch: Batch) -> list[Translation]:
        """Translate a batch, and keep the translations.

        Args:
            batch: The sentences; their references may be missing.

        Returns:
            The translations, in the order of the batch.
        """
        texts, non_terminated = translate(self._decoder, batch, self._search, self._detokenize)
        references = batch.references or [""] * len(texts)
        fields = zip(batch.index.tolist(), batch.sources, texts, references, non_terminated.tolist(), strict=True)
        made = [Translation(*field) for field in fields]
        self._translations.extend(made)
        return made

    def add(self, batch: Batch) -> None:
        """Translate a batch, and score it against its references."""
        made = self.translate(batch)
        if not made:
            return
        texts, references = [one.hypothesis for one in made], [one.reference for one in made]
        self._bleu.update(texts, references)
        if self._chrf is not None:
            self._chrf.update(texts, references)
        with torch.autocast(batch.source.device.type, enabled=False):
            smoothed, plain, pieces = teacher_forced_losses(self._decoder, batch, self._label_smoothing)
        self._sums += torch.tensor([float(smoothed), float(plain), pieces], dtype=torch.float64)

    def translations(self) -> list[Translation]:
        """Return the translations of all processes, in the order of the split; every process has to ask."""
        return gather_translations(self._translations)

    def totals(
        self, split: str, bleu_name: str, translations: Sequence[Translation], reduce: Callable[[Tensor], Tensor]
    ) -> dict[str, Tensor]:
        """Return the scores of the whole split, the same on every process.

        Args:
            split: What the names of losses begin with.
            bleu_name: Name of BLEU, 0 to 100; that of chrF has ``chrf`` in its place.
            translations: What `translations` returned.
            reduce: Adds a tensor up over the processes.

        Returns:
            Label-smoothed loss in nats per piece, perplexity (of the loss without smoothing), BLEU, the share of
            translations that ran to the length limit and, where wanted, chrF.
        """
        smoothed, plain, pieces = reduce(self._sums)
        unfinished = sum(translation.non_terminated for translation in translations)
        values = {
            f"{split}/loss": smoothed / pieces,
            f"{split}/perplexity": torch.exp(plain / pieces),
            bleu_name: self._bleu.compute(),
            f"{split}/non_terminated": torch.tensor(unfinished / max(len(translations), 1)),
        }
        if self._chrf is not None:
            values[bleu_name.replace("bleu", "chrf")] = self._chrf.compute()
            self._chrf.reset()
        self._bleu.reset()
        return values
