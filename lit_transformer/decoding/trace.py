"""The live prefixes of every step of a search, which form a tree for each sentence."""

from __future__ import annotations

import torch
from torch import Tensor

from lit_transformer.decoding.search import Search


class Trace:
    """Takes down which prefixes a search of one batch scored, step by step.

    At depth 0 there is the empty prefix alone, at each later depth ``beam`` prefixes of that many pieces.

    Args:
        limits: The most pieces that each hypothesis may have, ``(batch,)``.

    Attributes:
        parents: Per depth from 1 on, the place of each prefix's parent among those of the depth before,
            ``(batch, beam)``.
        pieces: Per depth from 1 on, the last piece of each prefix, ``(batch, beam)``.
        exists: Per depth from 1 on, whether there is such a prefix and the search scored what follows it,
            ``(batch, beam)``.
    """

    def __init__(self, limits: Tensor) -> None:
        self._batch, self._device = limits.numel(), limits.device
        self.parents: list[Tensor] = []
        self.pieces: list[Tensor] = []
        self.exists: list[Tensor] = []

    def record(self, search: Search) -> None:
        """Take down the live prefixes of the sentences that are not done, each at the depth that it is at."""
        open_ = search.open.nonzero().squeeze(1)
        if open_.numel() == 0:
            return
        depths, sentences = search.lengths[open_], search.sentences[open_]
        alive = search.scores[open_] > -torch.inf
        while len(self.parents) < int(depths.max()):
            for steps, values in ((self.parents, search.parents), (self.pieces, search.pieces), (self.exists, alive)):
                steps.append(values.new_zeros(self._batch, values.size(1)))
        for depth in depths.unique().tolist():
            rows = (depths == depth).nonzero().squeeze(1)
            at, chosen = sentences[rows], open_[rows]
            self.parents[depth - 1][at], self.pieces[depth - 1][at] = search.parents[chosen], search.pieces[chosen]
            self.exists[depth - 1][at] = alive[rows]

    def select(self, sentences: Tensor) -> Trace:
        """Return the trace of these sentences, ``(new_batch,)``."""
        result = Trace(sentences)
        for name in ("parents", "pieces", "exists"):
            setattr(result, name, [values[sentences] for values in getattr(self, name)])
        return result

    def take(self, pieces: Tensor, lengths: Tensor, non_terminated: Tensor) -> None:
        """Take down a whole greedy search, which its hypotheses tell.

        Args:
            pieces: Of all sentences, one after another, ``(total_length,)``.
            lengths: ``(batch,)``.
            non_terminated: True where the search met its limit, ``(batch,)``.
        """
        device = self._device
        lengths = lengths.to(device)
        padded = torch.zeros(self._batch, int(lengths.max()), dtype=torch.int64, device=device)
        padded[torch.arange(padded.size(1), device=device) < lengths.unsqueeze(1)] = pieces.to(device, torch.int64)
        # A hypothesis that was cut at its limit was not scored at its end.
        scored = lengths - non_terminated.to(device).long()
        for depth in range(1, int(scored.max()) + 1):
            exists = (scored >= depth).unsqueeze(1)
            self.parents.append(torch.zeros_like(exists, dtype=torch.int64))
            self.pieces.append(padded[:, depth - 1 : depth] * exists)
            self.exists.append(exists)
