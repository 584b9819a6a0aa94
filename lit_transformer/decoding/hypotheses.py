"""The hypotheses of a set of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Hypotheses:
    """One hypothesis for each sentence, on the CPU, in the order of the sentences.

    Args:
        pieces: Ids of all sentences one after another, without begin and end of sentence, int32 ``(total_length,)``.
        lengths: Number of pieces of each sentence, int64 ``(sentences,)``.
        scores: Summed log-probability of the pieces, in nats, that of the end of sentence included and without length
            normalisation, float64 ``(sentences,)``.
        non_terminated: True where the search met its limit before the end of sentence, bool ``(sentences,)``.
    """

    pieces: Tensor
    lengths: Tensor
    scores: Tensor
    non_terminated: Tensor

    def __len__(self) -> int:
        """Return the number of sentences."""
        return self.lengths.numel()

    def ids(self) -> list[list[int]]:
        """Return the ids of each sentence, as a tokenizer takes them."""
        return [sentence.tolist() for sentence in self.pieces.split(self.lengths.tolist())]

    @classmethod
    def from_padded(cls, pieces: Tensor, lengths: Tensor, scores: Tensor, non_terminated: Tensor) -> Hypotheses:
        """Make hypotheses of padded rows.

        Args:
            pieces: ``(sentences, longest)``; what stands after the length of a row is ignored.
            lengths: ``(sentences,)``.
            scores: ``(sentences,)``.
            non_terminated: ``(sentences,)``.
        """
        held = torch.arange(pieces.size(1), device=pieces.device) < lengths.unsqueeze(1)
        return cls(
            pieces[held].to("cpu", torch.int32),
            lengths.to("cpu", torch.int64),
            scores.to("cpu", torch.float64),
            non_terminated.to("cpu", torch.bool),
        )

    @classmethod
    def join(cls, parts: Sequence[Hypotheses]) -> Hypotheses:
        """Put the hypotheses of several batches one after another."""
        if not parts:
            nothing = torch.zeros(0)
            return cls.from_padded(nothing.view(0, 0), nothing, nothing, nothing)
        return cls(
            torch.cat([part.pieces for part in parts]),
            torch.cat([part.lengths for part in parts]),
            torch.cat([part.scores for part in parts]),
            torch.cat([part.non_terminated for part in parts]),
        )

    def split(self, parts: int) -> list[Hypotheses]:
        """Return as many parts of equal numbers of sentences, one after another."""
        ends = self.lengths.unflatten(0, (parts, -1)).sum(dim=1).tolist()
        columns = (tensor.chunk(parts) for tensor in (self.lengths, self.scores, self.non_terminated))
        return [Hypotheses(*part) for part in zip(self.pieces.split(ends), *columns, strict=True)]

    def select(self, sentences: Tensor) -> Hypotheses:
        """Return these sentences, in this order.

        Args:
            sentences: ``(new_sentences,)``, indices into the sentences; with ``torch.argsort`` of the places that the
                sentences have in the input, the result is in the order of the input.
        """
        lengths = self.lengths[sentences]
        starts = (self.lengths.cumsum(0) - self.lengths)[sentences]
        within = torch.arange(int(lengths.sum())) - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        return Hypotheses(
            self.pieces[starts.repeat_interleave(lengths) + within],
            lengths,
            self.scores[sentences],
            self.non_terminated[sentences],
        )

    def with_blanks(self, places: Tensor, count: int) -> Hypotheses:
        """Return the hypotheses of more sentences, of which those that were not decoded have the empty hypothesis.

        Args:
            places: Where each sentence goes, ascending, ``(sentences,)``.
            count: Number of sentences of the result.
        """
        places = places.cpu()
        return Hypotheses(
            self.pieces,
            self.lengths.new_zeros(count).index_copy(0, places, self.lengths),
            self.scores.new_zeros(count).index_copy(0, places, self.scores),
            self.non_terminated.new_zeros(count).index_copy(0, places, self.non_terminated),
        )
