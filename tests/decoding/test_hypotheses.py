from __future__ import annotations

import torch

from lit_transformer.decoding import Hypotheses


def example() -> Hypotheses:
    return Hypotheses.from_padded(
        torch.tensor([[5, 6, 0], [0, 0, 0], [7, 8, 9]]),
        torch.tensor([2, 0, 3]),
        torch.tensor([-1.0, -2.0, -3.0]),
        torch.tensor([False, False, True]),
    )


def test_ids_are_the_pieces_within_the_lengths() -> None:
    assert example().ids() == [[5, 6], [], [7, 8, 9]]
    assert example().pieces.dtype == torch.int32
    assert len(example()) == 3


def test_join_and_select() -> None:
    joined = Hypotheses.join([example(), example().select(torch.tensor([2]))])
    assert joined.ids() == [[5, 6], [], [7, 8, 9], [7, 8, 9]]
    chosen = joined.select(torch.tensor([3, 1, 0]))
    assert chosen.ids() == [[7, 8, 9], [], [5, 6]]
    assert chosen.scores.tolist() == [-3.0, -2.0, -1.0]
    assert chosen.non_terminated.tolist() == [True, False, False]


def test_nothing_at_all() -> None:
    assert Hypotheses.join([]).ids() == []
    assert example().select(torch.tensor([], dtype=torch.int64)).ids() == []
