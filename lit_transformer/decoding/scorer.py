"""Scores prefixes with a variant of a model, and computes nothing that its reference computed already."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from lit_transformer.decoding.candidates import best_next, best_piece
from lit_transformer.decoding.encoder_states import EncoderStates
from lit_transformer.decoding.prefix_store import KeysValues, PrefixStore, Rows
from lit_transformer.decoding.protocol import Verifiable
from lit_transformer.decoding.reference import Reference


class Scorer:
    """Computes prefixes with a variant of the model, from the component on that is the first to differ.

    Args:
        model: The variant.
        reference: What the model it is a variant of computed.
        changed: The components that differ.
        encoder: The variant's encoder states.
        best: How many best pieces are wanted; 1 without their log-probabilities, for greedy search.

    Attributes:
        start: The place, in the decoder's order, from which on nodes of the draft are computed.
    """

    def __init__(
        self, model: Verifiable, reference: Reference, changed: Collection[str], encoder: EncoderStates, best: int
    ) -> None:
        self.model, self.reference, self.encoder, self.best = model, reference, encoder, best
        self.draft = reference.draft
        self._order = model.order("d")
        self._rough = model.rough_logits() if best == 1 else None
        self._changed = set(changed)
        self._encoder_differs = not self._changed.isdisjoint(model.order("e"))
        places = [place for place, component in enumerate(self._order) if self._differs(component)]
        first = min(places, default=len(self._order))
        self.start = max((place for place in reference.entering if place <= first), default=0)
        self.nothing_differs = not places
        self._kept_layers = [
            int(component.rpartition(":")[2]) - 1 for component in self._order[: self.start] if ":sa:" in component
        ]

    def _differs(self, component: str) -> bool:
        if component in self._changed:
            return True
        return self._encoder_differs and ":ea:" in component and not self.model.ablated(component)

    def source(self, sentences: Tensor, until: int | None = None) -> tuple[list[KeysValues | None], Tensor]:
        """Return keys and values of the source for each decoder layer, and the padding, of some sentences.

        Args:
            sentences: ``(sentences,)``.
            until: The place of the decoder's order before which they are wanted; all by default.
        """
        rows, padding = self.encoder.rows(sentences)
        wanted, states = set(self._order[:until]), None
        result: list[KeysValues | None] = []
        for layer, component in enumerate(component for component in self._order if ":ea:" in component):
            if component not in wanted or self.model.ablated(component):
                result.append(None)
            elif layer in self.reference.source and not self._differs(component):
                result.append(self.reference.source_of(layer, rows))
            else:
                states = self.encoder.states[rows] if states is None else states
                result.append(self.model.source_keys_values(states, layer))
        return result, padding

    def score_nodes(self, nodes: Tensor, depths: Tensor, store: PrefixStore) -> tuple[Tensor, Tensor]:
        """Return the best continuations of nodes of the draft, for which the store is set.

        Args:
            nodes: ``(rows,)``.
            depths: Their depths, ``(rows,)``.
            store: Holds all that they attend to, from the place `start` on.

        Returns:
            Log-probabilities (zeros in greedy search) and pieces, best first, each ``(rows, best)``.
        """
        return self._candidates(self._entering(nodes, depths), store)

    def _entering(self, nodes: Tensor, depths: Tensor) -> Tensor:
        if self.start in self.reference.entering:
            return self.reference.entering[self.start][nodes]
        return self.model.embed_rows(self.draft.pieces[nodes], depths)

    def _candidates(self, x: Tensor, store: PrefixStore) -> tuple[Tensor, Tensor]:
        states = self.model.row_states(self.model.run_rows(x, range(self.start, len(self._order)), store))
        if self.best > 1:
            return best_next(self.model.logits, states, self.best)
        pieces = best_piece(self.model.logits, states, self._rough).unsqueeze(1)
        return torch.zeros_like(pieces, dtype=x.dtype), pieces

    def kept_keys_values(self, nodes: Tensor, without: Collection[int] = ()) -> dict[int, KeysValues]:
        """Return keys and values at nodes, each ``(nodes, heads, head_size)``, of some of the layers before `start`."""
        return {
            layer: (keys[nodes], values[nodes])
            for layer, (keys, values) in self.reference.own.items()
            if layer in self._kept_layers and layer not in without
        }

    def score(
        self, rows: Rows, new: Tensor, pieces: Tensor, nodes: Tensor, depths: Tensor, store: PrefixStore
    ) -> tuple[Tensor, Tensor]:
        """Return the best continuations of prefixes, of which some are nodes of the draft.

        Args:
            rows: What the rows are.
            new: Whether each is no node of the draft, ``(rows,)``.
            pieces: The last piece of each, ``(rows,)``.
            nodes: The node that each is; anything where it is none, ``(rows,)``.
            depths: Their depths, ``(rows,)``.
            store: Holds all that they attend to.

        Returns:
            As in `score_nodes`, each ``(rows, best)``.
        """
        if self.start == 0:
            x = self.model.embed_rows(pieces, depths)
        else:
            known = ~new
            x = self._entering(nodes.where(known, 0), depths)
            if bool(new.any()):
                store.focus(rows.among(new))
                below = self.model.embed_rows(pieces[new], depths[new])
                x[new] = self.model.run_rows(below, range(self.start), store)
            if bool(known.any()):
                store.focus(rows)
                for layer, (keys, values) in self.kept_keys_values(nodes[known]).items():
                    store.put(layer, rows.among(known), keys, values)
        store.focus(rows)
        return self._candidates(x, store)
