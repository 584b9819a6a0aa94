from __future__ import annotations

import torch

from lit_transformer.decoding.search import Finished, Search
from tests.special import EOS


def started(limits: list[int], beam: int = 2, penalty: float = 0.0) -> Search:
    tensor = torch.tensor(limits)
    return Search(Finished(tensor), tensor, beam, penalty, EOS)


def test_steps_of_two_sentences_of_which_one_ends() -> None:
    search = started([4, 4])
    search.extend(torch.tensor([[-1.0, -2.0], [-0.25, -0.5]]), torch.tensor([[5, 6], [8, 9]]))
    assert search.prefixes.tolist() == [[[5], [6]], [[8], [9]]]
    values = torch.tensor([[-1.0, -4.0], [-0.5, -4.0], [-1.0, -9.0], [-1.5, -9.0]])
    search.extend(values, torch.tensor([[EOS, 8], [EOS, 8], [6, EOS], [EOS, 7]]))
    # Both prefixes of sentence 0 ended, so it is done; of sentence 1 one did, and 8 6 is the best that lives on.
    assert search.open.tolist() == [False, True]
    assert search.prefixes[1, 0].tolist() == [8, 6]
    assert search.finished.pieces[:, :1].tolist() == [[5], [9]]
    assert search.finished.lengths.tolist() == [1, 1]
    assert search.finished.scores.tolist() == [-2.0, -2.0]


def test_sentences_that_are_selected_go_on_alone() -> None:
    search = started([4, 4], beam=1)
    search.extend(torch.tensor([[-1.0], [-2.0]]), torch.tensor([[EOS], [7]]))
    rest = search.select(search.open.nonzero().squeeze(1))
    rest.extend(torch.tensor([[-0.5]]), torch.tensor([[EOS]]))
    found = search.finished.hypotheses()
    assert found.ids() == [[], [7]]
    assert found.scores.tolist() == [-1.0, -2.5]


def test_the_limit_ends_a_sentence_unterminated() -> None:
    search = started([2, 1], beam=1)
    for tokens in ([[4], [5]], [[6], [7]]):
        search.extend(torch.zeros(2, 1), torch.tensor(tokens))
    assert not search.open.any()
    found = search.finished.hypotheses()
    assert found.ids() == [[4, 6], [5]]
    assert found.non_terminated.tolist() == [True, True]


def test_the_length_normalisation_counts_the_end_of_sentence() -> None:
    search = started([9], beam=1, penalty=1.0)
    search.extend(torch.tensor([[-1.0]]), torch.tensor([[4]]))
    search.extend(torch.tensor([[-3.0]]), torch.tensor([[EOS]]))
    assert search.finished.normalised.tolist() == [-4.0 / (7 / 6)]
