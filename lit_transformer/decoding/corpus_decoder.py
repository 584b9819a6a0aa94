"""Decode one corpus many times, with variants of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from lit_transformer.decoding.beam import beam_search
from lit_transformer.decoding.decode import for_decoding, source_lengths
from lit_transformer.decoding.greedy import greedy_search
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.settings import DecodingSettings
from lit_transformer.model.protocol import Decodable, EncoderState


class CorpusDecoder:
    """Decodes the sentences of a corpus in batches as they are given.

    Blank sentences are never decoded; their hypothesis is empty.

    Args:
        model: The model, which may be changed in place between calls.
        sources: Token ids in batches, each ``(batch, source_length)``, each row ending in the end-of-sentence token,
            then padding.
        settings: The search and its limits.
    """

    def __init__(self, model: Decodable[Any], sources: Sequence[Tensor], settings: DecodingSettings) -> None:
        self.model, self.settings = model, settings
        lengths = [source_lengths(source, model.special_ids) for source in sources]
        written = [(length > 0).nonzero().squeeze(1) for length in lengths]
        self._count = sum(length.numel() for length in lengths)
        flat = torch.cat(lengths) if lengths else torch.zeros(0, dtype=torch.int64)
        self._places, self._device = (flat > 0).nonzero().squeeze(1), flat.device
        self._batches = [
            (source[rows], length[rows] + settings.max_extra_pieces)
            for source, length, rows in zip(sources, lengths, written, strict=True)
            if rows.numel()
        ]

    def encode(self) -> list[EncoderState]:
        """Return the encoder's output for each batch, to be used by all variants that leave the encoder as it is."""
        with for_decoding(self.model, self._device):
            return [self.model.encode(source) for source, _ in self._batches]

    def decode(self, encoded: Sequence[EncoderState] | None = None) -> Hypotheses:
        """Decode the corpus with the model as it now is.

        Args:
            encoded: The result of `encode`, if the encoder is still the same.

        Returns:
            One hypothesis per sentence, in the order of the batches.

        Raises:
            UserError: The model gives NaN.
        """
        with for_decoding(self.model, self._device):
            parts = [
                self._search(self.model, source, limits, None if encoded is None else encoded[number])
                for number, (source, limits) in enumerate(self._batches)
            ]
        return self._joined(parts)

    def decode_copies(self, model: Decodable[Any], copies: int) -> list[Hypotheses]:
        """Decode several copies of every sentence in one batch, with a model that treats each copy in its own way.

        Args:
            model: Decodes in place of the decoder's own model. A batch holds all sentences of the first copy, then all
                of the second one, and so on.
            copies: Their number.

        Returns:
            The hypotheses of each copy, as `decode` returns them.

        Raises:
            UserError: The model gives NaN.
        """
        with for_decoding(model, self._device):
            parts = [
                self._search(model, source.repeat(copies, 1), limits.repeat(copies), None).split(copies)
                for source, limits in self._batches
            ]
        return [self._joined([part[copy] for part in parts]) for copy in range(copies)]

    def _search(
        self, model: Decodable[Any], source: Tensor, limits: Tensor, encoded: EncoderState | None
    ) -> Hypotheses:
        if self.settings.beam == 1:
            return greedy_search(model, source, limits, encoded)
        return beam_search(model, source, limits, self.settings.beam, self.settings.length_penalty, encoded)

    def _joined(self, parts: Sequence[Hypotheses]) -> Hypotheses:
        return Hypotheses.join(parts).with_blanks(self._places, self._count)
