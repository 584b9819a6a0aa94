"""Draft-verified decoding: the text of plain decoding, for variants of a model that is decoded already."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from lit_transformer.decoding.continuation import search_on
from lit_transformer.decoding.decode import for_decoding
from lit_transformer.decoding.draft import Draft
from lit_transformer.decoding.encoder_states import encode_all, encode_variant
from lit_transformer.decoding.keeping import keep, rebased
from lit_transformer.decoding.plain import Decoded, PlainDecoder
from lit_transformer.decoding.protocol import Verifiable
from lit_transformer.decoding.reference import Reference
from lit_transformer.decoding.scorer import Scorer
from lit_transformer.decoding.search import Finished
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.decoding.started import StartedDecoding, outcome, unchanged
from lit_transformer.decoding.trace import Trace
from lit_transformer.decoding.verification import Astray, Verification


class VerifiedDecoder:
    """Decodes variants of a model with the help of a decoding of that model, the reference.

    The prefixes that the reference's search scored are a draft. A variant scores them many at a time, from the first
    component on that differs, since what enters it is the reference's; the search is then made with the variant's own
    log-probabilities, by the rules of plain decoding, and what it asks for beyond the draft is computed step by step,
    for all sentences together. So the hypotheses are those of `PlainDecoder`, but for near-ties of rounding.

    Args:
        model: The model, on the device of the sources; it may be changed in place between calls.
        sources: Ids in batches, each ``(batch, source_length)``, each row ending in the end-of-sentence piece, then
            padding. Sentences are numbered through all batches. One without pieces has the empty hypothesis.
        settings: The search and its limits.
        memory_limit: The most bytes of states that a reference keeps; what there is no room for is computed again.
        window: Of how many steps prefixes are scored at once, as long as a sentence's draft holds. More means fewer
            passes and more prefixes that turn out to be of no use.
        chunk_nodes: How many prefixes are scored at once, at most.
        pool_rows: For how many live prefixes of sentences that have left the draft it is waited until they are
            searched on together.
    """

    def __init__(
        self,
        model: Verifiable,
        sources: Sequence[Tensor],
        settings: DecodingSettings,
        memory_limit: int = 2 << 30,
        window: int | None = None,
        chunk_nodes: int | None = None,
        pool_rows: int | None = None,
    ) -> None:
        self.model, self.settings, self.memory_limit = model, settings, memory_limit
        self._plain = PlainDecoder(model, sources, settings)
        self._set = self._plain.set
        on_cpu = self._set.limits.device.type == "cpu"
        # On a CPU a pass costs what it computes, so that little is computed ahead; on a GPU it costs a start.
        self.window = window or ((8 if settings.beam == 1 else 1) if on_cpu else 1 << 20)
        self.chunk_nodes = chunk_nodes or (16384 if on_cpu else 1 << 15)
        self.pool_rows = pool_rows or ((512 if settings.beam == 1 else 1024) if on_cpu else 1 << 13)

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return self._set.limits.numel()

    def reference(self, decoded: Decoded | None = None) -> Reference:
        """Decode the model as it now is by plain search, and keep what its variants have in common with it.

        Args:
            decoded: What plain search gives, if that is known; a search with a beam is made all the same, for the
                prefixes that it leaves behind.

        Raises:
            UserError: The model gives NaN.
        """
        traces: list[tuple[Tensor, Trace]] = []
        with for_decoding(self.model, self._set.limits.device):
            encoder, encoded = encode_all(self.model, self._set.batches, self.sentences)
            if decoded is None or self.settings.beam > 1:
                decoded = self._plain.decode(encoded, traces=traces)
            else:
                traces = self._traces(decoded)
            reference = Reference(decoded, self._padded(decoded), self._draft(traces), encoder)
            keep(self.model, reference, self.memory_limit)
        return reference

    def rebased(
        self, reference: Reference, decoded: Decoded, changed: Collection[str], trace: Trace | None = None
    ) -> Reference:
        """Return a reference whose draft is what a variant was decoded to, for variants that differ in the same.

        Args:
            reference: Of this decoder; made by `reference`, or for the same components by this.
            decoded: The hypotheses of the variant, of all sentences in their order.
            changed: The components in which the variants differ from the model that the reference was made with.
            trace: What `decode` took down; needed for a search with a beam, whose prefixes hypotheses do not tell.

        Raises:
            ValueError: The search has a beam, and there is no trace.
        """
        if self.settings.beam > 1 and trace is None:
            raise ValueError("the hypotheses of a search with a beam are no draft: its other prefixes are missing")
        with for_decoding(self.model, self._set.limits.device):
            draft = self._draft(self._traces(decoded) if trace is None else self._written(trace))
            return rebased(self.model, reference, decoded, draft, self._padded(decoded), changed)

    def _traces(self, decoded: Decoded) -> list[tuple[Tensor, Trace]]:
        written = (self._set.limits > 0).nonzero().squeeze(1)
        if written.numel() == 0:
            return []
        trace, found = Trace(self._set.limits[written]), decoded.select(written.cpu())
        trace.take(found.pieces, found.lengths, found.non_terminated)
        return [(written, trace)]

    def trace(self) -> Trace | None:
        """Return what `decode` may take a search with a beam down in; None for greedy search, which needs none."""
        return Trace(self._set.limits) if self.settings.beam > 1 else None

    def _written(self, trace: Trace) -> list[tuple[Tensor, Trace]]:
        written = (self._set.limits > 0).nonzero().squeeze(1)
        return [(written, trace.select(written))] if written.numel() else []

    def _draft(self, traces: list[tuple[Tensor, Trace]]) -> Draft:
        numbers = [sentences for sentences, _ in traces]
        return Draft([trace for _, trace in traces], numbers, self.settings.beam, self.chunk_nodes)

    def decode(
        self,
        reference: Reference,
        changed: Collection[str],
        sentences: Tensor | None = None,
        trace: Trace | None = None,
    ) -> Decoded:
        """Decode the model as it now is.

        Args:
            reference: Of this decoder.
            changed: The components that differ from those the reference was made with: in weights, or in being ablated.
            sentences: Numbers of the sentences wanted, each once, ``(wanted,)``; all by default.
            trace: What `trace` gave: takes down the search.

        Raises:
            UserError: The model gives NaN.
        """
        with for_decoding(self.model, self._set.limits.device):
            verification = self._verification(reference, changed, trace)
            if verification is None:
                return unchanged(reference.decoded, sentences)
            self._search(verification, sentences)
        return outcome(verification, reference, sentences)

    def start(self, reference: Reference, changed: Collection[str]) -> StartedDecoding:
        """Verify the drafts alone, and keep the searches that leave them for when they are asked for.

        Args:
            reference: Of this decoder.
            changed: See `decode`.

        Raises:
            UserError: The model gives NaN.
        """
        left: list[Astray] = []
        with for_decoding(self.model, self._set.limits.device):
            verification = self._verification(reference, changed)
            if verification is not None:
                for number, chunk in enumerate(verification.draft.chunks):
                    rows = torch.arange(chunk.sentences.numel(), device=chunk.sentences.device)
                    left += verification.follow(number, rows)
        return StartedDecoding(self.model, reference, verification, left)

    def _verification(
        self, reference: Reference, changed: Collection[str], trace: Trace | None = None
    ) -> Verification | None:
        """Return the search of a variant along its draft; None if nothing differs."""
        settings, limits = self.settings, self._set.limits
        encoder = encode_variant(self.model, self._set.batches, reference.encoder, changed)
        best = 1 if settings.beam == 1 else 2 * settings.beam
        scorer = Scorer(self.model, reference, changed, encoder, best)
        if scorer.nothing_differs:
            return None
        finished = Finished(limits)
        finished.terminated |= limits == 0
        return Verification(scorer, finished, limits, settings.beam, settings.length_penalty, self.window, trace)

    def _search(self, verification: Verification, sentences: Tensor | None) -> None:
        wanted = torch.ones_like(self._set.limits, dtype=torch.bool)
        if sentences is not None:
            wanted = torch.zeros_like(wanted).index_fill_(0, sentences.to(wanted.device), True)
        pool: list[Astray] = []
        for number, chunk in enumerate(verification.draft.chunks):
            rows = wanted[chunk.sentences].nonzero().squeeze(1)
            pool += verification.follow(number, rows) if rows.numel() else []
            if sum(part.slots.numel() for part in pool) >= self.pool_rows:
                # Few prefixes take nearly as long as many: the last ones of a pool go on with the next.
                pool = search_on(verification, pool, self.pool_rows // 4)
        if pool:
            search_on(verification, pool, 0)

    def _padded(self, decoded: Decoded) -> Tensor:
        limits = self._set.limits
        return decoded.padded(int(limits.max()) if limits.numel() else 0).to(limits.device)
