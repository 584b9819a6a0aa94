"""The steps of beam search (method.md, 0.13), whoever scores the prefixes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.protocol import EOS


class Finished:
    """The best finished hypothesis of each sentence so far; of equal ones, the one that was finished first.

    Args:
        limits: The most pieces that each hypothesis may have, ``(sentences,)``.
    """

    def __init__(self, limits: Tensor) -> None:
        device, longest = limits.device, int(limits.max()) if limits.numel() else 0
        self.pieces = torch.zeros(limits.numel(), longest, dtype=torch.int64, device=device)
        self.lengths = torch.zeros(limits.numel(), dtype=torch.int64, device=device)
        self.scores = torch.zeros(limits.numel(), dtype=torch.float64, device=device)
        self.normalised = torch.full_like(self.scores, -torch.inf)
        self.terminated = torch.zeros(limits.numel(), dtype=torch.bool, device=device)

    def offer(
        self, sentences: Tensor, pieces: Tensor, lengths: Tensor, scores: Tensor, divisors: Tensor, terminated: bool
    ) -> None:
        """Keep those of these hypotheses that are better than what their sentences have.

        Args:
            sentences: ``(offered,)``, each at most once.
            pieces: ``(offered, longest)``, without end of sentence; what stands after the length of a row is ignored.
            lengths: ``(offered,)``.
            scores: Summed log-probabilities, ``(offered,)``.
            divisors: The length normalisation, by which scores are divided before they are compared, ``(offered,)``.
            terminated: Whether they end in the end-of-sentence piece.
        """
        normalised = scores / divisors
        better = normalised > self.normalised[sentences]
        chosen, width = sentences[better], min(pieces.size(1), self.pieces.size(1))
        self.pieces[chosen, :width] = pieces[better, :width]
        self.lengths[chosen] = lengths[better]
        self.scores[chosen] = scores[better]
        self.normalised[chosen] = normalised[better]
        self.terminated[chosen] = terminated

    def hypotheses(self) -> Hypotheses:
        """Return them all, in the order of the sentences."""
        return Hypotheses.from_padded(self.pieces, self.lengths, self.scores, ~self.terminated)


class Search:
    """Live prefixes of sentences that are being decoded, each of which may be at a step of its own.

    Args:
        finished: Where finished hypotheses go.
        limits: The most pieces that each hypothesis may have, ``(sentences,)``.
        beam: Number of live prefixes of a sentence.
        length_penalty: Exponent of the length normalisation.

    Attributes:
        sentences: The place of each sentence in ``finished``, ``(sentences,)``.
        lengths: Number of pieces of a sentence's live prefixes, ``(sentences,)``.
        prefixes: Their pieces, ``(sentences, live, longest)``; there is one empty prefix at first, ``beam`` later.
        scores: Their summed log-probabilities, best first, ``(sentences, live)``; -inf where there is no prefix, as
            with a vocabulary smaller than the beam.
        parents: The place, among the live prefixes before, of the one that each continues, ``(sentences, live)``.
        pieces: The last piece of each, ``(sentences, live)``.
        open: False at sentences that are done, ``(sentences,)``.
    """

    def __init__(self, finished: Finished, limits: Tensor, beam: int, length_penalty: float) -> None:
        device, longest = limits.device, int(limits.max()) if limits.numel() else 0
        self.finished, self.limits, self.beam = finished, limits, beam
        # Of Python's own powers, since torch's may differ in the last bit from one machine to the next.
        self._divisors = torch.tensor(
            [((5 + length) / 6) ** length_penalty for length in range(longest + 1)], dtype=torch.float64, device=device
        )
        self.sentences = torch.arange(limits.numel(), device=device)
        self.open = limits > 0
        self.counts = torch.zeros_like(limits)
        self.lengths = torch.zeros_like(limits)
        self.prefixes = torch.zeros(limits.numel(), 1, 0, dtype=torch.int64, device=device)
        self.scores = torch.zeros(limits.numel(), 1, dtype=torch.float64, device=device)
        self.parents = torch.zeros(limits.numel(), 1, dtype=torch.int64, device=device)
        self.pieces = self.parents

    def extend(self, values: Tensor, pieces: Tensor) -> None:
        """Make one step with all sentences.

        Args:
            values: Log-probabilities of the best pieces after each live prefix, ``(sentences * live, best)``: as many
                as ``2 * beam``, unless the vocabulary has fewer; for a beam of 1 the best alone will do.
            pieces: Their ids, ``(sentences * live, best)``; equal values stand by piece.
        """
        scores, parents, pieces = self._rank(values, pieces)
        self.lengths = self.lengths + self.open
        divisors = self._divisors[self.lengths]
        ends = pieces == EOS
        self._finish(ends[:, : self.beam], scores, parents, divisors)
        # One prefix has one end, so that at least half of the candidates go on.
        others = ends.to(torch.uint8).sort(dim=1, stable=True).indices[:, : self.beam]
        self.parents, self.pieces = parents.gather(1, others), pieces.gather(1, others)
        self.scores = scores.gather(1, others)
        self._append()
        self.open = self.open & (self.counts < self.beam) & (self.scores[:, 0] > -torch.inf)
        at_limit = self.open & (self.limits == self.lengths)
        if bool(at_limit.any()):
            # All of a sentence's live prefixes have one length, so only the best of them can win.
            self.finished.offer(
                self.sentences[at_limit],
                self.prefixes[at_limit, 0],
                self.lengths[at_limit],
                self.scores[at_limit, 0],
                divisors[at_limit],
                False,
            )
            self.open = self.open & ~at_limit

    def skip(self, pieces: Tensor, counts: Tensor) -> None:
        """Make several steps of a greedy search whose results are known, none of which ends a sentence.

        Args:
            pieces: The pieces that follow, ``(sentences, most)``.
            counts: How many of them each sentence takes, ``(sentences,)``.
        """
        columns = self.lengths.unsqueeze(1) + torch.arange(pieces.size(1), device=pieces.device)
        self.prefixes = F.pad(self.prefixes, (0, pieces.size(1)))
        # What is written beyond a sentence's own length is written over, or never read.
        self.prefixes.squeeze(1).scatter_(1, columns, pieces)
        self.lengths = self.lengths + counts

    def _append(self) -> None:
        sentences = torch.arange(self.parents.size(0), device=self.parents.device).unsqueeze(1)
        # One more column than the longest had: enough for all, whatever their steps.
        prefixes = F.pad(self.prefixes[sentences, self.parents], (0, 1))
        last = (self.lengths - 1).clamp(min=0)[:, None, None].expand(-1, prefixes.size(1), 1)
        self.prefixes = prefixes.scatter_(2, last, self.pieces.unsqueeze(2))

    def _rank(self, values: Tensor, pieces: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return scores, parents and pieces of the best ``2 * beam`` candidates, each ``(sentences, 2 * beam)``."""
        sentences, live = self.scores.shape
        wanted = 2 * self.beam
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

    def _finish(self, ends: Tensor, scores: Tensor, parents: Tensor, divisors: Tensor) -> None:
        ends = ends & self.open.unsqueeze(1) & (scores[:, : self.beam] > -torch.inf)
        self.counts = self.counts + ends.sum(dim=1)
        rows = ends.any(dim=1).nonzero().squeeze(1)
        if rows.numel():
            # Those of one step have one length, so the first of them is the best.
            rank = ends[rows].to(torch.uint8).argmax(dim=1, keepdim=True)
            prefixes = self.prefixes[rows, parents[rows].gather(1, rank).squeeze(1)]
            lengths, scores = self.lengths[rows] - 1, scores[rows].gather(1, rank).squeeze(1)
            self.finished.offer(self.sentences[rows], prefixes, lengths, scores, divisors[rows], True)

    def select(self, kept: Tensor) -> Search:
        """Return a search of these sentences alone, ``(kept,)``, which goes on by itself."""
        result = Search.__new__(Search)
        result.finished, result.beam, result._divisors = self.finished, self.beam, self._divisors
        for name in _PER_SENTENCE:
            setattr(result, name, getattr(self, name)[kept])
        return result

    @classmethod
    def join(cls, parts: Sequence[Search]) -> Search:
        """Return one search of the sentences of several with one ``finished``."""
        result = parts[0].select(torch.arange(0, device=parts[0].open.device))
        longest = max(part.prefixes.size(2) for part in parts)
        for name in _PER_SENTENCE:
            result_parts = [getattr(part, name) for part in parts]
            if name == "prefixes":
                result_parts = [F.pad(part, (0, longest - part.size(2))) for part in result_parts]
            setattr(result, name, torch.cat(result_parts))
        result._divisors = max((part._divisors for part in parts), key=Tensor.numel)
        return result


_PER_SENTENCE = ("sentences", "limits", "open", "counts", "lengths", "prefixes", "scores", "parents", "pieces")
