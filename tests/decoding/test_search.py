from __future__ import annotations

import torch

from lit_transformer.decoding import EOS
from lit_transformer.decoding.search import Finished, Search


def started(limits: list[int], beam: int = 2, penalty: float = 0.0) -> Search:
    tensor = torch.tensor(limits)
    return Search(Finished(tensor), tensor, beam, penalty)


def test_sentences_at_steps_of_their_own() -> None:
    search = started([4, 4])
    first = search.select(torch.tensor([0]))
    # Sentence 0 makes a step more than sentence 1, then both go on together.
    first.extend(torch.tensor([[-1.0, -2.0]]), torch.tensor([[5, 6]]))
    first.extend(torch.tensor([[-1.0, -4.0], [-0.5, -4.0]]), torch.tensor([[7, 8], [9, 8]]))
    second = search.select(torch.tensor([1]))
    second.extend(torch.tensor([[-0.25, -0.5]]), torch.tensor([[8, 9]]))
    both = Search.join([first, second])
    assert both.lengths.tolist() == [2, 1]
    assert both.prefixes[0].tolist() == [[5, 7], [6, 9]]
    assert both.prefixes[1, :, :1].tolist() == [[8], [9]]
    assert both.scores.tolist() == [[-2.0, -2.5], [-0.25, -0.5]]
    values = torch.tensor([[-0.5, -9.0], [-1.0, -9.0], [-1.0, -9.0], [-1.5, -9.0]])
    both.extend(values, torch.tensor([[EOS, 4], [EOS, 4], [6, EOS], [EOS, 7]]))
    # Both of sentence 0 ended, so it is done; of sentence 1 one did, and 8 6 is best of what lives on.
    assert both.open.tolist() == [False, True]
    assert both.prefixes[1, 0, :2].tolist() == [8, 6]
    assert search.finished.pieces[0, :2].tolist() == [5, 7]
    assert search.finished.lengths.tolist() == [2, 1]
    assert search.finished.scores.tolist() == [-2.5, -2.0]


def test_known_steps_of_a_greedy_search_are_skipped() -> None:
    search = started([5, 3], beam=1)
    search.skip(torch.tensor([[4, 5, 6], [7, 8, 9]]), torch.tensor([3, 1]))
    assert search.lengths.tolist() == [3, 1]
    search.extend(torch.zeros(2, 1), torch.tensor([[EOS], [8]]))
    search.extend(torch.zeros(2, 1), torch.tensor([[4], [5]]))
    assert not search.open.any()
    found = search.finished.hypotheses()
    assert found.ids() == [[4, 5, 6], [7, 8, 5]]
    assert found.non_terminated.tolist() == [False, True]


def test_each_sentence_has_its_own_normalisation() -> None:
    search = started([9, 9], beam=1, penalty=1.0)
    search.skip(torch.tensor([[4, 5], [7, 0]]), torch.tensor([2, 1]))
    search.extend(torch.tensor([[-3.0], [-3.0]]), torch.tensor([[EOS], [EOS]]))
    assert search.finished.normalised.tolist() == [-3.0 / (8 / 6), -3.0 / (7 / 6)]
