"""Trees of prefixes that a search scored, of many sentences, laid out for passes over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lit_transformer.decoding.protocol import BOS
from lit_transformer.decoding.trace import Trace


@dataclass(frozen=True)
class Chunk:
    """Sentences whose trees are of similar depth, and that are computed together.

    A sentence has one slot for the empty prefix and ``beam`` for each depth after it. The node that a sentence has in
    a slot is number ``nodes[sentence] + slot`` of the whole draft.

    Args:
        sentences: Their numbers, ``(sentences,)``.
        depths: Depth of the deepest tree, the empty prefix counted.
        slots: Slots of each sentence.
        nodes: Number of each sentence's first node, ``(sentences,)``.
        blocked: True where the node in a slot (second dimension) does not continue that in another (third), nor is it;
            ``(sentences, slots, slots)``, or ``(1, slots, slots)`` where that is the same for all.
    """

    sentences: Tensor
    depths: int
    slots: int
    nodes: Tensor
    blocked: Tensor


class Draft:
    """The trees of all sentences.

    Args:
        traces: What searches of batches took down.
        sentences: Per trace, the numbers of its sentences, ``(batch,)``.
        beam: Number of live prefixes.
        chunk_nodes: The most slots of a chunk; a sentence with more is a chunk of its own.

    Attributes:
        chunks: All sentences, by depth and then by number.
        pieces: The last piece of each node, begin of sentence at the empty prefix, ``(nodes,)``.
        parents: The slot of each node's parent, ``(nodes,)``.
        exists: Whether there is such a node, ``(nodes,)``.
    """

    def __init__(self, traces: Sequence[Trace], sentences: Sequence[Tensor], beam: int, chunk_nodes: int) -> None:
        self.beam = beam
        self.chunks: list[Chunk] = []
        self.pieces, self.parents = torch.zeros(2, 0, dtype=torch.int64)
        self.exists = torch.zeros(0, dtype=torch.bool)
        if traces:
            self._lay_out(traces, sentences, chunk_nodes)

    def _lay_out(self, traces: Sequence[Trace], sentences: Sequence[Tensor], chunk_nodes: int) -> None:
        beam = self.beam
        depths = max(len(trace.pieces) for trace in traces) + 1
        pieces, parents, exists = (
            _laid_out([getattr(trace, name) for trace in traces], [len(part) for part in sentences], depths, beam)
            for name in ("pieces", "parents", "exists")
        )
        exists, numbers = exists.bool(), torch.cat(list(sentences))
        # The place of a parent among its depth, as its slot: depth 1 has the one parent in slot 0.
        slot = torch.arange(pieces.size(1), device=pieces.device)
        parents = torch.where(slot > beam, parents + 1 + ((slot - 1) // beam - 1) * beam, 0)
        pieces[:, 0], exists[:, 0] = BOS, True
        deepest = ((exists * (slot + beam - 1)).amax(dim=1)) // beam + 1
        order = torch.argsort(deepest * (len(numbers) + 1) + numbers.argsort().argsort())
        laid: list[tuple[Tensor, Tensor, Tensor]] = []
        start = 0
        for rows in _split(order, deepest, beam, chunk_nodes):
            depth = int(deepest[rows].max())
            used = 1 + (depth - 1) * beam
            laid.append((pieces[rows, :used], parents[rows, :used], exists[rows, :used]))
            nodes = start + used * torch.arange(rows.numel(), device=rows.device)
            start += used * rows.numel()
            self.chunks.append(Chunk(numbers[rows], depth, used, nodes, _blocked(parents[rows, :used], beam)))
        self.pieces, self.parents, self.exists = (torch.cat([part[i].flatten() for part in laid]) for i in range(3))


def _laid_out(steps: list[list[Tensor]], sizes: list[int], depths: int, beam: int) -> Tensor:
    """Return what traces hold as ``(sentences, slots)``, with zeros where they hold nothing."""
    device = next((values.device for trace in steps for values in trace), torch.device("cpu"))
    dtype = next((values.dtype for trace in steps for values in trace), torch.int64)
    result = torch.zeros(sum(sizes), 1 + (depths - 1) * beam, dtype=dtype, device=device)
    start = 0
    for trace, size in zip(steps, sizes, strict=True):
        for depth, values in enumerate(trace):
            result[start : start + size, 1 + depth * beam : 1 + (depth + 1) * beam] = values
        start += size
    return result


def _split(order: Tensor, deepest: Tensor, beam: int, chunk_nodes: int) -> list[Tensor]:
    """Cut sentences, in order of depth, into chunks of no more than so many slots."""
    chunks: list[list[int]] = [[]]
    for row, depth in zip(order.tolist(), deepest[order].tolist(), strict=True):
        if chunks[-1] and (len(chunks[-1]) + 1) * (1 + (depth - 1) * beam) > chunk_nodes:
            chunks.append([])
        chunks[-1].append(row)
    return [torch.tensor(rows, device=order.device) for rows in chunks if rows]


def _blocked(parents: Tensor, beam: int) -> Tensor:
    sentences, slots = parents.shape
    if beam == 1:
        return torch.ones(1, slots, slots, dtype=torch.bool, device=parents.device).triu(1)
    related = torch.eye(slots, dtype=torch.bool, device=parents.device).repeat(sentences, 1, 1)
    rows = torch.arange(sentences, device=parents.device).unsqueeze(1)
    for first in range(1, slots, beam):
        related[:, first : first + beam] |= related[rows, parents[:, first : first + beam]]
    return ~related
