"""Beam search, exactly that of method.md, 0.13."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.decoding.candidates import best, log_probabilities
from lit_transformer.decoding.greedy import LIVE_SHARE
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.protocol import BOS, EOS, Decodable, PrefixCache


def beam_search(model: Decodable, source: Tensor, limits: Tensor, beam: int, length_penalty: float) -> Hypotheses:
    """Search for the most probable hypothesis of each sentence.

    At each step all that can follow the live prefixes is ranked by summed log-probability (summed in float64; ties:
    lower prefix, then lower piece id). Of the best ``2 * beam``, those among the first ``beam`` that end the sentence
    are finished, and the best ``beam`` of those that do not end it live on. A sentence is done when it has ``beam``
    finished hypotheses or more, or at its limit, where live prefixes count as finished without being tried for their
    end of sentence. The result is the finished hypothesis with the best normalised score; of equal ones, the one that
    was finished first.

    Args:
        model: The model.
        source: ``(batch, source_length)``.
        limits: The most pieces that each hypothesis may have, ``(batch,)``.
        beam: Number of live prefixes of a sentence.
        length_penalty: Exponent of the length normalisation.
    """
    cache = model.start(model.encode(source))
    search = _Search(limits, beam, length_penalty)
    while search.sentences.numel():
        states = model.step(search.last_pieces(), cache)
        search.extend(log_probabilities(model.logits(states[:, -1])))
        search.keep_live(cache)
    finished = search.finished
    return Hypotheses.from_padded(finished.pieces, finished.lengths, finished.scores, ~finished.terminated)


class _Finished:
    """The best finished hypothesis of each sentence so far; of equal ones, the one that was finished first."""

    def __init__(self, batch: int, longest: int, device: torch.device) -> None:
        self.pieces = torch.zeros(batch, longest, dtype=torch.int64, device=device)
        self.lengths = torch.zeros(batch, dtype=torch.int64, device=device)
        self.scores = torch.zeros(batch, dtype=torch.float64, device=device)
        self.normalised = torch.full_like(self.scores, -torch.inf)
        self.terminated = torch.zeros(batch, dtype=torch.bool, device=device)

    def offer(self, sentences: Tensor, pieces: Tensor, scores: Tensor, divisor: float, terminated: bool) -> None:
        """Keep those of these hypotheses that are better than what their sentences have.

        Args:
            sentences: ``(offered,)``, indices into the batch, each at most once.
            pieces: ``(offered, length)``, without end of sentence.
            scores: Summed log-probabilities, ``(offered,)``.
            divisor: The length normalisation, by which scores are divided before they are compared.
            terminated: Whether they end in the end-of-sentence piece.
        """
        normalised = scores / divisor
        better = normalised > self.normalised[sentences]
        chosen = sentences[better]
        self.pieces[chosen, : pieces.size(1)] = pieces[better]
        self.lengths[chosen] = pieces.size(1)
        self.scores[chosen] = scores[better]
        self.normalised[chosen] = normalised[better]
        self.terminated[chosen] = terminated


class _Search:
    """Live prefixes of the sentences that are still in the batch.

    Attributes:
        sentences: Index of each sentence in the whole batch, ``(sentences,)``.
        prefixes: Pieces so far, ``(sentences, live, length)``; there is one empty prefix at first, ``beam`` later.
        scores: Their summed log-probabilities, best first, ``(sentences, live)``; -inf where there is no prefix, as
            with a vocabulary smaller than the beam.
        rows: The row of the model's batch in which the prefix that each of them continues was, ``(sentences, live)``.
        rows_before: The number of rows that the model's batch had.
        open: False at sentences that are done but not yet dropped, ``(sentences,)``.
    """

    def __init__(self, limits: Tensor, beam: int, length_penalty: float) -> None:
        device = limits.device
        self.beam, self.length_penalty = beam, length_penalty
        self.finished = _Finished(limits.numel(), int(limits.max()), device)
        self.open = limits > 0
        self.sentences = torch.arange(limits.numel() if bool(self.open.any()) else 0, device=device)
        self.limits = limits
        self.counts = torch.zeros_like(limits)
        self.prefixes = torch.zeros(limits.numel(), 1, 0, dtype=torch.int64, device=device)
        self.scores = torch.zeros(limits.numel(), 1, dtype=torch.float64, device=device)
        self.rows = torch.arange(limits.numel(), device=device).unsqueeze(1)
        self.rows_before = limits.numel()

    def last_pieces(self) -> Tensor:
        """Return what the model reads next, ``(sentences * live, 1)``."""
        if self.prefixes.size(2) == 0:
            return torch.full((self.sentences.numel(), 1), BOS, dtype=torch.int64, device=self.prefixes.device)
        return self.prefixes[:, :, -1].reshape(-1, 1)

    def extend(self, log_probs: Tensor) -> None:
        """Make one step of the search.

        Args:
            log_probs: Of the next piece, ``(sentences * live, target_vocab_size)``.
        """
        scores, parents, pieces = self._rank(log_probs)
        length = self.prefixes.size(2) + 1
        divisor = ((5 + length) / 6) ** self.length_penalty
        ends = pieces == EOS
        self._finish(ends[:, : self.beam], scores, parents, divisor)
        # One prefix has one end, so that at least half of the candidates go on.
        others = ends.to(torch.uint8).sort(dim=1, stable=True).indices[:, : self.beam]
        parents, pieces = parents.gather(1, others), pieces.gather(1, others)
        sentences = torch.arange(parents.size(0), device=parents.device).unsqueeze(1)
        self.rows_before = log_probs.size(0)
        self.rows = sentences * self.scores.size(1) + parents
        self.prefixes = torch.cat([self.prefixes[sentences, parents], pieces.unsqueeze(2)], dim=2)
        self.scores = scores.gather(1, others)
        self.open = self.open & (self.counts < self.beam) & (self.scores[:, 0] > -torch.inf)
        at_limit = self.open & (self.limits == length)
        if bool(at_limit.any()):
            # All of a sentence's live prefixes have one length, so only the best of them can win.
            self.finished.offer(
                self.sentences[at_limit], self.prefixes[at_limit, 0], self.scores[at_limit, 0], divisor, False
            )
            self.open = self.open & ~at_limit

    def _rank(self, log_probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return scores, parents and pieces of the best ``2 * beam`` candidates, each ``(sentences, 2 * beam)``."""
        sentences, live = self.scores.shape
        wanted = 2 * self.beam
        values, pieces = best(log_probs, min(wanted, log_probs.size(1)))
        scores = (self.scores.view(-1, 1) + values.double()).view(sentences, -1)
        # Candidates stand by prefix and, within one, by piece where they are equal: the order that ties call for.
        scores, order = scores.sort(dim=1, descending=True, stable=True)
        parents, pieces = order // (order.size(1) // live), pieces.reshape(sentences, -1).gather(1, order)
        missing = max(wanted - order.size(1), 0)
        return (
            F.pad(scores[:, :wanted], (0, missing), value=-torch.inf),
            F.pad(parents[:, :wanted], (0, missing)),
            F.pad(pieces[:, :wanted], (0, missing)),
        )

    def _finish(self, ends: Tensor, scores: Tensor, parents: Tensor, divisor: float) -> None:
        ends = ends & self.open.unsqueeze(1) & (scores[:, : self.beam] > -torch.inf)
        self.counts = self.counts + ends.sum(dim=1)
        rows = ends.any(dim=1).nonzero().squeeze(1)
        if rows.numel():
            # Those of one step have one length, so the first of them is the best.
            rank = ends[rows].to(torch.uint8).argmax(dim=1, keepdim=True)
            prefixes = self.prefixes[rows, parents[rows].gather(1, rank).squeeze(1)]
            self.finished.offer(self.sentences[rows], prefixes, scores[rows].gather(1, rank).squeeze(1), divisor, True)

    def keep_live(self, cache: PrefixCache) -> None:
        """Bring the cache into the order of the prefixes, without sentences that are done once they are many."""
        remaining, held = int(self.open.sum()), self.sentences.numel()
        if remaining == 0:
            self.sentences = self.sentences[:0]
            return
        if remaining < LIVE_SHARE * held:
            kept = self.open.nonzero().squeeze(1)
            cache.select_sentences(kept)
            self.sentences, self.limits, self.counts = self.sentences[kept], self.limits[kept], self.counts[kept]
            self.prefixes, self.scores, self.rows = self.prefixes[kept], self.scores[kept], self.rows[kept]
            self.open = self.open[kept]
        rows = self.rows.flatten()
        if rows.numel() != self.rows_before or not torch.equal(rows, torch.arange(rows.numel(), device=rows.device)):
            cache.select_prefixes(rows)
