from __future__ import annotations

import torch

from lit_transformer.decoding.draft import Draft
from lit_transformer.decoding.trace import Trace


def beam_trace() -> Trace:
    """Two sentences with a beam of 2: one scored at depths 0 to 2, the other at depths 0 and 1."""
    trace = Trace(torch.tensor([9, 9]))
    trace.parents = [torch.tensor([[0, 0], [0, 0]]), torch.tensor([[1, 1], [0, 0]])]
    trace.pieces = [torch.tensor([[5, 6], [7, 8]]), torch.tensor([[9, 4], [0, 0]])]
    trace.exists = [torch.tensor([[True, True], [True, False]]), torch.tensor([[True, True], [False, False]])]
    return trace


def test_a_tree_in_slots() -> None:
    draft = Draft([beam_trace()], [torch.tensor([4, 7])], beam=2, chunk_nodes=1)
    # The shallower tree comes first; each is a chunk of its own.
    assert [(chunk.sentences.tolist(), chunk.depths, chunk.slots) for chunk in draft.chunks] == [
        ([7], 2, 3),
        ([4], 3, 5),
    ]
    assert [chunk.nodes.tolist() for chunk in draft.chunks] == [[0], [3]]
    assert draft.pieces.tolist() == [2, 7, 8, 2, 5, 6, 9, 4]
    assert draft.exists.tolist() == [True, True, False, True, True, True, True, True]
    assert draft.parents.tolist() == [0, 0, 0, 0, 0, 0, 2, 2]
    # Prefixes 5 and 6 of the deeper tree do not see each other; 6 9 and 6 4 see 6 and the empty prefix.
    seen = [[slot for slot, hidden in enumerate(row) if not hidden] for row in draft.chunks[1].blocked[0].tolist()]
    assert seen == [[0], [0, 1], [0, 2], [0, 2, 3], [0, 2, 4]]


def test_chunks_hold_no_more_than_they_may() -> None:
    lengths = torch.tensor([3, 0, 7, 3, 2, 7])
    pieces = torch.arange(int(lengths.sum()), dtype=torch.int32) + 4
    cut = torch.tensor([False, False, True, False, False, False])
    trace = Trace(lengths + 5)
    trace.take(pieces, lengths, cut)
    draft = Draft([trace], [torch.arange(6)], beam=1, chunk_nodes=12)
    # One node for each piece and one for the end; the one that was cut was not scored at its end.
    assert [(chunk.sentences.tolist(), chunk.depths) for chunk in draft.chunks] == [
        ([1, 4, 0], 4),
        ([3], 4),
        ([2], 7),
        ([5], 8),
    ]
    assert int(draft.exists.sum()) == int(lengths.sum()) + 6 - 1
    first = int(draft.chunks[1].nodes[0])
    assert draft.pieces[first : first + 4].tolist() == [2, 14, 15, 16]


def test_sentences_of_several_batches() -> None:
    traces = []
    for lengths in ([2, 1], [1]):
        trace = Trace(torch.tensor(lengths) + 5)
        count = sum(lengths)
        pieces = torch.full((count,), 9, dtype=torch.int32)
        trace.take(pieces, torch.tensor(lengths), torch.zeros(len(lengths)).bool())
        traces.append(trace)
    draft = Draft(traces, [torch.tensor([5, 0]), torch.tensor([3])], beam=1, chunk_nodes=100)
    assert [chunk.sentences.tolist() for chunk in draft.chunks] == [[0, 3, 5]]
    assert draft.exists.view(3, 3).tolist() == [[True, True, False], [True, True, False], [True, True, True]]


def test_nothing() -> None:
    draft = Draft([], [], beam=4, chunk_nodes=100)
    assert (draft.chunks, draft.pieces.numel()) == ([], 0)
