"""What the encoder gives for a set of sentences, from the first component on that differs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from lit_transformer.decoding.protocol import PAD, Verifiable


@dataclass
class EncoderStates:
    """What the encoder gave for all sentences, without padding, and what entered each of its components.

    Args:
        states: Those of all sentences one after another, then a row of zeros, ``(source_positions + 1, d_model)``.
        first: The place of each sentence's first one, ``(sentences,)``.
        lengths: Number of each sentence's, ``(sentences,)``.
        entering: Per place of the encoder's order, what entered it in each batch,
            ``(batch, source_length, d_model)``.
    """

    states: Tensor
    first: Tensor
    lengths: Tensor
    entering: dict[int, list[Tensor]] = field(default_factory=dict)

    def padded(self, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states of these sentences, ``(sentences, source_length, d_model)``, and where there are none."""
        rows, padding = self.rows(sentences)
        return self.states[rows], padding

    def rows(self, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rows of the states of these sentences, ``(sentences, source_length)``, and where there are none.

        Where there are none, it is the row of zeros.
        """
        lengths = self.lengths[sentences].unsqueeze(1)
        columns = torch.arange(int(lengths.max()), device=lengths.device)
        padding = columns >= lengths
        return (self.first[sentences].unsqueeze(1) + columns).masked_fill(padding, self.states.size(0) - 1), padding

    @property
    def kept_bytes(self) -> int:
        """Size of what entered the components."""
        return sum(part.numel() * part.element_size() for parts in self.entering.values() for part in parts)


def encode_all(
    model: Verifiable, batches: Sequence[tuple[Tensor, Tensor]], sentences: int
) -> tuple[EncoderStates, list[Any]]:
    """Encode sentences, and keep what enters each component.

    Args:
        model: The model.
        batches: Numbers of sentences, and their ids ``(batch, source_length)``.
        sentences: Number of all sentences, those that are in no batch counted.

    Returns:
        The states, and what the encoder gives for each batch.
    """
    entering: dict[int, list[Tensor]] = {place: [] for place in range(1, len(model.order("e")))}
    encoded = [
        model.encode_from(
            model.embed_source(source), source == PAD, 0, lambda place, x: entering.get(place, []).append(x)
        )
        for _, source in batches
    ]
    return _without_padding(batches, encoded, sentences, entering), encoded


def encode_variant(
    model: Verifiable, batches: Sequence[tuple[Tensor, Tensor]], reference: EncoderStates, changed: Collection[str]
) -> EncoderStates:
    """Encode sentences with a variant of a model, from the first component on that differs.

    Args:
        model: The variant.
        batches: Those of the reference.
        reference: What the model gave that it is a variant of.
        changed: The components that differ.

    Returns:
        The states; the reference's own if nothing of the encoder differs.
    """
    places = [place for place, component in enumerate(model.order("e")) if component in changed]
    if not places:
        return reference
    start = max((place for place in reference.entering if place <= places[0]), default=0)
    encoded = []
    for number, (_, source) in enumerate(batches):
        x = reference.entering[start][number] if start else model.embed_source(source)
        encoded.append(model.encode_from(x, source == PAD, start))
    return _without_padding(batches, encoded, reference.lengths.numel(), {})


def _without_padding(
    batches: Sequence[tuple[Tensor, Tensor]], encoded: Sequence[Any], sentences: int, entering: dict[int, list[Tensor]]
) -> EncoderStates:
    if not batches:
        nothing = torch.zeros(sentences, dtype=torch.int64)
        return EncoderStates(torch.zeros(1, 0), nothing, nothing, entering)
    device = batches[0][0].device
    lengths, first = torch.zeros(2, sentences, dtype=torch.int64, device=device)
    parts, total = [], 0
    for (numbers, source), states in zip(batches, encoded, strict=True):
        parts.append(states.states[source != PAD])
        lengths[numbers] = (source != PAD).sum(dim=1)
        first[numbers] = total + lengths[numbers].cumsum(0) - lengths[numbers]
        total += parts[-1].size(0)
    return EncoderStates(torch.cat([*parts, torch.zeros_like(parts[0][:1])]), first, lengths, entering)
