"""The rest of a search whose live prefixes are not all in the draft: step by step, all such sentences together."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.decoding.greedy import LIVE_SHARE
from lit_transformer.decoding.prefix_store import Rows
from lit_transformer.decoding.verification import Astray, Verification, children, joined, needed_columns

# Columns that no live prefix attends to are dropped once there are this many times as many as are needed.
_CROWDED = 1.6


class Continuation:
    """Sentences, each at a step of its own, that are searched to their ends.

    Each step adds one column for each live prefix of all sentences, so that nothing that is stored is moved.

    Args:
        verification: The search that they left.
        astray: The sentences.
        beam: Number of live prefixes.
    """

    def __init__(self, verification: Verification, astray: Astray, beam: int) -> None:
        self._verification, self._state, self._beam = verification, astray, beam
        self._scorer, self._draft = verification.scorer, verification.draft
        # While nodes that were scored ahead may be looked up, their columns stay where they are.
        self._ahead = beam > 1 and bool((astray.search.lengths < astray.scored).any())

    def search(self, least: int) -> Astray | None:
        """Search until all are done, or few live prefixes are left.

        Args:
            least: With fewer live prefixes than this, those sentences are given back, to be searched on with others.

        Returns:
            The sentences that are not done, if any.
        """
        while True:
            kept = self._state.search.open.nonzero().squeeze(1)
            if kept.numel() == 0:
                return None
            if kept.numel() * self._beam < least and not self._ahead:
                return self._state.select(kept)
            self._tidy(kept)
            values, pieces = self._scores()
            self._verification.extend(self._state.search, values.flatten(0, 1), pieces.flatten(0, 1))
            self._advance()

    def _tidy(self, kept: Tensor) -> None:
        """Drop sentences that are done, and columns that nothing attends to, once they are many."""
        state = self._state
        few = kept.numel() < LIVE_SHARE * state.nodes.numel()
        columns = None
        if not self._ahead and self._beam > 1:
            columns = needed_columns(state.attended)
            few = few or state.used > _CROWDED * columns.size(1) + 2 * self._beam
        if not few:
            return
        if columns is None:
            columns = torch.arange(state.used, device=kept.device).expand(state.nodes.numel(), -1)
        columns = columns[kept]
        self._state = state = state.select(kept)
        used = columns.size(1)
        state.store = state.store.select(state.stored, columns, used + used // 2 + 4 * self._beam)
        state.stored = torch.arange(kept.numel(), device=kept.device)
        state.attended = state.attended.gather(2, columns.unsqueeze(1).expand(-1, self._beam, -1))
        state.used = used

    def _scores(self) -> tuple[Tensor, Tensor]:
        """Return the best continuations of all live prefixes, each ``(sentences, beam, best)``."""
        state, search, beam = self._state, self._state.search, self._beam
        alive = search.open.unsqueeze(1) & (search.scores > -torch.inf)
        looked_up = state.known & (search.lengths < state.scored).unsqueeze(1)
        nodes = (state.nodes.unsqueeze(1) + state.slots).masked_fill(~state.known, 0)
        values, pieces = self._verification.values[nodes], self._verification.pieces[nodes]
        columns = state.used + torch.arange(beam, device=nodes.device)
        state.attended = F.pad(state.attended, (0, beam))
        state.attended.scatter_(2, state.slots.where(looked_up, columns).unsqueeze(2), True)
        sentences, places = (alive & ~looked_up).nonzero(as_tuple=True)
        if sentences.numel():
            rows = Rows(sentences, places, state.used, ~state.attended, state.nodes.numel())
            found = self._scorer.score(
                rows,
                ~state.known[sentences, places],
                search.pieces[sentences, places],
                nodes[sentences, places],
                search.lengths[sentences],
                state.store,
            )
            values[sentences, places], pieces[sentences, places] = found[0].double(), found[1]
        state.used += beam
        return values, pieces

    def _advance(self) -> None:
        """Find which of the new live prefixes the draft has."""
        if self._beam == 1:
            return
        state = self._state
        parents = state.search.parents
        before, known = state.slots.gather(1, parents), state.known.gather(1, parents)
        rows = torch.arange(parents.size(0), device=parents.device).unsqueeze(1)
        state.attended = state.attended[rows, parents]
        state.slots, found = children(
            self._draft, state.nodes, before, state.search.pieces, state.search.lengths, state.depths
        )
        state.known = found & known
        self._ahead = self._ahead and bool((state.search.lengths < state.scored).any())


def search_on(verification: Verification, pool: list[Astray], least: int) -> list[Astray]:
    """Search on for sentences that left their drafts, all together; return those that are not done.

    Args:
        verification: The search that they left.
        pool: The sentences.
        least: With fewer live prefixes than this, those sentences are given back, to be searched on with others.
    """
    left = Continuation(verification, joined(pool, verification.scorer), verification.beam).search(least)
    return [] if left is None else [left]
