"""What a reference keeps of the model's computation, as far as there is memory."""

from __future__ import annotations

import torch
from torch import Tensor

from lit_transformer.decoding.prefix_store import PrefixStore, Rows
from lit_transformer.decoding.protocol import Verifiable
from lit_transformer.decoding.reference import Reference
from lit_transformer.decoding.scorer import Scorer


def keep(model: Verifiable, reference: Reference, memory_limit: int) -> None:
    """Compute all nodes of the draft in one pass, and keep what enters each component, and keys and values.

    Where memory is short, only what enters each layer is kept, or nothing.

    Args:
        model: The model that the reference was made with.
        reference: Is given what is kept.
        memory_limit: The most bytes.
    """
    reference.entering = {}
    if reference.encoder.kept_bytes > memory_limit:
        reference.encoder.entering = {}
        return
    places = _places(model, reference, memory_limit - reference.encoder.kept_bytes)
    if not places:
        return
    states = reference.encoder.states
    nodes = reference.draft.pieces.numel()
    reference.entering = {place: states.new_empty(nodes, states.size(1)) for place in places}
    scorer = Scorer(model, reference, (), reference.encoder, 1)
    for number in range(len(reference.draft.chunks)):
        _keep_chunk(reference, number, scorer)


def _places(model: Verifiable, reference: Reference, room: int) -> list[int]:
    """Return the places of the decoder's order before which states can be kept."""
    order, states = model.order("d"), reference.encoder.states
    nodes, each = reference.draft.pieces.numel(), states.element_size() * states.size(1)
    # Keys and values of each layer, of targets and sources; chunks pad both a little.
    layers = [place for place, component in enumerate(order) if ":sa:" in component]
    room -= 2 * len(layers) * each * (nodes + 2 * states.size(0))
    for places in (list(range(1, len(order))), layers[1:]):
        if places and room >= each * nodes * len(places):
            return places
    return []


def _keep_chunk(reference: Reference, number: int, scorer: Scorer) -> None:
    draft, chunk = reference.draft, reference.draft.chunks[number]
    every = torch.arange(chunk.sentences.numel(), device=chunk.nodes.device)
    store = PrefixStore(every.numel(), chunk.slots, *scorer.source(number, every))
    kept = {layer: pair for layer, pair in enumerate(store.source_keys_values) if pair is not None}
    reference.source.append(kept)
    nodes = chunk.nodes.unsqueeze(1) + torch.arange(chunk.slots, device=chunk.nodes.device)
    sentences, slots = draft.exists[nodes].nonzero(as_tuple=True)
    chosen = nodes[sentences, slots]
    store.focus(Rows(sentences, slots, 0, chunk.blocked, every.numel()))

    def seen(place: int, x: Tensor) -> None:
        if place in reference.entering:
            reference.entering[place][chosen] = x

    depths = torch.div(slots + draft.beam - 1, draft.beam, rounding_mode="floor")
    model = scorer.model
    model.run_rows(model.embed_rows(draft.pieces[chosen], depths), range(len(model.order("d"))), store, seen)
    for layer, pair in store.layers.items():
        if layer not in reference.own:
            shape = (draft.pieces.numel(), pair[0].size(1), pair[0].size(3))
            reference.own[layer] = pair[0].new_zeros(shape), pair[1].new_zeros(shape)
        for whole, tensor in zip(reference.own[layer], pair, strict=True):
            whole[nodes] = tensor.transpose(1, 2)
