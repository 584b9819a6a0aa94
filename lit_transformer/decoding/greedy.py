"""Greedy search: the hypotheses of beam search with a beam of 1, found faster."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lit_transformer.decoding.candidates import best_next
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.model.protocol import Decodable, EncoderState

# Dropping rows copies the caches of those that stay, so it waits until a quarter of them has nothing left to do.
LIVE_SHARE = 0.75


def greedy_search(
    model: Decodable[Any], source: Tensor, limits: Tensor, encoded: EncoderState | None = None
) -> Hypotheses:
    """Take the most probable token at each step; of equal ones, the lowest id.

    Args:
        model: The model.
        source: ``(batch, source_length)``.
        limits: Maximum number of tokens of each hypothesis, ``(batch,)``.
        encoded: The encoder's output for the source, if it is known.
    """
    batch, device, special = source.size(0), source.device, model.special_ids
    pieces = torch.zeros(batch, int(limits.max()), dtype=torch.int64, device=device)
    lengths = torch.zeros_like(limits)
    scores = torch.zeros(batch, dtype=torch.float64, device=device)
    terminated = torch.zeros(batch, dtype=torch.bool, device=device)
    cache = model.start(model.encode(source) if encoded is None else encoded)
    sentences = torch.arange(batch, device=device)
    live = limits > 0
    ids = torch.full((batch, 1), special.bos, dtype=torch.int64, device=device)
    for length in range(pieces.size(1)):
        added, piece = (part[:, 0] for part in best_next(model, model.step(ids, cache)[:, -1], 1))
        scores[sentences] += added.double().where(live, 0.0)
        ended = live & (piece == special.eos)
        terminated[sentences] |= ended
        live = live & ~ended
        pieces[sentences, length] = piece.where(live, 0)
        lengths[sentences] += live
        live = live & (length + 1 < limits[sentences])
        remaining = int(live.sum())
        if remaining == 0:
            break
        if remaining < LIVE_SHARE * live.numel():
            rows = live.nonzero().squeeze(1)
            cache.select_prefixes(rows)
            cache.select_sentences(rows)
            sentences, piece, live = sentences[rows], piece[rows], live[rows]
        ids = piece.unsqueeze(1)
    return Hypotheses.from_padded(pieces, lengths, scores, ~terminated)
