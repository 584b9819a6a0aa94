from __future__ import annotations

import torch

from benchmarks.support.comparison import differing
from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.variant import Variant


def evaluation(*hypotheses: list[int]) -> Evaluation:
    lengths = torch.tensor([len(pieces) for pieces in hypotheses], dtype=torch.int32)
    pieces = torch.tensor([piece for pieces in hypotheses for piece in pieces], dtype=torch.int32)
    nothing = torch.zeros(len(hypotheses), dtype=torch.bool)
    return Evaluation("key", Variant(), pieces, lengths, torch.zeros(len(hypotheses), 10), nothing)


def test_hypotheses_differ_in_pieces_or_in_length() -> None:
    one = evaluation([5, 6], [7], [], [8, 9])
    assert differing(one, one) == 0
    # The same pieces in a row, split elsewhere; then another piece.
    assert differing(one, evaluation([5], [6, 7], [], [8, 9])) == 2
    assert differing(one, evaluation([5, 6], [7], [], [8, 4])) == 1
