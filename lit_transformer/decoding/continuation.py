"""The rest of a search whose live prefixes are not all in the draft: step by step, all such sentences together."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from lit_transformer.decoding.greedy import LIVE_SHARE
from lit_transformer.decoding.prefix_store import Rows
from lit_transformer.decoding.verification import Astray, Verification, children


class Continuation:
    """Sentences, each at a step of its own, that are searched to their ends.

    A live prefix that is a node of the draft has that node's slot; any other takes a slot of a node of the same depth
    that is not alive, and so will never be asked for again.

    Args:
        verification: The search that they left.
        astray: The sentences.
        beam: Number of live prefixes.
    """

    def __init__(self, verification: Verification, astray: Astray, beam: int) -> None:
        self._verification, self._state, self._beam = verification, astray, beam
        self._scorer, self._draft = verification.scorer, verification.draft

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
            if kept.numel() * self._beam < least:
                return self._state.select(kept)
            if kept.numel() < LIVE_SHARE * self._state.nodes.numel():
                self._state = self._state.select(kept)
                self._state.store = self._state.store.select(self._state.stored, self._state.used)
                self._state.stored = torch.arange(kept.numel(), device=kept.device)
            values, pieces = self._scores()
            self._state.search.extend(values.flatten(0, 1), pieces.flatten(0, 1))
            self._advance()

    def _scores(self) -> tuple[Tensor, Tensor]:
        """Return the best continuations of all live prefixes, each ``(sentences, beam, best)``."""
        state, beam = self._state, self._beam
        search = state.search
        alive = search.open.unsqueeze(1) & (search.scores > -torch.inf)
        self._give_slots()
        looked_up = state.known & (search.lengths < state.scored).unsqueeze(1)
        nodes = (state.nodes.unsqueeze(1) + state.slots).masked_fill(~state.known, 0)
        values, pieces = self._verification.values[nodes], self._verification.pieces[nodes]
        new, known = (alive & ~state.known).nonzero(), (alive & state.known & ~looked_up).nonzero()
        chosen = torch.cat([new, known])
        if chosen.size(0):
            sentences, places = chosen.unbind(1)
            used = 1 + int(search.lengths.where(search.open, 0).max()) * beam
            state.used = max(state.used, used)
            blocked = ~F.pad(state.attended, (0, used - state.attended.size(2)))
            rows = Rows(sentences, state.slots[sentences, places], places, blocked, state.nodes.numel())
            found = self._scorer.score(
                search.pieces[new[:, 0], new[:, 1]],
                search.lengths[new[:, 0]],
                nodes[known[:, 0], known[:, 1]],
                search.lengths[known[:, 0]],
                state.store,
                rows,
            )
            values[sentences, places], pieces[sentences, places] = found[0].double(), found[1]
        return values, pieces

    def _give_slots(self) -> None:
        """Find a slot for each live prefix, and let it attend to that."""
        state, beam = self._state, self._beam
        first = (1 + (state.search.lengths - 1) * beam).unsqueeze(1)
        if beam == 1:
            state.slots = first
        else:
            places = (state.slots - first).where(state.known, 0)
            taken = torch.zeros_like(places).scatter_add_(1, places, state.known.long())
            free = taken.sort(dim=1, stable=True).indices
            rank = (~state.known).long().cumsum(dim=1) - 1
            state.slots = state.slots.where(state.known, first + free.gather(1, rank.clamp(min=0)))
        used = 1 + int(state.search.lengths.max()) * beam
        if used > state.attended.size(2):
            state.attended = F.pad(state.attended, (0, used - state.attended.size(2)))
        state.attended.scatter_(2, state.slots.unsqueeze(2), True)

    def _advance(self) -> None:
        """Find which of the new live prefixes the draft has."""
        state = self._state
        parents = state.search.parents
        before, known = state.slots.gather(1, parents), state.known.gather(1, parents)
        if self._beam > 1:
            rows = torch.arange(parents.size(0), device=parents.device).unsqueeze(1)
            state.attended = state.attended[rows, parents]
            slots, found = children(
                self._draft, state.nodes, before, state.search.pieces, state.search.lengths, state.depths
            )
            state.slots, state.known = slots, found & known
