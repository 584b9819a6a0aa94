from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from lit_transformer.model import Embedding, sinusoidal_positions

CPU = torch.device("cpu")


@pytest.mark.parametrize(("position", "column"), [(0, 0), (0, 1), (1, 0), (1, 1), (7, 10), (50, 511), (1023, 300)])
def test_sinusoids_of_the_paper(position: int, column: int) -> None:
    # Vaswani et al. 2017, 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same.
    angle = position / 10000 ** ((column - column % 2) / 512)
    expected = math.cos(angle) if column % 2 else math.sin(angle)
    found = sinusoidal_positions(0, 1024, 512, CPU, torch.float64)
    assert float(found[position, column]) == pytest.approx(expected, abs=1e-9)


def test_golden_sinusoids() -> None:
    # sin(1), cos(1), sin(0.01), cos(0.01) from a table.
    expected = torch.tensor([[0.84147098, 0.54030231, 0.00999983, 0.99995000]])
    assert torch.allclose(sinusoidal_positions(1, 1, 4, CPU, torch.float32), expected, atol=1e-7)


@pytest.mark.parametrize("d_model", [1, 7, 8])
def test_a_later_start_is_a_part_of_the_table(d_model: int) -> None:
    whole = sinusoidal_positions(0, 12, d_model, CPU, torch.float64)
    assert torch.equal(sinusoidal_positions(5, 7, d_model, CPU, torch.float64), whole[5:])


def test_embeds_scaled_pieces_at_their_positions() -> None:
    pieces = nn.Embedding(9, 4)
    ids = torch.tensor([[3, 8, 1]])
    expected = pieces.weight[ids] * 2.0 + sinusoidal_positions(6, 3, 4, CPU, torch.float32)
    assert torch.equal(Embedding(pieces, 0.0)(ids, first=6), expected)


def test_sentences_longer_than_the_table() -> None:
    embedding = Embedding(nn.Embedding(9, 4).requires_grad_(False), 0.0)
    embedding(torch.zeros(1, 3, dtype=torch.int64))
    zero = embedding.pieces.weight[0] * 2.0
    found = embedding(torch.zeros(1, 900, dtype=torch.int64)) - zero
    assert torch.allclose(found[0], sinusoidal_positions(0, 900, 4, CPU, torch.float32), atol=1e-6)


def test_follows_the_type_of_the_weights() -> None:
    embedding = Embedding(nn.Embedding(9, 4), 0.0)
    ids = torch.tensor([[3, 8, 1]])
    embedding(ids)
    found = embedding.double()(ids)
    expected = embedding.pieces(ids) * 2.0 + sinusoidal_positions(0, 3, 4, CPU, torch.float64)
    assert found.dtype == torch.float64
    assert torch.equal(found, expected)
