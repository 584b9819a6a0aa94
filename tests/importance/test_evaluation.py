from __future__ import annotations

import math

import pytest
import torch

from lit_transformer.importance.evaluation import Evaluation
from lit_transformer.importance.variant import ablation
from tests.importance.making import SENTENCES, evaluation, statistics_of


def test_bleu_by_hand() -> None:
    made = evaluation(10)
    precisions = [10 / 20, 9 / 19, 8 / 18, 7 / 17]
    assert made.bleu == pytest.approx(100 * math.prod(precisions) ** 0.25)
    assert made.drop_from(evaluation(20)) == pytest.approx(100 - made.bleu)
    assert made.measures["non_terminated"] == 4 / SENTENCES
    assert made.measures["length_ratio"] == 1.0


def test_bleu_without_the_penalty() -> None:
    short = statistics_of(10)
    short[:, -1] = 25
    made = evaluation(10, statistics=short)
    assert made.measures["brevity_penalty"] == pytest.approx(math.exp(1 - 25 / 20))
    assert made.measures["bleu_without_penalty"] == pytest.approx(evaluation(10).bleu)


def test_loss_is_a_mean_over_pieces() -> None:
    records = {
        "loss": torch.full((SENTENCES,), 6.0, dtype=torch.float64),
        "correct_pieces": torch.full((SENTENCES,), 1, dtype=torch.int32),
        "reference_pieces": torch.full((SENTENCES,), 4, dtype=torch.int32),
        "exact": torch.arange(SENTENCES) < 10,
    }
    measures = evaluation(10).with_records(records).measures
    assert (measures["loss"], measures["token_accuracy"], measures["exact_match"]) == (1.5, 0.25, 0.25)


def test_written_and_read() -> None:
    made = evaluation(10, ablation("d:ff:1")).with_records({"exact": torch.arange(SENTENCES) < 10})
    back = Evaluation.restored(made.line(), made.tensors())
    assert back.variant == made.variant
    assert back.line() == made.line()
    assert all(torch.equal(tensor, made.tensors()[name]) for name, tensor in back.tensors().items())


def test_a_line_of_another_file_is_refused() -> None:
    with pytest.raises(ValueError, match="not the one"):
        Evaluation.restored(evaluation(11).line(), evaluation(10).tensors())
