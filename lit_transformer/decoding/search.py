"""The state of a beam search and its steps (method.md, 0.13)."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.decoding.hypotheses import Hypotheses


class Finished:
    """The best finished hypothesis of each sentence so far; of equal ones, the one that was finished first.

    Args:
        limits: Maximum number of tokens of each hypothesis, ``(sentences,)``.
    """

    def __init__(self, limits: Tensor) -> None:
        device, longest = limits.device, int(limits.max()) if limits.numel() else 0
        self.pieces = torch.zeros(limits.numel(), longest, dtype=torch.int64, device=device)
        self.lengths = torch.zeros(limits.numel(), dtype=torch.int64, device=device)
        self.scores = torch.zeros(limits.numel(), dtype=torch.float64, device=device)
        self.normalised = torch.full_like(self.scores, -torch.inf)
        self.terminated = torch.zeros(limits.numel(), dtype=torch.bool, device=device)

    def offer(
        self, sentences: Tensor, pieces: Tensor, length: int, scores: Tensor, divisor: Tensor, terminated: bool
    ) -> None:
        """Keep those of these hypotheses that are better than what their sentences have.

        Args:
            sentences: ``(offered,)``, each at most once.
            pieces: Their tokens without end of sentence, ``(offered, length)``.
            length: Number of tokens of each.
            scores: Summed log-probabilities, ``(offered,)``.
            divisor: The length normalisation, by which scores are divided before they are compared, ``()``.
            terminated: Whether they end in the end-of-sentence token.
        """
        normalised = scores / divisor
        better = normalised > self.normalised[sentences]
        chosen = sentences[better]
        self.pieces[chosen, :length] = pieces[better]
        self.lengths[chosen] = length
        self.scores[chosen] = scores[better]
        self.normalised[chosen] = normalised[better]
        self.terminated[chosen] = terminated

    def hypotheses(self) -> Hypotheses:
        """Return the best hypothesis of each sentence."""
        return Hypotheses.from_padded(self.pieces, self.lengths, self.scores, ~self.terminated)


class Search:
    """Live prefixes of sentences that are decoded together, one step of all at a time.

    Args:
        finished: Where finished hypotheses go.
        limits: Maximum number of tokens of each hypothesis, ``(sentences,)``.
        beam: Number of live prefixes of a sentence.
        length_penalty: Exponent of the length normalisation.
        eos: Id of the end-of-sentence token.

    Attributes:
        sentences: The place of each sentence in ``finished``, ``(sentences,)``.
        length: Number of tokens of every live prefix.
        prefixes: Their tokens, ``(sentences, live, length)``; there is one empty prefix at first, ``beam`` later.
        scores: Their summed log-probabilities, best first, ``(sentences, live)``; -inf where there is no prefix, as
            with a vocabulary smaller than the beam.
        parents: The place, among the live prefixes before, of the one that each continues, ``(sentences, live)``.
        pieces: The last token of each, ``(sentences, live)``.
        open: False at sentences that are done, ``(sentences,)``.
    """

    def __init__(self, finished: Finished, limits: Tensor, beam: int, length_penalty: float, eos: int) -> None:
        device, longest = limits.device, int(limits.max()) if limits.numel() else 0
        self.finished, self.limits, self.beam, self._eos = finished, limits, beam, eos
        # Of Python's own powers, since torch's may differ in the last bit from one machine to the next.
        self._divisors = torch.tensor(
            [((5 + length) / 6) ** length_penalty for length in range(longest + 1)], dtype=torch.float64, device=device
        )
        self.sentences = torch.arange(limits.numel(), device=device)
        self.open = limits > 0
        self.counts = torch.zeros_like(limits)
        self.length = 0
        self.prefixes = torch.zeros(limits.numel(), 1, 0, dtype=torch.int64, device=device)
        self.scores = torch.zeros(limits.numel(), 1, dtype=torch.float64, device=device)
        self.parents = torch.zeros(limits.numel(), 1, dtype=torch.int64, device=device)
        self.pieces = self.parents

    def extend(self, values: Tensor, pieces: Tensor) -> None:
        """Make one step with all sentences.

        Args:
            values: Log-probabilities of the best tokens after each live prefix, ``(sentences * live, best)``: as many
                as ``2 * beam``, unless the vocabulary has fewer; for a beam of 1 the best alone will do.
            pieces: Their ids, ``(sentences * live, best)``; equal values in order of the id.
        """
        scores, parents, pieces = self._rank(values, pieces)
        self.length += 1
        ends = pieces == self._eos
        self._finish(ends[:, : self.beam], scores, parents)
        # One prefix has one end, so that at least half of the candidates go on.
        others = ends.to(torch.uint8).sort(dim=1, stable=True).indices[:, : self.beam]
        self.parents, self.pieces = parents.gather(1, others), pieces.gather(1, others)
        self.scores = scores.gather(1, others)
        rows = torch.arange(self.parents.size(0), device=self.parents.device).unsqueeze(1)
        self.prefixes = torch.cat([self.prefixes[rows, self.parents], self.pieces.unsqueeze(2)], dim=2)
        self.open = self.open & (self.counts < self.beam) & (self.scores[:, 0] > -torch.inf)
        at_limit = self.open & (self.limits == self.length)
        if bool(at_limit.any()):
            # All of a sentence's live prefixes have one length, so only the best of them can win.
            self._offer(at_limit, self.prefixes[at_limit, 0], self.scores[at_limit, 0], terminated=False)
            self.open = self.open & ~at_limit

    def _rank(self, values: Tensor, pieces: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return scores, parents and tokens of the best ``2 * beam`` candidates, each ``(sentences, 2 * beam)``."""
        sentences, live = self.scores.shape
        wanted = 2 * self.beam
        scores = (self.scores.view(-1, 1) + values.double()).view(sentences, -1)
        # Equal candidates stay in order of prefix, then of token id, as ties are broken.
        scores, order = scores.sort(dim=1, descending=True, stable=True)
        parents, pieces = order // (order.size(1) // live), pieces.reshape(sentences, -1).gather(1, order)
        missing = max(wanted - order.size(1), 0)
        return (
            F.pad(scores[:, :wanted], (0, missing), value=-torch.inf),
            F.pad(parents[:, :wanted], (0, missing)),
            F.pad(pieces[:, :wanted], (0, missing)),
        )

    def _finish(self, ends: Tensor, scores: Tensor, parents: Tensor) -> None:
        ends = ends & self.open.unsqueeze(1) & (scores[:, : self.beam] > -torch.inf)
        self.counts = self.counts + ends.sum(dim=1)
        rows = ends.any(dim=1).nonzero().squeeze(1)
        if rows.numel():
            # Those of one step have one length, so the first of them is the best.
            rank = ends[rows].to(torch.uint8).argmax(dim=1, keepdim=True)
            prefixes = self.prefixes[rows, parents[rows].gather(1, rank).squeeze(1)]
            self._offer(rows, prefixes, scores[rows].gather(1, rank).squeeze(1), terminated=True)

    def _offer(self, rows: Tensor, pieces: Tensor, scores: Tensor, terminated: bool) -> None:
        # The score of a terminated hypothesis includes the end-of-sentence token, as does the length it is divided by.
        divisor = self._divisors[self.length]
        self.finished.offer(self.sentences[rows], pieces, pieces.size(1), scores, divisor, terminated)

    def select(self, kept: Tensor) -> Search:
        """Return the search of these sentences alone, ``(kept,)``."""
        result = copy.copy(self)
        for name in ("sentences", "limits", "open", "counts", "prefixes", "scores", "parents", "pieces"):
            setattr(result, name, getattr(self, name)[kept])
        return result
