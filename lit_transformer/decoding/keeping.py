"""What a reference keeps of the model's computation, as far as there is memory."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from lit_transformer.decoding.draft import Draft
from lit_transformer.decoding.plain import Decoded
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
    if not reference.draft.chunks:
        return
    if reference.encoder.kept_bytes > memory_limit:
        reference.encoder.entering = {}
        return
    places = _places(model, reference, memory_limit - reference.encoder.kept_bytes)
    if not places:
        return
    states, order = reference.encoder.states, model.order("d")
    for layer, component in enumerate(component for component in order if ":ea:" in component):
        pair = None if model.ablated(component) else model.source_keys_values(states.unsqueeze(0), layer)
        if pair is not None:
            reference.source[layer] = pair[0][0].contiguous(), pair[1][0].contiguous()
    nodes = reference.draft.pieces.numel()
    reference.entering = {place: states.new_empty(nodes, states.size(1)) for place in places}
    scorer = Scorer(model, reference, (), reference.encoder, 1)
    for number, chunk in enumerate(reference.draft.chunks):
        every = torch.arange(chunk.sentences.numel(), device=chunk.nodes.device)
        _keep_rows(reference, number, every, scorer, len(order))


def rebased(
    model: Verifiable, reference: Reference, decoded: Decoded, draft: Draft, pieces: Tensor, changed: Collection[str]
) -> Reference:
    """Return a reference whose draft is what a variant of the model was decoded to.

    It serves variants that differ from the model in the same components: what enters the first of these is the
    model's own. That is taken from the reference for sentences that it has the prefixes of, and computed for others.

    Args:
        model: The model or a variant that differs in these components.
        reference: Of the model.
        decoded: The hypotheses.
        draft: The trees of their prefixes.
        pieces: Their pieces, ``(sentences, longest)``, on the device.
        changed: The components.
    """
    made = Reference(decoded, pieces, draft, reference.encoder, source=reference.source)
    scorer = Scorer(model, reference, changed, reference.encoder, 1)
    start = scorer.start
    if start not in reference.entering:
        return made
    known, first = _known(reference, made)
    kept = reference.entering[start]
    made.entering = {start: kept.new_empty(draft.pieces.numel(), kept.size(1))}
    for number, chunk in enumerate(draft.chunks):
        same = known[chunk.sentences]
        _keep_rows(made, number, (~same).nonzero().squeeze(1), scorer, start)
        rows = same.nonzero().squeeze(1)
        slots = torch.arange(chunk.slots, device=rows.device)
        nodes = chunk.nodes[rows].unsqueeze(1) + slots
        there = draft.exists[nodes]
        before, nodes = (first[chunk.sentences[rows]].unsqueeze(1) + slots)[there], nodes[there]
        made.entering[start][nodes] = kept[before]
        for layer, pair in scorer.kept_keys_values(before).items():
            for whole, tensor in zip(_own(made, layer, pair[0]), pair, strict=True):
                whole[nodes] = tensor
    return made


def _known(reference: Reference, made: Reference) -> tuple[Tensor, Tensor]:
    """Return for which sentences a reference has all prefixes of another, and the first node of each sentence."""
    count = len(reference.decoded)
    if reference.draft.beam > 1:
        return _same_trees(reference.draft, made.draft, count)
    device = made.pieces.device
    scored = [(each.decoded.lengths - each.decoded.non_terminated.long()).to(device) for each in (reference, made)]
    width = min(reference.pieces.size(1), made.pieces.size(1))
    beyond = torch.arange(width, device=device) >= scored[1].unsqueeze(1)
    same = (reference.pieces[:, :width] == made.pieces[:, :width]) | beyond
    first = torch.zeros(count, dtype=torch.int64, device=device)
    for chunk in reference.draft.chunks:
        first[chunk.sentences] = chunk.nodes
    return same.all(dim=1) & (scored[1] <= scored[0]), first


def _same_trees(before: Draft, after: Draft, count: int) -> tuple[Tensor, Tensor]:
    """Return for which sentences the trees of two drafts are the same, and the first node of each in the first."""
    first, last = (torch.zeros(2, count, dtype=torch.int64, device=before.pieces.device) for _ in range(2))
    for at, draft in enumerate((before, after)):
        for chunk in draft.chunks:
            first[at, chunk.sentences] = chunk.nodes
            last[at, chunk.sentences] = chunk.nodes + chunk.slots
    sizes = last - first
    longest = int(sizes.max()) if count else 0
    same = torch.ones(count, dtype=torch.bool, device=first.device)
    for slot in range(longest):
        there, values = [], []
        for at, draft in enumerate((before, after)):
            inside = slot < sizes[at]
            node = (first[at] + slot).clamp(max=draft.pieces.numel() - 1)
            exists = draft.exists[node] & inside
            there.append(exists)
            values.append(torch.stack([draft.pieces[node], draft.parents[node]]) * exists)
        # What the first has beyond the second does no harm.
        same &= ~there[1] | (there[0] & (values[0] == values[1]).all(dim=0))
    return same & (sizes[1] > 0), first[0]


def _places(model: Verifiable, reference: Reference, room: int) -> list[int]:
    """Return the places of the decoder's order before which states can be kept."""
    order, states = model.order("d"), reference.encoder.states
    nodes, each = reference.draft.pieces.numel(), states.element_size() * states.size(1)
    # Keys and values of each layer, of targets and sources.
    layers = [place for place, component in enumerate(order) if ":sa:" in component]
    room -= 2 * len(layers) * each * (nodes + states.size(0))
    for places in (list(range(1, len(order))), layers[1:]):
        if places and room >= each * nodes * len(places):
            return places
    return []


def _keep_rows(reference: Reference, number: int, rows: Tensor, scorer: Scorer, until: int) -> None:
    """Compute all nodes of some rows of a chunk up to a place, and keep what the reference has room for."""
    if rows.numel() == 0:
        return
    draft, chunk = reference.draft, reference.draft.chunks[number]
    store = PrefixStore(rows.numel(), chunk.slots, *scorer.source(chunk.sentences[rows], until))
    nodes = chunk.nodes[rows].unsqueeze(1) + torch.arange(chunk.slots, device=rows.device)
    sentences, slots = draft.exists[nodes].nonzero(as_tuple=True)
    chosen = nodes[sentences, slots]
    blocked = chunk.blocked if chunk.blocked.size(0) == 1 else chunk.blocked[rows]
    store.focus(Rows(sentences, slots, 0, blocked, rows.numel()))

    def seen(place: int, x: Tensor) -> None:
        if place in reference.entering:
            reference.entering[place][chosen] = x

    depths = torch.div(slots + draft.beam - 1, draft.beam, rounding_mode="floor")
    model = scorer.model
    seen(until, model.run_rows(model.embed_rows(draft.pieces[chosen], depths), range(until), store, seen))
    for layer, pair in store.layers.items():
        for whole, tensor in zip(_own(reference, layer, pair[0][:, :, 0]), pair, strict=True):
            whole[nodes] = tensor[:, :, : chunk.slots].transpose(1, 2)


def _own(reference: Reference, layer: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the room for a layer's keys and values at all nodes; ``like`` is ``(some, heads, head_size)``."""
    if layer not in reference.own:
        shape = (reference.draft.pieces.numel(), *like.shape[1:])
        reference.own[layer] = like.new_zeros(shape), like.new_zeros(shape)
    return reference.own[layer]
