from __future__ import annotations

import copy
import hashlib

import torch
from torch import nn

from lit_transformer.model import weights_digest


def test_golden_value() -> None:
    # SHA-256 of the names, types, shapes and little-endian bytes, written out by hand.
    linear = nn.Linear(2, 1)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0, -2.0]]))
        linear.bias.fill_(0.5)
    content = b"bias/torch.float32/(1,)/" + bytes.fromhex("0000003f")
    content += b"weight/torch.float32/(1, 2)/" + bytes.fromhex("0000803f000000c0")
    assert weights_digest(linear) == hashlib.sha256(content).hexdigest()


def test_one_bit_changes_it() -> None:
    model = nn.Linear(3, 4)
    other = copy.deepcopy(model)
    assert weights_digest(other) == weights_digest(model)
    with torch.no_grad():
        other.bias[2] = torch.nextafter(other.bias[2], torch.tensor(1.0))
    assert weights_digest(other) != weights_digest(model)


def test_type_shape_and_name_count() -> None:
    zeros = nn.Linear(2, 2, bias=False)
    nn.init.zeros_(zeros.weight)
    variants = [zeros, copy.deepcopy(zeros).to(torch.bfloat16), nn.Linear(4, 1, bias=False), nn.Sequential(zeros)]
    nn.init.zeros_(variants[2].weight)  # type: ignore[arg-type]
    assert len({weights_digest(variant) for variant in variants}) == len(variants)


def test_neither_the_mode_nor_the_layout_in_memory_counts() -> None:
    model = nn.Linear(3, 3, bias=False)
    digest = weights_digest(model)
    turned = nn.Linear(3, 3, bias=False)
    turned.weight = nn.Parameter(model.weight.detach().t().contiguous().t())
    assert not turned.weight.is_contiguous()
    assert weights_digest(turned.eval().requires_grad_(False)) == digest


def test_scalars_and_integers() -> None:
    assert len(weights_digest(nn.BatchNorm1d(2))) == 64  # its counter is an integer without dimensions
