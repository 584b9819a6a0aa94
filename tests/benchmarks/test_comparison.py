from __future__ import annotations

import torch

from benchmarks.support.comparison import Comparison, Early, differing
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


def test_results_are_compared_place_by_place() -> None:
    def changed(mine: object, exact: object) -> int:
        return Early("score", 1.0, 3, 2, 0, mine).changed(Comparison("score", result=exact))

    assert changed([1.0, 2.0, 0.5], [1.0 + 1e-12, 2.5, 0.5]) == 1
    assert changed({"d:sa:1": 0.1, "d:ff:1": 0.9}, {"d:sa:1": 0.1, "d:ff:1": 0.9}) == 0
    assert changed(["d:sa:1", "d:ff:1"], ["d:ff:1", "d:sa:1"]) == 2
