"""Decode the scoring set with variants of a model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lit_transformer.components import ENCODER_KINDS, kind_of
from lit_transformer.decoding import CorpusDecoder, DecodingSettings, Hypotheses, in_precision
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.side_by_side import SideBySide
from lit_transformer.importance.variant import Variant
from lit_transformer.metrics.bleu import CorpusBLEU
from lit_transformer.model import AnalysableModel, EncoderState
from lit_transformer.model.surgery import ablated, interpolated

MOST_SIDE_BY_SIDE = 64
"""The most variants in one batch: more take about as long each, and an analysis that is killed loses what it was at."""


@dataclass(frozen=True)
class Replacements:
    """Where the values come from that a variant puts in place of trained ones; each is asked for when it is needed.

    Args:
        initial: The initial weights by their names in the model.
        means: Each component's mean output ``(d_model,)``, by id.
        drawn: Fresh initial weights of a component: id and number of the draw.
    """

    initial: Callable[[], Mapping[str, Tensor]]
    means: Callable[[], Mapping[str, Tensor]]
    drawn: Callable[[str, int], Mapping[str, Tensor]]


class VariantDecoder:
    """Decodes the scoring set with variants of a model; sentences are in the order of the corpus.

    Args:
        model: The trained model. It is left as it is.
        scoring_set: The sentences.
        detokenize: From target pieces to text.
        decoding: How to search, in which precision.
        metric: BLEU with the tokenisation wanted.
        replacements: What variants put in place of trained values; None where only zero ablation is wanted.
    """

    def __init__(
        self,
        model: AnalysableModel,
        scoring_set: ScoringSet,
        detokenize: Callable[[Sequence[int]], str],
        decoding: DecodingSettings,
        metric: CorpusBLEU,
        replacements: Replacements | None = None,
    ) -> None:
        self.model = in_precision(model, decoding.precision)
        self._set, self._order = scoring_set, scoring_set.order
        self._references = scoring_set.references
        self._detokenize, self._metric, self._replacements = detokenize, metric, replacements
        self._decoding = decoding
        self._corpus = CorpusDecoder(self.model, [batch.source for batch in scoring_set.batches], decoding)
        self._encoded: list[EncoderState] | None = None

    def decode(self, variant: Variant) -> tuple[Hypotheses, Tensor]:
        """Decode with a variant.

        Returns:
            The hypotheses, and BLEU's statistics of each sentence ``(sentences, 10)``.
        """
        encoded = None
        if not any(kind_of(component) in ENCODER_KINDS for component in variant.changed):
            self._encoded = encoded = self._corpus.encode() if self._encoded is None else self._encoded
        with self.applied(variant):
            return self._counted(self._corpus.decode(encoded))

    def side_by_side(self, variants: Sequence[Variant]) -> list[tuple[Hypotheses, Tensor]]:
        """Decode with several variants in the same batches; return for each what `decode` does.

        Args:
            variants: The variants; all of them put the same in the place of what they ablate.
        """
        model = SideBySide(self.model, variants, self.applied)
        with model.installed():
            return [self._counted(found) for found in self._corpus.decode_copies(model, len(variants))]

    def _counted(self, in_batches: Hypotheses) -> tuple[Hypotheses, Tensor]:
        hypotheses = in_batches.select(self._order)
        statistics = self._metric.sentence_statistics(self.texts(hypotheses.ids()), self._references)
        return hypotheses, statistics.to(torch.int32)

    def texts(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Return hypotheses as text; a blank sentence has the empty one."""
        return [self._detokenize(pieces) if len(pieces) else "" for pieces in ids]

    def replacements(self) -> Replacements:
        """Return what variants put in place of trained values.

        Raises:
            ValueError: There is nothing to put there.
        """
        if self._replacements is None:
            raise ValueError("this decoder has no replacements")
        return self._replacements

    @contextlib.contextmanager
    def applied(self, variant: Variant) -> Iterator[None]:
        """Change the model while the context lasts."""
        with contextlib.ExitStack() as changes:
            if variant.ablated:
                means = self.replacements().means() if variant.value == "mean" else {}
                constants = {component: means[component] for component in variant.ablated if component in means}
                changes.enter_context(ablated(self.model, variant.ablated, constants))
            if variant.interpolated is not None:
                component, values = variant.interpolated, self.replacements()
                fresh = values.initial() if variant.draw is None else values.drawn(component, variant.draw)
                changes.enter_context(
                    interpolated(self.model, component, fresh, variant.alpha, include_norm=variant.include_norm)
                )
            yield

    def fitting(self, memory: int) -> int:
        """Return how many variants can be decoded side by side in so many bytes; at least one.

        Args:
            memory: The bytes, of the model's device.
        """
        model, size = self.model, next(self.model.parameters()).element_size()
        needed = 1
        for batch in self._set.batches:
            length = batch.source.size(1)
            limit = length + self._decoding.max_extra_pieces
            # Keys and values of the prefixes, in buffers that grow by half while the old ones are still there.
            own = 3 * 2 * self._decoding.beam * limit * model.decoder_layers * model.d_model
            # Those of the source, selected while the old ones are still there; logits and what is made of them.
            source = 2 * 2 * length * (model.decoder_layers + 1) * model.d_model
            scores = 4 * self._decoding.beam * model.target_vocab_size
            needed = max(needed, len(batch) * size * (own + source + scores))
        return max(1, min(memory // needed, MOST_SIDE_BY_SIDE))

    def expected_seconds(self, side_by_side: int = 1) -> float:
        """Return the seconds that an evaluation takes, estimated from a batch of medium length.

        Args:
            side_by_side: How many variants are decoded in one batch.
        """
        batch = self._set.batches[len(self._set.batches) // 2]
        decoder = CorpusDecoder(self.model, [batch.source], self._decoding)
        same = SideBySide(self.model, [Variant()] * side_by_side, self.applied)
        started = time.perf_counter()
        decoder.decode_copies(same, side_by_side)
        return len(self._set) / len(batch) * (time.perf_counter() - started) / side_by_side
