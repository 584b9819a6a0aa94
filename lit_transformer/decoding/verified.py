"""Draft-verified decoding: the text of plain decoding, for variants of a model that is decoded already."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from lit_transformer.decoding.continuation import Continuation
from lit_transformer.decoding.decode import for_decoding
from lit_transformer.decoding.draft import Draft
from lit_transformer.decoding.encoder_states import encode_all, encode_variant
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.keeping import keep
from lit_transformer.decoding.plain import Decoded, PlainDecoder, collected
from lit_transformer.decoding.protocol import Verifiable
from lit_transformer.decoding.reference import Reference
from lit_transformer.decoding.scorer import Scorer
from lit_transformer.decoding.search import Finished
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.decoding.trace import Trace
from lit_transformer.decoding.verification import Astray, Verification, joined


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
        self.window = window or ((4 if settings.beam == 1 else 1) if on_cpu else 1 << 20)
        self.chunk_nodes = chunk_nodes or ((4096 if settings.beam == 1 else 16384) if on_cpu else 1 << 15)
        self.pool_rows = pool_rows or ((512 if settings.beam == 1 else 1024) if on_cpu else 1 << 13)

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return self._set.limits.numel()

    def reference(self) -> Reference:
        """Decode the model as it now is by plain search, and keep what its variants have in common with it.

        Raises:
            UserError: The model gives NaN.
        """
        traces: list[tuple[Tensor, Trace]] = []
        with for_decoding(self.model, self._set.limits.device):
            encoder, encoded = encode_all(self.model, self._set.batches, self.sentences)
            decoded = self._plain.decode(encoded, traces=traces)
            numbers = [sentences for sentences, _ in traces]
            draft = Draft([trace for _, trace in traces], numbers, self.settings.beam, self.chunk_nodes)
            reference = Reference(decoded, self._padded(decoded), draft, encoder)
            keep(self.model, reference, self.memory_limit)
        return reference

    def decode(self, reference: Reference, changed: Collection[str], sentences: Tensor | None = None) -> Decoded:
        """Decode the model as it now is.

        Args:
            reference: Of this decoder.
            changed: The components that differ from those the reference was made with: in weights, or in being ablated.
            sentences: Numbers of the sentences wanted, each once, ``(wanted,)``; all by default.

        Raises:
            UserError: The model gives NaN.
        """
        return self._search(reference, changed, sentences, finish=True)

    def verify(self, reference: Reference, changed: Collection[str]) -> Tensor:
        """Return where the model as it now is has the hypothesis of the reference, as far as the draft tells.

        Args:
            reference: Of this decoder.
            changed: See `decode`.

        Returns:
            True where a search along the draft ends in the reference's hypothesis, bool ``(sentences,)`` on the CPU.

        Raises:
            UserError: The model gives NaN.
        """
        return self._search(reference, changed, None, finish=False).held

    def _search(
        self, reference: Reference, changed: Collection[str], sentences: Tensor | None, finish: bool
    ) -> Decoded:
        settings, limits, count = self.settings, self._set.limits, self.sentences
        with for_decoding(self.model, limits.device):
            encoder = encode_variant(self.model, self._set.batches, reference.encoder, changed)
            best = 1 if settings.beam == 1 else 2 * settings.beam
            scorer = Scorer(self.model, reference, changed, encoder, best)
            if scorer.nothing_differs:
                return _unchanged(reference.decoded, sentences)
            finished = Finished(limits)
            finished.terminated |= limits == 0
            verification = Verification(scorer, finished, limits, settings.beam, settings.length_penalty, self.window)
            self._search_chunks(verification, sentences, finish)
        held = (verification.held & _same(finished, reference)) | (limits == 0)
        return collected([finished.hypotheses()], [torch.arange(count)], count, sentences, held)

    def _search_chunks(self, verification: Verification, sentences: Tensor | None, finish: bool) -> None:
        wanted = torch.ones_like(self._set.limits, dtype=torch.bool)
        if sentences is not None:
            wanted = torch.zeros_like(wanted).index_fill_(0, sentences.to(wanted.device), True)
        pool: list[Astray] = []
        for number, chunk in enumerate(verification.draft.chunks):
            rows = wanted[chunk.sentences].nonzero().squeeze(1)
            left = verification.follow(number, rows) if rows.numel() else []
            if finish:
                pool += left
            if sum(part.slots.numel() for part in pool) >= self.pool_rows:
                # Few prefixes take nearly as long as many: the last ones of a pool go on with the next.
                pool = self._search_on(verification, pool, self.pool_rows // 4)
        if pool:
            self._search_on(verification, pool, 0)

    def _search_on(self, verification: Verification, pool: list[Astray], least: int) -> list[Astray]:
        together = joined(pool, verification.scorer)
        left = Continuation(verification, together, self.settings.beam).search(least)
        return [] if left is None else [left]

    def _padded(self, decoded: Decoded) -> Tensor:
        limits = self._set.limits
        longest = int(limits.max()) if limits.numel() else 0
        result = torch.zeros(limits.numel(), longest, dtype=torch.int64)
        result[torch.arange(longest) < decoded.lengths.unsqueeze(1)] = decoded.pieces.long()
        return result.to(limits.device)


def _same(finished: Finished, reference: Reference) -> Tensor:
    """Return where hypotheses are those of the reference, ``(sentences,)``."""
    device, decoded = finished.lengths.device, reference.decoded
    beyond = torch.arange(finished.pieces.size(1), device=device) >= finished.lengths.unsqueeze(1)
    same = ((finished.pieces == reference.pieces) | beyond).all(dim=1)
    same &= finished.lengths == decoded.lengths.to(device)
    return same & (finished.terminated != decoded.non_terminated.to(device))


def _unchanged(decoded: Decoded, sentences: Tensor | None) -> Decoded:
    hypotheses = Hypotheses(decoded.pieces, decoded.lengths, decoded.lengths.double(), decoded.non_terminated)
    count = len(decoded)
    return collected([hypotheses], [torch.arange(count)], count, sentences, torch.ones(count, dtype=torch.bool))
