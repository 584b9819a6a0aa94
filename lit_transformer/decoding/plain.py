"""Plain decoding of one set of sentences with many variants of a model, which share what they can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lit_transformer.decoding.beam import beam_search
from lit_transformer.decoding.decode import for_decoding, source_lengths
from lit_transformer.decoding.greedy import greedy_search
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.protocol import Decodable
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.decoding.trace import Trace


@dataclass(frozen=True)
class Decoded:
    """Hypotheses of the sentences that were asked for, on the CPU, in their order.

    Args:
        pieces: Ids of all sentences one after another, without begin and end of sentence, int32 ``(total_length,)``.
        lengths: Number of pieces of each sentence, int64 ``(sentences,)``.
        non_terminated: True where the search met its limit before the end of sentence, bool ``(sentences,)``.
        held: True where a draft was found to hold to its end, so that no step of the search was made, bool
            ``(sentences,)``.
    """

    pieces: Tensor
    lengths: Tensor
    non_terminated: Tensor
    held: Tensor

    def __len__(self) -> int:
        """Return the number of sentences."""
        return self.lengths.numel()

    def ids(self) -> list[list[int]]:
        """Return the ids of each sentence, as a tokenizer takes them."""
        return [sentence.tolist() for sentence in self.pieces.split(self.lengths.tolist())]

    def select(self, sentences: Tensor) -> Decoded:
        """Return these sentences, in this order, ``(new_sentences,)``."""
        pieces, lengths = selected(self.pieces, self.lengths, sentences)
        return Decoded(pieces, lengths, self.non_terminated[sentences], self.held[sentences])

    def padded(self, longest: int) -> Tensor:
        """Return the pieces with zeros after the end of each sentence, int64 ``(sentences, longest)``."""
        result = torch.zeros(len(self), longest, dtype=torch.int64)
        result[torch.arange(longest) < self.lengths.unsqueeze(1)] = self.pieces.long()
        return result


class SentenceSet:
    """Sentences to decode, of which blank ones have the empty hypothesis and are never decoded.

    Args:
        sources: Ids in batches, each ``(batch, source_length)``, each row ending in the end-of-sentence piece, then
            padding. Sentences are numbered through all batches.
        max_extra_pieces: A hypothesis has at most as many pieces as its source and this many more.

    Attributes:
        limits: The most pieces that each hypothesis may have; 0 for a blank sentence, ``(sentences,)``.
        batches: Per batch with a sentence to decode, the numbers of these and their ids.
    """

    def __init__(self, sources: Sequence[Tensor], max_extra_pieces: int) -> None:
        lengths = [source_lengths(source) for source in sources]
        self.limits = torch.cat(
            [length + max_extra_pieces * (length > 0) for length in lengths] or [torch.zeros(0).long()]
        )
        self.batches: list[tuple[Tensor, Tensor]] = []
        start = 0
        for source, length in zip(sources, lengths, strict=True):
            written = (length > 0).nonzero().squeeze(1)
            if written.numel():
                self.batches.append((written + start, source[written]))
            start += source.size(0)


class PlainDecoder:
    """Decodes sentences step by step, in batches as they are given.

    Args:
        model: The model, which may be changed in place between calls.
        sources: See `SentenceSet`.
        settings: The search and its limits.
    """

    def __init__(self, model: Decodable, sources: Sequence[Tensor], settings: DecodingSettings) -> None:
        self.model, self.settings = model, settings
        self.set = SentenceSet(sources, settings.max_extra_pieces)

    def encode(self) -> list[Any]:
        """Return what the encoder gives for each batch, for all variants whose encoder is the same."""
        with for_decoding(self.model, self.set.limits.device):
            return [self.model.encode(source) for _, source in self.set.batches]

    def decode(
        self,
        encoded: Sequence[Any] | None = None,
        sentences: Tensor | None = None,
        traces: list[tuple[Tensor, Trace]] | None = None,
    ) -> Decoded:
        """Decode with the model as it now is.

        Args:
            encoded: What `encode` gave, if the encoder is still the same.
            sentences: Numbers of the sentences wanted, ``(wanted,)``; all by default.
            traces: Is given the numbers and the trace of each batch.

        Raises:
            UserError: The model gives NaN.
        """
        limits = self.set.limits
        wanted = torch.ones_like(limits, dtype=torch.bool)
        if sentences is not None:
            wanted = torch.zeros_like(wanted).index_fill_(0, sentences.to(limits.device), True)
        parts, numbers = [], []
        with for_decoding(self.model, limits.device):
            for place, (batch, source) in enumerate(self.set.batches):
                rows = wanted[batch].nonzero().squeeze(1)
                if rows.numel() == 0:
                    continue
                states = None if encoded is None else encoded[place]
                if rows.numel() < batch.numel():
                    batch, source = batch[rows], source[rows]
                    states = None if states is None else states.select(rows)
                trace = None if traces is None else Trace(limits[batch])
                parts.append(self._search(self.model, source, limits[batch], states, trace))
                numbers.append(batch)
                if traces is not None and trace is not None:
                    traces.append((batch, trace))
        return collected(parts, numbers, limits.numel(), sentences)

    def decode_copies(self, model: Decodable, copies: int, sentences: Tensor | None = None) -> list[Decoded]:
        """Decode every sentence several times in one batch, with a model that treats each copy of it in its own way.

        Args:
            model: What decodes in place of the decoder's own model. A batch holds all sentences of the first copy, then
                all of the second one, and so on.
            copies: Their number.
            sentences: Numbers of the sentences wanted, in their order, ``(wanted,)``; all by default.

        Returns:
            What each copy was decoded to.

        Raises:
            UserError: The model gives NaN.
        """
        limits, parts = self.set.limits, []
        with for_decoding(model, limits.device):
            for batch, source in self.set.batches:
                found = self._search(model, source.repeat(copies, 1), limits[batch].repeat(copies), None, None)
                parts.append(found.split(copies))
        numbers = [batch for batch, _ in self.set.batches]
        return [collected([part[copy] for part in parts], numbers, limits.numel(), sentences) for copy in range(copies)]

    def _search(
        self, model: Decodable, source: Tensor, limits: Tensor, encoded: Any, trace: Trace | None
    ) -> Hypotheses:
        settings = self.settings
        if settings.beam > 1:
            return beam_search(model, source, limits, settings.beam, settings.length_penalty, encoded, trace)
        found = greedy_search(model, source, limits, encoded)
        if trace is not None:
            trace.take(found.pieces, found.lengths, found.non_terminated)
        return found


def collected(
    parts: Sequence[Hypotheses],
    numbers: Sequence[Tensor],
    count: int,
    sentences: Tensor | None,
    held: Tensor | None = None,
) -> Decoded:
    """Put the hypotheses of sentences with these numbers into the order that was asked for.

    Args:
        parts: Hypotheses of some of the sentences.
        numbers: Per part, their numbers.
        count: Number of all sentences; those in no part have the empty hypothesis.
        sentences: Numbers of those wanted, ``(wanted,)``; all by default.
        held: See `Decoded`, ``(count,)``; all False by default.
    """
    joined = Hypotheses.join(parts)
    lengths = torch.zeros(count, dtype=torch.int64)
    non_terminated = torch.zeros(count, dtype=torch.bool)
    first = torch.zeros(count, dtype=torch.int64)
    if parts:
        places = torch.cat(list(numbers)).cpu()
        lengths[places], non_terminated[places] = joined.lengths, joined.non_terminated
        first[places] = joined.lengths.cumsum(0) - joined.lengths
    wanted = torch.arange(count) if sentences is None else sentences.cpu()
    held = torch.zeros(count, dtype=torch.bool) if held is None else held.cpu()
    pieces = _pieces_at(joined.pieces, first[wanted], lengths[wanted])
    return Decoded(pieces, lengths[wanted], non_terminated[wanted], held[wanted])


def selected(pieces: Tensor, lengths: Tensor, sentences: Tensor) -> tuple[Tensor, Tensor]:
    """Return pieces and lengths of some sentences.

    Args:
        pieces: Of all sentences, one after another, ``(total_length,)``.
        lengths: ``(sentences,)``.
        sentences: Which ones, in the order wanted, ``(new_sentences,)``.
    """
    first = lengths.cumsum(0) - lengths
    return _pieces_at(pieces, first[sentences], lengths[sentences]), lengths[sentences]


def _pieces_at(pieces: Tensor, first: Tensor, lengths: Tensor) -> Tensor:
    inside = torch.arange(int(lengths.sum())) - (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
    return pieces[first.repeat_interleave(lengths) + inside]
