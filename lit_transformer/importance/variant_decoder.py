"""Decodes the scoring set with variants of a model, and counts BLEU's statistics of each sentence."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    StartedDecoding,
    Trace,
    VerifiedDecoder,
    in_precision,
    source_lengths,
)
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.scoring_set import ScoringSet
from lit_transformer.importance.side_by_side import SideBySide
from lit_transformer.importance.variant import Variant
from lit_transformer.model import Transformer
from lit_transformer.surgery import ablated, interpolated

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


@dataclass(frozen=True)
class _Draft:
    """The decoding of a draft, with its statistics in the order of the corpus ``(sentences, 10)``."""

    variant: Variant
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
        self._rebased: _Draft | None = None
        self._traced: tuple[Variant, Trace] | None = None

    @property
    def limits(self) -> Tensor:
        """The most pieces that each hypothesis may have, int64 ``(sentences,)``."""
        lengths = torch.cat([source_lengths(batch.source) for batch in self._set.batches])
        return (lengths.cpu() + self._decoding.max_extra_pieces)[self._order]

    def plain(self, variant: Variant) -> tuple[Decoded, Tensor]:
        """Decode a variant by itself; return hypotheses and statistics ``(sentences, 10)``."""
        encoded = None
        if not any(kind_of(component) in ENCODER_KINDS for component in variant.by_itself.changed):
            self._encoded = encoded = self._plain.encode() if self._encoded is None else self._encoded
        with self.applied(variant):
            decoded = self._plain.decode(encoded, self._order)
        return decoded, self._count(decoded.ids(), self._references)

    def side_by_side(self, variants: Sequence[Variant]) -> list[tuple[Decoded, Tensor]]:
        """Decode several variants in the same batches, without drafts; return for each what `plain` does.

        Args:
            variants: The variants; all of them put the same in the place of what they ablate.
        """
        model = SideBySide(self.model, variants, self.applied)
        with model.installed():
            found = self._plain.decode_copies(model, len(variants), self._order)
        return [(decoded, self._count(decoded.ids(), self._references)) for decoded in found]

    def verified(self, variant: Variant, before: Sequence[Evaluation]) -> tuple[Decoded, Tensor]:
        """Decode a variant by verifying its draft; return hypotheses and statistics ``(sentences, 10)``.

        Args:
            variant: The variant.
            before: What is known exactly of the baseline, then of each variant in `Variant.before`.
        """
        draft = self._drafted(variant, before)
        # Only an interpolated component's variant may become the draft of another one.
        trace = self._verified.trace() if variant.interpolated is not None else None
        with self.applied(variant):
            decoded = self._verified.decode(draft.reference, variant.changed, self._order, trace)
        self._traced = None if trace is None else (variant, trace)
        return decoded, self._statistics(draft, decoded)

    def start(self, variant: Variant, before: Sequence[Evaluation]) -> StartedVariant:
        """Verify the drafts of a variant alone; see `verified`."""
        draft = self._drafted(variant, before)
        with self.applied(variant):
            started = self._verified.start(draft.reference, variant.changed)
        return StartedVariant(self, variant, draft, started)

    def finish(self, draft: _Draft, started: StartedDecoding, rows: Sequence[int]) -> tuple[Decoded, Tensor]:
        """Decode some more sentences; return their hypotheses and statistics ``(len(rows), 10)``."""
        decoded = started.finish(self._order[list(rows)])
        return decoded, self._statistics(draft, decoded, rows)

    def held(self, started: StartedDecoding) -> Tensor:
        """Return where drafts hold, bool ``(sentences,)``."""
        return started.held[self._order]

    def _statistics(self, draft: _Draft, decoded: Decoded, sentences: Sequence[int] | None = None) -> Tensor:
        """Return the statistics of hypotheses, which are the draft's where that held."""
        places = range(len(decoded)) if sentences is None else sentences
        statistics = draft.statistics[list(places)]
        rows = (~decoded.held).nonzero().squeeze(1).tolist()
        if rows:
            ids = decoded.ids()
            statistics[rows] = self._count([ids[row] for row in rows], [self._references[places[row]] for row in rows])
        return statistics

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
        config, size = self.model.config, next(self.model.parameters()).element_size()
        needed = 1
        for batch in self._set.batches:
            length = batch.source.size(1)
            limit = length + self._decoding.max_extra_pieces
            # Keys and values of the prefixes, in buffers that grow by half while the old ones are still there.
            own = 3 * 2 * self._decoding.beam * limit * config.decoder_layers * config.d_model
            # Those of the source, selected while the old ones are still there; logits and what is made of them.
            source = 2 * 2 * length * (config.decoder_layers + 1) * config.d_model
            scores = 4 * self._decoding.beam * config.target_vocab_size
            needed = max(needed, len(batch) * size * (own + source + scores))
        return max(1, min(memory // needed, MOST_SIDE_BY_SIDE))

    def expected(self, side_by_side: int = 1) -> tuple[float, int]:
        """Return what an evaluation takes: seconds of plain decoding, by a sample, and bytes kept beside the model.

        Args:
            side_by_side: How many variants are decoded in one batch.
        """
        batch = self._set.batches[len(self._set.batches) // 2]
        decoder = PlainDecoder(self.model, [batch.source], self._decoding)
        same = SideBySide(self.model, [Variant()] * side_by_side, self.applied)
        started = time.perf_counter()
        decoded = decoder.decode_copies(same, side_by_side)[0]
        share = len(self._set) / len(batch)
        seconds = share * (time.perf_counter() - started) / side_by_side
        config = self.model.config
        # A node of the draft's tree is a piece of a live prefix: the states that enter its sub-layers, keys and values.
        nodes = share * self._decoding.beam * (int(decoded.lengths.sum()) + len(batch))
        size = next(self.model.parameters()).element_size()
        return seconds, int(nodes * config.decoder_layers * 5 * config.d_model * size)

    def _drafted(self, variant: Variant, before: Sequence[Evaluation]) -> _Draft:
        draft = Variant(ablated=variant.draft)
        if self._draft is None or self._draft.variant != draft:
            # Two of them at once might not fit into memory.
            self._draft = self._rebased = None
            known = before[0] if draft == Variant() else None
            with ablated(self.model, draft.ablated):
                reference = self._verified.reference(None if known is None else self._decoded(known))
            if known is None:
                ids = reference.decoded.ids()
                statistics = self._count([ids[place] for place in self._order.tolist()], self._references)
            self._draft = _Draft(draft, reference, statistics if known is None else known.statistics)
        return self._along_path(variant, before[1:]) if variant.path else self._draft

    def _along_path(self, variant: Variant, before: Sequence[Evaluation]) -> _Draft:
        """Make the last of the evaluations of a path the draft, each by way of the one before.

        Always by that way, so that the result does not depend on where an analysis was interrupted.
        """
        made, first = self._draft, 0
        if self._rebased is not None and self._rebased.variant in variant.before:
            made = self._rebased
            first = variant.before.index(made.variant) + 1
        self._rebased = None
        for evaluation, step in zip(before[first:], variant.before[first:], strict=True):
            assert made is not None
            trace = self._trace_of(step, made)
            reference = self._verified.rebased(made.reference, self._decoded(evaluation), variant.changed, trace)
            made = _Draft(step, reference, evaluation.statistics)
        assert made is not None
        self._rebased = made
        return made

    def _trace_of(self, variant: Variant, draft: _Draft) -> Trace | None:
        """Return the search of a variant with a beam; made again where it was made by an interrupted analysis."""
        if self._traced is not None and self._traced[0] == variant:
            return self._traced[1]
        trace = self._verified.trace()
        if trace is not None:
            with self.applied(variant):
                self._verified.decode(draft.reference, variant.changed, trace=trace)
        return trace

    def _decoded(self, evaluation: Evaluation) -> Decoded:
        """Return the hypotheses of an evaluation in the order of the batches."""
        lengths = evaluation.lengths.long()
        found = Decoded(evaluation.pieces, lengths, evaluation.non_terminated, torch.zeros_like(lengths).bool())
        return found.select(torch.argsort(self._order))

    def _count(self, ids: Sequence[Sequence[int]], references: Sequence[str]) -> Tensor:
        return self._metric.sentence_statistics(self.texts(ids), references).to(torch.int32)


class StartedVariant:
    """A variant whose drafts are verified, and whose other sentences are decoded as they are asked for.

    Args:
        decoder: Decodes it.
        variant: The variant.
        draft: Its draft.
        started: What verifying the draft left.

    Attributes:
        held: True where the draft holds to its end, bool ``(sentences,)``.
        statistics: The draft's statistics ``(sentences, 10)``.
    """

    def __init__(self, decoder: VariantDecoder, variant: Variant, draft: _Draft, started: StartedDecoding) -> None:
        self._decoder, self._variant, self._draft, self._started = decoder, variant, draft, started
        self.held, self.statistics = decoder.held(started), draft.statistics

    def finish(self, sentences: Sequence[int]) -> Tensor:
        """Return the statistics of some sentences ``(len(sentences), 10)``."""
        with self._decoder.applied(self._variant):
            return self._decoder.finish(self._draft, self._started, sentences)[1]

    def whole(self) -> tuple[Decoded, Tensor]:
        """Return hypotheses and statistics of all sentences; see `VariantDecoder.verified`."""
        with self._decoder.applied(self._variant):
            return self._decoder.finish(self._draft, self._started, range(len(self.held)))
