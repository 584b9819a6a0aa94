from __future__ import annotations

import pytest
import torch

from lit_transformer.model.attention import DotProductAttention, KeyValues


@torch.no_grad()
def test_each_projection_starts_within_its_own_xavier_bound() -> None:
    # As one matrix of (3 * d_model, d_model), its bound would be smaller by the square root of 2.
    torch.manual_seed(1)
    attention = DotProductAttention(96, 4, 0.0)
    bound = (6 / (96 + 96)) ** 0.5
    for weight in (*attention.in_projection.weight.chunk(3), attention.out_projection.weight):
        assert 0.98 * bound < float(weight.abs().max()) <= bound
        assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=0.03)
    assert not attention.in_projection.bias.any()
    assert not attention.out_projection.bias.any()


@torch.no_grad()
def test_attends_to_what_the_mask_leaves() -> None:
    torch.manual_seed(2)
    attention, x = DotProductAttention(16, 2, 0.0).double().eval(), torch.randn(1, 4, 16, dtype=torch.float64)
    mask = torch.tensor([False, False, True, True])[None, None, None, :]
    changed = x.clone()
    changed[:, 2:] = 5.0
    assert torch.allclose(attention(x, mask)[:, :2], attention(changed, mask)[:, :2], rtol=0.0, atol=1e-12)
    assert not torch.allclose(attention(x, None)[:, :2], attention(changed, None)[:, :2])


@torch.no_grad()
def test_rows_of_one_beam_share_a_row_of_keys() -> None:
    torch.manual_seed(3)
    attention = DotProductAttention(16, 2, 0.0).double().eval()
    memory, x = torch.randn(3, 5, 16, dtype=torch.float64), torch.randn(12, 1, 16, dtype=torch.float64)
    mask = torch.zeros(3, 1, 1, 5, dtype=torch.bool)
    mask[1, ..., 3:] = True
    shared = attention.attend_to(x, attention.source_cache(memory), mask)
    repeated = attention.source_cache(memory.repeat_interleave(4, dim=0))
    expected = attention.attend_to(x, repeated, mask.repeat_interleave(4, dim=0))
    assert torch.allclose(shared, expected, rtol=0.0, atol=1e-12)


@torch.no_grad()
def test_key_values_hold_what_was_appended_and_selected() -> None:
    torch.manual_seed(4)
    past, rows = KeyValues(), torch.tensor([2, 0, 0])
    expected = torch.zeros(3, 2, 0, 4)
    for step in range(30):
        new = torch.randn(3, 2, 1 + step % 3, 4)
        expected = torch.cat([expected, new], dim=2)
        keys, values = past.append(new, -new)
        assert torch.equal(keys, expected)
        assert torch.equal(values, -expected)
        assert past.length == expected.size(2)
        if step % 4 == 3:
            past.select(rows)
            expected = expected[rows]


def test_empty_key_values_can_be_selected() -> None:
    past = KeyValues()
    past.select(torch.tensor([0, 0]))
    assert past.length == 0


def test_appending_leaves_the_tensors_it_was_given() -> None:
    first = torch.zeros(1, 1, 2, 4)
    past = KeyValues()
    past.append(first, first.clone())
    past.append(torch.ones(1, 1, 1, 4), torch.ones(1, 1, 1, 4))
    past.select(torch.tensor([0]))
    past.append(torch.ones(1, 1, 1, 4), torch.ones(1, 1, 1, 4))
    assert not first.any()
