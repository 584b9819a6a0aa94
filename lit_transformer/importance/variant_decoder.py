"""Decodes the scoring set with variants of a model, and counts BLEU's statistics of each sentence."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from lit_transformer.bleu import CorpusBLEU
from lit_transformer.components import ENCODER_KINDS, kind_of
from lit_transformer.decoding import (
    Decoded,
    DecodingSettings,
    PlainDecoder,
    Reference,
    VerifiedDecoder,
    in_precision,
    source_lengths,
)
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.variant import Variant
from lit_transformer.model import Transformer
from lit_transformer.surgery import ablated, interpolated


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


@dataclass(frozen=True)
class _Draft:
    """The decoding of a draft, with its statistics in the order of the corpus ``(sentences, 10)``."""

    ablated: tuple[str, ...]
    reference: Reference
    statistics: Tensor


class VariantDecoder:
    """Gives hypotheses and statistics of variants; sentences are in the order of the corpus.

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
        model: Transformer,
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
        sources = [batch.source for batch in scoring_set.batches]
        self._verified = VerifiedDecoder(self.model, sources, decoding)
        self._plain = PlainDecoder(self.model, sources, decoding)
        self._encoded: Any = None
        self._draft: _Draft | None = None

    @property
    def limits(self) -> Tensor:
        """The most pieces that each hypothesis may have, int64 ``(sentences,)``."""
        lengths = torch.cat([source_lengths(batch.source) for batch in self._set.batches])
        return (lengths.cpu() + self._decoding.max_extra_pieces)[self._order]

    def plain(self, variant: Variant) -> tuple[Decoded, Tensor]:
        """Decode a variant by itself; return hypotheses and statistics ``(sentences, 10)``."""
        encoded = None
        if not any(kind_of(component) in ENCODER_KINDS for component in replace(variant, draft=()).changed):
            self._encoded = encoded = self._plain.encode() if self._encoded is None else self._encoded
        with self.applied(variant):
            decoded = self._plain.decode(encoded, self._order)
        return decoded, self._count(decoded.ids(), self._references)

    def verified(self, variant: Variant) -> tuple[Decoded, Tensor]:
        """Decode a variant by verifying its draft; return hypotheses and statistics ``(sentences, 10)``."""
        draft = self._drafted(variant.draft)
        with self.applied(variant):
            decoded = self._verified.decode(draft.reference, variant.changed, self._order)
        rows = (~decoded.held).nonzero().squeeze(1).tolist()
        statistics = draft.statistics.clone()
        if rows:
            ids = decoded.ids()
            statistics[rows] = self._count([ids[row] for row in rows], [self._references[row] for row in rows])
        return decoded, statistics

    def held(self, variant: Variant) -> Tensor:
        """Return where the draft of a variant holds to the end, by the parallel pass alone, bool ``(sentences,)``."""
        draft = self._drafted(variant.draft)
        with self.applied(variant):
            return self._verified.verify(draft.reference, variant.changed)[self._order]

    def some(self, variant: Variant, sentences: Sequence[int]) -> Tensor:
        """Return the statistics of some sentences ``(len(sentences), 10)``, by verifying their drafts."""
        draft = self._drafted(variant.draft)
        with self.applied(variant):
            decoded = self._verified.decode(draft.reference, variant.changed, self._order[list(sentences)])
        return self._count(decoded.ids(), [self._references[sentence] for sentence in sentences])

    def draft_statistics(self, draft: tuple[str, ...]) -> Tensor:
        """Return the statistics of a draft ``(sentences, 10)``."""
        return self._drafted(draft).statistics

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

    def expected(self) -> tuple[float, int]:
        """Return what an evaluation takes: seconds of plain decoding, by a sample, and bytes kept beside the model."""
        batch = self._set.batches[len(self._set.batches) // 2]
        started = time.perf_counter()
        decoded = PlainDecoder(self.model, [batch.source], self._decoding).decode()
        share = len(self._set) / len(batch)
        config = self.model.config
        # A node of the draft's tree is a piece of a live prefix: the states that enter its sub-layers, keys and values.
        nodes = share * self._decoding.beam * (int(decoded.lengths.sum()) + len(batch))
        size = next(self.model.parameters()).element_size()
        return share * (time.perf_counter() - started), int(nodes * config.decoder_layers * 5 * config.d_model * size)

    def _drafted(self, draft: tuple[str, ...]) -> _Draft:
        if self._draft is None or self._draft.ablated != draft:
            # Two of them at once might not fit into memory.
            self._draft = None
            with ablated(self.model, draft):
                reference = self._verified.reference()
            ids = reference.decoded.ids()
            statistics = self._count([ids[place] for place in self._order.tolist()], self._references)
            self._draft = _Draft(draft, reference, statistics)
        return self._draft

    def _count(self, ids: Sequence[Sequence[int]], references: Sequence[str]) -> Tensor:
        return self._metric.sentence_statistics(self.texts(ids), references).to(torch.int32)
