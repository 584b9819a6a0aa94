"""Beam search (method.md, 0.13)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lit_transformer.decoding.candidates import best_next
from lit_transformer.decoding.greedy import LIVE_SHARE
from lit_transformer.decoding.hypotheses import Hypotheses
from lit_transformer.decoding.search import Finished, Search
from lit_transformer.model.protocol import Decodable, EncoderState, PrefixCache


def beam_search(
    model: Decodable[Any],
    source: Tensor,
    limits: Tensor,
    beam: int,
    length_penalty: float,
    encoded: EncoderState | None = None,
) -> Hypotheses:
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
        limits: Maximum number of tokens of each hypothesis, ``(batch,)``.
        beam: Number of live prefixes of a sentence.
        length_penalty: Exponent of the length normalisation.
        encoded: The encoder's output for the source, if it is known.
    """
    cache = model.start(model.encode(source) if encoded is None else encoded)
    search = Search(Finished(limits), limits, beam, length_penalty, model.special_ids.eos)
    if not bool(search.open.any()):
        return search.finished.hypotheses()
    ids = torch.full((limits.numel(), 1), model.special_ids.bos, dtype=torch.int64, device=limits.device)
    while True:
        search.extend(*best_next(model, model.step(ids, cache)[:, -1], 2 * beam))
        remaining = int(search.open.sum())
        if remaining == 0:
            return search.finished.hypotheses()
        search = _keep_live(search, remaining, ids.size(0), cache)
        ids = search.pieces.reshape(-1, 1)


def _keep_live(search: Search, remaining: int, rows_before: int, cache: PrefixCache) -> Search:
    """Bring the cache into the order of the prefixes, without sentences that are done once they are many."""
    held = search.sentences.numel()
    first_rows = torch.arange(held, device=search.parents.device).unsqueeze(1) * (rows_before // held)
    rows = first_rows + search.parents
    if remaining < LIVE_SHARE * held:
        kept = search.open.nonzero().squeeze(1)
        cache.select_sentences(kept)
        search, rows = search.select(kept), rows[kept]
    rows = rows.flatten()
    if rows.numel() != rows_before or not torch.equal(rows, torch.arange(rows.numel(), device=rows.device)):
        cache.select_prefixes(rows)
    return search
